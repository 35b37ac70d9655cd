// What a step of a flow was given, and a form in which a person changes that and has the
// flow run from there.

import { agentOf, app } from "./state.js";
import { changedInput, fieldsOf, ownWords } from "./handoff.js";
import { html, icon, useState } from "./view.js";

const labelOf = ({ output, label }) => (output === "feedback" ? "To be better" : output ? agentOf(output).name : label);

const shown = (fields, inWords) => fields.filter((f) => f.text).map((f) => html`<div key=${f.id}><dt>${labelOf(f)}</dt><dd dir="auto">${f.json ? html`<pre>${f.text}</pre>` : inWords(f.text)}</dd></div>`);

// Given shows what a run was given, from whom, and whether a person has changed it. inWords says
// a text as people read it.
export function Given({ run, from, edit, inWords = (text) => text }) {
  return html`${run.edited && html`<p class="small row">${icon("pencil", "acc")}<span>Changed by ${run.editedBy && run.editedBy !== app.me.name ? run.editedBy : "you"}</span></p>`}
    <dl class="given">${shown(fieldsOf(run.input), inWords)}${from && html`<div><dt>From</dt><dd>${agentOf(from).name}</dd></div>`}</dl>
    ${edit?.was && html`<details class="part"><summary><span class="grow">What it was before</span></summary><dl class="given">${shown(fieldsOf(edit.was), inWords)}</dl></details>`}`;
}

// Handed is the same in short, below what a step makes of it: from whom it came, and the beginning of
// each part of it.
export function Handed({ run, from, inWords, more }) {
  const isAgain = from === run.agent; // as in a loop
  const names = from ? [from] : Object.keys(run.input?.key_outputs ?? {}).filter((name) => name !== "feedback");
  const list = names.map((name) => agentOf(name).name).join(", ").replace(/, ([^,]*)$/, " and $1");
  const fields = fieldsOf(run.input).filter((f) => f.text).map((f) => ({ ...f, text: (f.id === "task" ? ownWords(f.text) : f.text).slice(0, 300) }));
  return fields.length > 0 && html`<section class="handed"><h3 class="tiny faint">${isAgain ? "From the round before" : list ? "Handed over by " + list : "Was given"}</h3><dl class="given">${shown(fields, inWords)}</dl><button type="button" class="ghost sm" onClick=${more}>All that it was given</button></section>`;
}

// ChangeGiven is the form. send is given what was changed, undefined where nothing was.
export function ChangeGiven({ run, send, close }) {
  const [texts, setTexts] = useState({});
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const { input, wrong } = changedInput(run.input, texts);
  const isWrong = Object.keys(wrong).length > 0;
  // A value is all that is checked against something: what was refused is said below it.
  const refused = failed && input?.value !== undefined && !isWrong ? "value" : "";
  const problemOf = (id) => wrong[id] || (refused === id ? failed : "");
  const submit = async (e) => {
    e.preventDefault();
    if (busy || isWrong) return;
    setBusy(true);
    setFailed("");
    try {
      await send(input);
    } catch (problem) {
      setFailed(problem.message.replace(/^[a-z]/, (letter) => letter.toUpperCase()));
      setBusy(false);
    }
  };
  const rows = (text) => Math.min(14, Math.max(2, text.split("\n").reduce((n, line) => n + 1 + Math.floor(line.length / 46), 0)));
  return html`<form class="change-given" aria-label="Change what it is given" onSubmit=${submit}>
    ${fieldsOf(run.input).map((f, n) => html`<div key=${f.id}><label class="small" for=${"given-" + n}><b>${labelOf(f)}</b></label>
      <div class="field edge tall"><textarea id=${"given-" + n} class=${f.json ? "mono" : ""} rows=${rows(f.text)} value=${texts[f.id] ?? f.text} dir="auto" spellcheck=${!f.json} aria-invalid=${problemOf(f.id) ? "true" : undefined} aria-describedby=${problemOf(f.id) ? `given-${n}-wrong` : undefined} onInput=${(e) => (setFailed(""), setTexts({ ...texts, [f.id]: e.target.value }))}></textarea></div>
      ${problemOf(f.id) && html`<p class="small bad" id=${`given-${n}-wrong`} role=${refused === f.id ? "alert" : undefined}>${problemOf(f.id)}</p>`}</div>`)}
    ${failed && !refused && html`<p class="small bad" role="alert">${failed}</p>`}
    <p class="small dim">In a conversation of its own: what was done before this step is kept, this step and what follows are done again. Files are as they were then, as far as they are on record; the project’s documents are today’s. This conversation stays as it is.</p>
    <div class="row wrap"><button type="submit" class="primary sm" disabled=${busy || isWrong}>${icon("git-branch")}Run from here</button><button type="button" class="ghost sm" onClick=${close}>Cancel</button></div></form>`;
}
