// The agents to choose from, and what each can be told to do.

import { html, useState } from "./view.js";

// Picker shows agents and flows. start begins a conversation, with a first message
// where a command was chosen.
export function Picker({ agents, flows, problem, start, startFlow }) {
  const [words, setWords] = useState("");
  const fits = (...texts) => words.toLowerCase().split(/\s+/).every((word) => texts.join(" ").toLowerCase().includes(word));
  const shown = agents.filter((a) => fits(a.id, a.name, a.title, a.description, a.bundle));
  return html`<div class="page picker">
    <h1>Whom do you want to talk to?</h1>
    ${problem && html`<p class="note" data-level="error" role="alert">${problem}</p>`}
    ${agents.length > 6 && html`<input type="search" aria-label="Find an agent" placeholder="Find an agent" value=${words} onInput=${(e) => setWords(e.target.value)} />`}
    <ul class="cards" aria-label="Agents">
      ${shown.map((agent) => html`<${Card} key=${agent.bundle + "/" + agent.id} agent=${agent} start=${start} />`)}
    </ul>
    ${!problem && agents.length === 0 && html`<p class="note">There are no agents in this project yet. Run <code>troupe init</code> to write some to begin with, or put a bundle into <code>bmad/custom/bundles</code>, then load this page again.</p>`}
    ${agents.length > 0 && shown.length === 0 && html`<p class="note">No agent has these words. Try fewer.</p>`}
    ${flows.length > 0 && html`<h2>Flows</h2><ul class="cards" aria-label="Flows">${flows.map((flow) => html`<${FlowCard} key=${flow.name} flow=${flow} start=${startFlow} />`)}</ul>`}
  </div>`;
}

function Card({ agent, start }) {
  return html`<li class="card">
    <button type="button" class="card-main" onClick=${() => start(agent.id)}>
      <span class="icon" aria-hidden="true">${agent.icon || initial(agent)}</span>
      <span><strong>${agent.name || agent.id}</strong>${agent.title && html`<br /><span class="hint">${agent.title}</span>`}</span>
    </button>
    ${agent.description && html`<p class="hint">${agent.description}</p>`}
    <${Commands} commands=${agent.commands} say=${(text) => start(agent.id, text)} />
  </li>`;
}

// Commands are buttons that say them.
export function Commands({ commands, say }) {
  const [all, setAll] = useState(false);
  const few = all ? commands : commands.slice(0, 6);
  if (!commands.length) return null;
  return html`<ul class="chips" aria-label="Commands">
    ${few.map((c) => html`<li key=${c.cmd}><button type="button" title=${c.description} onClick=${() => say(starred(c.cmd))}>${starred(c.cmd)}</button></li>`)}
    ${few.length < commands.length && html`<li><button type="button" class="quiet" onClick=${() => setAll(true)}>${commands.length - few.length} more</button></li>`}
  </ul>`;
}

const starred = (cmd) => (cmd.startsWith("*") ? cmd : "*" + cmd);
const initial = (agent) => (agent.name || agent.id).slice(0, 1).toUpperCase();

function FlowCard({ flow, start }) {
  const [task, setTask] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (task.trim()) start(flow.name, task.trim());
  };
  return html`<li class="card">
    <strong>${flow.name}</strong>
    ${flow.description && html`<p class="hint">${flow.description}</p>`}
    ${flow.tree && html`<pre class="tree-text" tabindex="0" aria-label=${"Steps of " + flow.name}>${flow.tree}</pre>`}
    <form class="row" onSubmit=${submit}>
      <input aria-label=${"Task for " + flow.name} placeholder="Task" value=${task} onInput=${(e) => setTask(e.target.value)} />
      <button disabled=${!task.trim()}>Run</button>
    </form>
  </li>`;
}
