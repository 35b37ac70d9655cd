import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";
import { naughty } from "./naughty.mjs";
import { Events } from "./script.mjs";

install();
const { html, render } = await import("../page/view.js");
const { Session } = await import("../page/fold.js");
const state = await import("../page/state.js");
// What is loaded on demand is there at once.
for (const name of ["call", "cards", "trouble", "queue", "more", "code", "math", "diagram"]) await import(`../page/${name}.js`);
const { Conversation } = await import("../page/conversation.js");
const { Question, pagesOf } = await import("../page/cards.js");
const { Trouble } = await import("../page/trouble.js");
const { Delivery } = await import("../page/delivery.js");
const { Outcome } = await import("../page/site.js");
const { Home } = await import("../page/home.js");
const { Lists } = await import("../page/lists.js");
const { Run } = await import("../page/run.js");
const { Side } = await import("../page/side.js");
const { Settings } = await import("../page/settings.js");
const { Preview } = await import("../page/preview.js");
const { reasonOf } = await import("../page/diagram.js");
const { Compared, compared, counted, Lines, wordsIn } = await import("../page/changes.js");

function draw(content) {
  const root = new Element("div");
  render(content, root);
  return root;
}
const all = (node) => [node, ...node.childNodes.flatMap(all)];
const textOf = (node) => all(node).filter((n) => n instanceof Text).map((n) => n.data).join("");

const harmful = new Set("script iframe object embed style link meta base template frame math video audio".split(" "));

// isHarmless fails if something was drawn that only harm would draw.
function isHarmless(root, text, frames = false) {
  for (const node of all(root)) {
    if (!(node instanceof Element)) continue;
    assert.ok(!harmful.has(node.localName) || (node.localName === "iframe" && frames), `${node.localName} for ${text}`);
    for (const name of node.attributes.keys()) assert.doesNotMatch(name, /^on|^(srcdoc|formaction|ping|background)$/i, `${node.localName} for ${text}`);
    const href = node.attributes.get("href") ?? node.href;
    if (href && node.localName === "a") assert.match(String(href), /^(https?:\/\/|mailto:|#|api\/)/i, text);
  }
}

const here = (session) => ({ id: "s", session, connection: "live", problem: null, caughtUp: true });
const openFile = { open() {}, has: () => false, shown: "" };

test("no text, wherever it stands, becomes an element or an address that does harm", () => {
  for (const text of naughty()) {
    const e = new Events();
    const session = new Session();
    for (const event of [
      { ...e.start(text, text), agent: text }, e.said(text), e.delta(2, text), e.replied(2, `[${text}](${text})\n${text}`),
      e.called(3, text, { [text]: text }), { ...e.returned(3, text, text) }, e.called(4, text, text), e.asked(4, text, { [text]: text }), e.finished(text, "input_requested"),
    ]) session.take(event);
    session.add({ run: "r1", seq: 9, time: new Date().toISOString() }, { type: "file", path: text, size: 1, number: 1 });
    session.add({ run: "r1", seq: 9, time: new Date().toISOString() }, { type: "trouble", code: text, context: { detail: text } });
    const agent = { id: text, bundle: text, bundle_title: text, name: text, title: text, icon: text, description: text, broken: "", commands: [{ cmd: text, label: text, trigger: text, description: text }] };
    const question = { id: 1, kind: "question", text, asked: new Date().toISOString(), choices: [{ label: text, description: text }] };
    const info = { id: text, agent: text, title: text, status: "waiting", updated: new Date().toISOString(), question, model: text };
    Object.assign(state.app, { known: true, agents: [agent], flows: [{ name: text, description: text, nodes: [{ id: text, kind: "agent", agent: text, title: text }], edges: [] }], models: [{ id: text, provider: text, available: true, reason: text }], sessions: new Map([[text, info]]), me: { name: text, operator: true, can: [], version: text } });
    const acts = { agent: text, provider: () => text };
    const ask = { key: 1, open: true, question: text, tool: text, arguments: { [text]: text }, ask: question };
    for (const content of [
      html`<${Conversation} here=${here(session)} status="waiting" acts=${acts} openFile=${openFile} />`, html`<${Question} item=${ask} agent=${agent} acts=${acts} id=${text} />`,
      html`<${Question} item=${{ ...ask, ask: { ...question, kind: "approval" } }} agent=${agent} acts=${acts} id=${text} />`, html`<${Trouble} code=${text} context=${{ detail: text, p: text, a: text }} acts=${{}} />`,
      html`<${Run} here=${here(session)} at="" agent=${agent} />`, html`<${Delivery} here=${here(session)} info=${info} status="waiting" acts=${acts} show=${() => {}} />`,
      html`<${Home} find=${() => {}} />`, html`<${Side} route=${{ name: "", id: "" }} find=${() => {}} />`, html`<${Settings} section="agents" />`,
      html`<${Preview} file=${{ session: text, path: "a.md" }} text=${text} />`, html`<${Preview} file=${{ session: text, path: "a.csv" }} text=${text + ",b\n1,2"} />`, html`<${Preview} file=${{ session: text, path: "a.json" }} text=${JSON.stringify({ [text]: [text] })} />`,
      html`<${Compared} units=${compared(text, text + " more")} />`, html`<${Lines} before=${text} after=${text + "x"} />`,
    ]) isHarmless(draw(content), text);
  }
});

test("a card names the limit that ended the run, as new and older logs word it", () => {
  for (const [code, limit, want] of [
    ["limit_time", "The 30s of this run are over; the agent answers with what it has.", "30s"], ["limit_time", "No more tools can be called: the 30s of this run are over.", "30s"],
    ["limit_turns", "All 50 turns of this run are used up; the agent answers with what it has.", "50 turns"], ["limit_turns", "The 1 turn of this run is used up; the agent answers with what it has.", "1 turn"],
    ["limit_cost", "The 0.5 US dollars of this run are spent; the agent answers with what it has.", "$0.50"],
  ]) assert.match(textOf(draw(html`<${Trouble} code=${code} context=${{ limit, a: "Alex" }} acts=${{}} />`)), new RegExp(`The limit of ${want.replace("$", "\\$")} is reached`));
});

test("an object where a text is expected is not taken for an element", () => {
  const forged = JSON.parse('{"type":"script","props":{"children":"alert(1)"},"key":null,"ref":null,"__v":null}');
  const root = draw(html`<p>${forged}</p>`);
  assert.deepEqual(all(root).filter((n) => n instanceof Element).map((n) => n.localName), ["div", "p"]);
});

test("an approval shows the exact arguments, with what does not show written out", () => {
  const item = { key: 1, open: true, question: "May I?", tool: "mail", arguments: { to: "bob", text: "a\u202Eb\u200B" }, ask: { id: 1, kind: "approval" } };
  const root = draw(html`<${Question} item=${item} agent=${{ name: "Alex" }} acts=${{}} id="s" />`);
  const exact = all(root).find((n) => n.attributes?.get("aria-label") === "Exact arguments");
  assert.equal(textOf(exact), '{\n  "to": "bob",\n  "text": "a\\u{202e}b\\u{200b}"\n}');
  const buttons = all(root).filter((n) => n.localName === "button").map(textOf);
  assert.ok(buttons.includes("Allow once") && buttons.includes("Do not allow"), buttons.join());
});

test("an approval shows what will be done decoded, whole and as plain text", () => {
  const long = "line\n".repeat(5000) + "the end";
  const question = "May I call mail with these arguments? (yes or no)\n\n    text: (25007 bytes)\n" + long.replace(/^/gm, "        ") + "\n    html: <img src=x onerror=alert(1)>";
  const item = { key: 1, open: true, question, tool: "mail", arguments: { text: long }, ask: { id: 1, kind: "approval" } };
  const root = draw(html`<${Question} item=${item} agent=${{ name: "Alex" }} acts=${{}} id="s" />`);
  const shown = textOf(all(root).find((n) => n.attributes?.get("aria-label") === "What will be done"));
  const whole = "text: (25007 bytes)\n" + long.replace(/^/gm, "    ") + "\nhtml: <img src=x onerror=alert(1)>";
  const pages = pagesOf(whole);
  assert.equal(shown, pages[0]); // the rest is a page further
  assert.equal(pages.join(""), whole); // and nothing is left out
  assert.ok(pages.length > 10 && pages.every((page) => page.length <= 6000 && page.split("\n").length <= 122), String(pages.length));
  assert.equal(pagesOf("x".repeat(20_000)).join("").length, 20_000);
  assert.deepEqual(pagesOf("short"), ["short"]);
  const json = `{\n  "text": "${"x".repeat(9_000)}",\n  "to": "a"\n}`; // a page is not left empty before a long line
  assert.deepEqual(pagesOf(json).map((page) => page.length), [6_000, json.length - 6_000]);
  assert.equal(pagesOf(json).join(""), json);
  assert.equal(all(root).filter((n) => n.localName === "img").length, 0);
});

test("words that changed are marked in the text, and the rest is as it was", () => {
  const units = compared("# Brief\n\nMany readers pay.\n\n- one\n- two", "# Brief\n\nNine of fourteen readers pay.\n\n- one\n- three\n\nNew.");
  assert.deepEqual(units.map((u) => u.kind), ["same", "changed", "same", "changed", "added"]);
  const root = draw(html`<${Compared} units=${units} />`);
  const marked = (name) => all(root).filter((n) => n.localName === name).map(textOf);
  assert.deepEqual(marked("del"), ["removed: Many", "removed: two"]);
  assert.deepEqual(marked("ins"), ["added: Nine of fourteen", "added: three", "added: New."]);
});

test("no mark of a change begins or ends with a space, and what is there now is read as it is", () => {
  for (const [before, after, text, marks] of [
    ["They paid a fee for it.", "They paid a fee last year for it.", "They paid a fee last year for it.", ["+last year"]],
    ["They paid a fee last year for it.", "They paid a fee for it.", "They paid a fee last year for it.", ["-last year"]],
    ["Open all night.", "Open", "Open all night.", ["-all night."]],
    ["Many pay", "Nine of fourteen pay a fee", "ManyNine of fourteen pay a fee", ["-Many", "+Nine of fourteen", "+a fee"]],
  ]) {
    const [{ words }] = compared(before, after);
    assert.equal(words.map((part) => part.value).join(""), text);
    assert.deepEqual(words.filter((part) => part.added || part.removed).map((part) => (part.added ? "+" : "-") + part.value), marks);
  }
});

test("the words of a document and of its changes are counted by one rule", () => {
  const texts = ["", "# Brief\n\nMany **readers** pay.\n\n- one\n- two", "# Brief\n\nNine of fourteen *readers* pay.\n\n1. one\n2. three\n\n> New.", "```\ncode is here\n```"];
  assert.deepEqual(texts.map(wordsIn), [0, 6, 9, 3]);
  assert.equal(wordsIn("| a | b |\n| --- | --- |\n| 1 | – |"), 3); // marks are no words
  assert.equal(wordsIn("<details><summary>More</summary>\n\n- b c\n\n</details>"), 3);
  for (const before of texts) for (const after of texts) {
    const { added, removed } = counted(compared(before, after));
    assert.equal(wordsIn(before) + added - removed, wordsIn(after), JSON.stringify([before, after]));
  }
});

test("what programs keep at the top of a document is folded, and is neither words, a heading nor a section", async () => {
  const { Reading } = await import("../page/preview.js");
  const { sectionsChanged } = await import("../page/sections.js");
  const top = "---\nstepsCompleted: [1]\ninputDocuments: []\n# of the workflow\nby:\n  - Ann\n---\n", text = "\n# Brief\n\nMany readers pay.\n";
  for (const [before, isFolded] of [[top, true], [top.replaceAll("\n", "\r\n"), true], ["---\n---\n", true], ["---\nNot a field.\n---\n", false], ["\n" + top, false], ["---\na: b\n", false], ["", false]]) {
    const folded = all(draw(html`<${Reading} text=${before + text} />`)).filter((n) => n.localName === "details");
    assert.equal(folded.length, isFolded ? 1 : 0, JSON.stringify(before));
    if (isFolded && before.length > 8) assert.match(textOf(folded[0]), /^PropertiesstepsCompleted: \[1\]/);
  }
  const root = draw(html`<${Reading} text=${top + text} />`);
  assert.deepEqual(all(root).filter((n) => /^h\d$/.test(n.localName)).map(textOf), ["Brief"]);
  assert.equal(wordsIn(top + text), 4);
  const later = top.replace("[1]", "[1, 2]"), units = compared(top + text, later + text);
  assert.deepEqual(counted(units), { added: 0, removed: 0, boxes: 0 });
  const drawn = draw(html`<${Compared} units=${units} />`);
  assert.match(textOf(all(drawn).find((n) => n.localName === "details")), /removed: - stepsCompleted: \[1\]added: \+ stepsCompleted: \[1, 2\]/);
  assert.equal(sectionsChanged(top + text, later + text), 0);
  assert.equal(sectionsChanged(text, top + text), 0);
  assert.equal(sectionsChanged(top + text, later + text + "\n## More\n"), 1);
  for (const [a, b] of [[text, top + text], [top + text, text]]) assert.match(textOf(draw(html`<${Compared} units=${compared(a, b)} />`)), a === text ? /^Added: Properties/ : /^Removed: Properties/);
});

test("what its author notes for whoever goes on with a document is not read", async () => {
  const { Reading } = await import("../page/preview.js");
  const { sectionsChanged } = await import("../page/sections.js");
  const noted = "# Brief\n\n<!-- Content will be\nappended -->\n\nMany pay.\n";
  assert.equal(textOf(draw(html`<${Reading} text=${noted} />`)), "BriefMany pay.");
  assert.equal(wordsIn(noted), 3);
  assert.equal(sectionsChanged(noted, noted.replace(/<!--[^]*-->\n\n/, "")), 0);
  assert.deepEqual(compared("# Brief\n\nMany pay.\n", noted).map((u) => u.kind), ["same", "same"]);
});

test("a box that was ticked is a change, and stays a box", () => {
  const units = compared("- [ ] ask\n- [x] pay\n- two", "- [x] ask\n- [x] pay now\n- two");
  assert.deepEqual(counted(units), { added: 1, removed: 0, boxes: 1 });
  const root = draw(html`<${Compared} units=${units} />`);
  assert.deepEqual(all(root).filter((n) => n.localName === "ins").map(textOf), ["ticked: ", "added: now"]);
  assert.equal(all(root).filter((n) => n.localName === "input").length, 2);
});

test("items keep their numbers in a comparison, and are the same where they are only numbered anew", () => {
  const starts = (before, after) => all(draw(html`<${Compared} units=${compared(before, after)} />`)).filter((n) => n.localName === "ol").map((n) => `${n.attributes.get("start") ?? 1}: ${textOf(n)}`);
  assert.deepEqual(starts("1. ask\n2. pay\n3. go", "1. ask\n2. pay now\n3. go"), ["1: ask", "2: pay added: now", "3: go"]);
  assert.deepEqual(compared("1. ask\n2. go", "1. ask\n2. pay\n3. go").map((u) => u.kind), ["same", "added", "same"]);
  assert.deepEqual(starts("4. ask", "4. ask\n5. go"), ["4: ask", "5: go"]);
});

test("a table that changed is shown as it was and as it is, each under its word", () => {
  const table = (...rows) => ["| a | b |", "| - | - |", ...rows].join("\n");
  const draws = (before, after) => all(draw(html`<${Compared} units=${compared(before, after)} />`)).filter((n) => ["del", "ins"].includes(n.localName)).map((n) => [n.localName, n.attributes.get("class"), textOf(n).slice(0, 9).trim()]);
  assert.deepEqual(draws(table("| 1 | 2 |"), table("| 1 | 3 |")), [["del", "unit whole", "Removed:"], ["ins", "unit whole", "Added: ab"]]);
  assert.deepEqual(draws("x\n\n" + table("| 1 | 2 |"), "x"), [["del", "unit whole", "Removed:"]]);
  const [[mark, kind, words]] = draws("x", "x\n\n```\n1\n```");
  assert.deepEqual([mark, kind, words.slice(0, 6)], ["ins", "unit whole", "Added:"]); // how code is headed is code.js's, which may be there by now or not
});

test("a task is called by its name, and what its author says of it stands below", async () => {
  const { offersFor } = await import("../page/offers.js");
  const { Beginning } = await import("../page/beginning.js");
  const mary = { id: "mary", name: "Mary", title: "Analyst", description: "", broken: "", commands: [
    { cmd: "CB", trigger: "*create-brief", label: "Create Brief: A guided experience to nail down your product idea" }, { cmd: "RT", trigger: "*ratio", label: "Work out the ratio 3:4" }, { cmd: "LO", trigger: "*long", label: "Whatever is said at such a length before there is a colon: it stays" },
  ] };
  Object.assign(state.app, { known: true, agents: [mary], flows: [], models: [], sessions: new Map(), me: { name: "", operator: false, can: [], version: "" } });
  const rows = (root) => all(root).filter((n) => n.localName === "button" && n.attributes.get("title")?.includes("*") || (n.localName === "button" && String(n.title ?? "").includes("*"))).map((n) => textOf(n));
  assert.deepEqual(rows(draw(html`<${Home} find=${() => {}} />`)), ["Create Brief", "Work out the ratio 3:4", "Whatever is said at such a length before there is a colon: it stays"]);
  assert.match(textOf(draw(html`<${Beginning} agent=${mary} acts=${{}} />`)), /Create BriefA guided experience/);
  assert.deepEqual(offersFor(mary, "/create").map(({ label, detail, send }) => [label, detail, send]), [["Create Brief", "A guided experience to nail down your product idea", "*create-brief"]]);
  assert.equal(state.titleOf({ agent: "mary", title: "*create-brief" }), "Create Brief");
});

test("a phase that something stands against is not said to be ready", () => {
  const session = new Session();
  const e = new Events();
  for (const event of [e.start("deliver", "Lockers"), e.said("Lockers")]) session.take(event);
  const gate = { key: 7, type: "question", open: true, question: "Planning is not ready for what comes next.", tool: "gate", time: new Date().toISOString(), arguments: { phase: "planning", next: "implementation", status: "success", ready: true, blockers: ["The budget is spent."] }, ask: { id: 7, kind: "gate" } };
  session.items.push(gate);
  session.questions.push(gate);
  const shown = textOf(draw(html`<${Delivery} here=${here(session)} info=${null} status="waiting" acts=${{}} show=${() => {}} />`));
  assert.ok(shown.includes("Planning is not ready.") && !shown.includes("Planning is ready."), shown);
});

test("what is wrong with the form of an answer is said to people in their words", () => {
  const session = new Session();
  const e = new Events();
  for (const event of [e.start("deliver", "Lockers"), e.said("Lockers")]) session.take(event);
  const wrong = ["the answer: it holds no JSON that could be read", "/outputs/acceptance_criteria: required, but missing", "The line is down."];
  const gate = { key: 7, type: "question", open: true, question: "Phase requirements is not ready.", tool: "gate", time: new Date().toISOString(), arguments: { phase: "requirements", next: "architecture", ready: false, errors: wrong, blockers: wrong }, ask: { id: 7, kind: "gate" } };
  session.items.push(gate);
  session.questions.push(gate);
  const shown = textOf(draw(html`<${Delivery} here=${here(session)} info=${null} status="waiting" acts=${{}} show=${() => {}} />`));
  assert.match(shown, /not in the form that the next phase needs.*It says nothing about acceptance criteria\..*The line is down\./);
  assert.doesNotMatch(shown, /JSON|\/outputs/);
});

test("a row of a list says once that it waits", () => {
  const time = new Date(Date.now() - 60_000).toISOString();
  Object.assign(state.app, { known: true, agents: [], flows: [], models: [], sessions: new Map([["s", { id: "s", agent: state.pipeline, title: "Lockers", status: "waiting", started: time, updated: time }]]), me: { name: "", operator: false, can: [], version: "" } });
  const shown = textOf(draw(html`<${Lists} what="deliveries" />`));
  assert.match(shown, /Lockers/);
  assert.equal(shown.match(/waits for you/gi).length, 1);
});

test("a row of a delivery says whether its result was taken, taken back or dropped", () => {
  const updated = new Date(Date.now() - 60_000).toISOString();
  for (const [result, want] of [["taken", /^LockersDone · taken · \$0\.40/], ["partly_taken", / · partly taken · /], ["taken_back", / · taken back · /], ["dropped", / · dropped · /], [undefined, /^LockersDone · \$0\.40/]]) {
    Object.assign(state.app, { known: true, agents: [], flows: [], sessions: new Map([["s", { id: "s", agent: state.pipeline, title: "Lockers", status: "completed", started: updated, updated, spent: 0.4, result }]]), me: { name: "", operator: false, can: [], version: "" } });
    const row = all(draw(html`<${Lists} what="deliveries" />`)).find((n) => n.attributes?.get("data-status") === "completed");
    assert.match(textOf(all(row).find((n) => (n.className || n.attributes?.get("class")) === "grow")), want);
  }
});

test("a phase says how long it was worked on, and apart how long it waited", () => {
  const session = new Session();
  const at = (seconds) => new Date(1e12 + seconds * 1000).toISOString();
  let seq = 0;
  for (const [run, parent, kind, seconds, body] of [
    ["d", "", "run_started", 0, { input: { task: "Lockers" } }], ["p", "d", "run_started", 0, { depth: 1, definition: { kind: "phase" } }],
    ["p", "d", "run_finished", 10, { stop: "input_requested", output: {} }], ["d", "", "run_finished", 10, { stop: "input_requested", output: {} }],
    ["p", "d", "user_said", 7270, { text: "go on", call_id: "c" }], ["p", "d", "run_finished", 7500, { output: {} }],
  ]) session.take({ seq: ++seq, time: at(seconds), session: "s", run, parent, step: "1", agent: parent ? "implementation" : "deliver", kind, body });
  const shown = textOf(draw(html`<${Delivery} here=${here(session)} info=${null} status="running" acts=${{}} show=${() => {}} />`));
  assert.match(shown, /Implementationdone, worked 4 min 0 s, waited 2 h 1 min for you/);
});

test("a gate takes no decision before one can be given", () => {
  const session = new Session();
  const e = new Events();
  for (const event of [e.start("deliver", "Lockers"), e.said("Lockers")]) session.take(event);
  const gate = { key: 7, type: "question", open: true, question: "Requirements is done and waits for approval.", tool: "gate", time: new Date().toISOString(), arguments: { phase: "requirements", next: "architecture", ready: true, status: "success" }, ask: { id: 7, kind: "gate" } };
  session.items.push(gate);
  session.questions.push(gate);
  const goOn = (status) => {
    const root = draw(html`<${Delivery} here=${here(session)} info=${null} status=${status} acts=${{}} show=${() => {}} />`);
    const button = all(root).find((n) => n.localName === "button" && textOf(n) === "Go on to architecture");
    return [!!(button.disabled || button.attributes.has("disabled")), /You can decide once they are done/.test(textOf(root))];
  };
  assert.deepEqual(goOn("running"), [true, true]); // what runs beside it has not come to its end
  assert.deepEqual(goOn("waiting"), [false, false]);
});

test("what came of a decision is said in place of what was said of it before", async () => {
  const shown = () => state.app.toasts.map((one) => one.text).filter((text) => text !== "Troupe cannot be reached."); // as lists say here
  const pressed = async (root, name) => {
    all(root).find((n) => n.localName === "button" && textOf(n) === name).l.Clickfalse({}); // as the view library keeps it
    for (let left = 20; left; left--) await new Promise((done) => setTimeout(done, 1));
  };
  state.app.toasts.slice().forEach(state.dismiss);
  const session = new Session(), e = new Events();
  for (const event of [e.start("deliver", "Lockers"), e.said("Lockers")]) session.take(event);
  const gate = { key: 7, type: "question", open: true, question: "Requirements is done.", tool: "gate", time: new Date().toISOString(), arguments: { phase: "requirements", next: "architecture", ready: true, status: "success" }, ask: { id: 7, kind: "gate" } };
  session.items.push(gate);
  session.questions.push(gate);
  let line = false;
  const acts = { answer: async (item, values, done, refused) => line || refused({ code: "offline", message: "There is no connection." }) };
  const page = draw(html`<${Delivery} here=${here(session)} info=${null} status="waiting" acts=${acts} show=${() => {}} />`);
  await pressed(page, "Go on to architecture");
  assert.deepEqual(shown(), ["Your decision was not taken. There is no connection."]);
  line = true;
  await pressed(page, "Go on to architecture");
  assert.deepEqual(shown(), []);

  const answers = [[409, { detail: "There are changes in your project." }], [200, { done: "It is in the project now." }]], { fetch } = globalThis;
  globalThis.fetch = async () => { const [status, body] = answers.shift(); return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } }); };
  state.app.me = { name: "", operator: true, can: [], version: "" };
  const site = { session: "s", outcome: "delivered", acts: ["apply"], files: [], commits: [] };
  const outcome = draw(html`<${Outcome} site=${site} session=${session} again=${async () => {}} />`);
  await pressed(outcome, "Take it");
  assert.deepEqual(shown(), ["There are changes in your project."]);
  await pressed(outcome, "Take it");
  assert.deepEqual(shown(), ["It is in the project now."]);
  globalThis.fetch = fetch;
  state.app.toasts.slice().forEach(state.dismiss);
});

test("who may not take a result is told whom to ask", () => {
  const site = { session: "s", outcome: "delivered", acts: ["apply"], files: [], commits: [] }, { me } = state.app;
  for (const operator of [true, false]) {
    state.app.me = { name: "bob", operator, can: [], version: "" };
    const said = textOf(draw(html`<${Outcome} site=${site} session=${new Session()} again=${async () => {}} />`));
    assert.equal(/Taking it into the project is for whoever runs Troupe/.test(said), !operator);
    assert.equal(/Take it/.test(said), operator);
  }
  state.app.me = me;
});

test("a document that could not be kept says why, and the exact words are folded", async () => {
  const session = new Session();
  let seq = 0;
  const failed = (path, error) => ({ path, type: "file", state: "failed", error });
  const result = { phase: "requirements", status: "partial", artifacts: [failed("../stories.md", 'write: path "../stories.md" leads upwards'), { ...failed("specs/plan.md", "upload: there is no knowledge base"), sha256: "x", change: "created", size: 3 }, failed("odd.md", "write: EWHAT 7")] };
  for (const [run, parent, kind, body] of [["d", "", "run_started", {}], ["p", "d", "run_started", { depth: 1, definition: { kind: "phase" } }], ["p", "d", "run_finished", { output: { key_outputs: { result } } }], ["d", "", "run_finished", { output: {} }]]) session.take({ seq: ++seq, time: new Date(1e12).toISOString(), session: "s", run, parent, step: "1", agent: parent ? "requirements" : "deliver", kind, body });
  const root = draw(html`<${Delivery} here=${here(session)} info=${null} status="completed" acts=${{}} show=${() => {}} />`);
  assert.doesNotMatch(textOf(root), /could not be saved/); // what is shown once all is known is not moved away
  for (let left = 500; left && !/could not be saved/.test(textOf(root)); left--) await new Promise((done) => setTimeout(done, 10));
  const shown = textOf(root);
  assert.match(shown, /Stories could not be saved: its path leads to no place in the project\./);
  assert.match(shown, /Plan is saved, and could not be put into the library: there is no library to put it into\./);
  assert.match(shown, /Odd could not be saved\.What was said about itEWHAT 7/);
});

test("a gate says what the checks said, what to be aware of, and that a plan is still there", () => {
  const gateOf = (question, arguments_) => {
    const session = new Session();
    const e = new Events();
    for (const event of [e.start("deliver", "Lockers"), e.said("Lockers")]) session.take(event);
    const gate = { key: 7, type: "question", open: true, question, tool: "gate", time: new Date().toISOString(), arguments: arguments_, ask: { id: 7, kind: "gate" } };
    session.items.push(gate);
    session.questions.push(gate);
    const root = draw(html`<${Delivery} here=${here(session)} info=${null} status="waiting" acts=${{}} show=${() => {}} />`);
    return { text: textOf(all(root).find((n) => n.localName === "section")), buttons: all(root).filter((n) => n.localName === "button").map(textOf) };
  };
  const step = gateOf("“First” is done: 1 file +1 −0.\n\nChecks:\n- test ✓ (2 tests)\n\nTo be aware of:\n- a.go was changed by hand\n\n```diff\n+x\n```\n\nAnswer \"go on\", \"stop\" to end here, or say what should be different.", { phase: "step 1", kind: "step", ready: true, status: "success", warnings: ["a.go was changed by hand"] });
  assert.match(step.text, /test ✓ \(2 tests\)/);
  assert.match(step.text, /To be aware ofA\.go was changed by hand/);
  assert.equal(step.text.split("The question in full")[0].match(/changed by hand/g).length, 1);
  const plan = gateOf("Planning failed.", { phase: "planning", next: "implementation", ready: false, status: "failed", lacking: "there is no plan to carry out", kept: 2 });
  assert.ok(plan.buttons.includes("Carry out the plan that is there"));
  assert.ok(!gateOf("Planning failed.", { phase: "planning", next: "implementation", lacking: "there is no plan to carry out" }).buttons.some((text) => /Carry out|Go on/.test(text)));
});

test("a diagram that cannot be drawn says what in which line is not understood", () => {
  const many = ["SEMI", "NEWLINE", "EOF", "AMP", "START_LINK", "LINK"].map((name) => `'${name}'`).join(", ");
  for (const [message, want] of [
    [`Parse error on line 2:\n...aph TD  A --> --> B\n-----------------^\nExpecting ${many}, got 'MINUS'`, "line 2 is not understood at “--> B”: MINUS was not expected there."],
    ["Parse error on line 3:\n...Alice->>Bob\n--------------^\nExpecting 'TXT', got 'NEWLINE'", "line 3 is not understood at its end: expected TXT, found NEWLINE."],
    ["Lexical error on line 1. Unrecognized text.\ngraph §§\n------^", "line 1 is not understood at “§§”."],
    ["No diagram type detected matching given configuration for text: x\nmore", "No diagram type detected matching given configuration for text: x"],
  ]) assert.equal(reasonOf(message), want);
});

test("where a file goes that is asked about is said without the engine’s names", async () => {
  const { Question } = await import("../page/cards.js");
  const mary = { id: "mary", name: "Mary" };
  const shown = (path) => {
    const question = `May I save this?\n\n    file_path: ${path}\n    content:\n        {is}/text`;
    const item = { key: "q", type: "question", open: true, question, tool: "save_output", arguments: { file_path: path, content: "{is}/text" }, ask: { id: 1, kind: "approval" } };
    return textOf(draw(html`<${Question} item=${item} agent=${mary} acts=${{}} id="s" />`));
  };
  for (const [path, want] of [["{session-folder}/a.md", "this conversation / a.md"], ["{project_root}/docs/a.md", "the project / docs/a.md"], ["{planning_artifacts}/prd.md", "planning artifacts / prd.md"]]) {
    assert.ok(shown(path).includes(`File: ${want}`), shown(path));
    assert.ok(shown(path).includes("{is}/text"));
  }
});

test("an answer in one’s own words is offered once", async () => {
  const { Question } = await import("../page/cards.js");
  const item = { key: "q", type: "question", open: true, question: "Which one?\n\n1. Red\n2. Something else", ask: { id: 1, kind: "question", choices: [{ label: "Red" }, { label: "Something else" }] } };
  const shown = textOf(draw(html`<${Question} item=${item} agent=${{ id: "mary", name: "Mary" }} acts=${{}} id="s" />`));
  assert.match(shown, /Which one\?Your answerRedSomething else…Say it in your own words/);
});

test("a run with several models says of each what filled its memory", () => {
  const drawn = (...models) => {
    const e = new Events(), s = new Session();
    for (const event of [e.start("alex", "hi"), e.said("hi"), ...models.map(([name, history, window], i) => { const r = e.replied(i + 2, "Well."); return { ...r, body: { ...r.body, model: name, usage: { input_tokens: history }, context: { system: 0, tools: 0, history: history - 10, window } } }; })]) s.take(event);
    const root = draw(html`<${Run} here=${here(s)} at="" agent=${{ id: "alex", name: "Alex" }} />`);
    return textOf(all(root).find((n) => n.attributes?.get("class") === "memory" || n.className === "memory"));
  };
  const two = drawn(["small", 100, 1000], ["large", 5000, 200_000], ["small", 200, 1000]);
  assert.match(two, /^What filled the models’ memory.*smallat most 200 of 1,000 tokensTurn 1100Turn 3200largeat most 5,000 of 200,000 tokensTurn 25,000$/);
  assert.match(drawn(["small", 100, 1000]), /^What filled the model’s memoryat most 100 of 1,000 tokens.*Turn 1100$/);
});

test("nobody has stopped what a conversation was forked in the middle of", () => {
  const ends = (reason) => {
    const e = new Events(), s = new Session();
    for (const event of [e.start("alex", "hi"), e.said("hi"), e.replied(2, "", [{ id: "c", name: "read_file" }]), e.called(3, "read_file", {}), { ...e.abandoned(), body: { reason } }, { ...e.resumed(), kind: "session_forked", body: { from: "other", after: 4 } }]) s.take(event);
    const drawn = html`<${Conversation} here=${here(s)} status="cancelled" acts=${{ agent: "alex", provider: () => "", resume() {} }} openFile=${openFile} />`;
    draw(drawn); // asks for what is loaded on demand
    return [textOf(draw(drawn)), textOf(draw(html`<${Run} here=${here(s)} at="" agent=${{ id: "alex", name: "Alex" }} />`))];
  };
  const [talk, run] = ends("forked from session other after event 4");
  assert.match(talk, /This is not finishedWhat was done so far is kept\.Go on/);
  assert.match(run, /alex is not finished/);
  assert.doesNotMatch(talk + run, /[Ss]topped/);
  const [stopped, stoppedRun] = ends("the user stopped it");
  assert.match(stopped, /StoppedWhat was done so far is kept\.Go on/);
  assert.match(stoppedRun, /alex was stopped/);
  assert.match(ends("interrupted, and not resumed before the next message")[0], /Troupe was restarted in the middle of this/);
});
