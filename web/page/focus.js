// Moves the focus on when what has it goes: the button of a card with the card that it answers, Stop
// once it has stopped, a field with the panel that Esc closes. Whoever uses a keyboard or a screen
// reader would be at the top of the page.

import { useLayoutEffect, useRef } from "./view.js";

const cards = ".needs, .trouble, .waits .card";

// longest is how long something may take to come of a button, in milliseconds.
const longest = 60_000;

// moment is how long whoever takes something away has to say what is next, in milliseconds.
const moment = 200;

let end = () => {};
let late = 0; // the timer of what is given the focus unless somebody knows better
let headline = null; // or a step of a flow, which has the focus until there is something to do

// What is given the focus by the page itself has a ring around it where keys are used.
const by = (means) => (document.documentElement.dataset.by = means);

let before = null; // what had the focus before a toast has it

document.addEventListener?.("pointerdown", () => (by("pointer"), end()), true);
document.addEventListener?.("keydown", ({ key, target }) => {
  by("keys");
  if (headline) end();
  if (key === "Escape" || (key === "Enter" && !target.closest?.("button, a, summary"))) watch(target);
}, true);
document.addEventListener?.("click", ({ target }) => watch(target.closest?.("button, a")), true);
document.addEventListener?.("focusin", ({ target, relatedTarget }) => {
  if (target.closest(".toast") && !relatedTarget?.closest(".toast")) before = relatedTarget;
}, true);

// watch waits until the focus is lost that a button, a link or a field has. One of a card that is
// switched off until something comes of it leaves it to its card. Where nothing is to be done at the
// moment, as between two gates, the headline has it until there is, or somebody does something else.
function watch(from) {
  const card = from?.closest?.(cards);
  if (!card && (!from || from === document.body || from !== document.activeElement)) return;
  end();
  clearTimeout(late);
  const all = [...document.querySelectorAll(cards)], after = all.slice(all.indexOf(card) + 1);
  let wasOff = false;
  const around = from.closest(".toast") ? before : from.closest(".panel, dialog");
  const look = () => {
    const at = document.activeElement;
    const isLost = isNowhere(), isGone = !from.isConnected;
    if (headline) {
      const next = at === headline && (nextCard([]) ?? (at.matches("h1") && document.querySelector(".node.run")));
      if (next) take(next);
      if (next && next.matches(".node")) headline = next;
      else if (next || at !== headline) end();
      return;
    }
    if (isLost && card) take(isGone ? heir(after) : card);
    else if (isLost && !isGone && wasOff && !from.disabled) take(from); // what it was switched off for is done
    else if (isLost && isGone) late = setTimeout(() => isNowhere() && take(isShown(around) ? around : place()), moment); // whoever took it away may know better
    if (card && isLost && isGone && document.activeElement.matches(cards)) watch(document.activeElement); // which may go as well, as what the same answer covers
    else if (card && isLost && isGone && document.activeElement.matches("h1, .node")) headline = document.activeElement;
    else if (isGone || !(isLost || (card ?? from).contains(at))) end();
  };
  const ends = () => (seen.disconnect(), clearTimeout(timer), (headline = null), (end = () => {}));
  const seen = new MutationObserver(() => ((wasOff ||= from.disabled), requestAnimationFrame(() => end === ends && look()))); // unless another is watched by then
  const timer = setTimeout(ends, longest);
  end = ends;
  seen.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

// heir is what gets the focus of a card's button that is gone: the next card that something can
// be done about, or any other, or the step of a flow that goes on.
const heir = (after) => nextCard(after) ?? document.querySelector(".node.run") ?? place();

// place is what has the focus where nothing else does: the box to write in, or what can be done
// about a flow that was stopped. A box that has the
// focus brings a keyboard along by touch: there it is what is read.
function place() {
  const box = matchMedia("(pointer: coarse)").matches ? ".flow[role=log]" : ".composer textarea, .ask textarea";
  return [...document.querySelectorAll(box), document.querySelector(".graph .trouble .row button"), document.querySelector("h1")].find(isShown) ?? document.getElementById("main");
}

const isNowhere = () => !document.activeElement || document.activeElement === document.body;

const isShown = (e) => e?.isConnected && e.checkVisibility();

// nextCard is the first card that something can be done about, of those given before all others.
const nextCard = (after) => [...after, ...document.querySelectorAll(cards)].find((card) => isShown(card) && card.querySelector(".row button, .row .btn, .row .chip"));

// take gives an element the focus. A card is shown from its beginning: of one that is higher than
// what scrolls it browsers show the middle.
export function take(element) {
  if (!element) return;
  if (element.tabIndex < 0) element.tabIndex = -1; // so that it can have it, and is no stop of the tab key
  element.focus({ preventScroll: element.matches("textarea, h1, .needs") });
  if (element.matches(".needs")) element.scrollIntoView({ block: "nearest" });
}

// useVisit gives a panel that was opened by a button the focus, and gives it back when
// the panel is closed. What it shows may change: who has chosen that in the panel stays in it. It
// returns a reference to the panel.
export function useVisit(shown) {
  const panel = useRef(null), before = useRef(null);
  useLayoutEffect(() => { // before a key that has opened it gives it the focus
    const at = document.activeElement, isInside = before.current && isNowhere(); // what was chosen is gone
    if (isInside || at?.matches("button, a, [role=listitem], [role=treeitem], tr")) panel.current?.focus();
    if (!isInside && !panel.current?.contains(at)) before.current = at;
  }, [shown]);
  useLayoutEffect(() => () => before.current?.isConnected && panel.current?.contains(document.activeElement) && take(before.current === document.body ? document.querySelector("#main h1") : before.current), []);
  return panel;
}
