// The files of drafts in the browser's own database: they are too large for where texts
// are kept.

const name = "troupe", shelf = "attached";

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
      const asked = act(change.objectStore(shelf));
      change.oncomplete = () => resolve(asked.result);
      change.onabort = change.onerror = () => reject(change.error ?? asked.error);
    });
  } finally {
    database.close();
  }
}

let last = Promise.resolve();

// keepFiles keeps the files of a draft in place of those it had. It fails where the
// browser has no room for them, or keeps nothing at all; then none of them is kept.
export function keepFiles(id, files) {
  const kept = last.then(() => within("readwrite", (store) => (files.length ? store.put(files, id) : store.delete(id))));
  last = kept.catch(() => files.length && within("readwrite", (store) => store.delete(id)).catch(() => {}));
  return kept;
}

// keptFiles are the files that were kept for a draft.
export const keptFiles = (id) => last.then(() => within("readonly", (store) => store.get(id))).then((files) => files ?? []);
