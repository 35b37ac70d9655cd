// Tool calls in a conversation: a line each, and the questions that some ask first.

import { html, useState } from "./view.js";
import { duration, json, size, visible } from "./format.js";
import { Prose } from "./prose.js";

const states = { running: "running", done: "done", failed: "failed", waiting: "waits for you", answered: "answered", interrupted: "interrupted" };

// ToolLine is a call. It opens to its arguments, its result and its time.
export function ToolLine({ item }) {
  return html`<details class="tool" data-state=${item.state}>
    <summary>
      <span class="dot" aria-hidden="true"></span>
      <span class="tool-name">${item.tool}</span>
      <span class="hint">${brief(item.arguments)}</span>
      <span class="tool-state">${states[item.state]}${item.ms !== undefined ? ", " + duration(item.ms) : ""}</span>
    </summary>
    <dl>
      <dt>Arguments${item.attempt > 1 ? ` (attempt ${item.attempt})` : ""}</dt>
      <dd><pre tabindex="0">${json(item.arguments)}</pre></dd>
      ${item.changed.length > 0 && html`<dt>Changed since the attempt before</dt><dd>${item.changed.map((c) => c.field).join(", ")}</dd>`}
      ${item.error && html`<dt>Error (${item.class})</dt><dd><pre tabindex="0">${visible(item.error)}</pre></dd>`}
      ${item.content !== undefined && html`<dt>Result (${size(item.size)})</dt><dd><pre tabindex="0">${pretty(item.content)}</pre></dd>`}
    </dl>
  </details>`;
}

// brief is the first argument, or what there is of it, in one line.
function brief(value) {
  if (value === null || typeof value !== "object") return visible(String(value ?? "")).slice(0, 80);
  const first = Object.values(value)[0];
  return visible(typeof first === "string" ? first : JSON.stringify(first) ?? "").replace(/\s+/g, " ").slice(0, 80);
}

function pretty(content) {
  try {
    return json(JSON.parse(content));
  } catch {
    return visible(content);
  }
}

// Question shows what somebody must answer before the run goes on. An approval shows
// the exact call, and takes yes or no.
export function Question({ item, who, answer }) {
  if (item.tool === "gate") return html`<${Gate} item=${item} answer=${answer} />`;
  const approval = item.tool !== "" && item.question.startsWith("May I call ");
  if (!approval) {
    return html`<section class="question" aria-label="Question" data-open=${item.open}>
      <${Prose} text=${item.question} />
      ${item.open && html`<p class="hint">Answer below.</p>`}
    </section>`;
  }
  if (!item.open) return html`<p class="note">${who} asked to call <code>${item.tool}</code>.</p>`;
  return html`<section class="question" aria-label="Approval" data-open="true">
    <h3>${who} wants to call <code>${item.tool}</code></h3>
    <p class="hint">This call is made as it stands here, or not at all:</p>
    <pre tabindex="0" aria-label="Exact arguments">${json(item.arguments)}</pre>
    <div class="row">
      <button type="button" class="primary" onClick=${() => answer("yes")}>Approve</button>
      <button type="button" class="danger" onClick=${() => answer("no")}>Deny</button>
      <span class="hint">Or say below why not.</span>
    </div>
  </section>`;
}

// Gate asks whether a delivery goes on after a phase.
export function Gate({ item, answer }) {
  const [guidance, setGuidance] = useState("");
  const { phase, next } = item.arguments ?? {};
  const send = (event) => {
    event.preventDefault();
    if (guidance.trim()) answer(guidance.trim());
  };
  return html`<section class="question" aria-label="Gate" data-open=${item.open}>
    <h3>Gate after ${phase}</h3>
    <${Prose} text=${item.question} />
    ${item.open
      ? html`<div class="row">
          <button type="button" class="primary" onClick=${() => answer("go on")}>${next ? `Approve and go on with ${next}` : "Approve and finish"}</button>
          <button type="button" class="danger" onClick=${() => answer("stop")}>Stop here</button>
        </div>
        <form class="row" onSubmit=${send}>
          <input aria-label="What the phase should do differently" placeholder="Or say what to do differently" value=${guidance} onInput=${(e) => setGuidance(e.target.value)} />
          <button disabled=${!guidance.trim()}>Run the phase again</button>
        </form>`
      : html`<p class="hint">Answered.</p>`}
  </section>`;
}
