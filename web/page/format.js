// Says numbers, sizes and times the way people read them: what a conversation needs at once.
// More is in forms.js.

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 9 });

export const capital = (text) => text && text[0].toUpperCase() + text.slice(1);

export const count = (n) => number.format(n ?? 0);

export function size(bytes) {
  if (bytes < 1024) return `${bytes ?? 0} B`;
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}

const dollars = (n, least, most = least) => "$" + n.toLocaleString("en", { minimumFractionDigits: least, maximumFractionDigits: most });

// cost is in dollars; most answers cost less than a cent.
export const cost = (n) => (n ? dollars(n, n < 0.1 ? 4 : 2) : "");

// money is an amount that somebody chose.
export const money = (n) => dollars(n, n % 1 ? 2 : 0, 9);

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

// day names a day as people do.
export function day(time, now = new Date()) {
  const date = new Date(time);
  const midnight = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const ago = Math.round((midnight(now) - midnight(date)) / 86_400_000);
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  return date.toLocaleDateString([], { day: "numeric", month: "short", year: date.getFullYear() === now.getFullYear() ? undefined : "numeric" });
}

// states are how a conversation stands, in a word.
export const states = {
  __proto__: null, // names come from outside
  running: "Working", waiting: "Waits for you", completed: "Done", failed: "Did not work out", cancelled: "Stopped", interrupted: "Was interrupted", empty: "Not begun",
};

// isNoTool says that a model has called a tool which is not there. What else is not there
// is an answer.
export const isNoTool = ({ class: kind, error = "", content = "" }) => kind === "not_found" && /^there is no tool /.test(error || content);
