// What is put into one box in several windows of a browser. Each keeps its own words and files;
// those of a window that is closed are found by the next one that is opened.

import { hearers, keep, kept } from "./kept.js";

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

// What a window has and what it leaves have keys of their own, "open.window/id" and
// "left.window/id", that no other window changes while it is there: a window may not see yet what
// another has just stored, and would take that away with its own.
// So have the notes of what files it has: "attached.window/id".
export const windowOf = (name) => name.slice(0, name.indexOf("/"));
export const namesFor = (kind, id) => namesOf(kind).filter((name) => name.slice(name.indexOf("/") + 1) === id).sort();
const wordsFor = (kind, id) => namesFor(kind, id).map((name) => kept(`${kind}.${name}`));

// wordsElsewhere are the words that other windows have, or have left, for a box.
export const wordsElsewhere = (id) => [...wordsFor("left", id), ...wordsFor("open", id)];

// takeLeft takes away what was left for a box: it is in a window now, or is gone with the box.
export const takeLeft = (id, isTaken = () => true) => namesFor("left", id).forEach((name) => isTaken(kept("left." + name)) && keep("left." + name, null));

// forget takes away what there is of a box that is gone.
export const forget = (id) => (takeLeft(id), namesFor("open", id).forEach((name) => keep("open." + name, null)));

// A window holds a lock for as long as it is there, whatever ends it: browsers do not wait for the
// last act of one that is slow, and a crash has none. Pages that do not come over HTTPS, nor from
// this computer, have no locks: there the last act is all there is.
const locks = navigator.locks;
const lockOf = (window) => "troupe.window." + window;

// loading is how long a page may take to load again, in milliseconds.
const loading = 1000;

// onceGone acts once a window is gone, if that is so now, or before the signal; not where it is only
// loaded again: then it asks for its lock, and alone wants it for itself.
async function onceGone(window, signal, act) {
  const name = lockOf(window);
  const wasThere = await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => (lock ? void act() : true));
  if (!wasThere) return;
  await locks.request(name, { mode: "shared", signal }, async () => {
    await new Promise((done) => setTimeout(done, loading));
    if (!(await locks.query()).pending.some((one) => one.name === name && one.mode === "exclusive")) act();
  });
}

// isWords says of what a window has whether it is left for others. What is typed on cards all windows
// keep already.
const isWords = (id, value) => id !== "window" && !id.startsWith("answer.") && typeof value === "string";

// ownWords does something with all that is written in this window.
const ownWords = (act) => namesOf("own").forEach((id) => isWords(id, kept("own." + id)) && act(`${mine}/${id}`, kept("own." + id)));

// leave keeps what was in this window for whoever comes next, and come takes it back.
export const leave = () => {
  ownWords((name, text) => (keep("left." + name, text), keep("open." + name, null)));
  mark(mine, true);
};
const come = () => {
  for (const name of namesOf("left")) if (name.startsWith(mine + "/")) keep("left." + name, null);
  if (locks) ownWords((name, text) => keep("open." + name, text));
  mark(mine);
};
if (locks) hearers.add((key, value) => key.startsWith("own.") && isWords(key.slice(4), value ?? "") && keep(`open.${mine}/${key.slice(4)}`, value));

// leaveFor leaves what is for a box in a window that is gone without having done so.
const leaveFor = (window, id) => {
  const name = `${window}/${id}`, text = kept("open." + name);
  if (text) keep("left." + name, text), keep("open." + name, null);
  mark(window, true);
};
// mark notes of attached files whether their window is closed.
const mark = (window, left) => {
  for (const name of namesOf("attached")) if (windowOf(name) === window) keep("attached." + name, { ...kept("attached." + name), left });
};
addEventListener("pagehide", leave);
addEventListener("pageshow", come);
if (document.readyState === "complete") come(); // before, it would not be told that it is left

// Who was taken for gone while it was loaded again takes back what is left of it.
locks?.request(lockOf(mine), () => (come(), new Promise(() => {})));
addEventListener("storage", ({ key, newValue }) => {
  if (newValue && (key?.startsWith(`troupe.left.${mine}/`) || (key?.startsWith(`troupe.attached.${mine}/`) && JSON.parse(newValue).left))) come();
});

// justNow is how long after a box was opened words may come that were left before: what one window
// stores is seen by others a little later, and so is that it is gone. After that, who leaves may only
// load the page again.
const justNow = 5000;

// beside keeps a box in step with the same one in other windows: draft is what is in it, and set
// changes that. It returns what ends it. A box that nobody has typed into shows what is typed
// elsewhere, unless a window that is closed has left something; one whose words were sent
// elsewhere is emptied.
export function beside(id, draft, set) {
  const opened = Date.now();
  const pickUp = () => {
    const left = wordsFor("left", id);
    if (!left.length || kept("own." + id) || draft().instead) return;
    set((now) => ({ ...now, text: [...new Set([left.includes(now.text) ? now.text : left[0], ...left])].join("\n\n") }));
    keep("own." + id, draft().text); // also where the box showed it before
    takeLeft(id);
  };
  pickUp();
  const follow = () => {
    const { text, instead } = draft(), stored = kept("draft." + id, "");
    if (instead || !text || kept("own." + id) || (!stored && kept("sending." + id))) return; // what is on its way may come back
    set((now) => ({ ...now, text: stored }));
    keep("own." + id, null); // it is still the other's
  };
  const files = (act, ...given) => import("./attached.js").then((attached) => attached[act](id, draft, set, ...given), () => {});
  const hear = ({ key, newValue }) => {
    if (newValue && key?.startsWith("troupe.left.") && Date.now() < opened + justNow) pickUp();
    const isSending = key === "troupe.sending." + id, sent = isSending && JSON.parse(newValue);
    if (sent?.files?.length || (key?.startsWith("troupe.attached.") && key.endsWith("/" + id))) files("hear", sent.files);
    if (key !== "troupe.draft." + id && !isSending) return;
    follow();
    const { text, instead } = draft();
    if (sent?.text === text && !instead && kept("own." + id)) set((now) => ({ ...now, text: "" }));
  };
  follow(); // what was typed since the box was filled
  const attach = () => namesFor("attached", id).length && files("take");
  attach();
  const others = new Set([...namesFor("open", id), ...namesFor("attached", id)].map(windowOf));
  others.delete(mine);
  if (locks) for (const window of others) onceGone(window, AbortSignal.timeout(justNow), () => (leaveFor(window, id), pickUp(), attach())).catch(() => {});
  addEventListener("storage", hear);
  return () => removeEventListener("storage", hear);
}
