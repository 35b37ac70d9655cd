// Finds words in a document that is shown. What is found is marked without touching the
// text, where the browser can do that.

import { html, icon, useEffect, useRef, useState } from "./view.js";

const blocks = "p, li, td, th, h1, h2, h3, h4, h5, h6, pre, dt, dd, summary, figcaption, .leaf-row";
const mostFound = 2000;

// found are the places in an element at which the words stand, in order: ranges. Words that
// are partly bold are found, those of two paragraphs are not.
function found(root, words) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), nodes = [], starts = [], ranges = [];
  let text = "", block = null;
  while (walker.nextNode()) {
    const node = walker.currentNode, around = node.parentElement.closest(blocks);
    if (node.parentElement.closest("[aria-hidden=true], .outline, .outline-small, .hidden")) continue;
    if (around !== block) text += "\n";
    block = around;
    nodes.push(node);
    starts.push(text.length);
    text += node.data;
  }
  const at = (place, from) => {
    let i = from;
    while (i + 1 < starts.length && starts[i + 1] <= place) i++;
    return i;
  };
  let i = 0;
  for (const { index, 0: match } of text.matchAll(new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "[^\\S\\n]+"), "giu"))) {
    if (ranges.length === mostFound) break;
    i = at(index, i);
    const last = at(index + match.length - 1, i), range = new Range();
    range.setStart(nodes[i], index - starts[i]);
    range.setEnd(nodes[last], index + match.length - starts[last]);
    ranges.push(range);
  }
  return ranges;
}

// mark shows where words were found, and which of it is looked at.
function mark(ranges, current) {
  if (!globalThis.Highlight || !CSS.highlights) return;
  CSS.highlights.set("found", new Highlight(...ranges));
  CSS.highlights.set("found-here", new Highlight(...(ranges[current] ? [ranges[current]] : [])));
}

// Seek is the field in which words are sought in the sheet of the document around it.
export function Seek({ close }) {
  const bar = useRef(null);
  const [words, setWords] = useState("");
  const [place, setPlace] = useState({ at: -1, of: 0 });
  const look = (sought, by) => {
    const sheet = bar.current?.closest(".document")?.querySelector(".sheet");
    const ranges = sheet && sought.trim() ? found(sheet, sought.trim()) : [];
    const at = ranges.length ? ((by ? place.at + by : 0) + ranges.length) % ranges.length : -1;
    mark(ranges, at);
    setPlace({ at, of: ranges.length });
    ranges[at]?.startContainer.parentElement.closest("details:not([open])")?.setAttribute("open", "");
    ranges[at]?.startContainer.parentElement.scrollIntoView({ block: "center" });
  };
  useEffect(() => {
    bar.current.querySelector("input").focus();
    return () => mark([], -1);
  }, []);
  const keys = (event) => {
    if (event.key === "Enter") return event.preventDefault(), look(words, event.shiftKey ? -1 : 1);
    if (event.key === "Escape") return event.stopPropagation(), event.preventDefault(), close();
  };
  const step = (name, drawing, by) => html`<button type="button" class="tool sm" title=${name} aria-label=${name} disabled=${!place.of} onClick=${() => look(words, by)}>${icon(drawing)}</button>`;
  return html`<div class="row bar-2 seek" role="search" ref=${bar}><label class="field edge grow">${icon("search")}<input aria-label="Find in this document" placeholder="Find in this document" value=${words} dir="auto" onInput=${(e) => (setWords(e.target.value), look(e.target.value, 0))} onKeyDown=${keys} /></label>
    <span class="tiny dim num" role="status">${!words.trim() ? "" : place.of ? `${place.at + 1} of ${place.of}${place.of === mostFound ? "+" : ""}` : "not found"}</span>
    ${step("Place before", "chevron-up", -1)}${step("Next place", "chevron-down", 1)}<button type="button" class="tool sm" title="Stop finding" aria-label="Stop finding" onClick=${close}>${icon("x")}</button></div>`;
}
