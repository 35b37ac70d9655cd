import assert from "node:assert/strict";
import test from "node:test";
import { Session } from "../page/fold.js";
import { timesAt } from "../page/worked.js";
import { Events } from "./script.mjs";

const fold = (events) => events.reduce((s, e) => (s.take(e), s), new Session());
const brief = (s) => s.items.map((i) => [i.type, i.text ?? i.question ?? i.tool ?? i.path, i.state, i.streaming, i.cut].filter((x) => x !== undefined));

function talk() {
  const e = new Events();
  return [
    e.start("alex", "hi"), e.said("hi"), e.delta(2, "Hel"), e.delta(2, "lo"), e.replied(2, "Hello", [{ id: "c", name: "read_file" }]),
    e.called(3, "read_file", { file_path: "a.md" }), e.returned(3, "read_file", "text"),
    e.delta(4, "Do"), e.delta(4, "ne."), e.replied(4, "Done."), e.finished("Done."),
  ];
}

test("deltas grow an answer, and the reply completes it", () => {
  const events = talk();
  assert.deepEqual(brief(fold(events.slice(0, 4))).at(-1), ["answer", "Hello", true]);
  assert.deepEqual(brief(fold(events)), [["user", "hi"], ["answer", "Hello", false], ["tool", "read_file", "done"], ["answer", "Done.", false]]);
  assert.equal(fold(events).status, "completed");
});

test("what is stored alone gives the same conversation as what was streamed", () => {
  const events = talk();
  assert.deepEqual(brief(fold(events.filter((e) => e.seq))), brief(fold(events)));
});

test("wherever the connection breaks, nothing is lost and nothing doubled", () => {
  const events = talk();
  for (let cut = 0; cut <= events.length; cut++) {
    const s = fold(events.slice(0, cut));
    s.reconnected();
    // The server sends what follows the last stored event, and of an answer in the
    // making all that there is.
    const next = events.findLastIndex((e) => e.seq && e.seq <= s.seq) + 1;
    for (let at = next; at < events.length; at++) {
      s.take(events[at]);
      assert.deepEqual(brief(s), brief(fold(events.slice(0, at + 1))), `cut after ${cut}, then at ${at}`);
    }
  }
});

test("an event that was seen changes nothing, and one that is missing is noticed", () => {
  const events = talk();
  const s = fold(events);
  const before = JSON.stringify(brief(s));
  for (const e of events.filter((e) => e.seq)) s.take(e);
  assert.equal(JSON.stringify(brief(s)), before);
  assert.throws(() => s.take({ ...events[0], seq: s.seq + 2 }), /missing/);
});

test("what is shown of a reply that is on record changes nothing", () => {
  const events = talk();
  const s = fold(events.slice(0, 5));
  const before = JSON.stringify(brief(s));
  s.take(events[2]);
  assert.equal(JSON.stringify(brief(s)), before);
  for (const e of events.slice(5)) s.take(e);
  s.take(events[7]);
  assert.deepEqual(brief(s), brief(fold(events)));
});

test("another attempt replaces what the first has shown", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.delta(2, "Wrong"), e.delta(2, "Right", 2)]);
  assert.deepEqual(brief(s).at(-1), ["answer", "Right", true]);
});

test("a session whose process died stands as interrupted until something is stored", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.called(2, "read_file", {}), e.delta(3, "Ha")]);
  s.interrupt(2); // more is stored since: somebody works on it
  assert.equal(s.status, "running");
  const { worked } = timesAt(s);
  s.interrupt(3);
  s.interrupt(3);
  assert.deepEqual([s.status, s.runs.get("r1").status], ["interrupted", "interrupted"]);
  assert.deepEqual(brief(s).slice(1), [["tool", "read_file", "interrupted"], ["answer", "Ha", false, true]]);
  assert.ok(timesAt(s).worked < worked, "nobody works on it");
  for (const event of [e.resumed(), e.returned(2, "read_file", "text"), e.delta(3, "Half")]) s.take(event);
  assert.deepEqual([s.status, s.runs.get("r1").status], ["running", "running"]);
  assert.deepEqual(brief(s).slice(1), [["tool", "read_file", "done"], ["broken", "Ha", false, true], ["answer", "Half", true]]);
  for (const event of [e.replied(3, "Half of it."), e.finished("Half of it.")]) s.take(event);
  s.interrupt(s.seq);
  assert.equal(s.status, "completed");
});

test("what is said after a process died ends its run, and says that it died", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.delta(2, "Ha")]);
  s.interrupt(2);
  for (const event of [e.abandoned(), e.start("alex", "so"), e.said("so")]) s.take(event);
  assert.equal(s.status, "running");
  assert.deepEqual(brief(s), [["user", "hi"], ["answer", "Ha", false, true], ["trouble"], ["user", "so"]]);
  assert.match(s.items[2].context.reason, /^interrupted/);
});

test("the time for which its process was dead is none of an answer's", () => {
  // Each event comes a second after the one before, but for those with a time of their own.
  const timed = (make) => {
    const e = new Events();
    let now = 1e12;
    return fold(make(e).map(([event, after = 1]) => ({ ...event, time: new Date((now += after * 1000)).toISOString() })));
  };
  const took = ({ exchange: { started, ended } }) => ended && (Date.parse(ended) - Date.parse(started)) / 1000;
  const stops = (e) => ({ ...e.abandoned(), body: { reason: "the user stopped it" } });

  const early = timed((e) => [[e.start("alex", "hi")], [e.said("hi")], [e.resumed(), 147], [stops(e)]]); // dead before the first reply
  assert.deepEqual([took(early), early.worked], [2, 1000]);
  const later = timed((e) => [[e.start("alex", "hi")], [e.said("hi")], [e.replied(2, "", [{}])], [e.called(3, "read_file", {}), 5], [e.resumed(), 147], [e.returned(3, "read_file", "x"), 2], [e.replied(4, "Hi.")], [e.finished("Hi.")]]);
  assert.deepEqual([took(later), later.worked], [11, 10_000]);
  const failed = timed((e) => [[e.start("alex", "hi")], [e.said("hi")], [e.failed("gone"), 3], [e.resumed(), 147], [e.replied(2, "Hi."), 2], [e.finished("Hi.")]]);
  assert.deepEqual([took(failed), failed.worked], [7, 6000]);

  // What was said next has closed it: when it died is not on record.
  const left = timed((e) => [[e.start("alex", "hi")], [e.said("hi")], [e.replied(2, "", [{}]), 4], [e.called(3, "read_file", {})], [e.abandoned(), 147]]);
  assert.deepEqual([took(left), left.worked, left.runs.get("r1").ended], [5, 5000, new Date(1e12 + 7000).toISOString()]);
  assert.equal(took(timed((e) => [[e.start("alex", "hi")], [e.said("hi")], [e.abandoned(), 147]])), "");
});

test("what an answer of a step took has nothing of the time before it went on", () => {
  const timed = (make) => {
    const e = new Events();
    let now = 1e12;
    return fold(make(e).map(([event, after = 1, inner = false]) => ({ ...event, ...(inner ? { run: "r1:1", parent: "r1", agent: "mira" } : { run: "r1" }), time: new Date((now += after * 1000)).toISOString() })));
  };
  const took = (s) => {
    const { started, ended } = s.items.findLast((item) => item.type === "answer").exchange;
    return (Date.parse(ended) - Date.parse(started)) / 1000;
  };
  const begun = (e) => [[e.start("line", "hi")], [e.said("hi")], [e.start("mira", "hi"), 1, true]];
  const answered = (e) => [[e.replied(2, "Hi."), 2, true], [e.finished("Hi."), 1, true], [e.finished("Hi.")]];
  for (const [name, cut, want] of [
    ["its process died", (e) => [[e.resumed(), 147]], 3],
    ["it failed", (e) => [[e.failed("gone"), 4, true], [e.failed("gone"), 0], [e.resumed(), 147]], 7],
    ["it failed twice", (e) => [[e.failed("gone"), 4, true], [e.failed("gone"), 0], [e.resumed(), 147], [e.failed("gone"), 2, true], [e.failed("gone"), 0], [e.resumed(), 300]], 9],
    ["it was forked", (e) => [[{ ...e.resumed(), kind: "session_forked" }, 147], [e.resumed(), 0]], 3],
  ]) assert.equal(took(timed((e) => [...begun(e), ...cut(e), ...answered(e)])), want, name);
});

test("the last of a team that handed over as often as it may is stopped by that", () => {
  const e = new Events();
  const below = (event, run) => ({ ...event, run, parent: "r1", agent: run });
  const s = fold([e.start("desk", "hi"), e.said("hi"), below(e.start("a", "hi"), "a"), below(e.finished("", "handed_off"), "a"), below(e.start("b", "hi"), "b"), below(e.finished("(x)", "repeated_calls"), "b"), { ...e.finished("(x)", "handoffs"), run: "r1" }]);
  assert.deepEqual([...s.runs.values()].map((run) => run.stop), ["handoffs", "handed_off", "handoffs"]);
  assert.equal(s.items.at(-1).context.by, "b");
});

test("an answer that breaks off stays, and is folded once it is asked for anew", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.delta(2, "Half"), e.failed("gone", "Half")]);
  assert.deepEqual(brief(s), [["user", "hi"], ["answer", "Half", false, true], ["trouble"]]);
  assert.deepEqual([s.items.at(-1).context.detail, s.items.at(-1).context.half], ["gone", true]);
  assert.equal(s.status, "failed");
  for (const event of [e.resumed(), e.delta(2, "Whole"), e.replied(2, "Whole"), e.finished("Whole")]) s.take(event);
  assert.deepEqual(brief(s).slice(1), [["broken", "Half", false, true], ["answer", "Whole", false]]); // and the trouble is over
  assert.equal(s.status, "completed");
});

test("what a step of a flow said before it broke off is there once", () => {
  const e = new Events();
  const below = (event) => ({ ...event, run: "r1:1", parent: "r1", agent: "mira" });
  const s = fold([e.start("round", "hi"), e.said("hi"), below(e.start("mira", "hi")), below(e.delta(2, "Half")), below(e.failed("gone", "Half")), { ...e.failed("gone", "Half"), run: "r1" }]);
  assert.deepEqual(brief(s), [["user", "hi"], ["answer", "Half", false, true], ["trouble"]]);
});

test("a call waits for approval, and is made once it is answered", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.replied(2, "", [{ id: "c", name: "mail" }]), e.called(3, "mail", { to: "bob" }), e.asked(3, "mail", { to: "bob" }), e.finished("", "input_requested")]);
  assert.equal(s.status, "waiting");
  assert.deepEqual(s.questions[0].arguments, { to: "bob" });
  assert.equal(s.items.find((i) => i.type === "tool").state, "waiting");
  for (const event of [e.answered(3, "yes"), e.called(3, "mail", { to: "bob" }), e.returned(3, "mail", "sent")]) s.take(event);
  assert.equal(s.questions.length, 0);
  assert.deepEqual(s.items.filter((i) => i.type === "tool").map((i) => i.state), ["done"]);
  assert.equal(s.status, "running");
});

test("a message is sent again from before the run that it began", () => {
  const e = new Events();
  const s = fold([e.start("alex", "one"), e.said("one"), e.replied(2, "1"), e.finished("1"), e.start("alex", "two"), e.said("two")]);
  assert.deepEqual(s.items.filter((i) => i.type === "user").map((i) => i.after), [0, 4]);
});

test("what a flow hands back is shown where no agent has said it", () => {
  const e = new Events();
  const s = fold([e.start("round", "go"), e.said("go"), e.finished("all done")]);
  assert.deepEqual(brief(s).at(-1), ["answer", "all done", false]);
});

test("an answer that comes in pieces is shown once", () => {
  const e = new Events();
  const events = [e.start("alex", "count"), e.said("count"), e.replied(2, "One, two, "), e.warned("cut_off"), e.replied(3, "three."), e.finished("One, two, three.")];
  assert.deepEqual(brief(fold(events)), [["user", "count"], ["answer", "One, two, ", false], ["answer", "three.", false]]);
});

test("a model is named with its provider, where the log says whose it is", () => {
  for (const [body, want] of [[{ model: "m" }, "m"], [{ model: "m", provider: "local" }, "local/m"], [{ provider: "local" }, ""]]) {
    const e = new Events(), events = [e.start("alex", "hi"), e.said("hi"), e.replied(2, "Hello")];
    Object.assign(events[2].body, body);
    const s = fold(events);
    assert.deepEqual([s.model, s.exchange.model, s.spans[0].name], [want, want, want || "model"]);
  }
});

test("what came to nothing is paid for", () => {
  const e = new Events();
  const paid = fold([e.start("alex", "hi"), { ...e.warned("x"), kind: "model_failed", body: { attempt: 1, error: "withheld", usage: { input_tokens: 7, output_tokens: 3 }, cost: 0.5 } }]);
  assert.deepEqual([paid.totals.input, paid.totals.output, paid.totals.cost, paid.exchange.tokens], [7, 3, 0.5, 10]);
});

test("a series of tries is one line, which the outcome replaces", () => {
  const e = new Events();
  const retry = (attempt) => ({ ...e.warned("x"), kind: "model_failed", step: "2", body: { attempt, error: "x", retry_in_ms: 1000, cause: { code: "rate_limited", attempt, retry_ms: 1000 } } });
  const s = fold([e.start("alex", "hi"), e.said("hi"), retry(1), retry(2), retry(3)]);
  assert.deepEqual(s.items.filter((i) => i.type === "retry").map((i) => [i.code, i.attempt]), [["rate_limited", 3]]);
  for (const event of [e.resumed(), retry(6)]) s.take(event); // somebody had it tried at once
  assert.equal(s.items.find((i) => i.type === "retry").attempt, 1);
  s.take(e.replied(2, "Hello"));
  assert.deepEqual(brief(s), [["user", "hi"], ["answer", "Hello", false]]);
});

test("what failed for good says how often it was tried", () => {
  const e = new Events();
  const failed = (attempt) => ({ ...e.warned("x"), kind: "model_failed", step: "2", body: { attempt, error: "x", cause: { code: "answer_cut" }, provider: "openai", model: "gpt" } });
  const tries = (s) => s.items.findLast((i) => i.type === "trouble").context.tries;
  const s = fold([e.start("alex", "hi"), e.said("hi"), failed(1), failed(2), failed(3), failed(4), e.failed("gone")]);
  assert.equal(tries(s), 4);
  assert.equal(s.items.findLast((i) => i.type === "trouble").context.model, "openai/gpt"); // whoever is asked next
  const other = new Events(), begin = other.start("alex", "hi"), limited = { ...other.warned("x"), kind: "model_failed", step: "2", body: { attempt: 1, error: "x" } };
  const told = fold([begin, { ...limited, body: { ...limited.body, retry_after_ms: 3_600_000 } }, other.failed("gone")]);
  assert.equal(told.items.findLast((i) => i.type === "trouble").context.until, Date.parse(limited.time) + 3_600_000); // when the provider wants to be asked again
  for (const event of [e.resumed(), failed(6), failed(7), e.failed("gone")]) s.take(event);
  assert.equal(tries(s), 2);
  assert.equal(tries(fold([e.start("alex", "hi")].map((event) => ({ ...event, seq: 1 })).concat({ ...e.failed("gone"), seq: 2 }))), 0);
});

test("what is shown of a reply before its run is known is put where it belongs with the reply", () => {
  const e = new Events();
  const within = (event, run, parent, kind) => ({ ...event, run, parent, agent: "planner", body: { ...event.body, ...(kind && { definition: { kind } }) } });
  const s = fold([e.start("deliver", "hi"), e.said("hi")]);
  s.take(within(e.delta(2, '{"phase"'), "r1:2:1", "r1:2"));
  s.take({ ...within(e.start("planning", "hi"), "r1:2", "r1", "phase"), agent: "planning" });
  s.take(within(e.start("planner", "hi"), "r1:2:1", "r1:2"));
  s.take(within(e.replied(2, '{"phase":"planning"}'), "r1:2:1", "r1:2"));
  assert.deepEqual(s.items.filter((i) => i.type === "answer").map((i) => [i.phase, i.exchange === s.exchange]), [["planning", false]]);
});

test("what models are told is not shown to people", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.warned("repeated_call"), e.warned("arguments_mended")]);
  assert.deepEqual(brief(s), [["user", "hi"]]);
  assert.equal(s.warnings.length, 2);
});

test("saving a file again is another version", () => {
  const e = new Events();
  const saved = () => ({ ...e.warned("x"), kind: "artifact_saved", body: { path: "{session-folder}/a.md", size: 3 } });
  const s = fold([e.start("alex", "hi"), e.said("hi"), saved(), saved()]);
  assert.deepEqual(s.items.filter((i) => i.type === "file").map((i) => [i.path, i.number]), [["a.md", 1], ["a.md", 2]]);
});

test("tokens, cost and time are summed up", () => {
  const s = fold(talk());
  assert.deepEqual([s.totals.turns, s.totals.input, s.totals.output], [2, 20, 4]);
  assert.deepEqual(s.spans.map((span) => span.kind), ["model", "tool", "model"]);
});

test("what the engine says for a model that says nothing is no answer of it", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.finished("(The model gave an empty answer.)", "empty")]);
  assert.deepEqual(brief(s), [["user", "hi"], ["trouble"]]);
});

test("who goes on from an answer goes on from a run that is over", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.replied(2, "Hello"), e.finished("Hello"), e.start("alex", "and"), e.said("and"), e.replied(2, "So")]);
  const ends = s.items.filter((i) => i.type === "answer").map((i) => [i.text, i.end > i.seq, i.end]);
  assert.deepEqual(ends, [["Hello", true, 4], ["So", false, undefined]]);
});

// approval is a session in which a call was asked about, and what was answered to it.
function approval(answer, outcome = {}) {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.replied(2, "I will mail this.", [{ id: "c", name: "mail" }]), e.called(3, "mail", { to: "bob" }), e.asked(3, "mail", { to: "bob" }), e.finished("", "input_requested")]);
  if (!answer) return s;
  const said = e.answered(3, answer.text), returned = [e.called(3, "mail", { to: "bob" }), e.returned(3, "mail", "sent")];
  Object.assign(said.body, answer);
  Object.assign(returned[1].body, outcome);
  for (const event of [said, ...returned, e.replied(4, "Done."), e.finished("Done.")]) s.take(event);
  return s;
}

test("a call that was asked about is one", () => {
  for (const s of [approval(), approval({ text: "yes", answer: { approved: true } }), approval({ text: "no", answer: { denied: true } }, { class: "unauthorized" })]) {
    assert.equal(s.spans.filter((span) => span.kind === "tool").length, 1);
  }
});

test("what is said in place of a decision begins a turn with figures of its own", () => {
  const s = approval({ text: "No, to Dora" }, { class: "unauthorized" });
  const [first, second] = s.items.filter((item) => item.type === "answer").map((item) => item.exchange);
  assert.deepEqual([first.tokens, second.tokens], [12, 12]);
  assert.deepEqual([first, second].map((taken) => Date.parse(taken.ended) - Date.parse(taken.started)), [5000, 4000]);
  // A decision says nothing: what comes after it is the same turn.
  const decided = approval({ text: "no", answer: { denied: true } }, { class: "unauthorized" });
  assert.deepEqual(decided.items.filter((item) => item.type === "answer").map((item) => item.exchange.tokens), [24, 24]);
});

test("what was done side by side is said once, and who failed is said without the error", () => {
  const e = new Events(), cause = { code: "provider_down", problem: { sentence: "The service has a problem." } };
  const within = (event, run, agent, parent = "r1") => ({ ...event, run, agent, parent });
  const start = e.start("both", "go");
  start.body.definition = { kind: "parallel" };
  const failed = within(e.failed("agent poet: model: 400 server_error"), "p", "poet");
  failed.body.cause = cause;
  const begins = ["w", "p"].map((run) => within({ ...e.warned("x"), kind: "run_started", body: { input: {}, depth: 1, definition: { kind: "agent" } } }, run, run === "w" ? "writer" : "poet"));
  const events = [start, within(e.replied(2, "Prose."), "w", "writer"), within(e.finished("Prose."), "w", "writer"), failed, e.finished("## writer\n\nProse.\n\n## poet\n\n(failed: agent poet: model: 400 server_error)")];
  events.splice(1, 0, ...begins);
  const s = fold(events.map((event, i) => ({ ...event, seq: i + 1 })));
  assert.deepEqual(s.items.map((i) => [i.type, i.agent, i.text ?? i.cause]), [["answer", "writer", "Prose."], ["note", "poet", cause]]);
  assert.equal(s.items[0].end, 7);
});

// nested are events of two runs within a flow's that ask at the same time.
function bothAsk() {
  const e = new Events();
  const of = (run, event) => ({ ...event, run, ...(run === "r1" ? {} : { parent: "r1", agent: run }) });
  const events = [e.start("both", "go")];
  for (const run of ["a", "b"]) events.push(of(run, e.start(run, "go")));
  for (const run of ["a", "b"]) events.push(of(run, e.called(3, "save_output", { file_path: run })), of(run, e.asked(3, "save_output", { file_path: run })), of(run, e.finished("", "input_requested")));
  return { e, of, events: [...events, of("r1", e.finished("", "input_requested"))] };
}

test("an answer closes the question of its own run, and others wait on", () => {
  for (const [first, second] of ["ab", "ba"]) {
    const { e, of, events } = bothAsk();
    const s = fold(events.map((event, i) => (i === 0 ? { ...event, run: "r1" } : event)));
    assert.deepEqual(s.questions.map((q) => q.run), ["a", "b"]);
    for (const event of [of(first, { ...e.answered(3, "yes"), body: { text: "yes", call_id: "c", answer: { approved: true } } }), of(first, e.returned(3, "save_output", "saved")), of(first, e.finished("done")), of("r1", e.finished("", "input_requested"))]) s.take(event);
    assert.deepEqual(s.questions.map((q) => q.run), [second]);
    const tools = Object.fromEntries(s.items.filter((i) => i.type === "tool").map((i) => [i.run, i.state]));
    assert.deepEqual(tools, { [first]: "done", [second]: "waiting" });
  }
});

test("an answer closes the question of its own call, and another of the same turn waits on", () => {
  for (const [first, second] of [[3, 4], [4, 3]]) {
    const e = new Events();
    const s = fold([e.start("alex", "hi"), e.said("hi"), ...[3, 4].map((step) => e.called(step, "save_output", { file_path: "a" })), ...[3, 4].map((step) => e.asked(step, "save_output", { file_path: "a" })), e.finished("", "input_requested")]);
    assert.equal(s.questions.length, 2);
    s.take({ ...e.answered(first, "yes"), body: { text: "yes", call_id: "c", answer: { approved: true } } });
    assert.deepEqual(s.questions.map((q) => q.at), [String(second)]);
    assert.deepEqual(s.items.filter((i) => i.step), []); // which is that of a plan
    assert.deepEqual(s.items.filter((i) => i.type === "tool").map((i) => i.state), first === 3 ? ["answered", "waiting"] : ["waiting", "answered"]);
  }
});

test("a call at which somebody has stopped was not made, whatever is said next", () => {
  const e = new Events();
  const s = fold([e.start("alex", "hi"), e.said("hi"), e.called(3, "save_output", { file_path: "a" }), e.asked(3, "save_output", { file_path: "a" }), e.finished("", "input_requested"), e.abandoned()]);
  for (const event of [e.start("alex", "on"), e.said("on")]) s.take(event);
  assert.equal(s.items.find((i) => i.type === "tool").state, "waiting");
});

test("what a step asks that was stopped there is asked again while others go on", () => {
  const event = (seq, run, kind, body = {}) => ({ seq, time: new Date(1e12 + seq).toISOString(), run, parent: run === "r" ? "" : "r", agent: run, step: "2", kind, body: { depth: 1, ...body } });
  const asks = { question: "May I?", call_id: "c", tool: "mail", approval: true, ask: { id: 6, kind: "approval" } };
  const s = fold([
    event(1, "r", "run_started"), event(2, "r", "user_said", { text: "Both" }), event(3, "writer", "run_started"), event(4, "poet", "run_started"), event(5, "writer", "tool_called", { call_id: "c", tool: "mail" }),
    event(6, "writer", "input_requested", asks), event(7, "writer", "run_finished", { stop: "input_requested" }), event(8, "r", "run_cancelled"),
  ]);
  assert.deepEqual(s.questions.map((q) => q.run), []);
  for (const e of [event(9, "r", "run_resumed"), event(10, "writer", "run_finished", { stop: "input_requested" })]) s.take(e);
  assert.deepEqual(s.questions.map((q) => [q.run, q.open, q.left]), [["writer", true, false]]);
  assert.equal(s.status, "running"); // the poet's work
});

test("answers that are given at the same time stand in one order, followed or loaded", () => {
  const at = (ms) => new Date(1e12 + ms).toISOString();
  const event = (seq, ms, run, kind, body) => ({ seq, time: at(ms), run, parent: run === "r" ? "" : "r", agent: run, step: "2", kind, body: { depth: 1, ...body } });
  const replied = (text, latency_ms) => ({ message: { text }, usage: {}, latency_ms, first_token_ms: 40 });
  const events = [
    event(1, 0, "r", "run_started"), event(2, 0, "r", "user_said", { text: "Both" }), event(3, 60, "writer", "run_started"), event(4, 60, "poet", "run_started"),
    event(0, 100, "writer", "text_delta", { text: "Lo", attempt: 1 }), event(0, 200, "poet", "text_delta", { text: "Short", attempt: 1 }),
    event(5, 300, "poet", "model_replied", replied("Short.", 140)), event(6, 900, "writer", "model_replied", replied("Long.", 840)),
  ];
  const order = (list) => fold(list).items.map((i) => [i.text, i.time]);
  assert.deepEqual(order(events), [["Both", at(0)], ["Long.", at(100)], ["Short.", at(200)]]);
  assert.deepEqual(order(events.filter((e) => e.seq)), order(events));
});

test("what is saved in a directory of its agent's is a file where the server can open it", () => {
  const e = new Events();
  const saved = (path, version) => ({ ...e.warned("x"), kind: "artifact_saved", body: { path, size: 3, version } });
  const s = fold([e.start("alex", "hi"), e.said("hi"), saved("{docs}/a.md"), saved("{docs}/e.md", 1), saved("{project-root}/b.md"), saved("{session-folder}/c.md", 1), saved("{output}/d.md", 1)]);
  assert.deepEqual([...s.files.keys()], ["{docs}/e.md", "/b.md", "c.md", "{output}/d.md"]); // which is a delivery's
  assert.deepEqual(brief(s).slice(1), [["file", "{docs}/e.md"], ["file", "/b.md"], ["file", "c.md"], ["file", "{output}/d.md"]]);
});

test("how full the memory is comes from the tokens that were counted, and else from what is estimated", () => {
  const context = { system: 10, tools: 20, history: 30, window: 1000 };
  const replied = (usage, e = new Events()) => fold([e.start("alex", "hi"), { ...e.warned("x"), kind: "model_replied", body: { message: { text: "Hello." }, usage, context } }]).context.used;
  assert.equal(replied({ input_tokens: 77, output_tokens: 3 }), 77);
  assert.equal(replied({}), 60);
});

test("an answer that was cut off is gone on from after the last event that is on record", async () => {
  const asked = [];
  globalThis.fetch = async (_, { body }) => (asked.push(JSON.parse(body).after), Response.json({ session: "s" }));
  const { fork } = await import("../page/fork.js");
  for (const seq of [0, undefined, 9, 2]) await fork("a", { session: { seq: 3 } }, seq).catch(() => {});
  assert.deepEqual(asked, [3, 3, 3, 2]);
});
