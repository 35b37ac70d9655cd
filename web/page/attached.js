// The files of drafts in the browser's own database: they are too large for where texts
// are kept. Each window has its own; beside them is noted what there is, by which a page that is
// opened again knows what to look for: { [window]: { names, at, left } }. at is when they were
// written, and left says that the window is closed.

import { namesOf } from "./draft.js";
import { keep, kept } from "./kept.js";
import { toast } from "./state.js";
import { mine } from "./windows.js";

const name = "troupe", shelf = "attached";

const notesOf = (id) => kept("attached." + id, {});
const note = (id, notes) => keep("attached." + id, Object.keys(notes).length ? notes : null);

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

// every goes through the files of all windows.
function every(store, id, act) {
  const asked = store.openCursor(IDBKeyRange.bound([id], [id, []]));
  asked.onsuccess = () => asked.result && (act(asked.result, asked.result.key[1]), asked.result.continue());
}

// keepFiles keeps the files of this window's draft in place of those it had, and takes those
// that were sent, or all (null), from every window. It fails where the browser has no room for
// them, or keeps nothing at all; then none of them is kept.
export function keepFiles(id, files, sent) {
  if (asStored.has(files) && !sent?.length) return;
  const { [mine]: _, ...others } = notesOf(id), gone = new Set(sent?.map((file) => file.key)), rest = {};
  keep("own.none." + id, (!files.length && sent?.length === 0) || null);
  note(id, !sent ? {} : files.length ? { ...others, [mine]: { names: files.map((file) => file.name) } } : others);
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
    for (const window in rest) if (now[window]) now[window].names = rest[window].map((file) => file.name);
    if (now[mine]) now[mine].at = Date.now();
    note(id, Object.fromEntries(Object.entries(now).filter(([, one]) => one.names.length)));
  });
  last = done.catch(() => files.length && within("readwrite", (store) => void store.delete([id, mine])).catch(() => {}));
  return done;
}

// keptFiles are the files that windows have kept for a draft.
const keptFiles = (id, windows) => last.then(() => within("readonly", (store) => windows.map((window) => store.get([id, window])))).then((all) => all.flatMap((asked) => asked.result ?? []));

// filesOf are those of a draft; while a message is edited they are put aside.
const filesOf = ({ files, instead, aside }) => (instead ? aside.files : files);
const show = (set, files) => set((now) => (now.instead ? { ...now, aside: { ...now.aside, files } } : { ...now, files }));

// take shows the files that this window had. One that had none takes those of windows that are
// closed, or else shows those of another one.
export async function take(id, draft, set) {
  const notes = notesOf(id), all = Object.keys(notes), isOwn = notes[mine] || kept("own.none." + id);
  const left = isOwn || draft().instead ? [] : all.filter((window) => notes[window].left);
  const from = isOwn ? [mine] : left.length ? left : all.slice(-1);
  const files = await keptFiles(id, from).catch(() => []);
  const lost = isOwn || left.length ? from.flatMap((window) => notes[window]?.names ?? []).filter((name) => !files.some((file) => file.name === name)) : [];
  if (lost.length) toast(`${namesOf(lost.map((name) => ({ name })))} could not be kept in this browser. Attach ${lost.length > 1 ? "them" : "it"} again.`);
  else if (!left.length) asStored.add(files);
  const shown = filesOf(draft());
  if (shown.length && !asStored.has(shown)) return; // attached meanwhile
  if (shown.length || files.length || lost.length) show(set, files);
  if (!left.length) return;
  note(id, Object.fromEntries(Object.entries(notesOf(id)).filter(([window]) => !left.includes(window))));
  last = last.then(() => within("readwrite", (store) => left.forEach((window) => store.delete([id, window])))).catch(() => {});
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
