// The files of drafts in the browser's own database: they are too large for where texts
// are kept. Each window has its own; beside them each notes what there is, by which a page that is
// opened again knows what to look for: "attached.window/id" has { names, at, left }. at is when they
// were written, and left says that the window is closed.

import { namesOf } from "./draft.js";
import { keep, kept } from "./kept.js";
import { toast } from "./state.js";
import { mine, namesFor, windowOf } from "./windows.js";

const name = "troupe", shelf = "attached";

const notesOf = (id) => Object.fromEntries(namesFor("attached", id).map((one) => [windowOf(one), kept("attached." + one)]));
const note = (id, window, value) => keep(`attached.${window}/${id}`, value);

// asStored has the lists that are on the shelf as they are, for this window or for another.
const asStored = new WeakSet();

// opened is the database, made where there is none.
const opened = () => new Promise((resolve, reject) => {
  const asked = indexedDB.open(name, 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore(shelf);
  asked.onsuccess = () => resolve(asked.result);
  asked.onerror = asked.onblocked = () => reject(asked.error);
});

// within does something with the shelf of files, and resolves once it is on disk.
async function within(mode, act) {
  const database = await opened();
  try {
    return await new Promise((resolve, reject) => {
      const change = database.transaction(shelf, mode);
      const done = act(change.objectStore(shelf));
      change.oncomplete = () => resolve(done);
      change.onabort = change.onerror = () => reject(change.error);
    });
  } finally {
    database.close();
  }
}

let last = Promise.resolve();

// every goes through the files of all windows, and then calls after.
function every(store, id, act, after = () => {}) {
  const asked = store.openCursor(IDBKeyRange.bound([id], [id, []]));
  asked.onsuccess = () => (asked.result ? (act(asked.result, asked.result.key[1]), asked.result.continue()) : after());
}

// keepFiles keeps the files of this window's draft in place of those it had, and takes those
// that were sent, or all (null), from every window. It fails where the browser has no room for
// them, or keeps nothing at all; then none of them is kept.
export function keepFiles(id, files, sent) {
  if (asStored.has(files) && !sent?.length) return;
  const gone = new Set(sent?.map((file) => file.key)), rest = {};
  keep("own.none." + id, (!files.length && sent?.length === 0) || null);
  if (!sent) Object.keys(notesOf(id)).forEach((window) => note(id, window, null));
  note(id, mine, files.length ? { names: files.map((file) => file.name) } : null);
  const done = last.then(() => within("readwrite", (store) => {
    if (files.length) store.put(files, [id, mine]);
    else store.delete([id, mine]);
    if (!sent || gone.size) every(store, id, (at, window) => {
      if (window === mine) return;
      rest[window] = sent ? at.value.filter((file) => !gone.has(file.key)) : [];
      if (!rest[window].length) at.delete();
      else if (rest[window].length < at.value.length) at.update(rest[window]);
    });
  })).then(() => {
    const now = notesOf(id);
    for (const window in rest) if (now[window]) note(id, window, rest[window].length ? { ...now[window], names: rest[window].map((file) => file.name) } : null);
    if (now[mine]) note(id, mine, { ...now[mine], at: Date.now() });
  });
  last = done.catch(() => files.length && within("readwrite", (store) => void store.delete([id, mine])).catch(() => {}));
  return done;
}

// shelvesOf are the files that windows have kept for a draft: { [window]: files }. Those of windows that
// are closed are put on this one's own shelf: all or none of them, whatever ends it meanwhile.
function shelvesOf(id, left) {
  const asked = last.then(() => within("readwrite", (store) => {
    const shelves = {};
    every(store, id, (at, window) => (shelves[window] = at.value), () => {
      const found = left.filter((window) => shelves[window]);
      if (!found.length) return;
      shelves[mine] = [mine, ...found].flatMap((window) => shelves[window] ?? []);
      store.put(shelves[mine], [id, mine]);
      for (const window of found) store.delete([id, window]), delete shelves[window];
    });
    return shelves;
  }));
  last = asked.catch(() => {});
  return asked;
}

// filesOf are those of a draft; while a message is edited they are put aside.
const filesOf = ({ files, instead, aside }) => (instead ? aside.files : files);
const show = (set, files) => set((now) => (now.instead ? { ...now, aside: { ...now.aside, files } } : { ...now, files }));

// take shows the files that this window had. One that had none takes those of windows that are
// closed, or else shows those of another one.
export async function take(id, draft, set) {
  const notes = notesOf(id), isOwn = notes[mine] || kept("own.none." + id);
  const left = isOwn || draft().instead ? [] : Object.keys(notes).filter((window) => notes[window].left);
  const shelves = await shelvesOf(id, left).catch(() => !left.length && {});
  if (!shelves) return; // they are as they were, for the next window
  const there = Object.values(shelves).flat();
  const written = (window) => notes[window]?.at ?? Infinity;
  const files = shelves[isOwn || shelves[mine] ? mine : Object.keys(shelves).sort((a, b) => written(a) - written(b)).at(-1)] ?? [];
  const lost = (isOwn ? [mine] : left).flatMap((window) => notes[window]?.names ?? []).filter((name) => !there.some((file) => file.name === name));
  if (lost.length) toast(`${namesOf(lost.map((name) => ({ name })))} could not be kept in this browser. Attach ${lost.length > 1 ? "them" : "it"} again.`);
  if (left.length ? shelves[mine] : lost.length) note(id, mine, shelves[mine] ? { names: files.map((file) => file.name), at: Date.now() } : null);
  left.forEach((window) => note(id, window, null));
  asStored.add(files);
  const shown = filesOf(draft());
  if (!shown.length || asStored.has(shown)) return shown.length || files.length ? show(set, files) : undefined;
  if (left.length && shelves[mine]) show(set, [...shown, ...files.filter((file) => !shown.some((one) => one.key === file.key))]); // attached meanwhile
}

// hear keeps what is attached in step with other windows: it follows those whose files it shows,
// and takes away what they send, by its keys.
export function hear(id, draft, set, sent) {
  const files = filesOf(draft());
  if (sent) {
    const rest = files.filter((file) => !sent.includes(file.key));
    if (asStored.has(files)) asStored.add(rest);
    if (rest.length < files.length) show(set, rest);
  } else if (asStored.has(files) && !notesOf(id)[mine] && Object.values(notesOf(id)).every((one) => one.at)) take(id, draft, set);
}
