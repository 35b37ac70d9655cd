// A delivery: a request on its way through the phases, and the decision that waits.

import { amount } from "./amount.js";
import { api } from "./shelf.js";
import { agentOf, app } from "./state.js";
import { useKept } from "./fields.js";
import { capital, cost, hour, money, nameOf, nameOfPhase, size } from "./format.js";
import { fileIcon } from "./forms.js";
import { goTo } from "./keys.js";
import { talkAddress } from "./route.js";
import { mostOf } from "./fold.js";
import { sends } from "./draft.js";
import { gates, written } from "./words.js";
import { inWords, partsOf, PhaseWords } from "./phase.js";
import { Pages, Unsent, useTyped } from "./cards.js";
import { keep, kept } from "./kept.js";
import { keyOf, ownKey, sentHere } from "./typed.js";
import { Prose } from "./prose.js";
import { Trouble } from "./trouble.js";
import { coming, historyOf, phasesOf, standingOf, states, timesOf, usual, wishedFor } from "./standing.js";
import { isAsShown, isUnsaved, planHint, SitePlan } from "./plan.js";
import { Change, Checks, DiffLines, Documents, FindingRows, Findings, leftOut, Outcome, tell, useSite } from "./site.js";
import { Bones, html, icon, useCalm, useEffect, useRef, useState } from "./view.js";

// marks are how the stepper draws the states of a phase.
const marks = { __proto__: null, done: ["done", "check"], running: ["now", "loader-circle", "spin"], failed: ["bad", "x"], partly: ["bad", "x"], wants: ["bad", "triangle-alert"] };

export function Delivery({ here, info, status, acts, show: open }) {
  const show = (path) => open("{output}/" + path); // as the files of its conversation are called
  const { session } = here;
  const gate = session.questions.find((q) => q.ask.kind === "gate");
  const [site, again] = useSite(here.id, [status, info?.written, info?.result, session.items.length, session.runs.size, [...session.runs.values()].filter((run) => run.ended).length].join(), !!gate);
  const isKnown = useCalm(site === undefined ? null : true); // what is shown once it is known moves nothing away
  const list = phasesOf(session, status);
  const asking = gate?.arguments?.phase; // a phase, or a step of one
  const at = list.some((p) => p.name === asking) ? asking : gate && list.find((p) => p.state === "waiting")?.name;
  const sent = useRef(null); // the question whose answer is on its way: a second press is none
  const [, draw] = useState(0);
  const early = !!gate && status === "running"; // what runs beside it has not come to its end, and no answer is taken before
  const busy = early || (!!gate && sent.current === gate.key);
  const decide = async (values, kept = "") => {
    if (sent.current === gate.key) return;
    const given = (key) => ((sent.current = key), draw((n) => n + 1)), typed = keyOf(here.id, gate);
    given(gate.key);
    sentHere.add(typed);
    if (await acts.answer(gate, values, () => [typed, ownKey(typed)].forEach((key) => keep(key, "")), ({ code, message }) => tell(`Your decision was not taken. ${message}${code === "offline" ? kept : ""}`))) return tell();
    sentHere.delete(typed);
    given(null);
  };
  // holdsBack says that a decision would pass over changes of the plan that are not saved.
  const holdsBack = () => {
    if (!site?.acts.includes("plan") || !isUnsaved(site)) return false;
    tell("Your changes of the plan are not saved. Save them first, or cancel them.");
    document.querySelector("[aria-label='Change the plan'] input:enabled")?.focus();
    return true;
  };
  const wish = (text) => holdsBack() || decide({ text }, " What you typed is kept.");
  // Whoever goes on has the plan carried out that they see.
  const onward = async () => {
    if (holdsBack()) return;
    if (site?.acts.includes("plan") && !(await isAsShown(site))) return tell("The plan was changed elsewhere meanwhile. Look at it once more."), again();
    return decide({ text: "go on" });
  };
  const next = gate?.arguments?.next;
  if (next && !list.some((p) => p.name === next)) list.push(coming(next));
  const request = session.items.find((item) => item.type === "user")?.text ?? [...session.runs.values()][0]?.task ?? "";
  const mark = (p) => (p.name === at ? ["wait", "hand"] : marks[p.state] ?? [""]);
  const current = list.find((p) => p.name === at) ?? list.find((p) => p.state === "running") ?? list.findLast((p) => !["idle", "running"].includes(p.state));
  const asked = list.find((p) => p.name === (asking || at)) ?? current; // whose result is asked about
  const latest = [...session.runs.values()].findLast((run) => !run.parent);
  const trouble = session.items.findLast((item) => item.type === "trouble" && item.seq > (latest?.seq ?? 0)); // not what an earlier run met
  const decided = session.items.findLast((item) => item.ask?.kind === "gate" && !item.open);
  const done = list.filter((p) => p.result);
  const most = latest?.most ?? 0; // what it may cost, each time
  const further = { to: mostOf(session) + most, act: () => api.continueDelivery(here.id, most ? { budget: most } : {}).then(() => tell(), (problem) => tell(problem.message)) };
  return html`<div class="page"><div class="in delivery">
    <ol class="stepper" aria-label="Phases" style=${{ gridTemplateColumns: `repeat(${list.length}, 1fr)` }}>${list.map((p, i) => html`<li key=${p.name} class=${mark(p)[0]} data-phase=${p.name} data-state=${p.name === at ? "waiting" : p.state === "done" ? "completed" : p.state} aria-current=${p === current ? "step" : undefined}><span class="mark">${mark(p)[1] ? icon(mark(p)[1], mark(p)[2] ?? "") : i + 1}</span><b>${nameOfPhase(p.name)}</b><small class=${p.name === at ? "wait" : ""}>${standingOf(p, p.name === at, site?.plan)}</small></li>`)}</ol>
    ${current && html`<p class="phone-only row between small"><b class=${"serif" + (current.name === at ? " wait" : "")}>${nameOfPhase(current.name)}</b><span class="dim">${list.indexOf(current) + 1} of ${list.length}, ${standingOf(current, current.name === at, site?.plan)}</span></p>`}
    <div class="two"><div class="stack wide-gap">
      ${decided && html`<${Unsent} key=${decided.key} id=${here.id} item=${decided} copy=${acts.copy} left=${decided.left} />`}
      ${gate && html`<${Gate} key=${gate.key} id=${here.id} item=${gate} about=${asked} site=${site} early=${early} busy=${busy} decide=${decide} wish=${wish} onward=${onward} show=${show} wished=${wishedFor(session, gate)} />`}
      ${!gate && status === "running" && html`<div class="card pad"><div class="acts">${icon("loader-circle", "spin acc")}<span><b>${current ? nameOfPhase(current.name) : "The delivery"}</b> is being worked on</span><span class="grow"></span><button type="button" class="sm" onClick=${acts.stop}>${icon("square", "solid")}Stop</button></div></div>`}
      ${!gate && status !== "running" && trouble && html`<${Trouble} code=${trouble.code || (trouble.context.problem ? "" : "delivery_stopped")} context=${{ a: "The delivery", delivers: true, ...trouble.context }} acts=${{ ...acts, ...(site?.acts.includes("continue") && { further }) }} />`}
      ${!gate && status === "interrupted" && html`<${Trouble} code="interrupted" acts=${acts} />`}
      ${isKnown ? html`${site && !gate && status !== "running" && html`<${Outcome} site=${site} session=${session} again=${again} />`}
      ${site && html`<${Change} site=${site} /><${Findings} site=${site} /><${Checks} site=${site} />`}
      ${done.toReversed().map((p) => html`<${Result} key=${p.name} phase=${p} isAsked=${gate && p === asked} isEdited=${(path) => site?.documents.some((d) => d.path === path && d.edited)} show=${show} />`)}` : html`<${Awaited} /><${Awaited} />`}
      ${!gate && done.length === 0 && status !== "running" && !trouble && html`<p class="dim">Nothing has come of it yet.</p>`}</div>
      <aside class="stack wide-gap"><section class="card pad"><h2 class="h-17">What was asked for</h2><p class="plain small" dir="auto">${request}</p>${site?.left_out > 0 && html`<p class="tiny dim">${leftOut(site.left_out)}</p>`}<${Taken} spent=${info?.spent} session=${session} list=${list} /></section>
        ${!isKnown ? html`<${Awaited} />` : html`${site?.plan ? html`<${SitePlan} site=${site} session=${session} again=${again} />` : html`<${Plan} list=${list} />`}${site && html`<${Documents} site=${site} show=${show} />`}<${History} session=${session} gate=${gate} takes=${site?.takes} dropped=${site?.dropped} />`}</aside></div>
    ${gate && html`<${Pinned} item=${gate} busy=${busy} wish=${wish} onward=${onward} />`}</div></div>`;
}

// Awaited is a card that is not there yet.
const Awaited = () => html`<div class="card awaited"><${Bones} /></div>`;

// Taken is what the delivery has cost and taken so far; what it waits for now grows.
function Taken({ spent, session, list }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<p class="tiny faint taken">${[spent && `${cost(spent)} so far`, timesOf(session, list)].filter(Boolean).join(", ")}</p>`;
}

// concerns are the warnings that people are told, by their codes. The others say how an
// answer was read, and are in the run for developers.
const concerns = { __proto__: null, by_hand: true, check_flaky: true, lock_written: true, claim: true, file_missing: true, tests_missing: true, reply_cut: true };

const told = (warnings) => (warnings ?? []).map((text) => String(text).match(/^(\w+): ([^]*)$/) ?? []).filter(([, code]) => concerns[code]).map(([, , text]) => text);

const lines = (list) => [...new Set((list ?? []).map((item) => older(inWords(item))).filter(Boolean))];

// older says to people what logs from before they were told apart have for models alone.
function older(text) {
  const missing = text.match(/^\/(?:\w+\/)*(\w+): required, but missing$/)?.[1];
  if (missing) return `It says nothing about ${missing.replace(/_/g, " ")}.`;
  return /^the answer: |^\/\w[\w/]*: /.test(text) ? "The answer was not in the form that the next phase needs, so it could not be used as it is." : text;
}

// long is how many characters a question has that is read page by page, as it is.
const long = 20_000;

// asSaid is a question as it was written, line by line, without what to type for an
// answer: here there are buttons.
export function asSaid(question) {
  let code = false;
  return question.replace(/\s+(Answer|Put that right and answer|Then answer) "(?:go on|stop)"[^\n]*$/, "").split("\n").map((line) => {
    if (line.startsWith("```")) code = !code;
    return code || line.startsWith("```") || !line.trim() ? line : line + "  ";
  }).join("\n");
}

// changeIn takes a question apart that shows a change: what is said before it, and the change.
function changeIn(question) {
  const [, before, , diff] = question.match(/^([^]*?)\n(`{3,})diff\n([^]*?)\n\2$/m) ?? [];
  return { before: before ?? "", diff: diff ?? "" };
}

// Subject is what a person is asked to accept: the steps of a plan, a change, what a review
// found, or what a phase has answered, in words.
function Subject({ item, about, site }) {
  const { kind = "", phase = "", said = "", kept = 0 } = item.arguments ?? {};
  const result = about?.result;
  if (kind === "plan" || (kept > 0 && site?.plan)) return html`${kept > 0 && html`<p class="small dim">The plan that is there:</p>`}<ol class="said-lines subject steps-asked">${(site?.plan?.steps ?? result?.outputs?.steps ?? []).map((s, i) => html`<li key=${s.id ?? i} dir="auto"><b>${s.title || s.name || inWords(s)}</b>${s.goal && s.goal !== s.title && html`<div class="plain small">${s.goal}</div>`}${s.acceptance?.length > 0 && html`<div class="small dim">Done when: ${s.acceptance.map(inWords).join("; ")}</div>`}${s.files?.length > 0 && html`<div class="tiny faint">${s.files.map(inWords).join(", ")}</div>`}</li>`)}</ol>`;
  if (kind === "review") return html`<div class="subject found"><${FindingRows} findings=${result?.review?.findings ?? []} criteria=${result?.review?.criteria ?? []} /></div>`;
  if (kind === "step" || kind === "diff") {
    const { before, diff } = changeIn(item.question);
    return html`<div class="subject stack"><div class="small"><${Prose} text=${asSaid(before.replace(/^(?:[^\n]*?(?:is done|is ready)): /, "").replace(/\n+To be aware of:\n(?:- [^\n]*(?:\n|$))+/, "\n"))} /></div>${diff && html`<details class="small" open=${kind === "step"}><summary class="btn ghost sm">${icon("chevron-right", "chev")}What has changed</summary><${DiffLines} text=${diff} label="What has changed" /></details>`}</div>`;
  }
  if (kind) return null;
  const words = result && partsOf(about.name, { outputs: result.outputs }).length > 0 && html`<${PhaseWords} phase=${about.name} outputs=${result.outputs} />`;
  return html`<div class="subject">${said ? html`<blockquote class="small"><${Prose} text=${said} /></blockquote>` : words || html`<p class="small dim">${nameOfPhase(phase)} has written nothing that could be used.</p>`}</div>`;
}

// how says in a sentence how a phase came to its gate, as the question does: what is against going on is why it is not ready.
const how = ({ phase = "", ready = true, status = "", blockers }) => `${nameOfPhase(phase)} ${status === "failed" ? "failed" : ready && lines(blockers).length === 0 ? "is ready" : "is not ready"}.`;

// Gate is the page's one spotlight: what happened, what it is about, what stands against
// going on, and the decision.
function Gate({ id, item, about, site, early, busy, decide, wish, onward, show, wished }) {
  const { phase = "", next = "", blockers, errors, requirements, artifacts = [], warnings, kind = "", lacking = "", kept = 0 } = item.arguments ?? {};
  const known = gates[kind];
  const typed = keyOf(id, item);
  const [guidance, setGuidance] = useTyped(typed);
  const against = [...new Set([...lines(blockers), ...lines(errors)])];
  const ask = () => guidance.trim() && wish(guidance.trim());
  const aware = lines(warnings ?? told(about?.result?.warnings)); // logs from before a gate had them
  const better = asksForChanges(item);
  const goOn = (!lacking || kept > 0) && html`<button type="button" class=${better ? "" : "primary"} disabled=${busy} onClick=${onward}>${icon("check")}${kept > 0 ? keeps : known ? known.go : next ? `Go on to ${nameOfPhase(next).toLowerCase()}` : "Approve and finish"}</button>`;
  const change = html`<button type="button" class=${better ? "primary" : ""} data-act="change" disabled=${busy || !guidance.trim()} onClick=${ask}>${known?.change ?? "Ask for changes"}</button>`;
  const hint = known?.hint ?? (lacking && !kept ? "What should be different?" : "What should be different? Only if you ask for changes.");
  // The answer that a button with the focus gives, else what was written, else what is recommended.
  const keys = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    event.preventDefault();
    const of = (selector) => event.currentTarget.querySelector(selector);
    const button = event.target.closest(".end button") ?? of(guidance.trim() ? ".end [data-act=change]" : ".end .primary");
    if (button?.matches("[data-act=change]") && !guidance.trim()) of("textarea")?.focus();
    else button?.click();
  };
  return html`<section class="needs" aria-label="Gate" onKeyDown=${keys}><header>${icon("hand")}Your decision: ${known ? known.ask : kept > 0 ? "carry out the plan that is there?" : lacking ? "what should be different?" : next ? `go on to ${nameOfPhase(next).toLowerCase()}?` : "is it done?"}</header><div>
    <div><h2 class="h-17">${known ? known.title(phase, item.question) : how(item.arguments ?? {})}</h2>${wished && html`<p class="small dim">You asked for changes: ${wished}</p>`}</div>
    ${against.length + lines(requirements).length > 0 && html`<ul class="stack small">${against.map((text) => html`<li class="row top" key=${text}>${icon("triangle-alert", "bad")}<span>${capital(text)}</span></li>`)}${lines(requirements).map((text) => html`<li class="row top" key=${text}>${icon("info")}<span>${capital(text)}</span></li>`)}</ul>`}
    <${Subject} item=${item} about=${about} site=${site} />
    ${kind === "plan" && planHint(site) && html`<p class="small dim" role="status">${planHint(site)}</p>`}
    ${aware.length > 0 && html`<div class="aware"><p class="tiny faint small-head">To be aware of</p><ul class="stack small">${aware.map((text) => html`<li class="row top" key=${text}>${icon("info")}<span>${capital(text)}</span></li>`)}</ul></div>`}
    ${artifacts.filter((a) => a.diff).slice(0, 3).map((a) => html`<${Diff} key=${a.path} artifact=${a} show=${show} />`)}
    ${artifacts.length > 0 && html`<div class="row wrap">${artifacts.map((a) => (a.state === "failed" && !a.sha256 ? html`<${Unsaved} key=${a.path} artifact=${a} />` : html`<button type="button" class="chip out" key=${a.path} onClick=${() => show(a.path)}>${icon(fileIcon(a.path))}${(artifacts.length === 1 && written[phase]) || nameOf(a.path)}</button>`))}</div>`}
    <details class="small" open=${kind === "environment" || kind === "dependencies"}><summary class="btn ghost sm">${icon("chevron-right", "chev")}${site?.plan_ahead ? "The question, as it was asked" : "The question in full"}</summary>${item.question.length > long ? html`<div class="exact-sent"><${Pages} text=${item.question} name="The question" /></div>` : html`<${Prose} text=${asSaid(item.question)} />`}</details>
    ${kind !== "environment" && html`<label class="field edge tall"><textarea rows="2" dir="auto" value=${guidance} data-of=${typed} placeholder=${hint} aria-label=${kind === "review" ? "What does the review get wrong" : "What should be different"} onInput=${(e) => setGuidance(e.target.value)} onKeyDown=${(e) => sends(e) && (e.preventDefault(), ask())}></textarea></label>`}
    ${early && html`<p class="small dim" role="status">${icon("loader-circle", "spin acc")} The checks before the change still run. You can decide once they are done.</p>`}
    <div class="row wrap end">${kind === "environment" ? goOn : better ? [change, goOn] : [goOn, change]}${kind === "dependencies" && html`<button type="button" class="also" disabled=${busy} onClick=${() => decide({ text: "no" })}>Go on without</button>`}<span class="grow"></span><button type="button" class="ghost danger" disabled=${busy} onClick=${() => decide({ text: "stop" })}>Stop here</button></div></div></section>`;
}

// keeps is what going on means where a planner came to no plan, and there was one before.
const keeps = "Carry out the plan that is there";

// asksForChanges says of a gate that asking for changes is what is recommended.
const asksForChanges = ({ arguments: { ready = true, blockers, errors, lacking = "" } = {} }) => !!lacking || !ready || lines(blockers).length + lines(errors).length > 0;

// Pinned are the actions of a gate on a phone.
function Pinned({ item, busy, wish, onward }) {
  const { kind = "", lacking = "", kept = 0 } = item.arguments ?? {};
  const better = asksForChanges(item);
  const field = () => document.querySelector(".needs textarea");
  const ask = () => (field()?.value.trim() ? wish(field().value.trim()) : field()?.focus());
  return html`<div class="act">${kind !== "environment" && html`<button type="button" class=${better ? "primary" : ""} disabled=${busy} onClick=${ask}>${gates[kind]?.change ?? "Ask for changes"}</button>`}${(!lacking || kept > 0) && html`<button type="button" class=${better ? "" : "primary"} disabled=${busy} onClick=${onward}>${kept > 0 ? keeps : gates[kind]?.go ?? "Go on"}</button>`}</div>`;
}

function Diff({ artifact, show }) {
  return html`<div class="card cutoff"><div class="row pad-s">${icon("file-diff")}<b class="small grow cut">${artifact.path}</b><button type="button" class="ghost sm" onClick=${() => show(artifact.path)}>Open</button></div><${DiffLines} text=${artifact.diff.split("\n").slice(0, 60).join("\n")} label=${`Changes of ${artifact.path}`} /></div>`;
}

// reasons are why a document was not kept, as far as there are words for it.
const reasons = [
  [/absolute|leads upwards|of a directory|has no path/, "its path leads to no place in the project"], [/no knowledge base/, "there is no library to put it into"], [/no space|disk/i, "there is no room left"],
  [/denied|permission|not allowed|read-only/i, "it may not be written there"], [/changed since/, "it was changed in the meantime"], [/timeout|deadline|refused|connect/i, "the library does not answer"],
];

// Unsaved says of a document that it was not kept and why; the exact words are there for
// whoever wants them.
function Unsaved({ artifact }) {
  const [, act = "", exact = ""] = /^(\w+): ([^]*)$/.exec(artifact.error ?? "") ?? [];
  const why = reasons.find(([words]) => words.test(exact))?.[1];
  return html`<span class="unsaved small"><span class="bad">${act === "upload" ? `${nameOf(artifact.path)} is saved, and could not be put into the library` : `${nameOf(artifact.path)} could not be saved`}${why ? `: ${why}.` : "."}</span>${exact && html`<details class="tiny"><summary class="btn ghost sm">${icon("chevron-right", "chev")}What was said about it</summary><pre tabindex="0">${exact}</pre></details>`}</span>`;
}

// Result is what a phase has made.
function Result({ phase, isAsked, isEdited, show }) {
  const { result } = phase;
  const list = (title, all, drawing, tint = "") => lines(all).length > 0 && html`<h3 class="tiny faint small-head">${title}</h3><ul class="stack small">${lines(all).map((text) => html`<li class="row top" key=${text}>${icon(drawing, tint)}<span>${capital(text)}</span></li>`)}</ul>`;
  const tests = result.outputs?.tests ?? result.tests;
  const [word, , , tint] = states[phase.state] ?? states.done;
  return html`<section class="card pad phase-result" data-phase=${phase.name}><div class="row"><h2 class="grow">${nameOfPhase(phase.name)}</h2><span class=${"chip t " + tint}>${word}</span></div>
    ${result.artifacts?.length > 0 && html`<ul class="stack">${result.artifacts.map((a) => html`<li key=${a.path} class="row small wrap">${a.sha256 || a.state !== "failed" ? html`<button type="button" class="link cut" onClick=${() => show(a.path)}>${a.path}</button><span class="faint">${isEdited(a.path) ? "edited since" : `${a.change ?? a.state}, ${size(a.size)}`}</span>` : null}${a.state === "failed" && html`<${Unsaved} artifact=${a} />`}</li>`)}</ul>`}
    ${list("What went wrong", result.errors, "circle-x", "bad")}${list("Against going on", result.next_phase?.blockers, "triangle-alert", "bad")}${list("To be aware of", told(result.warnings), "info")}
    ${Array.isArray(tests) && html`<${Tests} tests=${tests} />`}${!isAsked && partsOf(phase.name, { outputs: result.outputs }).length > 0 && html`<details class="small came-of"><summary class="btn ghost sm">${icon("chevron-right", "chev")}What came of it</summary><${PhaseWords} phase=${phase.name} outputs=${result.outputs} /></details>`}</section>`;
}

function Tests({ tests }) {
  return html`<h3 class="tiny faint small-head">Tests</h3>${tests.map((t, i) => html`<div key=${i}><div class="row"><code class="grow">${t.command ?? t.name ?? ""}</code>${t.passed > 0 && html`<span class="chip good t">${t.passed} pass</span>`}${t.failed > 0 && html`<span class="chip bad t">${t.failed} fail</span>`}</div>${t.output && html`<pre class="term" tabindex="0">${t.output}</pre>`}</div>`)}`;
}

// Plan is the steps of the implementation plan with how each stands.
function Plan({ list }) {
  const steps = list.map((p) => p.result?.steps ?? p.result?.outputs?.steps).findLast((s) => Array.isArray(s) && s.length) ?? [];
  if (!steps.length) return null;
  const done = steps.filter((s) => ["done", "success", "built"].includes(s.state)).length;
  return html`<section class="card"><div class="row pad"><h2 class="grow">Plan</h2><span class="meter wide-meter"><i style=${{ width: (done / steps.length) * 100 + "%" }}></i></span><span class="tiny faint">${done} of ${steps.length}</span></div>
    <ol class="plan">${steps.map((s, i) => html`<li key=${i}>${icon(["done", "success", "built"].includes(s.state) ? "circle-check" : s.state === "failed" ? "circle-x" : "circle", ["done", "success", "built"].includes(s.state) ? "good" : s.state === "failed" ? "bad" : "faint")}<span>${s.title || `Step ${s.step ?? i + 1}`}</span><span class="tiny faint">${s.reason || (s.files?.length === 1 ? s.files[0] : s.files?.length ? `${s.files.length} files` : "")}</span></li>`)}</ol></section>`;
}

// mostShown is how much of what happened is shown at first.
const mostShown = 20;

// History is what happened, the latest first.
function History({ session, gate, takes, dropped }) {
  const [whole, setWhole] = useState(false);
  const events = historyOf(session, gate, takes, dropped);
  if (!events.length) return null;
  const shown = whole ? events : events.slice(0, mostShown);
  return html`<section class="card pad" aria-label="What happened"><h2 class="h-17">What happened</h2><ul class="stack small">${shown.map((e, i) => html`<li class="row top" key=${i}>${icon(e.icon, e.tint ?? "")}<span class="grow">${e.text}</span><time class="faint num">${hour(e.time)}</time></li>`)}</ul>
    ${events.length > shown.length && html`<button type="button" class="ghost sm" onClick=${() => setWhole(true)}>Show ${events.length - shown.length} earlier</button>`}</section>`;
}

const stops = [["auto", "only where something is wrong"], ["plan", "after the plan"], ["diff", "before the end, with the change"], ["manual", "after every phase and step"]];

// NewDelivery asks for a request: what is wanted, where it stops, what it may cost, what it
// reads, and who does what. What is left as it is, is as configured.
export function NewDelivery() {
  const draft = "draft.delivery." + app.me.name;
  const [text, write] = useKept(draft);
  const [order, setOrder] = useKept("order." + app.me.name, null);
  const { approve = "", budget = "", project = "", agents = {} } = order ?? {};
  const set = (values) => setOrder({ ...order, ...values });
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const [known, setKnown] = useState(null);
  useEffect(() => void api.usualDelivery().then(setKnown, () => {}), []); // a server may have none
  const typed = amount(budget), most = Number(typed.value);
  const wrong = typed.wrong ?? (budget.trim() && !(most > 0) ? "A budget is a number of dollars, such as 5." : "");
  const submit = async (event) => {
    event.preventDefault();
    if (busy || !text.trim() || wrong) return;
    setBusy(true);
    setFailed("");
    const chosen = Object.fromEntries(Object.entries(agents).filter(([, agent]) => agent));
    try {
      const { session } = await api.deliver({ request: text.trim(), ...(approve && { approve }), ...(most > 0 && { budget: most }), ...(project.trim() && { project: project.trim() }), ...(Object.keys(chosen).length && { agents: chosen }) });
      if (kept(draft) === text) write(""), setOrder(null);
      goTo(talkAddress(session, "delivery"), "#main h1");
    } catch (problem) {
      setFailed(problem.message);
      setBusy(false);
    }
  };
  const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  const phases = known?.phases ?? usual.map((name) => ({ name }));
  const stop = stops.find(([name]) => name === (known?.approve || "auto"))?.[1];
  return html`<form class="card pad stack" onSubmit=${submit} onKeyDown=${keys} aria-label="New delivery"><h2>Deliver a request</h2><p class="small dim">It goes through ${phases.map((p) => nameOfPhase(p.name).toLowerCase()).join(", ").replace(/, ([^,]*)$/, " and $1")}. You decide at the gates.</p>
    <label class="small" for="request"><b>What is wanted</b></label><label class="field edge tall"><textarea id="request" rows="5" value=${text} placeholder="As a customer I want to …" dir="auto" onInput=${(e) => write(e.target.value)}></textarea></label>
    <div class="order-fields"><label class="small" for="delivery-stops"><b>Where it stops for you</b></label><select id="delivery-stops" aria-label="Where it stops for you" value=${approve} onChange=${(e) => set({ approve: e.target.value })}><option value="">as configured${known ? `: ${stop}` : ""}</option>${stops.map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}</select>
      ${known && html`<label class="small" for="delivery-budget"><b>Budget</b><span class="dim">, in dollars</span></label><label class="field edge">${icon("coins")}<input id="delivery-budget" inputmode="decimal" autocomplete="off" value=${budget} placeholder=${known.budget ? money(known.budget) : "no limit of its own"} aria-invalid=${wrong ? "true" : undefined} aria-describedby=${wrong ? "delivery-wrong" : undefined} onInput=${(e) => set({ budget: e.target.value })} /></label>
      <label class="small" for="delivery-project"><b>Project to read and change</b></label><label class="field edge">${icon("folder-open")}<input id="delivery-project" autocomplete="off" value=${project} placeholder=${known.repo || "a new one"} aria-describedby="delivery-left" onInput=${(e) => set({ project: e.target.value })} /></label>`}</div>
    ${known && html`<p class="tiny faint" id="delivery-left">The project is worked on in a copy. What is changed in it and not committed is left out.</p>`}
    ${known && app.agents.length > 0 && html`<details class="small who-does"><summary class="btn ghost sm">${icon("chevron-right", "chev")}Who does what${Object.values(agents).some(Boolean) ? ` (${Object.values(agents).filter(Boolean).length} chosen)` : ""}</summary><div class="order-fields">${phases.map((p) => html`<label key=${p.name} class="small" for=${"phase-" + p.name}><b>${nameOfPhase(p.name)}</b></label><select key=${p.name + "s"} id=${"phase-" + p.name} aria-label=${`Who does ${nameOfPhase(p.name).toLowerCase()}`} value=${agents[p.name] ?? ""} onChange=${(e) => set({ agents: { ...agents, [p.name]: e.target.value } })}><option value="">${p.agent ? agentOf(p.agent).name : p.title || "the delivery’s own agent"}</option>${app.agents.filter((a) => !a.broken && a.id !== p.agent).map((a) => html`<option key=${a.id} value=${a.id}>${a.name}${a.title && a.title !== a.name ? `, ${a.title}` : ""}</option>`)}</select>`)}</div></details>`}
    ${(wrong || failed) && html`<p class="small bad" role="alert" id="delivery-wrong">${wrong || failed}</p>`}
    <div class="row"><button class="primary" disabled=${busy || !text.trim() || !!wrong}>${busy ? "Sending…" : "Deliver"}</button></div></form>`;
}
