// The frame: places, what waits, conversations by day; a bar of tabs on a phone.

import { app, agentOf, byTime, can, dismiss, pipeline, update, useApp, waiting, titleOf, waits } from "./state.js";
import { day, states, when } from "./format.js";
import { talkAddress } from "./route.js";
import { Face, html, icon, lazy, Logo, useEffect, useRef, useState } from "./view.js";

const Theme = lazy(() => import("./theme.js"), "Theme", () => html`<span class="btn tool sm"></span>`);

const places = [
  ["", "house", "Home"], ["files", "folder-open", "Files"], ["flows", "workflow", "Flows", "flows"], ["deliveries", "package-check", "Deliveries", "deliveries"], ["activity", "activity", "Activity", "logs"],
];

// within are the places that views of a conversation belong to.
const within = { __proto__: null, run: "activity", flow: "flows", delivery: "deliveries" };

// shown is how many conversations are listed.
const shown = 60;

// stillFor is how long a list stays as it is for a pointer that does not move.
const stillFor = 3000;

// useStillness keeps what is pointed at where it is: while a pointer moves over a list,
// its sections are those that were there, and what is new waits.
function useStillness() {
  const held = useRef({ ids: null, timer: 0 }).current;
  const [, draw] = useState(0);
  const now = [waiting(), byTime().filter((s) => !waits(s)).filter((s, i) => i < shown || s.pinned)];
  const release = () => {
    clearTimeout(held.timer);
    if (held.ids) draw((n) => n + 1);
    held.ids = null;
  };
  const hold = (event) => {
    if (event.pointerType !== "mouse") return;
    held.ids ??= now.map((list) => list.map((s) => s.id));
    clearTimeout(held.timer);
    held.timer = setTimeout(release, stillFor);
  };
  const lists = held.ids ? held.ids.map((ids) => ids.map((id) => app.sessions.get(id)).filter(Boolean)) : now;
  return [lists, { onPointerMove: hold, onPointerLeave: release }];
}

export function Side({ route, find }) {
  const [[waits, rest], still] = useStillness();
  const pinned = rest.filter((s) => s.pinned);
  const groups = [["Pinned", pinned]];
  for (const s of rest.filter((s) => !s.pinned)) {
    const name = day(s.updated);
    if (groups.at(-1)[0] !== name) groups.push([name, []]);
    groups.at(-1)[1].push(s);
  }
  const entry = (s) => html`<li key=${s.id}><${Entry} session=${s} current=${route.id === s.id} /></li>`;
  const archived = byTime(true), section = (name, list, mark) => list.length > 0 && html`<h2 class="group">${mark}${name}</h2><ul>${list.map(entry)}</ul>`;
  return html`<aside class="side" aria-label="Troupe">
    <a class="brand" href="#/" aria-label="Troupe, home"><${Logo} /><span>Troupe</span></a>
    <div class="find"><button type="button" class="field" onClick=${find}>${icon("search")}<span class="grow small">Find anything</span><kbd aria-hidden="true">${/Mac/.test(navigator.platform) ? "⌘" : "Ctrl "}K</kbd></button></div>
    <nav aria-label="Main">${places.filter((p) => !p[3] || !app.known || can(p[3])).map(([name, drawing, words]) => html`<a href=${"#/" + name} key=${name} aria-current=${route.name === name ? "page" : route.name === "s" && within[route.view] === name ? "true" : undefined} title=${words} aria-label=${words}>${icon(drawing)}<span>${words}</span></a>`)}</nav>
    <div class="scroll" role="navigation" aria-label="Conversations" ...${still}>
      ${section("Waiting for you", waits, html`<span class="dot spot"></span>`)}
      ${groups.map(([name, list]) => section(name, list))}
      ${rest[shown - 1] && html`<a class="item" href="#/chats">All conversations</a>`}
      ${archived.length > 0 && html`<details class="did"><summary class="group">Archived${icon("chevron-down", "chev")}</summary><ul>${archived.map(entry)}</ul></details>`}
    </div>
    <div class="foot"><span class="face you" aria-hidden="true">${(app.me.name || "Y")[0].toUpperCase()}</span><span class="cut grow small">${app.me.name || "You"}</span>
      <${Theme} /><a class="btn tool sm" href="#/settings/look" title="Settings" aria-label="Settings">${icon("settings")}</a></div>
  </aside>`;
}

// Entry is a conversation in a list. Its state has an icon and a word, never a colour
// alone.
export function Entry({ session: s, current = false }) {
  const agent = agentOf(s.agent), isFailed = s.outcome === "failed", short = isFailed ? "Not done" : "Not all is done";
  const mark = waits(s) ? html`<span class="dot spot" title=${states.waiting}></span><span class="hidden">${states.waiting}</span>`
    : s.status === "running" ? html`${icon("loader-circle", "spin")}<span class="hidden">${states.running}</span>`
    : ["failed", "interrupted"].includes(s.status) ? html`${icon("circle-alert", "bad")}<span class="hidden">${states[s.status]}</span>`
    : s.status === "completed" && (s.stop || s.outcome) ? html`<span title=${short}>${icon("circle-alert", isFailed ? "bad" : "")}</span><span class="hidden">${short}</span>`
    : s.unseen ? html`<span class="dot unseen" title="New"></span><span class="hidden">New</span>` : html`<span class="tiny faint">${when(s.updated)}</span>`;
  return html`<a class="item" href=${talkAddress(s.id, s.agent === pipeline ? "delivery" : "")} data-status=${s.status} aria-current=${current ? "page" : null}><${Face} id=${s.agent} name=${agent.name} size="s" /><span class="cut grow" dir="auto">${s.forked && html`<span title="Goes on from another one">${icon("git-branch")}</span><span class="hidden">Goes on from another one:</span> `}${titleOf(s)}</span>${mark}</a>`;
}

// Toasts lie on nothing, and nothing that is read moves for them: in a conversation they are above
// all that is below it, elsewhere below everything, as where a document covers the conversation.
export function Toasts({ inTalk }) {
  useApp();
  useEffect(update, [location.hash]); // where they are depends on what is there then
  if (!inTalk === !!document.querySelector(`.room:not(:has(${innerWidth > 760 ? ".full" : ".panel"})) .composer`)) return null;
  return html`<div class="toasts" ref=${(e) => measure(e)}>${app.toasts.map((one) => html`<div class="toast" role="status" key=${one.key} onMouseEnter=${one.hold} onMouseLeave=${one.go} onFocusIn=${one.hold} onFocusOut=${one.go}><span>${one.text}</span>${one.undo && html`<button type="button" class="ghost sm" onClick=${one.undo}>Undo</button>`}<button type="button" class="tool sm" aria-label="Dismiss" onClick=${() => dismiss(one)}>${icon("x")}</button></div>`)}</div>`;
}

// measure says how high they are, and how far what fills the whole window stays above its lower edge.
function measure(toasts) {
  if (!toasts) return;
  const { style } = document.body, height = (app.toastsHeight = toasts.offsetHeight);
  style.setProperty("--toasts", height + "px");
  style.setProperty("--below", (height && innerHeight - toasts.getBoundingClientRect().top) + "px");
}
