// What the box for messages offers while something is typed.

import { app, tasksOf } from "./state.js";
import { taskIcon } from "./forms.js";
import { html, icon } from "./view.js";

const asOffer = (task) => ({ key: task.cmd, icon: taskIcon(task.label), label: task.label, detail: [task.about, task.asks && `asks you ${task.asks === 1 ? "once" : `${task.asks} times`}`].filter(Boolean).join(" · "), title: task.trigger, send: task.trigger });

// tasksFor are all that an agent can do.
export const tasksFor = (agent) => tasksOf(agent).map(asOffer);

// offersFor are what a text may become: tasks behind a slash or a star, agents behind
// an at sign, files behind a number sign.
export function offersFor(agent, text, files = []) {
  const task = text.match(/^[/*](\S*)$/)?.[1].toLowerCase();
  if (task !== undefined) {
    return tasksOf(agent).filter((t) => `${t.label} ${t.about} ${t.trigger}`.toLowerCase().includes(task) && t.trigger !== text).slice(0, 10).map(asOffer);
  }
  const [, mark, word] = text.match(/(?:^|\s)([@#])(\S*)$/) ?? [];
  if (mark === "@") {
    return app.agents.filter((a) => `${a.name} ${a.id}`.toLowerCase().includes(word.toLowerCase())).slice(0, 8)
      .map((a) => ({ key: a.id, icon: "user", label: a.name || a.id, detail: a.title, insert: "@" + (a.name || a.id) }));
  }
  if (mark === "#") {
    return files.filter((f) => f.toLowerCase().includes(word.toLowerCase())).slice(0, 8).map((f) => ({ key: f, icon: "file-text", label: f.replace(/[{}]/g, ""), insert: f }));
  }
  return [];
}

// Offers lists them above the box, of which one is chosen. Those of what an agent can do have that
// for a title.
export const Offers = ({ name, title, offers, chosen, take }) => html`<div class="pop offers"><h4>${title ? `What ${name} can do` : "Choose"}</h4><ul id="offers" role="listbox" aria-label=${`What ${name} can do`}>
  ${offers.map((o, i) => html`<li key=${o.key} id=${"offer-" + i} role="option" class="opt" aria-selected=${i === chosen} aria-current=${i === chosen ? "true" : undefined} title=${o.title} onMouseDown=${(e) => (e.preventDefault(), take(o))}>
    ${icon(o.icon)}<div class="grow">${o.label}${o.detail && html`<small>${o.detail}</small>`}</div>${i === chosen && html`<kbd aria-hidden="true">↵</kbd>`}</li>`)}</ul></div>`;
