import { tasksOf } from "./state.js";
import { Face, html, icon, lazy, styled } from "./view.js";

const Trouble = lazy(() => styled(() => import("./trouble.js")), "Trouble");

// Beginning is a conversation in which nothing was said yet.
export function Beginning({ agent, acts }) {
  return html`<div class="flow beginning"><div class="stack">
    <${Face} id=${agent.id} name=${agent.name} size="l" /><h2>${agent.name}</h2><p class="dim">${emoji(agent.icon)}${agent.title}</p><p class="dim small">${agent.description}</p>
    ${agent.broken && html`<${Trouble} code="agent_broken" context=${{ a: agent.name, lacks: agent.lacks, detail: agent.broken }} />`}
    <div class="does">${tasksOf(agent).slice(0, 6).map((task) => html`<button type="button" key=${task.cmd} title=${task.trigger} onClick=${() => acts.say(task.trigger)}>${icon("file-text")}<span>${task.label}${task.about && html`<small>${task.about}</small>`}</span></button>`)}</div>
  </div></div>`;
}

// emoji is what the author chose as the agent's sign: shown here alone, for it looks
// different on every machine.
const emoji = (sign = "") => /^\p{Extended_Pictographic}/u.test(sign) && sign.length <= 12 && html`<span class="sign" aria-hidden="true">${sign}</span> `;
