// All events of a session are fetched, however many pages they are.

import test from "node:test";
import assert from "node:assert/strict";

test("more events than a page holds are fetched page by page, each once and in order", async () => {
  const last = 12_345;
  const asked = [];
  globalThis.fetch = async (path) => {
    const query = new URL(path, "http://x/").searchParams;
    const before = Number(query.get("before")) || last + 1, limit = Number(query.get("limit"));
    asked.push(before);
    const lines = [];
    for (let seq = Math.max(1, before - limit); seq < before; seq++) lines.push(JSON.stringify({ seq, kind: "noted", body: {} }));
    return { ok: true, text: async () => `{"events":[\n${lines.join(",\n")}\n],"last":${last}}\n` };
  };
  const { allEvents } = await import("../page/session.js");
  const lines = await allEvents("a");
  assert.equal(lines.length, last);
  lines.forEach((line, i) => assert.equal(JSON.parse(line).seq, i + 1));
  assert.deepEqual(asked, [last + 1, last - 4999, last - 9999]);
});
