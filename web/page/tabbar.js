// The places, as a bar of tabs on a phone.

import { states } from "./format.js";
import { app, can, waiting } from "./state.js";
import { html, icon } from "./view.js";

// within says of places that have no tab under which they are.
const within = { __proto__: null, settings: "more", activity: "more", flows: "more" };

export function Tabs({ route }) {
  const tabs = [["", "house", "Home"], ["chats", "message-square", "Chats"], ["files", "folder-open", "Files"], ["deliveries", "package-check", "Deliveries"], ["more", "menu", "More"]].filter(([name]) => name !== "deliveries" || !app.known || can(name));
  return html`<nav class="tabbar" aria-label="Main" style=${{ gridTemplateColumns: `repeat(${tabs.length}, 1fr)` }}>${tabs.map(([name, drawing, words]) => html`<a href=${"#/" + name} key=${name} aria-current=${(within[route.name] ?? route.name) === name || (name === "deliveries" && route.view === "delivery") ? "page" : undefined}>${icon(drawing)}${words}${name === "chats" && waiting().length > 0 && html`<span class="dot spot"></span><span class="hidden">${states.waiting}</span>`}</a>`)}</nav>`;
}
