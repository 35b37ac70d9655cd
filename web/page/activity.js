// Every event of all conversations, for those who want to know exactly.

import { api } from "./shelf.js";
import { app, titleOf } from "./state.js";
import { clock, json } from "./forms.js";
import { address, replace, talkAddress } from "./route.js";
import { Bones, html, icon, useCalm, useEffect, useState } from "./view.js";

const perPage = 100;

// fileIn is the file that a call of a tool is about, "" where it is about none.
function fileIn({ arguments: given }) {
  try {
    const { file_path, path } = typeof given === "string" ? JSON.parse(given) : given ?? {};
    return String(file_path ?? path ?? "");
  } catch {
    return ""; // a model wrote it, and not well
  }
}

// titleIn is what the conversation of an event is called, as far as this page knows it.
const titleIn = ({ session }) => (app.sessions.has(session) ? titleOf(app.sessions.get(session)) : "");

// brief is an event in one line.
function brief({ body }) {
  const text = fileIn(body) || (body.text ?? body.message?.text ?? body.question ?? body.error ?? body.message ?? body.path ?? body.title ?? body.summary ?? body.input?.task ?? "");
  return `${body.tool ? body.tool + " " : ""}${typeof text === "string" ? text : ""}`.replace(/\s+/g, " ").slice(0, 200);
}

const level = ({ kind, body }) => (kind === "run_failed" || body.class ? "error" : kind === "warned" ? "warn" : "");

export function Activity({ route }) {
  const { q = "", agent = "", tool = "", errors = "", session = "" } = route.query;
  const [found, setHits] = useState(null);
  const hits = useCalm(found);
  const [more, setMore] = useState(false);
  const [problem, setProblem] = useState("");
  const set = (values) => replace(address(["activity"], { ...route.query, ...values }));
  const filter = { q, agent: agent.trim(), tool: tool.trim(), session, errors: errors === "1" ? "1" : "", limit: perPage };
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => api.logs(filter).then((found) => left || (setHits(found), setMore(found.length === perPage), setProblem("")), (trouble) => left || (setHits([]), setProblem(trouble.message))), 200);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [q, agent, tool, errors, session]);
  const older = () => api.logs({ ...filter, before: hits.at(-1).number }).then((found) => (setHits([...hits, ...found]), setMore(found.length === perPage)), (trouble) => setProblem(trouble.message));
  const field = (name, words, value) => html`<label class="field">${name === "q" && icon("search")}<input name=${name} placeholder=${words} aria-label=${words} value=${value} onInput=${(e) => set({ [name]: e.target.value })} /></label>`;
  return html`<div class="bar"><h1 class="h-20">Activity</h1><span class="grow"></span></div><div class="page"><div class="in">
    <div class="row wrap chips">${field("q", "Words", q)}${field("agent", "Agent", agent)}${field("tool", "Tool", tool)}<label class="chip out check"><input type="checkbox" checked=${errors === "1"} onChange=${(e) => set({ errors: e.target.checked ? "1" : "" })} />Only errors</label></div>
    ${problem && html`<p class="dim" role="alert">${problem}</p>`}
    ${hits === null ? html`<${Bones} />` : hits.length === 0 ? html`<p class="dim nothing">No event fits.</p>` : html`<ul class="hits">${hits.map(({ number, event }) => html`<li key=${number} data-level=${level(event)}><details><summary><time class="tiny faint num">${clock(event.time)}</time><code>${event.kind}</code><span class="small dim">${event.agent ?? ""}</span><span class="cut small">${brief(event)}</span>${titleIn(event) && html`<span class="cut small faint origin" title=${titleIn(event)}>${titleIn(event)}</span>`}</summary><pre tabindex="0">${json(event)}</pre><a class="link small" href=${talkAddress(event.session)}>Show the conversation${titleIn(event) && ` “${titleIn(event)}”`}</a></details></li>`)}</ul>${more && html`<button type="button" onClick=${older}>Older</button>`}`}</div></div>`;
}
