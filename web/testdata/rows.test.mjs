import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";
import { Events } from "./script.mjs";

install();
const { labelOf, rowsOf } = await import("../page/run.js");
const { Session } = await import("../page/fold.js");

const run = (id, seq, parent, depth) => [id, { id, seq, parent, depth, started: "", ended: "" }];
const model = (seq, of, step = "1", attempt = 1) => ({ kind: "model", seq, run: of, step, attempt, start: "", end: "" });
const told = (session) => rowsOf({ items: [], warnings: [], ...session }).map((row) => row.run?.id ?? row.warning?.text ?? `call of ${row.span.run}`);

test("each call is below who made it, whoever works beside them", () => {
  const session = { runs: new Map([run("r", 1, "", 0), run("poet", 2, "r", 1), run("writer", 3, "r", 1), run("critic", 9, "r", 1)]), spans: [model(5, "writer"), model(6, "poet"), model(8, "writer", "2"), model(12, "critic")] };
  assert.deepEqual(told(session), ["r", "poet", "call of poet", "writer", "call of writer", "call of writer", "critic", "call of critic"]);
  assert.deepEqual(told({ ...session, warnings: [{ code: "failed", seq: 7, run: "poet", text: "why" }, { code: "failed", seq: 20, run: "gone", text: "at the end" }] }).filter((row) => /why|end|poet/.test(row)), ["poet", "call of poet", "why", "at the end"]);
});

test("a call is tried again where a try has failed, not where its session has gone on", () => {
  const rows = rowsOf({ items: [], runs: new Map([run("r", 1, "", 0)]), spans: [model(3, "r", "1", 2), model(6, "r", "2", 3)], warnings: [{ code: "model_failed", seq: 5, run: "r", step: "2" }] });
  assert.deepEqual(rows.filter((row) => row.span).map((row) => row.failed.length), [0, 1]);
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
  for (const [answer, outcome, want] of [["yes", {}, "Used mail send"], ["no", { class: "unauthorized" }, "Was not allowed to use mail send"]]) {
    const { s, e } = asked();
    const returned = [e.answered(3, answer), e.called(3, "mail__send", {}), e.returned(3, "mail__send", "")];
    Object.assign(returned[2].body, outcome);
    for (const event of returned) s.take(event);
    assert.deepEqual(labels(s), ["Asked you", want]);
  }
});
