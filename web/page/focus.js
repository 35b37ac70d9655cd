// Moves the focus on when what has it goes. The button of a card, or the field in which Enter
// sends, goes with the card that it answers: whoever uses a keyboard or a screen reader would be at the top of the page.

const cards = ".needs, .trouble, .waits .card";

// longest is how long something may take to come of a button, in milliseconds.
const longest = 60_000;

let end = () => {};
let headline = null; // which has the focus until there is something to do

document.addEventListener?.("pointerdown", () => end(), true);
document.addEventListener?.("keydown", ({ key, target }) => {
  if (headline) end();
  const card = key === "Enter" && !target.closest?.("button, a, summary") && target.closest?.(cards);
  if (card) watch(card, target);
}, true);
document.addEventListener?.("click", ({ target }) => {
  const button = target.closest?.("button"), card = button?.closest(cards);
  if (card) watch(card, button);
}, true);

// watch waits until the focus is lost that a card's button or field has. One that is switched off until
// something comes of it leaves it to its card. Where nothing is to be done at the moment, as
// between two gates, the headline has it until there is, or somebody does something else.
function watch(card, button) {
  end();
  const all = [...document.querySelectorAll(cards)], after = all.slice(all.indexOf(card) + 1);
  const look = () => {
    const at = document.activeElement;
    const isLost = !at || at === document.body;
    if (headline) {
      const next = at === headline && nextCard([]);
      if (next) take(next);
      if (next || at !== headline) end();
      return;
    }
    if (isLost) take(button.isConnected ? card : heir(after));
    if (isLost && !button.isConnected && document.activeElement.matches("h1")) headline = document.activeElement;
    else if (!button.isConnected || !(isLost || card.contains(at))) end();
  };
  const seen = new MutationObserver(() => requestAnimationFrame(look));
  const timer = setTimeout(() => end(), longest);
  end = () => (seen.disconnect(), clearTimeout(timer), (headline = null), (end = () => {}));
  seen.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

// heir is what gets the focus of a button that is gone: the next card that something can be
// done about, or any other, or the box to write in. A box that has the focus brings a keyboard
// along by touch: there it is what is read.
function heir(after) {
  const box = matchMedia("(pointer: coarse)").matches ? ".flow[role=log]" : ".composer textarea, .ask textarea";
  return nextCard(after) ?? [...document.querySelectorAll(box), document.querySelector("h1")].find(isShown) ?? document.getElementById("main");
}

const isShown = (e) => e?.isConnected && e.checkVisibility();

// nextCard is the first card that something can be done about, of those given before all others.
const nextCard = (after) => [...after, ...document.querySelectorAll(cards)].find((card) => isShown(card) && card.querySelector(".row button, .row .btn, .row .chip"));

function take(element) {
  if (!element) return;
  if (element.tabIndex < 0) element.tabIndex = -1; // so that it can have it, and is no stop of the tab key
  element.focus({ preventScroll: element.matches("textarea, h1") });
}
