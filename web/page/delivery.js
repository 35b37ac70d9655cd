// A delivery: a request on its way through the phases, and the decision that waits.

import { api } from "./shelf.js";
import { agentOf, app, toast } from "./state.js";
import { useKept } from "./draft.js";
import { cost, duration, hour, nameOf, nameOfPhase, size, fileIcon } from "./format.js";
import { go, talkAddress } from "./route.js";
import { mostOf, workedOn } from "./fold.js";
import { gates, written } from "./words.js";
import { inWords } from "./phase.js";
import { Pages } from "./cards.js";
import { Prose } from "./prose.js";
import { Trouble } from "./trouble.js";
import { Change, Checks, Documents, Findings, Outcome, SitePlan, useSite } from "./site.js";
import { html, icon, useEffect, useRef, useState } from "./view.js";

const usual = ["requirements", "architecture", "discovery", "planning", "implementation", "qa"];

// phases returns what became of each phase: of one that was run again, the last time.
export function phases(session) {
  const found = new Map();
  for (const run of session.runs.values()) {
    if (run.depth !== 1) continue;
    const before = found.get(run.agent);
    found.set(run.agent, {
      name: run.agent, state: run.status, rounds: (before?.rounds ?? 0) + 1, result: run.output?.key_outputs?.result ?? null, run,
      ms: workedOn(run), waited: run.waited,
    });
  }
  const own = found.size > 0 && !usual.some((name) => found.has(name));
  const list = new Set([...(own ? [] : usual), ...found.keys()]);
  return [...list].map((name) => found.get(name) ?? { name, state: "idle", rounds: 0, result: null });
}

const words = { __proto__: null, idle: "to come", running: "working", waiting: "waits for you", completed: "done", failed: "failed", cancelled: "stopped" };

// isWhole says that a phase has made what it was to make.
const isWhole = (p) => !p.result || p.result.status === "success";

const standing = (p) => (p.state === "completed" && !isWhole(p) ? (p.result.status === "failed" ? "failed" : "partly done") : words[p.state] ?? p.state);

export function Delivery({ here, info, status, acts, show }) {
  const { session } = here;
  const [site, again] = useSite(here.id, [status, session.items.length, session.runs.size, [...session.runs.values()].filter((run) => run.ended).length].join());
  const gate = session.questions.find((q) => q.ask.kind === "gate");
  const list = phases(session);
  const asking = gate?.arguments?.phase; // a phase, or a step of one
  const at = list.some((p) => p.name === asking) ? asking : gate && list.find((p) => p.state === "waiting")?.name;
  const sent = useRef(null); // the question whose answer is on its way: a second press is none
  const [, draw] = useState(0);
  const busy = !!gate && sent.current === gate.key;
  const decide = async (values, done) => {
    if (sent.current === gate.key) return;
    const given = (key) => ((sent.current = key), draw((n) => n + 1));
    given(gate.key);
    if (!(await acts.answer(gate, values, done))) given(null);
  };
  const next = gate?.arguments?.next;
  if (next && !list.some((p) => p.name === next)) list.push({ name: next, state: "idle", rounds: 0, result: null });
  const request = session.items.find((item) => item.type === "user")?.text ?? [...session.runs.values()][0]?.task ?? "";
  const mark = (p) => (p.name === at ? "wait" : { completed: isWhole(p) ? "done" : "bad", running: "now", failed: "bad" }[p.state] ?? "");
  const current = list.find((p) => mark(p) === "wait") ?? list.find((p) => mark(p) === "now") ?? list.findLast((p) => p.state === "completed");
  const trouble = session.items.findLast((item) => item.type === "trouble");
  const done = list.filter((p) => p.result);
  const most = [...session.runs.values()].findLast((run) => !run.parent)?.most ?? 0; // what it may cost, each time
  const further = { to: mostOf(session) + most, act: () => api.continueDelivery(here.id, most ? { budget: most } : {}).catch((problem) => toast(problem.message)) };
  return html`<div class="page"><div class="in delivery">
    <ol class="stepper" aria-label="Phases" style=${{ gridTemplateColumns: `repeat(${list.length}, 1fr)` }}>${list.map((p, i) => html`<li key=${p.name} class=${mark(p)} data-phase=${p.name} data-state=${p.name === at ? "waiting" : p.state} aria-current=${p === current ? "step" : undefined}><span class="mark">${mark(p) === "done" ? icon("check") : mark(p) === "wait" ? icon("hand") : mark(p) === "now" ? icon("loader-circle", "spin") : mark(p) === "bad" ? icon("x") : i + 1}</span><b>${nameOfPhase(p.name)}</b><small class=${mark(p) === "wait" ? "wait" : ""}>${p.name === at ? "waits for you" : standing(p)}${p.ms ? `, ${duration(p.ms)}` : ""}${p.waited >= 1000 && p.name !== at ? `, waited ${duration(p.waited)} for you` : ""}${p.rounds > 1 ? `, ${p.rounds} rounds` : ""}</small></li>`)}</ol>
    ${current && html`<p class="phone-only row between small"><b class="serif">${nameOfPhase(current.name)}</b><span class="dim">${list.indexOf(current) + 1} of ${list.length}, ${current.name === at ? "waits for you" : standing(current)}</span></p>`}
    <div class="two"><div class="stack wide-gap">
      ${gate && html`<${Gate} key=${gate.key} item=${gate} busy=${busy} decide=${decide} show=${show} />`}
      ${!gate && status === "running" && html`<div class="card pad"><div class="acts">${icon("loader-circle", "spin acc")}<span><b>${current ? nameOfPhase(current.name) : "The delivery"}</b> is being worked on</span><span class="grow"></span><button type="button" class="sm" onClick=${acts.stop}>${icon("square")}Stop</button></div></div>`}
      ${!gate && status !== "running" && trouble && html`<${Trouble} code=${trouble.code || (trouble.context.problem ? "" : "delivery_stopped")} context=${{ a: "The delivery", delivers: true, ...trouble.context }} acts=${{ ...acts, ...(site?.acts.includes("continue") && { further }) }} />`}
      ${!gate && status === "interrupted" && html`<${Trouble} code="interrupted" acts=${acts} />`}
      ${site && !gate && status !== "running" && html`<${Outcome} site=${site} again=${again} />`}
      ${site && html`<${Change} site=${site} /><${Findings} site=${site} /><${Checks} site=${site} />`}
      ${done.toReversed().map((p) => html`<${Result} key=${p.name} phase=${p} show=${show} />`)}
      ${!gate && done.length === 0 && status !== "running" && !trouble && html`<p class="dim">Nothing has come of it yet.</p>`}</div>
      <aside class="stack wide-gap"><section class="card pad"><h2 class="h-17">What was asked for</h2><p class="plain small" dir="auto">${request}</p><p class="tiny faint">${info?.spent ? `${cost(info.spent)} so far` : ""}</p></section>
        ${site?.plan ? html`<${SitePlan} site=${site} again=${again} />` : html`<${Plan} list=${list} />`}${site && html`<${Documents} site=${site} show=${show} />`}<${History} session=${session} gate=${gate} /></aside></div>
    ${gate && html`<${Pinned} item=${gate} busy=${busy} decide=${decide} />`}</div></div>`;
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
  return question.replace(/\s+(Answer|Put that right and answer|Then answer) "go on"[^\n]*$/, "").split("\n").map((line) => {
    if (line.startsWith("```")) code = !code;
    return code || line.startsWith("```") || !line.trim() ? line : line + "  ";
  }).join("\n");
}

// Gate is the page's one spotlight: what happened, what stands against going on, and
// the decision.
function Gate({ item, busy, decide, show }) {
  const { phase = "", next = "", ready = true, blockers, errors, requirements, artifacts = [], kind = "" } = item.arguments ?? {};
  const about = gates[kind];
  const [guidance, setGuidance] = useKept("answer." + item.ask.id);
  const against = [...new Set([...lines(blockers), ...lines(errors)])];
  const onward = () => decide({ text: "go on" });
  const ask = () => guidance.trim() && decide({ text: guidance.trim() }, () => setGuidance(""));
  const better = !ready || against.length > 0; // asking for changes is what is recommended
  const goOn = html`<button type="button" class=${better ? "" : "primary"} disabled=${busy} onClick=${onward}>${icon("check")}${about ? about.go : next ? `Go on to ${nameOfPhase(next).toLowerCase()}` : "Approve and finish"}</button>`;
  const change = html`<button type="button" class=${better ? "primary" : ""} disabled=${busy || !guidance.trim()} onClick=${ask}>Ask for changes</button>`;
  return html`<section class="needs" aria-label="Gate"><header>${icon("hand")}Your decision: ${about ? about.ask : next ? `go on to ${nameOfPhase(next).toLowerCase()}?` : "is it done?"}</header><div>
    <div><h2 class="h-17">${about ? about.title(phase, item.question) : `${nameOfPhase(phase)} is ${ready ? "ready" : "not ready"}.`}</h2></div>
    ${against.length + lines(requirements).length > 0 && html`<ul class="stack small">${against.map((text) => html`<li class="row top" key=${text}>${icon("triangle-alert", "bad")}<span>${text}</span></li>`)}${lines(requirements).map((text) => html`<li class="row top" key=${text}>${icon("info")}<span>${text}</span></li>`)}</ul>`}
    ${artifacts.filter((a) => a.diff).slice(0, 3).map((a) => html`<${Diff} key=${a.path} artifact=${a} show=${show} />`)}
    ${artifacts.length > 0 && html`<div class="row wrap">${artifacts.map((a) => html`<button type="button" class="chip out" key=${a.path} onClick=${() => show(a.path)}>${icon(fileIcon(a.path))}${(artifacts.length === 1 && written[phase]) || nameOf(a.path)}</button>`)}</div>`}
    <details class="small" open=${kind === "environment" || kind === "dependencies"}><summary class="btn ghost sm">${icon("chevron-right", "chev")}The question in full</summary>${item.question.length > long ? html`<div class="exact-sent"><${Pages} text=${item.question} name="The question" /></div>` : html`<${Prose} text=${asSaid(item.question)} />`}</details>
    ${kind !== "environment" && html`<label class="field edge tall"><textarea rows="2" dir="auto" value=${guidance} placeholder="What should be different? Only if you ask for changes." aria-label="What should be different" onInput=${(e) => setGuidance(e.target.value)} onKeyDown=${(e) => e.key === "Enter" && !e.shiftKey && !e.isComposing && !matchMedia("(pointer: coarse)").matches && (e.preventDefault(), ask())}></textarea></label>`}
    <div class="row wrap end">${kind === "environment" ? goOn : better ? [change, goOn] : [goOn, change]}${kind === "dependencies" && html`<button type="button" class="also" disabled=${busy} onClick=${() => decide({ text: "no" })}>Go on without</button>`}<span class="grow"></span><button type="button" class="ghost danger" disabled=${busy} onClick=${() => decide({ text: "stop" })}>Stop here</button></div></div></section>`;
}

// Pinned are the actions of a gate on a phone.
function Pinned({ item, busy, decide }) {
  const { ready = true, blockers, errors, kind = "" } = item.arguments ?? {};
  const better = !ready || lines(blockers).length + lines(errors).length > 0; // as above: asking for changes is recommended
  const field = () => document.querySelector('[aria-label="What should be different"]');
  const ask = () => (field()?.value.trim() ? decide({ text: field().value.trim() }) : field()?.focus());
  return html`<div class="act">${kind !== "environment" && html`<button type="button" class=${better ? "primary" : ""} disabled=${busy} onClick=${ask}>Ask for changes</button>`}<button type="button" class=${better ? "" : "primary"} disabled=${busy} onClick=${() => decide({ text: "go on" })}>${gates[kind]?.go ?? "Go on"}</button></div>`;
}

function Diff({ artifact, show }) {
  return html`<div class="card cutoff"><div class="row pad-s">${icon("file-diff")}<b class="small grow cut">${artifact.path}</b><button type="button" class="ghost sm" onClick=${() => show(artifact.path)}>Open</button></div><div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${artifact.path}`}>${artifact.diff.split("\n").slice(0, 60).map((line, i) => html`<div key=${i} class=${line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : line.startsWith("@@") ? "h" : ""}>${line}</div>`)}</div></div>`;
}

// Result is what a phase has made.
function Result({ phase, show }) {
  const { result } = phase;
  const list = (title, all, drawing, tint = "") => lines(all).length > 0 && html`<h3 class="tiny faint small-head">${title}</h3><ul class="stack small">${lines(all).map((text) => html`<li class="row top" key=${text}>${icon(drawing, tint)}<span>${text}</span></li>`)}</ul>`;
  const tests = result.outputs?.tests ?? result.tests;
  return html`<section class="card pad phase-result" data-phase=${phase.name}><div class="row"><h2 class="grow">${nameOfPhase(phase.name)}</h2><span class=${"chip t " + (result.status === "success" ? "good" : result.status === "failed" ? "bad" : "")}>${{ success: "done", partial: "partly done", failed: "failed" }[result.status] ?? result.status}</span></div>
    ${result.artifacts?.length > 0 && html`<ul class="stack">${result.artifacts.map((a) => html`<li key=${a.path} class="row small"><button type="button" class="link cut" onClick=${() => show(a.path)}>${a.path}</button><span class="faint">${a.state === "failed" ? "could not be saved" : `${a.change ?? a.state}, ${size(a.size)}`}</span></li>`)}</ul>`}
    ${list("What went wrong", result.errors, "circle-x", "bad")}${list("Against going on", result.next_phase?.blockers, "triangle-alert", "bad")}${list("To be aware of", told(result.warnings), "info")}
    ${Array.isArray(tests) && html`<${Tests} tests=${tests} />`}</section>`;
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

const isPartial = (run) => (run.output?.key_outputs?.result?.status ?? "success") !== "success";

// ended says how a phase ended: [icon, tint, words].
function ended(run) {
  if (run.status === "failed") return ["circle-x", "bad", "failed"];
  if (run.status === "cancelled") return ["circle-pause", "", "was stopped"];
  if (run.status === "waiting") return ["hand", "", "asks for a decision"];
  return isPartial(run) ? ["triangle-alert", "", "is partly done"] : ["check", "good", "is done"];
}

// decided says what a person has decided.
function decided(answer) {
  const words = { __proto__: null, "": "You went on", "go on": "You went on", stop: "You stopped it here", no: "You went on without it" };
  return words[answer.trim().toLowerCase()] ?? `You asked for changes: ${answer}`;
}

// mostShown is how much of what happened is shown at first.
const mostShown = 20;

// History is what happened, the latest first.
function History({ session, gate }) {
  const [whole, setWhole] = useState(false);
  const events = [];
  for (const run of session.runs.values()) {
    if (run.depth !== 1) continue;
    events.push({ time: run.started, icon: "play", text: `${nameOfPhase(run.agent)} began` });
    if (!run.ended || run.status === "running" || (gate && run.status === "waiting")) continue; // what waits is said below, once
    const [drawing, tint, how] = ended(run);
    events.push({ time: run.ended, icon: drawing, tint, text: `${nameOfPhase(run.agent)} ${how}` });
  }
  for (const item of session.items) if (item.type === "question" && !item.open) events.push({ time: item.answeredAt || item.time, icon: "hand", text: item.ask.kind === "gate" ? decided(item.answer) : `You answered: ${item.answer}` });
  if (gate) events.push({ time: gate.time, icon: "hand", tint: "wait", text: "Waits for your decision" });
  if (!events.length) return null;
  events.sort((a, b) => (a.time < b.time ? 1 : -1));
  const shown = whole ? events : events.slice(0, mostShown);
  return html`<section class="card pad" aria-label="What happened"><h2 class="h-17">What happened</h2><ul class="stack small">${shown.map((e, i) => html`<li class="row top" key=${i}>${icon(e.icon, e.tint ?? "")}<span class="grow">${e.text}</span><time class="faint num">${hour(e.time)}</time></li>`)}</ul>
    ${events.length > shown.length && html`<button type="button" class="ghost sm" onClick=${() => setWhole(true)}>Show ${events.length - shown.length} earlier</button>`}</section>`;
}

const stops = [["auto", "only where something is wrong"], ["plan", "after the plan"], ["diff", "before the end, with the change"], ["manual", "after every phase and step"]];

// NewDelivery asks for a request: what is wanted, where it stops, what it may cost, what it
// reads, and who does what. What is left as it is, is as configured.
export function NewDelivery() {
  const [text, write] = useKept("draft.delivery." + app.me.name);
  const [approve, setApprove] = useState("");
  const [budget, setBudget] = useState("");
  const [project, setProject] = useState("");
  const [agents, setAgents] = useState({});
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const [known, setKnown] = useState(null);
  useEffect(() => void api.usualDelivery().then(setKnown, () => {}), []); // a server may have none
  const money = Number(budget.replace(/^\s*\$/, "").replace(",", ".").trim());
  const wrong = budget.trim() && !(money > 0) ? "A budget is a number of dollars, such as 5." : "";
  const submit = async (event) => {
    event.preventDefault();
    if (!text.trim() || wrong) return;
    setBusy(true);
    setFailed("");
    const chosen = Object.fromEntries(Object.entries(agents).filter(([, agent]) => agent));
    try {
      const { session } = await api.deliver({ request: text.trim(), ...(approve && { approve }), ...(money > 0 && { budget: money }), ...(project.trim() && { project: project.trim() }), ...(Object.keys(chosen).length && { agents: chosen }) });
      write("");
      go(talkAddress(session, "delivery"));
    } catch (problem) {
      setFailed(problem.message);
      setBusy(false);
    }
  };
  const phases = known?.phases ?? usual.map((name) => ({ name }));
  const stop = stops.find(([name]) => name === (known?.approve || "auto"))?.[1];
  return html`<form class="card pad stack" onSubmit=${submit} aria-label="New delivery"><h2>Deliver a request</h2><p class="small dim">It goes through ${phases.map((p) => nameOfPhase(p.name).toLowerCase()).join(", ")}. You decide at the gates.</p>
    <label class="small" for="request"><b>What is wanted</b></label><label class="field edge tall"><textarea id="request" rows="5" value=${text} placeholder="As a customer I want to …" dir="auto" onInput=${(e) => write(e.target.value)}></textarea></label>
    <div class="order-fields"><label class="small" for="delivery-stops"><b>Where it stops for you</b></label><select id="delivery-stops" aria-label="Where it stops for you" value=${approve} onChange=${(e) => setApprove(e.target.value)}><option value="">as configured${known ? `: ${stop}` : ""}</option>${stops.map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}</select>
      ${known && html`<label class="small" for="delivery-budget"><b>Budget</b><span class="dim">, in dollars</span></label><label class="field edge">${icon("coins")}<input id="delivery-budget" inputmode="decimal" autocomplete="off" value=${budget} placeholder=${known.budget ? String(known.budget) : "no limit of its own"} aria-invalid=${!!wrong} onInput=${(e) => setBudget(e.target.value)} /></label>
      <label class="small" for="delivery-project"><b>Project to read and change</b></label><label class="field edge">${icon("folder-open")}<input id="delivery-project" autocomplete="off" value=${project} placeholder=${known.repo || "a new one"} onInput=${(e) => setProject(e.target.value)} /></label>`}</div>
    ${known && app.agents.length > 0 && html`<details class="small who-does"><summary class="btn ghost sm">${icon("chevron-right", "chev")}Who does what${Object.values(agents).some(Boolean) ? ` (${Object.values(agents).filter(Boolean).length} chosen)` : ""}</summary><div class="order-fields">${phases.map((p) => html`<label key=${p.name} class="small" for=${"phase-" + p.name}><b>${nameOfPhase(p.name)}</b></label><select key=${p.name + "s"} id=${"phase-" + p.name} aria-label=${`Who does ${nameOfPhase(p.name).toLowerCase()}`} value=${agents[p.name] ?? ""} onChange=${(e) => setAgents({ ...agents, [p.name]: e.target.value })}><option value="">${p.agent ? agentOf(p.agent).name : p.title || "the delivery’s own agent"}</option>${app.agents.filter((a) => !a.broken && a.id !== p.agent).map((a) => html`<option key=${a.id} value=${a.id}>${a.name}${a.title && a.title !== a.name ? `, ${a.title}` : ""}</option>`)}</select>`)}</div></details>`}
    ${(wrong || failed) && html`<p class="small bad" role="alert">${wrong || failed}</p>`}
    <div class="row"><button class="primary" disabled=${busy || !text.trim() || !!wrong}>Deliver</button></div></form>`;
}
