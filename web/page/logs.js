// The log view: events of all sessions, chosen as 'troupe logs' chooses them.

import { api } from "./api.js";
import { html, useEffect, useState } from "./view.js";
import { clock, day, duration, json } from "./format.js";

const none = { q: "", agent: "", tool: "", session: "", level: "info", since: "", until: "", errors: false };
const page = 100;

// every is how often what is new is looked for while following.
const every = 3000;

// about is an event in one line.
export function about({ kind, body: b }) {
  switch (kind) {
    case "run_started": return b.input?.task ?? "";
    case "user_said": return b.text;
    case "model_replied": return [b.model, b.message?.text || b.message?.refusal || (b.message?.calls ?? []).map((c) => c.name).join(", "), duration(b.latency_ms)].filter(Boolean).join(": ");
    case "tool_called": return `${b.tool} ${JSON.stringify(b.arguments)}`;
    case "tool_returned": return `${b.tool} ${b.class ? `${b.class}: ${b.error}` : "done"} in ${duration(b.duration_ms)}`;
    case "handed_off": return `${b.from} → ${b.to}`;
    case "input_requested": return b.question;
    case "artifact_saved": return b.path;
    case "warned": return `${b.code}: ${b.message}`;
    case "run_failed": return b.error;
    case "run_finished": return b.stop;
    case "context_loaded": return b.source;
    default: return b.reason ?? b.title ?? "";
  }
}

// seriousness is the level of an event.
export function seriousness({ kind, body }) {
  if (kind === "run_failed" || body.class) return "error";
  return kind === "warned" ? "warn" : "info";
}

export function Logs({ agents, session }) {
  const [filter, setFilter] = useState({ ...none, session: session ?? "" });
  const [hits, setHits] = useState(null);
  const [problem, setProblem] = useState("");
  const [following, setFollowing] = useState(false);
  const [more, setMore] = useState(false);
  useEffect(() => {
    let stale = false, timer;
    const read = async () => {
      try {
        const found = await api.logs({ ...filter, limit: page });
        if (stale) return;
        setHits(found), setMore(found.length === page), setProblem("");
      } catch (failed) {
        if (!stale) setProblem(failed.message);
      }
      if (following && !stale) timer = setTimeout(read, every);
    };
    timer = setTimeout(read, hits === null ? 0 : 300);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [filter, following]);
  const older = async () => {
    try {
      const found = await api.logs({ ...filter, limit: page, before: hits.at(-1).number });
      setFollowing(false), setHits([...hits, ...found]), setMore(found.length === page);
    } catch (failed) {
      setProblem(failed.message);
    }
  };
  const field = (name, label, hint) => html`<label>${label}<input name=${name} placeholder=${hint} value=${filter[name]} onInput=${(e) => setFilter({ ...filter, [name]: e.target.value.trim() })} /></label>`;
  return html`<div class="page">
    <h1>Logs</h1>
    <form class="filters" role="search" aria-label="Filter events" onSubmit=${(e) => e.preventDefault()}>
      <label>Words<input type="search" name="q" value=${filter.q} onInput=${(e) => setFilter({ ...filter, q: e.target.value })} /></label>
      <label>Agent<input name="agent" list="agent-names" value=${filter.agent} onInput=${(e) => setFilter({ ...filter, agent: e.target.value.trim() })} />
        <datalist id="agent-names">${agents.map((a) => html`<option key=${a.id} value=${a.id} />`)}</datalist></label>
      ${field("tool", "Tool", "read_file")}${field("session", "Session", "id")}
      <label>Level<select name="level" value=${filter.level} onChange=${(e) => setFilter({ ...filter, level: e.target.value })}>
        ${["debug", "info", "warn", "error"].map((level) => html`<option key=${level}>${level}</option>`)}</select></label>
      ${field("since", "Since", "2h or 2026-01-31")}${field("until", "Until", "2026-01-31")}
      <label class="check"><input type="checkbox" name="errors" checked=${filter.errors} onChange=${(e) => setFilter({ ...filter, errors: e.target.checked })} /> Only errors</label>
      <label class="check"><input type="checkbox" name="follow" checked=${following} onChange=${(e) => setFollowing(e.target.checked)} /> Follow</label>
    </form>
    ${problem && html`<p class="note" data-level="error" role="alert">${problem}</p>`}
    ${hits?.length === 0 && !problem && html`<p class="note">No event fits. Take a filter away, or lower the level.</p>`}
    ${hits?.length > 0 && html`<ol class="hits" aria-label="Events">${hits.map(({ number, event }) => html`<li key=${number} data-level=${seriousness(event)}>
      <details><summary>
        <time datetime=${event.time}>${day(event.time)} ${clock(event.time)}</time> <span class="hit-agent">${event.agent}</span> <strong>${event.kind}</strong> <span class="hit-text">${about(event)?.slice(0, 200)}</span>
      </summary>
      <p><a href=${"#/s/" + event.session}>Show the conversation</a></p><pre tabindex="0">${json(event)}</pre></details>
    </li>`)}</ol>`}
    ${more && html`<button type="button" onClick=${older}>Older</button>`}
  </div>`;
}
