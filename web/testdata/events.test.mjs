import assert from "node:assert/strict";
import test from "node:test";
import { decode, delay, follow, Parser } from "../page/events.js";

test("events are the same however the stream is cut", () => {
  const stream = ': beat\r\nid: 1\ndata: {"a":1}\n\ndata: x\r\ndata: y\r\n\r\n:\n\nid: 7\rdata:z\r\rdata: cut';
  const whole = new Parser().push(stream);
  assert.deepEqual(whole, [{ id: "1", data: '{"a":1}' }, { id: "1", data: "x\ny" }, { id: "7", data: "z" }]);
  for (let size = 1; size < 9; size++) {
    const parser = new Parser(), found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(found, whole, `pieces of ${size}`);
  }
});

// A Server has five events, and ends each connection after so many.
function world(perConnection, failures = []) {
  const asked = [];
  const fetch = async (_, { headers, signal }) => {
    asked.push(headers["Last-Event-ID"]);
    const status = failures.shift() ?? 200;
    if (status !== 200) return new Response(JSON.stringify({ detail: "no" }), { status });
    const from = Number(headers["Last-Event-ID"]) + 1;
    const text = [1, 2, 3, 4, 5].filter((n) => n >= from).slice(0, perConnection).map((seq) => `id: ${seq}\ndata: ${JSON.stringify({ seq })}\n\n`).join("");
    return new Response(new ReadableStream({
      start(c) {
        c.enqueue(new TextEncoder().encode(text));
        if (from + perConnection <= 5) c.close();
        else signal.addEventListener("abort", () => c.error(signal.reason));
      },
    }));
  };
  return { asked, fetch, setTimeout: (f, ms) => (ms < 40_000 ? setTimeout(f, 0) : 0), clearTimeout };
}

function run(w, take = () => {}) {
  return new Promise((resolve) => {
    const seen = [], states = [];
    const done = () => (stop(), resolve({ seen, states }));
    const stop = follow("/events", 0, (e) => {
      take(e);
      seen.push(e.seq);
      if (e.seq === 5) queueMicrotask(done);
    }, (state, problem) => {
      states.push(problem?.status ? `${state} ${problem.status}` : state);
      if (problem?.status === 404) queueMicrotask(done);
    }, w);
  });
}

test("a reader that is cut off goes on after the last event it saw", async () => {
  const w = world(2);
  const { seen } = await run(w);
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  assert.deepEqual(w.asked, ["0", "2", "4"]);
});

test("a server that is busy or gone is asked again, one that says no is not", async () => {
  const busy = await run(world(9, [503, 502]));
  assert.deepEqual(busy.seen, [1, 2, 3, 4, 5]);
  assert.deepEqual(busy.states.slice(0, 4), ["connecting", "lost 503", "connecting", "lost 502"]);
  const w = world(9, [404]);
  assert.deepEqual((await run(w)).states, ["connecting", "lost 404"]);
  assert.equal(w.asked.length, 1);
});

test("an event that is refused is asked for again", async () => {
  let once = true;
  const { seen } = await run(world(9), (e) => {
    if (e.seq === 3 && once) {
      once = false;
      throw new Error("event 2 is missing");
    }
  });
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
});

test("waiting grows, and is never shorter than the server asks for", () => {
  assert.ok(delay(0) <= 500 && delay(3) > delay(0) && delay(50) <= 30_000);
  assert.ok(delay(0, 7) >= 7000);
});

test("an event is read as it is", () => {
  assert.deepEqual(decode('{"seq":1,"body":{"arguments":{"n":1.5,"text":"x"}}}'), { seq: 1, body: { arguments: { n: 1.5, text: "x" } } });
});
