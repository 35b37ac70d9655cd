// What cards offer, what lists say of an end, and what a flow shows of its steps.

import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";
import { Events } from "./script.mjs";

install();
const { html, render } = await import("../page/view.js");
const { app, inPerson, nameIn } = await import("../page/state.js");
const { advised, Trouble, withoutOther } = await import("../page/trouble.js");
const { preview } = await import("../page/flow.js");
const { now } = await import("../page/words.js");
const { Problem } = await import("../page/api.js");
const { Session } = await import("../page/fold.js");
const { Entry } = await import("../page/side.js");
const { Conversation } = await import("../page/conversation.js");

const all = (node) => [node, ...node.childNodes.flatMap(all)];
const textOf = (node) => all(node).filter((n) => n instanceof Text).map((n) => n.data).join("");
const card = (code, acts, context = {}) => {
  const root = new Element("div");
  render(html`<${Trouble} code=${code} acts=${acts} context=${context} />`, root);
  return textOf(root);
};

const acts = { agent: "clerk", model: () => "office/large", resume() {}, anew() {}, again() {}, say() {}, chooseModel() {} };
const large = { id: "office/large", available: true }, small = { id: "office/small", available: true };
const speaks = /another( model)?\b|model that (takes|holds) more/i;
const cards = [
  ["key_refused"], ["rate_limited"], ["quota_spent"], ["provider_down"], ["model_unknown"], ["context_full"], ["request_too_large"], ["request_too_large", { parts: [{ name: "a.pdf", size: 9 }] }], ["declined"], ["empty"],
  ["", { problem: { code: "schema", sentence: "The provider cannot bind answers to this schema.", next: "Use another model, or set quirks.schema of the provider in troupe.yaml to prompt." } }],
  ["provider_down", { problem: { code: "unreachable", sentence: "The provider cannot be reached.", next: "It can be asked again in 5 hours; or use another model." } }],
];

test("another model is offered where there is one, and in words only then", () => {
  for (const operator of [true, false]) {
    app.me = { ...app.me, operator };
    for (const [code, context] of cards) {
      app.models = [large, small];
      assert.match(card(code, acts, context), speaks, `${code}, with another model`);
      const without = { "no other": [large], "none that can be used": [large, { ...small, available: false }], "only a rehearsal beside it": [large, { id: "rehearsal", available: true }], "none known": [] };
      for (const [name, models] of Object.entries(without)) {
        app.models = models;
        assert.doesNotMatch(card(code, acts, context), code === "model_unknown" ? /Choose another/ : speaks, `${code}, ${name}`);
      }
    }
  }
});

test("who runs Troupe is told which provider cannot be reached, and where it is tried", () => {
  const problem = { code: "unreachable", sentence: "The provider cannot be reached.", next: "Start the server, or correct the address." };
  app.models = [large];
  app.me = { ...app.me, operator: true };
  assert.match(card("provider_down", acts, { problem }), /^office cannot be reached.*Test the provider/);
  app.me = { ...app.me, operator: false };
  assert.doesNotMatch(card("provider_down", acts, { problem }), /Test the provider/);
});

test("a card says when a provider can be asked again, while that is to come", () => {
  app.models = [large];
  assert.match(card("rate_limited", acts, { until: Date.now() + 3_600_000 }), /in a short time; it can be asked again at (\w+, )?\d\d:\d\d\. Your question is kept/);
  for (const until of [undefined, NaN, Date.now() - 1]) assert.match(card("rate_limited", acts, { until }), /in a short time\. Your question is kept/);
});

test("only what works now moves in the list of conversations", () => {
  const moves = (status, unseen) => {
    const root = new Element("div");
    render(html`<${Entry} session=${{ id: "s", agent: "clerk", title: "One", status, unseen, updated: new Date().toISOString() }} />`, root);
    return all(root).some((n) => /\b(live|spin)\b/.test(n.attributes?.get("class") ?? n.className ?? ""));
  };
  assert.ok(moves("running", false));
  for (const status of ["completed", "waiting", "failed", "cancelled", "interrupted"]) assert.ok(!moves(status, true), status);
});

test("what went wrong before the last message offers nothing that is past", async () => {
  app.models = [large, small];
  const e = new Events(), session = new Session();
  const drawn = () => {
    const root = new Element("div");
    render(html`<${Conversation} here=${{ session, id: "s" }} status="completed" acts=${acts} openFile=${{ open() {}, has: () => false, shown: "" }} />`, root);
    return textOf(root);
  };
  for (const event of [e.start("alex", "one"), e.said("one"), e.failed("model: 500: down")]) session.take(event);
  while (!/Try again/.test(drawn())) await new Promise((done) => setTimeout(done, 1)); // what is loaded on demand
  for (const event of [e.start("alex", "two"), e.said("two"), e.replied(2, "Here I am."), e.finished("Here I am.")]) session.take(event);
  assert.match(drawn(), /Something went wrong|has a problem/);
  assert.doesNotMatch(drawn(), /Try again|Use another model/);
});

test("an agent is asked for the rest of an answer that broke off, a flow to do it anew", () => {
  app.flows = [{ name: "review", nodes: [{ id: "1", kind: "agent", agent: "clerk" }] }];
  for (const code of ["answer_cut", "cancelled", "provider_down"]) {
    assert.match(card(code, acts, { half: true }), /Go on from here.*Begin it anew/, `${code} of an agent`);
    assert.match(card(code, { ...acts, agent: "review" }, { half: true }), /has this answer written again from its beginning(?!.*Go on from here)/, `${code} of a flow`);
    assert.doesNotMatch(card(code, acts), /Go on from here|begins? this answer/, `${code} with nothing said`);
    assert.doesNotMatch(card(code, { model: acts.model }, { half: true }), /[Gg]o on|[Gg]oing on|anew/, `${code} that is past`);
  }
  app.flows = [];
});

test("an answer that broke off says how often it was tried", () => {
  for (const [tries, words] of [[0, /The answer broke off(?!,)/], [1, /The answer broke off(?!,)/], [2, /broke off, twice/], [4, /broke off, four times/], [9, /broke off, 9 times/]]) assert.match(card("answer_cut", acts, { tries }), words);
  assert.match(card("answer_cut", acts, { tries: 4, problem: { code: "timeout", sentence: "x" } }), /The model did not answer in time, four times/);
});

test("a remedy names a button where the page has one, and the setting where it has none", () => {
  app.me = { ...app.me, operator: true };
  app.models = [large];
  const address = { problem: { code: "address", sentence: "The server has nothing at this address.", next: "Correct base_url of the provider in troupe.yaml, or the variable it comes from; troupe doctor tries it." } };
  assert.match(card("", acts, address), /Correct the server’s address\. Then test it under Settings, Models and keys\.Change the address/);
  assert.doesNotMatch(card("", acts, address), /base_url|troupe\.yaml/);
  assert.match(card("", { ...acts, model: () => "openai/gpt" }, address), /base_url of the provider in troupe\.yaml, or the variable it comes from\. Then test it under Settings, Models and keys\.Test the provider/);
  const refused = { problem: { code: "request", sentence: "The provider does not understand the request.", next: "troupe doctor tries the provider; its quirks can be set in troupe.yaml." } };
  assert.match(card("", acts, refused), /does not understand the request.*Test the provider under Settings, Models and keys\.Test the provider/);
  assert.doesNotMatch(card("", acts, refused), /doctor|quirks|troupe\.yaml/);
  app.me = { ...app.me, operator: false };
  assert.doesNotMatch(card("", acts, address), /address[;.] Then|Change the address/);
  assert.doesNotMatch(card("", acts, refused), /[Tt]est|doctor|quirks/);
});

test("a delivery and a flow of several agents do not offer what they have no button for", () => {
  app.models = [large, small];
  app.flows = [{ name: "review", nodes: [{ id: "1", kind: "agent", agent: "clerk" }, { id: "2", kind: "agent", agent: "critic" }] }];
  for (const agent of ["deliver", "review"]) for (const [code, context] of cards) assert.doesNotMatch(card(code, { ...acts, agent }, context), code === "model_unknown" ? /Choose another/ : speaks, `${code} in ${agent}`);
});

test("in a flow another model is chosen in the settings, for the agent whose model it is", () => {
  app.models = [large, small];
  app.flows = [{ name: "review", nodes: [{ id: "1", kind: "agent", agent: "clerk" }, { id: "2", kind: "agent", agent: "critic" }] }];
  app.me = { ...app.me, operator: true };
  for (const [code, context] of cards) {
    assert.match(card(code, { ...acts, agent: "review" }, { ...context, by: "critic" }), code === "model_unknown" ? /Choose another/ : /Use another model for critic/, code);
    app.models = [large];
    assert.doesNotMatch(card(code, { ...acts, agent: "review" }, { ...context, by: "critic" }), code === "model_unknown" ? /Choose another/ : speaks, `${code}, no other`);
    app.models = [large, small];
  }
  assert.match(card("model_unknown", { ...acts, agent: "review" }), /Choose another.*Try again/);
  assert.match(card("", acts, { by: "clerk" }), /Use another model(?! for)/);
  app.flows = [];
});

test("what was asked shows what came of it, and a tick only where it was done", async () => {
  const { Question } = await import("../page/cards.js");
  const shown = (item) => {
    const root = new Element("div");
    render(html`<${Question} item=${{ key: "1", open: false, answer: "", tool: "write_file", arguments: { file_path: "a.md" }, ask: { id: 1, kind: "approval" }, ...item }} agent=${{ name: "clerk" }} acts=${acts} id="s" />`, root);
    const line = all(root).find((n) => /answered/.test(n.attributes?.get("class") ?? ""));
    return [line.attributes.get("data-state"), textOf(line)];
  };
  assert.deepEqual(shown({ left: true }), ["left", "clerk asked to save a.md, you stopped it there"]);
  assert.deepEqual(shown({ left: true, ask: { id: 1, kind: "question" } }), ["left", "clerk asked, you stopped it there"]);
  assert.deepEqual(shown({ decision: { approved: true } }), ["done", "You allowed clerk to save a.md"]);
  assert.deepEqual(shown({ decision: { denied: true } }), ["refused", "You did not allow clerk to save a.md"]);
});

test("whoever can set up a model is led there, the others are told whom to ask", () => {
  app.models = [large];
  app.me = { ...app.me, operator: true };
  assert.match(card("model_unknown", acts), /Set one up, and go on where it stopped\.Set up a model/);
  app.me = { ...app.me, operator: false };
  assert.match(card("model_unknown", acts), /No other one can be chosen here\. Ask whoever runs Troupe\./);
  assert.match(card("empty", acts), /The model said nothing.*Ask again, perhaps in other words\.Ask again/);
});

test("advice without another model is a sentence still", () => {
  assert.equal(withoutOther("Add credit or raise the limit there, or use another model."), "Add credit or raise the limit there.");
  assert.equal(withoutOther("It can be asked again in 5 hours; or use another model."), "It can be asked again in 5 hours.");
  assert.equal(withoutOther("Use another model, or set it."), "Set it.");
  assert.equal(withoutOther("Start it."), "Start it.");
  assert.equal(withoutOther("Go on to have it tried again: say what should be done differently, or choose another model. Or leave it out."), "Go on to have it tried again: say what should be done differently. Or leave it out.");
  assert.equal(withoutOther("Go on to have the step tried again, best with another model. Or leave it out."), "Go on to have the step tried again. Or leave it out.");
  assert.equal(withoutOther("Make smaller steps, or choose a model that writes longer answers, and go on."), "Make smaller steps, and go on.");
});

test("a delivery advises another model to whoever can choose one", () => {
  const text = "Say what should be done differently, or choose another model.";
  const said = () => {
    const root = new Element("div");
    render(html`<p>${advised(text)}</p>`, root);
    return textOf(root);
  };
  for (const [operator, models, want] of [[true, [large, small], `${text} Choose a model`], [true, [large], "Say what should be done differently."], [false, [large, small], "Say what should be done differently."]]) {
    app.me = { ...app.me, operator };
    app.models = models;
    assert.equal(said(), want);
  }
});

test("a conversation whose model said nothing is not done", () => {
  assert.deepEqual([now({ status: "cancelled" }), now({ status: "cancelled", forked: "a" })], ["Stopped", "Not finished"]); // nobody stops what is forked in the middle
  assert.equal(now({ status: "completed" }), "Done");
  assert.equal(now({ status: "completed", stop: "empty" }), "Said nothing");
  assert.equal(now({ status: "completed", stop: "cost" }), "Reached its limit");
  assert.equal(now({ status: "completed", stop: "constructor", outcome: "constructor" }), "Done");
  assert.equal(now({ status: "completed", outcome: "failed" }), "Not done");
  assert.equal(now({ status: "completed", outcome: "partial" }), "Partly done");
  assert.equal(now({ status: "running", outcome: "failed" }), "Thinking");
});

test("what opens a question at Home is set apart from its choices", async () => {
  const { ChoicesAtHome } = await import("../page/cards.js");
  const root = new Element("div");
  render(html`<${ChoicesAtHome} id="s" q=${{ id: 7, kind: "question", text: "Which way?", choices: [{ label: "Left" }, { label: "Right" }] }} />`, root);
  const named = (name) => all(root).findLast((n) => n instanceof Element && textOf(n) === name);
  const looks = (name) => named(name).attributes.get("class");
  assert.match(looks("Left"), /chip/);
  assert.match(looks("Something else…"), /ghost/);
  assert.doesNotMatch(looks("Something else…"), /chip/);
});

test("a check that found something leads to the settings in which that is put right", async () => {
  const { Checks } = await import("../page/settings.js");
  const said = (name, fix = "do it") => {
    const root = new Element("div");
    render(html`<${Checks} list=${[{ name, status: "warning", message: "none is chosen", fix }]} />`, root);
    return textOf(root);
  };
  assert.ok(said("model").endsWith("Do it."), "a server without settings has none to lead to");
  app.me = { ...app.me, can: ["settings"] };
  for (const [name, section] of [["model", "Models and keys"], ["provider openai", "Models and keys"], ["keys", "Models and keys"], ["agents", "Agents"]]) assert.ok(said(name).endsWith(`Do it. ${section}`), said(name));
  for (const name of ["store", "sandbox", "modelling"]) assert.ok(said(name).endsWith("Do it."), said(name));
  assert.ok(said("model", "").endsWith("None is chosen."), said("model", ""));
});

test("what is sent next says what is sent with it", async () => {
  const { Queue } = await import("../page/queue.js");
  const next = (...messages) => {
    const root = new Element("div");
    render(html`<${Queue} id="s" queue=${{ messages: messages.map((m, number) => ({ number, attachments: [], ...m })) }} />`, root);
    return textOf(root).replace(/\s+/g, " ");
  };
  assert.match(next({ text: "Look", attachments: ["a.md", "b.md"] }, { text: "And on" }), /Next: “Look”with 2 files.*Then: “And on” *$/);
  assert.match(next({ text: "", attachments: ["a.md"] }), /Next: “a.md” *$/);
});

test("lists mark what came to no answer, and what goes on from another conversation", async () => {
  const { Entry } = await import("../page/side.js");
  const entry = (session) => {
    const root = new Element("div");
    render(html`<${Entry} session=${{ id: "s", agent: "clerk", title: "Lockers", updated: "2026-01-01T10:00:00Z", ...session }} />`, root);
    return textOf(root);
  };
  for (const session of [{ stop: "empty" }, { stop: "repeated_calls" }, { outcome: "partial" }]) assert.match(entry({ status: "completed", ...session }), /Lockers.*Not all is done/);
  assert.match(entry({ status: "completed", outcome: "failed" }), /Lockers.*Not done/);
  for (const session of [{ status: "completed" }, { status: "running", stop: "empty" }]) assert.doesNotMatch(entry(session), /Not all/);
  assert.match(entry({ status: "completed", forked: "other" }), /Goes on from another one: Lockers/);
  assert.doesNotMatch(entry({ status: "completed" }), /Goes on/);
});

test("a step of a flow shows what it says to people, and of data the values", () => {
  const json = '{\n "verdict": "good",\n "score": 8,\n "sure_enough": true,\n "facts": [1, 2],\n "more": {"a": 1}\n}';
  const values = "verdict: good, score: 8, sure enough: true, facts: 2";
  for (const text of [json, "```json\n" + json + "\n```", "~~~\n" + json + "\n~~~", "```json\n" + json]) assert.equal(preview(text), values);
  assert.equal(preview("Sure! Here it is:\n```json\n" + json + "\n```"), "Sure! Here it is:");
  assert.equal(preview("```\ncode\n```\n\n## **Then** words"), "Then words");
  assert.equal(preview("# Otters\n\nHold hands."), "Otters");
  assert.equal(preview(""), "");
});

test("several nodes of one agent are told apart", () => {
  const nodes = [{ id: "1", kind: "agent", agent: "clerk" }, { id: "2", kind: "parallel" }, { id: "3", kind: "agent", agent: "clerk" }, { id: "4", kind: "agent", agent: "critic" }, { id: "5", kind: "agent", agent: "clerk", title: "Proof-reader" }];
  assert.deepEqual(nodes.filter((n) => n.kind === "agent").map((n) => nameIn({ nodes }, n)), ["clerk 1", "clerk 2", "critic", "Proof-reader"]);
});

test("what the server says is a sentence on the page", () => {
  for (const [said, shown] of [["nothing was added. Nothing answers at its address.", "Nothing was added. Nothing answers at its address."], ["the title is empty", "The title is empty."], ["troupe.yaml would be wrong", "troupe.yaml would be wrong."], ["ann: no", "Ann: no."], ["there is no such session", "There is no such conversation."], ["Is it there?", "Is it there?"]]) {
    assert.equal(new Problem(422, said).message, shown);
  }
});

test("agents that are skills are in the group of their module", async () => {
  const { bundleName } = await import("../page/home.js");
  const names = { bmm: "BMAD Method", "bmad-agent-analyst": "BMAD Method", "bmad-cis-agent-storyteller": "Creative Intelligence", "agent-smith": "Agent smith", "my-agent-y": "My agent y", "": "Agents" };
  for (const [bundle, name] of Object.entries(names)) assert.equal(bundleName({ bundle, bundle_title: "Talks to customers. Use when the user asks to talk to Mary." }), name, bundle);
  assert.equal(bundleName({ bundle: "custom", bundle_title: "My team" }), "My team");
});

test("who has stopped a delivery is named, and whoever looks is you", () => {
  const by = (user, text = "stopped by a person after requirements") => inPerson(text, { runs: new Map([["r1", { user }], ["r1:1", { parent: "r1" }]]) });
  const { me } = app;
  app.me = { ...me, name: "" };
  assert.equal(by(""), "stopped by you after requirements");
  assert.equal(by("ann"), "stopped by ann after requirements");
  app.me = { ...me, name: "ann" };
  assert.equal(by("ann", "Partly done\n- Stopped by a person"), "Partly done\n- Stopped by you");
  assert.equal(by("ann", "a person"), "a person");
  app.me = me;
});
