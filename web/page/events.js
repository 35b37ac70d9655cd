// Follows a session's events: every stored one once and in order, whatever becomes
// of the connection.

import { problemOf } from "./api.js";

// silence is how long nothing may come. Heartbeats come every 15 seconds.
const silence = 40_000;

// A Parser takes a stream of server-sent events in pieces.
export class Parser {
  #rest = "";
  #data = [];
  #id = "";

  // push returns the events that are complete: { id, data }.
  push(piece) {
    const found = [];
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length) found.push({ id: this.#id, data: this.#data.join("\n") });
        this.#data = [];
        continue;
      }
      const [, field, value] = line.match(/^([^:]*):? ?(.*)$/s);
      if (field === "data") this.#data.push(value);
      if (field === "id") this.#id = value;
    }
    return found;
  }
}

// decode reads an event. Numbers in arguments stay as they were written, where the
// browser can do so: whoever approves a call must see 12345678901234567890 as it is.
export function decode(data) {
  const event = JSON.parse(data);
  if (!event.body?.arguments || !JSON.rawJSON) return event;
  const exact = (_, value, { source } = {}) => (typeof value === "number" && source !== String(value) ? JSON.rawJSON(source) : value);
  event.body.arguments = JSON.parse(data, exact).body.arguments;
  return event;
}

// follow calls take with each event after the one numbered seq, until stopped. It
// calls changed with "connecting", "live" or "lost", and the problem if that is why,
// with how long it waits before it tries again.
// take throws if it misses an event: those are then asked for again. The function
// it returns stops it.
export function follow(address, seq, take, changed, world = globalThis) {
  const stop = new AbortController();
  const place = { seq, tries: 0 };
  (async () => {
    while (!stop.signal.aborted) {
      changed("connecting");
      try {
        await read(address, place, take, changed, stop.signal, world);
      } catch (problem) {
        if (stop.signal.aborted) return;
        const final = [400, 401, 403, 404].includes(problem.status);
        const wait = delay(place.tries++, problem.retryAfter);
        changed("lost", problem, wait);
        if (final) return;
        await pause(wait, stop.signal, world);
      }
    }
  })();
  return () => stop.abort();
}

// delay grows from half a second to half a minute, give or take a third: not all
// who were cut off come back at once.
export function delay(tries, retryAfter = 0) {
  const grown = Math.min(500 * 2 ** tries, 30_000);
  return Math.max(retryAfter * 1000, grown * (2 / 3 + Math.random() / 3));
}

// hurry ends all pauses: somebody does not want to wait.
export const hurry = () => hasty.dispatchEvent(new Event("now"));
const hasty = new EventTarget();

function pause(ms, signal, world) {
  return new Promise((resolve) => {
    const timer = world.setTimeout(resolve, ms);
    hasty.addEventListener("now", resolve, { once: true });
    signal.addEventListener("abort", () => (world.clearTimeout(timer), resolve()), { once: true });
  });
}

// read takes events over one connection. It returns when the server ends that.
async function read(address, place, take, changed, stopped, world) {
  const quiet = new AbortController();
  let timer;
  const heard = () => {
    world.clearTimeout(timer);
    timer = world.setTimeout(() => quiet.abort(new Error("nothing was heard of the server")), silence);
  };
  heard();
  try {
    const response = await world.fetch(address, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": String(place.seq) },
      signal: AbortSignal.any([stopped, quiet.signal]),
      cache: "no-store",
    });
    if (!response.ok) throw await problemOf(response);
    changed("live");
    const parser = new Parser(), decoder = new TextDecoder();
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the server ended the stream");
      heard();
      for (const { data } of parser.push(decoder.decode(value, { stream: true }))) {
        const event = decode(data);
        take(event);
        if (event.seq) place.seq = event.seq;
        place.tries = 0;
      }
    }
  } finally {
    world.clearTimeout(timer);
  }
}
