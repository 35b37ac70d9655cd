// Says times, paths and values the way people read them, where a page is opened on purpose.

import { nameOf } from "./format.js";

export function duration(ms) {
  if (!(ms >= 0)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

// since is how long ago something was, in the largest unit.
export function since(time, now = Date.now()) {
  const minutes = Math.floor((now - Date.parse(time)) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}

// plainPath is a path without what only machines know: "{session-folder}/a/b.md" is
// "a/b.md".
export const plainPath = (path) => String(path ?? "").replace(/\{\{?[\w-]+\}?\}\/?/g, "").replace(/^\/+/, "");

// pathWords is a path for people, with the folder that it is in: "planning / brief.md". A directory
// that an agent was granted is called as its configuration does.
export const pathWords = (path) => plainPath(path?.replace(/^\{(?!output|session|project|bundle|core)([\w-]+)\}/, "$1")).split("/").slice(-2).join(" / ");

// visible writes out the characters that do not show, or that make others show in
// another order: whoever approves a text must see what it is.
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu, (char) =>
    char === "\n" || char === "\t" ? char : "\\u{" + char.codePointAt(0).toString(16) + "}");
}

// json is a value for people to read.
export function json(value) {
  return visible(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");
}

// titleOfFile is what people call a file that was saved: by its first heading, if it has one.
export const titleOfFile = (path, description) => (description && description !== path.split("/").at(-1) ? description : nameOf(path));

// fileIcon is the icon of a file, by its kind.
export function fileIcon(path) {
  if (/\.(csv|tsv|xlsx)$/i.test(path)) return "table-2";
  if (/\.(png|jpe?g|gif|svg|webp)$/i.test(path)) return "image";
  return /\.(md|markdown|txt|pdf|docx|html?)$/i.test(path) ? "file-text" : "file-code";
}

const taskKinds = [[/status/i, "gauge"], [/brainstorm|idea|design/i, "pen-line"], [/research|explore/i, "compass"], [/readiness|security/i, "shield-check"], [/tests?\b/i, "flask-conical"], [/validat|check/i, "circle-check"], [/review/i, "scan-search"], [/architect/i, "map"], [/epic|stories|sprint/i, "layers"], [/implement|\bdev|build/i, "hammer"], [/document.* project/i, "book-open"]];

// taskIcon is the icon of a task, by what its author says that it does.
export const taskIcon = (label) => taskKinds.find(([words]) => words.test(label))?.[1] ?? "file-text";

// same says that two values are the same JSON.
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// price is what a model costs, as others that it is compared with.
export const price = (n) => "$" + n.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 9 });
