import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";
import { Events } from "./script.mjs";

install();
const { axisOf, cutIn, drawnFrom, earlierIn, labelOf, madeIn, memoriesOf, piecesOf, rowsOf, scaleOf, stands, tookOf } = await import("../page/run.js");
const { inShort } = await import("../page/trouble.js");
const { Session } = await import("../page/fold.js");
const { timesAt, untilOf, workedOn } = await import("../page/worked.js");

const run = (id, seq, parent, depth) => [id, { id, seq, parent, depth, started: "", ended: "" }];
const model = (seq, of, step = "1", attempt = 1) => ({ kind: "model", seq, run: of, step, attempt, start: "", end: "" });
const told = (session) => rowsOf({ items: [], warnings: [], breaks: [], ...session }).map((row) => row.run?.id ?? row.warning?.text ?? `call of ${row.span.run}`);

test("each call is below who made it, whoever works beside them", () => {
  const session = { runs: new Map([run("r", 1, "", 0), run("poet", 2, "r", 1), run("writer", 3, "r", 1), run("critic", 9, "r", 1)]), spans: [model(5, "writer"), model(6, "poet"), model(8, "writer", "2"), model(12, "critic")] };
  assert.deepEqual(told(session), ["r", "poet", "call of poet", "writer", "call of writer", "call of writer", "critic", "call of critic"]);
  assert.deepEqual(told({ ...session, warnings: [{ code: "failed", seq: 7, run: "poet", text: "why" }, { code: "failed", seq: 20, run: "gone", text: "at the end" }] }).filter((row) => /why|end|poet/.test(row)), ["poet", "call of poet", "why", "at the end"]);
});

test("a call is tried again where a try has failed, not where its session has gone on", () => {
  const rows = rowsOf({ items: [], breaks: [], runs: new Map([run("r", 1, "", 0)]), spans: [model(3, "r", "1", 2), model(6, "r", "2", 3)], warnings: [{ code: "model_failed", seq: 5, run: "r", step: "2" }] });
  assert.deepEqual(rows.filter((row) => row.span).map((row) => row.failed.length), [0, 1]);
});

test("what was cut off is counted, and what a fork has of its original is told apart", () => {
  const e = new Events(), s = new Session();
  const paid = (event, cost) => ({ ...event, body: { ...event.body, cost } });
  for (const event of [e.start("alex", "hi"), e.said("hi"), paid(e.replied(2, "Hello."), 0.25), e.finished("Hello."), { ...e.resumed(), kind: "session_forked", body: { from: "o", after: 4 } }, e.start("alex", "more"), e.said("more"), paid(e.replied(2, "More."), 0.5)]) s.take(event);
  assert.deepEqual([cutIn(s), earlierIn(s)], [0, 0.25]);
  s.take({ ...e.abandoned(), body: { reason: "stopped", partial: "Half" } });
  assert.deepEqual([cutIn(s), earlierIn(s)], [1, 0.25]);
});

test("a tool took as long in its row as in the panel of its call, whenever its events were told", () => {
  const e = new Events(), s = new Session();
  for (const event of [e.start("alex", "hi"), e.said("hi"), e.replied(2, "", [{ id: "c", name: "read_file" }]), e.called(3, "read_file", {}), e.returned(3, "read_file", "text"), e.replied(4, "Done."), e.finished("Done.")]) s.take(event);
  const rows = rowsOf(s);
  assert.equal(tookOf(rows.find((row) => row.kind === "tool")), 1);
  assert.equal(tookOf(rows.find((row) => row.kind === "model")), 500);
});

// asked is a session with one call that was asked about: what came of it is left to tell.
function asked() {
  const e = new Events(), s = new Session();
  for (const event of [e.start("alex", "hi"), e.said("hi"), e.replied(2, "", [{ id: "c", name: "mail__send" }]), e.called(3, "mail__send", {}), e.asked(3, "mail__send", {}), e.finished("", "input_requested")]) s.take(event);
  return { s, e };
}

const labels = (s) => rowsOf(s).filter((row) => ["tool", "ask"].includes(row.kind)).map(labelOf);

test("a call that is asked about is told in the order in which things happened", () => {
  const waits = asked();
  assert.deepEqual(labels(waits.s), ["Wants to use mail send", "Asked you"]);
  assert.equal(madeIn(waits.s), 0);
  for (const [answer, outcome, want] of [["yes", {}, "Used mail send"], ["no", { class: "unauthorized" }, "Was not allowed to use mail send"]]) {
    const { s, e } = asked();
    const returned = [e.answered(3, answer), e.called(3, "mail__send", {}), e.returned(3, "mail__send", "")];
    Object.assign(returned[2].body, outcome);
    for (const event of returned) s.take(event);
    assert.deepEqual(labels(s), ["Asked you", want]);
    assert.equal(madeIn(s), 1);
  }
});

const at = (ms) => new Date(1e12 + ms).toISOString();

// waiting is a session that asked and was answered after each of the times.
function waiting(times) {
  const e = new Events(), s = new Session();
  let now = 0;
  const take = (event, after = 0) => s.take({ ...event, time: at((now += after)) });
  for (const ms of times) {
    for (const event of [e.start("alex", "hi"), e.said("hi"), e.called(3, "mail", {})]) take(event);
    for (const event of [e.asked(3, "mail", {}), e.finished("", "input_requested")]) take(event, event.kind === "input_requested" ? 400 : 0);
    take(e.answered(3, "yes"), ms);
    take(e.called(3, "mail", {}));
    take(e.returned(3, "mail", "sent"), 300);
    take(e.finished("Done."), 265);
  }
  return s;
}

test("a longer wait is never drawn shorter, and none is long", () => {
  const times = [100, 3600, 90_000, 2600, 13_500, 7_200_000];
  const rows = rowsOf(waiting(times)), scale = scaleOf(rows, false);
  const widths = rows.filter((row) => row.kind === "ask").map((row) => scale.at(row.end) - scale.at(row.start));
  const inOrder = times.map((ms, i) => [ms, widths[i]]).sort((a, b) => a[0] - b[0]).map(([, width]) => width);
  assert.deepEqual(inOrder, [...inOrder].sort((a, b) => a - b), String(widths));
  assert.equal(Math.round(widths[0]), 100);
  assert.ok(Math.max(...widths) <= 1000, String(widths));
  const exact = scaleOf(rows, true);
  assert.deepEqual(rows.filter((row) => row.kind === "ask").map((row) => exact.at(row.end) - exact.at(row.start)), times);
});

test("an agent’s bar is as long as its row says that it worked", () => {
  const rows = rowsOf(waiting([3600, 90_000])), scale = scaleOf(rows, false);
  for (const { run } of rows.filter((row) => row.kind === "run")) {
    assert.equal(workedOn(run), 965);
    const pieces = piecesOf(run, run.ended);
    assert.equal(pieces.length, 2);
    assert.equal(Math.round(pieces.reduce((sum, [from, to]) => sum + scale.at(to) - scale.at(from), 0)), 965);
  }
});

test("a wait that is still open has its place at the end", () => {
  const { s } = asked();
  const rows = rowsOf(s), scale = scaleOf(rows, false), ask = rows.find((row) => row.kind === "ask");
  assert.equal(ask.end, "");
  const width = scale.total - scale.at(ask.start);
  assert.ok(width > 900 && width <= 2000, String(width)); // Events are from 2001; the run ended a second after it asked
});

test("a question that another answer settles has waited, one that comes after it has not", () => {
  const item = (seq, asked, answered, more) => ({ type: "question", seq, run: "r", depth: 0, tool: "mail", time: at(asked), answeredAt: at(answered), ...more });
  const items = [item(2, 0, 5000, { decision: { scope: "session" } }), item(3, 100, 6000, { unasked: true }), item(9, 7000, 7001, { unasked: true })];
  const top = { id: "r", seq: 1, parent: "", depth: 0, started: at(0), ended: "", pauses: [[at(200), at(5000)]] };
  const rows = rowsOf({ items, warnings: [], breaks: [], spans: [], status: "completed", runs: new Map([["r", top]]) }).filter((row) => row.kind === "ask");
  assert.deepEqual(rows.map((row) => [row.item.seq, row.from, row.end]), [[2, at(200), at(5000)], [3, at(200), at(5000)]]);
});

test("a gate is told once, before what it asks", () => {
  const e = new Events(), s = new Session();
  const take = (event) => s.take(event.kind === "input_requested" ? { ...event, body: { ...event.body, ask: { id: 1, kind: "gate" } } } : event);
  for (const event of [e.start("alex", "hi"), e.said("hi"), e.called(3, "gate", {}), e.asked(3, "gate", {}), e.finished("", "input_requested"), e.answered(3, "go on"), e.called(3, "gate", {}), e.returned(3, "gate", "")]) take(event);
  assert.deepEqual(labels(s), ["Asked for your decision", "Asked you"]);
  assert.equal(Date.parse(s.spans[0].end) - Date.parse(s.spans[0].start), 1000); // without the wait
  assert.equal(madeIn(s), 1);
});

test("a handover that was refused is told so in its row", () => {
  const e = new Events(), s = new Session();
  const refused = [e.start("alex", "hi"), e.called(3, "transfer_to_poet", {}), e.returned(3, "transfer_to_poet", "")];
  Object.assign(refused[2].body, { class: "invalid_arguments", error: "summary is missing" });
  for (const event of refused) s.take(event);
  assert.deepEqual(labels(s), ["Could not hand over to poet"]);
});

test("nobody was asked about a call that is allowed in the whole conversation", () => {
  const { s, e } = asked();
  const allowed = [e.answered(3, ""), e.called(3, "mail__send", {}), e.returned(3, "mail__send", "")];
  Object.assign(allowed[0].body, { answer: { approved: true }, hidden: true });
  for (const event of allowed) s.take(event);
  assert.deepEqual(labels(s), ["Used mail send"]);
  assert.equal(madeIn(s), 1);
});

test("a run that said nothing does not answer", () => {
  const ends = [{ status: "completed", stop: "answered" }, { status: "completed", stop: "empty" }, { status: "completed", stop: "handed_off" }, { status: "failed" }, { status: "cancelled" }, { status: "waiting" }, { status: "running" }];
  assert.deepEqual(ends.map(stands), [" answers", ": said nothing", " hands over", " failed", " was stopped", " waits for you", " works"]);
});

test("nothing is counted while the server cannot be reached", () => {
  const session = Object.assign(new Session(), { status: "running", last: "2026-01-01T00:00:00Z", unheard: "2026-01-01T00:00:04Z" });
  assert.equal(timesAt(session, "2026-01-01T00:01:00Z").worked, 4000);
  assert.equal(untilOf(session), "2026-01-01T00:00:04Z");
});

test("why a step failed is said in words, where there are some", () => {
  assert.equal(inShort({ code: "provider_down" }), "The provider has a problem");
  assert.equal(inShort({ code: "odd", problem: { sentence: "The disk is full." } }), "The disk is full.");
  assert.equal(inShort(undefined), "");
});

// A flow of which each event comes a second after the one before, but for those with a time of
// their own: [event, run within it, seconds].
function flowOf(make) {
  const e = new Events(), s = new Session();
  let now = 1e12;
  for (const [event, inner = "", after = 1] of make(e)) s.take({ ...event, ...(inner ? { run: inner, parent: "r1", agent: inner } : { run: "r1" }), ...(event.kind === "run_started" && { body: { ...event.body, depth: inner ? 1 : 0 } }), time: new Date((now += after * 1000)).toISOString() });
  return s;
}

test("a question and the session have waited for one time", () => {
  // The poet goes on for ten seconds while the writer asks: nobody can answer so long.
  const asks = (e) => [[e.start("both", "hi")], [e.said("hi"), "", 0], [e.start("writer", "hi"), "writer"], [e.start("poet", "hi"), "poet"], [e.called(3, "mail", {}), "writer"], [e.asked(3, "mail", {}), "writer"], [e.finished("", "input_requested"), "writer"]];
  const open = flowOf(asks);
  assert.equal(rowsOf(open).find((row) => row.kind === "ask").from, "");
  const waits = (e) => [...asks(e), [e.replied(2, "A poem."), "poet", 9], [e.finished("A poem."), "poet"], [e.finished("", "input_requested")]];
  const waiting = flowOf(waits), asked = rowsOf(waiting).find((row) => row.kind === "ask");
  assert.equal(asked.from, waiting.last);
  const over = flowOf((e) => [...waits(e), [e.answered(3, "yes"), "writer", 13]]), answered = rowsOf(over).find((row) => row.kind === "ask");
  assert.deepEqual([Date.parse(answered.end) - Date.parse(answered.from), over.waited], [13_000, 13_000]);
  assert.equal(Date.parse(answered.end) - Date.parse(answered.start), 25_000); // it is drawn from when it was asked
});

test("the time for which a process was dead has a row, and is not worked", () => {
  const begun = (e) => [[e.start("line", "hi")], [e.said("hi")], [e.start("writer", "hi"), "writer"]];
  const told = (s) => rowsOf(s).filter((row) => !row.span).map((row) => [row.kind, row.depth, row.kind === "break" ? Date.parse(row.end) - Date.parse(row.start) : row.run.agent + stands(row.run)]);
  const resumed = flowOf((e) => [...begun(e), [e.resumed(), "", 147], [e.replied(2, "Hi."), "writer"], [e.finished("Hi."), "writer"], [e.finished("Hi.")]]);
  assert.deepEqual(told(resumed), [["run", 0, "line answers"], ["run", 1, "writer answers"], ["break", 2, 147_000]]);
  assert.equal(workedOn(resumed.runs.get("writer")), 2000);
  // What was said next closed it, and all that was within it.
  const closed = flowOf((e) => [...begun(e), [e.abandoned(), "", 147]]);
  assert.deepEqual(told(closed), [["run", 0, "line was interrupted"], ["run", 1, "writer was interrupted"], ["break", 0, 147_000]]);
  // Somebody who goes on after a failure, or forks, was not interrupted.
  for (const went of [(e) => [[e.failed("gone")], [e.resumed(), "", 147]], (e) => [[{ ...e.resumed(), kind: "session_forked" }, "", 147]]]) assert.ok(!told(flowOf((e) => [...begun(e), ...went(e)])).some(([kind]) => kind === "break"));
});

test("of steps that waited side by side, the conversation, the flow and the run tell one time", () => {
  const s = new Session();
  let seq = 0, now = 1e12;
  const add = (after, run, kind, body = {}) => s.take({ seq: ++seq, time: new Date((now += after * 1000)).toISOString(), session: "s", run, parent: run === "both" ? "" : "both", step: kind === "model_replied" ? String(seq) : "2/0", agent: run, kind, body });
  const asks = { stop: "input_requested", output: { summary: "?" } }, done = { stop: "answered", output: { summary: "ok" } };
  const times = (run) => {
    const { started, ended } = s.items.findLast((item) => item.type === "answer" && item.run === run).exchange;
    return [Date.parse(ended) - Date.parse(started), workedOn(s.runs.get(run)), piecesOf(s.runs.get(run), s.runs.get(run).ended).reduce((sum, [from, to]) => sum + Date.parse(to) - Date.parse(from), 0)];
  };
  const says = (after, run, text) => add(after, run, "model_replied", { message: { text }, latency_ms: after * 1000, first_token_ms: after * 1000 });
  add(0, "both", "run_started", { definition: { kind: "parallel" } });
  add(0, "both", "user_said", { text: "go" });
  for (const run of ["a", "b", "c"]) add(0, run, "run_started", { depth: 1 });
  for (const run of ["a", "b", "c"]) {
    says(1, run, "I save it.");
    add(0, run, "tool_called", { tool: "write_file", call_id: "c" });
    add(0, run, "input_requested", { question: "May " + run + "?", tool: "write_file", ask: { id: seq + 1, kind: "approval" } });
    add(0, run, "run_finished", asks);
  }
  add(0, "both", "run_finished", asks);
  // a is answered, and b a second later while a is at work; b goes on after that. c waits on.
  add(600, "a", "user_said", { text: "yes", call_id: "c", answer: { approved: true } });
  for (const run of ["b", "c"]) add(0, run, "run_finished", asks);
  add(0, "a", "tool_called", { tool: "write_file", call_id: "c" });
  add(1, "b", "user_said", { text: "yes", call_id: "c", answer: { approved: true } });
  add(0, "a", "tool_returned", { tool: "write_file", content: "" });
  assert.equal(workedOn(s.runs.get("b"), new Date(now + 60_000).toISOString()), 2000); // also while it is not its turn
  says(29, "a", "Saved.");
  add(0, "a", "run_finished", done);
  add(0, "b", "tool_called", { tool: "write_file", call_id: "c" });
  add(1, "b", "tool_returned", { tool: "write_file", content: "" });
  says(4, "b", "Saved.");
  add(0, "b", "run_finished", done);
  add(0, "both", "run_finished", asks);
  assert.deepEqual(times("a"), [31_000, 31_000, 31_000]);
  assert.deepEqual(times("b"), [7000, 7000, 7000]);
  add(300, "c", "user_said", { text: "yes", call_id: "c", answer: { approved: true } });
  says(2, "c", "Saved.");
  add(0, "c", "run_finished", done);
  add(0, "both", "run_finished", done);
  assert.deepEqual(times("c"), [5000, 5000, 5000]);
});

test("the bar of a tool is as long as it took, and not as what is on record of it", () => {
  const at = (ms) => new Date(1e12 + ms).toISOString();
  const row = (ms, end = at(40)) => ({ kind: "tool", start: at(0), end, span: { ms } });
  assert.equal(drawnFrom(row(2)), at(38));
  assert.equal(drawnFrom(row(90)), at(0)); // never before it was begun
  assert.equal(drawnFrom(row(undefined)), at(0));
  assert.equal(drawnFrom(row(undefined, "")), at(0)); // it runs
});

test("an axis counts in numbers that people count in, and no call ends beyond it", () => {
  for (const [time, tick, total] of [[1, 1, 1], [49, 20, 60], [73, 20, 80], [68, 20, 80], [500, 200, 600], [2400, 600, 2400], [9000, 2500, 10_000], [61_000, 20_000, 80_000], [130_000, 45_000, 135_000], [3_700_000, 1_200_000, 4_800_000], [2e8, 86_400_000, 259_200_000]]) assert.deepEqual(axisOf(time), { tick, total }, `of ${time}`);
  for (let time = 1; time < 1e10; time *= 1.07) {
    const { tick, total } = axisOf(time);
    assert.ok(total >= time && total < time + tick && total <= 4 * tick, `of ${time}`);
  }
});

test("what filled the memory is shown of each model, with its own size", () => {
  const call = (seq, name, history, window) => ({ kind: "model", seq, name, context: { system: 10, tools: 5, history, window } });
  const spans = [call(1, "a/small", 85, 1000), { kind: "tool", seq: 2, name: "read_file" }, call(3, "b/large", 9985, 100_000), call(4, "a/small", 185, 1000), { kind: "model", seq: 5, name: "a/small" }];
  const shown = memoriesOf({ spans }).map((m) => [m.model, m.fullest, m.window, m.turns.map(([n, s]) => `${n}: ${s.seq}`)]);
  assert.deepEqual(shown, [["a/small", 200, 1000, ["1: 1", "3: 4"]], ["b/large", 10_000, 100_000, ["2: 3"]]]);
  assert.deepEqual(memoriesOf({ spans: spans.slice(1, 2) }), []);
  assert.equal(memoriesOf({ spans: [{ ...call(1, "a/small", 85), usage: { input_tokens: 117, output_tokens: 3 } }] })[0].fullest, 117, "as it was counted, where it was");
});
