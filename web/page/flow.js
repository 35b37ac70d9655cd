// A flow as a graph, while it runs: who works, who is done, who comes next. The list is
// its equal.

import { Graph, layout } from "./lib/dagre.js";
import { agentOf, app, isFlow, nameIn } from "./state.js";
import { capital, cost, hour, short, when } from "./format.js";
import { duration } from "./forms.js";
import { runsOf } from "./steps.js";
import { isCut, untilOf, workedOn } from "./worked.js";
import { go, talkAddress } from "./route.js";
import { kept, keep } from "./kept.js";
import { ChangeGiven, Given, Handed } from "./given.js";
import { Prose } from "./prose.js";
import { valueIn } from "./phase.js";
import { inShort, Trouble } from "./trouble.js";
import { did, doing, done, isToldVain, isUndecided, lower, stopped } from "./words.js";
import { Face, html, icon, lazy, styled, useEffect, useMemo, useRef, useState } from "./view.js";

const Question = lazy(() => styled(() => import("./cards.js")), "Question");

const width = 196, height = 90; // of a box, as its style has it

// How far the columns of a graph are apart, and the edge of a frame from what is in it: usually, and
// where that has no room.
const loose = { apart: 56, inset: 16 }, tight = { apart: 20, inset: 8 };

const ring = 6; // what is drawn around the box of who works or waits is as wide

// statesOf says of each node of a flow how it stands, by the runs of that agent.
export function statesOf(flow, session) {
  const states = new Map([...runsOf(flow, session)].map(([id, runs]) => [id, { runs, state: stateOf(runs.at(-1), session) }]));
  // Nothing is to come of a run that is over.
  if (isOver(session)) {
    for (const s of states.values()) if (s.state === "idle") s.state = "none";
    return states;
  }
  // What is done of the round before is to come in this one.
  for (const loop of flow.nodes.filter((n) => n.kind === "loop")) {
    const own = agentsIn(flow, loop.id).map((id) => states.get(id)), round = Math.max(...own.map((s) => s.runs.length));
    if (own.some((s) => ["run", "wait", "stop", "halt"].includes(s.state))) for (const s of own) if (s.state === "done" && s.runs.length < round) s.state = "idle";
  }
  return states;
}

// agentsIn are the agents of a frame, and of the frames in it.
const agentsIn = (flow, frame) => flow.nodes.filter((n) => n.in === frame).flatMap((n) => (n.kind === "agent" ? [n.id] : agentsIn(flow, n.id)));

// askedIn are the questions of a session that can be answered: none once it is over.
const askedIn = (session) => (isOver(session) ? [] : session.questions);

const isOver = ({ status }) => ["completed", "failed", "cancelled"].includes(status);

function stateOf(run, session) {
  if (!run) return "idle";
  if (askedIn(session).some((q) => session.isWithin(q.run, run.id))) return "wait";
  if (run.status === "waiting" && isOver(session)) return "halt";
  if (!isOver(session) && run.status !== "completed" && session.items.some((i) => i.run === run.id && i.state === "answered")) return "next"; // others are at work first
  if (isCut(run) || (run.status === "running" && isLeft(run, session))) return "stop";
  if (isMute(run)) return "mute";
  if (isTakenUp(run, session)) return "run";
  return { running: "run", completed: "done", waiting: "run", failed: "fail", cancelled: "halt" }[run.status] ?? "idle";
}

// isMute says that a run ended without an answer: it said nothing, declined, repeated itself or
// reached a limit.
const isMute = (run) => run.status === "completed" && !!stopped(run.stop);

// isTakenUp says that a run had failed or was stopped, and goes on with the one around it that was
// taken down: nothing was done there after it.
function isTakenUp({ parent, ended, status }, session) {
  if (!["failed", "cancelled"].includes(status) || session.status !== "running" || !(Date.parse(session.resumed) >= Date.parse(ended))) return false;
  for (let up = session.runs.get(parent); up; up = session.runs.get(up.parent)) if (up.status === "completed") return false;
  return ![...session.runs.values()].some((run) => run.parent === parent && Date.parse(run.started) >= Date.parse(ended));
}

// isLeft says that a run has no end of its own and a run around it was closed: its process
// died, and something else was said then.
function isLeft(run, session) {
  for (let up = session.runs.get(run.parent); up; up = session.runs.get(up.parent)) if (["cancelled", "failed"].includes(up.status)) return true;
  return false;
}

const words = { __proto__: null, idle: "to come", run: "working", done: "done", wait: "waits for you", next: "answered, goes on after the others", fail: "failed", stop: "interrupted", halt: "stopped", mute: "no full answer", none: "did not run" };
const icons = { __proto__: null, run: ["loader-circle", "spin acc"], done: ["circle-check", "acc"], wait: ["hand", "wait"], fail: ["circle-x", "bad"], stop: ["circle-pause", "dim"], halt: ["circle-pause", "dim"], idle: ["circle-dashed", "faint"], next: ["circle-dashed", "acc"], mute: ["circle-alert", "dim"], none: ["circle-dashed", "faint"] };

// derived makes a flow of the runs themselves, where none is known by that name.
function derived(session) {
  const nodes = [], edges = [];
  for (const run of session.runs.values()) {
    if (!run.parent || nodes.some((n) => n.agent === run.agent)) continue;
    nodes.push({ id: run.agent, kind: "agent", agent: run.agent });
    if (nodes.length > 1) edges.push({ from: nodes.at(-2).id, to: run.agent });
  }
  return { name: session.agent, description: "", nodes, edges };
}

// leads says that an agent only decides who speaks, in a group chat that a flow begins with.
const leads = ({ nodes, edges = [] }, { id, in: frame }) => nodes.find((n) => n.id === frame)?.kind === "group_chat" && edges.some((e) => e.from === id) && !edges.some((e) => e.to === id);

// Standing says in chips how a flow stands: how many are done, who works, and what went wrong.
function Standing({ flow, states, session, id }) {
  const agents = flow.nodes.filter((n) => n.kind === "agent");
  const all = (state) => agents.filter((n) => states.get(n.id).state === state);
  const over = all("done").length, failed = all("fail").length, cut = all("stop").length, halted = all("halt").length, mute = all("mute").length;
  const now = all("run").map((n) => nameIn(flow, n)), waits = all("wait").map((n) => nameIn(flow, n));
  const unfit = session.warnings.filter((w) => w.code === "loop_limit"); // a loop came to its end, and nobody was content
  const from = app.sessions.get(id)?.forked, before = from && app.sessions.get(from);
  const alone = isOver(session) && !failed && !halted && aloneIn(flow, states);
  const isWell = over > 0 && !failed && !cut && !halted && !mute;
  return html`<div class="row wrap">${from && html`<a class="chip out" href=${talkAddress(from, "flow")}>${icon("git-branch")}Goes on from ${before ? `the run of ${when(before.started)}` : "another run"}</a>`}<span class="chip out">${icon(isWell ? "circle-check" : "circle-dashed", isWell ? "acc" : "faint")}${alone || `${over} of ${agents.length} done`}</span>${now.length > 0 && html`<span class="chip out">${icon("loader-circle", "spin acc")}${now.join(" and ")} ${now.length > 1 ? "are" : "is"} working</span>`}${waits.length > 0 && html`<span class="chip out">${icon("hand", "wait")}${waits.join(" and ")} ${waits.length > 1 ? "wait" : "waits"} for you</span>`}${cut > 0 && html`<span class="chip out">${icon("circle-pause", "dim")}${cut} interrupted</span>`}${halted > 0 && html`<span class="chip out">${icon("circle-pause", "dim")}${halted} stopped</span>`}${mute > 0 && html`<span class="chip out">${icon("circle-alert", "dim")}${mute} without a full answer</span>`}${failed > 0 && html`<span class="chip bad">${failed} failed</span>`}${unfit.map((w) => html`<span class="chip out" key=${w.seq}>${icon("circle-alert")}${capital(w.text)}</span>`)}</div>`;
}

// aloneIn says of a group chat that a flow begins with who was heard, where that is nobody, or only
// the one who leads it: "" otherwise.
function aloneIn(flow, states) {
  if (!flow.nodes.some((n) => n.kind === "group_chat")) return "";
  const heard = flow.nodes.filter((n) => states.get(n.id)?.runs.some((run) => run.status === "completed" && !isMute(run)));
  return heard.some((n) => !leads(flow, n)) ? "" : heard.length ? `Only ${nameIn(flow, heard[0])} answered` : "Nobody was heard";
}

// Ended is the card of a flow that ended otherwise than with its answer, with what can be done
// about it: as in the conversation, which is elsewhere.
function Ended({ session, name, status, acts }) {
  if (status === "interrupted") return html`<${Trouble} code="interrupted" context=${{ until: hour(session.last) }} acts=${acts} />`;
  const runs = [...session.runs.values()], top = runs.findLast((run) => !run.parent);
  const item = isOver(session) && session.items.findLast((i) => i.type === "trouble" && i.run === top?.id && i.time === top.ended);
  return item && html`<${Trouble} code=${item.code} context=${{ a: agentOf(name).name, ...item.context, elsewhere: true }} acts=${{ ...acts, anew: undefined }} />`;
}

// Asked are the cards of what the agents of a flow ask, in the order in which they do, so that none
// takes the place of another: they are answered here as in the conversation. An answer may end with a question, too: then no run waits, and the session does.
function Asked({ here: { session, id }, acts }) {
  const info = app.sessions.get(id), { question: last } = info?.status === "waiting" && session.status === "completed" ? info : {};
  const isNew = last?.kind === "question" && !session.items.some((i) => i.ask?.id === last.id); // what is known of the session may be older than its events
  const ending = isNew ? [{ key: "asks", open: true, question: last.text ?? "", ask: last, agent: last.agent || session.agent }] : [];
  const files = { has: (path) => session.files.has(path) || session.files.has("/" + path) };
  const cards = [...askedIn(session).toSorted((a, b) => a.ask.id - b.ask.id), ...ending];
  return cards.map((q) => html`<${Question} key=${q.key} item=${q} agent=${agentOf(q.agent)} acts=${acts} id=${id} openFile=${files} />`);
}

export function Flow({ here, at, name, status, acts }) {
  const { session, id } = here;
  const known = app.flows.find((f) => f.name === name);
  const flow = known?.nodes?.length ? known : derived(session);
  const [list, setList] = useState(kept("flowList", false));
  const phone = matchMedia("(max-width: 760px)").matches;
  const states = statesOf(flow, session);
  const select = (node) => go(talkAddress(id, "flow", node));
  const chips = html`<${Standing} flow=${flow} states=${states} session=${session} id=${id} />`;
  const card = html`<${Asked} here=${here} acts=${acts} /><${Ended} session=${session} name=${name} status=${status} acts=${acts} />`;
  const chosen = flow.nodes.find((n) => n.id === at);
  return html`<div class=${"room graph" + (chosen ? "" : " solo")}>
    ${list || phone ? html`<div class="flow-list"><h2 class="hidden">The flow, as a list</h2><div class="row between">${chips}${!phone && html`<button type="button" class="sm" onClick=${() => (setList(false), keep("flowList", false))}>${icon("workflow")}As a graph</button>`}</div>${card}<${List} flow=${flow} states=${states} session=${session} at=${at} select=${select} /></div>`
      : html`<${Drawing} flow=${flow} states=${states} session=${session} at=${at} select=${select} chips=${html`${chips}${card}`} toList=${() => (setList(true), keep("flowList", true))} live=${status === "running" && !session.unheard} cut=${session.unheard} />`}
    ${chosen && html`<${Node} key=${at} node=${chosen} name=${nameIn(flow, chosen)} state=${states.get(at) ?? { runs: [], state: "idle" }} session=${session} id=${id} acts=${acts} close=${() => go(talkAddress(id, "flow"))} />`}</div>`;
}

// spentOf is what the runs of a node took, as far as it is known.
function spentOf(session, runs) {
  const spans = session.spans.filter((s) => s.kind === "model" && runs.some((r) => r.id === s.run));
  const known = runs.filter((r) => !isCut(r)), ms = known.length ? known.reduce((sum, r) => sum + workedOn(r, untilOf(session)), 0) : NaN;
  const tokens = spans.reduce((sum, s) => sum + (s.usage.input_tokens ?? 0) + (s.usage.output_tokens ?? 0), 0);
  return [duration(ms), tokens && `${short(tokens)} tokens`, cost(spans.reduce((sum, s) => sum + s.cost, 0))].filter(Boolean).join(" · ");
}

// failureOf is what is on record of why a run failed: { cause, text }.
const failureOf = (session, run) => session.warnings.findLast((w) => w.run === run && w.code === "failed") ?? {};

// failuresIn has what steps side by side handed on say in words why one of them has no answer,
// where there are any: the error itself is in the run.
export const failuresIn = (text, session) => text.replace(/(?<=^|\n\n)(## (.+)\n\n)\(failed: [^]*?\)(?=\n\n## |\s*$)/g, (whole, head, name) => {
  const why = inShort(session.warnings.findLast((w) => w.code === "failed" && w.agent === name)?.cause);
  return why ? `${head}(no answer: ${lower(why.replace(/\.$/, ""))})` : whole;
});

// lastWords is what a node says now, or said or did last, and why it failed.
function lastWords(session, { runs, state }) {
  const last = runs.at(-1)?.id;
  if (state === "fail") {
    return inShort(failureOf(session, last).cause); // the error itself is in the run
  }
  if (state === "stop" || state === "halt") return ""; // what it was at is not on record, or cut
  if (state === "mute") return stopped(runs.at(-1).stop);
  const item = session.items.findLast((i) => i.run === last && ((i.type === "answer" && i.text) || (i.type === "tool" && !/^(waiting|answered)$/.test(i.state))));
  if (!item) return "";
  if (item.type === "tool") return capital(item.state === "running" ? doing(item.tool, item.arguments) : done(item)) + (item.state === "failed" && !isToldVain(item) ? ", which did not work" : "");
  const count = item.text.trim().split(/\s+/).length;
  if (item.streaming) return `Writing, ${count} ${count === 1 ? "word" : "words"}`;
  return preview(item.text);
}

// marks are the marks of markdown around words and before lines. Names keep what is in them, as
// mail__send does, and code all that it has.
const marks = /(?<!`)`+([^`\n]+)`+|^[ \t]*(?:#{1,6}|[*+-]|>)[ \t]+|(?<![\p{L}\p{N}_])_+(?=\S)|(?<=[^\s_])_+(?![\p{L}\p{N}_])|(?<!\*)\*+(?=[^\s*])|(?<=[^\s*])\*+|`/gmu;

// preview is the beginning of an answer: its first line that is for people, or of data its
// first values.
export function preview(text) {
  const line = text.replace(/^[ \t]*(```|~~~)[^]*?(^[ \t]*\1|$(?![^]))/gm, "").replace(marks, (_, code) => code ?? "").split("\n").map((part) => part.trim()).find(Boolean) ?? "";
  if (line && !/^[{[]/.test(line)) return line.slice(0, 200);
  const values = Object.entries(valueIn(text) ?? {}).map(([name, value]) => [name.replace(/[_-]+/g, " "), Array.isArray(value) ? String(value.length) : value !== null && typeof value === "object" ? "" : String(value)]);
  return values.filter(([, value]) => value).slice(0, 4).map(([name, value]) => `${name}: ${value}`).join(", ").slice(0, 200);
}

function Card({ flow, node, state, session, at, select, style }) {
  const agent = agentOf(node.agent);
  const [drawing, tint] = icons[state.state], said = lastWords(session, state), spent = spentOf(session, state.runs);
  return html`<button type="button" class=${"node " + state.state} data-state=${state.state} style=${style} aria-current=${at === node.id ? "true" : undefined} onClick=${() => select(node.id)}>
    <span class="row"><${Face} id=${node.agent} name=${agent.name} size="s" /><b class="grow cut">${nameIn(flow, node)}</b>${icon(drawing, tint)}${said && html`<span class="hidden">${words[state.state]}</span>`}</span>
    <span class="dim cut">${said || words[state.state]}</span>${spent && html`<span class="tiny faint num cut">${spent}</span>`}</button>`;
}

const frameWords = { __proto__: null, parallel: "at the same time", loop: "until it will do", team: "team", group_chat: "group chat", experts: "with experts", sequence: "one after the other" };
// named is what a frame is called: by its author's name, what kind it is, and its round.
export const named = (frame, states, flow) => [frame.title?.replace(/_+/g, " "), (frame.kind === "loop" && rounds(states, flow, frame)) || frameWords[frame.kind]].filter(Boolean).join(": ");

const frameIcons = { __proto__: null, parallel: "columns-2", loop: "repeat", team: "users", group_chat: "message-square", experts: "users", sequence: "arrow-right" };

// Drawing lays the graph out from left to right.
function Drawing({ flow, states, session, at, select, chips, toList, live, cut }) {
  const [zoom, setZoom] = useState(1);
  const box = useRef(null), sized = useRef("");
  const [room, setRoom] = useState({ width: 0, height: 0, above: 0 });
  const wide = useMemo(() => laidOut(flow), [flow]), isTight = room.width > 0 && wide.width + 60 > room.width;
  const drawn = useMemo(() => (isTight ? laidOut(flow, tight) : wide), [wide, isTight]);
  // Chips lie on the drawing, and cards are above it.
  const measure = () => {
    const { clientWidth: width, clientHeight, offsetTop } = box.current, height = clientHeight + app.toastsHeight;
    const now = { width, height, above: offsetTop ? 24 : 80 };
    setRoom(now);
    return now;
  };
  const fit = () => {
    const { width, height, above } = measure();
    setZoom(Math.min(1, (width - 60) / drawn.width, (height - above - 60) / drawn.height));
  };
  // What is drawn is never too small to be read, unless somebody asks for all of it: what does
  // not fit is scrolled to.
  const resize = () => {
    const { width, height } = measure(), size = width + " " + height;
    if (size === sized.current) return; // for a toast nothing moves
    sized.current = size;
    setZoom(1);
    requestAnimationFrame(() => [".node[aria-current]", ".node.wait", ".node.run"].map((kind) => box.current?.querySelector(kind)).find(Boolean)?.scrollIntoView({ block: "nearest", inline: "nearest" }));
  };
  const middle = { left: Math.max(30, (room.width - drawn.width * zoom) / 2) + "px", top: Math.max(room.above, (room.height - drawn.height * zoom) / 2) + "px" };
  useEffect(() => {
    const resized = new ResizeObserver(resize);
    resized.observe(box.current);
    return () => resized.disconnect();
  }, [drawn]);
  const ways = handed(flow, session);
  const edges = [...drawn.edges, ...beyond(ways, drawn.edges).map((e) => drawnEdge(e, drawn.places))];
  return html`<div class="stage"><div class="over-stage">${chips}</div><div class="ground" ref=${box} tabindex="0" role="group" aria-label="The flow, as a graph">
    <div class="canvas" style=${{ ...middle, width: drawn.width + "px", height: drawn.height + "px", scale: String(zoom) }}>
      ${drawn.frames.map((f) => html`<div class="frame" key=${f.id} style=${{ left: f.x + "px", top: f.y + "px", width: f.w + "px", height: f.h + "px" }}><span>${icon(frameIcons[f.kind])}${named(f, states, flow)}</span></div>`)}
      <svg aria-hidden="true"><defs>${["", "go"].map((tint) => html`<marker key=${tint} id=${"tip" + tint} class=${tint} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" /></marker>`)}</defs>
        ${edges.map((e) => [e, stateOfEdge(e, states, ways)]).map(([e, state]) => html`<path key=${e.from + " " + e.to} class=${"e " + state + (e.back ? " back" : "")} d=${at === e.to || ["run", "wait"].includes(states.get(e.to).state) ? e.short : e.path} marker-end=${`url(#tip${state && "go"})`} />`)}</svg>
      ${flow.nodes.filter((n) => n.kind === "agent").map((n) => html`<${Card} key=${n.id} flow=${flow} node=${n} state=${states.get(n.id)} session=${session} at=${at} select=${select} style=${{ left: drawn.places.get(n.id).x + "px", top: drawn.places.get(n.id).y + "px" }} />`)}</div></div>
    <div class="zoom">${[["Smaller", "zoom-out", () => setZoom(zoom * 0.85)], ["Larger", "zoom-in", () => setZoom(Math.min(2, zoom * 1.15))], ["All of it", "scan", fit], ["As a list", "list-tree", toList]].map(([title, drawing, act]) => html`<button type="button" class="tool sm" key=${title} title=${title} aria-label=${title} onClick=${act}>${icon(drawing)}</button>`)}</div>
    ${live && html`<span class="chip out live-chip"><span class="dot live"></span>Live, following</span>`}${cut && html`<span class="chip out live-chip">${icon("wifi-off")}No connection: nothing new is shown</span>`}</div>`;
}

// rounds says which round a loop is in, and of how many.
function rounds(states, flow, frame) {
  const now = Math.max(0, ...agentsIn(flow, frame.id).map((id) => states.get(id)?.runs.length ?? 0));
  return now > 0 ? `round ${now}${frame.max_rounds ? ` of ${frame.max_rounds}` : ""}` : "";
}

// stateOfEdge says whether something is handed over there now, or was. Into a later round
// of a loop it is what leads back that hands over. Who leads others is at work, or has come to
// any end, after they were.
export function stateOfEdge(e, states, ways) {
  const from = states.get(e.from), to = states.get(e.to);
  if (e.team) return !ways.some(same(e)) ? "" : to.state === "run" && same(e)(ways.findLast((way) => way.to === e.to)) ? "go" : "done";
  if (e.leads) return !to.runs.length || to.state === "idle" ? "" : to.state === "run" ? "go" : "done";
  const again = to.runs.length > from.runs.length && from.runs.length > 0;
  if (e.back) return to.state === "run" && to.runs.length > 1 ? "go" : to.runs.length > 1 ? "done" : "";
  const gave = ["done", "mute"].includes(from.state); // what there was of an answer
  if (to.state === "run" && gave) return again ? "done" : "go";
  return gave && to.runs.length > 0 ? "done" : "";
}

// handed are the ways in which members of teams handed over to each other so far: who may
// is not who did.
function handed(flow, session) {
  const member = (agent) => flow.nodes.find((n) => n.agent === agent && flow.nodes.some((f) => f.id === n.in && f.kind === "team"))?.id;
  return session.items.filter((i) => i.type === "handoff").map((i) => ({ from: member(i.from), to: member(i.to), team: true })).filter((e) => e.from && e.to);
}

const same = (a) => (b) => a.from === b.from && a.to === b.to;

// beyond are the ways that are not drawn anyway, each once.
const beyond = (ways, edges = []) => ways.filter((e, i) => !edges.some(same(e)) && ways.findIndex(same(e)) === i);

// drawnEdge is an edge with its path: the plainest that leads behind no box. Its short one ends before
// what is around the box, which would hide the head of an arrow.
export function drawnEdge(e, places) {
  const a = places.get(e.from), b = places.get(e.to), ways = waysOf(a, b, e.back);
  const [from, out, into, to, before] = ways.find((way) => ![...places.values()].some((box) => isBehind(way, box, box === a || box === b ? -2 : 3))) ?? ways[0];
  const curve = `M${from} C ${out} ${into} `;
  return { ...e, path: curve + to, short: curve + before };
}

// waysOf are the ways from one box to another, the plainest first, each as the points of a curve, and
// where it ends before the ring: onwards from side to side, back from below to below, to one above or
// below straight there, and around what is in between.
function waysOf(a, b, isBack) {
  const [left, right, above, below] = [[-1, 0], [1, 0], [0, -1], [0, 1]];
  const at = (box, [x, y], reach) => [box.x + (width / 2) * (1 + x) + x * reach, box.y + (height / 2) * (1 + y) + y * reach];
  const way = (out, into, reach) => [at(a, out, 0), at(a, out, reach), at(b, into, reach), at(b, into, 0), at(b, into, ring)];
  const around = (...sides) => sides.map((side) => way(side, side, turn));
  const across = (out, into) => way(out, into, Math.max(24, (Math.abs(b.x - a.x) - width) / 2));
  if (Math.abs(a.x - b.x) < width) return b.y > a.y ? [way(below, above, 24), ...around(right, left)] : [way(above, below, 24), ...around(left, right)];
  return isBack || b.x < a.x ? [...around(below, above), b.x < a.x ? across(left, right) : across(right, left)] : [across(right, left), ...around(below, above)];
}

// isBehind says of a curve that it runs through a box, or nearer to it than so many pixels.
function isBehind([p, q, r, s], box, near) {
  const point = (t, i) => p[i] * (1 - t) ** 3 + 3 * q[i] * t * (1 - t) ** 2 + 3 * r[i] * t ** 2 * (1 - t) + s[i] * t ** 3;
  const isIn = (value, from, size) => value > from - near && value < from + size + near;
  return Array.from({ length: 49 }, (_, n) => n / 48).some((t) => isIn(point(t, 0), box.x, width) && isIn(point(t, 1), box.y, height));
}

const turn = 44; // how far what leads back swings out

// withoutSequences is a flow whose sequences have no frames: the edges show what they are.
function withoutSequences({ nodes, edges }) {
  const frameOf = (id) => nodes.find((n) => n.id === id && n.kind === "sequence"), outer = (id) => (frameOf(id) ? outer(frameOf(id).in) : id);
  return { nodes: nodes.filter((n) => n.kind !== "sequence").map((n) => ({ ...n, in: outer(n.in) })), edges };
}

// laidOut is where the boxes, the frames and the edges of a flow are.
export function laidOut(whole, { apart, inset } = loose) {
  const flow = withoutSequences(whole);
  const g = new Graph({ compound: true });
  g.setGraph({ rankdir: "LR", nodesep: flow.nodes.some((n) => n.kind === "team") ? 52 : 26, ranksep: apart, marginx: 8, marginy: 20 }); // members of a team hand over to whoever is below
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of flow.nodes) g.setNode(n.id, n.kind === "agent" ? { width, height } : { width: 0, height: 0 });
  for (const n of flow.nodes) if (n.in && g.hasNode(n.in)) g.setParent(n.id, n.in);
  for (const e of flow.edges ?? []) if (!e.back) g.setEdge(e.from, e.to);
  layout(g);
  const places = new Map(flow.nodes.filter((n) => n.kind === "agent").map((n) => [n.id, { x: g.node(n.id).x - width / 2, y: g.node(n.id).y - height / 2 }]));
  inOrder(flow, places);
  const frameOf = (id) => flow.nodes.find((n) => n.id === id)?.in;
  const kindOf = (e) => frameOf(e.from) === frameOf(e.to) && flow.nodes.find((f) => f.id === frameOf(e.from))?.kind;
  const swings = (frame) => (flow.edges ?? []).some((e) => e.back && flow.nodes.find((n) => n.id === e.from)?.in === frame);
  const frames = flow.nodes.filter((n) => n.kind !== "agent").flatMap((f) => {
    const own = agentsIn(flow, f.id).map((id) => places.get(id));
    if (!own.length) return [];
    const x = Math.min(...own.map((p) => p.x)) - inset, y = Math.min(...own.map((p) => p.y)) - 20;
    return [{ ...f, x, y, w: Math.max(...own.map((p) => p.x)) + width + inset - x, h: Math.max(...own.map((p) => p.y)) + height + (swings(f.id) ? turn : 16) - y }];
  });
  const edges = (flow.edges ?? []).filter((e) => places.has(e.from) && places.has(e.to)).map((e) => drawnEdge({ ...e, team: kindOf(e) === "team", leads: ["group_chat", "experts"].includes(kindOf(e)) }, places));
  const lowest = Math.max(0, ...[...places.values()].map((p) => p.y)) + height;
  return { places, frames, edges, width: (g.graph().width ?? 400) + 24, height: lowest + (edges.some((e) => e.back || e.team) ? turn : 16) + 8 };
}

// inOrder has agents of one frame that are above each other stand in the order in which
// their author has named them.
function inOrder(flow, places) {
  const columns = new Map();
  for (const n of flow.nodes) if (n.kind === "agent") columns.set(`${n.in} ${Math.round(places.get(n.id).x)}`, [...(columns.get(`${n.in} ${Math.round(places.get(n.id).x)}`) ?? []), places.get(n.id)]);
  for (const column of columns.values()) {
    const heights = column.map((place) => place.y).sort((a, b) => a - b);
    column.forEach((place, i) => (place.y = heights[i]));
  }
}

// inReading are the nodes of a frame as the graph has them: from left to right, from top to bottom.
export function inReading(flow, places, frame) {
  const at = (n) => (n.kind === "agent" ? [n.id] : agentsIn(flow, n.id)).map((id) => places.get(id)).reduce((a, b) => [Math.min(a[0], Math.round(b.x)), Math.min(a[1], b.y)], [Infinity, Infinity]);
  return flow.nodes.filter((n) => (n.in ?? "") === frame).map((n) => [n, ...at(n)]).sort(([, x, y], [, u, v]) => x - u || y - v || 0).map(([n]) => n);
}

// List is the same as the graph, to be read from top to bottom.
function List({ flow, states, session, at, select }) {
  const { places } = useMemo(() => laidOut(flow), [flow]);
  const level = (frame) => inReading(flow, places, frame).map((n) => (n.kind === "agent" ? html`<li key=${n.id}><${Card} flow=${flow} node=${n} state=${states.get(n.id)} session=${session} at=${at} select=${select} /></li>`
    : html`<li key=${n.id}><b class="tiny faint row">${icon(frameIcons[n.kind] ?? "circle")}${named(n, states, flow)}</b><ul class="nested">${level(n.id)}</ul></li>`));
  return html`<ul class="flow-nodes" aria-label="Steps">${level("")}</ul>`;
}

// isStep says whether a run is a step of a flow, and not what an agent has called as a tool.
function isStep(session, run) {
  for (let outer = session.runs.get(run.parent); outer; outer = session.runs.get(outer.parent)) if (outer.kind === "agent") return false;
  return !!run.parent;
}

// Unsaid is why a node has no full answer, in words: the card of its failure, or how it ended.
function Unsaid({ run, state, session, agent, acts }) {
  if (state === "mute") return html`<p class="dim">${stopped(run.stop)}.</p>`;
  const { cause, text } = failureOf(session, run.id);
  const { model } = session.warnings.findLast((w) => w.code === "model_failed" && w.run === run.id)?.tried ?? {}; // who was asked
  return html`<${Trouble} code=${cause?.code ?? ""} context=${{ by: agent.id, model, problem: cause?.problem, detail: text, elsewhere: true }} acts=${{ model: acts.model, ...(isFlow(acts.agent) && { agent: acts.agent, chooseModel: acts.chooseModel }) }} />`;
}

// Node opens one node: what it was given, what it writes, its rounds, its calls.
function Node({ node, name, state, session, id, acts, close }) {
  const [tab, setTab] = useState("Writes");
  const [changing, setChanging] = useState(null); // the run whose input is being changed
  const agent = agentOf(node.agent);
  const unbegun = state.state === "none" ? "This step did not run." : "This step is to come.";
  const run = state.runs.at(-1), isUnsaid = ["fail", "mute"].includes(state.state);
  const answers = session.items.filter((i) => i.type === "answer" && i.text && state.runs.some((r) => r.id === i.run));
  const said = answers.filter((i) => i.run === run?.id);
  const first = session.spans.find((s) => s.kind === "model" && s.run === run?.id);
  const refused = session.items.filter((i) => i.type === "tool" && i.run === run?.id && isUndecided(i)); // as when nobody of that name is in the team
  const { from } = session.items.findLast((i) => i.type === "handoff" && i.to === node.agent && i.seq < (run?.seq ?? 0)) ?? {};
  const handed = run && html`<${Handed} run=${run} from=${from} inWords=${(text) => failuresIn(text, session)} more=${() => setTab("Was")} />`;
  const again = (r) => r && r.status !== "running" && isStep(session, r) && html`<button type="button" class="ghost sm" title="A conversation of its own, in which this step gets what you make of its input" onClick=${() => (setTab("Was"), setChanging(r))}>${icon("pencil")}Change and run from here</button>
    <button type="button" class="ghost sm" title="A conversation of its own, in which this step and what follows are done again" onClick=${() => acts.rerun(r.id)}>${icon("git-branch")}Run again from here</button>`;
  return html`<aside class="panel over" aria-label=${name}><div class="bar"><${Face} id=${node.agent} name=${agent.name} size="m" /><div class="grow"><h2>${name}</h2><div class="tiny faint">${state.runs.length > 1 ? `Round ${state.runs.length}, ` : ""}${words[state.state]}</div></div><button type="button" class="tool sm" title="Close" aria-label="Close" onClick=${close}>${icon("x")}</button></div>
    <div class="call-body" tabindex="0"><div class="seg" role="group" aria-label="What to see">${["Was given", "Writes", `Rounds ${state.runs.length}`].map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name.split(" ")[0]} onClick=${() => setTab(name.split(" ")[0])}>${name}</button>`)}</div>
      ${tab === "Was" && (changing ? html`<${ChangeGiven} key=${changing.id} run=${changing} send=${(input) => acts.runFrom(changing.id, input)} close=${() => setChanging(null)} />` : run ? html`<${Given} run=${run} from=${from} edit=${session.edits.get(run.id)} inWords=${(text) => failuresIn(text, session)} />` : html`<p class="dim">${unbegun}</p>`)}
      ${tab === "Writes" && isUnsaid && html`<${Unsaid} run=${run} state=${state.state} session=${session} agent=${agent} acts=${acts} />`}
      ${tab === "Writes" && (said.length > 0 || !isUnsaid) && (said.length ? said.map((i) => html`<${Prose} key=${i.key} text=${i.text} streaming=${!!i.streaming} />`) : html`<p class="dim">${!run ? unbegun : isOver(session) ? "Nothing." : state.state === "wait" ? "Nothing until you have answered." : "Nothing yet."}</p>`)}
      ${tab === "Writes" && refused.length > 0 && html`<p class="acts">${icon("circle-alert")}<span>${did(refused).join(", ")}</span></p>`}
      ${tab === "Writes" && handed}
      ${state.state === "wait" && html`<p><button type="button" class="primary sm" onClick=${close}>${icon("hand")}See what ${name} asks</button></p>`}
      ${tab === "Rounds" && state.runs.map((r, n) => html`<details key=${r.id} class="part" open=${n === state.runs.length - 1}><summary><span class="grow">Round ${n + 1}</span><span class="tiny faint">${isCut(r) ? "interrupted" : duration(workedOn(r, untilOf(session)))}</span></summary>${answers.filter((i) => i.run === r.id).map((i) => html`<${Prose} key=${i.key} text=${i.text} />`)}${r !== run && html`<div class="row wrap">${again(r)}</div>`}</details>`)}
      ${!(changing && tab === "Was") && html`<div class="row wrap">${run && html`<a class="btn sm" href=${talkAddress(id, "run", first ? String(first.seq) : "")}>${icon("activity")}See the calls</a>`}${again(run)}</div>`}</div></aside>`;
}
