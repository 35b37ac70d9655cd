// Says numbers, sizes and times the way people read them.

const number = new Intl.NumberFormat("en");

export const count = (n) => number.format(n ?? 0);

export function size(bytes) {
  if (bytes < 1024) return `${bytes ?? 0} B`;
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}

export function duration(ms) {
  if (!(ms >= 0)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// cost is in dollars; most answers cost less than a cent.
export const cost = (dollars) => (dollars ? "$" + dollars.toFixed(dollars < 0.1 ? 4 : 2) : "");

export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export const hour = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

// short is a number of tokens as people say it.
export const short = (n) => (n >= 10_000 ? Math.round(n / 1000) + "k" : n >= 1000 ? (n / 1000).toFixed(1) + "k" : String(n ?? 0));

// when is how long ago something was, or its hour or day.
export function when(time, now = new Date()) {
  const name = day(time, now);
  if (name === "Today") return hour(time);
  const ago = (now - new Date(time)) / 86_400_000;
  return ago < 6 ? new Date(time).toLocaleDateString([], { weekday: "short" }) : name;
}

// since is how long ago something was, in the largest unit.
export function since(time, now = Date.now()) {
  const minutes = Math.floor((now - Date.parse(time)) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}

const shortForms = /^(prd|ux|api|adr|faq|qa|readme|rfc)$/i;

// nameOf is what people call a file: "project-brief.md" is "Project brief".
export function nameOf(path) {
  const base = path.split("/").at(-1);
  if (!/\.(md|markdown|txt)$/i.test(base)) return base;
  const words = base.replace(/\.\w+$/, "").replace(/[-_]+/g, " ").trim();
  return words ? (shortForms.test(words) ? words.toUpperCase() : words[0].toUpperCase() + words.slice(1)) : base;
}

// nameOfPhase is what people call a phase of a delivery.
export const nameOfPhase = (name) => (name === "qa" ? "Checking" : nameOf(name + ".md"));

// plainPath is a path without what only machines know: "{session-folder}/a/b.md" is
// "a/b.md".
export const plainPath = (path) => String(path ?? "").replace(/\{\{?[\w-]+\}?\}\/?/g, "").replace(/^\/+/, "");

// pathWords is a path for people, with the folder that it is in: "planning / brief.md".
export const pathWords = (path) => plainPath(path).split("/").slice(-2).join(" / ");

// day names a day as people do.
export function day(time, now = new Date()) {
  const date = new Date(time);
  const midnight = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const ago = Math.round((midnight(now) - midnight(date)) / 86_400_000);
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  return date.toLocaleDateString([], { day: "numeric", month: "short", year: date.getFullYear() === now.getFullYear() ? undefined : "numeric" });
}

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

// fileIcon is the icon of a file, by its kind.
export function fileIcon(path) {
  if (/\.(csv|tsv|xlsx)$/i.test(path)) return "table-2";
  if (/\.(png|jpe?g|gif|svg|webp)$/i.test(path)) return "image";
  return /\.(md|markdown|txt|pdf|docx|html?)$/i.test(path) ? "file-text" : "file-code";
}

// states are how a conversation stands, in a word.
export const states = {
  __proto__: null, // names come from outside
  running: "Working", waiting: "Waits for you", completed: "Done", failed: "Did not work out", cancelled: "Stopped", interrupted: "Was interrupted", empty: "Not begun",
};

// isNoTool says that a model has called a tool which is not there. What else is not there
// is an answer.
export const isNoTool = ({ class: kind, error = "", content = "" }) => kind === "not_found" && /^there is no tool /.test(error || content);
