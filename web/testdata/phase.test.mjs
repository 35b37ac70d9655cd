import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { inWords, isData, partsOf, valueIn } = await import("../page/phase.js");
const { did, doing, orders } = await import("../page/words.js");
const { Session } = await import("../page/fold.js");
const { workedOn } = await import("../page/worked.js");
const { duration } = await import("../page/forms.js");

const answer = (phase, outputs, more = {}) => ({ status: "success", phase, outputs, artifacts: [], next_phase: { ready: true, blockers: [] }, errors: [], ...more });
const said = (phase, outputs, more) => partsOf(phase, answer(phase, outputs, more)).map(({ title, lines }) => `${title}: ${lines.join(" | ")}`);

test("the answer of a phase is found in its text, with whatever is around it", () => {
  for (const text of ['{"a": 1}', ' \n{"a": 1}\n', '```json\n{"a": 1}\n```', 'Here it is:\n{"a": 1}\nDone.', '{"a": 1}\n<<<b1\nfunc x() { return }\n>>>b1\n']) assert.deepEqual(valueIn(text), { a: 1 }, text);
  for (const text of ["Which one?", '{"a": 1', "[1]", "", "7"]) assert.equal(valueIn(text), null, text);
  assert.deepEqual(["Which one?", ' {"a', "```json", "<think>", "[1"].map(isData), [false, true, true, true, true]);
});

test("what a phase answered is said in words", () => {
  assert.deepEqual(said("requirements", { user_stories: ["As a user I want it", { id: "US-2", title: "Log in" }], acceptance_criteria: [{ id: "AC1", text: "It is good", how: "test" }], scope: "MVP", constraints: [] }),
    ["User stories: As a user I want it | US-2: Log in", "Acceptance criteria: AC1: It is good"]);
  assert.deepEqual(said("planning", { steps: [{ id: "1", title: "The first", goal: "Write it." }, "The second"], total_steps: 2 }), ["Steps: The first: Write it. | The second"]);
  assert.deepEqual(said("planning", { steps: [], total_steps: 0 }), ["Steps: none: there is nothing to carry out"]);
  assert.deepEqual(said("discovery", { relevant_files: [{ path: "a.go", relevance: "holds it", priority: "high" }] }), ["Files that matter: a.go: holds it"]);
  assert.deepEqual(said("implementation", { summary: "Did it." }, { artifacts: [{ path: "a.go", type: "edit" }, { path: "b.go", type: "file" }, { path: "c.go", type: "rename", to: "d.go" }] }), ["What was done: Did it.", "Files: changes a.go | writes b.go | renames c.go to d.go"]);
  assert.deepEqual(said("qa", { verdict: "changes_required", criteria: [{ id: "AC1", state: "not_met", evidence: "a.go:3" }], findings: [{ id: "F1", severity: "blocker", path: "a.go", line: 3, problem: "It is wrong" }] }),
    ["Verdict: changes are required", "Acceptance criteria: AC1 not met, a.go:3", "Findings: F1 must be put right: It is wrong (a.go:3)"]);
  assert.deepEqual(said("legal", { open_questions: ["Who owns it?"], risk: "low" }, { next_phase: { blockers: ["No contract"] }, errors: [{ message: "no idea" }] }), ["Open questions: Who owns it?", "Risk: low", "Against going on: No contract", "What went wrong: no idea"]);
});

test("an answer of any form is said without braces", () => {
  for (const value of [null, undefined, 7, "x", [], [1, { a: [2] }], { a: { b: "c" } }, { id: "1" }, { title: 7 }]) assert.doesNotMatch(inWords(value), /[{}[\]"]/);
  for (const broken of [{}, { outputs: null, artifacts: "x", next_phase: 7, errors: null }, { outputs: [1], artifacts: [null, 7] }, { outputs: { criteria: "all", findings: ["bad"], steps: 7 } }]) {
    for (const phase of ["requirements", "planning", "implementation", "qa", "own"]) assert.doesNotMatch(JSON.stringify(partsOf(phase, broken).flatMap((p) => p.lines)), /\[object|undefined/);
  }
});

test("no tool of a delivery is shown by its name", () => {
  for (const tool of ["open_worktree", "run_setup", "run_setup_again", "run_check", "apply_changes", "run_format", "commit_step", "keep_attempt", "show_files", "show_change", "try_finding", "write_artifact", "upload_artifact", "query_plan", "read_plan", "write_plan",
    "read_documents", "commit_documents", "query_knowledge", "gather_files", "count_changes", "find_checks", "adopt_checks", "compare_dependencies", "publish", "gate", "list_files", "search_code", "read_file", "outline", "show_diff", "check_output", "read_document",
    "calculator", "run_command", "add_knowledge"]) {
    for (const calls of [[{ tool, arguments: {} }], [{ tool, arguments: {} }, { tool, arguments: {} }]]) assert.doesNotMatch(did(calls).join(), /^Used|undefined|_/, tool);
  }
});

test("changes that were not made are not said to be", () => {
  assert.deepEqual(did([{ tool: "apply_changes", content: '{"head":"h","problems":[{"path":"a","message":"m"}]}' }]), ["Changed nothing, because not everything fitted"]);
  assert.deepEqual(did([{ tool: "apply_changes", content: '{"head":"h","files":[]}' }]), ["Changed files of the project"]);
});

test("what an approval is about begins with what would be done", () => {
  const order = (tool, args) => doing(tool, args).replace(/^\w+/, (word) => orders[word] ?? word);
  assert.equal(order("run_command", { command: ["go", "test", "./..."] }), "Run “go test ./...”");
  assert.equal(order("add_knowledge", { name: "a.md" }), "Put a.md into the library");
  assert.equal(order("calculator", {}), "Calculate");
});

test("a document of a delivery is called what it is", () => {
  assert.deepEqual(did([{ tool: "write_artifact", arguments: { phase: "requirements", path: "specs/user-stories/2026-11-16-x.md" } }]), ["Saved “User stories”"]);
  assert.deepEqual(did([{ tool: "write_artifact", arguments: { phase: "legal", path: "specs/licences.md" } }]), ["Saved licences.md"]);
});

const at = (seconds) => new Date(1e12 + seconds * 1000).toISOString();

// events of a delivery whose phase runs from second 0 on, asks at 10 and is answered at 7210.
function phase(events) {
  const s = new Session();
  let seq = 0;
  const take = (run, parent, kind, seconds, body = {}) => s.take({ seq: ++seq, time: at(seconds), session: "s", run, parent, step: "1", agent: run, kind, body });
  take("d", "", "run_started", 0, { definition: { kind: "delivery" } });
  take("p", "d", "run_started", 0, { depth: 1, definition: { kind: "phase" } });
  for (const event of events) take(...event);
  return s.runs.get("p");
}

test("the time of a phase is that in which it was worked on", () => {
  const asks = { stop: "input_requested", output: { summary: "?" } };
  const worked = (events) => ((run) => [workedOn(run), run.waited])(phase(events));
  assert.deepEqual(worked([["p", "d", "run_finished", 40, {}]]), [40_000, 0]);
  assert.deepEqual(worked([["p", "d", "run_finished", 10, asks], ["d", "", "run_finished", 10, asks], ["p", "d", "user_said", 7210, { text: "go on", call_id: "c" }], ["p", "d", "run_finished", 7240, {}]]), [40_000, 7_200_000]);
  assert.deepEqual(worked([["p", "d", "noted", 10], ["d", "", "run_resumed", 500], ["p", "d", "run_finished", 510, {}]]), [20_000, 0]);
  assert.deepEqual(worked([["p", "d", "run_cancelled", 10], ["d", "", "run_cancelled", 10], ["d", "", "run_resumed", 500], ["p", "d", "run_finished", 510, {}]]), [20_000, 0]);
  assert.equal(duration(7_260_000), "2 h 1 min");
  assert.equal(duration(119_700), "2 min 0 s");
});

test("a run that ends at a limit says which", () => {
  const s = new Session();
  let seq = 0;
  for (const [kind, body, parent = ""] of [["run_started", {}], ["limit_reached", { stop: "cost", message: "This run may cost 0.5 US dollars." }], ["run_failed", { error: "step 1: the limit on cost is reached" }]]) s.take({ seq: ++seq, time: at(seq), session: "s", run: "r", parent, step: "1", agent: "a", kind, body });
  assert.deepEqual(s.items.map((i) => [i.type, i.code, i.context.limit]), [["trouble", "limit_cost", "This run may cost 0.5 US dollars."]]);
});
