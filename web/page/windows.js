// What is put into one box in several windows of a browser. Each keeps its own words and files;
// those of a window that is closed are found by the next one that is opened.

import { keep, kept } from "./kept.js";

// Each window has a name, by which it takes back what it left when it is still there: it was
// only loaded again. Names sort by when the windows were opened.
export const mine = kept("own.window") ?? Date.now() + String(Math.random()).slice(1);
keep("own.window", mine);

// namesOf are the names under which something of a kind is kept: none without storage.
const namesOf = (kind) => {
  try {
    return Object.keys(kind === "own" ? sessionStorage : localStorage).flatMap((key) => (key.startsWith(`troupe.${kind}.`) ? [key.slice(8 + kind.length)] : []));
  } catch {
    return [];
  }
};

// What a window leaves has a key of its own, "left.window/id", that no other window changes: a
// window may not see yet what another has just stored, and would take that away with its own.
const leftFor = (id) => namesOf("left").filter((name) => name.slice(name.indexOf("/") + 1) === id).sort();

// wordsLeft are the words that closed windows have left for a box.
export const wordsLeft = (id) => leftFor(id).map((name) => kept("left." + name));

// takeLeft takes away what was left for a box: it is in a window now, or is gone with the box.
export const takeLeft = (id, isTaken = () => true) => leftFor(id).forEach((name) => isTaken(kept("left." + name)) && keep("left." + name, null));

// leave keeps what was in this window for whoever comes next, and come takes it back.
export const leave = () => {
  for (const id of namesOf("own")) {
    const own = kept("own." + id);
    if (id !== "window" && typeof own === "string") keep(`left.${mine}/${id}`, own);
  }
  mark(true);
};
const come = () => {
  for (const name of namesOf("left")) if (name.startsWith(mine + "/")) keep("left." + name, null);
  mark();
};
// mark notes of attached files whether their window is closed.
const mark = (left) => {
  for (const id of namesOf("attached")) {
    const notes = kept("attached." + id);
    if (notes[mine]) keep("attached." + id, { ...notes, [mine]: { ...notes[mine], left } });
  }
};
addEventListener("pagehide", leave);
addEventListener("pageshow", come);
if (document.readyState === "complete") come(); // before, it would not be told that it is left

// beside keeps a box in step with the same one in other windows: draft is what is in it, and set
// changes that. It returns what ends it. A box that nobody has typed into shows what is typed
// elsewhere, unless a window that is closed has left something; one whose words were sent
// elsewhere is emptied.
export function beside(id, draft, set) {
  const left = wordsLeft(id);
  if (left.length && !kept("own." + id) && !draft().instead) {
    set((now) => ({ ...now, text: [...new Set([left.includes(now.text) ? now.text : left[0], ...left])].join("\n\n") }));
    keep("own." + id, draft().text); // also where the box showed it before
    takeLeft(id);
  }
  const follow = () => {
    const { text, instead } = draft(), stored = kept("draft." + id, "");
    if (instead || !text || kept("own." + id) || (!stored && kept("sending." + id))) return; // what is on its way may come back
    set((now) => ({ ...now, text: stored }));
    keep("own." + id, null); // it is still the other's
  };
  const files = (act, ...given) => import("./attached.js").then((attached) => attached[act](id, draft, set, ...given), () => {});
  const hear = ({ key, newValue }) => {
    const isSending = key === "troupe.sending." + id, sent = isSending && JSON.parse(newValue);
    if (sent?.files?.length || key === "troupe.attached." + id) files("hear", sent.files);
    if (key !== "troupe.draft." + id && !isSending) return;
    follow();
    const { text, instead } = draft();
    if (sent?.text === text && !instead && kept("own." + id)) set((now) => ({ ...now, text: "" }));
  };
  follow(); // what was typed since the box was filled
  if (kept("attached." + id)) files("take");
  addEventListener("storage", hear);
  return () => removeEventListener("storage", hear);
}
