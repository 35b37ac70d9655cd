// What is put into one box in several windows of a browser. Each keeps its own words and files;
// those of a window that is closed are found by the next one that is opened.

import { keep, kept } from "./kept.js";

// Each window has a name, by which it takes back what it left when it is still there: it was
// only loaded again.
export const mine = kept("own.window") ?? String(Math.random());
keep("own.window", mine);

const namesOf = (storage, kind) => Object.keys(storage).flatMap((key) => (key.startsWith(`troupe.${kind}.`) ? [key.slice(8 + kind.length)] : []));

// leave keeps what was in this window for whoever comes next, and come takes it back. The words
// that every window finds stay there: last says that they are those of a window that is closed.
const leave = () => {
  for (const id of namesOf(sessionStorage, "own")) {
    const own = kept("own." + id);
    if (id === "window" || typeof own !== "string") continue;
    if (kept("draft." + id) === own) keep("last." + id, own);
    else keep("left." + id, { ...kept("left." + id), [mine]: own });
  }
  mark(true);
};
const come = () => {
  for (const id of namesOf(localStorage, "left")) {
    const { [mine]: _, ...others } = kept("left." + id, {});
    keep("left." + id, Object.keys(others).length ? others : null);
  }
  for (const id of namesOf(localStorage, "last")) if (kept("last." + id) === kept("own." + id)) keep("last." + id, null);
  mark();
};
// mark notes of attached files whether their window is closed.
const mark = (left) => {
  for (const id of namesOf(localStorage, "attached")) {
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
  const left = Object.values(kept("left." + id, {}));
  if (left.length && !kept("own." + id) && !draft().instead) {
    keep("left." + id, null);
    set((now) => ({ ...now, text: [kept("last." + id) === now.text && now.text, ...left].filter(Boolean).join("\n\n") }));
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
