// What a delivery does in its repository: plan, change, checks, findings, and what can
// be done about it. All of it is what the server measured.

import { get, post, query, request } from "./api.js";
import { api as shelf } from "./shelf.js";
import { useKept } from "./fields.js";
import { kept } from "./kept.js";
import { app, inPerson, toast } from "./state.js";
import { capital, nameOf } from "./format.js";
import { duration, fileIcon, same } from "./forms.js";
import { advised } from "./trouble.js";
import { written } from "./words.js";
import { html, icon, useEffect, useState } from "./view.js";
import { severities, withId } from "./phase.js";

const at = (id, more = "") => "api/deliveries/" + encodeURIComponent(id) + more;
const api = {
  delivery: (id) => get(at(id)),
  plan: async (id) => (await request("GET", at(id, "/plan"))).json(),
  changePlan: async (id, plan) => (await request("PUT", at(id, "/plan"), plan)).json(),
  deliveryDiff: (id, step) => get(query(at(id, "/diff"), { step })),
  deliveryCheck: (id, check, file) => get(query(at(id, "/checks/" + encodeURIComponent(check)), { file })),
  actOnDelivery: (id, act) => post(at(id, "/act"), { act }),
};

// useSite fetches what there is of a delivery, anew whenever something has happened. It
// is null where the delivery has no repository, or none yet. At a gate it is fetched at once:
// somebody is about to decide.
export function useSite(id, key, atGate) {
  const [site, setSite] = useState(null);
  useEffect(() => {
    let here = true;
    const later = setTimeout(() => api.delivery(id).then((found) => here && setSite(found), () => {}), site && !atGate ? 400 : 0);
    return () => { here = false; clearTimeout(later); };
  }, [id, key]);
  return [site, () => api.delivery(id).then(setSite, () => {})];
}

const marks = { __proto__: null, done: ["circle-check", "good", "done"], failed: ["circle-x", "bad", "failed"], doing: ["loader-circle", "acc spin", "being done"], skipped: ["circle", "faint", "left out"], todo: ["circle", "faint", "to do"] };

// Outcome says what it came to, and offers what can be done about it.
export function Outcome({ site, session, again }) {
  const [guidance, setGuidance] = useKept("guidance." + site.session);
  const [busy, setBusy] = useState(false);
  if (!site.outcome) return null;
  const can = (act) => site.acts.includes(act);
  const doing = async (work) => {
    setBusy(true);
    try {
      const { done } = (await work()) ?? {};
      if (done) toast(done);
      await again();
    } catch (problem) {
      toast(problem.message);
    }
    setBusy(false);
  };
  const added = site.files.reduce((n, f) => n + f.added, 0);
  const removed = site.files.reduce((n, f) => n + f.removed, 0);
  const commits = site.log?.length || site.commits.length;
  const { operator } = app.me;
  const isDone = site.outcome === "delivered";
  return html`<section class="card pad outcome" data-outcome=${site.outcome} aria-label="Outcome"><div class="row"><h2 class="grow">${{ delivered: "Delivered", partial: "Partly done", failed: "Not delivered" }[site.outcome] ?? site.outcome}</h2>${(isDone || site.applied) && html`<span class="chip t good">${site.applied ? "taken" : "delivered"}</span>`}</div>
    ${site.files.length > 0 && html`<p class="small">${site.files.length} ${site.files.length === 1 ? "file" : "files"} changed, <span class="good">+${added}</span> <span class="bad">−${removed}</span> lines${commits > 0 && `, in ${commits} ${commits === 1 ? "commit" : "commits"}`}</p>`}
    ${site.reasons?.length > 0 && html`<ul class="stack small">${site.reasons.map((text) => html`<li class="row top" key=${text}>${icon("triangle-alert", "bad")}<span>${capital(inPerson(text, session))}</span></li>`)}</ul>`}
    ${site.advice && html`<p class="small advice">${advised(site.advice)}</p>`}
    ${can("apply") && operator && html`<p class="tiny faint">Taking it puts these commits onto the branch that is checked out in your project. It can be taken back.</p>`}
    ${can("continue") && html`<label class="field edge tall"><textarea rows="1" dir="auto" value=${guidance} placeholder=${isDone ? "What should be different? It becomes another step." : "What should be different? You may leave it empty."} aria-label="Guidance for going on" onInput=${(e) => setGuidance(e.target.value)}></textarea></label>`}
    <div class="row wrap">${can("apply") && operator && html`<button type="button" class=${site.outcome === "delivered" ? "primary" : ""} disabled=${busy} onClick=${() => doing(() => api.actOnDelivery(site.session, "apply"))}>${icon("check")}Take it</button>`}
      ${can("continue") && html`<button type="button" class=${isDone ? "" : "primary"} disabled=${busy || (isDone && !guidance.trim())} onClick=${() => doing(() => shelf.continueDelivery(site.session, { ...(guidance.trim() && { guidance: guidance.trim() }) }).then((made) => (setGuidance(""), made)))}>${isDone ? "Ask for changes" : "Go on"}</button>`}
      <span class="grow"></span>${can("undo") && operator && html`<button type="button" class="ghost danger" disabled=${busy} onClick=${() => doing(() => api.actOnDelivery(site.session, "undo"))}>${site.applied ? "Take it back" : "Drop it"}</button>`}</div><${Exactly} site=${site} /></section>`;
}

// Exactly is where the result is, for whoever works with it by hand.
function Exactly({ site }) {
  const rows = [["Branch", site.branch], ["Begun at", site.base?.slice(0, 12)], ...(site.log?.length ? site.log : site.commits).map((c) => [c.title || `Step ${c.step}`, c.commit.slice(0, 12)]), ["Worked in", app.me.operator && site.worktree]].filter(([, value]) => value);
  return html`<details class="tiny where"><summary class="btn ghost sm">${icon("chevron-right", "chev")}For developers</summary><dl class="exactly">${rows.map(([name, value], i) => html`<div key=${i}><dt>${name}</dt><dd><code>${value}</code></dd></div>`)}</dl></details>`;
}

// lineKind is what a line of a diff is.
const lineKind = (line) => (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff ") || line.startsWith("@@") ? "h" : line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : "");

// forGit are the lines of a diff that say nothing to people.
const forGit = /^(index [0-9a-f]+\.\.|diff --git |new file mode |deleted file mode )/;

// DiffLines shows a change line by line.
export const DiffLines = ({ text, label }) => html`<div class="diff" tabindex="0" role="group" aria-label=${label}>${text.split("\n").filter((line) => !forGit.test(line)).slice(0, 5000).map((line, i) => html`<div key=${i} class=${lineKind(line)}>${line}</div>`)}</div>`;

// Change shows the change, of all steps or of one.
export function Change({ site }) {
  const [step, setStep] = useState("");
  const [diff, setDiff] = useState(null);
  const [isOpen, setOpen] = useState(false);
  const last = site.commits.at(-1)?.commit ?? "";
  useEffect(() => {
    if (!isOpen) return;
    setDiff(null);
    api.deliveryDiff(site.session, step).then(setDiff, (problem) => setDiff({ text: problem.message, left: 0 }));
  }, [isOpen, step, last]);
  if (!site.files.length) return null;
  return html`<section class="card pad change" aria-label="The change"><h2>The change</h2>
    <ul class="stack small">${site.files.map((f) => html`<li key=${f.path} class="row">${icon(fileIcon(f.path))}<span class="grow cut">${f.path}</span><span class="num good">+${f.added}</span><span class="num bad">−${f.removed}</span></li>`)}</ul>
    <div class="row wrap"><button type="button" class="sm" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${icon("file-diff")}${isOpen ? "Hide it" : "Show it"}</button>
      ${isOpen && site.commits.length > 0 && html`<select aria-label="Which step" value=${step} onChange=${(e) => setStep(e.target.value)}><option value="">all steps</option>${site.commits.map((c) => html`<option key=${c.step} value=${c.step}>${c.title || `step ${c.step}`}</option>`)}</select>`}</div>
    ${isOpen && (diff ? html`<${DiffLines} text=${diff.text} label="Unified diff" />${diff.left > 0 && html`<p class="tiny faint">${diff.left} more bytes are not shown.</p>`}` : html`<p class="tiny faint">Loading …</p>`)}</section>`;
}

// labelOf says when checks were run; a step is called by its title.
function labelOf({ label, attempt }, steps = [], outdated = false) {
  const [, id, round] = /^step (.+) round (\d+)$/.exec(label) ?? [];
  if (label === "verify" && outdated) return "an earlier result: the code has changed since";
  return { baseline: "before the change", verify: "the result, on a clean checkout" }[label] ?? (id ? `${steps.find((s) => s.id === id)?.title || `step ${id}`}, ${attempt > 1 ? `attempt ${attempt}, ` : ""}round ${round}` : label);
}

// measuredOf groups runs of checks by what was checked: a step, the result, or what was
// there before the change, which is last. Each is a list of its rounds, the newest attempt
// and round first: [{ label, attempt, runs }].
export function measuredOf(runs) {
  const all = new Map([["baseline", []]]);
  for (const run of runs) {
    const what = run.label.replace(/ round \d+$/, ""), attempt = run.attempt ?? 1;
    const rounds = all.get(what) ?? [];
    if (rounds[0]?.label !== run.label || rounds[0].attempt !== attempt) rounds.unshift({ label: run.label, attempt, runs: new Map() });
    rounds[0].runs.set(run.name, run);
    if (what !== "baseline") all.delete(what); // it is now the latest
    all.set(what, rounds);
  }
  return [...all.values()].filter((rounds) => rounds.length).toReversed().map((rounds) => rounds.map((round) => ({ ...round, runs: [...round.runs.values()] })));
}

// Checks shows what was measured, the latest of each kind, with its output; what was measured
// of the same before is folded.
export function Checks({ site }) {
  if (!site.checks.length) return html`<section class="card pad checks" aria-label="Checks"><h2>Checks</h2><p class="small">${icon("triangle-alert", "bad")} This repository has no checks: nothing is measured.</p></section>`;
  const shown = (round) => html`<div key=${round.label + round.attempt} data-label=${round.label} data-attempt=${round.attempt}><h3 class="tiny faint">${labelOf(round, site.plan?.steps, round.runs.some((run) => run.outdated))}</h3>${round.runs.map((run) => html`<${CheckRun} key=${run.name + run.at} site=${site} run=${run} />`)}</div>`;
  return html`<section class="card pad checks" aria-label="Checks"><h2>Checks</h2>
    ${measuredOf(site.runs).map(([latest, ...before]) => html`<div key=${latest.label.replace(/ round \d+$/, "")} class="stack">${shown(latest)}${before.length > 0 && html`<details class="tiny before"><summary class="btn ghost sm">${icon("chevron-right", "chev")}${before.length} ${/^step /.test(latest.label) ? (before.length === 1 ? "round" : "rounds") : before.length === 1 ? "time" : "times"} before that</summary>${before.map(shown)}</details>`}</div>`)}
    <details class="tiny"><summary class="btn ghost sm">${icon("chevron-right", "chev")}How they are run</summary><p>${rooms[site.sandbox] ?? "They run as they are."}</p><dl class="exactly">${site.checks.map((c) => html`<div key=${c.name}><dt>${c.name}</dt><dd><code>${c.command}</code></dd></div>`)}</dl></details></section>`;
}

// rooms say how far checks are kept apart, by the name of the sandbox.
const rooms = { __proto__: null, full: "They run apart from everything else: without your files, without the network, and nothing of them is left running.", files: "They run without your files and without the network.", off: "They run without being kept apart from your files.", none: "They do not run: nothing keeps them apart from your files here." };

// testsOf says how many tests ran, and which failed.
function testsOf({ tests = 0, failing = [], flaky = [], remedy = "" }) {
  const many = (n) => `${n} ${n === 1 ? "test" : "tests"}`;
  const ran = failing.length ? `${tests > 0 ? `${failing.length} of ${many(tests)} failed` : "failed"}: ${failing.join(", ")}` : tests > 0 ? many(tests) : "";
  return [ran, flaky.length > 0 && `now and then fails: ${flaky.join(", ")}`, remedy].filter(Boolean).join("; ");
}

function CheckRun({ site, run }) {
  const [output, setOutput] = useState(null);
  const look = () => (output === null ? api.deliveryCheck(site.session, run.name, run.file).then((o) => setOutput(o.text || "(no output)"), (problem) => setOutput(problem.message)) : setOutput(null));
  return html`<div class="check-run" data-ok=${run.ok}><div class="row small">${icon(run.ok ? "circle-check" : "circle-x", run.ok ? "good" : "bad")}<b>${run.name}</b><span>${run.ok ? "passed" : "failed"}</span><span class="grow faint cut" title=${testsOf(run)}>${testsOf(run)}</span><span class="faint num">${duration(run.seconds * 1000)}</span><button type="button" class="ghost sm" aria-expanded=${output !== null} onClick=${look}>Output</button></div>
    ${output !== null && html`<pre class="term" tabindex="0" aria-label=${`Output of ${run.name}`}>${output}</pre>`}</div>`;
}

const criterionMarks = { __proto__: null, met: ["circle-check", "good", "met"], not_met: ["circle-x", "bad", "not met"], unproven: ["info", "", "not proven"] };

// FindingRows lists what a review found: how bad it is, where it is, what is to be done.
export function FindingRows({ findings, criteria }) {
  return html`<ul class="stack small">${findings.filter((f) => !f.fell).map((f) => html`<li class="row top finding" key=${f.id} data-severity=${f.severity}>${icon("triangle-alert", f.severity === "minor" ? "" : "bad")}<span class="grow"><b>${severities[f.severity] ?? f.severity}:</b> <span dir="auto">${f.problem}</span>${f.proven && " A test proves it."}${f.fix && html`<span class="fix" dir="auto">What to do: ${f.fix}</span>`}${f.path && html`<span class="faint place">${f.path}${f.line ? `, line ${f.line}` : ""}</span>`}</span></li>`)}
    ${criteria.map((c) => html`<li class="row top" key=${"c" + c.id}>${icon(...(criterionMarks[c.state] ?? criterionMarks.unproven).slice(0, 2))}<span class="grow" dir="auto">${withId(c.id, c.text) || c.id}</span><span class="faint">${(criterionMarks[c.state] ?? criterionMarks.unproven)[2]}${c.evidence ? `, ${c.evidence}` : ""}</span></li>`)}</ul>`;
}

// Findings shows what the latest review came to, and where claims differ from facts.
export function Findings({ site }) {
  const open = site.findings.filter((f) => !f.fell);
  const notes = [...(site.claims ?? []), ...(site.notes ?? [])];
  if (!open.length && !site.criteria.length && !notes.length) return null;
  return html`<section class="card pad findings" aria-label="Review"><div class="row"><h2 class="grow">Review</h2>${site.review?.round > 1 && html`<span class="tiny faint">the ${ordinal(site.review.round)} of this change</span>`}</div>
    ${site.review?.outdated && html`<p class="small">${icon("info")} Something was built since: this is what was found before that.</p>`}
    <${FindingRows} findings=${site.findings} criteria=${site.criteria} />
    ${notes.length > 0 && html`<ul class="stack small">${notes.map((text) => html`<li class="row top" key=${text}>${icon("info")}<span>${capital(text)}</span></li>`)}</ul>`}</section>`;
}

const ordinal = (n) => ["", "first", "second", "third"][n] ?? `${n}th`;

// Documents are those that the phases wrote.
export function Documents({ site, show }) {
  if (!site.documents.length) return null;
  return html`<section class="card pad" aria-label="Documents"><h2 class="h-17">Documents</h2><div class="stack">${site.documents.map((d) => html`<button type="button" class="bare row small" key=${d.path} onClick=${() => show(d.path)}>${icon(fileIcon(d.path))}<span class="link cut">${written[d.phase] ?? nameOf(d.path)}</span></button>`)}</div></section>`;
}

// SitePlan shows the plan with how each step stands, and lets a person change it.
export function SitePlan({ site, session, again }) {
  const [written, keepDraft] = useKept(draftOf(site), null);
  const steps = site.plan?.steps ?? [], draft = written && site.acts.includes("plan") ? rebased(written, steps) : null;
  const setDraft = (now) => keepDraft(now && { base: wordsOf(steps), steps: now });
  if (!steps.length) return null;
  const done = steps.filter((s) => s.status === "done").length;
  const save = async () => {
    try {
      const now = (await api.plan(site.session)).steps ?? []; // another window may have changed it in between
      const { changes } = await api.changePlan(site.session, { steps: rebased(written, now).map((s) => merged(s, now)) });
      toast(!changes.length ? "Nothing has changed." : same(written.base, wordsOf(now)) ? "The plan is saved." : "The plan is saved, with what was changed elsewhere.");
      setDraft(null);
      await again();
    } catch (problem) {
      toast(problem.message);
    }
  };
  return html`<section class="card" aria-label="Plan"><div class="row pad"><h2 class="grow">Plan</h2><span class="meter wide-meter"><i style=${{ width: (done / steps.length) * 100 + "%" }}></i></span><span class="tiny faint">${done} of ${steps.length}</span></div>
    ${draft ? html`<${PlanEditor} draft=${draft} steps=${steps} setDraft=${setDraft} save=${save} />` : html`<ol class="plan">${steps.map((s) => html`<li key=${s.id} data-status=${s.status}>${icon((marks[s.status] ?? marks.todo)[0], (marks[s.status] ?? marks.todo)[1])}<span title=${s.goal}>${s.title}<span class="hidden">, ${(marks[s.status] ?? marks.todo)[2]}</span>${s.reason && html`<small class="why">${capital(inPerson(s.reason, session))}</small>`}</span><span class="tiny faint">${s.status === "failed" ? "failed" : s.files?.length === 1 ? s.files[0] : s.files?.length ? `${s.files.length} files` : ""}</span></li>`)}</ol>
    ${site.acts.includes("plan") && html`<div class="row pad-s"><button type="button" class="ghost sm" onClick=${() => setDraft(wordsOf(steps))}>${icon("pencil")}Change the plan</button></div>`}`}</section>`;
}

// merged is a step as it is now, with what was written of it, which may have been some time ago.
// again says that it is to be done again.
export const merged = ({ id, title, goal, again }, steps) => ({ status: "todo", ...steps.find((s) => s.id === id), id, title, goal, ...(again && { status: "todo", commit: "", reason: "" }) });

// draftOf is where a window keeps its own changes of a plan, with the words that they are changes of.
const draftOf = (site) => "own.plan." + site?.session;

// wordsOf are what a person may change of steps.
const wordsOf = (steps) => steps.map(({ id, title, goal = "" }) => ({ id, title, goal }));

// freeId is the first number from n on that no step has.
const freeId = (n, steps) => (steps.some((s) => s.id === String(n)) ? freeId(n + 1, steps) : String(n));

// rebased are the changes of a plan that has been changed elsewhere since they were begun: what
// is new there is taken over where nothing else is wanted here.
export function rebased({ base, steps }, now) {
  const find = (list, id) => list.find((s) => s.id === id), has = (list, id) => !!find(list, id);
  if (same(base, wordsOf(now))) return steps;
  const mine = steps.map((s) => (has(base, s.id) || !has(now, s.id) ? s : { ...s, id: freeId(1, [...now, ...base, ...steps]) })); // both have added one
  const isChanged = (s) => !same(find(base, s.id), { id: s.id, title: s.title, goal: s.goal }) || s.again;
  const arranged = same(base.map((s) => s.id), mine.map((s) => s.id)) ? now : mine;
  const wanted = arranged.filter((s) => has(now, s.id) || isChanged(s));
  const more = [...now.filter((s) => !has(base, s.id)), ...mine.filter(isChanged)].filter((s) => !has(wanted, s.id));
  return [...wanted, ...more.filter((s, i) => !has(more.slice(0, i), s.id))].map(({ id }) => {
    const own = find(mine, id), was = find(base, id), is = find(now, id), of = (key) => (own && (!is || own[key] !== was?.[key]) ? own[key] : (is[key] ?? ""));
    return { id, title: of("title"), goal: of("goal"), ...(own?.again && { again: true }) };
  });
}

// isUnsaved says that a plan was changed in this window and not saved.
export function isUnsaved(site) {
  const draft = kept(draftOf(site)), steps = site?.plan?.steps ?? [];
  return !!draft && !same(rebased(draft, steps), wordsOf(steps));
}

function PlanEditor({ draft, steps, setDraft, save }) {
  const change = (i, values) => setDraft(draft.map((s, j) => (i === j ? { ...s, ...values } : s)));
  const move = (i, by) => {
    const list = [...draft];
    [list[i], list[i + by]] = [list[i + by], list[i]];
    setDraft(list);
  };
  return html`<form class="stack pad" aria-label="Change the plan" onSubmit=${(e) => (e.preventDefault(), save())}>${draft.map((s) => merged(s, steps)).map((s, i) => html`<fieldset class="stack" key=${s.id}><div class="row"><label class="field edge grow"><input value=${s.title} aria-label=${`Title of step ${s.id}`} disabled=${s.status === "done"} onInput=${(e) => change(i, { title: e.target.value })} /></label>
      <button type="button" class="tool" aria-label=${`Step ${s.id} earlier`} disabled=${i === 0} onClick=${() => move(i, -1)}>${icon("arrow-up")}</button>${s.status === "done" || s.status === "failed" || s.status === "skipped" ? html`<button type="button" class="ghost sm" onClick=${() => change(i, { again: true })}>Do it again</button>` : null}
      <button type="button" class="tool" aria-label=${`Leave out step ${s.id}`} onClick=${() => setDraft(draft.filter((_, j) => j !== i))}>${icon("x")}</button></div>
      ${s.status !== "done" && html`<label class="field edge tall"><textarea rows="2" aria-label=${`Goal of step ${s.id}`} value=${s.goal ?? ""} onInput=${(e) => change(i, { goal: e.target.value })}></textarea></label>`}</fieldset>`)}
    <div class="row wrap"><button class="primary">Save the plan</button><button type="button" onClick=${() => setDraft([...draft, { id: freeId(draft.length + 1, draft), title: "", goal: "" }])}>${icon("plus")}Add a step</button><span class="grow"></span><button type="button" class="ghost" onClick=${() => setDraft(null)}>Cancel</button></div></form>`;
}
