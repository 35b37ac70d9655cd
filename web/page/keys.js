// The keyboard. Single letters act only outside fields, and can be switched off.

import { take } from "./focus.js";
import { kept } from "./kept.js";
import { go, talkAddress } from "./route.js";
import { app, can, waiting } from "./state.js";

// places are what g and a letter lead to, each with its name and, where a server need not have it,
// the part that it is there for.
const places = { __proto__: null, h: ["#/", "home"], f: ["#/files", "files"], l: ["#/flows", "flows", "flows"], d: ["#/deliveries", "deliveries", "deliveries"], a: ["#/activity", "activity", "logs"], s: ["#/settings/look", "settings"] };

// placesThere are those of them that this server has, as [letter, address, name].
export const placesThere = () => Object.entries(places).filter(([, [, , part]]) => !part || !app.known || can(part)).map(([letter, [to, name]]) => [letter, to, name]);

// inField says whether a letter is written where it goes.
export const inField = (target) => target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], dialog");

// rows are what j and k go through, what lies on top first: changes, calls, events, files,
// turns, and what waits or was touched last.
const rows = [".sheet ins, .sheet del", ".lane[tabindex]", ".hits summary", ".list tbody tr[tabindex]", ".turn, .said", ".waits > article > a, .recent a"];

// step moves the focus to the next or previous turn, call, change or row: of those that the
// focus is in, or of what lies on top.
function step(by) {
  const other = document.querySelector(`.panel [aria-label="${by > 0 ? "The next call" : "The call before"}"]`);
  if (other) return other.click();
  const active = document.activeElement;
  const lists = rows.map((selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility())).filter((list) => list.length);
  const all = lists.find((list) => list.some((e) => e.contains(active))) ?? lists[0];
  if (!all) return;
  const at = all.findIndex((e) => e.contains(active));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))];
  next.tabIndex = next.tabIndex < 0 ? -1 : next.tabIndex;
  if (!next.hasAttribute("tabindex")) next.setAttribute("tabindex", "-1");
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  next.closest(".library")?.dispatchEvent(new Event("scroll")); // so that what comes next is drawn before the next key
}

// awaits says whether the focus is to be given to something that is not there yet: what is drawn
// meanwhile does not take it by itself.
const awaits = (is) => document.body.toggleAttribute("data-awaits", is);

// takeFocus gives the focus to the first of what is there, by the first selector that finds
// something, now or in a moment: until then whoever does something else keeps it.
export function takeFocus(...selectors) {
  const given = () => {
    const found = selectors.flatMap((selector) => [...document.querySelectorAll(selector)]).find((e) => e.checkVisibility());
    if (!found) return false;
    if (found.tabIndex < 0) found.tabIndex = -1; // so that it can have it
    if (found.matches(".needs")) take(found);
    else found.focus();
    awaits(false);
    return true;
  };
  if (given()) return;
  awaits(true);
  const seen = new MutationObserver(() => given() && end());
  const timer = setTimeout(() => end(), 10_000);
  const end = () => (awaits(false), seen.disconnect(), clearTimeout(timer), ["keydown", "pointerdown"].forEach((kind) => removeEventListener(kind, end, true)));
  seen.observe(document.body, { childList: true, subtree: true });
  for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, end, true);
}

// goTo goes to a place, and gives the focus to the first of what is there.
export function goTo(place, selector) {
  if (location.hash === place) return takeFocus(selector);
  addEventListener("hashchange", () => requestAnimationFrame(() => takeFocus(selector)), { once: true });
  awaits(true);
  go(place);
}

// answerPlace is where a question is answered in its conversation: its card, or the box where it has none.
export const answerPlace = ({ kind, tool, choices } = {}) => (kind === "gate" || tool || choices?.length ? "#main .needs" : ".composer textarea");

// panel opens or closes the files of a conversation, or goes into the preview of a file.
function panel() {
  const shown = document.querySelector(".panel"), files = document.querySelector('.bar [aria-label^="Files of this"]');
  const row = document.activeElement.closest(".library tbody tr");
  files?.click();
  if (!shown) row?.click();
  if (files ? !shown : shown || row) takeFocus(".glance", ".panel");
}

// A key that is held acts once: what it did may have given the focus to another button, or brought
// another card. In a text Enter is a line.
addEventListener("keydown", (event) => {
  const isLine = event.target.matches?.("textarea") && !event.ctrlKey && !event.metaKey;
  if (event.repeat && (event.key === "Escape" || (event.key === "Enter" && !isLine))) event.preventDefault(), event.stopImmediatePropagation();
}, true);

// ahead is what is typed while Find is on its way: it is for Find.
let ahead = null;
export function typedAhead() {
  const typed = ahead ?? "";
  ahead = null;
  return typed;
}

addEventListener("keydown", (event) => {
  if (ahead === null || event.key.length > 1 || event.ctrlKey || event.metaKey) return;
  ahead += event.key;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// find opens Find, and waits for it for a while.
function find(acts) {
  if (document.querySelector(".side") && !document.querySelector(".finder")) (ahead = ""), setTimeout(typedAhead, 5000);
  acts.find();
}

// showHelp shows the list of what the keyboard does.
export const showHelp = () => heeded?.help();
let heeded = null;

// listenTo has keys do what the acts are: find, help, side and close.
export function listenTo(acts) {
  heeded = acts;
  let after = "", escaped = 0, led = "";
  const letters = {
    "[": () => acts.side(), "]": panel, j: () => step(1), k: () => step(-1), m: () => [...document.querySelectorAll(".model")].find((e) => e.checkVisibility())?.click(),
    "?": () => acts.help(), "/": () => (document.querySelector(".composer .tasks") ? document.querySelector(".composer .tasks").click() : document.querySelector(".composer textarea")?.focus()),
    w: () => {
      const cards = location.hash.startsWith("#/s/") ? [...document.querySelectorAll("#main .needs")].filter((e) => e.checkVisibility()) : [];
      const list = waiting(), here = list.findIndex((s) => location.hash.split(/[/?]/)[2] === s.id), next = list[(here + 1) % list.length];
      let at = cards.findIndex((e) => e.contains(document.activeElement));
      if (at < 0 && led === location.hash && document.activeElement === document.body) at = 0; // the one that it has led to
      const card = cards[at + 1] ?? (list.length === 1 && here === 0 ? cards[0] : null);
      if (card) return take(card);
      if (!next) return;
      goTo((led = talkAddress(next.id, next.question?.kind === "gate" ? "delivery" : "")), answerPlace(next.question));
    },
  };
  const pressed = (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "k") return event.preventDefault(), find(acts);
    if (command && event.key.toLowerCase() === "j") return event.preventDefault(), acts.close(), goTo("#/", ".ask textarea");
    if (command && event.shiftKey && event.key.toLowerCase() === "c" && document.querySelector(".turn")) {
      event.preventDefault();
      return [...document.querySelectorAll('[aria-label="Copy the answer"]')].at(-1)?.click();
    }
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open], .pop")) {
      if (escaped && Date.now() - escaped < 600) document.querySelector('.composer [aria-label="Stop"]')?.click();
      escaped = Date.now();
      const panel = document.querySelector(".panel [aria-label=Close]");
      return panel ? panel.click() : document.querySelector(".composer textarea, .ask textarea")?.focus();
    }
    if (command || event.altKey || inField(event.target) || !kept("letters", true)) return;
    const [, to] = (after === "g" && placesThere().find(([letter]) => letter === event.key)) || [];
    if (to) {
      after = "";
      return goTo(to, "#main h1");
    }
    after = event.key === "g" ? "g" : "";
    if (letters[event.key]) {
      event.preventDefault();
      letters[event.key]();
    }
  };
  addEventListener("keydown", pressed);
}
