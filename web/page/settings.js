// Settings: what troupe.yaml and .env say, for operators; what this browser does, for
// everybody.

import { amount, spell, wholeNumber } from "./amount.js";
import { api, sentence } from "./api.js";
import { bundleName } from "./home.js";
import { operate } from "./operate.js";
import { leave } from "./signin.js";
import { copy } from "./copy.js";
import { agentOf, app, can, dismiss, toast } from "./state.js";
import { Lines } from "./changes.js";
import { setTheme } from "./theme.js";
import { kept, keep } from "./kept.js";
import { capital, count, cost, day, hour, money, nameOf, size } from "./format.js";
import { duration, pathWords, price, visible } from "./forms.js";
import { shortName } from "./models.js";
import { useRoute } from "./route.js";
import { RemovePerson, RemoveProvider, RemoveToolServer } from "./remove.js";
import { Trouble } from "./trouble.js";
import { Bones, Face, html, icon, useCalm, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

const sections = [["models", "cpu", "Models and keys"], ["agents", "users", "Agents"], ["mcp", "plug", "Tool servers"], ["skills", "book-open", "Skills"], ["limits", "gauge", "Limits"], ["people", "user", "People"], ["look", "sun", "This page"], ["about", "info", "About"]];
const everybody = ["look", "about"];
// parts are what sections are there for, where a server need not have it.
const parts = { __proto__: null, models: "settings", limits: "settings", mcp: "mcp", skills: "skills" };
const isThere = ([name]) => !parts[name] || can(parts[name]);

export function Settings({ section }) {
  const nav = useRef(null);
  const here = sections.filter(isThere), mine = here.filter(([name]) => app.me.operator || everybody.includes(name));
  const isRefused = !app.me.operator && here.some(([name]) => name === section) && !everybody.includes(section);
  const shown = mine.some(([name]) => name === section) ? section : "look";
  useEffect(() => nav.current.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [shown]); // on a phone they are in a row
  const ways = useWays();
  const View = { models: ModelSettings, agents: AgentSettings, mcp: ToolServerSettings, skills: SkillSettings, limits: LimitSettings, people: PeopleSettings, look: LookSettings, about: AboutSettings }[shown];
  return html`<div class="bar"><h1 class="h-20">Settings</h1><span class="grow"></span>${app.me.operator && can("settings") && html`<span class="small faint desk-only">Kept in troupe.yaml; keys in .env, readable by the server only</span>`}</div>
    <div class="page"><div class="in set"><nav ref=${nav} aria-label="Settings">${mine.map(([name, drawing, words]) => html`<a href=${"#/settings/" + name} key=${name} aria-current=${name === shown ? "page" : undefined}>${icon(drawing)}${words}</a>`)}</nav><div key=${shown}>${isRefused && html`<p class="card pad dim lead-in" role="status">${icon("lock")} ${sections.find(([name]) => name === section)[2]} is for whoever runs Troupe${ways?.code && html`, who is named under <code>server.operators</code> in <code>troupe.yaml</code>`}. You are not among them.</p>`}<${View} /></div></div></div>`;
}

// useWays is how people come in, null until that is known: with a code, or in the way of the program
// or the proxy that signs them in.
function useWays() {
  const [ways, setWays] = useState(null);
  useEffect(() => void operate.ways().then(setWays, () => setWays({ code: true })), []);
  return ways;
}

// useLoaded is what a request answers, asked again when something has changed. What was asked for
// before is not heeded, nor what was asked for before something newer was set.
function useLoaded(load, ...changed) {
  const [state, setState] = useState({ value: null, problem: null });
  const [turn, setTurn] = useState(0);
  const asked = useRef(0);
  useEffect(() => {
    const mine = ++asked.current, take = (next) => mine === asked.current && setState(next);
    load().then((value) => take({ value, problem: null }), (problem) => take({ value: null, problem }));
    return () => void asked.current++;
  }, [turn, app.configured, ...changed]);
  const again = () => setTurn((n) => n + 1);
  const set = (value) => (asked.current++, setState({ value, problem: null }), again());
  return [useCalm(state.value), state.problem, again, set];
}

// useRefusal is why something was refused, { code, … }. What only a mistake in troupe.yaml is in
// the way of is not refused any more when that is mended.
function useRefusal() {
  const [refused, setRefused] = useState(null);
  useEffect(() => {
    if (!app.me.mistake) setRefused((r) => (r?.code === "mistake" ? null : r));
  }, [app.me.mistake]);
  return [refused, setRefused];
}

const Head = ({ title, text }) => html`<h2 class="h-26">${title}</h2><p class="dim lead-in">${text}</p>`;

function Missing({ problem, what }) {
  return problem.code === "absent" ? html`<p class="dim">This server does not let the page change ${what}. Edit <code>troupe.yaml</code> and start it anew.</p>` : html`<${Trouble} code=${problem.code} context=${{ detail: problem.message }} />`;
}

// asWritten is a value as people write it, which matters for times and for cents.
const asWritten = (value = "") => value.replace(/^\d+\.\d$/, "$&0").replace(/^(\d.*[hm])0s$/, "$1").replace(/^(\d+h)0m$/, "$1");

// SettingRow is a setting with a field that saves when it is left. What is being written
// stays, though somebody else changes the setting meanwhile: whoever saves it is told then.
// What was refused, and left so, gives way to what holds once the reason is gone or somebody
// has set another value. read makes a value for the server of what was written.
function SettingRow({ setting, title, text, save, unit = "", read = unit ? amount : wholeNumber, type = "text" }) {
  const [value, setValue] = useState(asWritten(setting?.value));
  const [refused, setRefused] = useRefusal(); // { value, why, code }
  const seen = useRef(setting?.value ?? ""), now = useRef(""), field = useRef(null), send = useRef(null), saved = useRef(Promise.resolve()), own = useRef(null);
  now.current = setting?.value ?? "";
  const typed = () => field.current?.value ?? value; // somebody may have gone on writing since this was drawn
  const isWritten = () => ![seen.current, asWritten(seen.current)].includes(typed().trim());
  const take = () => (setValue(asWritten(now.current)), setRefused(null), (seen.current = now.current));
  const isWrong = refused?.value === value, isLeft = () => refused?.value === typed() && document.activeElement !== field.current;
  useEffect(() => {
    const isOwn = [seen.current, own.current].includes(now.current); // saved here, by whoever has written on
    if (!isWritten() || (isLeft() && !isOwn)) take();
  }, [setting?.value]);
  useEffect(() => {
    if (!app.me.mistake && refused?.code === "mistake" && isLeft()) take();
  }, [app.me.mistake]);
  if (!setting) return null;
  send.current = async () => {
    const words = typed(), isRefused = refused?.value === words;
    if (isRefused && now.current !== seen.current) return take();
    if (!isWritten()) return setValue(asWritten(words.trim()));
    if (isRefused && refused.code !== "mistake") return;
    const { value: sent, wrong } = read(words);
    if (wrong) return setRefused({ value: words, why: wrong });
    own.current = sent;
    const { next, trouble } = await save({ [setting.key]: sent }, { [setting.key]: seen.current }, true);
    own.current = null;
    if (trouble?.code === "stale") take();
    else if (!trouble) {
      seen.current = find(next, setting.key)?.value ?? ""; // which may be another text than was written
      setValue((written) => (written === words ? asWritten(seen.current) : written));
    }
    setRefused(trouble && trouble.code !== "stale" ? { value: words, code: trouble.code, why: trouble.message.replace(`“${sent}”`, `“${words.trim()}”`) } : null);
  };
  // Enter and leaving the field both save: one after the other, each what stands there by then.
  const done = () => (saved.current = saved.current.then(() => send.current()));
  const reason = setting.key.replace(/\W/g, "-") + "-wrong";
  return html`<div><div><b>${title}</b><p>${text}${setting.locked && html` <span class="faint">${icon("lock")} ${setting.locked}</span>`}</p></div><label class="field edge narrow">${unit && html`<span class="faint" aria-hidden="true">${unit}</span>`}<input ref=${field} type=${type} aria-label=${title} value=${value} placeholder=${asWritten(setting.usual) || "none"} disabled=${!!setting.locked} aria-invalid=${isWrong || undefined} aria-describedby=${isWrong ? reason : undefined} onInput=${(e) => setValue(e.target.value)} onBlur=${done} onKeyDown=${(e) => e.key === "Enter" && done()} /></label>${isWrong && html`<p class="bad small key-form" role="alert" id=${reason}>${refused.why}</p>`}</div>`;
}

const find = (settings, key) => settings?.settings.find((s) => s.key === key);

function useSettings() {
  const [settings, problem, again, set] = useLoaded(operate.settings);
  const said = useRef(null);
  // The next section has nothing to do with it.
  useEffect(() => () => said.current && dismiss(said.current), []);
  // was is what the page shows: what somebody else has changed since is not overwritten.
  // isSaidThere says that whoever saves shows at the field itself what is wrong with it. It
  // resolves to { next } settings, or to { trouble }.
  const save = (values, was = Object.fromEntries(Object.keys(values).map((key) => [key, find(settings, key)?.value ?? ""])), isSaidThere = false) => operate.changeSettings(values, was).then((next) => {
    set(next);
    said.current = toast("Saved in troupe.yaml");
    return { next };
  }, (trouble) => ((isSaidThere && trouble.code !== "stale") || toast(trouble.message), again(), { trouble }));
  return { settings, problem, save, again };
}

// gives has an element take the focus, where what had it is gone: nothing has it then, or the headline.
const gives = (id) => requestAnimationFrame(() => document.activeElement.matches("body, h1") && document.getElementById(id)?.focus());

// onEscape closes a form.
const onEscape = (close) => (event) => event.key === "Escape" && (event.preventDefault(), close());

function ModelSettings() {
  const { settings, problem, save, again } = useSettings();
  const [tested, setTested] = useState(new Map());
  const [keyOf, chooseKeyOf] = useState("");
  const [keyWrong, setKeyWrong] = useRefusal();
  const setKeyOf = (name) => (setKeyWrong(null), chooseKeyOf(name));
  const [added, setAdded] = useState("");
  const [addressOf, setAddressOf] = useState(null); // a provider's name, "" for a new server
  const [leaving, setLeaving] = useState(null); // a provider that is to be removed
  const [offered, setOffered] = useState(null); // { name, models } of a provider, while no model is chosen
  useEffect(() => { // the field has the focus for as long as it is there, and gives it back
    if (!keyOf) return;
    document.querySelector(".key-form input[name=key]")?.focus();
    return () => gives("key-of-" + keyOf);
  }, [keyOf]);
  if (problem) return html`<${Head} title="Models and keys" text="" /><${Missing} problem=${problem} what="models and keys" /><${Prices} />`;
  if (!settings) return html`<${Bones} />`;
  const usual = find(settings, "model");
  const shown = settings.providers.filter((p) => p.set_up || p.name === added || tested.has(p.name));
  const others = settings.providers.filter((p) => !shown.includes(p));
  const test = async (name) => {
    setTested((t) => new Map(t).set(name, { state: "testing" }));
    const result = await operate.testProvider(name).catch((trouble) => ({ state: "failed", detail: trouble.message }));
    setTested((t) => new Map(t).set(name, result));
    return result;
  };
  const choose = async (model, was) => {
    setOffered(null);
    const { next } = await save({ model }, { model: was });
    if (next) toast(`${shortName(model)} answers from now on.`);
  };
  // Whoever has set up a first provider that answers goes on to the model that does: to the only
  // one, or to a choice.
  const goOn = async (name, { state }) => {
    if (!isUnchosen(usual) || state !== "answers") return;
    const [now, models] = await Promise.all([operate.settings(), api.models()]).catch(() => []);
    const { value = "", usual: chosen } = find(now, "model") ?? {}, fitting = fittingOf(models ?? [], name);
    if (!isUnchosen(find(now, "model"))) return chosen && !value && toast(`${shortName(chosen)} answers from now on.`);
    if (fitting.length === 1 && !value) choose(fitting[0].id, value);
    else if (fitting.length) setOffered({ name, models: fitting, was: value });
  };
  const setKey = async (event) => {
    event.preventDefault();
    setKeyWrong(null);
    try {
      await operate.setKey(keyOf, new FormData(event.target).get("key").trim());
      toast("The key is kept. It is never shown again.");
      const name = keyOf;
      setKeyOf("");
      again();
      test(name).then((result) => goOn(name, result));
    } catch (trouble) {
      setKeyWrong(trouble);
    }
  };
  const setAddress = async (name, address, key) => {
    const result = await operate.setAddress(name, address, key);
    setAddressOf(null);
    setAdded(name);
    setTested((t) => new Map(t).set(name, result));
    again();
    goOn(name, result);
  };
  const removed = () => {
    toast(`${leaving.title || leaving.name} is removed`);
    setTested((t) => (t = new Map(t), t.delete(leaving.name), t));
    setAdded("");
    setLeaving(null);
    again();
  };
  const addressForm = (p) => html`<${AddressForm} key=${p?.name ?? ""} provider=${p} save=${setAddress} close=${() => setAddressOf(null)} />`;
  return html`<${Head} title="Models and keys" text="Which model answers, unless an agent or a conversation has its own." />
    <div class="card rows"><div><div><b>Usual model</b><p>For agents that have none of their own.${usual?.locked && html` <span class="faint">${icon("lock")} ${usual.locked}</span>`}</p></div>
      <label class="btn pick"><span>${usual?.value || usual?.usual || "rehearsal"}</span>${icon("chevron-down")}<select aria-label="Usual model" disabled=${!!usual?.locked} value=${usual?.value ?? ""} onChange=${(e) => save({ model: e.target.value })}><option value="">${usual?.usual ? `not chosen here (${usual.usual})` : "rehearsal"}</option>${app.models.map((m) => html`<option key=${m.id} value=${m.id} disabled=${!m.available}>${m.id}</option>`)}</select></label></div>
      <${Rehearsal} usual=${usual} save=${save} isBare=${!settings.providers.some((p) => p.set_up)} /></div>
    <div class="row sec"><h3 class="h-20 grow">Providers</h3>${others.length > 0 && html`<label class="btn sm pick">${icon("plus")}<span>Add a provider</span><select id="address-of-" aria-label="Add a provider" value="" onChange=${(e) => e.target.value === "/" ? setAddressOf("") : e.target.value && (setAdded(e.target.value), setKeyOf(settings.providers.find((p) => p.name === e.target.value)?.needs_key ? e.target.value : ""))}><option value="">Add…</option><option value="/">A server of your own, by its address</option>${others.map((p) => html`<option key=${p.name} value=${p.name}>${p.title || p.name}</option>`)}</select></label>`}</div>
    ${addressOf === "" && addressForm(null)}
    <div class="card rows">${shown.map((p) => {
      const last = tested.get(p.name); // which says nothing of a key or an address that somebody has set since
      const state = last && (!last.name || (last.key_at === p.key_at && last.base_url === p.base_url)) ? last : p;
      // Who has not chosen yet is asked for as long as that is so; who has a model rehearse for a while is not.
      const left = (state.state ?? "answers") === "answers" && !kept("model.before") ? fittingOf(app.models, p.name) : [];
      const choice = !isUnchosen(usual) ? null : offered?.name === p.name ? offered : left.length ? { models: left, was: usual.value ?? "" } : null;
      return html`<div key=${p.name} class=${state.state && !["answers", "testing"].includes(state.state) ? "bad-row" : ""}><div><div class="row wrap"><b>${p.title || p.name}</b>${state.state === "answers" ? html`<span class="chip good t">${icon("check")}answers${state.took_ms ? `, ${duration(state.took_ms)}` : ""}</span>` : state.state === "testing" ? html`<span class="chip t">${icon("loader-circle", "spin")}trying</span>` : state.state ? html`<span class="chip bad t">${icon("circle-alert")}${state.state !== "key_refused" ? "does not answer" : p.needs_key ? "refuses the key" : "wants a key"}</span>` : null}</div>
        <p>${keyWords(p)}${state.detail && html`<br />${testWords(p, state)}`}</p></div>
        <div class="row wrap"><button type="button" class="sm" disabled=${p.needs_key && !p.has_key} onClick=${() => test(p.name)}>Test</button>${(p.local || !p.known) && html`<button type="button" class="sm" id=${"address-of-" + p.name} aria-expanded=${addressOf === p.name} onClick=${() => setAddressOf(addressOf === p.name ? null : p.name)}>Change address</button>`}${p.needs_key && !p.key_fixed && html`<button type="button" class="sm" id=${"key-of-" + p.name} aria-expanded=${keyOf === p.name} onClick=${() => setKeyOf(keyOf === p.name ? "" : p.name)}>${p.has_key ? "Replace key" : "Set key"}</button>`}${p.set_up && html`<button type="button" class="sm danger" aria-label=${`Remove ${p.title || p.name}`} onClick=${() => setLeaving(p)}>Remove</button>`}</div>
        ${choice && html`<div class="row wrap key-form" role="group" aria-label="Which model answers"><span class="small">Which of its models answers from now on?</span>${choice.models.map((m) => html`<button type="button" class="sm" key=${m.id} onClick=${() => choose(m.id, choice.was)}>${shortName(m.id)}</button>`)}</div>`}
        ${addressOf === p.name && addressForm(p)}
        ${keyOf === p.name && html`<form class="row wrap key-form" onSubmit=${setKey} onKeyDown=${onEscape(() => setKeyOf(""))}><label class="field edge grow">${icon("key-round")}<input name="key" type="password" autocomplete="off" placeholder=${p.has_key ? "Paste the new key" : "Paste the key"} aria-label=${`Key for ${p.name}`} required /></label><button class="primary">Save and test</button><button type="button" class="ghost" onClick=${() => setKeyOf("")}>Cancel</button>${keyWrong && html`<p class="bad" role="alert">${keyWrong.message}</p>`}<p>It goes to the server once and is never sent back to any page, event or log.</p></form>`}</div>`;
    })}${shown.length === 0 && html`<p class="pad dim">None is set up, so agents only rehearse. Add one to have a model answer.</p>`}</div><${Prices} />
    ${leaving && html`<${RemoveProvider} provider=${leaving} usual=${usual} done=${removed} close=${() => (setLeaving(null), again())} />`}`;
}

// mostOffered is how many models are offered where none is chosen. The usual model has a list of all.
const mostOffered = 8;

// mute are models that answer nobody, by their names: a server lists them among others.
const mute = /embed|rerank/i;

const fittingOf = (models, provider) => models.filter((m) => m.available && m.id.startsWith(provider + "/") && !mute.test(m.id)).slice(0, mostOffered);

// isUnchosen says that a rehearsal answers, and nothing keeps anybody from choosing a model.
const isUnchosen = (usual) => usual && !usual.locked && (usual.value || usual.usual || "rehearsal") === "rehearsal";

// AddressForm adds a server that speaks OpenAI's API, or changes where one is.
function AddressForm({ provider, save, close }) {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useRefusal();
  const form = useRef(null);
  useLayoutEffect(() => (form.current.querySelector("input").focus(), () => gives("address-of-" + (provider?.name ?? ""))), []);
  const submit = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.target));
    setBusy(true);
    await save(provider?.name ?? values.name.trim(), values.address.trim(), (values.key ?? "").trim()).catch((trouble) => (setWrong(trouble), setBusy(false), form.current?.querySelector("[name=address]").focus()));
  };
  const field = (name, label, hint, more = {}) => html`<label class="stack small"><span>${label}</span><span class="field edge"><input name=${name} placeholder=${hint} autocomplete="off" spellcheck=${false} ...${more} /></span></label>`;
  return html`<form class="card address-form" ref=${form} aria-label=${provider ? `Address of ${provider.title || provider.name}` : "A server of your own"} onSubmit=${submit} onKeyDown=${onEscape(close)}>
    ${!provider && html`<p class="small dim">Any server that is compatible with OpenAI’s: vLLM, llama.cpp, LM Studio, a gateway of your company.</p>${field("name", "Name: small letters, digits, - and _", "office", { required: true, pattern: "[a-z][a-z0-9_\\-]*", title: "small letters, digits, - and _" })}`}
    ${field("address", "Address", "http://localhost:8000/v1", { required: true, defaultValue: provider?.base_url ?? "" })}
    ${!provider?.needs_key && field("key", "Key, if it needs one", "", { type: "password" })}
    ${wrong && html`<p class="bad small" role="alert">${wrong.message}</p>`}
    <div class="row"><button class="primary" disabled=${busy}>Save and test</button><button type="button" class="ghost" onClick=${close}>Cancel</button></div></form>`;
}

// Rehearsal switches between models and playing by rule. What answered before comes back
// when it is switched off.
function Rehearsal({ usual, save, isBare }) {
  const answers = usual?.value || usual?.usual || "rehearsal";
  const on = answers === "rehearsal";
  const other = on && !usual?.value && usual?.usual === "rehearsal"; // nothing else is set up
  const change = () => {
    if (!on) keep("model.before", usual?.value ?? "");
    const before = kept("model.before", "");
    save({ model: on ? (before === "rehearsal" ? "" : before) : "rehearsal" });
  };
  return html`<div><div><b>Rehearse without a model</b><p>Agents then go through the steps that their authors wrote, and nobody thinks about what you say. It costs nothing and needs no key.${other && ` No model is ${isBare ? "set up" : "chosen"}, so this is what answers now.`}</p></div><button type="button" class="switch" role="switch" aria-checked=${on} aria-label="Rehearsal" disabled=${!!usual?.locked || other} onClick=${change}></button></div>`;
}

// testWords says what came of a test, and what can be done about it on this page. The
// server's words name the file and the variable that an address and a key are kept in.
function testWords(p, { state, detail }) {
  const name = p.title || p.name;
  if (state === "key_refused") return p.needs_key ? `${name} did not accept the key. It may be mistyped or withdrawn: replace it.` : `${name} wants a key: give it one with “Change address”.`;
  return `${detail.replace(/providers\.[\w-]+\.base_url in troupe\.yaml/g, "the address").replace(/^\w/, (letter) => letter.toUpperCase())}.`.replace(/([.?!])\.$/, "$1");
}

// keyWords says what there is to know of a provider's key.
function keyWords(p) {
  const where = p.base_url ? p.base_url.replace(/^https?:\/\//, "").replace(/\/.*$/, "") + ". " : "";
  if (!p.needs_key) return where + "No key needed.";
  if (!p.has_key) return where + "No key is set.";
  if (p.key_fixed) return html`${where}<span>${icon("lock")} A key is set: ${p.key_fixed}.</span>`;
  return `${where}Key set${p.key_at ? ` on ${new Date(p.key_at).toLocaleDateString([], { day: "numeric", month: "long" })}${p.key_by ? ` by ${p.key_by === app.me.name ? "you" : p.key_by}` : ""}` : ""}. It cannot be shown, only replaced.`;
}

function Prices() {
  if (!app.models.length) return null;
  const words = (value) => (value === undefined ? "not known" : value === 0 ? "free" : price(value));
  return html`<h3 class="h-20 sec">What models hold and cost</h3><p class="small dim">In tokens, which are pieces of words: 1,000 are about 750 words. What a model holds is how much of a conversation it can take in at once.</p><div class="wide" tabindex="0" role="group" aria-label="What models hold and cost"><table class="list"><thead><tr><th>Model</th><th class="right">Holds</th><th class="right">In / million</th><th class="right">Out / million</th><th>Used by</th></tr></thead><tbody>${app.models.map((m) => html`<tr key=${m.id}><td>${m.id}</td><td class="right num">${m.window ? count(m.window) : "–"}</td><td class="right num">${words(m.price?.input)}</td><td class="right num">${words(m.price?.output)}</td><td>${m.usual ? "usual" : (m.agents ?? []).map((id) => agentOf(id).name).join(", ")}</td></tr>`)}</tbody></table></div>`;
}

const toldNames = { __proto__: null, persona: "Who it is", activation: "How it begins", tools: "How it uses tools", commands: "What it can be asked for", rules: "Rules", session: "This conversation", instructions: "Instructions" };

// Told shows what an agent's model is told before anybody speaks.
function Told({ agent }) {
  const [parts, problem] = useLoaded(() => operate.instructions(agent.id), agent.id);
  if (problem) return html`<${Trouble} code=${problem.code === "agent_broken" ? "agent_broken" : problem.code} context=${{ a: agent.name, detail: problem.message }} />`;
  if (!parts) return html`<${Bones} />`;
  return html`<section class="told" aria-label=${`What the model of ${agent.name} is told`}>${parts.map((part, i) => html`<details key=${i} open=${i === 0}><summary class="row">${icon("chevron-right", "chev")}<span class="grow">${toldNames[part.name] ?? nameOf(part.origin ?? part.name)}</span><span class="tiny faint cut">${part.origin ? pathWords(part.origin) : ""}</span>${part.tokens > 0 && html`<span class="tiny num">${count(part.tokens)} tokens</span>`}</summary><pre tabindex="0">${visible(part.text)}</pre></details>`)}</section>`;
}

function AgentSettings() {
  const { settings, save } = useSettings();
  const [told, setTold] = useState("");
  const { view: meant } = useRoute(); // an agent whose model is to be chosen
  const row = useRef(null);
  useEffect(() => {
    row.current?.scrollIntoView({ block: "center" });
    (row.current?.querySelector("select:enabled") ?? row.current)?.focus({ preventScroll: true });
  }, [meant, !settings, !app.models.length]);
  return html`<${Head} title="Agents" text="Who is in the company, which model answers for each, and what it is told." />${find(settings, "model")?.locked && html`<p class="small dim row">${icon("lock")}<span>Which model answers is fixed: ${find(settings, "model").locked}.</span></p>`}<div class="card rows">${app.agents.map((a) => html`<div key=${a.id} ref=${a.id === meant ? row : undefined} tabindex=${a.id === meant ? -1 : undefined} aria-current=${a.id === meant || undefined} class=${a.broken ? "bad-row" : ""}><div class="row gap-3"><${Face} id=${a.id} name=${a.name} /><div><b>${a.name}</b> ${a.broken && html`<span class="chip bad t">cannot start</span>`}<p>${a.broken || [a.bundle && bundleName(a), a.title || a.description?.replace(/\.$/, ""), a.tools?.length > 0 && `may use ${a.tools.length} ${a.tools.length === 1 ? "tool" : "tools"}`].filter(Boolean).join(" · ")}</p></div></div>
    <div class="row wrap">${settings && app.models.length > 0 && !a.broken && html`<label class="btn sm pick"><span>${shortName(find(settings, `agents.${a.id}.model`)?.value || a.model) || "usual model"}</span>${icon("chevron-down")}<select aria-label=${`Model of ${a.name}`} disabled=${!!find(settings, `agents.${a.id}.model`)?.locked} title=${find(settings, `agents.${a.id}.model`)?.locked} value=${find(settings, `agents.${a.id}.model`)?.value ?? ""} onChange=${(e) => save({ [`agents.${a.id}.model`]: e.target.value })}><option value="">usual model</option>${app.models.map((m) => html`<option key=${m.id} value=${m.id} disabled=${!m.available}>${m.id}</option>`)}</select></label>`}<button type="button" class="sm" aria-expanded=${told === a.id} onClick=${() => setTold(told === a.id ? "" : a.id)}>${a.broken ? "See where" : "What its model is told"}</button></div>
    ${told === a.id && html`<${Told} agent=${a} />`}</div>`)}</div>${app.agents.length === 0 && html`<p class="dim">There are none.</p>`}`;
}

// suspicious is what a tool's description should not ask a model for.
const suspicious = /\.env\b|\bread (the|any|all|other)? ?files?\b|password|secret|token|api key|ignore (all|any|the|previous)|before (calling|using)|do not (tell|mention|show)|instead of/i;

// changedWords says in a sentence which tools wait to be looked at.
function changedWords({ changed }) {
  const name = (c) => html`<b>${c.tool}</b>`;
  const said = (list, words) => (list.length ? html`${list.map((c, i) => html`${i > 0 && ", "}${name(c)}`)} ${words}` : null);
  const altered = changed.filter((c) => c.before), added = changed.filter((c) => !c.before);
  return html`${said(altered, altered.length === 1 ? "describes itself differently now" : "describe themselves differently now")}${altered.length > 0 && added.length > 0 && ", and "}${said(added, added.length === 1 ? "is new" : "are new")}. Nobody can use ${changed.length === 1 ? "it" : "them"} until you have looked.`;
}

function ToolServerSettings() {
  const [list, problem, again] = useLoaded(operate.toolServers);
  const [open, setOpen] = useState("");
  const [busy, setBusy] = useState("");
  const [leaving, setLeaving] = useState(null); // a server that is to be removed
  const removed = () => (toast(`${leaving.name} is removed`), setLeaving(null), again());
  const act = (what, done) => what.then(() => toast(done), (trouble) => toast(trouble.message)).finally(() => (again(), setBusy("")));
  const restart = (name) => (setBusy(name), act(operate.restartTools(name), "Started anew"));
  const toggle = (name, what) => setOpen(open === name + what ? "" : name + what);
  const turn = (s) => act(operate.switchTools(s.name, s.state === "off"), s.state === "off" ? `${s.name} is switched on` : `${s.name} is switched off`);
  const row = (s) => html`<div key=${s.name} class=${s.state === "changed" ? "spot-row" : ""}><div><div class="row"><span class=${"dot " + ({ running: "good", changed: "spot", off: "" }[s.state] ?? "bad")}></span><b>${s.name}</b><span class=${"chip t" + ({ stopped: " bad", changed: " spot" }[s.state] ?? "")}>${s.state === "changed" ? `${s.changed.length} ${s.changed.length === 1 ? "tool" : "tools"} changed` : s.state === "running" ? `${s.tools.length} ${s.tools.length === 1 ? "tool" : "tools"}` : s.state === "off" ? "off" : "stopped"}</span></div>
      <p>${s.state === "changed" ? changedWords(s) : s.state === "off" ? "Switched off: nobody has its tools." : s.detail}</p>${s.said && html`<details class="small"><summary>${icon("chevron-right", "chev")}What exactly was said</summary><pre class="said-by" tabindex="0">${s.said}</pre></details>`}${open === s.name + "tools" && html`<ul class="small tool-list">${s.tools.map((tool) => html`<li key=${tool}>${tool.replace(/[_-]+/g, " ")}</li>`)}</ul>`}</div>
    <div class="row wrap">${s.tools.length > 0 && html`<button type="button" class="sm" aria-expanded=${open === s.name + "tools"} onClick=${() => toggle(s.name, "tools")}>Tools</button>`}
      ${s.state === "changed" ? html`<button type="button" class="sm" id=${"changes-of-" + s.name} aria-expanded=${open === s.name + "changed"} onClick=${() => toggle(s.name, "changed")}>Look and decide</button>` : s.state !== "off" && html`<button type="button" class="sm" disabled=${busy === s.name} onClick=${() => restart(s.name)}>${busy === s.name ? "Starting…" : s.state === "stopped" ? "Start now" : "Start anew"}</button>`}
      <button type="button" class="sm danger" aria-label=${`Remove ${s.name}`} onClick=${() => setLeaving(s)}>Remove</button>
      <button type="button" class="switch" role="switch" aria-checked=${s.state !== "off"} aria-label=${`Use ${s.name}`} onClick=${() => turn(s)}></button></div></div>`;
  const changes = (s) => open === s.name + "changed" && (s.changed ?? []).map((c) => html`<section class="card cutoff change-list" key=${s.name + c.tool} aria-label=${`${c.tool}: what changed`}><div class="row wrap pad"><h3 class="grow">${c.tool}: ${c.before ? "what changed" : "new"}</h3><button type="button" class="ghost sm danger" onClick=${() => act(operate.acceptTools(s.name, { [c.tool]: c.hash }), `${c.tool} is accepted`)}>Accept anyway</button><button type="button" class="sm primary" onClick=${() => (setOpen(""), document.getElementById("changes-of-" + s.name)?.focus())}>Keep it off</button></div>
    <${Lines} before=${c.before ?? ""} after=${c.after ?? ""} />${suspicious.test(c.after ?? "") && !suspicious.test(c.before ?? "") && html`<p class="row pad small bad">${icon("triangle-alert")}The new text tells the model to do more than use this tool. Do not accept it unless you know why.</p>`}</section>`);
  return html`<${Head} title="Tool servers" text="Programs that give agents more tools, over MCP. New or changed tools wait for your word." />
    ${!problem && can("mcp") && html`<${AddToolServer} added=${again} />`}
    ${problem ? html`<${Missing} problem=${problem} what="tool servers" />` : !list ? html`<${Bones} />` : list.length === 0 ? html`<p class="dim">${can("mcp") ? "There are none yet. Add one that runs already. Those that Troupe is to start" : "There are none that the page can show. They"} are described in <code>troupe.yaml</code> under <code>mcp</code>.</p>` : html`<div class="card rows">${list.map(row)}</div>${list.map(changes)}`}
    ${leaving && html`<${RemoveToolServer} server=${leaving} done=${removed} close=${() => (setLeaving(null), again())} />`}`;
}

// AddToolServer adds a server that runs already. Those that Troupe is to start are named
// in troupe.yaml alone.
function AddToolServer({ added }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useRefusal();
  const submit = async (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    setBusy(true);
    setFailed(null);
    try {
      await operate.addToolServer(given.get("name").trim(), given.get("url").trim());
      toast("The tool server is added, in troupe.yaml");
      setOpen(false);
      added();
    } catch (trouble) {
      setFailed(trouble);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (!open) return;
    document.getElementById("server-name").focus();
    return () => gives("add-server");
  }, [open]);
  if (!open) return html`<p class="add"><button type="button" class="primary" id="add-server" onClick=${() => setOpen(true)}>${icon("plus")}Add a server</button></p>`;
  return html`<form class="card stack pad add" aria-label="Add a server" onSubmit=${submit} onKeyDown=${onEscape(() => setOpen(false))}><label class="small" for="server-name"><b>What it is called</b></label><label class="field edge"><input id="server-name" name="name" required pattern="[a-z][a-z0-9\\-]*" maxlength="32" placeholder="issues" autocomplete="off" /></label>
    <label class="small" for="server-url"><b>Where it runs</b></label><label class="field edge"><input id="server-url" name="url" type="url" required placeholder="https://tools.example.org/mcp" autocomplete="off" /></label>
    ${failed && html`<p class="small bad" role="alert">${failed.message}</p>`}
    <div class="row"><button class="primary" disabled=${busy}>${busy ? "Trying to reach it…" : "Add it"}</button><button type="button" class="ghost" onClick=${() => setOpen(false)}>Cancel</button></div>
    <p class="small dim">It is added once it answers. Programs that Troupe starts itself, and which agents may use them, are set in <code>troupe.yaml</code>, not here.</p></form>`;
}

function SkillSettings() {
  const [list, problem, again] = useLoaded(operate.skills);
  const turn = (s) => operate.switchSkill(s.name, !!s.off).then(() => (toast(s.off ? `${s.name} is switched on` : `${s.name} is switched off`), again()), (trouble) => (toast(trouble.message), again()));
  return html`<${Head} title="Skills" text="Know-how that agents load when a task calls for it." />${problem ? html`<${Missing} problem=${problem} what="skills" />` : !list ? html`<${Bones} />` : list.length === 0 ? html`<p class="dim">There are none. <code>troupe skills new</code> writes one.</p>`
    : html`<div class="card rows">${list.map((s) => html`<div key=${s.name}><div><b>${s.name}</b>${s.category && html` <span class="chip t">${s.category}</span>`}<p>${s.description}${s.used > 0 && ` Used ${s.used === 1 ? "once" : `${s.used} times`} this week.`}${s.off && html`<br />Switched off: no agent hears of it.`}</p></div>${can("switch_skills") && html`<button type="button" class="switch" role="switch" aria-checked=${!s.off} aria-label=${`Use ${s.name}`} onClick=${() => turn(s)}></button>`}</div>`)}</div>`}`;
}

const asDay = (time) => new Date(time).toLocaleDateString([], { day: "numeric", month: "long" });

// monthWords says what was spent in this month, of how much, and how long that lasts.
function monthWords({ month, budget, until, days }) {
  const spent = cost(month) || "$0";
  if (!budget) return `${spent} spent so far. With a budget, nothing more begins once it is spent.`;
  if (month >= budget) return `${spent} of ${money(budget)} spent: nothing more begins before ${asDay(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 1, 12))}, unless you raise it.`;
  return `${spent} of ${money(budget)} spent. ${until ? `At the pace of this week it lasts until ${asDay(until)}.` : days.length ? "At the pace of this week it outlasts the month." : ""}`;
}

// Month is what everything may cost in a month, with what was spent of it.
function Month({ spent, setting, save }) {
  const part = spent?.budget ? Math.min(1, spent.month / spent.budget) : 0;
  const text = !spent ? "…" : html`${monthWords(spent)}${spent.budget > 0 && html`<span class=${"meter month" + (part >= 1 ? " full" : "")} role="img" aria-label=${`${Math.round(part * 100)} % of this month’s budget are spent`}><i style=${{ width: part * 100 + "%" }}></i></span>`}`;
  return setting ? html`<${SettingRow} setting=${setting} title="Money, this month" text=${text} save=${save} unit="$" />` : html`<div><div><b>Money, this month</b><p>${text}</p></div></div>`;
}

function LimitSettings() {
  const { settings, problem, save } = useSettings();
  const [spent, , again] = useLoaded(operate.spending);
  const saved = (...change) => save(...change).then((outcome) => (again(), outcome));
  const usual = spent?.usual > 0 ? `In US dollars. A whole conversation usually costs ${cost(spent.usual)}; the dearest of the last 31 days cost ${cost(spent.dearest)}.` : "In US dollars.";
  const rows = [["limits.cost", "Money, one answer", usual, { unit: "$" }], ["limits.time", "Time, one answer", "Such as 15 min, or 1 h 30 min. Waiting for you does not count.", { read: spell }], ["limits.turns", "Turns, one answer", "How often the model may be asked before it must answer."], ["limits.tokens", "Tokens, one answer", "Sent and received. A token is a piece of a word: 1,000 are about 750 words."]];
  return html`<${Head} title="Limits" text="An agent that reaches one stops, says so, and keeps what it has. You can let it go on." />
    <div class="card rows">${(settings || problem) && html`<${Month} spent=${spent} setting=${find(settings, "server.month_cost")} save=${saved} />`}
      ${settings && rows.map(([key, title, text, more]) => html`<${SettingRow} key=${key} setting=${find(settings, key)} title=${title} text=${text} save=${save} ...${more} />`)}</div>
    ${spent?.agents.some((a) => a.cost > 0) && html`<h3 class="h-20 sec">Which agents spent it</h3><div class="wide" tabindex="0" role="group" aria-label="Which agents spent it"><table class="list"><tbody>${[...spent.agents].filter((a) => a.cost > 0).sort((a, b) => b.cost - a.cost).slice(0, 20).map((a) => html`<tr key=${a.agent}><td><span class="row"><${Face} id=${a.agent} name=${agentOf(a.agent).name} size="s" />${agentOf(a.agent).name}</span></td><td class="right num">${cost(a.cost)}</td></tr>`)}</tbody></table></div><p class="small faint">In the last 31 days, ${cost(spent.total)} in ${spent.sessions === 1 ? "one conversation" : `${count(spent.sessions)} conversations`}.</p>`}
    ${problem && html`<${Missing} problem=${problem} what="limits" />`}`;
}

// lastHere says when somebody was last here, as people do.
function lastHere(time) {
  const ago = (Date.now() - Date.parse(time)) / 60_000;
  return ago < 5 ? "just now" : ago < 60 ? `${Math.floor(ago)} min ago` : day(time) === "Today" ? `at ${hour(time)}` : ago < 6 * 1440 ? new Date(time).toLocaleDateString([], { weekday: "long" }) : day(time);
}

// SignInLink is a link that lets somebody in, to be handed on: how long it does is said below.
function SignInLink({ text, name, children }) {
  return html`<div class="key-form"><div class="row"><label class="field edge grow">${icon("link")}<input readonly aria-label=${name} value=${text} onFocus=${(e) => e.target.select()} /></label><button type="button" onClick=${() => copy(text)}>${icon("copy")}Copy</button></div><p>${children}</p></div>`;
}

// AddPerson lets somebody in. What is wrong with a name is said until it is written otherwise; a
// name that was somebody's before is asked about, for their conversations come with it.
function AddPerson({ added, add }) {
  const [failed, setFailed] = useRefusal(); // a problem, with the name that it is about
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target, name = new FormData(form).get("name").trim();
    const isMeant = failed?.code === "known_name" && failed.name === name;
    setFailed(null);
    await add(name, isMeant).then(() => form.reset(), (trouble) => setFailed({ code: trouble.code, message: trouble.message, name }));
  };
  const isKnown = failed?.code === "known_name";
  return html`<form class="card stack pad add" aria-label="Add somebody" onSubmit=${submit}><label class="small" for="person-name"><b>Add somebody</b></label><div class="row wrap"><label class="field edge grow">${icon("user")}<input id="person-name" name="name" required maxlength="32" placeholder="bob" autocomplete="off" aria-describedby="person-name-form" aria-invalid=${failed ? "true" : undefined} onInput=${() => setFailed(null)} /></label><button class=${isKnown ? "danger" : "primary"}>${isKnown ? `Add, with the conversations of ${failed.name}` : "Add"}</button></div>
      <p class="small dim" id="person-name-form">Small letters, digits, - and _, beginning with a letter, such as bob.</p>
      ${failed && html`<p class="small bad" role="alert">${failed.message}${isKnown && " For somebody else, take another name."}</p>`}
      ${added && html`<${SignInLink} name=${`Sign-in link for ${added.name}`} text=${added.text}>This link is ${added.name}’s own and lasting, and is not shown again: copy it now. It works in a moment, and until ${added.name} is removed. Who has lost it gets a link for a day from the list above.<//>`}
      <p class="small dim">The name goes into <code>troupe.yaml</code>, the access code into <code>.env</code>.</p></form>`;
}

function PeopleSettings() {
  const [list, problem, again] = useLoaded(operate.people);
  const ways = useWays();
  const [leaving, setLeaving] = useState(null); // somebody who is to be removed
  const removed = () => (toast(`${leaving.name} is removed`), setLeaving(null), setLink((l) => (l?.name === leaving.name ? null : l)), setAdded((a) => (a?.name === leaving.name ? null : a)), again());
  const [link, setLink] = useState(null); // { name, text }
  const [added, setAdded] = useState(null);
  const asLink = (name, { fragment }) => ({ name, text: location.origin + location.pathname + fragment });
  const add = (name, isMeant) => operate.addPerson(name, isMeant).then((made) => setAdded(asLink(name, made)));
  const make = (name) => operate.link(name).then((made) => setLink(asLink(name, made)), (trouble) => toast(trouble.message));
  const text = `Each sees conversations of their own${!can("documents") ? "." : app.me.shared_documents ? ". All see the same documents of the project." : ", and documents of their own."}`;
  return html`<${Head} title="People" text=${text} />${problem ? html`<${Missing} problem=${problem} what="people" />` : !list || !ways ? html`<${Bones} />` : html`<div class="card rows">${list.map((p) => html`<div key=${p.name}><div class="row gap-3"><span class="face you" aria-hidden="true">${(p.name || app.me.name || "Y")[0].toUpperCase()}</span><div><b>${p.name || app.me.name || "You"}</b>${(p.you || p.operator) && html` <span class="chip t">${[p.you && "you", p.operator && "operator"].filter(Boolean).join(", ")}</span>`}<p>${p.you ? "Here now" : p.seen ? `Last here ${lastHere(p.seen)}` : "No conversation yet, and not here since Troupe was started"}</p></div></div><div class="row wrap">${ways.code && html`<button type="button" class="sm" title="It lets them in for a day" onClick=${() => make(p.name)}>New sign-in link</button>`}${p.removable && html`<button type="button" class="sm danger" aria-label=${`Remove ${p.name}`} onClick=${() => setLeaving(p)}>Remove</button>`}</div>
    ${link?.name === p.name && html`<${SignInLink} name="Sign-in link" text=${link.text}>This link is for a day: it lets in whoever has it, until tomorrow at this time or until the server starts anew.<//>`}</div>`)}</div>
    ${!ways.code ? html`<p class="small dim add">Who comes in, and who runs Troupe, is decided by ${ways.name || "the program that signs people in"}. There are no sign-in links here.</p>` : list.some((p) => p.name) ? can("people") && html`<${AddPerson} added=${added} add=${add} />` : html`<p class="small dim add">Whoever has a link to this server is the same person: nobody has a name of their own yet. To let others in, name yourself and them in <code>troupe.yaml</code>, under <code>users</code> of <code>server</code>, and start Troupe anew.</p>`}`}
    ${leaving && html`<${RemovePerson} person=${leaving} done=${removed} close=${() => (setLeaving(null), again())} />`}`;
}

function Switch({ name, value, change }) {
  return html`<button type="button" class="switch" role="switch" aria-checked=${value} aria-label=${name} onClick=${() => change(!value)}></button>`;
}

// Notify has the browser say when somebody waits, for as long as the page is open.
function Notify() {
  const [, draw] = useState(0);
  const known = "Notification" in globalThis;
  const refused = known && Notification.permission === "denied";
  const change = async (on) => {
    keep("notify", on && (await Notification.requestPermission()) === "granted");
    draw((n) => n + 1);
  };
  if (!known) return null;
  return html`<div><div><b>Tell me when someone waits</b><p>A notification of the browser, only while this page is open.${refused && " This browser does not allow it for this address."}</p></div><button type="button" class="switch" role="switch" aria-checked=${kept("notify", false) && !refused} aria-label="Tell me when someone waits" disabled=${refused} onClick=${() => change(!kept("notify", false))}></button></div>`;
}

function LookSettings() {
  const [, draw] = useState(0);
  const set = (key, value) => (keep(key, value), draw((n) => n + 1));
  const theme = document.documentElement.dataset.theme ?? "";
  return html`<${Head} title="This page" text="Kept in this browser." /><div class="card rows"><div><b>Colours</b><div class="seg" role="group" aria-label="Colours">${[["", "As the machine"], ["light", "Light"], ["dark", "Dark"]].map(([value, words]) => html`<button type="button" key=${value} aria-pressed=${theme === value} onClick=${() => (setTheme(value), draw((n) => n + 1))}>${words}</button>`)}</div></div>
    <div><div><b>Enter sends</b><p>Off on phones: there Enter begins a line.</p></div><${Switch} name="Enter sends" value=${kept("enterSends", true)} change=${(v) => set("enterSends", v)} /></div>
    <div><div><b>Single letters act</b><p>Such as j and k for the next and the previous turn.</p></div><${Switch} name="Single letters act" value=${kept("letters", true)} change=${(v) => set("letters", v)} /></div>
    <${Notify} />
    ${app.me.sign_out && html`<div><div><b>Signed in${app.me.name ? ` as ${app.me.name}` : ""}</b><p>What you have typed and not sent stays in this browser.</p></div><button type="button" class="sm" onClick=${leave}>${icon("log-out")}Sign out</button></div>`}</div>`;
}

function AboutSettings() {
  const [store] = useLoaded(() => (app.me.operator ? operate.store() : Promise.resolve(null)));
  const [checks, setChecks] = useState(null);
  const look = () => (setChecks("…"), operate.check().then(setChecks, (trouble) => (setChecks(null), toast(trouble.message))));
  return html`<${Head} title="About" text="" /><div class="card rows"><div><div><b>Troupe ${app.me.version}</b><p>Up since ${app.me.started ? new Date(app.me.started).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" }) : "?"}.</p></div>${can("check") && html`<button type="button" class="sm" disabled=${checks === "…"} onClick=${look}>${checks === "…" ? "Looking…" : "Check the installation"}</button>`}</div>
    ${store && html`<div><div><b>Store</b><p>${store.sessions.toLocaleString("en")} ${store.sessions === 1 ? "conversation" : "conversations"}${store.bytes ? `, ${size(store.bytes)}` : ""}. <code>troupe doctor --verify</code> checks it, <code>troupe backup</code> keeps a copy.</p></div></div>`}
    <div><div><b>For programs</b><p>OpenAI-compatible at /v1, events and files at /api. Agents are models there.</p></div><a class="btn sm" href="api/openapi.json" target="_blank" rel="noopener">Description of the API</a></div></div>
    ${Array.isArray(checks) && html`<${Checks} list=${checks} />`}`;
}

// checked is how a check is read on the page: what is to be done first.
const checked = (list) => ["broken", "warning", "ok"].flatMap((status) => list.filter((c) => (verdicts[c.status] ? c.status : "warning") === status));

const verdicts = { __proto__: null, ok: ["circle-check", "good", "in order"], warning: ["triangle-alert", "dim", "look at it"], broken: ["circle-x", "bad", "broken"] };

// mendedAt is the section of the settings in which what a check has found can be put right.
const mendedAt = (name) => sections.filter(isThere).find(([section]) => section === (/^(model|provider|keys)\b/.test(name) ? "models" : name));

// Checks are what was found out about the installation, and what to do.
export function Checks({ list }) {
  const broken = list.filter((c) => c.status === "broken").length, odd = list.filter((c) => c.status === "warning").length;
  return html`<h3 class="h-20 sec" role="status">${broken ? `${broken} ${broken === 1 ? "thing is" : "things are"} broken` : odd ? `It works; ${odd} ${odd === 1 ? "thing wants" : "things want"} a look` : "All is in order"}</h3>
    <div class="card rows checks">${checked(list).map((c, i) => {
      const [drawing, tint, words] = verdicts[c.status] ?? verdicts.warning;
      return html`<div key=${i}><div><b>${icon(drawing, tint)} ${capital(c.name)}</b> <span class=${"chip t " + (tint === "bad" ? "bad" : tint === "good" ? "good" : "")}>${words}</span><p>${sentence(c.message.replace(/^(full|files|off): /, ""))}</p>${c.fix && html`<p class="strong">${sentence(c.fix)}${mendedAt(c.name) && html` <a class="link" href=${"#/settings/" + mendedAt(c.name)[0]}>${mendedAt(c.name)[2]}</a>`}</p>`}</div></div>`;
    })}</div>`;
}
