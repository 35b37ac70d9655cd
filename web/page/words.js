// What machines do, in people's words. Nothing here is ever sent to a model.

import { capital, isNoTool, nameOf, nameOfPhase, states } from "./format.js";
import { plainPath } from "./forms.js";
import { agentOf } from "./state.js";

const file = (args) => plainPath(args?.file_path ?? args?.path ?? args?.name ?? "");
const base = (path) => path.split("/").at(-1);
const command = (a) => (Array.isArray(a?.command) ? a.command.join(" ") : "");
const quoted = (text) => (text ? ` “${String(text).slice(0, 80)}”` : "");

// Each tool: [icon, what it does now, what it did, the same of several].
const tools = {
  __proto__: null, // names come from outside
  read_file: ["file-text", (a) => `reading ${base(file(a)) || "a file"}`, (a) => `Read ${base(file(a)) || "a file"}`, (n) => `Read ${n} files`],
  "read_file, not found": ["file-text", (a) => `looking for ${base(file(a))}`, (a) => `Did not find ${base(file(a)) || "a file"}`, (n) => `Did not find ${n} files`],
  list_files: ["folder-open", () => "looking what files there are", () => "Looked what files there are", (n) => `Looked for files ${n} times`],
  save_output: ["download", (a) => `saving ${base(file(a))}`, (a) => `Saved ${base(file(a))}`, (n) => `Saved ${n} files`],
  write_file: ["download", (a) => `saving ${base(file(a))}`, (a) => `Saved ${base(file(a))}`, (n) => `Saved ${n} files`],
  edit_file: ["pencil", (a) => `changing ${base(file(a))}`, (a) => `Changed ${base(file(a))}`, (n) => `Changed ${n} files`],
  "save, not": ["download", (a) => `saving ${base(file(a))}`, (a) => `Did not save ${base(file(a)) || "a file"}`, (n) => `did not save ${n} files`],
  execute_workflow: ["workflow", (a) => `opening the workflow ${workflow(a)}`, (a) => `Opened the workflow ${workflow(a)}`, (n) => `Opened ${n} workflows`],
  invoke_agent: ["users", (a) => `asking ${colleague(a)}`, (a) => `Asked ${colleague(a)}`, (n) => `Asked ${n} colleagues`],
  use_skill: ["book-open", (a) => `reading up on ${a?.name ?? "a skill"}`, (a) => `Read up on ${a?.name ?? "a skill"}`, (n) => `Used ${n} skills`],
  search_skills: ["book-open", () => "looking for know-how", () => "Looked for know-how", () => "Looked for know-how"],
  web_search: ["search", (a) => "searching the web for" + quoted(a?.query), (a) => "Searched the web for" + quoted(a?.query), () => "searched the web"],
  web_fetch: ["external-link", (a) => `reading ${host(a?.url)}`, (a) => `Read ${host(a?.url)}`, (n) => `read ${n} pages`],
  wikipedia: ["book-open", (a) => "looking in Wikipedia for" + quoted(a?.query), (a) => "Looked in Wikipedia for" + quoted(a?.query), () => "looked in Wikipedia"],
  ask_user: ["message-circle-question-mark", () => "asking you", () => "Asked you", (n) => `asked you ${n} times`],
  calculate: ["zap", () => "calculating", () => "Calculated", () => "calculated"],
  calculator: ["zap", () => "calculating", () => "Calculated", () => "calculated"],
  run_command: ["terminal", (a) => `running${quoted(command(a)) || " a program"}`, (a) => `Ran${quoted(command(a)) || " a program"}`, (n) => `ran ${n} programs`],
  add_knowledge: ["archive", (a) => `putting ${a?.name ?? "a document"} into the library`, (a) => `Put ${a?.name ?? "a document"} into the library`, (n) => `put ${n} documents into the library`],
  search_code: ["search", (a) => "searching the project for" + (quoted(a?.pattern) || " something"), (a) => "Searched the project for" + (quoted(a?.pattern) || " something"), (n) => `searched the project ${n} times`],
  outline: ["list", (a) => `looking at what is in ${base(file(a)) || "the project"}`, (a) => `Looked at what is in ${base(file(a)) || "the project"}`, () => "looked at what is in the project"],
  show_diff: ["file-text", () => "looking at the change", () => "Looked at the change", () => "looked at the change"],
  check_output: ["circle-check", () => "looking at what the checks said", () => "Looked at what the checks said", () => "looked at what the checks said"],
  read_document: ["file-text", (a) => `reading what came of ${phaseIn(a)}`, (a) => `Read what came of ${phaseIn(a)}`, (n) => `read ${n} documents of the delivery`],
  read_documents: ["file-text", () => "reading the documents of the delivery", () => "Read the documents of the delivery", () => "read the documents of the delivery"],
  read_plan: ["list", () => "looking at the plan", () => "Looked at the plan", () => "looked at the plan"],
  write_plan: ["pencil", () => "noting how the plan stands", () => "Noted how the plan stands", () => "noted how the plan stands"],
  query_plan: ["search", () => "looking up the step in the plan", () => "Looked up the step in the plan", (n) => `looked up ${n} steps in the plan`],
  query_knowledge: ["search", () => "looking in the library", () => "Looked in the library", () => "looked in the library"],
  gather_files: ["folder-open", () => "looking what files there are", () => "Looked what files there are", () => "looked what files there are"],
  upload_artifact: ["archive", (a) => `putting ${documentIn(a)} into the library`, (a) => `Put ${documentIn(a)} into the library`, (n) => `put ${n} documents into the library`],
  commit_documents: ["check", () => "recording the documents", () => "Recorded the documents", () => "recorded the documents"],
  count_changes: ["file-text", () => "looking which files have changed", () => "Looked which files have changed", () => "looked which files have changed"],
  find_checks: ["circle-check", () => "looking for checks", () => "Looked for checks", () => "looked for checks"],
  adopt_checks: ["circle-check", () => "taking over the checks", () => "Took over the checks", () => "took over the checks"],
  compare_dependencies: ["file-text", () => "looking what the project depends on", () => "Looked what the project depends on", () => "looked what the project depends on"],
  run_setup_again: ["wrench", () => "setting the project up again", () => "Set the project up again", () => "set the project up again"],
  publish: ["check", () => "putting the result into its folder", () => "Put the result into its folder", () => "put the result into its folder"],
  open_worktree: ["folder-open", () => "making a working copy of the project", () => "Made a working copy of the project", () => "made a working copy of the project"],
  run_setup: ["wrench", () => "setting the project up", () => "Set the project up", () => "set the project up"],
  run_check: ["circle-check", () => "running the checks", () => "Ran the checks", () => "ran the checks"],
  apply_changes: ["pencil", () => "changing files of the project", () => "Changed files of the project", () => "changed files of the project"],
  "apply_changes, none": ["pencil", () => "changing files of the project", () => "Changed nothing, because not everything fitted", (n) => `changed nothing ${n} times, because not everything fitted`],
  run_format: ["pencil", () => "tidying up the code", () => "Tidied up the code", () => "tidied up the code"],
  commit_step: ["check", () => "recording the step", () => "Recorded the step", (n) => `recorded ${n} steps`],
  keep_attempt: ["archive", () => "putting the attempt aside", () => "Put the attempt aside", (n) => `put ${n} attempts aside`],
  show_files: ["file-text", () => "looking at the project’s files", () => "Looked at the project’s files", () => "looked at the project’s files"],
  show_change: ["file-text", () => "looking at the change", () => "Looked at the change", () => "looked at the change"],
  try_finding: ["zap", () => "trying out a finding", () => "Tried out a finding", (n) => `tried out ${n} findings`],
  write_artifact: ["download", (a) => `saving ${documentIn(a)}`, (a) => `Saved ${documentIn(a)}`, (n) => `Saved ${n} documents`],
  "no tool": ["wrench", () => "looking for a tool", () => "Looked for a tool that is not there", (n) => `looked for ${n} tools that are not there`],
  accept: ["check", () => "accepting it", () => "Accepted it", () => "accepted it"],
  revise: ["repeat", () => "asking for a better one", (a) => `Sent it back:${quoted(a?.feedback)}`, (n) => `sent it back ${n} times`],
  give_floor: ["message-square", (a) => `letting ${a?.to ?? "somebody"} speak`, (a) => `Let ${a?.to ?? "somebody"} speak`, (n) => `let others speak ${n} times`],
  write_ledger: ["pencil", () => "noting where it stands", () => "Noted where it stands", () => "noted where it stands"],
  gate: ["hand", () => "asking for your decision", () => "Asked for your decision", () => "asked for your decisions"],
  search_knowledge: ["search", (a) => "looking in the library for" + quoted(a?.query), (a) => "Looked in the library for" + quoted(a?.query), () => "looked in the library"],
};

// written is what people call what a phase writes; its file has a date for a name.
export const written = { __proto__: null, requirements: "User stories", architecture: "Architecture", discovery: "Files that matter", planning: "Plan", qa: "Review" };

// documentIn is what people call the document that a call is about.
const documentIn = (a) => (written[a?.phase] ? `“${written[a.phase]}”` : base(file(a)) || "a document");

const phaseIn = (a) => (a?.phase ? nameOfPhase(String(a.phase)).toLowerCase() : "a phase");

const workflow = (a) => quoted(nameOf(plainPath(a?.workflow_path ?? "").replace(/\/workflow\.\w+$/, "").replace(/(^|\/)workflow-(?=[\w-]+\.\w+$)/, "$1"))).trim();
const colleague = (a) => (a?.agent_id ? agentOf(a.agent_id).name : "a colleague");

function host(url) {
  try {
    return new URL(url).host;
  } catch {
    return "a page";
  }
}

const plain = (tool) => tool.replace(/^mcp__/, "").replace(/[_-]+/g, " ");

// orders are the verbs of what a call would do, as one asks for it: "Save brief.md".
export const orders = { __proto__: null, reading: "Read", looking: "Look", saving: "Save", changing: "Change", opening: "Open", asking: "Ask", searching: "Search", calculating: "Calculate", using: "Use", running: "Run", putting: "Put", handing: "Hand", letting: "Let", accepting: "Accept", noting: "Note" };

// doing says what a call does, or did, in one line.
export function doing(tool, args, over = false) {
  const known = tools[tool];
  if (known) return known[over ? 2 : 1](args);
  const to = tool.match(/^transfer_to_(.+)$/)?.[1];
  if (to) return `${over ? "Handed over" : "handing over"} to ${plain(to)}`;
  return over ? `Used ${plain(tool)}` : `using ${plain(tool)}`;
}

export const toolIcon = (tool) => tools[tool]?.[0] ?? "wrench";

// isNone says of a call that there is no such tool. Those to hand over with are taken away at the
// limit of a team.
const isNone = (call) => isNoTool(call) && !/^transfer_to_/.test(call.tool);

// called is what a call counts as: a file that is not there was not read, one that was refused
// is not saved, and changes of which one does not fit are not made.
function called(call) {
  if (isNone(call)) return "no tool";
  if (call.tool === "read_file" && call.class === "not_found") return "read_file, not found";
  if (call.class && /^(save_output|write_file|edit_file)$/.test(call.tool)) return "save, not";
  return call.tool === "apply_changes" && /"problems":\s*\[\s*\{/.test(call.content ?? "") ? "apply_changes, none" : call.tool;
}

// isUndecided says of a call that would have decided how a flow goes on that it was refused:
// nobody went on.
export const isUndecided = (call) => !!call.class && !isNone(call) && /^(transfer_to_.+|give_floor|accept|revise|write_ledger)$/.test(call.tool);

// isToldVain says that what is said of a call says already that it came to nothing.
export const isToldVain = (call) => isUndecided(call) || isRefused(call) || called(call) !== call.tool;

// isVain says of a call that it came to nothing.
export const isVain = (call) => call.state === "failed" || isRefused(call) || ["apply_changes, none", "save, not"].includes(called(call));

// asOrder says what a call would do, as one asks for it: "Save brief.md".
export const asOrder = (tool, args) => doing(tool, args).replace(/^\w+/, (word) => orders[word] ?? word);

// kinds are what calls of a tool do whatever they are given, where no order says it.
const kinds = { __proto__: null, read_file: "read files", save_output: "save files", write_file: "save files", edit_file: "change files", run_command: "run programs", web_search: "search the web", web_fetch: "read pages of the web", wikipedia: "look in Wikipedia", execute_workflow: "open workflows", invoke_agent: "ask colleagues", add_knowledge: "put documents into the library", search_knowledge: "look in the library" };

// kindOf says what a tool is for, as one asks for it: "save files".
export const kindOf = (tool) => kinds[tool] ?? lower(asOrder(tool));

// isRefused says of a call that it was not allowed, and so not made.
const isRefused = (call) => call.class === "unauthorized" && called(call) !== "save, not";

// why says which change did not fit, and why, where that is on record.
function why({ content }) {
  try {
    const { path, plain } = JSON.parse(content).problems[0];
    return plain ? `: ${path ? `${path}: ` : ""}${plain}` : "";
  } catch {
    return "";
  }
}

// done says what a call did, in one line.
export const done = (call) => notDone(call) ? `${notDone(call)} ${lower(asOrder(call.tool, call.arguments))}${isCutOff(call) ? " (not known whether it was done)" : ""}` : doing(called(call), call.arguments, true) + (called(call) === "apply_changes, none" ? why(call) : /"error":\s*"a person has written or changed/.test(call.content ?? "") ? ": a person has changed it" : "");

// notDone says of a call that it was not done, or that nobody knows: whoever was at it is gone.
const notDone = (call) => (isRefused(call) ? "Was not allowed to" : isUndecided(call) ? "Could not" : isCutOff(call) ? "Began to" : "");

// isCutOff says of a call that whoever made it was gone before it was done: nobody knows what came of it.
export const isCutOff = (call) => call.state === "interrupted" || call.class === "interrupted";

// did sums up several calls: "Read 3 files, searched the web, calculated". The same call several
// times is one thing: "Did not find a.md, 5 times".
export function did(calls) {
  const counts = new Map();
  for (const call of calls) {
    const kind = notDone(call) + called(call);
    counts.set(kind, [...(counts.get(kind) ?? []), call]);
  }
  const parts = [...counts].map(([tool, list]) => {
    const things = new Set(list.map(done)).size, isNamed = done(list[0]) !== doing(tool, undefined, true);
    if (list.length === 1 || (things === 1 && isNamed)) return done(list[0]) + times(list.length);
    if (notDone(list[0])) return done(list[0]) + times(list.length);
    const several = tools[tool]?.[3];
    if (!several) return `Used ${plain(tool)} ${list.length} times`;
    return several(things > 1 && /(files|pages)$/.test(several(things)) ? things : list.length);
  });
  return parts.map((part, i) => (i ? part[0].toLowerCase() + part.slice(1) : part[0].toUpperCase() + part.slice(1)));
}

export const times = (n) => (n === 1 ? "" : n === 2 ? ", twice" : `, ${n} times`);

// now says what a conversation does, for lists.
export function now(session) {
  const d = session.doing;
  if (session.status === "running") {
    if (d?.what === "tool") return capital(doing(d.tool, { file_path: d.target, query: d.target, url: d.target, agent_id: d.target, workflow_path: d.target, name: d.target }));
    return d?.what === "writing" ? "Writing" : "Thinking";
  }
  if (session.status === "cancelled" && session.forked) return "Not finished"; // nobody may have stopped it: see cutBy
  return (session.status === "completed" && (stops[session.stop] || outcomes[session.outcome])) || (states[session.status] ?? "");
}

// stops are the ends that are no answer, in a few words.
const stops = {
  __proto__: null, // names come from outside
  empty: "Said nothing", length: "The answer was cut off", refused: "Declined to answer", content_filter: "The answer was withheld", repeated_calls: "Stopped: it repeated itself", handoffs: "Handed over too often",
  cost: "Reached its limit", time: "Reached its limit", turns: "Reached its limit", tokens: "Reached its limit", tool_calls: "Reached its limit",
};

// asking is a question in so many characters. What it asks comes last, and is not cut off.
export function asking(text, most = 150) {
  const plain = text.replace(/[#*_`>]/g, "").trim().split(/\s*\n\s*/).join(" ");
  if (plain.length <= most) return plain;
  const ask = plain.split(/(?<=[.!?:])\s+/).findLast((part) => part.includes("?")) ?? "", room = most - ask.length;
  const cut = (length) => plain.slice(0, length).replace(/\s+\S*$/, "") + " …";
  return !ask || plain.indexOf(ask) < room ? cut(most) : (room > 20 ? cut(room) + " " : "… ") + ask;
}

// stopped says in a few words how a run ended that has no answer, and nothing of one that has.
export const stopped = (stop) => stops[stop] ?? "";

const outcomes = { __proto__: null, partial: "Partly done", failed: "Not done" };

export const lower = (text) => text && text[0].toLowerCase() + text.slice(1);

// stepDone names the step that a question says is done by its title.
const stepDone = (asked = "") => asked.replace(/^(?:Step \S+ \((.+)\)|“(.+)”) is done: [^]*$|[^]*/, (_, before, title = before) => (title ? `“${title}” is done.` : ""));

// gates are the questions of a delivery that are not about a phase's result.
export const gates = {
  __proto__: null,
  plan: { ask: "carry out this plan?", title: () => "The plan is ready.", go: "Carry it out" },
  step: { ask: "go on after this step?", title: (phase, asked) => stepDone(asked) || `${phase[0].toUpperCase()}${phase.slice(1)} is done.`, go: "Go on" },
  diff: { ask: "deliver this change?", title: () => "The change is ready.", go: "Deliver it" },
  review: { ask: "have this put right?", title: () => "The review found something to put right.", go: "Put it right", change: "Have it reviewed again", hint: "What does the review get wrong? Only if it is to be done again." },
  dependencies: { ask: "fetch these dependencies?", title: () => "The change wants other dependencies.", go: "Run the setup again" },
  environment: { ask: "can it go on?", title: () => "Something is missing that only you can put right.", go: "Try again" },
};
