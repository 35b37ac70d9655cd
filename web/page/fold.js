// Computes what the page shows of a session from the session's events. It is the
// only place that knows what they mean; it touches nothing but its own state.

import { isNoTool } from "./format.js";

// isFailure says whether a tool did not work. That something is not there, or not
// allowed, is an answer.
export const isFailure = (kind) => !!kind && !["not_found", "unauthorized", "interrupted"].includes(kind);

// placeOf is the path of a saved file as the page knows it: relative to the session's
// folder, or with a slash before it that of a document of the project.
export const placeOf = (path) => path.replace(/^\{session-folder\}\//, "").replace(/^\{project-root\}\//, "/");

// savedSince is the file that was saved last after an event: { path, version }, of which a
// document of the project has versions of its own.
function savedSince(s, seq) {
  const { path, number } = s.items.findLast((item) => item.type === "file" && item.seq > seq) ?? {};
  return path ? { path, version: path.startsWith("/") ? 0 : number } : null;
}

// between is how many milliseconds a time is after another, none if it is before it.
const between = (from, to) => Math.max(0, Date.parse(to) - Date.parse(from)) || 0;

// later is a time so many milliseconds later.
const later = (time, ms) => new Date(Date.parse(time) + ms).toISOString();

// mostOf is what a session may cost, in dollars: as much as its runs together, 0 for no limit.
export const mostOf = (s) => [...s.runs.values()].reduce((sum, run) => sum + (run.parent ? 0 : run.most), 0);

// A Session is a session as its events have it so far. The items are what the
// conversation shows, in order; runs and spans are what the other views draw.
export class Session {
  seq = 0; // of the last stored event
  version = 0; // goes up with each change
  agent = "";
  title = "";
  status = "empty"; // running, waiting, completed, failed, cancelled, interrupted
  items = [];
  // By id, in order of their beginning.
  runs = new Map();
  // What people have changed of what runs are given, by run.
  edits = new Map();
  spans = []; // model and tool calls
  warnings = [];
  model = "";
  // What the last request held.
  context = null;
  // Those that were saved, by path.
  files = new Map();
  // Those that wait for an answer.
  questions = [];
  // Those at which it was stopped: it asks them again if it goes on.
  left = [];
  // What was said of the last limit that was reached.
  limit = "";
  // Which limit that was, for as long as its run goes on.
  limited = "";
  // The time of the last stored event.
  last = "";
  // Milliseconds in which somebody worked on it, until the last event.
  worked = 0;
  // The same, in which it waited for a person.
  waited = 0;
  // Times in which nobody did anything within a run: [from, to], and where a process had died
  // the number of the event that went on.
  breaks = [];
  unheard = ""; // since when the server cannot be reached
  resumed = ""; // when it last went on after a break
  exchange = null; // what the answer in the making has taken so far
  totals = { input: 0, cached: 0, output: 0, cost: 0, unpriced: false, turns: 0 };

  // The number of the last event that added an item, and how many it added.
  #keys = [0, 0];
  #retries = 0; // how many items are lines of tries
  #live = 0; // how many items were added by what is not stored
  #open = new Map(); // items and spans that are not complete, by run and step

  // A session may begin with a later event than the first: where a run begins.
  constructor(after = 0) {
    this.seq = after;
  }

  // spend counts what a model call has used, whatever came of it, and returns its tokens.
  spend({ run }, { usage = {}, cost = 0, unpriced = false }) {
    const { input_tokens: input = 0, cached_input_tokens: cached = 0, output_tokens: output = 0 } = usage;
    this.totals.input += input;
    this.totals.cached += cached;
    this.totals.output += output;
    this.totals.cost += cost;
    this.totals.unpriced ||= unpriced;
    for (const taken of new Set([this.exchange, this.runs.get(run)?.taken])) {
      if (!taken) continue;
      taken.tokens += input + output;
      taken.cost += cost;
    }
    return usage;
  }

  // take adds an event. One that was seen already changes nothing; one that does
  // not follow the last is refused, for then something is missing.
  take(event) {
    if (event.seq && event.seq <= this.seq) return;
    if (event.seq > this.seq + 1) throw new Error(`event ${this.seq + 1} is missing`);
    if (event.seq) this.seq = event.seq;
    this.version++;
    if (event.seq && this.status === "interrupted") this.#stand("interrupted", "running");
    if (event.seq) this.#pass(event);
    if (/^model|called$/.test(event.kind)) this.#goOn(event);
    handlers[event.kind]?.(this, event, event.body);
    if (event.seq) this.last = event.time;
  }

  // pass counts the time since the event before: as worked, as waited for a person, or as
  // nobody's, where there was no run or no process. The server counts in the same way.
  #pass({ seq, kind, parent, time, body }) {
    const gap = this.last ? between(this.last, time) : 0;
    // What is before a fork was done in another session.
    if (kind === "session_forked" || ((kind === "run_resumed" || isDeath(body)) && this.status !== "waiting")) return void (gap && this.breaks.push([this.last, time, kind !== "session_forked" && this.status === "running" && seq]));
    if (kind === "user_said" || this.status === "waiting") this.waited += gap;
    else if (this.status === "running" && (kind !== "run_started" || parent)) this.worked += gap;
  }

  // pause counts a time of a run as waited or idle, and takes it out of what its answer took.
  pause(run, as, from, to) {
    const ms = between(from, to), taken = run.parent ? run.taken : this.exchange;
    run[as] += ms;
    run.pauses.push([from, to]);
    if (ms && taken) Object.assign(taken, { started: later(taken.started, Math.min(ms, between(taken.started, to))), ended: taken.ended && to });
  }

  // goOn has a run go on that had ended: with its process, or with a call that begins only now.
  #goOn(event) {
    const run = this.runs.get(event.run);
    if (!run?.ended || run.status === "completed") return;
    this.pause(run, "idle", run.ended, between(run.ended, this.resumed) ? this.resumed : later(event.time, -(event.body.latency_ms ?? 0)));
    Object.assign(run, { status: "running", ended: "" });
  }

  // reconnected says that what comes next of an answer in the making is all of it
  // so far, not what was missed.
  reconnected() {
    for (const entry of this.#open.values()) entry.stale = true;
  }

  // interrupt says that nobody works on it any more since the event with a number. A run
  // whose process died has no end among its events: only the store can tell. What is stored
  // after that takes it back.
  interrupt(seq) {
    if (seq !== this.seq || this.status !== "running") return;
    this.version++;
    this.#stand("running", "interrupted");
    for (const [key, entry] of this.#open) {
      if (entry.type === "answer") this.#open.delete(key);
      Object.assign(entry, entry.type === "answer" ? { streaming: false, cut: true } : entry.state === "running" && { state: "interrupted" }, { version: entry.version + 1 });
    }
  }

  // stand has the session, and its runs that stand as it does, stand in another way.
  #stand(from, status) {
    for (const one of [this, ...this.runs.values()]) if (one.status === from) one.status = status;
  }

  // entry returns the item that an event continues.
  entry(event) {
    return this.#open.get(event.run + "|" + event.step);
  }

  // begin adds an item that later events continue.
  begin(event, item) {
    this.#open.set(event.run + "|" + event.step, this.add(event, item));
    return this.items.at(-1);
  }

  // isReplied says whether an event's step is a reply that is on record. A delta comes a
  // moment after at most, so only the latest replies are looked at.
  isReplied(event) {
    return this.spans.slice(-64).some((span) => span.kind === "model" && span.run === event.run && span.step === event.step);
  }

  // askedIn are the questions that something said in a run is the answer to: the one of that
  // run, where several wait, or of that call.
  askedIn({ run, step, body }) {
    const own = this.questions.filter((q) => (body.call_id ? q.run === run && q.at === step : this.isWithin(run, q.run)));
    return own.length || this.runs.get(run)?.parent ? own : this.questions;
  }

  // isWithin says of a run that it is another, or nested in it.
  isWithin(run, other) {
    for (; run; run = this.runs.get(run)?.parent) if (run === other) return true;
    return false;
  }

  // answered says of calls that waited that they do no longer.
  answered(event, questions, answer) {
    const call = this.entry(event);
    for (const entry of this.#open.values()) {
      if (entry.state === "waiting" && this.isWithin(event.run, entry.run) && (!call || entry === call || entry.run !== call.run)) Object.assign(entry, { state: "answered", version: entry.version + 1 });
    }
    for (const question of questions) Object.assign(question, { open: false, ...answer, version: question.version + 1 });
    this.questions = this.questions.filter((q) => q.open);
  }

  // ask has questions wait for an answer, or be left: all, or those of a run that goes on.
  ask(open, run) {
    const [from, to] = open ? ["left", "questions"] : ["questions", "left"];
    const some = this[from].filter((question) => !run || question.run === run);
    for (const question of some) Object.assign(question, { open, left: !open, version: question.version + 1 });
    this[to] = run ? [...this[to], ...some] : some;
    this[from] = this[from].filter((question) => question.open !== open);
  }

  warn(e, code, text, more) {
    this.warnings.push({ ...e, agent: e.agent ?? "", code, text, ...more });
  }

  // retry shows that a call is tried again: one line for the whole series.
  retry(event, cause) {
    const before = this.items.find((item) => item.type === "retry" && item.run === event.run && item.at === event.step);
    const values = { code: cause.code, attempt: triesAt(this, event), wait: cause.retry_ms ?? 0, time: event.time };
    if (before) return void Object.assign(before, values, { version: before.version + 1 });
    this.#retries++;
    this.add(event, { type: "retry", at: event.step, ...values });
  }

  // dropRetry takes the line away: what came of it is there.
  dropRetry(event) {
    // As a rule there are none, and there may be very many items.
    if (!this.#retries) return;
    const at = this.items.findIndex((item) => item.type === "retry" && item.run === event.run);
    if (at < 0) return;
    this.items.splice(at, 1);
    this.#retries--;
  }

  complete(event) {
    this.#open.delete(event.run + "|" + event.step);
  }

  // add adds an item.
  add(event, item) {
    this.items.push({ key: this.#key(event), version: 0, seq: event.seq, time: event.time, run: event.run, agent: event.agent ?? "", ...this.placed(event, item), ...item });
    return this.items.at(-1);
  }

  // since puts an answer that nobody has followed where it began, before what other runs did
  // meanwhile: where it stands for those who have.
  since(item, ms) {
    let at = this.items.length - 1;
    for (let other; (other = this.items[at - 1]) && other.type !== "user" && other.run !== item.run && Date.parse(other.time) > ms + 1; ) at--;
    this.items.splice(at, 0, this.items.pop());
    return Object.assign(item, { time: new Date(ms).toISOString() });
  }

  // placed says of an item where its run stands. What is shown of a reply may be there before
  // the beginning of its run is: then it is known with the reply.
  placed(event, item) {
    const run = this.runs.get(event.run);
    return { depth: run?.depth ?? 0, node: run?.node, round: run?.round, exchange: run?.taken ?? this.exchange, ...this.#part(run, item) };
  }

  // part says of an item which part of a delivery it is of: a step of the plan by its
  // title, and of an answer whether it is a phase's, which is data.
  #part(run, { type }) {
    const around = this.runs.get(run?.parent);
    if (run?.kind === "phase") return { phase: run.agent };
    if (run?.kind === "plan step") return { phase: "implementation", step: run.input?.custom?.step?.title || run.agent };
    if (type !== "answer" || !around) return {};
    return around.kind === "phase" ? { phase: around.agent } : around.kind === "plan step" ? { phase: "implementation" } : {};
  }

  // key is the same for the same item, wherever the session began to be read.
  #key({ seq }) {
    if (!seq) return `live-${++this.#live}`;
    this.#keys = this.#keys[0] === seq ? [seq, this.#keys[1] + 1] : [seq, 0];
    return seq + this.#keys[1] / 1000;
  }

  // endRun closes a run and whatever it left open, with the text of an answer that
  // was cut off.
  endRun(event, status, partial = "") {
    const run = this.runs.get(event.run);
    // It had ended, and went on, or waited until now.
    const isLeft = status === "cancelled" && this.status === "waiting";
    if (run?.ended) this.pause(run, isLeft ? "waited" : "idle", run.ended, isLeft ? event.time : this.resumed);
    if (isLeft) this.#stand("waiting", status);
    if (run) Object.assign(run, { status, ended: event.time });
    const taken = event.parent ? run?.taken : this.exchange;
    if (taken && !isDeath(event.body) && !isLeft) taken.ended = event.time;
    let shown = false;
    for (const [key, entry] of this.#open) {
      if (entry.run !== event.run || /^(waiting|answered)$/.test(entry.state)) continue;
      this.#open.delete(key);
      if (entry.type === "answer") {
        shown = true;
        Object.assign(entry, { streaming: false, cut: true, text: partial || entry.text, version: entry.version + 1 });
      } else if (entry.state === "running") {
        Object.assign(entry, { state: "interrupted", version: entry.version + 1 });
        if (entry.span) entry.span.end = event.time;
      }
    }
    if (partial && !shown && !this.items.some((item) => item.cut && item.text === partial && item.run !== event.run)) this.add(event, { type: "answer", text: partial, thought: "", streaming: false, cut: true });
    if (!event.parent) this.status = status;
  }
}

// nameOfModel names the model of a call as people choose it. Older logs do not say whose it is.
const nameOfModel = ({ provider = "", model = "" }) => (provider && model && !model.startsWith(provider + "/") ? `${provider}/${model}` : model);

// shown are the warnings that concern people.
const shown = ["tool_server_down", "cost_exceeded"];

// isDeath says of the end of a run that its process had died before, which nobody has seen.
const isDeath = (body) => body?.reason?.startsWith("interrupted");

// unused are the warnings that say of an agent's last answer why it is not used.
const unused = ["json_correction", "reply_cut", "reply_missing", "answer_unused"];

// lasting are the ends of a run that need no word.
// isTry says of a warning that a model was tried in vain since the run went on, and triesAt how often at
// a step: numbers of attempts count what was stopped, too.
const isTry = (s, w) => w.code === "model_failed" && Date.parse(w.time) >= (Date.parse(s.resumed) || 0);
const triesAt = (s, { run, step }) => s.warnings.filter((w) => isTry(s, w) && w.run === run && w.step === step).length;

const lasting = ["answered", "input_requested", "handed_off"];

// began is what a run has taken that begins now.
const began = (e) => ({ tokens: 0, cost: 0, started: e.time, ended: "", model: "" });

// takenBy is what a run within another has taken. One that is asked once more right after
// its answer is shown as one turn with it, and counts on.
function takenBy(s, e, { depth = 0, node = "" }) {
  const last = s.items.at(-1);
  return last && last.run !== e.run && s.runs.get(last.run)?.parent === e.parent && last.agent === e.agent && last.depth === depth && last.node === node ? last.exchange : began(e);
}

// delta grows an answer. What an earlier attempt has shown is dropped.
function delta(field) {
  return (s, e, b) => {
    // What another process shows of a reply lags behind the log.
    if (s.isReplied(e)) return;
    const entry = s.entry(e) ?? s.begin(e, { type: "answer", text: "", thought: "", streaming: true, attempt: b.attempt });
    if (entry.stale || entry.attempt !== b.attempt) Object.assign(entry, { text: "", thought: "", stale: false, attempt: b.attempt });
    entry[field] += b.text;
    entry.heard = new Date().toISOString(); // by the clock here: see Working
    entry.version++;
  };
}

const handlers = {
  __proto__: null, // names come from outside
  run_started(s, e, b) {
    s.runs.set(e.run, {
      id: e.run, parent: e.parent ?? "", agent: e.agent ?? "", node: b.node ?? "", round: b.round, depth: b.depth ?? 0, task: b.input?.task ?? "", input: b.input, kind: b.definition?.kind ?? "", edited: !!b.edited, editedBy: b.edited_by ?? "",
      started: e.time, ended: "", waited: 0, idle: 0, pauses: [], status: "running", seq: e.seq, output: null, spent: null, user: b.user ?? "", most: b.limits?.cost ?? 0,
    });
    const handed = s.items.findLast((item) => item.type === "handoff" && item.run === e.parent);
    if (handed?.to === e.agent && !handed.at) Object.assign(handed, { at: b.node, round: b.round, version: handed.version + 1 });
    if (e.parent) return void (s.runs.get(e.run).taken = takenBy(s, e, b));
    s.agent = e.agent ?? "";
    s.status = "running";
    s.limited = "";
    s.exchange = began(e);
  },

  user_said(s, e, b) {
    // What is said again is said in a session that goes on before this: before the
    // run that it begins, or before the answer that it is.
    const asked = s.askedIn(e);
    const begins = !b.call_id && !asked.length;
    const after = begins ? (s.runs.get(e.run)?.seq ?? e.seq) - 1 : e.seq - 1;
    // A decision is shown by its question; what was written in place of one was said.
    const kind = !begins && asked[0]?.ask.kind;
    const answers = kind === "gate" || (kind === "approval" && !!b.answer);
    const isSaid = !answers && !b.hidden;
    if (isSaid) s.add(e, { type: "user", text: b.text, parts: b.parts ?? [], after });
    s.answered(e, asked, { answer: b.text ?? "", decision: b.answer, unasked: b.hidden, answeredAt: e.time });
    // While others are at work, its own run goes on after them: with its next event.
    const isEarly = s.status === "running";
    s.status = "running";
    // What comes after something that was said is another turn, with figures of its own.
    if (isSaid && !begins) s.exchange = began(e);
    for (let id = e.run; id; id = s.runs.get(id)?.parent) {
      const run = s.runs.get(id);
      if (run?.ended) s.pause(run, "waited", run.ended, e.time);
      if (run) Object.assign(run, { status: "running", ended: isEarly && run.ended ? e.time : "" });
      if (run?.taken && isSaid) run.taken = began(e);
    }
    if (!s.title && !b.hidden) s.title = b.text.slice(0, 60);
  },

  text_delta: delta("text"),
  thought_delta: delta("thought"),

  model_replied(s, e, b) {
    const usage = s.spend(e, b);
    s.totals.turns++;
    const model = nameOfModel(b);
    s.model = model || s.model;
    if (b.context) s.context = { ...b.context, used: usage.input_tokens || b.context.system + b.context.tools + b.context.history };
    for (const taken of [s.exchange, s.runs.get(e.run)?.taken]) if (taken) Object.assign(taken, { model, ended: e.time });
    s.dropRetry(e);
    s.spans.push({
      kind: "model", seq: e.seq, step: e.step, context: b.context, finish: b.finish, attempt: b.attempt, run: e.run, agent: e.agent, name: model || "model", purpose: b.purpose ?? "", end: e.time,
      start: later(e.time, -(b.latency_ms ?? 0)), first: b.first_token_ms ?? 0, usage, cost: b.cost ?? 0,
    });
    if (b.purpose) return;
    const text = b.message.text || b.message.refusal || "";
    const thought = b.message.thought ?? "";
    const entry = s.entry(e) ?? (text || thought ? s.since(s.begin(e, { type: "answer" }), Date.parse(e.time) - ((b.first_token_ms && b.latency_ms - b.first_token_ms) || 0)) : null);
    if (entry) Object.assign(entry, s.placed(e, entry), { text, thought, streaming: false, stale: false, finish: b.finish, seq: e.seq, version: (entry.version ?? 0) + 1 });
    s.complete(e);
  },

  tool_called(s, e, b) {
    // It may have been asked about before. Then the log has it twice.
    const before = s.entry(e), asks = before?.span?.asks;
    // What was to be approved is made only now; a gate has done its work by asking.
    if (asks === "approval") s.spans.splice(s.spans.indexOf(before.span), 1);
    const span = asks === "gate" ? before.span : { kind: "tool", seq: e.seq, step: e.step, arguments: b.arguments, attempt: b.attempt, run: e.run, agent: e.agent, name: b.tool, start: e.time, end: "", class: "" };
    if (span !== before?.span) s.spans.push(span);
    if (before) return void Object.assign(before, { state: "running", span, version: before.version + 1 });
    s.begin(e, { type: "tool", tool: b.tool, arguments: b.arguments, attempt: b.attempt, changed: b.changed ?? [], state: "running", span });
  },

  tool_returned(s, e, b) {
    const entry = s.entry(e);
    if (entry?.span) entry.span.error = b.error ?? "";
    if (entry) {
      const state = b.asks ? "waiting" : isFailure(b.class) || isNoTool(b) ? "failed" : "done";
      Object.assign(entry, { state, content: b.content, class: b.class ?? "", error: b.error ?? "", size: b.size, ms: b.duration_ms, version: entry.version + 1 });
      Object.assign(entry.span, { end: entry.span.end || e.time, class: b.class ?? "", ms: b.duration_ms });
    }
    if (!b.asks) s.complete(e);
    const away = b.cause?.code === "tool_server_down" && b.cause.server;
    if (away && !s.items.some((item) => item.run === e.run && item.context?.server === away)) s.add(e, { type: "trouble", code: "tool_server_down", context: { server: away, detail: b.error } });
  },

  handed_off(s, e, b) {
    s.add(e, { type: "handoff", from: b.from, to: b.to, handoff: b.handoff });
  },

  input_requested(s, e, b) {
    const entry = s.entry(e);
    if (entry?.type === "tool") {
      Object.assign(entry, { state: "waiting", version: entry.version + 1 });
      Object.assign(entry.span, { end: e.time, asks: b.ask?.kind ?? "question" });
    }
    // Passed on by the run around it.
    if (s.questions.some((q) => q.question === b.question && (q.at === e.step || q.run !== e.run) && s.isWithin(q.run, e.run))) return;
    s.questions.push(s.add(e, { type: "question", at: e.step, question: b.question, tool: b.tool ?? "", arguments: b.arguments, ask: b.ask ?? { id: e.seq, kind: "question", choices: [] }, open: true, answer: "" }));
  },

  artifact_saved(s, e, b) {
    const path = placeOf(b.path);
    if (path[0] === "{" && !b.version) return; // where nobody can open it
    const version = b.version ?? (s.files.get(path)?.version ?? 0) + 1;
    s.files.set(path, { path, size: b.size, version, agent: e.agent ?? "", time: e.time, description: b.description });
    s.add(e, { type: "file", path, size: b.size, version: 0, number: version, sha: b.sha256, description: b.description ?? "" });
  },

  context_compacted(s, e, b) {
    s.add(e, { type: "trouble", code: "context_full", context: { dropped: b.dropped, detail: b.summary ?? "" } });
  },

  // A run that goes on asks for the answer anew that was cut off: the half of it is no answer
  // any more, but stays. The time until then is nobody's.
  run_resumed(s, e) {
    s.status = "running";
    s.limited = "";
    s.resumed = e.time;
    s.items = s.items.filter((item) => !(item.passing && item.run === e.run));
    for (const item of s.items) if (item.cut && s.isWithin(item.run, e.run)) Object.assign(item, { type: "broken", version: item.version + 1 });
    const run = s.runs.get(e.run);
    for (const one of s.runs.values()) if (one === run || (s.isWithin(one.id, e.run) && !one.ended)) s.pause(one, "idle", one.ended || s.last, e.time);
    if (run) Object.assign(run, { status: "running", ended: "" });
  },

  session_forked(s, e, b) {
    for (const run of s.runs.values()) if (!run.ended) s.pause(run, "idle", s.last, e.time);
    if (b.input) s.edits.set(b.run, b);
    s.add(e, { type: "note", code: "forked", change: b.input && b });
  },

  // What ends the run is said by its end.
  model_failed(s, e, b) {
    s.spend(e, b);
    s.warn(e, "model_failed", b.error, { tried: { model: nameOfModel(b), until: Date.parse(e.time) + b.retry_after_ms } });
    if (b.retry_in_ms) s.retry(e, b.cause ?? { code: "provider_down", attempt: b.attempt, retry_ms: b.retry_in_ms });
  },

  limit_reached(s, e, b) {
    s.limit = b.message;
    s.limited = b.stop;
    s.warn(e, "limit_reached", b.message);
  },

  // Warnings are for models and developers; the run shows them. Those that concern
  // people are told.
  warned(s, e, b) {
    s.warn(e, b.code, b.message);
    if (shown.includes(b.code)) s.add(e, { type: "trouble", code: b.code, context: { detail: b.message } });
    const refused = unused.includes(b.code) && s.items.findLast((item) => item.type === "answer" && s.runs.get(item.run)?.parent === e.run);
    if (refused) Object.assign(refused, { refused: b.message, version: refused.version + 1 });
  },

  session_renamed(s, e, b) {
    s.title = b.title;
  },

  run_finished(s, e, b) {
    const waits = b.stop === "input_requested", run = s.runs.get(e.run);
    if (waits && e.parent) s.ask(true, e.run); // which waits on, while others work
    if (waits && run?.status === "waiting") return; // it waits on: it was only gone over again
    s.endRun(e, waits ? "waiting" : "completed");
    if (run) Object.assign(run, { output: b.output, spent: b.spent, stop: b.stop });
    // Whoever has a team's work last may not hand it over, and tries to.
    if (b.stop === "handoffs") for (const last of s.runs.values()) if (last.parent === e.run && last.stop === "repeated_calls") last.stop = b.stop;
    if (waits && !e.parent && !s.questions.length) s.ask(true);
    if (e.parent || waits) return;
    const summary = b.output?.summary ?? "";
    // An answer that reached the output limit comes in several.
    let said = false, pieces = "";
    for (let i = s.items.length - 1; i >= 0 && !said && !(s.items[i].seq <= (run?.seq ?? 0)); i--) {
      if (s.items[i].type !== "answer") continue;
      pieces = s.items[i].text + pieces;
      said = s.items[i].text === summary || pieces === summary;
    }
    // What the engine says for a model that says nothing; the card below does.
    const isOurs = !lasting.includes(b.stop) && /^\(.*\)$/s.test(summary);
    // Steps side by side have said theirs above, but for those that failed.
    const gathers = [...s.runs.values()].find((r) => r.kind === "parallel" && r.output?.summary === summary)?.id;
    for (const { run, agent, cause, code } of gathers ? s.warnings : []) if (code === "failed" && s.runs.get(run)?.parent === gathers) s.add({ ...e, run, agent }, { type: "note", code, cause });
    if (summary && !said && !isOurs && !gathers) s.add(e, { type: "answer", text: summary, thought: "", streaming: false });
    const last = s.items.findLast((item) => item.type === "answer");
    // Who goes on from it goes on from a run that is over.
    if (last && last.seq > (run?.seq ?? 0)) Object.assign(last, { end: e.seq, version: last.version + 1 });
    if (!lasting.includes(b.stop)) s.add(e, { type: "trouble", code: b.cause?.code || b.stop, context: { by: run?.kind !== "agent" && [...s.runs.values()].findLast((r) => r.parent && r.stop === b.stop && s.isWithin(r.id, e.run))?.agent, problem: b.cause?.problem, limit: s.limit, saved: savedSince(s, run?.seq ?? 0) } });
  },

  run_failed(s, e, b) {
    s.dropRetry(e);
    s.endRun(e, "failed", b.partial);
    if (!e.parent) s.add(e, { type: "trouble", code: b.cause?.code || (s.limited && "limit_" + s.limited), context: { half: !!b.partial, ...triedIn(s), limit: s.limit, detail: b.error, problem: b.cause?.problem, parts: s.items.findLast((item) => item.type === "user")?.parts }, passing: true });
    else s.warn(e, "failed", b.error, { cause: b.cause });
  },

  // The engine closes a run whose process died with a reason that begins with this word, when
  // something else is said. Nothing is on record of the answer that was in the making.
  run_cancelled(s, e, b) {
    s.dropRetry(e);
    s.endRun(isDeath(b) ? { ...e, time: s.last } : e, "cancelled", b.partial);
    if (isDeath(b)) for (const run of s.runs.values()) if (s.isWithin(run.id, e.run) && (run.id === e.run || !run.ended)) Object.assign(run, { status: "cancelled", ended: s.last, died: true });
    if (e.parent) return;
    s.ask(false);
    s.add(e, { type: "trouble", code: "cancelled", context: b, passing: true });
  },
};

// triedIn is whose model call failed last, who was asked, and how often since the run last went on.
function triedIn(s) {
  const last = s.warnings.findLast((w) => isTry(s, w));
  return { by: last?.agent, ...last?.tried, tries: last ? triesAt(s, last) : 0 };
}
