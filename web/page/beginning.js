import { tasksOf } from "./state.js";
import { Face, html, icon, lazy, styled } from "./view.js";

const Trouble = lazy(() => styled(() => import("./trouble.js")), "Trouble");

// Beginning is a conversation in which nothing was said yet.
export function Beginning({ agent, acts }) {
  return html`<div class="flow beginning"><div class="stack">
    <${Face} id=${agent.id} name=${agent.name} size="l" /><h2>${agent.name}</h2><p class="dim">${agent.title}</p><p class="dim small">${agent.description}</p>
    ${agent.broken && html`<${Trouble} code="agent_broken" context=${{ a: agent.name, detail: agent.broken }} />`}
    <div class="does">${tasksOf(agent).slice(0, 6).map((task) => html`<button type="button" key=${task.cmd} title=${task.trigger} onClick=${() => acts.say(task.trigger)}>${icon("file-text")}<span>${task.label}</span></button>`)}</div>
  </div></div>`;
}
