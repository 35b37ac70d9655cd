// What is being written and not sent yet: a text, and files that go with it. It survives
// whatever becomes of the page.

import { keep, kept } from "./kept.js";
import { toast } from "./state.js";
import { useEffect, useRef, useState } from "./view.js";

// longPaste is how many characters of a paste become an attachment.
export const longPaste = 4000;

export const empty = { text: "", files: [], instead: null };

// onTheWay has the drafts that this window is sending: their files are kept as they are.
export const onTheWay = new Set();

// keeping has the browser keep the files of a draft for this window, and those that were sent
// (null: all) for none.
export function keeping(id, files, sent = []) {
  import("./attached.js").then(({ keepFiles }) => keepFiles(id, files, sent)).catch(() => files.length && toast(`${namesOf(files)} cannot be kept in this browser. Should you load the page again before you send, attach ${files.length > 1 ? "them" : "it"} again.`));
}

export const namesOf = (files) => files.map((file) => file.name).join(", ").replace(/, ([^,]*)$/, " and $1");

// editing is where a message is kept that is being edited: in this window, and for the next one.
export const editing = ["own.editing.", "editing."];

// sends says whether a key sends what is written. By touch Enter begins a line.
export const sends = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches && kept("enterSends", true);

// changingQueued is where a message that waits is kept while it is being changed: see Queue.
export const changingQueued = (id) => "own.queued." + id;

// useDraft is the draft of a conversation, or of another place where people write:
// { text, files, instead }. instead is the message that it replaces: meanwhile what was
// in the box before is put aside. Of several windows each keeps what was put into it.
export function useDraft(id) {
  const drafts = useRef(new Map()).current;
  const [, draw] = useState(0);
  if (!drafts.has(id)) drafts.set(id, { ...empty, text: kept("own." + id) || kept("draft." + id, "") || kept("sending." + id)?.text || "" });
  const set = (next) => {
    const before = drafts.get(id);
    const draft = typeof next === "function" ? next(before) : next;
    drafts.set(id, draft.instead && !draft.aside ? { ...draft, aside: before.aside ?? before } : draft);
    draw((n) => n + 1);
    if (draft.instead || before.instead) for (const key of editing) keep(key + id, draft.instead && { after: draft.instead.after, text: draft.text });
    if (draft.instead) return;
    if (draft.text !== before.text) {
      const isStored = kept("draft." + id) === before.text;
      // The words of another window, which may be closed, are this one's from here on.
      if (isStored && !kept("own." + id)) import("./windows.js").then(({ takeLeft }) => takeLeft(id, (text) => text === before.text), () => {});
      keep("own." + id, draft.text);
      // What another window has stored stays.
      if (draft.text || isStored) keep("draft." + id, draft.text);
    }
    const { files } = before.aside ?? before;
    if (draft.files !== files && (draft.files.length || files.length) && !onTheWay.has(id)) keeping(id, draft.files);
  };
  useEffect(() => {
    let end = null;
    import("./windows.js").then(({ beside }) => end ?? (end = beside(id, () => drafts.get(id), set)), () => {});
    return () => (end ??= () => {})();
  }, [id]);
  return [drafts.get(id), set];
}

// without is what stays of a draft once what was sent of it is there: what was typed, or attached,
// while it was on its way.
export const without = (sent) => (now) => {
  const { aside = empty } = sent, text = now.text.startsWith(sent.text) ? now.text.slice(sent.text.length).trimStart() : now.text;
  return { ...aside, text: [aside.text, text].filter(Boolean).join("\n"), files: [...aside.files, ...now.files.filter((file) => !sent.files.includes(file))] };
};

// sendingOf marks a draft as on its way, and returns what to call when it has come to its
// end: what is sent is kept until the server has it, should the page be left meanwhile.
export function sendingOf(id, draft, set) {
  if (draft.instead) return () => {};
  keep("sending." + id, { text: draft.text, at: Date.now(), files: draft.files.map((file) => file.key) });
  onTheWay.add(id);
  return () => {
    keep("sending." + id, null);
    onTheWay.delete(id);
    set((now) => ((draft.files.length || now.files.length) && keeping(id, now.files, draft.files.filter((file) => !now.files.includes(file))), now));
  };
}
