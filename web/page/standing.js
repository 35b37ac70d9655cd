// How the phases of a delivery stand, by all that is on record of them. Whatever shows a
// phase shows this, so that no two places say different things of it.

import { nameOfPhase } from "./format.js";
import { duration } from "./forms.js";
import { timesAt, workedOn } from "./worked.js";

export const usual = ["requirements", "architecture", "discovery", "planning", "implementation", "qa"];

// openOf are the findings of a review that are to be put right, and the criteria that are
// not met.
export const openOf = (review) => [...(review?.findings ?? []).filter((f) => !f.fell && f.severity !== "minor"), ...(review?.criteria ?? []).filter((c) => c.state === "not_met")];

const resultOf = (run) => run.output?.key_outputs?.result ?? null;

// howOf is how a run of a phase stands: running, waiting, done, partly, failed, stopped, or
// wants, where a review found something to be put right.
export function howOf(run) {
  if (run.status !== "completed") return ["cancelled", "interrupted"].includes(run.status) ? "stopped" : run.status;
  const result = resultOf(run);
  if (result?.status === "failed") return "failed";
  if (openOf(result?.review).length) return "wants";
  return (result?.status ?? "success") === "success" ? "done" : "partly";
}

// Each state: what a phase is in a word, what is said of it in a sentence, icon and tint.
export const states = {
  __proto__: null,
  idle: ["to come", "is to come", "circle", ""],
  running: ["working", "is being worked on", "loader-circle", ""],
  waiting: ["waits for you", "asks for a decision", "hand", ""],
  done: ["done", "is done", "check", "good"],
  partly: ["partly done", "is partly done", "triangle-alert", ""],
  wants: ["wants changes", "wants something changed", "triangle-alert", ""],
  failed: ["failed", "failed", "circle-x", "bad"],
  stopped: ["stopped", "was stopped", "circle-pause", ""],
};

// phasesOf returns how each phase stands: of one that was run again, by the last time, with
// the time that all its runs have taken: one whose process died, until its last event. One
// that failed is worked on for as long as the delivery is, until something else begins.
export function phasesOf(session, status = session.status) {
  const found = new Map();
  const keeps = session.items.filter((item) => item.type === "question" && keepsPlan(item)).map((item) => item.answeredAt);
  const until = session.status === "interrupted" ? session.last : "";
  let latest = null;
  for (const run of session.runs.values()) {
    if (run.depth !== 1) continue;
    const before = found.get(run.agent);
    const plans = before?.plans ?? [];
    latest = {
      name: run.agent, state: howOf(run), rounds: (before?.rounds ?? 0) + 1, result: resultOf(run), run,
      ms: (before?.ms ?? 0) + (workedOn(run, until) ?? 0), waited: (before?.waited ?? 0) + run.waited,
    };
    if (run.agent === "planning") {
      const was = plans.findLast((p) => p.result?.status !== "failed");
      if (was && latest.state === "failed" && keeps.some((time) => time >= run.ended)) Object.assign(latest, { state: was.state, result: was.result });
      latest.plans = [...plans, latest];
    }
    found.set(run.agent, latest);
  }
  const working = [...found.values()].some((p) => p.state === "running");
  if (status === "running" && !working && ["failed", "partly", "stopped"].includes(latest?.state)) Object.assign(latest, { state: "running", result: null });
  const own = found.size > 0 && !usual.some((name) => found.has(name));
  const list = new Set([...(own ? [] : usual), ...found.keys()]);
  return [...list].map((name) => found.get(name) ?? coming(name));
}

// coming is a phase that has not begun.
export const coming = (name) => ({ name, state: "idle", rounds: 0, result: null, ms: 0, waited: 0 });

// counted is what is counted of what came of a phase: its outputs of a name, one and several.
const counted = {
  __proto__: null, // names come from outside
  requirements: ["user_stories", "story", "stories"], architecture: ["decisions", "decision", "decisions"], discovery: ["relevant_files", "file that matters", "files that matter"], planning: ["steps", "step", "steps"],
};

// missing are the files that discovery names and that are not there.
const missing = (result) => (result?.warnings ?? []).filter((w) => /^file_missing:/.test(w));

// cameOf is what came of a phase that is done, in a few words: "11 stories". Of planning that is the
// plan as it is, which a person may have changed; of discovery, the files that are there.
function cameOf({ name, state, result }, plan) {
  const [key, one, several] = (state === "done" && counted[name]) || [];
  if (!key) return "";
  const list = (name === "planning" && plan?.steps) || [result?.outputs?.[key]].flat().filter(Boolean);
  const n = list.length - (name === "discovery" ? missing(result).length : 0);
  return n > 0 && `${n} ${n === 1 ? one : several}`;
}

// standingOf says in a line how a phase stands, what came of it, and what it has taken, where that
// is worth a word.
export function standingOf(p, waits = false, plan = null) {
  const parts = [waits ? states.waiting[0] : states[p.state]?.[0] ?? p.state, !waits && cameOf(p, plan), p.ms >= 1000 && `worked ${duration(p.ms)}`, p.waited >= 1000 && `waited ${duration(p.waited)} for you`, p.rounds > 1 && `${p.rounds} rounds`];
  return parts.filter(Boolean).join(", ");
}

// timesOf says what a delivery has taken in all: what was worked, with what of that was in no
// phase, and what it waited for a person, now included.
export function timesOf(session, list, now) {
  const { worked, waited } = timesAt(session, now);
  const rest = session.status === "running" ? 0 : worked - list.reduce((sum, p) => sum + p.ms, 0);
  return [worked > 0 && `worked ${duration(worked)}${rest >= 1000 ? ` (${duration(rest)} of it on checks and between the phases)` : ""}`, waited >= 1000 && `waited ${duration(waited)} for you`].filter(Boolean).join(", ");
}

const decisions = { __proto__: null, "": "You went on", "go on": "You went on", stop: "You stopped it here", no: "You went on without it" };
// keepsPlan says of a question that a person went on with the plan that was there before a
// planner came to none.
const keepsPlan = ({ ask, arguments: given, open, left, answer }) => ask.kind === "gate" && given?.kept > 0 && !open && !left && decisionIn(answer) === decisions["go on"];

const decisionIn = (answer) => decisions[(answer ?? "").trim().toLowerCase()];

// decided says what a person has decided.
const decided = (answer) => decisionIn(answer) ?? `You asked for changes: ${answer}`;

// wishedFor is what a person asked for at the gate before this one, where that was about the
// same phase; empty if they asked for nothing.
export function wishedFor(session, gate) {
  const before = session.items.findLast((item) => item.type === "question" && item.ask.kind === "gate" && item.seq < gate.seq);
  return before && before.arguments?.phase === gate.arguments?.phase && !decisionIn(before.answer) ? before.answer : "";
}

// historyOf is what happened, the latest first: [{ time, icon, tint, text }]. What was built
// is taken, taken back and dropped outside of the session: takes and dropped say when.
export function historyOf(session, gate, takes = [], dropped = "") {
  const events = takes.map(({ at, back }) => ({ time: new Date(at).toISOString(), icon: back ? "repeat" : "check", tint: back ? "" : "good", text: back ? "It was taken back" : "It was taken" }));
  if (dropped) events.push({ time: new Date(dropped).toISOString(), icon: "trash", text: "What it had built was dropped" });
  let runs = 0; // of the delivery itself
  for (const run of session.runs.values()) {
    const said = run.input?.custom?.extras?.guidance;
    if (!run.parent && runs++) events.push({ time: run.started, icon: "hand", text: said ? `You had it go on: ${said}` : "You had it go on" });
    if (run.depth !== 1) continue;
    events.push({ time: run.started, icon: "play", text: `${nameOfPhase(run.agent)} began` });
    if (!run.ended || run.status === "running" || (gate && run.status === "waiting")) continue; // what waits is said below, once
    const [, how, icon, tint] = states[howOf(run)] ?? states.done;
    events.push({ time: run.ended, icon, tint, text: `${nameOfPhase(run.agent)} ${how}` });
  }
  for (const item of session.items) if (item.type === "question" && !item.open && !item.left) events.push({ time: item.answeredAt || item.time, icon: "hand", text: keepsPlan(item) ? "You kept the plan that was there" : item.ask.kind === "gate" ? decided(item.answer) : `You answered: ${item.answer}` });
  if (gate) events.push({ time: gate.time, icon: "hand", tint: "wait", text: "Waits for your decision" });
  return events.sort((a, b) => (a.time < b.time ? 1 : -1));
}
