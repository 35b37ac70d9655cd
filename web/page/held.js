// What cannot be brought back is done only after a while. Until then it can be undone.

import { dismiss, toast } from "./state.js";

// held says that something is done, and does it once nobody can undo it any more: after ten
// seconds, when the toast is dismissed, or when the page is left, which is then said to it. undone
// is called by the button. It returns what takes it back without the button, which says whether
// that was in time.
export function held(text, act, undone) {
  let decided = false;
  const decide = () => !decided && ((decided = true), removeEventListener("pagehide", forGood), true);
  const forGood = (left) => decide() && (act(!!left), left && dismiss(one)); // a page that is left may be shown again
  const withdraw = () => decide() && (dismiss(one), true);
  const one = toast(text, () => withdraw() && undone(), 10_000, forGood);
  addEventListener("pagehide", forGood);
  return withdraw;
}
