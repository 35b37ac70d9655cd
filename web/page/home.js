// Home: what to ask, what waits, what to carry on with, and the company.

import { api } from "./shelf.js";
import { brokenWords } from "./broken.js";
import { app, agentOf, byTime, can, castOf, isApproval, leaving, load, pipeline, tasksOf, toast, waiting, titleOf, waits } from "./state.js";
import { longPaste, sendingOf, sends, useDraft, without } from "./draft.js";
import { keep, kept } from "./kept.js";
import { askerOf as asker } from "./steps.js";
import { choosesModel, ModelChoice, usualModel } from "./models.js";
import { useKept } from "./fields.js";
import { withoutChoices } from "./turns.js";
import { asking, asOrder, gates, lower, now } from "./words.js";
import { nameOf, when } from "./format.js";
import { since, fileIcon, taskIcon } from "./forms.js";
import { goTo, takeFocus } from "./keys.js";
import { go, talkAddress } from "./route.js";
import { keyOf, unsentOf } from "./typed.js";
import { Bones, Face, html, icon, lazy, styled, Logo, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

const Trouble = lazy(() => styled(() => import("./trouble.js")), "Trouble");
const ApprovalAtHome = lazy(() => styled(() => import("./cards.js")), "ApprovalAtHome");
const Unsent = lazy(() => import("./cards.js"), "Unsent");
const ChoicesAtHome = lazy(() => styled(() => import("./cards.js")), "ChoicesAtHome", () => html`<div class="row wrap end"></div>`);

// entryPoints are the agents that people talk to: all, where none is marked.
export function entryPoints() {
  return app.agents.some((agent) => agent.entry_point) ? app.agents.filter((agent) => agent.entry_point || agent.broken) : app.agents;
}

// begin makes a conversation and goes there. An agent whose author wrote so speaks
// first.
async function begin(agent, text = "", files = [], model = "") {
  keep("agent." + app.me.name, agent);
  try {
    const { id } = await api.create(agent, { ...(model && { model }), ...(!text && !files.length && can("greet") && { greet: true }) });
    if (text || files.length) await api.say(id, text, files);
    go(talkAddress(id));
  } catch (problem) {
    if (problem.status !== 401) toast(problem.message);
    throw problem;
  }
}

// beginTask begins with what an agent is asked for by a button, once until the conversation is shown.
export const beginTask = (agent, task) => (begun ??= begin(agent, task).catch(() => {}).finally(() => setTimeout(() => (begun = null), 100)));
let begun = null;

export function Home({ find }) {
  if (!app.known && app.problem && app.problem.status !== 401) return html`<div class="page"><div class="in"><h1 class="hidden">Troupe</h1><${Trouble} code=${app.problem.code} context=${{ detail: app.problem.message }} /></div></div>`;
  if (!app.known) return html`<div class="page"><div class="in"><${Bones} /></div></div>`;
  const hour = new Date().getHours();
  const greeting = hour < 5 || hour >= 18 ? "Good evening" : hour < 12 ? "Good morning" : "Good afternoon";
  return html`<div class="page"><div class="in">
    <div class="row phone-only head"><span class="brand grow"><${Logo} />Troupe</span><button type="button" class="tool" aria-label="Find anything" onClick=${find}>${icon("search")}</button><a class="face you" href="#/settings/look" aria-label="Your settings">${(app.me.name || "Y")[0].toUpperCase()}</a></div>
    <p class="dim">${greeting}${app.me.name && `, ${app.me.name}`}.</p><h1 class="title">Who would you like to work with?</h1>
    ${entryPoints().length > 0 ? html`<${Ask} />${usualModel() === "rehearsal" && html`<p class="small dim">No model is chosen yet: agents only rehearse, and nobody thinks about what you say. ${choosesModel()}</p>`}` : html`<${Nobody} />`}
    <div class="doings"><${Waits} /><${CarryOn} alone=${waiting().length === 0} /></div>
    <${Company} />
  </div></div>`;
}

// Nobody is what a project without agents shows.
function Nobody() {
  const add = async () => {
    try {
      await api.addExamples();
      await load();
    } catch (problem) {
      toast(problem.message);
    }
  };
  return html`<section class="card pad empty" aria-label="The company"><${Logo} /><h2>No company yet</h2><p class="dim">There are no agents in this project.</p>
    ${can("examples") ? html`<div class="row wrap"><button type="button" class="primary" onClick=${add}>${icon("plus")}Add the examples</button></div><p class="small dim">Two agents, a workflow and a skill, as files of the project. A bundle of your own goes into <code>bmad/custom/bundles</code>.</p>` : html`<p class="small dim">Ask whoever runs Troupe.</p>`}</section>`;
}

// Ask is the one box to begin with.
function Ask() {
  const agents = entryPoints().filter((a) => !a.broken);
  const [id, setID] = useState(kept("agent." + app.me.name, ""));
  const agent = agents.find((a) => a.id === id) ?? agents[0];
  const place = "home." + app.me.name; // several people may use one browser
  const [{ text, files }, setDraft] = useDraft(place);
  const [model, setModel] = useState("");
  const [busy, setBusy] = useState(false);
  const picker = useRef(null);
  const setFiles = (list) => setDraft((draft) => ({ ...draft, files: list }));
  const submit = async (event) => {
    event?.preventDefault();
    if (busy || (!text.trim() && !files.length)) return;
    setBusy(true);
    const ended = sendingOf(place, { text, files }, setDraft);
    try {
      await begin(agent.id, text, files.map(({ name, mime, data }) => ({ name, mime, data })), model);
      setDraft(without({ text, files })); // what was typed meanwhile is the next one
    } catch {
      setBusy(false); // what was typed is still there
    } finally {
      ended();
    }
  };
  const attach = async (list) => {
    picker.current.value = "";
    const { put } = await import("./attach.js");
    await put(list, { files }, setDraft);
  };
  useLayoutEffect(() => {
    const drop = (event) => event.dataTransfer?.files.length && attach([...event.dataTransfer.files]);
    document.addEventListener("drop", drop);
    return () => document.removeEventListener("drop", drop);
  }, [files]);
  const keys = (event) => sends(event) && submit(event);
  const paste = (event) => {
    const { files: pasted } = event.clipboardData, words = event.clipboardData.getData("text/plain");
    if (!pasted.length && words.length <= longPaste) return;
    event.preventDefault();
    attach(pasted.length ? [...pasted] : [new File([words], "pasted.txt", { type: "text/plain" })]);
  };
  if (!agent) return null;
  return html`<form class="ask" onSubmit=${submit} aria-label="Begin"><textarea aria-label="What do you need?" placeholder=${`Say what you need. ${agent.name} will begin, or choose someone else below.`} rows="2" value=${text} dir="auto" onInput=${(e) => setDraft((draft) => ({ ...draft, text: e.target.value }))} onKeyDown=${keys} onPaste=${paste}></textarea>
    ${files.length > 0 && html`<ul class="row wrap attached" aria-label="Attached files">${files.map((f) => html`<li class="chip out" key=${f.name}>${icon("paperclip")}${f.name}<button type="button" class="bare" aria-label=${"Remove " + f.name} onClick=${() => setFiles(files.filter((other) => other !== f))}>${icon("x")}</button></li>`)}</ul>`}
    <div class="row"><button type="button" class="ghost sm" aria-label="Attach files" onClick=${() => picker.current.click()}>${icon("paperclip")}<span class="desk-only">Attach</span></button>
      <input class="hidden" type="file" multiple ref=${picker} tabindex="-1" aria-hidden="true" onChange=${(e) => attach([...e.target.files])} />
      <label class="btn sm pick"><${Face} id=${agent.id} name=${agent.name} size="s" /><span>${agent.name}</span>${icon("chevron-down")}<select aria-label="Who begins" value=${agent.id} onChange=${(e) => setID(e.target.value)}>${agents.map((a) => html`<option value=${a.id} key=${a.id}>${a.name}${a.title && `, ${a.title}`}</option>`)}</select></label>
      <${ModelChoice} model=${model || usualModel(agent)} choose=${setModel} quiet=${true} />
      <span class="grow"></span><span class="tiny faint desk-only"><kbd>↵</kbd> to send</span><button class="primary send" aria-label="Send" disabled=${busy || (!text.trim() && !files.length)}>${icon("arrow-up")}</button></div></form>`;
}

// most is how many of the things that wait are shown at first.
const most = 6;

// Waits are the questions that wait, each with its answers.
function Waits() {
  const [isWhole, setWhole] = useState(false);
  const [answered, setAnswered] = useState([]); // which goes before what the stream says of it
  const key = (s) => `${s.id} ${s.question?.id}`;
  const [, draw] = useState(0);
  const list = waiting().filter((s) => !answered.includes(key(s)));
  const shown = useRef(new Map()).current; // what asks before something is done
  for (const s of list) if (isApproval(s)) shown.set(key(s), s);
  const left = [...shown].filter(([at, s]) => !answered.includes(at) && !list.some((o) => key(o) === at) && unsentOf(keyOf(s.id, s.question))).map(([, s]) => s);
  if (!list.length && !left.length) return null;
  const answer = (s) => (q, values, done = () => {}, refused) => {
    const { name } = asker(s);
    return api.answer(s.id, { question: q.id, ...values }).then(() => {
      done();
      setAnswered((all) => [...all, key(s)]);
      toast(given(s, values, name));
      return true;
    }, (problem) => void (problem.status !== 401 && refused(problem)));
  };
  const card = (s) => {
    const agent = asker(s);
    const q = s.question;
    const gate = q?.kind === "gate";
    return html`<article class=${"card" + (isApproval(s) ? " whole" : "")} key=${s.id}><a class="row" href=${talkAddress(s.id, gate ? "delivery" : "")}><${Face} id=${agent.id} name=${agent.name} size="m" /><div class="grow"><b class="serif">${gate ? "A delivery is at its gate" : q?.kind === "approval" ? `${agent.name} asks before doing something` : `${agent.name} asks`}</b><div class="tiny dim row asked-by"><span class="cut" dir="auto">${titleOf(s)}</span><span>· ${since(q?.asked ?? s.updated)}</span></div></div></a>
      ${q?.kind !== "approval" && html`<p class="small clamp" dir="auto">${gate ? gateWords(q) : asking(withoutChoices(q?.text ?? "", q?.choices))}</p>`}
      ${q?.kind === "approval" ? html`<${ApprovalAtHome} key=${q.id} id=${s.id} q=${q} agent=${agent} answer=${answer(s)} />` : gate || !q ? html`<div class="row wrap end"><a class="chip out" href=${talkAddress(s.id, "delivery")}>${icon("scan-search")}Look and decide</a></div>`
        : html`<${ChoicesAtHome} key=${q.id} id=${s.id} q=${q} answer=${answer(s)} />`}${s.questions > 1 && html`<p class="small"><a class="link" href=${talkAddress(s.id)}>${s.questions === 2 ? "One more question waits" : `${s.questions - 1} more questions wait`} there</a></p>`}</article>`;
  };
  return html`<section aria-label="Waiting for you"><div class="sec"><h2>Waiting for you</h2>${list.length > 0 && html`<span class="chip spot t">${list.length}</span>`}</div><div class="waits">${list.slice(0, isWhole ? list.length : most).map(card)}${left.map((s) => html`<article class="card whole" key=${key(s)}><a class="row" href=${talkAddress(s.id)}><b class="serif grow cut">${titleOf(s)}</b></a><${Unsent} id=${s.id} item=${s.question} copy=${(text) => import("./copy.js").then(({ copy }) => copy(text))} changed=${() => draw((n) => n + 1)} /></article>`)}</div>${!isWhole && list.length > most && html`<button type="button" class="ghost" onClick=${() => (setWhole(true), requestAnimationFrame(() => takeFocus(`.waits > :nth-child(${most + 1}) a`)))}>Show ${list.length - most} more</button>`}</section>`;
}

// given says what was answered, and to whom.
function given({ question: q }, { allow, choice }, name) {
  return allow ? `You ${allow === "no" ? "did not allow" : "allowed"} ${name} to ${lower(asOrder(q.tool, q.arguments))}${allow === "session" ? ", in this whole conversation" : ""}` : `You answered ${name}: “${choice}”`;
}

// gateWords says in a sentence where a delivery stands.
function gateWords({ arguments: { phase = "", next = "", ready = true, blockers, errors, kind = "", lacking = "", kept = 0 } = {}, text }) {
  if (!phase) return firstLines(text);
  const about = gates[kind];
  if (about) return `${about.title(phase, text)} ${about.ask[0].toUpperCase()}${about.ask.slice(1)}`;
  const against = (blockers?.length ?? 0) + (errors?.length ?? 0), isReady = ready && !blockers?.length;
  const plainPhase = (name) => name.replace(/[_-]+/g, " ");
  return `${plainPhase(phase)[0].toUpperCase() + plainPhase(phase).slice(1)} is ${isReady ? "ready" : "not ready"}${against ? `, ${against} ${against === 1 ? "thing stands" : "things stand"} against it` : ""}. ${kept ? "Carry out the plan that is there, or what should be different?" : lacking ? "What should be different?" : next ? `Shall it go on to ${plainPhase(next)}?` : "Is it done?"}`;
}

const firstLines = (text) => text.replace(/[#*_`>]/g, "").trim().split("\n").filter(Boolean).slice(0, 2).join(" ").slice(0, 220);

// CarryOn lists what was touched last: conversations, and documents.
function CarryOn({ alone }) {
  const [found, setFiles] = useState([]);
  const files = found.filter((f) => !leaving.has(f.session)).slice(0, 2);
  const latest = byTime()[0]?.updated ?? "";
  useEffect(() => {
    if (can("files")) Promise.all([api.documents().catch(() => ({ files: [] })), api.library()]).then(([documents, own]) => setFiles([...documents.files, ...own.files].sort((a, b) => (a.changed < b.changed ? 1 : -1))), () => {});
  }, [latest]);
  const talks = byTime().filter((s) => !waits(s)).sort((a, b) => (b.status === "running") - (a.status === "running")).slice(0, alone ? 4 : 2);
  if (!talks.length && !files.length) return null;
  return html`<section aria-label="Carry on"><div class="sec"><h2>Carry on</h2>${files.length > 0 && html`<a class="small dim" href="#/files">All files</a>`}</div><div class="recent">
    ${talks.map((s) => html`<a href=${talkAddress(s.id, s.agent === pipeline ? "delivery" : "")} key=${s.id}><${Face} id=${s.agent} name=${agentOf(s.agent).name} size="m" /><div class="grow"><div class="cut" dir="auto">${titleOf(s)}</div><div class="tiny faint cut">${now(s)}${s.forked ? " · goes on from another" : ""}</div></div>${s.status === "running" ? icon("loader-circle", "spin acc") : html`<span class="tiny faint">${when(s.updated)}</span>`}</a>`)}
    ${files.map((f) => html`<a href=${placeIn(f)} key=${f.session + f.path}><span class="page-i">${icon(fileIcon(f.path))}</span><div class="grow"><div class="cut">${f.heading || nameOf(f.path)}</div><div class="tiny faint cut">${[(f.heading || nameOf(f.path)) !== base(f.path) && base(f.path), f.version > 1 && `version ${f.version}`, agentOf(f.by).name].filter(Boolean).join(", ")}</div></div><span class="tiny faint">${when(f.changed)}</span></a>`)}
  </div></section>`;
}

const base = (path) => path.split("/").at(-1);

// placeIn is where a file of the library is read: beside its conversation, or alone.
const placeIn = (f) => (f.session ? `#/s/${f.session}?file=${encodeURIComponent(f.path)}` : f.in && app.sessions.has(f.in) ? `#/s/${f.in}?file=${encodeURIComponent("/" + f.path)}` : `#/files?doc=${encodeURIComponent(f.path)}`);

const modules = { __proto__: null, bmm: "BMAD Method", cis: "Creative Intelligence", bmb: "Builders", bmgd: "Game Development", gds: "Game Development", tea: "Test Architecture", core: "Core" };

// isName says that what a bundle says of itself is a name, and no sentence.
const isName = (title = "") => title !== "" && title.length <= 32 && !/[.!?]$/.test(title);

// moduleOf is the module of a bundle that is known by name. Where agents are skills each is a
// bundle of its own, named after its module: bmad-agent-analyst, bmad-cis-agent-storyteller.
function moduleOf(bundle = "") {
  const skill = /^(?:(bmad)-)?(?:(\w+)-)?agent-/.exec(bundle);
  return modules[skill ? skill[2] ?? (skill[1] && "bmm") : bundle];
}

// bundleName is what people call an agent's bundle: what it calls itself, or what it is
// known by.
export const bundleName = (agent) => (isName(agent.bundle_title) ? agent.bundle_title : moduleOf(agent.bundle) || (agent.bundle ? nameOf(agent.bundle + ".md") : "Agents"));

// Company is who can be talked to, by bundle, and the flows.
function Company() {
  useEffect(() => void (begun = null), []); // who is back begins anew
  const [words, setWords] = useState("");
  const [only, setOnly] = useState("");
  const agents = entryPoints();
  const flows = app.flows.filter((flow) => flow.name !== pipeline);
  const fits = (text) => words.trim().toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
  const groups = new Map();
  for (const agent of agents) {
    const name = bundleName(agent);
    groups.set(name, [...(groups.get(name) ?? []), agent]);
  }
  const shown = [...groups].filter(([name]) => !only || only === name).map(([name, list]) => [name, list.filter((a) => fits(`${a.name} ${a.title} ${a.description} ${tasksOf(a).map((t) => `${t.label} ${t.about}`).join(" ")}`))]);
  const shownFlows = !only || only === "Flows" ? flows.filter((f) => fits(`${f.name} ${f.description}`)) : [];
  const chip = (name, count) => html`<button type="button" key=${name} class=${"chip " + (only === name ? "on" : "out")} aria-pressed=${only === name} onClick=${() => setOnly(name)}>${name || "All"} ${count}</button>`;
  if (!agents.length && !flows.length) return null;
  return html`<section aria-label="The company"><div class="sec wrap"><h2>The company</h2><span class="grow"></span><label class="field search">${icon("search")}<input placeholder="Find an agent or a task" aria-label="Find an agent or a task" value=${words} onInput=${(e) => setWords(e.target.value)} /></label></div>
    ${groups.size + (flows.length ? 1 : 0) > 1 && html`<div class="row wrap chips">${chip("", agents.length + flows.length)}${[...groups].map(([name, list]) => chip(name, list.length))}${flows.length > 0 && chip("Flows", flows.length)}</div>`}
    ${shown.map(([name, list]) => list.length > 0 && html`<section key=${name} aria-label=${name}><h3 class="row bundle">${name} <span class="small faint">${list.length === 1 ? "1 agent" : `${list.length} agents`}${list[0].bundle_title && !isName(list[0].bundle_title) && list.every((a) => a.bundle === list[0].bundle) && `. ${list[0].bundle_title}`}</span></h3><div class="cast">${list.map((agent) => html`<${Card} key=${agent.id} agent=${agent} />`)}</div></section>`)}
    ${shownFlows.length > 0 && html`<section aria-label="Flows"><h3 class="row bundle">Flows <span class="small faint">several agents, one after the other or together</span></h3><div class="cast">${shownFlows.map((flow) => html`<${FlowCard} key=${flow.name} flow=${flow} />`)}</div></section>`}
    ${shown.every(([, list]) => !list.length) && !shownFlows.length && html`<p class="dim">Nobody fits. <button type="button" class="link" onClick=${() => (setWords(""), setOnly(""))}>Show all</button></p>`}</section>`;
}

function Card({ agent }) {
  const [all, setAll] = useState(false);
  const tasks = tasksOf(agent);
  const asks = waiting().some((s) => s.agent === agent.id);
  const said = (agent.description ?? "").replace(/(^|[.!?]\s+)Use (?:this )?when\b[^]*$/, "$1").trim(); // the rest is for a model
  const sentence = said && said !== agent.title ? said : agent.about;
  const start = (text) => beginTask(agent.id, text);
  return html`<article class="card agent" aria-label=${agent.name}>
    <header><${Face} id=${agent.id} name=${agent.name} /><div class="grow"><button type="button" class="bare" disabled=${!!agent.broken} onClick=${() => start("")}><b>${agent.name}</b></button><div class="small dim">${agent.title}</div></div>${asks && html`<span class="chip spot t">asks you</span>`}${agent.broken && html`<span class="chip bad t">cannot start</span>`}</header>
    ${agent.broken ? html`<p class="bad">${brokenWords(agent.lacks)}${app.me.operator && html` <a class="link" href="#/settings/agents">See where</a>`}</p>` : sentence && html`<p>${sentence}</p>`}
    ${!agent.broken && html`<div class="does">${(all ? tasks : tasks.slice(0, 3)).map((task) => html`<button type="button" key=${task.cmd} title=${[task.about, task.trigger].filter(Boolean).join(" · ")} onClick=${() => start(task.trigger)}>${icon(taskIcon(task.label))}<span>${task.label}</span></button>`)}
      ${tasks.length > 3 && html`<button type="button" class="more" aria-expanded=${all} onClick=${() => setAll(!all)}>${icon(all ? "chevron-up" : "chevron-down")}<span>${all ? "Fewer" : `${tasks.length - 3} more`}</span></button>`}
      ${tasks.length === 0 && html`<button type="button" onClick=${() => start("")}>${icon("message-square")}<span>Talk to ${agent.name}</span></button>`}</div>`}</article>`;
}

export function FlowCard({ flow }) {
  const key = `about.${app.me.name}.${flow.name}`;
  const [text, setText] = useKept(key);
  const [busy, setBusy] = useState(false), begun = useRef(false); // a key that is pressed twice begins one run
  const run = async (event) => {
    event.preventDefault();
    if (begun.current || !text.trim()) return;
    setBusy((begun.current = true));
    try {
      const { session } = await api.runFlow(flow.name, text.trim());
      if (kept(key) === text) setText("");
      goTo(talkAddress(session, "flow"), "#main h1");
    } catch (problem) {
      toast(problem.message);
    } finally {
      setBusy((begun.current = false));
    }
  };
  return html`<article class="card agent" aria-label=${agentOf(flow.name).name}><header><span class="faces">${castOf(flow).slice(0, 4).map((id) => html`<${Face} key=${id} id=${id} name=${agentOf(id).name} size="m" />`)}</span><div class="grow"><b>${agentOf(flow.name).name}</b></div></header>
    <p>${flow.description}</p><form class="row pad-s" onSubmit=${run}><label class="field edge tall grow"><textarea rows="1" dir="auto" aria-label=${`Task for ${agentOf(flow.name).name}`} placeholder="What it is about" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => sends(e) && run(e)}></textarea></label><button disabled=${busy || !text.trim()}>${icon("play")}Run</button></form></article>`;
}
