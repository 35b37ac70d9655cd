// The delivery view: a request on its way through the phases, and the gates between.

import { html, useState } from "./view.js";
import { duration, size } from "./format.js";
import { Gate } from "./tools.js";

// pipeline is the name of the step that takes a request through all phases.
export const pipeline = "deliver";

const usual = ["requirements", "architecture", "discovery", "planning", "implementation", "qa"];

// phases returns what became of each phase: of one that was run again, the last time.
export function phases(session) {
  const found = new Map();
  for (const run of session.runs.values()) {
    if (run.depth !== 1) continue;
    const before = found.get(run.agent);
    found.set(run.agent, {
      name: run.agent, state: run.status, rounds: (before?.rounds ?? 0) + 1, result: run.output?.key_outputs?.result ?? null,
      ms: run.ended ? Date.parse(run.ended) - Date.parse(run.started) : undefined,
    });
  }
  const own = found.size > 0 && !usual.some((name) => found.has(name));
  const names = new Set([...(own ? [] : usual), ...found.keys()]);
  return [...names].map((name) => found.get(name) ?? { name, state: "idle", rounds: 0, result: null });
}

const words = { idle: "to come", running: "working", waiting: "waits for you", completed: "done", failed: "failed", cancelled: "stopped" };

export function Delivery({ session, answer, openFile }) {
  const gate = session.questions.find((q) => q.tool === "gate");
  const request = session.items.find((item) => item.type === "user")?.text;
  return html`<div class="page">
    <h1>Delivery</h1>
    ${request && html`<p class="plain">${request}</p>`}
    <ol class="phases" aria-label="Phases">${phases(session).map((phase) => html`<${Phase} key=${phase.name} phase=${phase} openFile=${openFile} />`)}</ol>
    ${gate && html`<${Gate} item=${gate} answer=${answer} />`}
  </div>`;
}

function Phase({ phase, openFile }) {
  const { result } = phase;
  const status = result ? result.status : words[phase.state] ?? phase.state;
  const lines = (title, list) => list?.length > 0 && html`<h4>${title}</h4><ul>${list.map((line) => html`<li>${textOf(line)}</li>`)}</ul>`;
  return html`<li class="phase" data-state=${result?.status === "failed" ? "failed" : phase.state}>
    <h3>${phase.name} <span class="hint">${status}${phase.ms ? ", " + duration(phase.ms) : ""}${phase.rounds > 1 ? `, ${phase.rounds} rounds` : ""}</span></h3>
    ${result && html`<div>
      ${result.artifacts?.length > 0 && html`<h4>Artifacts</h4><ul>${result.artifacts.map((a) => html`<li>
        <button type="button" class="link" onClick=${() => openFile(a.path)}>${a.path}</button>
        <span class="hint"> ${a.state === "failed" ? `failed: ${a.error}` : `${a.change ?? a.state}, ${size(a.size)}`}</span></li>`)}</ul>`}
      ${lines("Errors", result.errors)}${lines("Warnings", result.warnings)}
      ${lines("Blockers", result.next_phase?.blockers)}
    </div>`}
  </li>`;
}

// textOf is a line of a result, be it an object.
function textOf(line) {
  if (typeof line === "string") return line;
  return String(line?.description ?? line?.title ?? line?.text ?? JSON.stringify(line));
}

// NewDelivery asks for a request.
export function NewDelivery({ deliver }) {
  const [text, setText] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) deliver(text.trim());
  };
  return html`<div class="page">
    <h1>Deliver a request</h1>
    <p class="hint">It is taken through ${usual.join(", ")}. You are asked at the gates.</p>
    <form onSubmit=${submit}>
      <label for="request">Request</label>
      <textarea id="request" rows="6" value=${text} placeholder="As a customer I want to …" onInput=${(e) => setText(e.target.value)}></textarea>
      <button class="primary" disabled=${!text.trim()}>Deliver</button>
    </form>
  </div>`;
}
