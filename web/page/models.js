// Which model answers, as a control: in a conversation, and before one begins.

import { app, can, toast } from "./state.js";
import { cost, count } from "./format.js";
import { price } from "./forms.js";
import { html, icon, useEffect, useRef, useState } from "./view.js";

export const shortName = (id) => (id ?? "").split("/").slice(1).join("/") || id || "";

// usualModel is the one that answers where nobody has chosen.
export const usualModel = (agent = null) => agent?.model || app.models.find((m) => m.usual)?.id || "";

// choosesModel leads to where a model is chosen, or says who can.
export const choosesModel = () => (app.me.operator && can("settings") ? html`<a class="link" href="#/settings/models">Choose a model</a>` : "Ask whoever runs Troupe.");

// answerCost is about what an answer of a model costs where a request holds so much.
const answerCost = ({ price }, tokens) => (price && tokens > 0 ? (tokens * price.input + usualAnswer * price.output) / 1e6 : 0);

// usualAnswer is how many tokens an answer has, about.
const usualAnswer = 600;

// priceWords is what a model costs, where a request holds so many tokens.
export const priceWords = (model, tokens) => {
  const each = answerCost(model, tokens);
  if (!model.price) return "no price known";
  if (!model.price.input && !model.price.output) return "free";
  return each > 0 ? `about ${cost(each)} an answer` : `${price(model.price.input)} in, ${price(model.price.output)} out, per million tokens`;
};

const about = (model, tokens) =>
  model.reason || [model.id === "rehearsal" ? "No model: only goes through its author’s steps" : model.local ? "On this machine" : model.provider, model.id === "rehearsal" ? "" : priceWords(model, tokens), model.window ? (tokens > model.window * 0.8 ? "too small for this conversation soon" : `holds ${count(model.window)} tokens`) : ""].filter(Boolean).join(" · ");

// rank orders models: the one that answers, the usual one, others, those that cannot be
// used, and playing by rule.
const rank = (m, current) => (m.id === current ? 0 : m.usual ? 1 : m.id === "rehearsal" ? 4 : m.available ? 2 : 3);

// ModelChoice is a button that opens the list of models.
export function ModelChoice({ model, choose, quiet = false, agent = null, answered = "", tokens = 0 }) {
  const [open, setOpen] = useState(false);
  const [always, setAlways] = useState(false);
  const taken = (id) => {
    setOpen(false);
    choose(id);
    if (always) import("./operate.js").then(({ operate }) => operate.changeSettings({ [`agents.${agent.id}.model`]: id })).then(() => toast(`${shortName(id)} answers for ${agent.name} from now on`), (problem) => toast(problem.message));
    setAlways(false);
  };
  const place = useRef(null);
  useEffect(() => {
    if (!open) return;
    const by = document.activeElement; // its own button, or another that has opened it
    place.current?.querySelector(".pop button")?.focus();
    const away = (event) => !place.current?.contains(event.target) && setOpen(false);
    const escape = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      (by?.isConnected && by !== document.body ? by : place.current?.querySelector("button"))?.focus();
    };
    addEventListener("pointerdown", away);
    addEventListener("keydown", escape, true);
    return () => (removeEventListener("pointerdown", away), removeEventListener("keydown", escape, true));
  }, [open]);
  model ||= usualModel();
  if (!model && !app.models.length) return null;
  if (!app.models.length) return html`<span class="chip out" title="The model that answers">${icon("cpu")}${shortName(model)}</span>`;
  return html`<span class="has-pop" ref=${place}><button type="button" class=${quiet ? "ghost sm model" : "sm model"} title=${answered && answered !== model && !model.endsWith("/" + answered) ? `The last answer was by ${answered}` : "Which model answers"} aria-haspopup="true" aria-expanded=${open} onClick=${() => setOpen(!open)}>${icon("cpu")}<span class="cut">${shortName(model) || "Model"}</span>${icon("chevron-down")}</button>
    ${open && html`<div class="pop models" role="group" aria-label="Models"><h4>Who answers in this conversation</h4>
      ${[...app.models].sort((a, b) => rank(a, model) - rank(b, model)).map((m) => html`<button type="button" class="opt" key=${m.id} aria-current=${m.id === model ? "true" : undefined} disabled=${!m.available} onClick=${() => taken(m.id)}>${icon(m.id === model ? "check" : "circle")}<span class="grow">${shortName(m.id)}<small>${about(m, tokens)}</small></span></button>`)}
      ${agent && app.me.operator && can("settings") && html`<div class="row always small"><span class="grow" id="always">Also for ${agent.name} from now on</span><button type="button" class="switch" role="switch" aria-checked=${always} aria-labelledby="always" onClick=${() => setAlways(!always)}></button></div>`}</div>`}</span>`;
}
