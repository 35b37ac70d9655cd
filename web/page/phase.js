// What an agent of a delivery has answered, in people's words. The answer itself is data
// for the delivery, and is there for whoever asks for it.

import { nameOfPhase } from "./format.js";
import { json } from "./forms.js";
import { html, icon, useState } from "./view.js";
import { Prose } from "./prose.js";

// valueIn is the object that a text holds: alone, in a code block, or before blocks of
// text that it refers to. It is null where there is none that can be read.
export function valueIn(text) {
  const alone = text.split(/^<<<[A-Za-z][\w.-]*\s*$/m)[0].trim();
  const inside = alone.slice(alone.indexOf("{"), alone.lastIndexOf("}") + 1);
  for (const part of [alone, inside]) {
    try {
      const value = JSON.parse(part);
      if (value && typeof value === "object" && !Array.isArray(value)) return value;
    } catch {}
  }
  return null;
}

// isData says of a text that could not be read that it is nothing for people either.
export const isData = (text) => /^\s*[{[`<]/.test(text);

const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null || value === "" ? [] : [value]);
const plain = (name) => String(name).replace(/[_-]+/g, " ").trim();

// inWords is an entry of an answer as a line: agents write them as texts or as objects.
export function inWords(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(inWords).filter(Boolean).join(", ");
  const { id, title, name, path, story, text, description, problem, decision, rationale, reason, relevance } = value;
  const about = [title, name, path, story, text, decision, problem].find((v) => typeof v === "string" && v) ?? "";
  const more = [description, rationale, reason, relevance].find((v) => typeof v === "string" && v && v !== about) ?? "";
  if (!about && !more) return (value.i_want ? asStory(value) : Object.values(value).map(inWords).filter(Boolean).join(", "));
  return withId(id, [about, more].filter(Boolean).join(": "));
}

// asStory is a user story as people say it.
const asStory = ({ id, as, as_a, i_want, so_that }) => withId(id, `As ${as ?? as_a ?? "somebody"} I want ${i_want}${so_that ? `, so that ${so_that}` : ""}`);

const sameId = (a, b) => a.replace(/[-_\s]/g, "").toLowerCase() === b.replace(/[-_\s]/g, "").toLowerCase();

// withId is a text with its id before it, once: many write it into the text, too.
export function withId(id, text) {
  if (!id || !text || id === text) return text;
  const [, before = "", rest = ""] = text.match(/^\s*([A-Za-z]{1,5}[-_ ]?\d[\d.]*?)\s*[:.)–—-]+\s+([^]*)$/) ?? [];
  return `${id}: ${before && sameId(before, String(id)) ? rest : text}`;
}

// stepWords is a step of a plan: what it is called, and what is to be done.
function stepWords(s) {
  const title = s.title || s.name || "";
  const goal = s.goal || s.description || "";
  return !title || title === goal ? goal || inWords(s) : goal ? `${title}: ${inWords(goal)}` : title;
}

// severities say what a finding asks for, in the same words wherever it is shown.
export const severities = { __proto__: null, blocker: "Must be put right", major: "Should be put right", minor: "Small" };

const states = { __proto__: null, met: "met", not_met: "not met", unproven: "not proven" };
const acts = { __proto__: null, edit: "changes", file: "writes", gkchatty: "writes", delete: "removes", rename: "renames" };

// What is shown of each phase: [title, what of the outputs, how an entry is said].
const parts = {
  __proto__: null, // names come from outside
  requirements: [["User stories", (o) => o.user_stories], ["Acceptance criteria", (o) => o.acceptance_criteria], ["What constrains it", (o) => o.constraints]],
  architecture: [["Components", (o) => o.components], ["Decisions", (o) => o.decisions], ["Technologies", (o) => o.technologies]],
  discovery: [["Files that matter", (o) => o.relevant_files], ["Where it begins", (o) => o.entry_points], ["Depends on", (o) => o.dependencies]],
  planning: [["Steps", (o) => (Array.isArray(o.steps) && !o.steps.length ? "none: there is nothing to carry out" : o.steps), (s) => (typeof s === "object" && s ? stepWords(s) : inWords(s))]],
  implementation: [["What was done", (o) => o.summary], ["Notes", (o) => o.notes]],
  qa: [
    ["Verdict", (o) => ({ accept: "accepted", changes_required: "changes are required" })[o.verdict] ?? (o.verdict && plain(o.verdict))],
    ["Acceptance criteria", (o) => o.criteria, (c) => `${c?.id ?? ""} ${states[c?.state] ?? plain(c?.state ?? "")}${c?.evidence ? `, ${inWords(c.evidence)}` : ""}`.trim()],
    ["Findings", (o) => o.findings, (f) => (typeof f === "object" && f ? `${[f.id, severities[f.severity]?.toLowerCase() ?? f.severity].filter(Boolean).join(" ")}${f.id || f.severity ? ": " : ""}${inWords(f.problem ?? f.description ?? f.title ?? "")}${f.path ? ` (${f.path}${f.line ? `:${f.line}` : ""})` : ""}${f.fix ? ` What to do: ${inWords(f.fix)}` : ""}` : inWords(f))],
    ["Recommendations", (o) => o.recommendations],
  ],
};

// own are the parts of a phase that somebody has made up.
const own = (outputs) => Object.keys(outputs).map((key) => [plain(key)[0]?.toUpperCase() + plain(key).slice(1), (o) => o[key]]);

// partsOf is an answer in people's words: [{ title, lines }].
export function partsOf(phase, answer) {
  const outputs = answer.outputs && typeof answer.outputs === "object" ? answer.outputs : {};
  const found = (parts[phase] ?? own(outputs)).map(([title, of, say = inWords]) => ({ title, lines: list(of(outputs)).map(say).filter(Boolean) }));
  const artifacts = list(answer.artifacts).filter((a) => a && typeof a === "object");
  if (phase === "implementation") found.push({ title: "Files", lines: artifacts.map((a) => `${acts[a.type] ?? "writes"} ${a.path || a.name || "a file"}${a.type === "rename" && a.to ? ` to ${a.to}` : ""}`) });
  found.push({ title: "Against going on", lines: list(answer.next_phase?.blockers).map(inWords) }, { title: "What went wrong", lines: list(answer.errors).map(inWords) });
  return found.filter((part) => part.lines.length > 0);
}

const most = 8; // lines of a part that are shown at first

function Lines({ title, lines }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? lines : lines.slice(0, most);
  return html`<p class="faint small-head">${title}</p>${lines.length === 1 ? html`<p class="plain" dir="auto">${lines[0]}</p>` : html`<ul class="said-lines">${shown.map((text, i) => html`<li key=${i} dir="auto">${text}</li>`)}</ul>`}
    ${lines.length > shown.length && html`<button type="button" class="ghost sm" onClick=${() => setWhole(true)}>${lines.length - shown.length} more</button>`}`;
}

// PhaseWords shows what came of a phase: its outputs in words.
export function PhaseWords({ phase, outputs }) {
  const parts = outputs && typeof outputs === "object" ? partsOf(phase, { outputs }) : [];
  return parts.length > 0 && html`<div class="phase-answer" data-phase=${phase}>${parts.map((part) => html`<${Lines} key=${part.title} ...${part} />`)}</div>`;
}

// asText is an answer as it is shown, to be copied.
export function asText({ phase, text }) {
  const value = valueIn(text);
  const parts = value ? partsOf(phase, value) : [];
  return parts.length ? parts.map(({ title, lines }) => `${title}\n${lines.map((line) => (lines.length > 1 ? `- ${line}` : line)).join("\n")}`).join("\n\n") : text;
}

// PhaseAnswer shows what the agent of a phase has answered. While it is written there is
// nothing to read yet.
export function PhaseAnswer({ item, openFile }) {
  const name = nameOfPhase(item.phase);
  if (item.streaming) return html`<div class="acts">${icon("loader-circle", "spin acc")}<span>Writing down what came of it: <b>${name}</b></span></div>`;
  const value = valueIn(item.text);
  const words = value && partsOf(item.phase, value);
  const exact = html`<details class="did exact-answer"><summary class="acts">${icon("braces")}<span>The answer as it was written</span>${icon("chevron-down", "chev")}</summary><div class="steps"><pre tabindex="0">${json(value ?? item.text)}</pre></div></details>`;
  const refused = item.refused && html`<div class="acts">${icon("repeat")}<span>${item.refused[0].toUpperCase() + item.refused.slice(1)}.</span></div>`;
  if (!value && !isData(item.text)) return html`<div class="phase-answer" data-phase=${item.phase}><${Prose} text=${item.text} openFile=${openFile} />${refused}</div>`;
  return html`<div class="phase-answer" data-phase=${item.phase}>${words?.length ? words.map((part) => html`<${Lines} key=${part.title} ...${part} />`) : !item.refused && html`<p class="plain dim">${value ? "It says nothing." : "This answer could not be read."}</p>`}${refused}</div>${exact}`;
}
