// The plan of a delivery, as it stands and as a person changes it, in more than one window at a time.

import { request } from "./api.js";
import { copy } from "./copy.js";
import { useKept } from "./fields.js";
import { kept } from "./kept.js";
import { inPerson, toast } from "./state.js";
import { capital } from "./format.js";
import { same } from "./forms.js";
import { takeFocus } from "./keys.js";
import { at } from "./site.js";
import { html, icon, useEffect, useRef, useState } from "./view.js";

const api = {
  plan: async (id) => (await request("GET", at(id, "/plan"))).json(),
  changePlan: async (id, plan) => (await request("PUT", at(id, "/plan"), plan)).json(),
};

const marks = { __proto__: null, done: ["circle-check", "good", "done"], failed: ["circle-x", "bad", "failed"], doing: ["loader-circle", "acc spin", "being done"], skipped: ["circle", "faint", "left out"], todo: ["circle", "faint", "to do"] };

// planHint says at the plan's gate how its document and the plan differ, "" where they do not. A plan
// that was changed last is written into its document, which keeps what was edited there.
export function planHint(site) {
  if (site?.plan_ahead) return "The plan was changed. Its document will say so once it is carried out.";
  return site?.documents.some((d) => d.edited && d.phase === "planning") ? "The document of the plan was edited. What is carried out are the steps above: change them in the plan, too." : "";
}

// SitePlan shows the plan with how each step stands, and lets a person change it.
export function SitePlan({ site, session, again }) {
  const [written, keepDraft] = useKept(draftOf(site), null);
  const [late, keepLate] = useKept("own.late." + site.session, null); // words for steps that were carried out meanwhile
  const steps = site.plan?.steps ?? [], isOpen = site.acts.includes("plan");
  const draft = written && isOpen ? rebased(written, steps) : null;
  const met = draft ? [...(written.met ?? []), ...clashes(written, steps)].filter((c, i, all) => all.findLastIndex((o) => o.id === c.id) === i) : [];
  const setDraft = (now, clashing = met) => keepDraft(now && { base: wordsOf(steps), done: doneOf(steps), steps: now, met: clashing });
  const isOvertaken = !!draft && steps.some((s) => isDoneSince(written, steps, s.id));
  useEffect(() => {
    if (!isOvertaken) return;
    const words = overtaken(written, steps);
    if (words.length) keepLate([...(late ?? []), ...words]);
    setDraft(same(draft, wordsOf(steps)) ? null : draft);
  }, [isOvertaken]);
  if (!steps.length) return null;
  const done = doneOf(steps).length;
  const [isSaving, setSaving] = useState(false), saving = useRef(false); // which a second click sees at once
  const close = () => (setDraft(null), requestAnimationFrame(() => takeFocus("[data-act=plan]")));
  const save = async () => {
    if (saving.current) return;
    setSaving((saving.current = true));
    try {
      const now = (await api.plan(site.session)).steps ?? []; // another window may have changed it in between
      if (!same(clashes(written, now), clashes(written, steps)) || overtaken(written, now).length) {
        await again();
        return toast("The plan was changed elsewhere meanwhile. Look at what became of it there.");
      }
      const { changes } = await api.changePlan(site.session, { steps: rebased(written, now).map((s) => merged(s, now)) });
      toast(!changes.length ? "Nothing has changed." : met.length ? "The plan is saved, with your words where it was changed elsewhere, too." : same(written.base, wordsOf(now)) ? "The plan is saved." : "The plan is saved, with what was changed elsewhere.");
      close();
      await again();
    } catch (problem) {
      toast(problem.message);
    } finally {
      setSaving((saving.current = false));
    }
  };
  const plans = [...session.runs.values()].findLast((run) => run.depth === 1)?.agent === "planning";
  const why = site.state !== "running" ? "The plan cannot be changed any more." : plans ? "The plan is being written anew." : "The plan is being carried out.";
  return html`<section class="card" aria-label="Plan"><div class="row pad"><h2 class="grow">Plan</h2><span class="meter wide-meter"><i style=${{ width: (done / steps.length) * 100 + "%" }}></i></span><span class="tiny faint">${done} of ${steps.length}</span></div>
    ${written && !isOpen && !isAsBegun(written) && html`<${Unsaved} why=${why} words=${changedIn(written)} drop=${() => setDraft(null)} />`}${late && html`<${Unsaved} why="It was carried out meanwhile." words=${late} drop=${() => keepLate(null)} />`}
    ${draft ? html`<${PlanEditor} isSaving=${isSaving} taken=${begunIn(session)} draft=${draft} steps=${steps} met=${met} setDraft=${setDraft} save=${save} close=${close} />` : html`<ol class="plan">${steps.map((s) => html`<li key=${s.id} data-status=${s.status}>${icon((marks[s.status] ?? marks.todo)[0], (marks[s.status] ?? marks.todo)[1])}<span title=${s.goal}>${s.title}<span class="hidden">, ${(marks[s.status] ?? marks.todo)[2]}</span>${s.reason && html`<small class="why">${capital(inPerson(s.reason, session))}</small>`}</span><span class="tiny faint">${s.status === "failed" ? "failed" : s.files?.length === 1 ? s.files[0] : s.files?.length ? `${s.files.length} files` : ""}</span></li>`)}</ol>
    ${isOpen && html`<div class="row pad-s"><button type="button" class="ghost sm" data-act="plan" onClick=${() => setDraft(wordsOf(steps), [])}>${icon("pencil")}Change the plan</button></div>`}`}</section>`;
}

// merged is a step as it is now, with what was written of it, which may have been some time ago.
// again says that it is to be done again.
export function merged({ id, title, goal, until = "", again }, steps) {
  const is = find(steps, id), acceptance = until.split("\n").map((line) => line.trim()).filter(Boolean);
  return { status: "todo", ...is, id, title, goal, ...((is?.acceptance || acceptance.length > 0) && { acceptance }), ...(again && { status: "todo", commit: "", reason: "" }) };
}

// draftOf is where a window keeps its own changes of a plan, with the words that they are changes of.
const draftOf = (site) => "own.plan." + site?.session;

// wordsOf are what a person may change of steps: until says when one is done, in lines.
const wordsOf = (steps) => steps.map(({ id, title, goal = "", acceptance = [], until = acceptance.join("\n") }) => ({ id, title, goal, ...(until && { until }) }));

// freeId is the first number from n on that no step has.
const freeId = (n, steps) => (steps.some((s) => s.id === String(n)) ? freeId(n + 1, steps) : String(n));

const doneOf = (steps) => steps.filter((s) => s.status === "done").map((s) => s.id);

const find = (list, id) => list.find((s) => s.id === id), has = (list, id) => !!find(list, id);

// isDoneSince says of a step that it was done since a draft was begun.
const isDoneSince = ({ done = [] }, now, id) => find(now, id)?.status === "done" && !done.includes(id);

// isAsBegun says that nothing was changed in a draft.
const isAsBegun = ({ base, steps }) => same(wordsOf(steps), base) && !steps.some((s) => s.again);

// changedIn are the words that were written in a draft, step by step.
const changedIn = ({ base, steps }) => wordsOf(steps).filter((s) => !same(s, find(base, s.id))).map(({ id, title, goal, until = "" }) => ({ id, title, goal: goal === find(base, id)?.goal ? "" : goal, ...(until !== (find(base, id)?.until ?? "") && { until }) }));

// overtaken are the words of a draft for steps that were done since it was begun: too late.
export const overtaken = (draft, now) => changedIn(draft).filter((s) => has(draft.base, s.id) && isDoneSince(draft, now, s.id));

// placed is a list with a step that it may lack, behind what is before it among others.
function placed(list, step, among) {
  if (has(list, step.id)) return list;
  const before = among.slice(0, among.findIndex((s) => s.id === step.id)).findLast((s) => has(list, s.id));
  return list.toSpliced(before ? list.findIndex((s) => s.id === before.id) + 1 : 0, 0, step);
}

// rebased are the changes of a plan that has been changed elsewhere, or carried out, since they
// were begun: what is new there is taken over where nothing else is wanted here. A step that is
// done keeps its words, and one that was done since stays.
export function rebased({ base, steps, done = [] }, now) {
  const mine = steps.map((s) => (has(base, s.id) || !has(now, s.id) ? s : { ...s, id: freeId(1, [...now, ...base, ...steps]) })); // both have added one
  const isChanged = (s) => !same(find(base, s.id), wordsOf([s])[0]) || s.again;
  const isNew = (s) => !has(base, s.id) || isDoneSince({ done }, now, s.id);
  const arranged = same(base.map((s) => s.id), mine.map((s) => s.id)) ? now : mine;
  let list = arranged.filter((s) => has(now, s.id) || isChanged(s));
  for (const s of now.filter(isNew)) list = placed(list, s, now);
  for (const s of mine.filter(isChanged)) list = placed(list, s, mine);
  return list.map(({ id }) => {
    const was = find(base, id), is = find(wordsOf(now), id), isLate = isDoneSince({ done }, now, id), own = isLate ? null : find(mine, id);
    const of = (key) => (own && (!is || ((own.again || find(now, id).status !== "done") && (own[key] ?? "") !== (was?.[key] ?? ""))) ? own[key] : is[key]) ?? "";
    return { ...wordsOf([{ id, title: of("title"), goal: of("goal"), until: of("until") }])[0], ...(own?.again && { again: true }) };
  });
}

// clashes are the steps that were changed, or left out, both here and elsewhere, with the words that
// were theirs and what became of them there: { id, was, is }, where is may be null.
export function clashes({ base, steps, done }, now) {
  const words = (list, id) => find(wordsOf(list), id) ?? null;
  return base.filter((s) => !isDoneSince({ done }, now, s.id)).map((was) => ({ id: was.id, was, own: words(steps, was.id), is: words(now, was.id) })).filter(({ was, own, is }) =>
    !same(own, was) && !same(is, was) && !same(own, is) && (!own || !is || ["title", "goal", "until"].some((key) => own[key] !== was[key] && is[key] !== was[key] && own[key] !== is[key]))).map(({ id, was, is }) => ({ id, was, is }));
}

// isUnsaved says that a plan was changed in this window and not saved.
export function isUnsaved(site) {
  const draft = kept(draftOf(site)), steps = site?.plan?.steps ?? [];
  return !!draft && !same(rebased(draft, steps), wordsOf(steps));
}

// isAsShown says whether a plan is still what its reader sees. Whether it can be asked at all is
// said by what is done next.
export const isAsShown = (site) => api.plan(site.session).then(({ steps }) => same(wordsOf(steps ?? []), wordsOf(site.plan?.steps ?? [])), () => true);

// Unsaved are changes that did not get into the plan, for whoever wants their words elsewhere.
function Unsaved({ why, words, drop }) {
  const text = words.map(({ title, goal, until }) => [title, goal, until].filter(Boolean).join("\n")).join("\n\n");
  return html`<div class="pad-s"><div class="stack small card pad-s unsaved-plan" role="status"><b>${why} Your changes were not saved${text ? ":" : "."}</b>${text && html`<p class="plain" dir="auto">${text}</p>`}<div class="row">${text && html`<button type="button" class="sm" onClick=${() => copy(text)}>${icon("copy")}Copy</button>`}<button type="button" class="ghost sm" onClick=${drop}>Drop it</button></div></div></div>`;
}

// begunIn are the steps that were begun in a delivery, also those that are not in its plan any more:
// what is on record of them is theirs.
const begunIn = (session) => [...session.runs.values()].filter((run) => run.agent.startsWith("step ")).map((run) => ({ id: run.agent.slice(5) }));

function PlanEditor({ isSaving, taken, draft, steps, met, setDraft, save, close }) {
  const form = useRef(null);
  const [isTried, setTried] = useState(false);
  const shown = draft.map((s) => ({ ...merged(s, steps), until: s.until }));
  const lacks = (s) => s.status !== "done" && !s.title.trim();
  const fields = () => [...form.current.querySelectorAll("fieldset")];
  const submit = (event) => {
    event.preventDefault();
    setTried(true);
    const i = shown.findIndex(lacks);
    if (i < 0) save();
    else fields()[i].querySelector("input").focus();
  };
  const add = () => {
    setTried(false);
    setDraft([...draft, { id: freeId(draft.length + 1, [...draft, ...steps, ...taken]), title: "", goal: "" }]);
    requestAnimationFrame(() => fields().at(-1).querySelector("input").focus());
  };
  const change = (i, values) => setDraft(draft.map((s, j) => (i === j ? { ...s, ...values } : s)));
  const move = (i, by) => {
    const list = [...draft];
    [list[i], list[i + by]] = [list[i + by], list[i]];
    setDraft(list);
    requestAnimationFrame(() => fields()[i + by]?.querySelector("[data-act=earlier]:enabled, input:enabled, button:enabled")?.focus()); // what moves loses it
  };
  const take = ({ id, is }) => {
    const list = !is ? draft.filter((s) => s.id !== id) : has(draft, id) ? draft.map((s) => (s.id === id ? is : s)) : placed(draft, is, steps);
    setDraft(list, met.filter((c) => c.id !== id));
    requestAnimationFrame(() => (fields()[list.findIndex((s) => s.id === id)]?.querySelector("input:enabled") ?? form.current.querySelector(".primary")).focus()); // the button is gone
  };
  return html`<form class="stack pad" aria-label="Change the plan" ref=${form} onSubmit=${submit}>${shown.map((s, i) => html`<fieldset class="stack" key=${s.id}><div class="row"><label class="field edge grow"><input value=${s.title} dir="auto" aria-label=${`Title of step ${i + 1}`} disabled=${s.status === "done"} aria-invalid=${isTried && lacks(s) ? "true" : undefined} aria-describedby=${isTried && lacks(s) ? "untitled-" + s.id : undefined} onInput=${(e) => change(i, { title: e.target.value })} /></label>
      <button type="button" class="tool" data-act="earlier" title="Earlier" aria-label=${`Step ${i + 1} earlier`} disabled=${i === 0} onClick=${() => move(i, -1)}>${icon("arrow-up")}</button>${s.status === "done" || s.status === "failed" || s.status === "skipped" ? html`<button type="button" class="ghost sm" onClick=${() => change(i, { again: true })}>Do it again</button>` : null}
      <button type="button" class="tool" title="Leave it out" aria-label=${`Leave out step ${i + 1}`} onClick=${() => setDraft(draft.filter((_, j) => j !== i))}>${icon("x")}</button></div>
      ${isTried && lacks(s) && html`<p class="small bad" role="alert" id=${"untitled-" + s.id}>A step needs a title.</p>`}${s.status !== "done" && html`<label class="field edge tall"><textarea rows="2" dir="auto" aria-label=${`Goal of step ${i + 1}`} value=${s.goal ?? ""} onInput=${(e) => change(i, { goal: e.target.value })}></textarea></label><label class="row top small"><span class="dim">Done when</span><span class="field edge tall grow"><textarea rows="1" dir="auto" aria-label=${`When step ${i + 1} is done`} placeholder="A line for each thing that must hold" value=${s.until ?? ""} onInput=${(e) => change(i, { until: e.target.value })}></textarea></span></label>`}</fieldset>`)}
    ${met.length > 0 && html`<div class="stack small card pad-s met" role="alert"><b>Changed elsewhere while you wrote</b>${met.map((c) => html`<div class="row wrap" key=${c.id}><span class="grow" dir="auto">${becameOf(c)}</span><button type="button" class="sm" onClick=${() => take(c)}>Take that</button></div>`)}<span class="dim">If you save, your words take its place.</span></div>`}
    <div class="row wrap"><button class="primary" disabled=${isSaving}>Save the plan</button><button type="button" onClick=${add}>${icon("plus")}Add a step</button><span class="grow"></span><button type="button" class="ghost" onClick=${close}>Cancel</button></div></form>`;
}

// becameOf says what became of a step elsewhere.
function becameOf({ was, is }) {
  if (!is) return `“${was.title}” was left out.`;
  if (is.title !== was.title) return `“${was.title}” became “${is.title}”.`;
  if (is.goal === was.goal) return `When “${was.title}” is done became “${is.until ?? ""}”.`;
  return `The goal of “${was.title}” became “${is.goal}”.`;
}
