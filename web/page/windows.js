// What is typed into one box in several windows of a browser. Each keeps its own words; those of
// a window that is closed are found by the next one that is opened.

import { keep, kept } from "./kept.js";

// Each window has a name, by which it takes back what it left when it is still there: it was
// only loaded again.
const mine = kept("own.window") ?? crypto.randomUUID();
keep("own.window", mine);

const namesOf = (storage, kind) => Object.keys(storage).flatMap((key) => (key.startsWith(`troupe.${kind}.`) ? [key.slice(8 + kind.length)] : []));

// leave keeps the words of this window that another has written over, for whoever comes next, and
// come takes them back.
const leave = () => {
  for (const id of namesOf(sessionStorage, "own")) {
    const own = kept("own." + id);
    if (id !== "window" && typeof own === "string" && kept("draft." + id) !== own) keep("left." + id, { ...kept("left." + id), [mine]: own });
  }
};
const come = () => {
  for (const id of namesOf(localStorage, "left")) {
    const { [mine]: _, ...others } = kept("left." + id, {});
    keep("left." + id, Object.keys(others).length ? others : null);
  }
};
addEventListener("pagehide", leave);
addEventListener("pageshow", come);
if (document.readyState === "complete") come(); // before, it would not be told that it is left

// beside keeps a box in step with the same one in other windows: draft is what is in it, and set
// changes that. It returns what ends it. A box that nobody has typed into shows what is typed
// elsewhere; one whose words were sent elsewhere is emptied.
export function beside(id, draft, set) {
  const left = Object.values(kept("left." + id, {}));
  if (left.length && !kept("own." + id) && !draft().instead) {
    keep("left." + id, null);
    set((now) => ({ ...now, text: [now.text, ...left].filter(Boolean).join("\n\n") }));
  }
  const follow = () => {
    const { text, instead } = draft(), stored = kept("draft." + id, "");
    if (instead || !text || kept("own." + id) || (!stored && kept("sending." + id))) return; // what is on its way may come back
    set((now) => ({ ...now, text: stored }));
    keep("own." + id, null); // it is still the other's
  };
  const hear = ({ key, newValue }) => {
    if (key !== "troupe.draft." + id && key !== "troupe.sending." + id) return;
    follow();
    const { text, instead } = draft(), isSent = key.startsWith("troupe.sending.") && JSON.parse(newValue)?.text === text;
    if (isSent && !instead && kept("own." + id)) set((now) => ({ ...now, text: "" }));
  };
  follow(); // what was typed since the box was filled
  addEventListener("storage", hear);
  return () => removeEventListener("storage", hear);
}
