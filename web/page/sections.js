// Which sections of a document a version has changed.

import { api } from "./shelf.js";
import { proseOf } from "./properties.js";

const most = 200_000; // bytes

// sectionsChanged counts the sections of a text, from heading to heading, that are not as they
// were, or are gone. What looks like a heading in a block of code is none, and what is for programs is no section.
export function sectionsChanged(before, after) {
  const sections = (text) => proseOf(text).replace(/^(```|~~~)[^]*?^\1/gm, (code) => code.replace(/^#/gm, " #")).split(/^(?=#{1,6} )/m).map((part) => part.trim()).filter(Boolean);
  const was = sections(before), is = sections(after), gone = was.filter((part) => !is.includes(part)), come = is.filter((part) => !was.includes(part));
  return Math.max(come.length, gone.length); // what has another heading is one section, too
}

const counts = new Map(); // promises, by file and version

// changeWords says what a version of a document has changed, where that is known: "2 sections
// changed".
export function changeWords(file, version, size) {
  if (!(version > 1) || size > most || !/\.(md|markdown)$/i.test(file.path)) return Promise.resolve("");
  const key = `${file.session ?? ""} ${file.path} ${version}`;
  if (!counts.has(key)) {
    const texts = Promise.all([version - 1, version].map((number) => api.text({ ...file, version: number })));
    counts.set(key, texts.then(([before, after]) => sectionsChanged(before, after), ({ status }) => ([404, 410].includes(status) || counts.delete(key), 0))); // the version before is not kept, or cannot be asked for now
  }
  return counts.get(key).then((n) => (n > 0 ? `${n} ${n === 1 ? "section" : "sections"} changed` : ""));
}
