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
