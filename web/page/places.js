// Places that need no side bar, as on a phone.

import { leave } from "./signin.js";
import { app, byTime, can } from "./state.js";
import { useOlder } from "./older.js";
import { Entry } from "./side.js";
import { html, icon } from "./view.js";

// Chats lists all conversations.
export function Chats() {
  const [isKnown, older] = useOlder();
  const list = (all) => html`<ul class="recent chats">${all.map((s) => html`<li key=${s.id}><${Entry} session=${s} /></li>`)}</ul>`, archived = byTime(true);
  return html`<div class="page"><div class="in"><h1 class="title">Conversations</h1>${list(byTime())}${older}
    ${archived.length > 0 && html`<details class="did"><summary class="acts">${icon("archive")}<span>Archived</span>${icon("chevron-down", "chev")}</summary>${list(archived)}</details>`}
    ${byTime().length === 0 && isKnown && !older && html`<section class="card pad empty">${icon("message-square")}<h2 class="h-20">Nothing was said yet</h2><p class="dim">Conversations are listed here.</p><a class="btn primary" href="#/">Begin</a></section>`}</div></div>`;
}

// MorePlaces lists the places that have no tab of their own.
export function MorePlaces() {
  const list = [["flows", "workflow", "Flows", "flows"], ["activity", "activity", "Activity", "logs"], ["settings/look", "sun", "This page"], ["settings/models", "settings", "Settings", "settings"], ["settings/about", "info", "About"]].filter(([, , , part]) => !part || can(part));
  return html`<div class="page"><div class="in"><h1 class="title">More</h1><div class="does more-places">${list.map(([name, drawing, words]) => html`<a href=${"#/" + name} key=${name}>${icon(drawing)}<span>${words}</span></a>`)}${app.me.sign_out && html`<button type="button" onClick=${leave}>${icon("log-out")}<span>Sign out</span></button>`}</div></div></div>`;
}
