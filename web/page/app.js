// The page: who is asking, which view is shown, and what surrounds the views.

import { api } from "./api.js";
import { Picker } from "./agents.js";
import { NewDelivery, pipeline } from "./delivery.js";
import { Logs } from "./logs.js";
import { Room } from "./room.js";
import { Sessions } from "./sessions.js";
import { statusOf, useSession } from "./session.js";
import { Component, html, render, useCallback, useEffect, useState } from "./view.js";

const go = (hash) => { location.hash = hash; };

// routeOf reads an address such as #/s/ID/run.
export function routeOf(hash) {
  const [name = "", id = "", view = ""] = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return name === "s" && id ? { name, id, view } : { name, id: "", view: "" };
}

function useRoute() {
  const [route, setRoute] = useState(routeOf(location.hash));
  useEffect(() => {
    const changed = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", changed);
    changed(); // what was clicked before anybody listened
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function App() {
  const route = useRoute();
  const here = useSession(route.id);
  const [cast, setCast] = useState({ agents: [], flows: [], problem: "", known: false });
  const [told, setTold] = useState("");
  const [menu, setMenu] = useState(false);
  const tell = useCallback((text) => setTold(text), []);
  useEffect(() => {
    Promise.all([api.agents(), api.flows().catch(() => [])]).then(
      ([agents, flows]) => setCast({ agents, flows, problem: "", known: true }),
      (problem) => setCast({ agents: [], flows: [], problem: problem.message, locked: problem.status === 401, known: true }));
  }, []);
  useEffect(() => {
    setMenu(false);
    setTold("");
  }, [route.name, route.id, route.view]);
  useEffect(() => {
    document.title = (here?.session.title ? here.session.title + " — " : "") + "Troupe";
  }, [here?.session.title]);
  useEffect(() => {
    const keys = (event) => {
      if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        setMenu(true);
        requestAnimationFrame(() => document.getElementById("search")?.focus());
      } else if (event.key === "Escape") {
        setMenu(false);
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const agentOf = useCallback((id) => cast.agents.find((a) => a.id === id) ?? { id, name: id, icon: "", commands: [] }, [cast]);
  const trying = (what) => what().catch((problem) => tell(problem.message));
  const start = (agent, text) => trying(async () => {
    const { id } = await api.create(agent);
    if (text) await api.say(id, text);
    go("#/s/" + id);
  });
  const begin = (started, view = "") => go("#/s/" + started.session + view);
  if (cast.locked) return html`<${Login} />`;
  const status = here ? statusOf(here) : "";
  return html`<div class="app" data-menu=${menu}>
    <a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), document.getElementById("main").focus())}>To the content</a>
    <header class="top">
      <button type="button" class="quiet menu" aria-label="Conversations" aria-expanded=${menu} onClick=${() => setMenu(!menu)}>☰</button>
      <a class="brand" href="#/">Troupe</a>
      <nav aria-label="Main"><a href="#/" aria-current=${route.name === "" ? "page" : undefined}>New</a>
        <a href="#/deliver" aria-current=${route.name === "deliver" ? "page" : undefined}>Deliver</a>
        <a href="#/logs" aria-current=${route.name === "logs" ? "page" : undefined}>Logs</a></nav>
      <${Theme} />
    </header>
    <div class="side">${cast.known && html`<${Sessions} current=${route.id} agentOf=${agentOf} changed=${route.id + status + (here?.session.title ?? "")} left=${() => go("#/")} tell=${tell} />`}</div>
    <main id="main" tabindex="-1">
      ${told && html`<p class="told" role="alert">${told} <button type="button" class="quiet" aria-label="Dismiss" onClick=${() => setTold("")}>×</button></p>`}
      <${Boundary} key=${route.name + route.id} view=${route.view}>${here ? html`<${Room} key=${route.id} here=${here} view=${route.view} flows=${cast.flows} agentOf=${agentOf} go=${go} tell=${tell} />`
        : route.name === "logs" ? html`<${Logs} agents=${cast.agents} />`
        : route.name === "deliver" ? html`<${NewDelivery} deliver=${(text) => trying(async () => begin(await api.deliver(text), "/delivery"))} />`
        : cast.known && html`<${Picker} agents=${entryPoints(cast.agents)} flows=${cast.flows.filter((f) => f.name !== pipeline)} problem=${cast.problem} start=${start}
            startFlow=${(name, text) => trying(async () => begin(await api.runFlow(name, text), "/flow"))} />`}<//>
    </main>
    <p class="hidden" role="status">${announced[status] ?? ""}</p>
  </div>`;
}

// entryPoints are the agents that people talk to: all, where none is marked.
function entryPoints(agents) {
  return agents.some((agent) => agent.entry_point) ? agents.filter((agent) => agent.entry_point) : agents;
}

// Boundary keeps a mistake of ours in one view from taking down the page.
class Boundary extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ broken: true });
  }

  componentDidUpdate(before) {
    if (this.state.broken && before.view !== this.props.view) this.setState({ broken: false });
  }

  render({ children }, { broken }) {
    return broken ? html`<div class="page"><h1>This view broke</h1><p>Nothing is lost. Load the page again, or <a href="#/">begin another conversation</a>.</p></div>` : children;
  }
}

// announced is what a screen reader says when a session's status changes. The text
// of answers is not read out piece by piece.
const announced = {
  running: "The agent is working.", waiting: "Your answer is needed.", completed: "The answer is complete.",
  failed: "The run failed.", cancelled: "The run was stopped.", interrupted: "The run was interrupted.",
};

function Theme() {
  const [, drawn] = useState(0);
  const root = document.documentElement;
  const machine = matchMedia("(prefers-color-scheme: dark)");
  useEffect(() => machine.addEventListener("change", () => drawn((n) => n + 1)), []);
  const now = root.dataset.theme ?? (machine.matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  const change = () => {
    root.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // It holds for as long as the page is open.
    }
    drawn((n) => n + 1);
  };
  return html`<button type="button" class="quiet" aria-label=${`Switch to ${next} colours`} onClick=${change}>${now === "dark" ? "☀" : "☾"}</button>`;
}

function Login() {
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await api.login(new FormData(event.target).get("token").trim());
      location.reload();
    } catch (failed) {
      setProblem(failed.message);
    }
  };
  return html`<main class="page login">
    <h1>Troupe</h1>
    <p>Open the address that <code>troupe serve</code> printed: it ends in <code>#token=…</code>. Or put the token here:</p>
    <form class="row" onSubmit=${submit}><input name="token" type="password" aria-label="Token" autocomplete="current-password" required /><button class="primary">Enter</button></form>
    ${problem && html`<p class="note" data-level="error" role="alert">${problem}</p>`}
  </main>`;
}

// A token in the address is exchanged for a cookie, and leaves the address, so that
// nobody copies it by accident.
async function enter() {
  const token = location.hash.match(/^#token=([^&]+)/)?.[1];
  if (token) {
    history.replaceState(null, "", location.pathname + "#/");
    await api.login(decodeURIComponent(token)).catch(() => {}); // what is wrong shows in what follows
  }
  const root = document.getElementById("app");
  root.replaceChildren();
  render(html`<${App} />`, root);
}

enter();
