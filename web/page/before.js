// What was being done with the box of a conversation when the page was left.

import { editing, empty, onTheWay } from "./draft.js";
import { keep, kept } from "./kept.js";

// skew is how far the clock of the server may be behind, in milliseconds.
const skew = 60_000;

// edited is the draft of a message that was being edited, null where none was.
export function edited(id, items) {
  const was = kept(editing[0] + id) ?? kept(editing[1] + id), item = was && items.findLast((one) => one.type === "user" && one.after === was.after);
  return item ? { text: was.text, files: item.parts.filter((part) => part.data), instead: item } : null;
}

// arrived empties the box of what was on its way and has arrived: it would be sent once more. What was
// to answer the end of an answer goes into the box where that asks no longer.
export function arrived(id, items, set, asks) {
  const words = !asks && kept("own.asked." + id);
  if (words) {
    for (const key of ["own.asked." + id, words.key, "own." + words.key]) keep(key, null);
    set((now) => ({ ...now, text: now.text ? `${now.text}\n${words.text}` : words.text }));
  }
  const sent = kept("sending." + id), last = items.findLast((one) => one.type === "user");
  if (!sent || onTheWay.has(id) || last?.text !== sent.text || Date.parse(last.time) < sent.at - skew) return;
  keep("sending." + id, null);
  set((now) => (now.text === sent.text && !now.instead ? empty : now));
}
