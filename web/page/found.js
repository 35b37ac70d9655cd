// What a file is found by: the words that were looked for, and where it is.

import { pathWords } from "./forms.js";
import { html } from "./view.js";

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Marked shows a text with the words that were looked for in it: as they stand, or each of them.
export function Marked({ text = "", words }) {
  const sought = words.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  if (!sought.length) return text;
  const parts = text.split(new RegExp(`(${[words, ...sought].map(escaped).join("|")})`, "gi"));
  return parts.map((part, i) => (i % 2 ? html`<b key=${i}>${part}</b>` : part));
}

// quote is a line in which something was found, without the marks that its author formats with,
// or that a program needs.
export function quote(line) {
  if (!line) return line;
  const words = line.replace(/^(…?)[#>*\s-]+/, "$1").replace(/\*\*|`/g, "").replace(/\[([^\]]*)\]\([^)\s]*\)/g, "$1");
  return `“${/\|.*\|/.test(words) ? words.replace(/^(…?)[\s|]+|[\s|]+(…?)$/g, "$1$2").replace(/\s*\|[\s|]*/g, ", ") : /"\s*:/.test(words) ? words.replace(/["{}[\]]/g, "").replace(/^(…?)\s+/, "$1") : words}”`;
}

// placeOf is where a file is that is shown by a name: its folder alone where the rest would say
// the name again. A name without its ending is another one: "Gamma" may be gamma.md or gamma.txt.
export function placeOf(path, name) {
  const words = pathWords(path), [base, folder = ""] = words.split(" / ").reverse();
  return name === base ? folder : words;
}
