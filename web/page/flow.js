// A flow as a graph, while it runs: who works, who is done, who comes next. The list is
// its equal.

import { Graph, layout } from "./lib/dagre.js";
import { agentOf, app } from "./state.js";
import { cost, duration, short } from "./format.js";
import { go, talkAddress } from "./route.js";
import { kept, keep } from "./kept.js";
import { Prose } from "./prose.js";
import { Face, html, icon, useEffect, useMemo, useRef, useState } from "./view.js";

const width = 168, height = 84;

// statesOf says of each node of a flow how it stands, by the runs of that agent in
// order.
export function statesOf(flow, session) {
  const byAgent = new Map();
  for (const run of session.runs.values()) if (run.parent) byAgent.set(run.agent, [...(byAgent.get(run.agent) ?? []), run]);
  const nodes = flow.nodes.filter((n) => n.kind === "agent");
  const several = new Map();
  for (const n of nodes) several.set(n.agent, [...(several.get(n.agent) ?? []), n.id]);
  return new Map(nodes.map((n) => {
    const own = several.get(n.agent), runs = byAgent.get(n.agent) ?? [];
    const mine = own.length > 1 ? runs.filter((_, i) => i % own.length === own.indexOf(n.id)) : runs;
    return [n.id, { runs: mine, state: stateOf(mine.at(-1), session) }];
  }));
}

function stateOf(run, session) {
  if (!run) return "idle";
  if (session.questions.some((q) => q.run === run.id)) return "wait";
  return { running: "run", completed: "done", waiting: "wait", failed: "fail", cancelled: "fail" }[run.status] ?? "idle";
}

const words = { __proto__: null, idle: "to come", run: "working", done: "done", wait: "waits for you", fail: "failed" };
const icons = { __proto__: null, run: ["loader-circle", "spin acc"], done: ["circle-check", "acc"], wait: ["hand", "wait"], fail: ["circle-x", "bad"], idle: ["circle-dashed", "faint"] };

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

export function Flow({ here, at, name, status, acts }) {
  const { session, id } = here;
  const known = app.flows.find((f) => f.name === name);
  const flow = known?.nodes?.length ? known : derived(session);
  const [list, setList] = useState(kept("flowList", false));
  const phone = matchMedia("(max-width: 760px)").matches;
  const states = statesOf(flow, session);
  const agents = flow.nodes.filter((n) => n.kind === "agent");
  const done = [...states.values()].filter((s) => s.state === "done").length;
  const failed = [...states.values()].filter((s) => s.state === "fail").length;
  const now = agents.filter((n) => states.get(n.id).state === "run").map((n) => agentOf(n.agent).name);
  const select = (node) => go(talkAddress(id, "flow", node));
  const chips = html`<div class="row wrap"><span class="chip out">${icon("circle-check", "acc")}${done} of ${agents.length} done</span>${now.length > 0 && html`<span class="chip out">${icon("loader-circle", "spin acc")}${now.join(" and ")} ${now.length > 1 ? "are" : "is"} working</span>`}${failed > 0 && html`<span class="chip bad">${failed} failed</span>`}</div>`;
  const chosen = flow.nodes.find((n) => n.id === at);
  const button = (title, drawing, act) => html`<button type="button" class="tool sm" title=${title} aria-label=${title} onClick=${act}>${icon(drawing)}</button>`;
  return html`<div class=${"room graph" + (chosen ? "" : " solo")}>
    ${list || phone ? html`<div class="flow-list"><h2 class="hidden">The flow, as a list</h2>${chips}${!phone && html`<button type="button" class="sm" onClick=${() => (setList(false), keep("flowList", false))}>${icon("workflow")}As a graph</button>`}<${List} flow=${flow} states=${states} session=${session} at=${at} select=${select} /></div>`
      : html`<${Drawing} flow=${flow} states=${states} session=${session} at=${at} select=${select} chips=${chips} toList=${() => (setList(true), keep("flowList", true))} live=${status === "running"} />`}
    ${chosen && html`<${Node} key=${at} node=${chosen} state=${states.get(at) ?? { runs: [], state: "idle" }} session=${session} id=${id} acts=${acts} close=${() => go(talkAddress(id, "flow"))} />`}</div>`;
}

// spentOf is what the runs of a node took.
function spentOf(session, runs) {
  const spans = session.spans.filter((s) => s.kind === "model" && runs.some((r) => r.id === s.run));
  const ms = runs.reduce((sum, r) => sum + (Date.parse(r.ended || new Date()) - Date.parse(r.started)), 0);
  const tokens = spans.reduce((sum, s) => sum + (s.usage.input_tokens ?? 0) + (s.usage.output_tokens ?? 0), 0);
  return [duration(ms), tokens && short(tokens), cost(spans.reduce((sum, s) => sum + s.cost, 0))].filter(Boolean).join(" · ");
}

// lastWords is what a node says now, or said last.
function lastWords(session, runs) {
  const item = session.items.findLast((i) => i.type === "answer" && runs.some((r) => r.id === i.run));
  if (!item) return "";
  return item.streaming ? `Writing, ${item.text.split(/\s+/).length} words` : item.text.replace(/[#*_`]/g, "").split("\n").find(Boolean)?.slice(0, 60) ?? "";
}

function Card({ node, state, session, at, select, style }) {
  const agent = agentOf(node.agent);
  const [drawing, tint] = icons[state.state];
  return html`<button type="button" class=${"node " + state.state} data-state=${state.state} style=${style} aria-current=${at === node.id ? "true" : undefined} onClick=${() => select(node.id)}>
    <span class="row"><${Face} id=${node.agent} name=${agent.name} size="s" /><b class="grow cut">${node.title || agent.name}</b>${icon(drawing, tint)}<span class="hidden">${words[state.state]}</span></span>
    <span class="dim cut">${state.state === "idle" ? words.idle : lastWords(session, state.runs) || words[state.state]}</span>${state.runs.length > 0 && html`<span class="tiny faint num cut">${spentOf(session, state.runs)}</span>`}</button>`;
}

const frameWords = { __proto__: null, parallel: "at the same time", loop: "until it will do", team: "team", group_chat: "group chat", experts: "with experts", sequence: "one after the other" };
const frameIcons = { __proto__: null, parallel: "columns-2", loop: "repeat", team: "users", group_chat: "message-square", experts: "users", sequence: "arrow-right" };

// Drawing lays the graph out from left to right.
function Drawing({ flow, states, session, at, select, chips, toList, live }) {
  const [zoom, setZoom] = useState(1);
  const box = useRef(null);
  const drawn = useMemo(() => laidOut(flow), [flow]);
  const [room, setRoom] = useState({ width: 0, height: 0 });
  const fit = () => {
    setRoom({ width: box.current.clientWidth, height: box.current.clientHeight });
    setZoom(Math.min(1, (box.current.clientWidth - 60) / drawn.width, (box.current.clientHeight - 150) / drawn.height));
  };
  const middle = { left: Math.max(30, (room.width - drawn.width * zoom) / 2) + "px", top: Math.max(80, (room.height - drawn.height * zoom) / 2) + "px" };
  useEffect(fit, [drawn]);
  const stateOfEdge = (e) => {
    const from = states.get(e.from)?.state, to = states.get(e.to)?.state;
    return to === "run" && from === "done" ? "go" : from === "done" && to !== "idle" ? "done" : "";
  };
  return html`<div class="stage" ref=${box} tabindex="0" role="group" aria-label="The flow, as a graph"><div class="over-stage">${chips}</div>
    <div class="canvas" style=${{ ...middle, width: drawn.width + "px", height: drawn.height + "px", scale: String(zoom) }}>
      ${drawn.frames.map((f) => html`<div class="frame" key=${f.id} style=${{ left: f.x + "px", top: f.y + "px", width: f.w + "px", height: f.h + "px" }}><span>${icon(frameIcons[f.kind])}${f.title || frameWords[f.kind]}${f.kind === "loop" && rounds(states, flow, f.id)}</span></div>`)}
      <svg aria-hidden="true">${drawn.edges.map((e) => html`<path key=${e.from + e.to} class=${"e " + stateOfEdge(e) + (e.back ? " back" : "")} d=${e.path} />`)}</svg>
      ${flow.nodes.filter((n) => n.kind === "agent").map((n) => html`<${Card} key=${n.id} node=${n} state=${states.get(n.id)} session=${session} at=${at} select=${select} style=${{ left: drawn.places.get(n.id).x + "px", top: drawn.places.get(n.id).y + "px" }} />`)}</div>
    <div class="zoom">${[["Smaller", "zoom-out", () => setZoom(zoom * 0.85)], ["Larger", "zoom-in", () => setZoom(Math.min(2, zoom * 1.15))], ["All of it", "scan", fit], ["As a list", "list-tree", toList]].map(([title, drawing, act]) => html`<button type="button" class="tool sm" key=${title} title=${title} aria-label=${title} onClick=${act}>${icon(drawing)}</button>`)}</div>
    ${live && html`<span class="chip out live-chip"><span class="dot live"></span>Live, following</span>`}</div>`;
}

function rounds(states, flow, frame) {
  const most = Math.max(0, ...flow.nodes.filter((n) => n.in === frame).map((n) => states.get(n.id)?.runs.length ?? 0));
  return most > 0 ? `: round ${most}` : "";
}

function laidOut(flow) {
  const g = new Graph({ compound: true });
  g.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 56, marginx: 8, marginy: 20 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of flow.nodes) g.setNode(n.id, n.kind === "agent" ? { width, height } : { width: 0, height: 0 });
  for (const n of flow.nodes) if (n.in && g.hasNode(n.in)) g.setParent(n.id, n.in);
  for (const e of flow.edges ?? []) if (!e.back) g.setEdge(e.from, e.to);
  layout(g);
  const places = new Map(flow.nodes.filter((n) => n.kind === "agent").map((n) => [n.id, { x: g.node(n.id).x - width / 2, y: g.node(n.id).y - height / 2 }]));
  const inside = (frame) => flow.nodes.filter((n) => n.in === frame).flatMap((n) => (n.kind === "agent" ? [n.id] : inside(n.id)));
  const frames = flow.nodes.filter((n) => !["agent", "sequence"].includes(n.kind)).flatMap((f) => {
    const own = inside(f.id).map((id) => places.get(id));
    if (!own.length) return [];
    const x = Math.min(...own.map((p) => p.x)) - 16, y = Math.min(...own.map((p) => p.y)) - 20;
    return [{ ...f, x, y, w: Math.max(...own.map((p) => p.x)) + width + 16 - x, h: Math.max(...own.map((p) => p.y)) + height + 16 - y }];
  });
  const edges = (flow.edges ?? []).filter((e) => places.has(e.from) && places.has(e.to)).map((e) => {
    const a = places.get(e.from), b = places.get(e.to);
    if (e.back) return { ...e, path: `M${a.x + width / 2} ${a.y + height} C ${a.x + width / 2} ${a.y + height + 50} ${b.x + width / 2} ${b.y + height + 50} ${b.x + width / 2} ${b.y + height}` };
    const x1 = a.x + width, y1 = a.y + height / 2, x2 = b.x, y2 = b.y + height / 2, mid = Math.max(24, (x2 - x1) / 2);
    return { ...e, path: `M${x1} ${y1} C ${x1 + mid} ${y1} ${x2 - mid} ${y2} ${x2} ${y2}` };
  });
  return { places, frames, edges, width: (g.graph().width ?? 400) + 24, height: (g.graph().height ?? 200) + 60 };
}

// List is the same as the graph, to be read from top to bottom.
function List({ flow, states, session, at, select }) {
  const level = (frame) => flow.nodes.filter((n) => (n.in ?? "") === frame).map((n) => (n.kind === "agent" ? html`<li key=${n.id}><${Card} node=${n} state=${states.get(n.id)} session=${session} at=${at} select=${select} /></li>`
    : html`<li key=${n.id}><b class="tiny faint row">${icon(frameIcons[n.kind] ?? "circle")}${n.title || frameWords[n.kind]}${n.kind === "loop" && rounds(states, flow, n.id)}</b><ul class="nested">${level(n.id)}</ul></li>`));
  return html`<ul class="flow-nodes" aria-label="Steps">${level("")}</ul>`;
}

// Node opens one node: what it was given, what it writes, its rounds, its calls.
function Node({ node, state, session, id, acts, close }) {
  const [tab, setTab] = useState("Writes");
  const agent = agentOf(node.agent);
  const run = state.runs.at(-1);
  const answers = session.items.filter((i) => i.type === "answer" && i.text && state.runs.some((r) => r.id === i.run));
  const said = answers.filter((i) => i.run === run?.id);
  const first = session.spans.find((s) => s.kind === "model" && s.run === run?.id);
  const given = session.items.findLast((i) => i.type === "handoff" && i.to === node.agent)?.handoff;
  return html`<aside class="panel over" aria-label=${agent.name}><div class="bar"><${Face} id=${node.agent} name=${agent.name} size="m" /><div class="grow"><h2>${agent.name}</h2><div class="tiny faint">${state.runs.length > 1 ? `Round ${state.runs.length}, ` : ""}${words[state.state]}</div></div><button type="button" class="tool sm" title="Close" aria-label="Close" onClick=${close}>${icon("x")}</button></div>
    <div class="call-body" tabindex="0"><div class="seg" role="group" aria-label="What to see">${["Was given", "Writes", `Rounds ${state.runs.length}`].map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name.split(" ")[0]} onClick=${() => setTab(name.split(" ")[0])}>${name}</button>`)}</div>
      ${tab === "Was" && html`<dl class="given"><div><dt>Task</dt><dd>${run?.task || "–"}</dd></div>${given?.summary && html`<div><dt>Summary</dt><dd>${given.summary}</dd></div>`}${given?.from && html`<div><dt>From</dt><dd>${agentOf(given.from).name}</dd></div>`}</dl>`}
      ${tab === "Writes" && (said.length ? said.map((i) => html`<${Prose} key=${i.key} text=${i.text} streaming=${!!i.streaming} />`) : html`<p class="dim">${run ? "Nothing yet." : "This step is to come."}</p>`)}
      ${tab === "Rounds" && state.runs.map((r, n) => html`<details key=${r.id} class="part" open=${n === state.runs.length - 1}><summary><span class="grow">Round ${n + 1}</span><span class="tiny faint">${duration(Date.parse(r.ended || new Date()) - Date.parse(r.started))}</span></summary>${answers.filter((i) => i.run === r.id).map((i) => html`<${Prose} key=${i.key} text=${i.text} />`)}</details>`)}
      <div class="row wrap">${first && html`<a class="btn sm" href=${talkAddress(id, "run", String(first.seq))}>${icon("activity")}See the calls</a>`}${run && state.state !== "run" && html`<button type="button" class="ghost sm" onClick=${() => acts.fork(run.seq - 1)}>${icon("git-branch")}Run again from here</button>`}</div></div></aside>`;
}
