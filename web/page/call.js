// One call of a tool, opened: what was sent, what came back.

import { done, isCutOff, isToldVain } from "./words.js";
import { size } from "./format.js";
import { duration, json, visible } from "./forms.js";
import { html } from "./view.js";

export function Call({ item, id }) {
  const state = { running: "now", failed: !isToldVain(item) && "did not work", waiting: "waits for you" }[item.state];
  return html`<details class="call" data-state=${item.state}><summary>${done(item)}${state && html` <span class=${item.state === "waiting" ? "wait" : "faint"}>${state}</span>`}${item.ms !== undefined && !isCutOff(item) && html` <span class="faint">${duration(item.ms)}</span>`}</summary>
    <dl class="exact"><dt>Sent to <code>${item.tool}</code>${item.attempt > 1 ? `, attempt ${item.attempt}` : ""}</dt><dd><pre tabindex="0">${json(item.arguments)}</pre></dd>
      ${item.error && html`<dt>What went wrong</dt><dd><pre tabindex="0">${visible(item.error)}</pre></dd>`}
      ${item.content !== undefined && html`<dt>Came back, ${size(item.size)}</dt><dd><pre tabindex="0">${pretty(item.content)}</pre></dd>`}</dl>
    ${item.span?.seq && html`<a class="link tiny" href=${`#/s/${id}/run/${item.span.seq}`}>See it in the run</a>`}</details>`;
}

function pretty(content) {
  try {
    return json(JSON.parse(content));
  } catch {
    return visible(content);
  }
}
