// The catalogue of what can go wrong, by its code: what happened, what it means, what
// to do. The provider's own words are folded below.

import { brokenWords } from "./broken.js";
import { copy } from "./copy.js";
import { hour, money, nameOf, size } from "./format.js";
import { address, go } from "./route.js";
import { agentOf, app, castOf, isFlow, pipeline } from "./state.js";
import { isTried, triedModel } from "./tries.js";
import { html, icon, useEffect, useRef, useState } from "./view.js";

const providers = { __proto__: null, openai: "OpenAI", anthropic: "Anthropic", gemini: "Google", openrouter: "OpenRouter", xai: "xAI", deepseek: "DeepSeek", mistral: "Mistral", ollama: "Ollama", groq: "Groq" };

const services = Object.keys(providers).filter((name) => name !== "ollama"); // which have addresses of their own

// providerOf is what people call the provider of a model.
const providerOf = (model = "") => (model.includes("/") ? (providers[model.split("/")[0]] ?? model.split("/")[0]) : "The provider");

// isCast says that several agents work on this, each with its own model.
const isCast = (acts) => castOf(app.flows.find((f) => f.name === acts.agent)).length > 1;

// hasOther says whether another model could answer here, and there must be one: a conversation
// may choose one, and whoever may change the settings one for an agent of a flow. A delivery may not.
const hasOther = (acts) => !!acts.chooseModel && acts.agent !== pipeline && (isCast(acts) ? mayChoose() : app.models.some((m) => m.available && m.id !== "rehearsal" && m.id !== acts.model?.()));
const mayChoose = () => app.me.operator && app.models.filter((m) => m.available && m.id !== "rehearsal").length > 1;
const choose = (acts, { by } = {}) => (isCast(acts) ? () => go(address(["settings", "agents", by])) : acts.chooseModel);
const other = (acts, c = {}) => hasOther(acts) && ["Use another model" + (c.by && isCast(acts) ? ` for ${agentOf(c.by).name}` : ""), choose(acts, c)];
const orOther = (acts, words) => (hasOther(acts) ? words : "");
const setUp = () => app.me.operator && ["Set up a model", () => { location.hash = "#/settings/models"; }];

// withoutOther leaves the advice out to use another model, where there is none.
export const withoutOther = (text) => text.replace(/(;|,)? (or (use|choose)|best with) (another model|a model that writes longer answers)(?=[.,;])/g, "").replace(/^(Use|Choose) another model, or (\w)/, (_, verb, letter) => letter.toUpperCase());
const again = (acts) => acts.resume && ["Try again", acts.resume];
const onward = (acts) => acts.resume && ["Go on", acts.resume];

// cutBy says of a run that counts as cancelled how that came where nobody wished it: its process died
// (interrupted), or the conversation was forked in the middle of it.
const cutBy = ({ reason }, how) => reason?.startsWith(how);

// An agent whose answer broke off has what it said of it before its eyes with the next
// message, and can go on with it. A flow or a delivery is told nothing: it takes up what it
// was doing, and asks its agent for the whole answer.
const goesOn = (acts, { half }) => half && acts.say && acts.agent !== pipeline && !isFlow(acts.agent);
const sofar = (c, acts) => (!c.half ? "" : " What was said so far is above." + (goesOn(acts, c) ? " Go on from there, or have this answer begun anew." : acts.resume ? " Going on has this answer written again from its beginning; what was done for it stays done." : ""));
const beginAgain = (name) => (acts, c) => (goesOn(acts, c) ? [["Go on from here", () => acts.say("Go on where your answer broke off, without repeating it.")], acts.resume && ["Begin it anew", acts.resume]] : [acts.resume && [name, acts.resume]]);
const often = (n) => (n > 1 ? `, ${["twice", "three times", "four times", "five times"][n - 2] ?? `${n} times`}` : "");
const operator = "Ask whoever runs Troupe.";

// advised is what a delivery advises. Its agents have their models by the settings: whoever may
// change those is led there, if there is another model.
export function advised(text) {
  const isPossible = mayChoose();
  return isPossible && withoutOther(text) !== text ? html`${text} <a class="link" href="#/settings/models">Choose a model</a>` : isPossible ? text : withoutOther(text);
}

// limitOf reads how much a limit is, where the run or its error said so: [number, unit, time].
const limitOf = ({ limit, detail }) => (`${limit} ${detail}`.match(/([\d.]+) (turns?|tool calls?|tokens|US dollars) of this run|[Tt]he (\S+) of this run are over/) ?? []).slice(1);

// limitTitle names a limit, and how much it is where the run said so.
const limitTitle = (what) => (c) => {
  const [number, unit, time] = limitOf(c);
  return `The limit of ${unit === "US dollars" ? money(Number(number)) : number ? `${Number(number).toLocaleString("en")} ${unit}` : time || what} is reached`;
};
const limitText = (c) => `${c.a} stopped. What is done is saved${c.saved ? (c.saved.version ? ` as version ${c.saved.version} of ${nameOf(c.saved.path)}` : ` in ${nameOf(c.saved.path)}`) : ""}.`;

// further offers to go on as far again, and to leave it. What goes on in a conversation is an answer
// of its own; a delivery says how far it then goes in all.
const further = (acts, c) => {
  const [number, unit] = limitOf(c);
  const to = unit !== "US dollars" ? (number ? `, with another ${Number(number).toLocaleString("en")} ${unit.replace(/s?$/, Number(number) === 1 ? "" : "s")}` : "") : acts.further ? ` to ${money(acts.further.to)}` : `, with another ${money(Number(number))}`;
  const act = acts.further?.act ?? (acts.say && (() => acts.say("Go on.")));
  return [act && [`Go on${to}`, act], act && ["Leave it", leave]];
};
const leave = "leave"; // folds the card

// moment is the hour of a time to come, with its day where that is not today.
const moment = (time) => (new Date(time).toDateString() === new Date().toDateString() ? "" : `${new Date(time).toLocaleDateString([], { weekday: "long" })}, `) + hour(time);

// bytesOf is how large an attachment of a message is.
const bytesOf = ({ size, data = "" }) => size ?? Math.floor(data.replace(/=+$/, "").length * 0.75);

// attached names what a message came with, the largest first.
const attached = (parts = []) => (parts.length ? [...parts].sort((a, b) => bytesOf(b) - bytesOf(a)).map((p) => `${p.name || p.mime}, ${size(bytesOf(p))}`).join("; ") + ". " : "");

// Each: [icon, title, text, acts, look]. It gets { p: provider, a: agent, ... }.
const catalogue = {
  __proto__: null, // names come from outside
  key_refused: ["key-round", (c) => `${c.p} did not accept the key`, () => `Nothing was lost. The key may be mistyped or withdrawn.${app.me.operator ? "" : " " + operator}`,
    (acts, c) => [app.me.operator && ["Replace the key", () => { location.hash = "#/settings/models"; }], other(acts, c), again(acts)]],
  rate_limited: ["clock", (c) => `${c.p} asks us to slow down`, (c) => `Too many requests in a short time${c.until > Date.now() ? `; it can be asked again at ${moment(c.until)}` : ""}. Your question is kept.`, (acts, c) => [again(acts), other(acts, c)], "soft"],
  quota_spent: ["coins", (c) => `The account at ${c.p} has no credit left`, (c, acts) => `Your question is kept. ${app.me.operator ? `Top up the account${orOther(acts, ", or use another model")}.` : operator}`, (acts, c) => [other(acts, c), again(acts)]],
  provider_down: ["server", (c) => `${c.p} has a problem`, (c, acts) => `It gave no answer. Your question is kept.${sofar(c, acts)}`, (acts, c) => [...beginAgain("Try again")(acts, c), other(acts, c)]],
  model_unknown: ["cpu", (c) => `${c.p} has no model of this name any more`, (c, acts) => (hasOther(acts) ? "Choose another one, and go on where it stopped." : `No other one can be chosen here. ${app.me.operator ? "Set one up, and go on where it stopped." : operator}`),
    (acts, c) => [hasOther(acts) ? ["Choose another", choose(acts, c)] : setUp(), (!hasOther(acts) || isCast(acts)) && again(acts)]],
  answer_cut: ["zap", (c) => `${c.problem?.code === "timeout" && !c.half ? "The model did not answer in time" : "The answer broke off"}${often(c.tries)}`, (c, acts) => `${c.problem?.code === "timeout" ? "Nothing more came from the model, and the connection to it was ended." : "The connection to the model ended in the middle of the answer."} Nothing half-written was saved as a file.${sofar(c, acts)}`, beginAgain("Ask again")],
  answer_too_long: ["layers", () => "The answer reached the model’s limit", () => "What there is of it is above.", (acts) => [acts.say && ["Go on", () => acts.say("Go on.")]], "soft"],
  context_full: ["layers", () => "The conversation got too long for the model", (c, acts) => (c.dropped ? `The first ${c.dropped} messages were summed up to make room.` : hasOther(acts) ? "A model that holds more can go on." : "Begin a new conversation with what matters of this one."),
    (acts, c) => [other(acts, c)], "soft"],
  request_too_large: ["paperclip", (c) => (c.parts?.length ? "The attachments are too large for the model" : "This is too large for the model"), (c, acts) => (c.parts?.length ? `${attached(c.parts)}Drop some of them${orOther(acts, ", or use a model that takes more")}.` : `Say it in fewer words, ${hasOther(acts) ? "begin a new conversation, or use a model that takes more" : "or begin a new conversation"}.`),
    (acts, { parts, by }) => [acts.drop && parts?.length > 0 && [parts.length === 1 ? `Send it without ${parts[0].name || "the attachment"}` : `Send it without the ${parts.length} attachments`, acts.drop], acts.anew && ["Edit the message", acts.anew], other(acts, { by })]],
  declined: ["circle-alert", (c) => `The model declined to answer, or ${c.p} withheld the rest`, () => "Saying it in other words may help.", (acts, c) => [acts.anew && ["Rephrase", acts.anew], other(acts, c)], "soft"],
  empty: ["circle-alert", () => "The model said nothing", (c, acts) => `Ask again, perhaps in other words${orOther(acts, ", or use another model")}.`, (acts, c) => [acts.again && ["Ask again", acts.again], acts.anew && ["Rephrase", acts.anew], other(acts, c)], "soft"],
  limit_cost: ["coins", limitTitle("cost"), limitText, further, "spot"],
  cost_exceeded: ["coins", () => "This cost more than it may", () => "A limit is checked between answers, and one answer went past it.", () => [], "soft"],
  limit_time: ["timer", limitTitle("time"), limitText, (acts) => [onward(acts) || (acts.say && ["Go on", () => acts.say("Go on.")]), ["Leave it", leave]], "spot"],
  limit_turns: ["repeat", limitTitle("turns"), limitText, further, "spot"],
  limit_tokens: ["gauge", limitTitle("tokens"), limitText, further, "spot"],
  limit_handoffs: ["repeat", () => "The work was handed over as often as it may be", (c) => `${c.a} was stopped there. What is done is kept. Say below who is to do what.`, () => [], "soft"],
  repeating: ["repeat", (c) => `${c.a} did the same thing over and over and was stopped`, () => "Say below what to do instead.", () => [], "soft"],
  tool_server_down: ["plug", (c) => (c.server ? `The tools of ${c.server} are not there now` : "Some tools are not there now"), (c) => `${c.a} went on without them.`, () => [app.me.operator && ["Settings", () => { location.hash = "#/settings/mcp"; }]], "soft"],
  agent_broken: ["circle-alert", (c) => `${c.a} cannot start`, (c) => brokenWords(c.lacks), () => [app.me.operator && ["See where", () => { location.hash = "#/settings/agents"; }]]],
  interrupted: ["power", () => "Troupe was restarted in the middle of this", (c) => `What was finished ${c.until ? `by ${c.until}` : "before"} is on record. What was being written then begins again if it goes on; no tool is used twice.`, (acts) => [onward(acts)], "soft"],
  cancelled: ["circle-pause", (c) => (cutBy(c, "interrupted") ? "Troupe was restarted in the middle of this" : cutBy(c, "forked") ? "This is not finished" : "Stopped"), (c, acts) => cutBy(c, "interrupted") ? "What was finished before that is on record; what was being written then is not." : c.delivers ? "Every step that was finished is kept. Going on begins with what was being worked on." : sofar(c, acts).trim() || "What was done so far is kept.", beginAgain("Go on"), "soft"],
  delivery_stopped: ["circle-alert", () => "The delivery could not go on", () => "Every step that was finished is kept. Below is what stopped it: once that is put right, it goes on from there.", (acts) => [onward(acts)]],
  signed_out: ["lock", () => "You are signed out", () => "What you have typed is kept in this tab.", () => []],
  file_gone: ["file-text", () => "There is no such file any more", () => "It was deleted, or the version was not kept.", () => [], "soft"],
  gone: ["trash", () => "This conversation is not here any more", () => "It was deleted, or it is somebody else’s.", () => [["Home", () => { location.hash = "#/"; }]], "soft"],
  busy: ["clock", () => "Too much at once", () => "It goes on by itself in a moment.", (acts) => [again(acts)], "soft"],
  offline: ["wifi-off", () => "Troupe cannot be reached", () => "What you type is kept.", () => [], "soft"],
};

const otherwise = ["circle-alert", () => "Something went wrong that we have no words for", () => "Nothing that was said is lost.", (acts, c) => [again(acts), other(acts, c)]];

// addressSetting is where a remedy names the setting of a provider's address. Those of servers
// of one's own are changed on the page.
const addressSetting = /\bbase_url of the provider in troupe\.yaml(,? or (in )?the variable it comes from)?/;
const hasAddress = (acts, next) => app.me.operator && addressSetting.test(next) && !services.includes((acts.model?.() ?? "").split("/")[0]);
const onPage = (acts, next) => (hasAddress(acts, next) ? next.replace(addressSetting, "the server’s address") : next).replace(doctor, (tries) => (tries.startsWith(";") ? ". Then test it under Settings, Models and keys." : "Test the provider under Settings, Models and keys."));

// doctor is where a remedy names the command that tries a provider, which the page has a button for.
const doctor = /;? ?troupe doctor tries (the provider; its quirks can be set in troupe\.yaml|it)\./;

// spoken is the card of a failure that only the server has words for.
const spoken = ({ code, sentence, next = "" }) => ["circle-alert", (c) => sentence.replace(/\.$/, "").replace(/^The provider\b/, c.p), (c, acts) => (app.me.operator ? onPage(acts, hasOther(acts) ? next : withoutOther(next)) : operator),
  (acts, c) => [hasAddress(acts, next) ? ["Change the address", () => { location.hash = "#/settings/models"; }] : app.me.operator && (doctor.test(next) || apart.includes(code)) && ["Test the provider", () => { location.hash = "#/settings/models"; }], again(acts), other(acts, c)]];

// apart are the failures that are one to people and several to whoever can mend them.
const apart = ["unreachable", "certificate"];

function cardOf(code, problem) {
  if (problem && (!(code in catalogue) || (apart.includes(problem.code) && app.me.operator))) return spoken(problem);
  return catalogue[code] ?? otherwise;
}

export const knows = (code) => code in catalogue;

// headline is the first line of a card, for lists and screen readers.
export const headline = (code, context = {}) => (catalogue[code] ?? otherwise)[1](filled(context));

// inShort is why something failed, in a line, "" where there are no words for it.
export const inShort = (cause) => (knows(cause?.code) ? headline(cause.code) : cause?.problem?.sentence ?? "");

const filled = (context) => ({ p: "The provider", a: "The agent", ...Object.fromEntries(Object.entries(context).filter(([, value]) => value)) });

// elsewhere says where a conversation is that is not around the card.
const elsewhere = (text) => text.replace(/\b(is) above\b|\b(Say) below\b/g, (_, is, say) => `${is ?? say} in the conversation`);

// Trouble is the card of something that went wrong. context is { p, a, detail, ... };
// acts are what can be done here.
export function Trouble({ code, context = {}, acts = {} }) {
  const [drawing, title, text, offers, look = ""] = cardOf(code, context.problem);
  const values = filled({ p: providerOf(context.model || acts.model?.()), half: !!context.partial, ...context, ...(context.by && { a: agentOf(context.by).name }) });
  const buttons = offers(acts, values).filter(Boolean);
  const [copied, setCopied] = useState(false);
  const [isLeft, setLeft] = useState(false);
  const pressed = useRef(-Infinity); // the second click of a double click does nothing
  const once = (act) => () => performance.now() - pressed.current > 1000 && ((pressed.current = performance.now()), act());
  const copyDetails = () => copy(`${code || "unknown"}\n${values.detail ?? ""}`, "").then(setCopied);
  if (isLeft) return html`<div class="acts">${icon(drawing)}<span>${title(values)}</span></div>`;
  return html`<div class=${"trouble " + look} role=${look ? undefined : "alert"}>
    ${icon(drawing)}<b>${title(values)}</b>
    <p>${values.elsewhere ? elsewhere(text(values, acts)) : text(values, acts)}</p>
    ${buttons.length > 0 && html`<div class="row wrap">${buttons.map(([name, act], i) => html`<button type="button" key=${name} class=${i === 0 && (look !== "soft" || code === "interrupted") ? "primary sm" : "sm"} onClick=${once(act === leave ? () => setLeft(true) : act)}>${name}</button>`)}</div>`}
    ${values.detail && html`<details open=${!(code in catalogue) && !context.problem}><summary>${icon("chevron-right", "chev")}${code === "context_full" ? "Read the summary" : "What exactly was said"}</summary><pre tabindex="0">${values.detail}</pre>
      <button type="button" class="ghost sm" onClick=${copyDetails}>${icon("copy")}${copied ? "Copied" : "Copy details"}</button></details>`}
  </div>`;
}

// Retry is the one line of a series of tries: it counts, and the outcome replaces it. Where nobody
// makes the next try there is none.
export function Retry({ item, acts }) {
  const [, tick] = useState(0);
  const left = Math.max(0, Math.ceil((Date.parse(item.time) + item.wait - Date.now()) / 1000));
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  if (!isTried(item, acts.session())) return null;
  return html`<div class="acts retry">${icon("loader-circle", "spin")}<span>${headline(item.code, { p: providerOf(triedModel(item, acts.session()) || acts.model?.()) })}. ${left > 0 ? `Going on by itself in ${left} s` : "Trying again"}, try ${item.attempt + 1}${item.attempt < app.me.model_tries ? ` of ${app.me.model_tries}` : ""}.</span>
    <button type="button" class="sm" disabled=${left <= 1} onClick=${acts.hurry}>Try now</button><button type="button" class="ghost sm" onClick=${acts.stop}>Stop</button></div>`;
}
