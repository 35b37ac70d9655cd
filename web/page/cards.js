// What waits for a person, as cards: a question with its choices, an act that needs a
// yes, a gate of a delivery. Answered, a card is one line.

import { json } from "./format.js";
import { doing, orders } from "./words.js";
import { html, icon, useState } from "./view.js";
import { Prose } from "./prose.js";

// order says what a call would do, as one asks for it: "Save brief.md".
const order = (tool, args) => doing(tool, args).replace(/^\w+/, (word) => orders[word] ?? word);

export function Question({ item, agent, acts, id }) {
  const kind = item.ask.kind;
  if (!item.open) return html`<div class="acts answered">${icon("circle-check")}<span>${settled(kind, item, agent)}</span></div>`;
  if (kind === "gate") return html`<${GateLink} item=${item} id=${id} />`;
  return kind === "approval" ? html`<${Approval} item=${item} agent=${agent} acts=${acts} />` : html`<${Choices} item=${item} agent=${agent} acts=${acts} />`;
}

function settled(kind, item, agent) {
  const yes = /^(yes|y|ok|go on)\b/i.test(item.answer);
  if (kind === "approval") return html`${yes ? "You allowed" : "You did not allow"} ${agent.name}: <b>${doing(item.tool, item.arguments, true)}</b>`;
  if (kind === "gate") return html`You decided: <b>${item.answer || "go on"}</b>`;
  return html`${agent.name} asked, you answered${item.answer && html`: <b>${item.answer.slice(0, 120)}</b>`}`;
}

// Choices asks something. The choices are the question's own.
function Choices({ item, agent, acts }) {
  const choices = item.ask.choices ?? [];
  const [chosen, setChosen] = useState(-1);
  const [text, setText] = useState("");
  const own = chosen === choices.length || choices.length === 0;
  const submit = (event) => {
    event?.preventDefault();
    const answer = own ? text.trim() : choices[chosen]?.label;
    if (answer) acts.answer(item, own ? { text: answer } : { choice: answer });
  };
  const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  const question = choices.length ? item.question.split("\n").filter((line) => !choices.some((c) => line.replace(/[*`]/g, "").includes(c.label))).join("\n") : item.question;
  return html`<form class="needs" aria-label="Question" onSubmit=${submit} onKeyDown=${keys}><header>${icon("message-circle-question-mark")}${agent.name} needs your answer to go on</header><div>
    <${Prose} text=${question} />
    ${choices.length > 0 && html`<fieldset class="choice"><legend class="hidden">Your answer</legend>
      ${choices.map((choice, i) => html`<label key=${i}><input type="radio" name=${"q" + item.key} checked=${chosen === i} onChange=${() => setChosen(i)} /><span>${choice.label}${choice.description && html`<small>${choice.description}</small>`}</span></label>`)}
      <label><input type="radio" name=${"q" + item.key} checked=${chosen === choices.length} onChange=${() => setChosen(choices.length)} /><span>Something else…<small>Say it in your own words.</small></span></label></fieldset>`}
    ${own && (choices.length === 0 || chosen === choices.length) && html`<label class="field edge tall"><span class="hidden">Your answer in words</span><textarea rows="2" aria-label="Your answer in words" value=${text} dir="auto" onInput=${(e) => setText(e.target.value)}></textarea></label>`}
    <div class="row wrap end"><button class="primary" disabled=${own ? !text.trim() : chosen < 0}>Answer</button>
      <button type="button" class="ghost" onClick=${() => acts.answer(item, { text: "You decide." })}>Let ${agent.name} decide</button></div></div></form>`;
}

// Approval asks before something is done. What exactly is sent can be seen before the
// answer, character by character.
function Approval({ item, agent, acts }) {
  const [why, setWhy] = useState("");
  return html`<section class="needs" aria-label="Approval"><header>${icon("shield-check")}${agent.name} asks before doing this</header><div>
    <div><h3>${order(item.tool, item.arguments)}?</h3><p class="small dim">${agent.name} wants to use <b>${item.tool.replace(/[_-]+/g, " ")}</b>. It is done exactly as shown below, or not at all.</p></div>
    <details class="exact-sent"><summary class="btn ghost sm">${icon("chevron-right", "chev")}Show exactly what is sent</summary><pre tabindex="0" aria-label="Exact arguments">${json(item.arguments)}</pre></details>
    <label class="field"><span class="hidden">Why not, or what instead</span><input value=${why} placeholder="If not: why, or what instead" aria-label="Why not, or what instead" onInput=${(e) => setWhy(e.target.value)} /></label>
    <div class="row wrap end"><button type="button" class="primary" onClick=${() => acts.answer(item, { allow: "once" })}>Allow once</button>
      <button type="button" onClick=${() => acts.answer(item, { allow: "session" })}>Allow in this conversation</button>
      <button type="button" class="ghost danger" onClick=${() => acts.answer(item, { allow: "no", ...(why.trim() && { text: why.trim() }) })}>Do not allow</button></div></div></section>`;
}

function GateLink({ item, id }) {
  return html`<section class="needs" aria-label="Gate"><header>${icon("hand")}A delivery waits for your decision</header><div>
    <${Prose} text=${item.question} /><div class="row end"><a class="btn primary" href=${`#/s/${id}/delivery`}>${icon("scan-search")}Look and decide</a></div></div></section>`;
}
