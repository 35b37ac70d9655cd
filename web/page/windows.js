// What is typed into one box in several windows of a browser. Each keeps its own words; those of
// a window that is closed are found by the next one that is opened.

import { keep, kept } from "./kept.js";

// A window that is left keeps the words of its own that another has written over, for whoever comes next.
addEventListener("pagehide", () => {
  for (const key of Object.keys(sessionStorage)) {
    const id = /^troupe\.own\.(.*)/s.exec(key)?.[1], own = id && kept("own." + id);
    if (own && !kept("draft." + id, "").includes(own)) keep("left." + id, [...kept("left." + id, []), own]);
  }
});

// beside keeps a box in step with the same one in other windows: draft is what is in it, and set
// changes that. It returns what ends it. A box that nobody has typed into shows what is typed
// elsewhere; one whose words were sent elsewhere is emptied.
export function beside(id, draft, set) {
  const own = kept("own." + id), left = kept("left." + id, []).filter((text) => text !== own);
  if (own) keep("left." + id, left.length ? left : null);
  else if (left.length && !draft().instead) {
    keep("left." + id, null);
    set((now) => ({ ...now, text: [now.text, ...left].filter(Boolean).join("\n\n") }));
  }
  const hear = ({ key }) => {
    const { text, instead } = draft();
    if (instead || !text) return;
    if (key === "troupe.draft." + id && !kept("own." + id)) {
      set((now) => ({ ...now, text: kept("draft." + id, "") }));
      keep("own." + id, null); // it is still the other's
    }
    if (key === "troupe.sending." + id && kept("sending." + id)?.text === text) set((now) => ({ ...now, text: "" }));
  };
  addEventListener("storage", hear);
  return () => removeEventListener("storage", hear);
}
