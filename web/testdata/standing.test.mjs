import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { historyOf, howOf, phasesOf, standingOf, states, timesOf, wishedFor } = await import("../page/standing.js");
const { asText, withId, partsOf } = await import("../page/phase.js");
const { did, isVain } = await import("../page/words.js");
const { leftOut, measuredOf, withHeads } = await import("../page/site.js");
const { Session } = await import("../page/fold.js");
const { turnsOf } = await import("../page/turns.js");

const at = (seconds) => new Date(1e12 + seconds * 1000).toISOString();

// A log is a delivery's events: add(seconds since the one before, run, parent, kind, body).
function log() {
  const s = new Session();
  let seq = 0, time = 0;
  const add = (seconds, run, parent, kind, body = {}, agent = run.split("#")[0]) => s.take({ seq: ++seq, time: at((time += seconds)), session: "s", run, parent, step: String(seq), agent, kind, body });
  const begin = (root, custom) => add(0, root, "", "run_started", { definition: { kind: "delivery" }, input: { task: "Do it", custom } }, "deliver");
  const phase = (root, run, seconds, result) => {
    add(0, run, root, "run_started", { depth: 1, definition: { kind: "phase" } });
    add(seconds, run, root, "run_finished", { output: { key_outputs: { result } } });
  };
  return { s, add, begin, phase };
}

const gate = (arguments_, id) => ({ question: "Well?", tool: "gate", call_id: "c", arguments: arguments_, ask: { id, kind: "gate" } });
const standing = (s, name, ...more) => standingOf(phasesOf(s, ...more).find((p) => p.name === name));

test("another round of a phase adds to its time, and what was worked and waited is said apart", () => {
  const { s, add, begin, phase } = log();
  begin("d");
  phase("d", "planning#1", 7, { status: "failed" });
  add(0, "d", "", "input_requested", gate({ phase: "planning" }, 1), "deliver");
  add(0, "d", "", "run_finished", { stop: "input_requested", output: {} }, "deliver");
  const asked = phasesOf(s).find((p) => p.name === "planning");
  assert.equal(standingOf(asked, true), "waits for you, worked 7.0 s");
  add(60, "d", "", "user_said", { text: "Shorter, please", call_id: "c" }, "deliver");
  phase("d", "planning#2", 2, { status: "success" });
  assert.equal(standing(s, "planning"), "done, worked 9.0 s, 2 rounds");
});

test("a phase that is done says what came of it, and no time that is none", () => {
  const { s, begin, phase } = log();
  begin("d");
  phase("d", "requirements#1", 0.043, { status: "success", outputs: { user_stories: ["a", "b"] } });
  phase("d", "architecture#1", 180, { status: "success", outputs: { decisions: [{ decision: "a" }] } });
  phase("d", "discovery#1", 60, { status: "success", outputs: { relevant_files: [] } });
  phase("d", "planning#1", 2, { status: "failed", outputs: { steps: ["a"] } });
  assert.deepEqual(["requirements", "architecture", "discovery", "planning", "qa"].map((name) => standing(s, name, "interrupted")), ["done, 2 stories", "done, 1 decision, worked 3 min 0 s", "done, worked 1 min 0 s", "failed, worked 2.0 s", "to come"]);
  assert.equal(standingOf(phasesOf(s)[0], true), "waits for you");
});

test("discovery has as many files as are there", () => {
  for (const [files, missing, want] of [[["a.go", "gone.go"], 1, "1 file that matters"], [["a.go", "b.go"], 0, "2 files that matter"], [{ path: "a.go" }, 0, "1 file that matters"], [["gone.go"], 1, ""], [undefined, 0, ""]]) {
    const { s, begin, phase } = log();
    begin("d");
    phase("d", "discovery#1", 0, { status: "success", outputs: { relevant_files: files }, warnings: [...Array(missing).fill("file_missing: discovery names gone.go, and there is no such file"), "json_repaired: a comma"] });
    assert.equal(standing(s, "discovery"), ["done", want].filter(Boolean).join(", "));
  }
});

test("changes that are left out are counted", () => {
  assert.deepEqual([undefined, 0, 1, 2].map(leftOut), ["", "", "1 file that was changed and not committed is not in it.", "2 files that were changed and not committed are not in it."]);
});

test("planning has as many steps as the plan has by now", () => {
  const { s, begin, phase } = log();
  begin("d");
  phase("d", "planning#1", 2, { status: "success", outputs: { steps: [{ id: "1" }, { id: "2" }] } });
  const [planning] = phasesOf(s).filter((p) => p.name === "planning"), plan = (n) => ({ steps: Array.from({ length: n }, (_, i) => ({ id: String(i) })) });
  assert.equal(standingOf(planning), "done, 2 steps, worked 2.0 s");
  assert.equal(standingOf(planning, false, plan(4)), "done, 4 steps, worked 2.0 s");
  assert.equal(standingOf(planning, false, plan(1)), "done, 1 step, worked 2.0 s");
  assert.equal(standingOf(planning, true, plan(4)), "waits for you, worked 2.0 s");
  assert.equal(standingOf({ ...planning, state: "running" }, false, plan(4)), "working, worked 2.0 s");
});

test("a phase that failed is not called partly done anywhere, and is worked on while it is", () => {
  const { s, begin, add, phase } = log();
  begin("d");
  phase("d", "implementation#1", 3, { status: "failed" });
  add(0, "d", "", "run_finished", { output: {} }, "deliver");
  assert.equal(standing(s, "implementation"), "failed, worked 3.0 s");
  assert.deepEqual(historyOf(s).map((e) => e.text), ["Implementation failed", "Implementation began"]);
  begin("e", { extras: { continue: true, guidance: "Write it in Go" } });
  assert.equal(standing(s, "implementation"), "working, worked 3.0 s");
  assert.equal(standing(s, "implementation", "interrupted"), "failed, worked 3.0 s");
  phase("e", "implementation#2", 1, { status: "success" });
  assert.equal(standing(s, "implementation"), "done, worked 4.0 s, 2 rounds");
  assert.deepEqual(historyOf(s).map((e) => e.text).slice(0, 3), ["Implementation is done", "Implementation began", "You had it go on: Write it in Go"]);
});

test("a phase whose process died is not worked on", () => {
  const { s, begin, add } = log();
  begin("d");
  add(1, "d/1", "d", "run_started", { depth: 1, input: {} }, "implementation");
  assert.match(standing(s, "implementation"), /^working/);
  s.interrupt(s.seq);
  assert.match(standing(s, "implementation"), /^stopped/);
  assert.equal(timesOf(s, phasesOf(s), "2999-01-01T00:00:00Z"), timesOf(s, phasesOf(s)));
});

test("what a phase took whose process died is its own", () => {
  const { s, add, begin, phase } = log();
  begin("d");
  add(2, "d", "", "tool_called", { tool: "open_worktree" }, "deliver");
  phase("d", "planning#1", 3, { status: "success" });
  add(0, "implementation#1", "d", "run_started", { depth: 1, definition: { kind: "phase" } });
  add(20, "implementation#1", "d", "tool_called", { tool: "apply_changes" });
  const times = () => timesOf(s, phasesOf(s));
  s.interrupt(s.seq);
  assert.equal(standing(s, "implementation"), "stopped, worked 20.0 s");
  assert.equal(times(), "worked 25.0 s (2.0 s of it on checks and between the phases)");
  add(500, "d", "", "run_resumed", {}, "deliver");
  assert.equal(standing(s, "implementation"), "working");
  add(10, "implementation#1", "d", "tool_called", { tool: "apply_changes" });
  s.interrupt(s.seq); // once more
  assert.equal(times(), "worked 35.0 s (2.0 s of it on checks and between the phases)");
  add(500, "d", "", "run_resumed", {}, "deliver");
  add(4, "implementation#1", "d", "run_finished", { output: { key_outputs: { result: { status: "success" } } } });
  add(1, "d", "", "run_finished", { output: {} }, "deliver");
  assert.equal(standing(s, "implementation"), "done, worked 34.0 s");
  assert.equal(times(), "worked 40.0 s (3.0 s of it on checks and between the phases)");
});

test("a review that found something is not done", () => {
  const run = (review, status = "success") => ({ status: "completed", output: { key_outputs: { result: { status, review } } } });
  assert.equal(howOf(run({ findings: [{ severity: "major" }] })), "wants");
  assert.equal(howOf(run({ criteria: [{ state: "not_met" }] })), "wants");
  assert.equal(howOf(run({ findings: [{ severity: "minor" }, { severity: "blocker", fell: true }], criteria: [{ state: "met" }] })), "done");
  assert.equal(howOf(run(undefined, "partial")), "partly");
  for (const state of ["idle", "running", "waiting", "done", "partly", "wants", "failed", "stopped"]) assert.equal(states[state].length, 4);
});

test("each answer in a delivery shows what it took itself", () => {
  const { s, add, begin } = log();
  const reply = (run, parent, seconds, tokens) => {
    add(0, run, parent, "run_started", { depth: 2 }, "planner-agent");
    add(seconds, run, parent, "model_replied", { message: { text: "{}" }, usage: { input_tokens: tokens, output_tokens: 1 }, cost: 1 }, "planner-agent");
    add(0, run, parent, "run_finished", { output: {} }, "planner-agent");
  };
  begin("d");
  add(0, "p", "d", "run_started", { depth: 1, definition: { kind: "phase" } });
  reply("p:1", "p", 3, 9);
  reply("p:2", "p", 4, 19); // asked once more: the same turn
  add(0, "p", "d", "tool_called", { tool: "write_artifact", arguments: {} });
  reply("p:3", "p", 5, 99);
  const took = turnsOf(s.items).map((turn) => turn.items.at(-1)).filter((item) => item.type === "answer").map(({ exchange: x }) => [x.tokens, x.cost, Date.parse(x.ended) - Date.parse(x.started)]);
  assert.deepEqual(took, [[30, 2, 7000], [100, 1, 5000]]);
  assert.deepEqual([s.exchange.tokens, s.exchange.cost], [130, 3]);
});

test("what an answer of several parts took is said once, below the last that says something", () => {
  const { s, add } = log();
  const says = (run, parent, depth, text) => (add(0, run, parent, "run_started", { depth }, run), add(1, run, parent, "model_replied", { message: { text }, usage: { input_tokens: 5 } }, run));
  says("lead", "", 0, "I ask the poet.");
  says("poet", "lead", 1, "A verse.");
  add(1, "lead", "", "model_replied", { message: { text: "Here it is." }, usage: { input_tokens: 5 } }, "lead");
  says("critic", "lead", 1, "It will do.");
  add(0, "lead", "", "tool_called", { tool: "write_file", arguments: {} }, "lead");
  assert.deepEqual(turnsOf(s.items).map((turn) => [turn.agent, turn.exchange?.tokens]), [["lead", undefined], ["poet", 5], ["lead", 20], ["critic", 5], ["lead", undefined]]);
});

test("steps of one agent have turns and figures of their own, and what is handed over goes to one of them", () => {
  const { s, add } = log();
  const says = (run, node) => (add(0, run, "line", "run_started", { depth: 1, node }, "asker"), add(1, run, "line", "model_replied", { message: { text: run }, usage: { input_tokens: 5 } }, "asker"));
  add(0, "line", "", "run_started", {}, "line");
  says("a", "n1");
  says("b", "n2");
  add(0, "line", "", "handed_off", { from: "asker", to: "asker" }, "line");
  says("c", "n3");
  says("d", "n1");
  assert.deepEqual(turnsOf(s.items).map((turn) => [turn.agent, turn.node, turn.exchange?.tokens]), [["asker", "n1", 5], ["asker", "n2", 5], ["line", "", undefined], ["asker", "n3", 5], ["asker", "n1", 5]]);
  assert.equal(s.items.find((item) => item.type === "handoff").at, "n3");
});

test("what a person takes to answer is no time of the answer", () => {
  // A decision goes on with the turn; what is written is said, and begins another one.
  for (const [said, want] of [[{ answer: { approved: true } }, 5000], [{}, 3000]]) {
    const { s, add } = log();
    add(0, "r", "", "run_started", {});
    add(2, "r", "", "model_replied", { message: { text: "May I?" } });
    add(0, "r", "", "input_requested", { question: "May I?", ask: { id: 1, kind: "approval" } });
    add(0, "r", "", "run_finished", { stop: "input_requested", output: {} });
    add(600, "r", "", "user_said", { text: "yes", call_id: "c", ...said });
    add(3, "r", "", "model_replied", { message: { text: "Done." } });
    assert.equal(Date.parse(s.exchange.ended) - Date.parse(s.exchange.started), want);
  }
});

test("of an answer that is not used it is said, whatever its form and the reason", () => {
  for (const code of ["json_correction", "reply_cut", "reply_missing", "answer_unused"]) {
    const { s, add, begin } = log();
    begin("d");
    add(0, "p", "d", "run_started", { depth: 1, definition: { kind: "phase" } });
    add(0, "p:1", "p", "run_started", { depth: 2 }, "planner-agent");
    add(1, "p:1", "p", "model_replied", { message: { text: "Which one?" } }, "planner-agent");
    add(0, "p", "d", "warned", { code, message: "it is asked for again" });
    assert.equal(s.items.find((item) => item.type === "answer").refused, "it is asked for again", code);
  }
});

test("an id is shown once, however it is written", () => {
  assert.equal(withId("AC1", "AC-1: it is good"), "AC1: it is good");
  assert.equal(withId("AC-2", "ac 2 – it stays"), "AC-2: it stays");
  assert.equal(withId("AC1", "AC12: another"), "AC1: AC12: another");
  assert.equal(withId("", "as it is"), "as it is");
  assert.deepEqual(partsOf("requirements", { outputs: { user_stories: [{ id: "US-1", as: "a person", i_want: "a greeting", so_that: "I hear it" }] } })[0].lines, ["US-1: As a person I want a greeting, so that I hear it"]);
});

test("what is copied of a phase is what is shown", () => {
  const text = JSON.stringify({ status: "success", phase: "requirements", outputs: { user_stories: ["One", "Two"], constraints: ["No new dependencies"] } });
  assert.equal(asText({ phase: "requirements", text }), "User stories\n- One\n- Two\n\nWhat constrains it\nNo new dependencies");
  assert.equal(asText({ phase: "requirements", text: "Which one?" }), "Which one?");
});

test("changes that were not made are not ticked, and say why", () => {
  const none = { tool: "apply_changes", content: JSON.stringify({ problems: [{ path: "a.js", message: "read it first", plain: "it was about to be replaced without having been read whole" }] }) };
  assert.ok(isVain(none) && isVain({ tool: "x", state: "failed" }) && !isVain({ tool: "apply_changes", content: '{"files":[{}]}' }));
  assert.deepEqual(did([none]), ["Changed nothing, because not everything fitted: a.js: it was about to be replaced without having been read whole"]);
});

test("a gate says what was asked for at the one before", () => {
  const gate = (seq, phase, answer) => ({ type: "question", ask: { kind: "gate" }, seq, arguments: { phase }, ...(answer !== undefined && { answer }) });
  const asked = gate(5, "requirements", "Say how loud");
  assert.equal(wishedFor({ items: [asked, gate(9, "requirements")] }, gate(9, "requirements")), "Say how loud");
  for (const items of [[], [gate(5, "requirements", "go on")], [asked, gate(7, "requirements", " Stop ")]]) assert.equal(wishedFor({ items }, gate(9, "requirements")), "", JSON.stringify(items));
  assert.equal(wishedFor({ items: [asked] }, gate(9, "architecture")), "");
});

test("what was not saved is not called saved", () => {
  const refused = { tool: "save_output", state: "done", class: "unauthorized", arguments: { file_path: "{session-folder}/brief.md" }, content: '{"success":false,"error":"a person has written or changed this document, and you have not read it as it is now."}' };
  assert.deepEqual(did([refused]), ["Did not save brief.md: a person has changed it"]);
  assert.ok(isVain(refused));
  assert.deepEqual(did([{ ...refused, class: "failed", content: "{}" }, refused]), ["Did not save 2 files"]);
  const saved = { ...refused, class: "", content: '{"success":true}' };
  assert.deepEqual(did([saved]), ["Saved brief.md"]);
  assert.ok(!isVain(saved));
});

test("a plan that was kept after a planner came to none is the plan", () => {
  const { s, add, begin, phase } = log();
  begin("d");
  phase("d", "planning#1", 7, { status: "success", outputs: { steps: [{ id: "1" }] } });
  for (const n of [2, 3]) {
    phase("d", `planning#${n}`, 2, { status: "failed", outputs: {} });
    add(0, "d", "", "input_requested", gate({ phase: "planning", lacking: "there is no plan to carry out", kept: 1 }, n), "deliver");
    add(0, "d", "", "run_finished", { stop: "input_requested", output: {} }, "deliver");
    assert.equal(phasesOf(s).find((p) => p.name === "planning").state, "failed");
    add(60, "d", "", "user_said", { text: n === 2 ? "Another" : "go on", call_id: "c" }, "deliver");
  }
  phase("d", "implementation#1", 1, { status: "success" });
  const planning = phasesOf(s).find((p) => p.name === "planning");
  assert.equal(planning.state, "done");
  assert.deepEqual(planning.result.outputs.steps, [{ id: "1" }]);
  assert.ok(historyOf(s, null).some((e) => e.text === "You kept the plan that was there"));
});

test("what was worked and waited adds up, with the question that is open, and without what is nobody's", () => {
  const { s, add, begin, phase } = log();
  begin("d");
  add(3, "d", "", "tool_called", { tool: "open_worktree" }, "deliver");
  phase("d", "requirements#1", 7, { status: "success" });
  add(2, "d", "", "input_requested", gate({ phase: "requirements" }, 1), "deliver");
  add(0, "d", "", "run_finished", { stop: "input_requested", output: {} }, "deliver");
  add(60, "", "", "session_renamed", { title: "Other" });
  add(40, "d", "", "user_said", { text: "go on", call_id: "c" }, "deliver");
  add(0, "planning#1", "d", "run_started", { depth: 1, definition: { kind: "phase" } });
  add(5, "planning#1", "d", "tool_called", { tool: "read_plan" });
  add(90, "", "", "session_forked", {});
  add(30, "d", "", "run_resumed", {}, "deliver");
  add(4, "planning#1", "d", "run_finished", { output: { key_outputs: { result: { status: "success" } } } });
  add(1, "d", "", "input_requested", gate({ phase: "planning" }, 2), "deliver");
  add(0, "d", "", "run_finished", { stop: "input_requested", output: {} }, "deliver");
  assert.equal(standing(s, "planning"), "done, worked 9.0 s");
  assert.equal(timesOf(s, phasesOf(s), new Date(Date.parse(s.last) + 20_000).toISOString()), "worked 22.0 s (6.0 s of it on checks and between the phases), waited 2 min 0 s for you");
  assert.deepEqual(s.breaks.map(([from, to]) => (Date.parse(to) - Date.parse(from)) / 1000), [90, 30]);
});

test("checks of one attempt are not mixed with those of another", () => {
  const run = (label, attempt, name, ok = true) => ({ label, attempt, name, ok });
  const told = measuredOf([
    run("baseline", 1, "test"),
    run("step 1 round 1", 1, "build"), run("step 1 round 1", 1, "test", false),
    run("step 1 round 1", 2, "build", false), run("step 1 round 2", 2, "build"),
    run("verify", 1, "build"), run("verify", 1, "test"), run("verify", 2, "build"), run("baseline", 2, "test"),
  ]).map((rounds) => rounds.map((r) => `${r.label} ${r.attempt}: ${r.runs.map((one) => `${one.name} ${one.ok}`).join(" ")}`));
  assert.deepEqual(told, [
    ["verify 2: build true", "verify 1: build true test true"],
    ["step 1 round 2 2: build true", "step 1 round 1 2: build false", "step 1 round 1 1: build true test false"],
    ["baseline 2: test true", "baseline 1: test true"],
  ]);
});

test("what was taken, and taken back, is in what happened", () => {
  const { s, add, begin } = log();
  begin("d");
  add(1, "d", "", "run_finished", { output: {} }, "deliver");
  const told = historyOf(s, null, [{ at: at(100) }, { at: at(200), back: true }]).map((e) => e.text);
  assert.deepEqual(told.slice(0, 2), ["It was taken back", "It was taken"]);
  assert.equal(historyOf(s, null, [{ at: at(100) }], at(300))[0].text, "What it had built was dropped");
});

test("one hint stands at the plan's gate, that of what was changed last", async () => {
  const { planHint } = await import("../page/plan.js");
  const edited = [{ phase: "planning", edited: true }];
  assert.equal(planHint(null), "");
  assert.equal(planHint({ documents: [{ phase: "planning" }, { phase: "review", edited: true }] }), "");
  assert.match(planHint({ documents: edited }), /^The document of the plan was edited/);
  assert.match(planHint({ plan_ahead: true, documents: edited }), /^The plan was changed(?!.*edited)/);
});

test("what was written of a step some time ago leaves it as it stands now, unless it is to be done again", async () => {
  const { merged } = await import("../page/plan.js");
  const steps = [{ id: "1", title: "One", goal: "Do it", status: "done", commit: "abc", files: ["a"] }];
  assert.deepEqual(merged({ id: "1", title: "First", goal: "Do it", status: "todo" }, steps), { ...steps[0], title: "First" });
  assert.deepEqual(merged({ id: "1", title: "One", goal: "Do it", again: true }, steps), { ...steps[0], status: "todo", commit: "", reason: "" });
  assert.deepEqual(merged({ id: "2", title: "Two", goal: "" }, steps), { id: "2", title: "Two", goal: "", status: "todo" });
});

test("changes of a plan that was changed elsewhere meanwhile keep what is new there", async () => {
  const { rebased } = await import("../page/plan.js");
  const step = (id, title, more) => ({ id, title, goal: "", ...more });
  const base = [step("1", "One"), step("2", "Two")];
  const of = (steps, now) => rebased({ base, steps }, now).map((s) => s.id + s.title + (s.again ? "!" : "")).join();
  assert.equal(of([step("1", "One"), step("2", "Second")], [step("1", "First", { status: "done" }), step("2", "Two")]), "1First,2Second");
  assert.equal(of([step("1", "Mine"), step("2", "Two")], [step("1", "Theirs"), step("2", "Two")]), "1Mine,2Two");
  assert.equal(of([step("1", "One"), step("2", "Two"), step("3", "Mine")], [...base, step("3", "Theirs")]), "1One,2Two,3Theirs,4Mine");
  assert.equal(of([step("2", "Two"), step("1", "One")], [step("1", "First"), step("2", "Two")]), "2Two,1First");
  assert.equal(of([step("1", "One")], [step("1", "First"), step("2", "Two")]), "1First", "which is left out here");
  assert.equal(of([step("1", "One", { again: true }), step("2", "Second")], [step("2", "Two")]), "1One!,2Second", "which is left out there, at its place");
  assert.equal(of(base, [step("2", "Two")]), "2Two");
});

test("when a step is done is a part of its words", async () => {
  const { clashes, merged, overtaken, rebased } = await import("../page/plan.js");
  const step = (more) => ({ id: "1", title: "One", goal: "", ...more });
  const now = [step({ status: "todo", acceptance: ["It adds", "It is fast"] })], base = [step({ until: "It adds" })];
  const of = (own, is = now) => rebased({ base, steps: [step(own)] }, is).map((s) => merged(s, is).acceptance);
  assert.deepEqual(of({ until: "It adds" }), [["It adds", "It is fast"]], "which is new there");
  assert.deepEqual(of({ until: " It adds\n\nIt is small " }), [["It adds", "It is small"]]);
  assert.deepEqual(of({ until: "" }), [[]], "which was taken out here");
  assert.deepEqual(of({ until: "It adds", title: "Uno" }, [step({ acceptance: ["It adds"] })]), [["It adds"]]);
  assert.equal("acceptance" in merged(step({}), [step({})]), false);
  assert.deepEqual(clashes({ base, steps: [step({ until: "It is small" })] }, now).map((c) => c.is.until), ["It adds\nIt is fast"]);
  assert.deepEqual(overtaken({ base, steps: [step({ until: "It is small" })] }, [{ ...now[0], status: "done" }]), [step({ until: "It is small" })]);
});

test("what was written for a step that was done meanwhile is not put into the plan, and is not lost", async () => {
  const { clashes, overtaken, rebased } = await import("../page/plan.js");
  const step = (id, title, more) => ({ id, title, goal: "", ...more });
  const base = [step("1", "One"), step("2", "Two")], isDone = [step("1", "One", { status: "done" }), step("2", "Two", { status: "done" })];
  const of = (steps, now, done = []) => rebased({ base, steps, done }, now).map((s) => s.id + s.title + (s.again ? "!" : "")).join();
  const late = [base[0], step("2", "Late", { goal: "Later" }), step("3", "Three")];
  assert.equal(of(late, isDone), "1One,2Two,3Three");
  assert.deepEqual(overtaken({ base, steps: late, done: [] }, isDone), [{ id: "2", title: "Late", goal: "Later" }]);
  assert.deepEqual(overtaken({ base, steps: late, done: ["1", "2"] }, [...isDone, step("3", "Theirs", { status: "done" })]), [], "which has another number then");
  assert.equal(of([base[0]], isDone), "1One,2Two", "which was left out here before it was done");
  assert.equal(of([step("1", "One", { again: true }), base[1]], isDone), "1One,2Two");
  assert.equal(of([step("1", "First", { again: true }), base[1]], isDone, ["1", "2"]), "1First!,2Two", "which is to be done again");
  assert.deepEqual(overtaken({ base, steps: [step("1", "First", { again: true }), base[1]], done: ["1", "2"] }, isDone), []);
  assert.deepEqual(clashes({ base, steps: [step("1", "Mine"), base[1]], done: [] }, [step("1", "Theirs", { status: "done" }), base[1]]), []);
});

test("a plan is as shown while its words are", async () => {
  const { isAsShown } = await import("../page/plan.js");
  const site = { session: "s", plan: { steps: [{ id: "1", title: "One", goal: "", status: "todo" }] } };
  const now = (title) => (globalThis.fetch = async () => Response.json({ steps: [{ id: "1", title, status: "doing" }] }));
  assert.equal((now("One"), await isAsShown(site)), true);
  assert.equal((now("First"), await isAsShown(site)), false);
});

test("what was changed in a plan both here and elsewhere is a clash, and nothing else is", async () => {
  const { clashes } = await import("../page/plan.js");
  const step = (id, title, goal = "") => ({ id, title, goal });
  const base = [step("1", "One"), step("2", "Two")];
  const of = (steps, now) => clashes({ base, steps }, now).map((c) => c.id + (c.is?.title ?? "-")).join();
  assert.equal(of([step("1", "Mine"), base[1]], [step("1", "Theirs"), base[1]]), "1Theirs");
  assert.equal(of([step("1", "Same"), base[1]], [step("1", "Same"), base[1]]), "");
  assert.equal(of([step("1", "Mine"), base[1]], [step("1", "One", "Do it"), base[1]]), "", "another part of it");
  assert.equal(of([step("1", "One", "Mine"), base[1]], [step("1", "One", "Theirs"), base[1]]), "1One");
  assert.equal(of([base[1]], [step("1", "Theirs"), base[1]]), "1Theirs", "which is left out here");
  assert.equal(of([step("1", "Mine"), base[1]], [base[1]]), "1-", "which is left out there");
  assert.equal(of([base[0]], [base[0]]), "");
  assert.equal(of([base[1], base[0]], [{ ...base[0], status: "done" }, step("2", "Second")]), "");
});

test("a diff names its files for people, once each", () => {
  const diff = "diff --git a/new.ok b/new.ok\nnew file mode 100644\nindex 000..12a\n--- /dev/null\n+++ b/new.ok\n@@ -0,0 +1 @@\n+good\ndiff --git a/old.sql b/old.sql\nindex 12a..34b 100644\n--- a/old.sql\n+++ b/old.sql\n@@ -1 +1 @@\n--- a comment\n+++ another";
  assert.deepEqual(withHeads(diff).map(([kind, line]) => `${kind} ${line}`), ["f new.ok, new", "a +good", "f old.sql", "h line 1", "d --- a comment", "a +++ another"]);
  assert.deepEqual(withHeads("--- a/gone.md\n+++ /dev/null\n-was").map(([, line]) => line), ["gone.md, removed", "-was"]);
  assert.deepEqual(withHeads('--- "a/a\\tb\\\\n.md"\n+++ "b/a\\tb\\\\n.md"\n+is').map(([, line]) => line), ["a⇥b\\n.md", "+is"]);
  const unchanged = ["diff --git a/old name.txt b/new name.txt", "similarity index 100%", "rename from old name.txt", "rename to new name.txt", "diff --git a/empty b/empty", "new file mode 100644", "index 000..e69", "diff --git a/run.sh b/run.sh", "old mode 100644", "new mode 100755", "diff --git a/p b/p.png", "similarity index 90%", "rename from p", "rename to p.png", "index 0e..1f 100644", "Binary files a/p and b/p.png differ", "diff --git a/dot.png b/dot.png", "new file mode 100644", "index 000..0e", "GIT binary patch", "literal 8", "PcmZQz{", "", "literal 0", "HcmV?d00001", "",
    "diff --git a/go.sh b/go.sh", "old mode 100644", "new mode 100755", "index 0e..1f", "--- a/go.sh", "+++ b/go.sh", "@@ -1 +1 @@", "-a", "+b", 'diff --git "a/my \\"plan\\".txt" "b/my \\"plan\\".txt"', "index 0e..1f 100644", '--- "a/my \\"plan\\".txt"', '+++ "b/my \\"plan\\".txt"', "@@ -1 +1 @@", "+b",
    "diff --git a/was.go b/is.go", "similarity index 80%", "rename from was.go", "rename to is.go", "index 0e..1f 100644", "--- a/was.go", "+++ b/is.go", "@@ -10,2 +12,2 @@ func main() {", "-a", "+rename to b"];
  assert.deepEqual(withHeads(unchanged.join("\n")).map(([kind, line]) => `${kind} ${line}`), ["f new name.txt, which was old name.txt", "f empty, new", "f run.sh, which may be run now", "f p.png, which was p", "h not a text", "f dot.png, new", "h not a text", "f go.sh, which may be run now", "h line 1", "d -a", "a +b", 'f my "plan".txt', "h line 1", "a +b", "f is.go, which was was.go", "h line 12, in func main() {", "d -a", "a +rename to b"]);
});
