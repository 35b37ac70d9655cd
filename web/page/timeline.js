// The run view: model and tool calls on a line of time, with what they took.

import { html } from "./view.js";
import { clock, cost, count, duration } from "./format.js";

// rows returns spans as bars between 0 and 100 per cent of the session's time. Idle
// time between runs, when the user was thinking, is left out.
export function rows(session, now = Date.now()) {
  const spans = session.spans.map((span) => ({ ...span, from: Date.parse(span.start), to: span.end ? Date.parse(span.end) : now }));
  const busy = [...spans].sort((a, b) => a.from - b.from);
  const gaps = []; // [when, how much is left out from then on]
  let end = busy[0]?.from ?? 0, skipped = end;
  for (const span of busy) {
    if (span.from - end > 5000) skipped += span.from - end - 1000;
    gaps.push([span.from, skipped]);
    end = Math.max(end, span.to);
  }
  const place = (time) => time - (gaps.findLast(([from]) => from <= time)?.[1] ?? skipped);
  const total = Math.max(end - skipped, 1);
  return spans.map((span) => {
    const left = (place(span.from) / total) * 100;
    return { ...span, left, width: Math.max(Math.min(((span.to - span.from) / total) * 100, 100 - left), 0.4) };
  });
}

export function Timeline({ session }) {
  const { totals, runs } = session;
  const list = rows(session);
  return html`<div class="page">
    <h1>Run</h1>
    <dl class="figures">
      ${figure("Model calls", count(totals.turns))}${figure("Tool calls", count(totals.calls))}
      ${figure("Tokens in", count(totals.input) + (totals.cached ? ` (${count(totals.cached)} cached)` : ""))}
      ${figure("Tokens out", count(totals.output))}${figure("Cost", cost(totals.cost) || "not known")}
    </dl>
    ${list.length === 0 && html`<p class="note">Nothing has run in this session yet. Say something in the conversation.</p>`}
    ${list.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label="Timeline"><table class="waterfall">
      <thead><tr><th>Call</th><th>Agent</th><th class="right">Time</th><th class="right">Tokens</th><th class="right">Cost</th><th>When</th></tr></thead>
      <tbody>${list.map((span) => html`<tr data-kind=${span.kind} data-failed=${span.class !== undefined && span.class !== ""}>
        <th scope="row" class=${"depth-" + Math.min(runs.get(span.run)?.depth ?? 0, 5)}>${span.kind === "model" ? "◆" : "▸"} ${span.name}${span.purpose && ` (${span.purpose})`}${span.class && ` (${span.class})`}</th>
        <td>${span.agent}</td>
        <td class="right">${span.end ? duration(span.to - span.from) : "running"}</td>
        <td class="right">${span.usage ? `${count(span.usage.input_tokens)} → ${count(span.usage.output_tokens)}` : ""}</td>
        <td class="right">${cost(span.cost)}</td>
        <td class="track" title=${clock(span.start)}><span class="bar" data-running=${!span.end} style=${{ left: span.left + "%", width: span.width + "%" }}></span></td>
      </tr>`)}</tbody>
    </table></div>`}
  </div>`;
}

const figure = (name, value) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
