import assert from "node:assert/strict";
import test from "node:test";
import { changedInput, fieldsOf, ownWords } from "../page/handoff.js";
import { Session } from "../page/fold.js";
import { Events } from "./script.mjs";

const given = { task: "Write.", summary: "A draft.", key_outputs: { feedback: "shorter", facts: [1, 2] }, custom: { budget: 3 }, metadata: { source_agent: "writer" } };

test("a handoff is shown as fields", () => {
  assert.deepEqual(fieldsOf(given).map((f) => [f.id, f.text, f.json]), [
    ["task", "Write.", false], ["summary", "A draft.", false], ["output feedback", "shorter", false], ["output facts", "[\n  1,\n  2\n]", true], ["custom", '{\n  "budget": 3\n}', true],
  ]);
  assert.deepEqual(fieldsOf(undefined).map((f) => f.id), ["task"]);
});

test("of a task that is told with a conversation, its own words are shown in short", () => {
  assert.equal(ownWords("The task:\nSay what they say.\n\nIn short.\n\nThe conversation so far:\n\n[porter]\nIt is full.\n\nYou are reader, and it is your turn to speak."), "Say what they say.\n\nIn short.");
  assert.equal(ownWords("The task:\nSay what they say.\n\nNobody has spoken yet.\n\nYou are porter, and it is your turn to speak."), "Say what they say.");
  assert.equal(ownWords("Check this outcome of the task below. Call accept if it will do, or revise to say what must be done better.\n\nThe task:\nWrite."), "Write.");
  for (const text of ["Write.", "The task:\nis what you make of it.", ""]) assert.equal(ownWords(text), text);
});

test("a value that is its own summary is shown once", () => {
  assert.deepEqual(fieldsOf({ task: "t", summary: '{"pages":3}', value: { pages: 3 } }).map((f) => f.id), ["task", "value"]);
  assert.deepEqual(fieldsOf({ task: "t", summary: "Three pages.", value: { pages: 3 } }).map((f) => f.id), ["task", "summary", "value"]);
  assert.deepEqual(fieldsOf({ task: "t", summary: '"yes"', value: "yes" }).map((f) => [f.id, f.text, f.json]).at(-1), ["value", '"yes"', true]);
});

test("only what was changed is sent", () => {
  assert.deepEqual(changedInput(given, {}), { input: undefined, wrong: {} });
  assert.deepEqual(changedInput(given, { summary: "B", "output facts": "[1,2]" }).input, { summary: "B" });
  assert.deepEqual(changedInput(given, { "output feedback": "longer", "output facts": "[3]" }).input, { key_outputs: { feedback: "longer", facts: [3] } });
  assert.deepEqual(changedInput({ task: "t", value: { pages: 3 } }, { value: '{"pages": 5}' }).input, { value: { pages: 5 } });
  assert.deepEqual(changedInput({ task: "t", summary: "s" }, { task: "", summary: "" }).input, { task: "", summary: "" });
});

test("what is no JSON is told, field by field", () => {
  const { wrong } = changedInput({ ...given, value: 1 }, { value: "{", custom: "[1]" });
  assert.deepEqual(Object.keys(wrong), ["value", "custom"]);
  assert.match(wrong.value, /^This is not JSON/);
  assert.match(changedInput({ value: {} }, { value: '{\n  "pages": many\n}' }).wrong.value, /^This is not JSON: .*many.*\.$/);
});

test("a session knows what a person has changed", () => {
  const e = new Events(), s = new Session();
  s.take(e.start("news", "go"));
  s.take({ ...e.warned("x"), kind: "session_forked", body: { from: "o", after: 1, run: "r1:3", agent: "writer", input: { task: "b" }, was: { task: "a" }, user: "ann" } });
  assert.equal(s.edits.get("r1:3").was.task, "a");
  assert.deepEqual([s.items.at(-1).change.agent, s.items.at(-1).change.user], ["writer", "ann"]);
  s.take({ ...e.warned("x"), kind: "run_started", run: "r1:3", parent: "r1", agent: "writer", body: { input: { task: "b" }, edited: true, edited_by: "ann", definition: { kind: "agent" } } });
  const run = s.runs.get("r1:3");
  assert.deepEqual([run.edited, run.editedBy, run.kind, run.input.task], [true, "ann", "agent", "b"]);
});
