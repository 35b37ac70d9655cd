import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { rowsOf } = await import("../page/run.js");

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
