// The list of conversations: grouped by agent and day, searched, renamed, deleted.

import { api } from "./api.js";
import { html, useEffect, useRef, useState } from "./view.js";
import { day } from "./format.js";

// Sessions lists conversations. changed is a number that goes up when the list is
// to be read again; left is called when the conversation shown was deleted.
export function Sessions({ current, agentOf, changed, left, tell }) {
  const [list, setList] = useState(null);
  const [words, setWords] = useState("");
  const [read, setRead] = useState(0);
  const again = () => setRead((n) => n + 1);
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(async () => {
      try {
        const found = await find(words);
        if (!stale) setList(found);
      } catch (problem) {
        if (!stale) setList((old) => old ?? []), tell(problem.message);
      }
    }, words ? 250 : 0);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [words, changed, read]);
  return html`<nav class="sessions" aria-label="Conversations">
    <input id="search" type="search" aria-label="Search conversations" aria-keyshortcuts="Control+K" placeholder="Search conversations" value=${words} onInput=${(e) => setWords(e.target.value)} />
    ${list === null && html`<p class="hint">Loading…</p>`}
    ${list?.length === 0 && html`<p class="hint">${words ? "Nothing was found. Try other words." : "No conversations yet. Choose an agent to begin one."}</p>`}
    ${grouped(list ?? []).map(([agent, days]) => html`<section key=${agent}>
      <h2><span aria-hidden="true">${agentOf(agent).icon}</span> ${agentOf(agent).name || agent || "No agent"}</h2>
      ${days.map(([name, sessions]) => html`<h3 key=${name}>${name}</h3>
        <ul>${sessions.map((s) => html`<${Entry} key=${s.id} session=${s} current=${s.id === current} again=${again} left=${left} tell=${tell} />`)}</ul>`)}
    </section>`)}
  </nav>`;
}

// find returns the sessions in which words were said, and those whose title has
// them. A server that cannot search still has titles.
async function find(words) {
  const all = await api.sessions();
  if (!words.trim()) return all;
  const titled = all.filter((s) => (s.title ?? "").toLowerCase().includes(words.trim().toLowerCase()));
  const said = await api.sessions({ q: words }).catch(() => []);
  return [...titled, ...said.filter((s) => !titled.some((t) => t.id === s.id))];
}

// grouped returns [[agent, [[day, sessions]]]], in the order of the list.
export function grouped(list) {
  const agents = new Map();
  for (const session of list) {
    const days = agents.get(session.agent) ?? agents.set(session.agent, new Map()).get(session.agent);
    const name = day(session.updated);
    days.set(name, [...(days.get(name) ?? []), session]);
  }
  return [...agents].map(([agent, days]) => [agent, [...days]]);
}

function Entry({ session, current, again, left, tell }) {
  const [mode, setMode] = useState("");
  const title = session.title || "Untitled";
  const act = async (what) => {
    setMode("");
    try {
      await what();
    } catch (problem) {
      tell(problem.message);
    }
    again();
  };
  if (mode === "rename") {
    return html`<li><${Rename} title=${title} done=${() => setMode("")} rename=${(text) => act(() => api.rename(session.id, text))} /></li>`;
  }
  if (mode === "delete") {
    return html`<li class="row confirm" role="group" aria-label=${"Delete " + title}>
      <span>Delete it and its files?</span>
      <button type="button" class="danger" onClick=${() => act(async () => (await api.remove(session.id), current && left()))}>Delete</button>
      <button type="button" onClick=${() => setMode("")}>Keep</button>
    </li>`;
  }
  return html`<li class="entry" data-status=${session.status}>
    <a href=${"#/s/" + session.id} aria-current=${current ? "page" : undefined} title=${session.status}>${title}</a>
    <button type="button" class="quiet" aria-label=${"Rename " + title} onClick=${() => setMode("rename")}>✎</button>
    <button type="button" class="quiet" aria-label=${"Delete " + title} onClick=${() => setMode("delete")}>×</button>
  </li>`;
}

function Rename({ title, done, rename }) {
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  const submit = (event) => {
    event.preventDefault();
    const text = field.current.value.trim();
    text && text !== title ? rename(text) : done();
  };
  return html`<form class="row" onSubmit=${submit} onKeyDown=${(e) => e.key === "Escape" && done()}>
    <input ref=${field} aria-label="New title" defaultValue=${title} /><button>Save</button>
  </form>`;
}
