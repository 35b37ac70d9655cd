// The page: which place is shown, and what surrounds all places.

import { capital } from "./format.js";
import { keep, kept } from "./kept.js";
import { go, replace, useRoute } from "./route.js";
import { Side, Toasts } from "./side.js";
import { app, byTime, isBack, load, titleOf, tryNow, useApp, waits } from "./state.js";
import { bring, Component, html, icon, lazy, render, styled, useEffect, useRef, useState } from "./view.js";

const Tabs = lazy(() => import("./tabbar.js"), "Tabs", () => null);
const Home = lazy(() => styled(() => import("./home.js")), "Home");
const Room = lazy(() => import("./room.js"), "Room");
const SignIn = lazy(() => styled(() => import("./signin.js")), "SignIn");
const Door = lazy(() => styled(() => import("./door.js")), "Door", () => null);
const Chats = lazy(() => styled(() => import("./places.js")), "Chats");
const MorePlaces = lazy(() => styled(() => import("./places.js")), "MorePlaces");
const Files = lazy(() => styled(() => import("./files.js")), "Files");
const Lists = lazy(() => styled(() => import("./lists.js")), "Lists");
const Activity = lazy(() => styled(() => import("./activity.js")), "Activity");
const Settings = lazy(() => styled(() => import("./settings.js")), "Settings");
const Find = lazy(() => styled(() => import("./find.js")), "Find");
const Mistake = lazy(() => styled(() => import("./mistake.js")), "Mistake", () => null);
const Help = lazy(() => styled(() => import("./help.js")), "Help");

const opened = new Date().toISOString(); // what was done since, and nobody has seen, is counted in the title

function App() {
  useApp();
  const route = useRoute();
  const [open, setOpen] = useState(""); // find or help
  const shut = (what) => setOpen((now) => (now === what ? "" : now)); // browsers say a little late that one was closed
  const [narrow, setNarrow] = useState(kept("narrow", false));
  const keys = useRef({}).current;
  Object.assign(keys, { find: () => app.known && setOpen("find"), help: () => setOpen("help"), side: () => setNarrow((now) => (keep("narrow", !now), !now)), close: () => setOpen("") });
  useEffect(() => {
    bring(() => import("./focus.js"));
    bring(() => import("./keys.js")).then(({ listenTo }) => listenTo(keys));
  }, []);
  const session = route.name === "s" && app.sessions.get(route.id);
  useEffect(() => {
    const calls = byTime().filter((s) => waits(s) || (s.unseen && s.status !== "running" && s.updated > opened)).length;
    document.title = (calls ? `(${calls}) ` : "") + (session ? [capital(route.view), titleOf(session), "Troupe"] : [route.name !== "s" && capital(route.name), "Troupe"]).filter(Boolean).join(" — ");
  });
  useEffect(() => document.getElementById("main")?.scrollTo?.(0, 0), [route.name, route.id]);
  if (!app.known && (app.signedOut || app.problem?.status === 401)) return html`<main><${SignIn} problem=${entered} /></main>`;
  const mini = narrow || (route.name === "s" && (route.query.file !== undefined || ["run", "flow"].includes(route.view)));
  const talks = route.name === "s" && route.view === ""; // its box is where the tabs would be
  return html`<div class=${"app" + (mini ? " mini" : "")}>
    <a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), document.getElementById("main").focus())}>To the content</a>
    <${Side} route=${route} find=${() => setOpen("find")} />
    <main id="main" tabindex="-1">${app.connection === "lost" && app.known && !app.signedOut && html`<${Strip} />`}${app.me.mistake && html`<${Mistake} />`}
      <${Boundary} key=${route.name + route.id} view=${route.view}>${place(route, () => setOpen("find"))}<//>
      <${Toasts} /></main>
    ${!talks && html`<${Tabs} route=${route} />`}
    ${open === "find" && html`<${Find} close=${() => shut("find")} />`}
    ${open === "help" && html`<${Help} close=${() => shut("help")} />`}
    ${app.signedOut && html`<${Door} />`}
    <p class="hidden" role="status" aria-live="polite">${app.said}</p>
  </div>`;
}

// Strip says that the server cannot be reached, and when it is tried again. It comes with
// the page: by then nothing more can be loaded.
function Strip() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timers = [setInterval(() => tick((n) => n + 1), 1000), setInterval(isBack, 4000)];
    return () => timers.forEach(clearInterval);
  }, []);
  const left = Math.max(0, Math.ceil((app.retryAt - Date.now()) / 1000));
  return html`<div class="strip calm" role="status">${icon("wifi-off")}<span class="grow"><b>Troupe cannot be reached.</b> What you type is kept here. ${left > 0 ? `Trying again in ${left} s.` : "Trying again…"}</span><button type="button" class="sm" onClick=${tryNow}>Try now</button></div>`;
}

function place(route, find) {
  switch (route.name) {
    case "s":
      return html`<${Room} key=${route.id} route=${route} />`;
    case "files":
      return html`<${Files} route=${route} />`;
    case "flows":
    case "deliveries":
      return html`<${Lists} what=${route.name} />`;
    case "activity":
      return html`<${Activity} route=${route} />`;
    case "settings":
      return html`<${Settings} section=${route.id || "look"} />`;
    case "chats":
      return html`<${Chats} />`;
    case "more":
      return html`<${MorePlaces} />`;
    default:
      return html`<${Home} find=${find} />`;
  }
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
    return broken ? html`<div class="page"><div class="in"><h1>This view broke</h1><p>Nothing is lost. Load the page again, or go <a class="link" href="#/">home</a>.</p></div></div>` : children;
  }
}

let entered = "";

// A token in the address is exchanged for a cookie, and leaves the address, so that
// nobody copies it by accident. That holds for a link that is pasted into an open tab,
// too.
async function token() {
  const code = location.hash.match(/^#token=([^&]+)/)?.[1];
  if (!code) return false;
  replace(before);
  try {
    await (await import("./signin.js")).enter(code);
  } catch (problem) {
    entered = problem.status === 401 ? problem.code : problem.message;
    await load();
  }
  return true;
}

// What is dropped where nothing takes it must not have the browser leave the page for it.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());

let before = "#/";
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) token();
  else before = location.hash || "#/";
});

async function begin() {
  if (!location.hash.startsWith("#token=")) before = location.hash || "#/";
  const root = document.getElementById("app");
  const first = (await token()) ? null : load();
  root.replaceChildren();
  render(html`<${App} />`, root);
  await first;
  // What is likely to be wanted next is there when it is, and the door before somebody is
  // signed out.
  (globalThis.requestIdleCallback ?? setTimeout)(() => styled(() => Promise.all([import("./door.js"), import("./signin.js"), import("./trouble.js"), import("./room.js"), import("./home.js")])).catch(() => {}));
}

begin();
