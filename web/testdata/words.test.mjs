import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { asking, did, doing, done, gates, isToldVain, isVain, kindOf } = await import("../page/words.js");
const { parsed } = await import("../page/preview.js");
const { blocksOf, turnsOf } = await import("../page/turns.js");
const { nameOf } = await import("../page/format.js");
const { priceWords } = await import("../page/models.js");
const { plainPath, taskIcon } = await import("../page/forms.js");
const { sectionsChanged } = await import("../page/sections.js");
const { agentOf } = await import("../page/state.js");
const { codeIn } = await import("../page/signin.js");
const { offersFor } = await import("../page/offers.js");
const { elements } = await import("../page/code.js");
const { routeOf, address } = await import("../page/route.js");

test("what tools do is said without variables, paths of the machine or names of functions", () => {
  assert.equal(doing("read_file", { file_path: "{session-folder}/plans/a.md" }), "reading a.md");
  assert.deepEqual(did([{ tool: "read_file", arguments: { file_path: "{bundle-root}/x.md" } }, { tool: "read_file", arguments: {} }, { tool: "web_search", arguments: { query: "q" } }]), ["Read 2 files", "searched the web for “q”"]);
  assert.equal(doing("issues_create-issue", {}, true), "Used issues create issue");
  assert.deepEqual(did([{ tool: "no_such_tool", class: "not_found", content: "there is no tool no_such_tool; there are: read_file" }]), ["Looked for a tool that is not there"]);
  assert.deepEqual(did([{ tool: "transfer_to_lawyer" }, { tool: "revise", arguments: { feedback: "Too long." } }]), ["Handed over to lawyer", "sent it back: “Too long.”"]);
  assert.deepEqual(did([{ tool: "read_file", arguments: { file_path: "a.md" } }, { tool: "read_file", class: "not_found", arguments: { file_path: "{session-folder}/b.md" } }]), ["Read a.md", "did not find b.md"]);
  assert.deepEqual(did([{ tool: "write_file", state: "interrupted", arguments: { file_path: "{session-folder}/a.md" } }, { tool: "write_file", arguments: { file_path: "{session-folder}/b.md" } }]), ["Began to save a.md (not known whether it was done)", "saved b.md"]);
  assert.deepEqual(did([{ tool: "open_worktree" }, { tool: "run_check" }, { tool: "run_check" }]), ["Made a working copy of the project", "ran the checks"]);
  assert.equal(agentOf("product-owner-agent").name, "Product owner");
  assert.equal(agentOf("team-fullstack").name, "Team fullstack");
  assert.equal(agentOf("polish_it").name, "polish it");
  assert.equal(plainPath("{{output_folder}}/a/b.md"), "a/b.md");
  assert.equal(nameOf("planning/project-brief.md"), "Project brief");
});

test("what a model costs is written so that it can be compared", () => {
  assert.equal(priceWords({ price: { input: 2.5, output: 10 } }, 0), "$2.50 in, $10.00 out, per million tokens");
  assert.equal(priceWords({ price: { input: 0.075, output: 0.3 } }, 0), "$0.075 in, $0.30 out, per million tokens");
  assert.equal(priceWords({ price: { input: 2.5, output: 10 } }, 200_000), "about $0.51 an answer");
});

test("a kind of task has an icon of its own", () => {
  assert.deepEqual(["Create PRD", "Brainstorm Project", "Market Research", "Create Architecture", "Implementation Readiness", "Dev Story", "Code Review", "Sprint Planning", "Validate PRD", "Generate tests", "Document Project"].map(taskIcon),
    ["file-text", "pen-line", "compass", "map", "shield-check", "hammer", "scan-search", "layers", "circle-check", "flask-conical", "book-open"]);
});

test("the sections are counted that a version has changed", () => {
  const brief = "# Lockers\n\nA brief.\n\n## Costs\n\n$5\n\n```sh\n# not a heading\nls\n```\n\n## Risks\n\nA full bank.\n";
  assert.equal(sectionsChanged(brief, brief), 0);
  assert.equal(sectionsChanged(brief, brief.replace("$5", "$6").replace("ls", "ls -a")), 1);
  assert.equal(sectionsChanged(brief, brief.replace("## Risks", "## Dangers")), 1);
  assert.equal(sectionsChanged(brief, brief.replace("A brief.", "Brief.") + "\n## More\n\nWords.\n"), 2);
  assert.equal(sectionsChanged(brief, "# Lockers\n\nA brief.\n"), 2);
});

test("the same call several times is one thing that is counted", () => {
  const missing = (name) => ({ tool: "read_file", class: "not_found", arguments: { file_path: name } });
  assert.deepEqual(did(["x.md", "x.md", "x.md", "x.md", "x.md"].map(missing)), ["Did not find x.md, 5 times"]);
  assert.deepEqual(did(["x.md", "x.md"].map(missing)), ["Did not find x.md, twice"]);
  assert.deepEqual(did(["x.md", "y.md", "x.md"].map(missing)), ["Did not find 2 files"]);
  assert.deepEqual(did([{ tool: "read_file" }, { tool: "read_file" }]), ["Read 2 files"]);
  assert.deepEqual(did([{ tool: "list_files" }, { tool: "list_files" }]), ["Looked for files 2 times"]);
  assert.deepEqual(did([1, 2].map(() => ({ tool: "web_search", arguments: { query: "q" } }))), ["Searched the web for “q”, twice"]);
});

test("a step of a plan is called by its title", () => {
  assert.equal(gates.step.title("step step-1", "Step step-1 (Take it (all) off) is done: 2 files +16 −0.\n\nmore (x) is done: y"), "“Take it (all) off” is done.");
  assert.equal(gates.step.title("step step-1", "Something else"), "Step step-1 is done.");
});

test("comma-separated values are read as they are written", () => {
  assert.deepEqual(parsed('a,b\r\n"x, ""y""",2\n'), [["a", "b"], ['x, "y"', "2"]]);
  assert.deepEqual(parsed("a\tb\n1\t2", "\t"), [["a", "b"], ["1", "2"]]);
});

test("a pasted link and a code are the same", () => {
  for (const text of ["abc_-9", " abc_-9\n", "http://127.0.0.1:7717/#token=abc_-9", "https://x.example/troupe/#token=abc_-9&x=1"]) assert.equal(codeIn(text), "abc_-9");
});

test("calls that follow each other are one line, files saved together one card", () => {
  const items = [{ key: 0, type: "user", version: 0, time: "t" }, ...["tool", "tool", "file", "tool", "file", "answer"].map((type, i) => ({ key: i + 1, type, path: "f" + i, agent: "a", depth: 0, text: "x", version: 0, time: "t" }))];
  const turns = turnsOf(items);
  assert.deepEqual(turns.map((t) => t.who), ["you", "agent"]);
  assert.deepEqual(blocksOf(turns[1].items).map((b) => [b.type, b.items.length]), [["calls", 3], ["files", 2], ["answer", 1]]);
});

test("a slash offers tasks by their labels", () => {
  const agent = { name: "Mary", commands: [{ cmd: "brief", label: "Produce a brief", trigger: "*brief" }, { cmd: "exit", label: "Exit", trigger: "*exit", hidden: true }] };
  assert.deepEqual(offersFor(agent, "/").map((o) => o.label), ["Produce a brief"]);
  assert.deepEqual(offersFor(agent, "/bri").map((o) => o.send), ["*brief"]);
  assert.deepEqual(offersFor(agent, "see #pl", ["plan.md", "x.md"]).map((o) => o.insert), ["plan.md"]);
  assert.deepEqual(offersFor(agent, "hello"), []);
});

test("only spans with a class come out of what the highlighter writes", () => {
  const made = elements('<span class="hljs-keyword">func</span> f(a &lt; b) <img src=x onerror=y><span class="x" onclick="z">q</span>');
  const names = (list) => list.flatMap((e) => (typeof e === "string" ? [] : [e.type, ...Object.keys(e.props).filter((k) => !["class", "children"].includes(k)), ...names([].concat(e.props.children ?? []))]));
  assert.deepEqual([...new Set(names(made))], ["span"]);
});

test("an address says where one is, and is read back", () => {
  const there = routeOf(address(["s", "a/b", "run", "7"], { file: "x y.md", v: 2, none: "" }));
  assert.deepEqual(there, { name: "s", id: "a/b", view: "run", at: "7", query: { file: "x y.md", v: "2" } });
  assert.equal(routeOf("#/%zz").name, "%zz");
});

test("a call that was not allowed is not told as done", () => {
  const refused = { tool: "mail_send", arguments: { to: "ann" }, state: "done", class: "unauthorized" };
  assert.deepEqual(did([refused]), ["Was not allowed to use mail send"]);
  assert.deepEqual(did([refused, refused]), ["Was not allowed to use mail send, twice"]);
  assert.deepEqual(did([{ ...refused, class: "" }, refused]), ["Used mail send", "was not allowed to use mail send"]);
  assert.ok(isVain(refused));
});

test("a handover that was refused is not told as made", () => {
  const refused = (tool, args) => ({ tool, arguments: args, class: "invalid_arguments", state: "failed" });
  assert.deepEqual(did([refused("transfer_to_poet", {})]), ["Could not hand over to poet"]);
  assert.deepEqual(did([refused("transfer_to_poet", {}), refused("transfer_to_poet", {}), { tool: "transfer_to_poet" }]), ["Could not hand over to poet, twice", "handed over to poet"]);
  assert.deepEqual(did([refused("give_floor", { to: "poet" })]), ["Could not let poet speak"]);
  assert.deepEqual([refused("accept"), refused("revise", {}), refused("write_ledger")].map(done), ["Could not accept it", "Could not ask for a better one", "Could not note where it stands"]);
  assert.ok(isToldVain(refused("transfer_to_poet")) && !isToldVain(refused("mail__send")) && !isToldVain({ tool: "transfer_to_poet" }));
});

test("what a tool is for is said without what it is given", () => {
  for (const [tool, want] of [["write_file", "save files"], ["save_output", "save files"], ["edit_file", "change files"], ["web_search", "search the web"], ["query_plan", "look up the step in the plan"], ["mail__send", "use mail send"]]) assert.equal(kindOf(tool), want);
});

test("a handover that is refused again and again is one line, whatever is said in between", () => {
  const call = (key, tool = "transfer_to_poet") => ({ key, type: "tool", tool, arguments: {}, state: "failed", class: "not_found" });
  const said = (key) => ({ key, type: "answer", text: "Not mine." });
  const blocks = blocksOf([said(1), call(2), said(3), call(4), said(5), call(6), call(7, "web_search"), said(8), call(9, "web_search")]);
  assert.deepEqual(blocks.map((b) => [b.type, b.items.length]), [["answer", 1], ["calls", 3], ["answer", 1], ["answer", 1], ["calls", 1], ["answer", 1], ["calls", 1]]);
  assert.deepEqual(did([call(1), call(2), call(3)]), ["Could not hand over to poet, 3 times"]);
});

test("what a card asks is not said twice", async () => {
  const { beforeQuestion } = await import("../page/turns.js");
  const choices = [{ label: "Yes", description: "the bank needs a reader" }, { label: "No", description: "" }];
  const list = "1. **Yes**: the bank needs a reader\n2. No";
  for (const [answer, text, before] of [
    ["It is written.\n\nShall it?\n\n" + list, "Shall it?", "It is written."],
    ["It is written.\n\nShall it?\n" + list, "Shall it?\n" + list, "It is written."],
    ["Shall it?\n\n" + list, "Shall it?", ""],
    ["It is written.\n\n" + list + "\n\nWhich one?", "Which one?", "It is written."],
    ["Shall it? I think so.\n\nShall it?\n\n" + list, "Shall it?", "Shall it? I think so."],
    ["Shall it?\n\n" + list + "\n\nAnswer with a number.", "Shall it?", undefined], // that is said in the answer alone
    ["Shall it?\n\n1. Yes\n   or later\n2. No", "Shall it?", undefined],
    ["Shall it?\n\n1. Yes\n2. No\n3. Whatever else, at length", "Shall it?", undefined],
    ["1. Yes\n\nShall it?", "Shall it?", undefined],
    ["It is written.", "Shall it?", undefined],
  ]) assert.equal(beforeQuestion(answer, { text, choices }), before, answer);
});

test("a menu in one line, or with bold letters, is not said twice either", async () => {
  const { beforeQuestion, withoutChoices } = await import("../page/turns.js");
  const choices = [{ label: "Advanced Elicitation", description: "look again" }, { label: "Party Mode", description: "" }, { label: "Continue", description: "" }];
  const done = "The brief is written.";
  for (const [menu, question] of [
    ["**Select an Option:** [A] Advanced Elicitation - look again [P] Party Mode [C] Continue", "Select an Option:"],
    ["**Select:** **[A] Advanced Elicitation** - look again / **[P] Party Mode** / **[C] Continue**", "Select:"],
    ["What next? `[A] Advanced Elicitation - look again` | `[P] Party Mode` | `[C] Continue`", "What next?"],
    ["Pick one:\n[**A**] Advanced Elicitation - look again\n- **[P]** Party Mode\n- **C)** Continue", "Pick one:"],
    ["**Pick one:**\n**[A] Advanced Elicitation** - look again\n`[P]` Party Mode\n**C.** Continue", "**Pick one:**"],
    ["Pick one:\n[A] Advanced Elicitation - look again [P] Party Mode\n[C] Continue", "Pick one:"],
  ]) {
    assert.equal(withoutChoices(menu, choices), question, menu);
    assert.equal(beforeQuestion(`${done}\n\n${menu}`, { text: menu, choices }), done, menu);
    assert.equal(beforeQuestion(`${done}\n\n${menu}\nOr say what you want.`, { text: menu, choices }), undefined, menu);
  }
  const line = "[A] Advanced Elicitation - look again [P] Party Mode [C] Continue";
  assert.equal(beforeQuestion(`${done} What next?\n\n${line}`, { text: `${done} What next?`, choices }), "");
  assert.equal(beforeQuestion(`${done}\n\n${line}\n\nWhich one?`, { text: "Which one?", choices }), done);
  assert.equal(withoutChoices("What next?\n1. [MH] Help\n2. [CH] Chat", [{ label: "[MH] Help" }, { label: "[CH] Chat" }]), "What next?");
  // A menu of one.
  assert.equal(beforeQuestion(`${done}\n\n**Select:**\n**[C]** Continue`, { text: "**Select:**\n**[C]** Continue", choices: choices.slice(2) }), done);
  // What is no choice stays, and so does a line that only speaks of one.
  for (const text of ["I would take [C] Continue if in doubt.", "Select: [A] Advanced Elicitation [S] Stop", "**2. Party**", "`a[C]` is **bold**"]) assert.equal(withoutChoices(text, choices), text);
});

test("what was found is quoted without what only a program needs", async () => {
  const { quote } = await import("../page/found.js");
  for (const [line, said] of [
    ["…| Way | Lockers | Full on |", "“…Way, Lockers, Full on”"], ["| One bank | 24 | 41 nights |…", "“One bank, 24, 41 nights…”"], ['{"lockers": 24, "sundays": {"full": 41', "“lockers: 24, sundays: full: 41”"],
    ["## A **bank** of `lockers`", "“A bank of lockers”"], ["See [the plan](plan.md) of it", "“See the plan of it”"], ["either | or", "“either | or”"], ["She said: \"lockers\"", "“She said: \"lockers\"”"], ["", ""],
  ]) assert.equal(quote(line), said, line);
});

test("what a long question asks is not cut off", () => {
  const before = "I have read the brief, the notes of the meeting and what the others have said about it so far, and there are three things that I do not understand yet. ";
  assert.equal(asking("**Which one?**"), "Which one?");
  assert.match(asking(before + "Shall I begin with the costs?"), /^I have read the brief.* … Shall I begin with the costs\?$/);
  assert.match(asking("Shall I begin?\n\n" + before), /^Shall I begin\? I have read .* …$/);
  assert.match(asking(before), /^I have read .* …$/);
  assert.equal(asking(before + `Shall I ${"really ".repeat(30)}begin?`), `… Shall I ${"really ".repeat(30)}begin?`);
  for (const text of [before, before + before + "Why?"]) assert.ok(asking(text).length <= 155);
});

test("an answer that reached a model’s limit and goes on is one answer", () => {
  const answer = (text, more) => ({ type: "answer", key: text.slice(0, 9), agent: "alex", run: "r", text, version: 0, finish: "length", ...more });
  const said = (...items) => turnsOf(items).map((turn) => turn.items.map((item) => [item.key, item.text]));
  assert.deepEqual(said(answer("It beg"), answer("ins and "), answer("ends.", { finish: "stop" })), [[["It beg", "It begins and ends."]]]);
  const whole = "It begins with the first of all words";
  assert.deepEqual(said(answer(whole.slice(0, 30)), answer(whole, { finish: "stop" })), [[[whole.slice(0, 9), whole]]]); // said anew
  assert.deepEqual(said(answer("One.", { finish: "stop" }), answer("Two.", { finish: "stop" })), [[["One.", "One."], ["Two.", "Two."]]]);
  assert.deepEqual(said(answer("One"), answer("Two.", { run: "r2" })), [[["One", "One"], ["Two.", "Two."]]]);
  assert.deepEqual(said(answer("One"), { type: "tool", key: "t", agent: "alex", run: "r", tool: "a", version: 0 }, answer("Two."))[0].length, 3);
});
