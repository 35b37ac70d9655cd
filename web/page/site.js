// What a delivery does in its repository: change, checks, findings, and what can
// be done about it. All of it is what the server measured.

import { get, post, query, request } from "./api.js";
import { api as shelf } from "./shelf.js";
import { useKept } from "./fields.js";
import { app, dismiss, inPerson, titleOf, toast, update } from "./state.js";
import { capital, nameOf } from "./format.js";
import { duration, fileIcon } from "./forms.js";
import { held } from "./held.js";
import { takeFocus } from "./keys.js";
import { useLooks } from "./looks.js";
import { advised } from "./trouble.js";
import { written } from "./words.js";
import { html, icon, useEffect, useState } from "./view.js";
import { severities, withId } from "./phase.js";

export const at = (id, more = "") => "api/deliveries/" + encodeURIComponent(id) + more;
const api = {
  delivery: (id) => get(at(id)),
  deliveryDiff: (id, step) => get(query(at(id, "/diff"), { step })),
  deliveryCheck: (id, check, file) => get(query(at(id, "/checks/" + encodeURIComponent(check)), { file })),
  actOnDelivery: (id, act) => post(at(id, "/act"), { act }),
  dropResult: (id, written) => request("DELETE", query(at(id, "/result"), { written })),
};

// dropping are the deliveries whose results are dropped as far as people see it, though that may
// still be undone.
const dropping = new Set();

// said is what was said last of what was done with a delivery.
let said = null;

// tell says what came of something that was done with a delivery, in place of what it said last. With
// nothing to say it only takes that away.
export function tell(text) {
  if (said) dismiss(said);
  said = text ? toast(text) : null;
}

// drop takes away what a delivery has built: see held. What somebody has done with it meanwhile
// keeps it, the server compares.
function drop({ session }, again) {
  const info = app.sessions.get(session), name = `“${info ? titleOf(info) : "the delivery"}”`;
  const back = () => (dropping.delete(session), update());
  dropping.add(session);
  tell();
  held(`What ${name} has built is dropped`, () => api.dropResult(session, info?.written).then(again, (problem) => (tell(problem.message), back(), again())),
    () => (back(), requestAnimationFrame(() => takeFocus(".outcome .danger", "#main h1")))); // the button is gone
}

// useSite fetches what there is of a delivery, anew whenever something has happened, or somebody has
// come back to the page. It is null where the delivery has no repository, or none yet. At a gate it
// is fetched at once: somebody is about to decide. It is undefined until the first is there.
export function useSite(id, key, atGate) {
  const [site, setSite] = useState(), looks = useLooks();
  useEffect(() => {
    let here = true;
    const later = setTimeout(() => api.delivery(id).then((found) => here && setSite(found), () => here && setSite((now) => now ?? null)), site && !atGate ? 400 : 0);
    return () => { here = false; clearTimeout(later); };
  }, [id, key, looks]);
  return [site && dropping.has(id) ? { isDropping: true, ...site, acts: [], files: [] } : site, () => api.delivery(id).then(setSite, () => {})];
}

// leftOut says how many changed files a delivery was begun without.
export const leftOut = (n) => (n > 0 ? `${n === 1 ? "1 file that was" : `${n} files that were`} changed and not committed ${n === 1 ? "is" : "are"} not in it.` : "");

// Outcome says what it came to, and offers what can be done about it.
export function Outcome({ site, session, again }) {
  const [guidance, setGuidance] = useKept("guidance." + site.session);
  const [busy, setBusy] = useState(false);
  if (site.dropped || site.isDropping) return html`<section class="card pad outcome" data-outcome="dropped" aria-label="Outcome"><h2>Dropped</h2><p class="small">${site.dropped ? "What it had built was dropped. Its branch and its commits are not there any more." : "In a few seconds its branch and its commits are gone. Until then it can be undone."}</p></section>`;
  if (!site.outcome) return null;
  const can = (act) => site.acts.includes(act);
  const doing = async (work) => {
    setBusy(true);
    try {
      tell((await work())?.done);
    } catch (problem) {
      tell(problem.message); // perhaps of something that was done in another window
    }
    await again();
    setBusy(false);
  };
  const added = site.files.reduce((n, f) => n + f.added, 0);
  const removed = site.files.reduce((n, f) => n + f.removed, 0);
  const commits = site.log?.length || site.commits.length;
  const { operator } = app.me;
  const isDone = site.outcome === "delivered", todo = (site.plan?.steps ?? []).filter((s) => s.status === "todo").length; // added since
  const isOver = isDone && !todo;
  return html`<section class="card pad outcome" data-outcome=${site.outcome} aria-label="Outcome"><div class="row"><h2 class="grow">${{ delivered: "Delivered", partial: "Partly done", failed: "Not delivered" }[site.outcome] ?? site.outcome}</h2>${(isDone || site.applied) && html`<span class="chip t good">${site.untaken ? "partly taken" : site.applied ? "taken" : "delivered"}</span>`}</div>
    ${site.files.length > 0 && html`<p class="small">${site.files.length} ${site.files.length === 1 ? "file" : "files"} changed${added + removed > 0 && html`, ${amounts({ added, removed })} lines`}${commits > 0 && `, in ${commits} ${commits === 1 ? "commit" : "commits"}`}</p>`}
    ${site.reasons?.length > 0 && html`<ul class="stack small">${site.reasons.map((text) => html`<li class="row top" key=${text}>${/” is still to be done(: |$)/.test(text) ? icon("circle", "faint") : icon("triangle-alert", "bad")}<span>${capital(inPerson(text, session))}</span></li>`)}</ul>`}
    ${isDone && todo > 0 && html`<p class="small">${todo === 1 ? "1 step" : `${todo} steps`} of the plan ${todo === 1 ? "was" : "were"} added since, and ${todo === 1 ? "is" : "are"} to do. Go on carries ${todo === 1 ? "it" : "them"} out.</p>`}
    ${site.advice && html`<p class="small advice">${advised(site.advice)}</p>`}
    ${site.untaken && html`<p class="small">Not all of it is in your project: the rest was made since it was taken, or undone by hand.</p>`}
    ${site.elsewhere?.length > 0 && html`<p class="small">It was taken into ${site.elsewhere.join(" and ")}, which is not checked out in your project.</p>`}
    ${can("apply") && operator && html`<p class="tiny faint">Taking it puts these commits onto the branch that is checked out in your project. It can be taken back.</p>`}
    ${can("apply") && !operator && html`<p class="tiny faint">Taking it into the project is for whoever runs Troupe. Ask them to.</p>`}
    ${can("continue") && html`<label class="field edge tall"><textarea rows="1" dir="auto" value=${guidance} placeholder=${isOver ? "What should be different? It becomes another step." : "What should be different? You may leave it empty."} aria-label="Guidance for going on" onInput=${(e) => setGuidance(e.target.value)}></textarea></label>`}
    <div class="row wrap">${can("apply") && operator && html`<button type="button" class=${site.outcome === "delivered" ? "primary" : ""} disabled=${busy} onClick=${() => doing(() => api.actOnDelivery(site.session, "apply"))}>${icon("check")}Take it</button>`}
      ${can("continue") && html`<button type="button" class=${isDone ? "" : "primary"} disabled=${busy || (isOver && !guidance.trim())} onClick=${() => doing(() => shelf.continueDelivery(site.session, { ...(guidance.trim() && { guidance: guidance.trim() }) }).then((made) => (setGuidance(""), made)))}>${isOver ? "Ask for changes" : "Go on"}</button>`}
      <span class="grow"></span>${can("revert") && operator && html`<button type="button" class="ghost danger" disabled=${busy} onClick=${() => doing(() => api.actOnDelivery(site.session, "revert"))}>Take it back</button>`}${can("drop") && operator && html`<button type="button" class="ghost danger" disabled=${busy} onClick=${() => drop(site, again)}>Drop it</button>`}</div><${Exactly} site=${site} /></section>`;
}

// Exactly is where the result is, for whoever works with it by hand.
function Exactly({ site }) {
  const rows = [["Branch", site.branch], ["Begun at", site.base?.slice(0, 12)], ...(site.log?.length ? site.log : site.commits).map((c) => [c.title || `Step ${c.step}`, c.commit.slice(0, 12)]), ["Worked in", app.me.operator && site.worktree]].filter(([, value]) => value);
  return html`<details class="tiny where"><summary class="btn ghost sm">${icon("chevron-right", "chev")}For developers</summary><dl class="exactly">${rows.map(([name, value], i) => html`<div key=${i}><dt>${name}</dt><dd><code>${value}</code></dd></div>`)}</dl></details>`;
}

// lineKind is what a line of a diff is.
const lineKind = (line) => (line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : "");

// whereabouts is where a part of a change begins. All of a file that is new or gone is one part.
function whereabouts(line) {
  const [, begin, around] = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)/.exec(line) ?? [];
  return begin === undefined ? [["h", line]] : / -0,0 | \+0,0 /.test(line.slice(0, 40)) ? [] : [["h", `line ${begin}${around && `, in ${around.trim()}`}`]];
}

// forGit are the lines of a diff that say nothing to people.
const forGit = /^(index [0-9a-f]+\.\.|diff --git |(new file|deleted file|old|new) mode |similarity index |rename (from|to) |Binary files )/;

// asNamed is a name as people see it: git quotes those that have quotes or such in them.
const asNamed = (name) => (/^".*"$/.test(name) ? name.slice(1, -1).replace(/\\(.)/g, (_, c) => ({ t: "⇥", n: "⏎", r: "⏎" })[c] ?? c) : name);

const afterIn = (head, words) => head.find((line) => line.startsWith(words))?.slice(words.length);

// modeIn says whether a file may be run, where that has changed.
const modeIn = (head) => (afterIn(head, "new mode ") ? (afterIn(head, "new mode ") === "100755" ? ", which may be run now" : ", which may not be run any more") : "");

// unsaid is what a diff says of a file of which it shows no line: head are the lines before any.
function unsaid(head) {
  const after = (words) => afterIn(head, words);
  const both = head[0].slice("diff --git a/".length), path = after("rename to ") ?? both.slice(0, (both.length - 3) / 2); // twice the same, with " b/" between
  const was = after(`rename from `), become = was ? `, which was ${asNamed(was)}` : after("new file mode ") ? ", new" : after("deleted file mode ") ? ", removed" : "";
  return [["f", asNamed(path) + become + modeIn(head)], ...(after("Binary files ") ? [["h", "not a text"]] : [])];
}

// withHeads are the lines of a diff, each with its kind: in place of those that name a file for
// programs, one that names it for people.
export function withHeads(text) {
  const lines = text.split("\n"), path = (line) => asNamed(line.slice(4).replace(/\t.*$/, "")).replace(/^[ab]\//, "");
  const before = (i) => lines.slice(lines.lastIndexOf(lines.slice(Math.max(0, i - 8), i).findLast((line) => line.startsWith("diff --git ")), i), i);
  const isHead = (i) => /^--- /.test(lines[i] ?? "") && /^\+\+\+ /.test(lines[i + 1] ?? "") && (i === 0 || forGit.test(lines[i - 1]) || /^@@ /.test(lines[i + 2] ?? ""));
  let isPatch = false; // of what is no text
  return lines.flatMap((line, i) => {
    if (line === "GIT binary patch") isPatch = true;
    if (line.startsWith("diff --git ")) {
      isPatch = false;
      const rest = lines.slice(i + 1, i + 12), end = rest.findIndex((l) => !forGit.test(l) || l.startsWith("diff --git ")), head = [line, ...(end < 0 ? rest : rest.slice(0, end))];
      return isHead(i + head.length) ? [] : [...unsaid(head), ...(lines[i + head.length] === "GIT binary patch" ? [["h", "not a text"]] : [])];
    }
    if (isPatch || forGit.test(line) || isHead(i - 1)) return [];
    if (line.startsWith("@@ ")) return whereabouts(line);
    if (!isHead(i)) return [[lineKind(line), line]];
    const was = path(line), is = path(lines[i + 1]);
    return [["f", (was === "/dev/null" ? `${is}, new` : is === "/dev/null" ? `${was}, removed` : was === is ? is : `${is}, which was ${was}`) + modeIn(before(i))]];
  });
}

// DiffLines shows a change line by line.
export const DiffLines = ({ text, label }) => html`<div class="diff" tabindex="0" role="group" aria-label=${label}>${withHeads(text).slice(0, 5000).map(([kind, line], i) => html`<div key=${i} class=${kind}>${line}</div>`)}</div>`;

const stepOf = (commit) => commit?.title || `step ${commit?.step}`;

// amounts are how many lines came and went, where any did: of what is no text there are none.
const amounts = ({ added, removed }) => html`${added > 0 && html`<span class="num good">+${added}</span>`}${added > 0 && removed > 0 && " "}${removed > 0 && html`<span class="num bad">−${removed}</span>`}`;

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
    <ul class="stack small">${site.files.map((f) => html`<li key=${f.path} class="row">${icon(fileIcon(f.path))}<span class="grow cut">${f.path}${f.from && html`<span class="faint">, which was ${f.from}</span>`}</span>${amounts(f)}</li>`)}</ul>
    <div class="row wrap"><button type="button" class="sm" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${icon("file-diff")}${isOpen ? "Hide it" : "Show it"}</button>
      ${isOpen && site.commits.length > 0 && html`<label class="btn sm pick"><span class="cut">${step ? stepOf(site.commits.find((c) => String(c.step) === step)) : "All steps"}</span>${icon("chevron-down")}<select aria-label="Which step" value=${step} onChange=${(e) => setStep(e.target.value)}><option value="">All steps</option>${site.commits.map((c) => html`<option key=${c.step} value=${c.step}>${stepOf(c)}</option>`)}</select></label>`}</div>
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
  if (!site.checks.length) return html`<section class="card pad checks" aria-label="Checks"><h2>Checks</h2><p class="row top small">${icon("triangle-alert")}<span>This repository has no checks: nothing is measured.</span></p></section>`;
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
    ${site.review?.outdated && html`<p class="row top small">${icon("info")}<span>Something was built since: this is what was found before that.</span></p>`}
    <${FindingRows} findings=${site.findings} criteria=${site.criteria} />
    ${notes.length > 0 && html`<ul class="stack small">${notes.map((text) => html`<li class="row top" key=${text}>${icon("info")}<span>${capital(text)}</span></li>`)}</ul>`}</section>`;
}

const ordinal = (n) => ["", "first", "second", "third"][n] ?? `${n}th`;

// Documents are those that the phases wrote.
export function Documents({ site, show }) {
  if (!site.documents.length) return null;
  return html`<section class="card pad" aria-label="Documents"><h2 class="h-17">Documents</h2><div class="stack">${site.documents.map((d) => html`<button type="button" class="bare row small" key=${d.path} onClick=${() => show(d.path)}>${icon(fileIcon(d.path))}<span class="link cut">${written[d.phase] ?? nameOf(d.path)}</span></button>`)}</div></section>`;
}
