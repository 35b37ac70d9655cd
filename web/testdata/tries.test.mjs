// What the conversation says while a model call is tried again.

import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";
import { Events } from "./script.mjs";

install();
const { html, render } = await import("../page/view.js");
const { Retry } = await import("../page/trouble.js");
const { Session } = await import("../page/fold.js");

const all = (node) => [node, ...node.childNodes.flatMap(all)];
const said = (session) => {
  const root = new Element("div"), item = session.items.findLast((one) => one.type === "retry");
  if (item) render(html`<${Retry} item=${item} acts=${{ model: () => "openai/usual", session: () => session, stop() {}, hurry() {} }} />`, root);
  const text = all(root).filter((n) => n instanceof Text).map((n) => n.data).join("");
  render(null, root);
  return text;
};
const played = (...events) => events.reduce((s, e) => (s.take(e), s), new Session());
const tried = (e, body = {}) => ({ ...e.warned("x"), step: "2", kind: "model_failed", body: { attempt: 1, error: "model: 529: down", retry_in_ms: 60_000, cause: { code: "provider_down", retry_ms: 60_000 }, ...body } });

test("a series of tries names the provider that was asked, not the usual one", () => {
  const e = new Events(), begun = [e.start("alex", "hi"), e.said("hi")];
  assert.match(said(played(...begun, tried(e, { provider: "anthropic", model: "claude" }))), /^Anthropic has a problem/);
  const f = new Events();
  assert.match(said(played(f.start("alex", "hi"), f.said("hi"), tried(f))), /^OpenAI has a problem/, "older logs do not say who was asked");
});

test("no tries are shown that nobody makes", () => {
  const begin = () => {
    const e = new Events();
    return [e, [e.start("alex", "hi"), e.said("hi"), tried(e)]];
  };
  const forked = (e) => ({ ...e.warned("x"), kind: "session_forked", body: { from: "a", after: 3 } });
  for (const [what, more] of [["in a fork", (e) => [forked(e)]], ["in a fork that goes on", (e) => [forked(e), e.resumed()]], ["after a break", (e) => [e.resumed()]]]) {
    const [e, events] = begin(), session = played(...events);
    assert.match(said(session), /try 2/);
    for (const event of more(e)) session.take(event);
    assert.equal(said(session), "", what);
    session.take(tried(e));
    if (what !== "in a fork") assert.match(said(session), /has a problem/, `${what}, and then anew`);
  }
  const session = played(...begin()[1]);
  session.interrupt(session.seq);
  assert.equal(said(session), "", "where the process died");
});

test("no tries of a part are shown once another message was said", () => {
  const e = new Events(), begun = [e.start("review", "hi"), e.said("hi")], part = { run: "r1:1", parent: "r1" };
  const session = played(...begun, { ...e.warned("x"), kind: "run_started", ...part, body: { input: {}, depth: 1 } }, { ...tried(e), ...part });
  assert.match(said(session), /has a problem/);
  for (const event of [{ ...e.abandoned(), body: { reason: "forked, and not resumed" } }, e.start("review", "again"), e.said("again")]) session.take(event);
  assert.equal(said(session), "");
});
