// The run: what happened when, and of every call what was sent and what came back.

import { useVisit } from "./focus.js";
import { api } from "./shelf.js";
import { copy } from "./copy.js";
import { agentOf, app, toast } from "./state.js";
import { namesIn } from "./steps.js";
import { cost, count, size } from "./format.js";
import { clock, duration, fileIcon, json, plainPath, visible } from "./forms.js";
import { isFailure } from "./fold.js";
import { isCut, timesAt, workedOn } from "./worked.js";
import { allEvents } from "./session.js";
import { inShort } from "./trouble.js";
import { asOrder, done, lower, stopped, toolIcon } from "./words.js";
import { forkAt } from "./fork.js";
import { go, talkAddress } from "./route.js";
import { Lines } from "./changes.js";
import { Bones, Component, Face, html, icon, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./view.js";

// A row is so high: on phones, where fingers want more, it is another height.
const phone = matchMedia("(max-width: 760px)");
const perPiece = 16; // rows that are drawn, and taken away, together

// rowsOf makes the rows of the tree: runs, and below them their calls and questions.
export function rowsOf(session) {
  const rows = [], forked = new Set(session.items.filter((i) => i.type === "trouble" && i.context?.reason?.startsWith("forked")).map((i) => i.run)); // in the middle of them
  const runs = [...session.runs.values()];
  const entries = [
    ...runs.map((run) => ({ kind: "run", run, forked: forked.has(run.id), depth: run.depth, start: run.started, end: run.ended, order: run.seq })),
    ...session.spans.map((span) => ({ kind: span.kind, span, depth: (session.runs.get(span.run)?.depth ?? 0) + (span.kind === "tool" ? 2 : 1), start: span.start, end: span.end, order: span.kind === "model" ? span.seq - 0.5 : span.seq })),
    ...session.items.filter((i) => i.type === "question" && (!i.unasked || coverOf(session, i))).map((item) => ({ kind: "ask", item, depth: item.depth + 1, start: item.time, end: answeredAt(session, item), from: waitedFrom(session, item), order: item.seq })),
    ...session.breaks.filter(([, , seq]) => seq).map(([start, end, seq]) => ({ kind: "break", around: runs.findLast((run) => run.pauses.some(([from, to]) => from === start && to === end)), depth: 0, start, end, order: seq - 0.5 })),
    ...session.warnings.filter((w) => w.code === "failed").map((w) => ({ kind: "warning", warning: w, depth: 1, start: w.time, end: w.time, order: w.seq })),
  ];
  const turns = new Map(), failed = new Map(), inside = new Map(), shown = new Set(runs.map((run) => run.id));
  for (const w of session.warnings.filter((one) => one.code === "model_failed")) failed.set(w.run + " " + w.step, [...(failed.get(w.run + " " + w.step) ?? []), w]);
  for (const e of entries.sort((a, b) => a.order - b.order)) {
    if (e.kind === "model") {
      const n = (turns.get(e.span.run) ?? 0) + 1;
      turns.set(e.span.run, n);
      e.turn = n;
      e.failed = failed.get(e.span.run + " " + e.span.step) ?? []; // attempts before it
    }
    if (e.kind === "break" && e.around) e.depth = e.around.depth + 1;
    const around = e.kind === "run" ? e.run.parent : e.kind === "break" ? e.around?.id : (e.span ?? e.item ?? e.warning).run;
    const place = shown.has(around) ? around : "";
    if (!inside.has(place)) inside.set(place, []);
    inside.get(place).push(e);
  }
  // What runs beside each other is told one after the other: each call is below who made it.
  const tell = (place) => {
    for (const e of inside.get(place) ?? []) {
      rows.push(e);
      if (e.kind === "run") tell(e.run.id);
    }
  };
  tell("");
  return rows;
}

// isOpen says of a question that it waits: nobody has answered it, and the run has not ended.
const isOpen = (session, item) => item.open && ["running", "waiting"].includes(session.status);

// coverOf is the question whose answer is for another that waited, too: it was allowed in the whole
// conversation. What is asked after that waits for nobody.
const coverOf = (session, item) => session.items.find((o) => o.type === "question" && !o.unasked && o.tool === item.tool && o.decision?.scope === "session" && Date.parse(o.answeredAt) > Date.parse(item.time));

const answeredAt = (session, item) => (isOpen(session, item) ? "" : (item.unasked && coverOf(session, item)?.answeredAt) || item.answeredAt || (session.items.find((other) => other.seq > item.seq && other.run !== undefined && other.type !== "question")?.time ?? ""));

// waitedFrom is since when a question is waited for, "" where it is not: for as long as others are
// at work it cannot be answered, and nobody waits.
function waitedFrom(session, item) {
  const top = [...session.runs.values()].findLast((run) => !run.parent && run.seq < item.seq), end = answeredAt(session, item);
  const from = end ? top?.pauses.find(([, to]) => to === end)?.[0] : session.status === "waiting" ? top?.ended : "";
  return from && Date.parse(from) > Date.parse(item.time) ? from : from === "" ? "" : item.time;
}

// labelOf says what a call of a tool did, or would do once it is allowed, and that a person was asked.
export function labelOf({ kind, span }) {
  if (kind === "ask") return "Asked you";
  const call = { tool: span.name, ...span };
  return (span.asks === "approval" ? `Wants to ${lower(asOrder(call.tool, call.arguments))}` : done(call)) + (span.attempt > 1 ? ", again" : "");
}

// apart joins times that overlap: [[from, to]] in order.
const apart = (times) => times.sort((a, b) => a[0] - b[0]).reduce((list, [from, to]) => (list.length && from <= list.at(-1)[1] ? (list.at(-1)[1] = Math.max(list.at(-1)[1], to), list) : [...list, [from, to]]), []);

// inMs are times as numbers, without those that took no time.
const inMs = (times) => times.map(([from, to]) => [Date.parse(from), Date.parse(to)]).filter(([from, to]) => to > from);

// A wait is drawn as long as it was up to half of this, and never as long as this: a longer
// one is always wider, but less and less so.
const widest = 1000; // milliseconds
const foldedTo = (ms) => (ms <= widest / 2 ? ms : widest - widest ** 2 / 4 / ms);

// piecesOf are the times in which a run was worked on until its end: [[from, to]].
export function piecesOf(run, end) {
  const pieces = [];
  let from = run.started;
  for (const [paused, went] of apart(inMs(run.pauses))) {
    pieces.push([from, new Date(paused).toISOString()]);
    from = new Date(went).toISOString();
  }
  return [...pieces, [from, end]];
}

// scaleOf maps times to places, with the times folded in which nobody worked: a person was
// waited for, or nothing was to be done.
export function scaleOf(rows, toScale, breaks = []) {
  let begin = Infinity, end = -Infinity; // a loop: there may be more rows than a function takes arguments
  for (const r of rows) {
    begin = Math.min(begin, Date.parse(r.start));
    end = Math.max(end, Date.parse(r.end || r.start));
  }
  const tops = rows.filter((r) => r.kind === "run" && r.depth === 0).sort((a, b) => (a.start < b.start ? -1 : 1));
  const waits = [...breaks, ...tops.flatMap((r) => r.run.pauses)];
  for (let i = 1; i < tops.length; i++) if (tops[i - 1].end) waits.push([tops[i - 1].end, tops[i].start]);
  if (tops.at(-1)?.end && rows.some((r) => r.kind === "ask" && !r.end)) { // it waits now
    end = Math.max(end, Date.now());
    waits.push([tops.at(-1).end, new Date(end).toISOString()]);
  }
  end = Math.max(begin + 1, end);
  const folds = toScale ? [] : apart(inMs(waits)).filter(([a, b]) => b - a > widest / 2);
  const saved = (time) => folds.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(time, b) - a) * (1 - foldedTo(b - a) / (b - a)), 0);
  const at = (time) => Date.parse(time) - begin - saved(Date.parse(time));
  return { at, total: Math.max(1, end - begin - saved(end)), folded: folds.reduce((sum, [a, b]) => sum + b - a, 0) };
}

// madeIn is how many calls of tools were made: what waits to be allowed is not one yet.
export const madeIn = (session) => session.spans.filter((s) => s.kind === "tool" && s.asks !== "approval").length;

function figuresOf(rows, session) {
  return { calls: rows.filter((r) => r.span), made: madeIn(session), memories: memoriesOf(session), failed: session.spans.filter((s) => isFailure(s.class)).length };
}

// memoriesOf says of each model what its memory held, in the order of their first calls: how much at
// most, of how much where that is known, and its latest calls as [turn, span]. Turns count through all.
export function memoriesOf(session) {
  const each = new Map();
  session.spans.filter((s) => s.kind === "model" && s.context).forEach((s, i) => (each.get(s.name) ?? each.set(s.name, []).get(s.name)).push([i + 1, s]));
  return [...each].map(([model, turns]) => ({
    model, turns: turns.slice(-40), window: turns.at(-1)[1].context.window,
    fullest: turns.reduce((most, [, s]) => Math.max(most, heldBy(s)), 1),
  }));
}

// heldBy is how many tokens a call was sent: as they were counted, else as they were estimated.
const heldBy = ({ context, usage }) => usage?.input_tokens || context.system + context.tools + context.history;

export function Run({ here, at, agent }) {
  const { session, id } = here;
  const [toScale, setToScale] = useState(false);
  const rows = useMemo(() => {
    const names = namesIn(agent.id, session);
    return rowsOf(session).map((row) => (row.kind === "run" && names.has(row.run.id) ? { ...row, name: names.get(row.run.id) } : row));
  }, [session.version, app.flows]);
  const number = Number(at) || 0;
  // What takes longer the more calls there are is computed when something happens, not
  // when somebody scrolls.
  const scale = useMemo(() => {
    const made = rows.length ? scaleOf(rows, toScale, session.breaks) : { at: () => 0, total: 1, folded: 0 };
    return { ...made, ...axisOf(made.total) };
  }, [rows, toScale]);
  const { calls, made, failed, memories } = useMemo(() => figuresOf(rows, session), [rows]);
  const { totals } = session, cut = cutIn(session), earlier = earlierIn(session);
  const step = (by) => {
    const i = calls.findIndex((r) => r.span.seq === number);
    const next = calls[Math.max(0, Math.min(calls.length - 1, i + by))];
    if (next) select(id, next);
  };
  const exported = () => {
    const link = Object.assign(document.createElement("a"), { download: `${id}.jsonl` });
    allEvents(id).then((lines) => {
      link.href = URL.createObjectURL(new Blob(lines.map((line) => line + "\n"), { type: "application/x-ndjson" }));
      link.click();
    }, (problem) => toast(problem.message));
  };
  return html`<section class="running" aria-label="Run"><div class="row between wrap figures"><dl class="facts">
      <div><dt>Took</dt><dd><${Took} session=${session} status=${session.status} /></dd></div><div><dt>Model calls</dt><dd>${count(totals.turns)} ${cut > 0 && html`<small>and ${count(cut)} cut off, of which nobody says what ${cut === 1 ? "it" : "they"} took</small>`}</dd></div>
      <div><dt>Tool calls</dt><dd>${count(made)} ${failed > 0 && html`<small class="bad">${failed} failed</small>`}</dd></div><div><dt>Tokens</dt><dd>${count(totals.input + totals.output)} ${totals.cached > 0 && html`<small>${Math.round((totals.cached / totals.input) * 100)} % from cache</small>`}</dd></div>
      <div><dt>Cost</dt><dd>${cost(totals.cost) || (totals.unpriced ? "not known" : "–")} ${totals.unpriced && totals.cost > 0 && html`<small>and more: a price is not known</small>`} ${earlier > 0 && html`<small>${cost(earlier)} of it in the one that this goes on from</small>`}</dd></div></dl>
      <div class="row wrap">${[["acc", "model"], ["note", "tool"], ["bad", "failed"], ["spot", "waits for you"]].map(([tint, words]) => html`<span class="chip out desk-only" key=${words}><span class=${"dot d-" + tint}></span>${words}</span>`)}<button type="button" class="sm" onClick=${exported}>${icon("download")}Export</button></div></div>
    <div class=${"inspect" + (number ? "" : " solo")}><div class="lanes" style=${{ "--tick": (100 * scale.tick) / scale.total + "%" }}>
      <div class="lane axis" aria-hidden="true"><span><b class="tiny">What happened</b></span><span></span><span class="track">${Array.from({ length: Math.round(scale.total / scale.tick) + 1 }, (_, n) => html`<span key=${n} style=${{ left: (100 * n * scale.tick) / scale.total + "%" }}>${duration(n * scale.tick)}</span>`)}</span></div>
      <${Lanes} rows=${rows} scale=${scale} number=${number} id=${id} />
      ${rows.length === 0 && html`<p class="dim pad">Nothing has run yet.</p>`}
      ${(scale.folded > 0 || toScale) && html`<p class="small faint pad">${toScale ? "Drawn to scale." : "Waiting is folded in the drawing."} <button type="button" class="link" onClick=${() => setToScale(!toScale)}>${toScale ? "Fold waiting" : "Show it to scale"}</button></p>`}
      ${memories.length > 0 && html`<${Memory} memories=${memories} number=${number} />`}
    </div>${number > 0 && html`<${Call} id=${id} number=${number} key=${number} turn=${calls.find((r) => r.span.seq === number)?.turn} step=${step} close=${() => go(talkAddress(id, "run"))} />`}</div></section>`;
}

// cutIn is how many answers of a session were cut off: providers do not say what such ones took.
export const cutIn = (session) => session.items.filter((item) => item.cut).length;

// earlierIn is what the calls cost that a session has of the one that it goes on from.
export function earlierIn(session) {
  const from = session.items.findLast((item) => item.code === "forked")?.seq ?? 0;
  return session.spans.reduce((sum, span) => sum + (span.seq < from ? (span.cost ?? 0) : 0), 0);
}

// axisOf is how far an axis goes that shows a time, in milliseconds, and how far its ticks are apart:
// a number that people count in, four times at most. It ends at the next tick.
export function axisOf(time) {
  const long = [[3_600_000, [1, 1.5, 2, 3, 4, 6, 8, 12]], [60_000, [1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45]], [1000, [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45]]].map(([ms, steps]) => steps.map((n) => n * ms)).flat().sort((a, b) => a - b);
  const quarter = time / 4, size = 10 ** Math.floor(Math.log10(Math.max(quarter, 1)));
  const fitting = quarter <= 800 ? [1, 2, 3, 4, 5, 6, 8, 10].map((n) => n * size).find((n) => n >= quarter) : long.find((n) => n >= quarter);
  const tick = fitting ?? Math.ceil(quarter / 86_400_000) * 86_400_000;
  return { tick, total: tick * Math.ceil(time / tick) };
}

const select = (id, row) => row.span && go(talkAddress(id, "run", String(row.span.seq)));

// Lanes draws the rows that are in view, in pieces, and knows alone how far somebody has
// scrolled: nothing else of the run is drawn again for that. A piece has its place, so that
// those that are there already stay untouched when another comes. What is flung past faster
// than a screen a frame cannot be read: it is ruled lines until the flinging ends.
function Lanes({ rows, scale, number, id }) {
  const [{ first, last, flung }, setView] = useState({ first: 0, last: 3, flung: false });
  const list = useRef(null);
  const height = phone.matches ? 44 : 36, piece = perPiece * height;
  useLayoutEffect(() => {
    const box = list.current.parentElement, above = list.current.offsetTop;
    if (!box) return; // it is drawn nowhere
    let top = box.scrollTop, moves = 0;
    const show = (flies) => {
      const from = Math.floor((box.scrollTop - above) / piece) - 1, to = Math.floor((box.scrollTop - above + box.clientHeight) / piece) + 1;
      setView((now) => (now.first === from && now.last === to && now.flung === flies ? now : { first: from, last: to, flung: flies }));
    };
    const scrolled = () => {
      const flies = Math.abs(box.scrollTop - top) > box.clientHeight, move = ++moves;
      top = box.scrollTop;
      show(flies);
      if (flies) requestAnimationFrame(() => requestAnimationFrame(() => move === moves && show(false)));
    };
    show(false);
    box.addEventListener("scroll", scrolled, { passive: true });
    addEventListener("resize", scrolled);
    return () => {
      moves++;
      box.removeEventListener("scroll", scrolled);
      removeEventListener("resize", scrolled);
    };
  }, [piece]);
  useLayoutEffect(() => {
    const box = list.current.parentElement, at = box && number ? rows.findIndex((row) => row.span?.seq === number) : -1;
    const top = list.current.offsetTop + at * height;
    if (at >= 0 && (top < box.scrollTop + height || top + height > box.scrollTop + box.clientHeight)) box.scrollTop = top - box.clientHeight / 2;
  }, [number, rows.length > 0]);
  const pieces = [];
  for (let n = Math.max(0, first); n <= last && n * perPiece < rows.length; n++) {
    const own = rows.slice(n * perPiece, (n + 1) * perPiece);
    pieces.push(html`<${Piece} key=${n} top=${n * piece} height=${own.length * height} flung=${flung} all=${rows} rows=${own} scale=${scale} current=${own.find((row) => row.span && row.span.seq === number)} id=${id} />`);
  }
  return html`<div role="tree" class="rows-drawn" ref=${list} aria-label="What happened, in order" style=${{ height: rows.length * height + "px" }}>${pieces}</div>`;
}

// Piece is drawn again only where something has happened, or another row is chosen. Its
// rows stay once they are there, also while somebody flings past.
class Piece extends Component {
  shouldComponentUpdate(next) {
    const now = this.props;
    return (!next.flung && !this.isDrawn) || next.all !== now.all || next.scale !== now.scale || next.current !== now.current || next.top !== now.top;
  }

  render({ top, height, flung, rows, scale, current, id }) {
    this.isDrawn ||= !flung;
    return html`<div role="presentation" class=${this.isDrawn ? "piece" : "piece ruled"} style=${{ top: top + "px", height: height + "px" }}>${this.isDrawn && rows.map((row, i) => html`<${Lane} key=${i} row=${row} scale=${scale} current=${row === current} id=${id} />`)}</div>`;
  }
}

// Memory shows what filled the memory of each model, which differ in size.
function Memory({ memories, number }) {
  const most = ({ fullest, window }) => html`<span class="tiny faint">at most ${count(fullest)}${window ? ` of ${count(window)}` : ""} tokens</span>`;
  const one = memories.length === 1;
  return html`<section class="memory"><div class="row"><h2 class="h-17 grow">What filled the ${one ? "model’s" : "models’"} memory</h2>${one && most(memories[0])}</div>
    <p class="row wrap tiny dim legend">${[["p1", "instructions"], ["p3", "descriptions of tools"], ["p4", "the conversation"], ["rest", "free, beside the fullest turn"]].map(([tint, words]) => html`<span class="row" key=${tint}><span class=${"sw " + tint} aria-hidden="true"></span>${words}</span>`)}</p>
    ${memories.map((m) => html`<div key=${m.model}>${!one && html`<div class="row of-model"><h3 class="small grow cut">${m.model}</h3>${most(m)}</div>`}<div class="fills">${m.turns.map(([n, s]) => html`<${Fill} key=${s.seq} span=${s} n=${n} fullest=${m.fullest} current=${s.seq === number} />`)}</div></div>`)}</section>`;
}

function Fill({ span, n, fullest, current }) {
  const held = heldBy(span), { context } = span, estimated = context.system + context.tools + context.history || 1;
  const [system, tools, history] = [context.system, context.tools, context.history].map((part) => Math.round((part * held) / estimated));
  return html`<span class=${current ? "strong" : "dim"}>Turn ${n}</span><div class="parts" role="img" aria-label=${`instructions ${system}, tools ${tools}, conversation ${history} tokens`}>${[["p1", system], ["p3", tools], ["p4", history], ["rest", fullest - held]].map(([tint, value]) => value > 0 && html`<i key=${tint} class=${tint} style=${{ flex: value }}></i>`)}</div><span class="right num dim">${count(held)}</span>`;
}

const standings = { __proto__: null, running: " works", failed: " failed", waiting: " waits for you", cancelled: " was stopped", interrupted: " was interrupted", forked: " is not finished" };

// stands says behind an agent's name how its run stands, or came to its end.
export const stands = ({ status, stop, died }) => standings[died ? "interrupted" : status] ?? (stopped(stop) ? `: ${lower(stopped(stop))}` : stop === "handed_off" ? " hands over" : " answers");

// tookOf is how long what a row shows took, as far as it is known: of a tool what it says itself,
// as the panel of that call has it.
export function tookOf({ kind, run, span, start, from, end }) {
  if (!end || (run && isCut(run))) return NaN;
  if (run) return workedOn(run);
  return (kind === "tool" ? span.ms : undefined) ?? Date.parse(end) - Date.parse(from || start);
}

// drawnFrom is where the bar of a call begins: it is as long as the call took. What is on record
// of it begins earlier, when it was about to be made, which may be far more than a quick call takes.
export const drawnFrom = (row) => new Date(Math.max(Date.parse(row.start), Date.parse(row.end) - tookOf(row)) || row.start).toISOString();

// iconOf is the icon of a call: of one that has read a file that of the file.
const iconOf = (tool, args) => (/^read_(file|document)$/.test(tool) && (args?.file_path ?? args?.path) ? fileIcon(String(args.file_path ?? args.path)) : toolIcon(tool));

function Lane({ row, scale, current, id }) {
  // What has not ended goes on beyond the last thing that happened: the drawing ends there.
  const place = (from, to) => {
    const left = Math.min(99.8, (scale.at(from) / scale.total) * 100);
    return { left: left + "%", width: Math.min(100 - left, Math.max(0.2, ((scale.at(to) - scale.at(from)) / scale.total) * 100)) + "%" };
  };
  const end = row.end || new Date().toISOString();
  let drawing = null, label = "", bars = null;
  if (row.kind === "run") {
    const agent = agentOf(row.run.agent);
    drawing = html`<${Face} id=${row.run.agent} name=${agent.name} size="s" />`;
    label = html`<b class="cut">${row.name ?? agent.name}${stands({ ...row.run, ...(row.forked && { status: "forked" }) })}</b>`;
    bars = piecesOf(row.run, end).map(([from, to]) => html`<i key=${from} class="ag" style=${place(from, to)}></i>`);
  } else if (row.kind === "model") {
    const first = new Date(Date.parse(row.start) + (row.span.first || 0)).toISOString();
    drawing = icon("cpu");
    label = html`<span class="cut">${row.span.purpose ? `Model, ${row.span.purpose}` : `Model, turn ${row.turn}`}${row.failed.length ? `, try ${row.failed.length + 1}` : ""}</span>`;
    bars = html`${row.failed.map((w) => html`<i key=${w.seq} class="er" title=${w.text} style=${place(w.time, w.time)}></i>`)}<i class="tt" style=${place(row.start, first)}></i><i style=${place(first, end)}></i>`;
  } else if (row.kind === "tool") {
    label = html`<span class="cut">${labelOf(row)}</span>`;
    drawing = icon(isFailure(row.span.class) ? "circle-x" : iconOf(row.span.name, row.span.arguments), isFailure(row.span.class) ? "bad" : "");
    bars = html`<i class=${isFailure(row.span.class) ? "er" : "tl"} style=${place(drawnFrom(row), end)}></i>`;
  } else if (row.kind === "ask") {
    drawing = icon("message-circle-question-mark", "wait");
    label = html`<span class="cut">${labelOf(row)}</span>`;
    bars = html`<i class="wt" style=${place(row.start, end)}></i>`;
  } else if (row.kind === "break") {
    drawing = icon("power");
    label = html`<span class="cut">Interrupted by a restart</span>`;
    bars = html`<i class="id" style=${place(row.start, end)}></i>`;
  } else {
    drawing = icon("circle-x", "bad");
    label = html`<span class="cut" title=${row.warning.text}>${agentOf(row.warning.agent).name}: ${inShort(row.warning.cause) || row.warning.text}</span>`;
  }
  const act = () => select(id, row), keys = (event) => (event.key === "Enter" ? act() : moveBy({ ArrowUp: -1, ArrowDown: 1 }[event.key], event));
  return html`<div class="lane" role="treeitem" aria-level=${row.depth + 1} aria-selected=${current} data-kind=${row.kind} data-failed=${isFailure(row.span?.class)} tabindex=${row.span ? 0 : undefined} onClick=${act} onKeyDown=${keys}><span style=${{ "--d": row.depth }}>${drawing}${label}</span><span class=${row.kind === "ask" ? "wait" : ""}>${row.kind === "ask" && !row.end ? row.from && html`<${Since} time=${row.from} />` : duration(tookOf(row))}</span><span class="track">${bars}</span></div>`;
}

// moveBy gives the focus to the next call that is drawn, or the one before.
function moveBy(by, event) {
  if (!by) return;
  event.preventDefault();
  const all = [...document.querySelectorAll(".lane[tabindex]")];
  all[all.indexOf(event.currentTarget) + by]?.focus();
}

// useClock is the time, which goes on each second for as long as it runs. All who show how long
// something lasts are told the same time, so that they agree.
function useClock(runs) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!runs) return;
    ticking.watchers.add(setNow);
    ticking.timer ||= setInterval(tick, 1000);
    tick();
    return () => {
      ticking.watchers.delete(setNow);
      if (ticking.watchers.size) return;
      clearInterval(ticking.timer);
      ticking.timer = null;
    };
  }, [runs]);
  return now;
}

const ticking = { watchers: new Set(), timer: null };

function tick() {
  const now = Date.now();
  for (const set of ticking.watchers) set(now);
}

// Took is how long a session was worked on, and how long it waited for a person.
function Took({ session, status }) {
  const now = useClock(status === "running" || status === "waiting");
  const { worked, waited } = timesAt(session, new Date(now).toISOString());
  return html`${duration(worked)} ${waited >= 1000 && html`<small>and waited ${duration(waited)} for you</small>`}`;
}

// Since is how long something lasts that has not ended.
const Since = ({ time }) => duration(Math.max(0, useClock(true) - Date.parse(time)));

const kinds = { __proto__: null, instructions: ["p1", "Instructions"], context: ["p2", "Loaded before the conversation"], tools: ["p3", "Descriptions of tools"], user: ["p6", "What was said by people"], assistant: ["p4", "What the agent said"], tool: ["p5", "Results of tools"], summary: ["p2", "Summary of earlier turns"], transcript: ["p6", "What is summed up, to make room"] };

// grouped joins parts of one kind that follow each other.
function grouped(parts) {
  const groups = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last && last.kind === part.kind && part.kind !== "context" && last.fresh === part.new) last.parts.push(part);
    else groups.push({ kind: part.kind, fresh: part.new, parts: [part] });
  }
  return groups;
}

// Call shows one call.
function Call({ id, number, turn, step, close }) {
  const [call, setCall] = useState(null);
  const [problem, setProblem] = useState("");
  const [tab, setTab] = useState("Sent");
  useEffect(() => {
    let left = false;
    api.call(id, number).then((found) => left || setCall(found), (trouble) => left || setProblem(trouble.message));
    return () => {
      left = true;
    };
  }, [id, number]);
  const copyAs = (as) => api.callAs(id, number, as).then((text) => copy(text, `Copied as ${as === "json" ? "JSON" : "a curl command"}: the messages as they were sent. ${lacking}`), (trouble) => toast(trouble.message));
  const fork = () => forkAt(id, number).catch((trouble) => toast(trouble.message));
  const button = (name, drawing, act) => html`<button type="button" class="tool sm" title=${name} aria-label=${name} onClick=${act}>${icon(drawing)}</button>`;
  const model = call?.kind === "model";
  const panel = useVisit();
  return html`<aside class="panel over" ref=${panel} tabindex="-1" aria-label="Call"><div class="bar">${icon(call && !model ? iconOf(call.tool, call.arguments) : "cpu")}<div class="grow"><h2 class="cut">${!call ? "…" : model ? `Model${call.purpose ? `, ${call.purpose}` : turn ? `, turn ${turn}` : ""}` : done({ ...call, content: call.result })}</h2><div class="tiny faint cut wraps">${call && `${call.model || call.tool} · ${clock(call.at)}${call.finish ? ` · ${endWords(call)}` : ""}`}</div></div>
      ${button("The call before", "chevron-up", () => step(-1))}${button("The next call", "chevron-down", () => step(1))}${button("Close", "x", close)}</div>
    <div class="call-body" tabindex="0">${problem ? html`<p class="dim">${problem}</p>` : !call ? html`<${Bones} />` : !model ? html`<${ToolCall} call=${call} />` : html`
      <dl class="facts small-facts"><div><dt>Sent</dt><dd>${count(call.input_tokens)} <small>tokens${call.cached_tokens ? `, ${count(call.cached_tokens)} cached` : ""}</small></dd></div><div><dt>Came back</dt><dd>${count(call.output_tokens)}</dd></div><div><dt>First word</dt><dd>${duration(call.first_token_ms ?? 0)}</dd></div><div><dt>Cost</dt><dd>${cost(call.cost) || "–"}</dd></div></dl>
      <div class="row between wrap"><div class="seg" role="group" aria-label="What to see">${["Sent", "Came back", "What changed", "JSON"].map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name} onClick=${() => setTab(name)}>${name}</button>`)}</div>
        <span class="row">${button("Copy as JSON", "braces", () => copyAs("json"))}${button("Copy as a curl command, without the key", "terminal", () => copyAs("curl"))}<button type="button" class="ghost sm" title="A new conversation that begins here" onClick=${fork}>${icon("git-branch")}Fork here</button></span></div>
      ${tab === "Sent" && html`<${Sent} parts=${call.parts ?? []} whole=${(p) => api.partAddress(id, number, call.parts.indexOf(p))} />`}
      ${tab === "Came back" && html`<${CameBack} answer=${call.answer} finish=${call.finish} />`}
      ${tab === "What changed" && html`<${Changed} id=${id} call=${call} />`}
      ${tab === "JSON" && html`<${Request} key=${number} id=${id} number=${number} />`}`}</div></aside>`;
}

// endWords says why an answer ended.
function endWords({ finish, answer }) {
  const calls = answer?.calls?.length ?? 0;
  const known = { __proto__: null, stop: "ended by itself", length: "cut off: it reached its limit", tool_calls: `ended to call ${calls === 1 ? "a tool" : `${calls} tools`}`, content_filter: "withheld by the provider" };
  return known[finish] ?? `ended: ${finish}`;
}

function Sent({ parts, whole }) {
  const rest = (p) => p.bytes && html`<a class="link small" target="_blank" rel="noopener" href=${whole(p)}>All of it: ${size(p.bytes)}</a>`;
  const groups = grouped(parts);
  return html`<div class="parts" role="img" aria-label="Tokens by part">${groups.map((g, i) => html`<i key=${i} class=${kinds[g.kind]?.[0] ?? "p6"} style=${{ flex: sum(g) || 1 }}></i>`)}</div>
    <div class="sent">${groups.map((g, i) => html`<details class=${"part " + (kinds[g.kind]?.[0] ?? "p6")} key=${i} open=${i === 0}><summary><span class="sw"></span><span class="grow">${partTitle(g)}</span>${g.fresh && html`<span class="chip note t">new</span>`}${g.parts[0].origin && partTitle(g).toLowerCase() !== plainPath(g.parts[0].origin) && html`<span class="tiny faint cut origin" title=${g.parts[0].origin}>${plainPath(g.parts[0].origin)}</span>`}<span class="num">${count(sum(g))}</span>${icon("chevron-right", "chev")}</summary>
      ${g.parts.map((p, j) => (p.kind === "tools" ? html`<p class="small dim" key=${j}>Estimated: how the tools are described is not on record.</p>` : g.parts.length > 1 ? html`<div class="msg" key=${j}><b>${p.name || kinds[p.kind]?.[1]} · ${count(p.tokens)} tokens</b><pre>${visible(p.text)}</pre>${rest(p)}</div>` : html`<pre key=${j} tabindex="0">${visible(p.text)}</pre>${rest(p)}`))}</details>`)}</div>`;
}

const sum = (group) => group.parts.reduce((total, p) => total + p.tokens, 0);

function partTitle(group) {
  const [, words] = kinds[group.kind] ?? ["", group.kind];
  return group.parts.length > 1 ? `${words}: ${group.parts.length}` : group.kind === "context" ? nameOfSource(group.parts[0].name) : words;
}

const nameOfSource = (source = "") => source.split("/").at(-1) || "Context";

// laidOut is JSON over several lines, and anything else as it is.
function laidOut(text) {
  try {
    return json(JSON.parse(text));
  } catch {
    return visible(text);
  }
}

function CameBack({ answer, finish }) {
  return html`<div class="stack came">${answer?.thought && html`<details><summary>Thought</summary><pre tabindex="0">${visible(answer.thought)}</pre></details>`}${answer?.text && html`<pre tabindex="0">${visible(answer.text)}</pre>`}${answer?.refusal && html`<pre tabindex="0">${visible(answer.refusal)}</pre>`}
    ${(answer?.calls ?? []).map((c, i) => html`<div class="msg" key=${i}><b>calls ${c.name}</b><pre>${laidOut(c.arguments)}</pre></div>`)}<p class="small faint">It ended: ${finish || "without saying why"}.</p></div>`;
}

function Changed({ id, call }) {
  const fresh = (call.parts ?? []).filter((p) => p.new);
  if (!call.before) return html`<p class="dim">This is the first call: everything is new.</p>`;
  return html`<div class="stack"><p class="small dim">Since <a class="link" href=${talkAddress(id, "run", String(call.before))}>the call before</a>: ${fresh.length} parts are new, ${call.dropped?.length ?? 0} were not sent any more.</p>
    <${Lines} before=${(call.dropped ?? []).map(asText).join("")} after=${fresh.map(asText).join("")} /></div>`;
}

const asText = (p) => `${kinds[p.kind]?.[1] ?? p.kind}${p.name ? ` (${p.name})` : ""}\n${visible(p.text)}\n`;

function ToolCall({ call }) {
  return html`<dl class="facts small-facts"><div><dt>Took</dt><dd>${duration(call.duration_ms ?? 0)}</dd></div><div><dt>Attempt</dt><dd>${call.attempts ?? 1}</dd></div>${call.class && html`<div><dt>Failed as</dt><dd>${call.class}</dd></div>`}</dl>
    <h3>Sent to ${call.tool}</h3><pre tabindex="0">${json(call.arguments)}</pre>
    ${call.changed?.length > 0 && html`<h3>Changed since the attempt before</h3><pre tabindex="0">${json(call.changed)}</pre>`}
    ${call.error && html`<h3>What went wrong</h3><pre tabindex="0">${visible(call.error)}</pre>`}
    <h3>Came back</h3><pre tabindex="0">${visible(call.result ?? "")}</pre>`;
}

// lacking says what a copy of a call does not have.
const lacking = "What is not on record is not in it: the descriptions of tools, and parameters such as the temperature.";

// Request is a call as one asks for it by chat completions.
function Request({ id, number }) {
  const [text, setText] = useState(null);
  useEffect(() => void api.callAs(id, number, "json").then((found) => setText(json(JSON.parse(found))), (trouble) => setText(trouble.message)), []);
  return html`<p class="tiny faint">The messages as they were sent, as the body of a chat completions request. ${lacking} Attached files stand in it by their names.</p>${text === null ? html`<${Bones} />` : html`<pre class="exact-json" tabindex="0">${text}</pre>`}`;
}
