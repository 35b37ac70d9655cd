// What is typed on the cards that wait for an answer.

import { kept } from "./kept.js";

// keyOf is where an answer, or the reason for one, is kept while it is being written.
export const keyOf = (id, item) => `answer.${id}.${(item.ask ?? item).id}`;

// sentHere are the keys of the answers that this window has sent. What is typed in it is its own as
// well: another window may clear what all of them keep with an answer of its own.
export const sentHere = new Set();
export const ownKey = (key) => "own." + key;

// unsentOf is what was typed in this window, or in one that is gone, and was not sent.
export const unsentOf = (key) => (sentHere.has(key) ? "" : kept(ownKey(key)) || kept(key) || "");
