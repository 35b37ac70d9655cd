// What steps, files and their writers are called: the same wherever they are named.

import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";

install();
const { html, render } = await import("../page/view.js");
const { app } = await import("../page/state.js");
const { Session } = await import("../page/fold.js");
const { Conversation } = await import("../page/conversation.js");
const { namesIn } = await import("../page/steps.js");
const { asSeen, nearest } = await import("../page/done.js");
const { writerOf } = await import("../page/panel.js");
const { bothOf } = await import("../page/files.js");

const all = (node) => [node, ...node.childNodes.flatMap(all)];
const textOf = (node) => all(node).filter((n) => n instanceof Text).map((n) => n.data).join("");

const polish = { name: "polish", nodes: [{ id: "1", kind: "agent", agent: "writer" }, { id: "2", kind: "loop" }, { id: "3", kind: "agent", agent: "writer", in: "2" }, { id: "4", kind: "agent", agent: "editor", in: "2" }] };

test("a step says its round in the conversation and in the run", async () => {
  app.flows = [polish];
  const session = new Session();
  let seq = 0;
  const add = (run, agent, kind, body) => session.take({ seq: ++seq, time: new Date(1e12 + seq * 1000).toISOString(), session: "s", run, parent: run === "top" ? undefined : "top", step: "1", agent, kind, body });
  const says = (run, agent, node, round) => {
    add("top", "polish", "handed_off", { from: "x", to: agent });
    add(run, agent, "run_started", { depth: 1, node, round });
    add(run, agent, "model_replied", { message: { role: "assistant", text: run }, usage: {} });
    add(run, agent, "run_finished", { output: { summary: run }, stop: "answered" });
  };
  add("top", "polish", "run_started", {});
  for (const [run, ...where] of [["a", "writer", "1", 1], ["b", "writer", "3", 1], ["c", "editor", "4", 1], ["d", "writer", "3", 2], ["e", "writer", "3", 3]]) says(run, ...where);
  assert.deepEqual([...namesIn("polish", session).values()], ["writer 1", "writer 2", "editor", "writer 2, round 2", "writer 2, round 3"]);
  const acts = { agent: "polish", session: () => session, model: () => "" }, drawn = () => {
    const root = new Element("div");
    render(html`<${Conversation} here=${{ session, id: "s" }} status="completed" acts=${acts} openFile=${{ open() {}, has: () => false, shown: "" }} />`, root);
    return root;
  };
  while (!textOf(drawn()).includes("Handed over to")) await new Promise((done) => setTimeout(done, 1)); // what is loaded on demand
  const turns = all(drawn()).filter((n) => n.localName === "article").map((n) => String(n.attributes.get("aria-label")).replace(/, \d.*/, "")).filter((name) => name !== "polish");
  assert.deepEqual(turns, ["writer 1", "writer 2", "editor", "writer 2, round 2", "writer 2, round 3"]);
  assert.match(textOf(drawn()), /Handed over to writer 2, round 3/);
  app.flows = [];
});

test("an answer is copied as its reader sees it, with what was said before its calls", async () => {
  const answer = (text, more) => ({ type: "answer", text, ...more });
  const items = [answer("I write it down.\n"), { type: "tool", tool: "write_file" }, answer(""), answer("Saved `{session-folder}/otters.md`, {{title}} stays.")];
  assert.equal(await asSeen(items, new Session()), "I write it down.\n\nSaved `otters.md`, {{title}} stays.");
  assert.equal(await asSeen([answer("Stopped by a person.", { agent: "deliver" })], new Session()), "Stopped by you.");
});

test("a version is by the step that wrote it", () => {
  app.flows = [polish];
  app.sessions = new Map([["s", { id: "s", agent: "polish" }]]);
  assert.equal(writerOf({ session: "s" }, { by: "writer", node: "3", round: 2 }), "writer 2, round 2");
  assert.equal(writerOf({ session: "s" }, { by: "writer", node: "1", round: 1 }), "writer 1");
  assert.equal(writerOf({ session: "s" }, { by: "helper" }), "helper");
  assert.equal(writerOf({}, { by: "writer" }), "writer");
  app.flows = [];
});

test("files that are compared are called as in the list, and told apart", () => {
  app.agents = [{ id: "mary", name: "Mary", commands: [{ trigger: "*brainstorm-project", label: "Brainstorm Project" }] }];
  app.sessions = new Map([["s", { id: "s", agent: "mary" }]]);
  const brief = { session: "s", path: "out/brief.md", heading: "Brief", by: "mary", title: "*brainstorm-project" };
  assert.equal(bothOf(brief, { path: "_bmad-output/planning-artifacts/prd.md" }), "Brief and PRD");
  assert.equal(bothOf(brief, { path: "{output_folder}/brief.md", heading: "Brief" }), "Brief (out/brief.md) and Brief (brief.md)");
  assert.equal(bothOf(brief, { path: "out/brief.md", heading: "Brief" }), "Brief from “Brainstorm Project” and Brief from the project’s documents");
  app.agents = [];
});

test("a card opens the version that was written then, of several with the same content", () => {
  const at = (second) => new Date(1e12 + second * 1000).toISOString(), list = [{ number: 3, at: at(90) }, { number: 1, at: at(2) }];
  assert.deepEqual([at(3), at(89), at(95)].map((time) => nearest(list, time).number), [1, 3, 3]);
  assert.equal(nearest([], at(1)), undefined);
});
