// What waits for a person, as cards: a question with its choices, an act that needs a
// yes, a gate of a delivery. Answered, a card is one line.

import { askerIn } from "./steps.js";
import { api } from "./shelf.js";
import { useKept } from "./fields.js";
import { answerPlace, goTo } from "./keys.js";
import { keep } from "./kept.js";
import { keyOf, ownKey, sentHere, unsentOf } from "./typed.js";
import { take } from "./focus.js";
import { json } from "./forms.js";
import { talkAddress } from "./route.js";
import { app, toast, update, useApp } from "./state.js";
import { withoutChoices } from "./turns.js";
import { asOrder, kindOf, lower } from "./words.js";
import { placeOf } from "./fold.js";
import { Bones, html, icon, useEffect, useLayoutEffect, useRef, useState } from "./view.js";
import { Prose } from "./prose.js";

// The second click of a double click is not for the approval or the question that comes to where
// another was answered, and what is aimed at a card is not for one that takes its place meanwhile.
// The next gate comes when there is something new to decide.
const none = { timeStamp: -Infinity };
let last = none, opened = performance.now();
addEventListener("hashchange", () => ((last = none), (opened = performance.now()))); // nothing comes to where it was on another screen
addEventListener("click", (event) => {
  if (!event.detail || !event.target.closest?.(":is([aria-label=Approval], [aria-label=Question], .waits) .end button")) return; // a key
  const isDouble = event.timeStamp - last.timeStamp < 800 && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 30;
  last = event;
  const came = cameAt.get(event.target.closest(".waits > *, .needs")) ?? -Infinity;
  if (isDouble || performance.now() - came < 1000) event.preventDefault(), event.stopPropagation();
}, true);

// places are where cards are that stand beside others, and cameAt says when they came there: as new
// ones, or because of others. Scrolling moves none.
const places = new Map(), cameAt = new WeakMap();

function measure() {
  for (const [card, before] of places) {
    const now = `${card.offsetLeft} ${card.offsetTop}`;
    if (now !== before && performance.now() - opened > 800) cameAt.set(card, performance.now());
    places.set(card, now);
  }
}

let sizes = null;

// usePlace follows where a card is. In a conversation it moves with what is said above it, and stays
// where somebody reads.
function usePlace(part) {
  useLayoutEffect(() => {
    const card = part.current?.closest(".waits > *, .graph .needs");
    if (!card) return;
    places.set(card, "");
    sizes ??= new ResizeObserver(measure);
    for (const one of [card, card.parentElement]) sizes.observe(one);
    measure();
    return () => (places.delete(card), sizes.unobserve(card), requestAnimationFrame(measure));
  }, []);
}

export function Question({ item, agent: speaker, acts, id, openFile }) {
  const kind = item.ask.kind, agent = item.run && acts.session ? askerIn(acts.agent, acts.session(), item) : speaker;
  if (!item.open) {
    const state = item.left ? "left" : kind === "approval" && !isAllowed(item) ? "refused" : "done";
    return html`<${Settled} state=${state} question=${kind === "question" ? item.question : ""}>${settled(kind, item, agent)}<//><${Unsent} id=${id} item=${item} copy=${acts.copy} left=${item.left} />`;
  }
  if (kind === "gate") return html`<${GateLink} item=${item} id=${id} />`;
  return kind === "approval" ? html`<${Approval} item=${item} agent=${agent} acts=${acts} id=${id} openFile=${openFile} />` : html`<${Choices} item=${item} agent=${agent} acts=${acts} id=${id} />`;
}

const settledIcons = { done: "circle-check", refused: "circle-x", left: "circle-pause" };

// Settled is a card that was answered, in a line. What was asked can be read on.
function Settled({ state, question = "", children }) {
  const line = html`${icon(settledIcons[state])}<span>${children}</span>`;
  if (!question) return html`<div class="acts answered" data-state=${state}>${line}</div>`;
  return html`<details class="did"><summary class="acts answered" data-state=${state}>${line}${icon("chevron-down", "chev")}</summary><div class="steps"><${Prose} text=${question} /></div></details>`;
}

// useTyped is what is being written as an answer, and what has it given by giving some values: in
// this window, where it is not taken back by what another one sends. Whoever types into a card that
// somebody else answers goes on where the words are then: letters are keys elsewhere, and a message
// answers what else is asked. talk is the conversation whose last answer asks: words that are not sent
// as what that was asked become a message, see before.js.
export function useTyped(key, give, talk = "") {
  const [text, keepText] = useKept(key);
  const mark = (now) => talk && keep("own.asked." + talk, now && { key, text: now });
  const set = (now) => (keep(ownKey(key), now), mark(now), keepText(now));
  useEffect(() => () => {
    const field = document.activeElement;
    if (field?.dataset.of !== key) return;
    typing = key;
    setTimeout(() => field.isConnected || (unsentOf(key) && !talk) || take(document.querySelector(".composer textarea")));
  }, [key]);
  const send = (values) => {
    sentHere.add(key);
    mark("");
    return give(values, () => set("")).then((is) => (is || (sentHere.delete(key), mark(text)), is));
  };
  return [text, set, send];
}

// typing is the key of the answer that somebody was typing when its card went.
let typing = "";

// notGiven is what was typed, empty where that is what was answered: a window may have gone before it
// heard that its answer was taken.
const notGiven = (text, { decision, answer = "" }) => ((decision?.text || answer).endsWith(text.trim()) ? "" : text);

// Unsent is what somebody was about to answer when that was answered elsewhere, or stopped. They may
// be about to finish the sentence.
export function Unsent({ id, item, copy, left, changed = () => {} }) {
  const key = keyOf(id, item);
  const [text, setText] = useState(() => notGiven(unsentOf(key), item));
  const set = (now) => (keep(ownKey(key), now), keep(key, now), setText(now));
  const [isShown, setShown] = useState(!!text), field = useRef(null); // also while all of it is being replaced
  useEffect(() => {
    if (typing !== key || !field.current) return;
    typing = "";
    field.current.focus();
    field.current.setSelectionRange(text.length, text.length);
  }, []);
  const drop = () => (set(""), setShown(false), changed());
  if (!isShown) return null;
  return html`<div class="row wrap small unsent"><label class="row wrap grow"><span class="dim">It was ${left ? "stopped" : "answered elsewhere"}. You had written:</span><span class="field edge grow"><input ref=${field} dir="auto" value=${text} data-of=${key} onInput=${(e) => set(e.target.value)} /></span></label><button type="button" class="ghost sm" onClick=${() => copy(text)}>${icon("copy")}Copy</button><button type="button" class="ghost sm" onClick=${drop}>Drop it</button></div>`;
}

// isAllowed says that a call was allowed: by a decision, or by a plain yes. All else that
// somebody writes refuses it.
const isAllowed = ({ decision, answer }) => (decision && (decision.approved || decision.denied) ? !!decision.approved : /^(yes|y|ok|approved?|allow)$/i.test(answer.replace(/^[\s.!]+|[\s.!]+$/g, "")));

// reach says which calls a decision is about, besides the one that it was made for.
const reach = (isCovered, scope) => (isCovered ? ", as you had allowed in this whole conversation" : scope === "session" && ", in this whole conversation");

// decided says what was decided about a call.
const decided = (allowed, agent, tool, args) => html`You ${allowed ? "allowed" : "did not allow"} ${agent.name} to <b>${lower(asOrder(tool, args))}</b>`;

function settled(kind, item, agent) {
  if (item.left) return html`${agent.name} asked${kind === "approval" && html` to <b>${lower(asOrder(item.tool, item.arguments))}</b>`}, you stopped it there`;
  if (kind === "approval") return html`${decided(isAllowed(item), agent, item.tool, item.arguments)}${reach(item.unasked, item.decision?.scope)}${item.decision?.denied && item.decision.text && html`: “<span dir="auto">${item.decision.text}</span>”`}`;
  if (kind === "gate") return html`You decided: <b>${item.answer || "go on"}</b>`;
  return html`${agent.name} asked, you answered${item.answer && html`: <b>${item.answer.slice(0, 120)}</b>`}`;
}

// readFrom marks a card as read from its beginning: once that was in the upper half of what scrolls
// it, or its end in view. Until then its buttons are not pinned: nobody is to answer what peeks in.
function readFrom(card) {
  const root = card.closest(".flow, .over-stage, .flow-list");
  const watch = (part, rootMargin) => {
    const observer = new IntersectionObserver((all) => all.some((one) => one.isIntersecting) && (card.dataset.read = ""), { root, rootMargin });
    for (const one of card.querySelectorAll(part)) observer.observe(one);
    return observer;
  };
  const both = [watch(":scope > header, :scope > div > h3", "1e6px 0px -50%"), watch(".row.end", "0px")];
  return () => both.forEach((observer) => observer.disconnect());
}

// useFocus gives a new card the focus, if whoever it is for was about to write and has
// not begun.
function useFocus() {
  const card = useRef(null);
  usePlace(card);
  useEffect(() => card.current && readFrom(card.current), []);
  useEffect(() => {
    const box = document.activeElement;
    if (!card.current) return; // it was answered elsewhere in the same moment
    const { bottom } = card.current.closest(".flow")?.getBoundingClientRect() ?? {};
    if (!box?.matches(".composer textarea") || box.value || card.current.getBoundingClientRect().top > bottom) return; // nor of whoever reads what was said before
    const choice = card.current.querySelector("input[type=radio]");
    if (choice) choice.focus();
    else take(card.current);
  }, []);
  return card;
}

// notTaken says why an answer was not taken.
const notTaken = ({ code, message }) => `Your answer was not taken. ${code === "busy" ? "Somebody is still at work here: answer once they are done." : code === "answered" ? "This was answered already." : code === "offline" ? message + " What you typed is kept." : message}`;

// soon is how long an answer may be on its way before that is said, in milliseconds.
const soon = 200;

// useAnswer returns what gives an answer, and the focus back to the box that it came from; what is
// said of it: that it is on its way, or why it was not taken; and whether it was sent: nothing is
// shown as given before the server has taken it, and nothing else can be answered. The card may be
// gone once it was not taken: that is said beside it, too.
function useAnswer(acts, item) {
  useApp();
  const [why, setWhy] = useState(null); // the problem
  const [sent, setSent] = useState(""); // or how: at once, or slowly
  const given = useRef(null); // a key that is pressed twice answers once
  const refused = (problem) => (setWhy(problem), toast(notTaken(problem)));
  const answer = (values, done) => {
    if (given.current) return given.current;
    setWhy(null);
    setSent("at once");
    const slow = setTimeout(setSent, soon, "slowly");
    const taken = (given.current = acts.answer(item, values, done, refused));
    taken.then((is) => (clearTimeout(slow), is || (setSent(""), (given.current = null))));
    if (!matchMedia("(pointer: coarse)").matches) document.querySelector(".composer textarea")?.focus();
    return taken;
  };
  return [answer, sent === "slowly" ? html`<p class="small dim" role="status">Sending…</p>` : why && html`<p class="small bad not-taken">${why.code === "offline" && app.connection === "live" ? "Your answer was not taken: Troupe could not be reached. It can be now." : notTaken(why)}</p>`, !!sent];
}

// A command is chosen by what it does: how an agent calls it is nobody's business.
const isTrigger = ({ label, description }) => label.startsWith("*") && !!description;
const nameOfChoice = (choice) => (isTrigger(choice) ? choice.description : choice.label);

// isOpen is what a choice is called that the card has by itself: an answer in words.
const isOpen = /^(something else|other)\W*$/i;

// isTitle says that a question is one plain line, which can stand as the card's title.
const isTitle = (question) => question.length <= 120 && !/[\n*_`[\]<>$\\]|^[#-]/.test(question);

// Choices asks something. The choices are the question's own.
function Choices({ item, agent, acts, id }) {
  const offered = item.ask.choices ?? [], choices = offered.filter(({ label }) => !isOpen.test(label));
  const [give, note, isSent] = useAnswer(acts, item);
  const key = keyOf(id, item);
  const [text, setText, send] = useTyped(key, give, item.key === "asks" ? id : "");
  const [chosen, setChosen] = useState(text ? choices.length : -1);
  const [ticked, setTicked] = useState([]);
  const card = useFocus();
  const { several } = item.ask;
  const own = chosen === choices.length || choices.length === 0;
  // A choice is what was chosen of one list; several, and words of one's own, are said.
  const answer = several ? [...choices.filter((_, i) => ticked.includes(i)).map(({ label }) => label), own && text.trim()].filter(Boolean).join("; ") : own ? text.trim() : choices[chosen]?.label;
  const submit = (event) => {
    event?.preventDefault();
    if (answer) send(own || several ? { text: answer } : { choice: answer });
  };
  const kind = several ? "checkbox" : "radio", isChosen = (i) => (several ? ticked.includes(i) : chosen === i);
  const choose = (i) => (several ? setTicked(ticked.includes(i) ? ticked.filter((n) => n !== i) : [...ticked, i]) : setChosen(i));
  const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  const question = withoutChoices(item.question, offered);
  return html`<form class="needs" ref=${card} tabindex="-1" aria-label="Question" onSubmit=${submit} onKeyDown=${keys}><header>${icon("message-circle-question-mark")}${agent.name} needs your answer to go on</header><div>
    ${question && (isTitle(question) ? html`<p class="asked" dir="auto">${question}</p>` : html`<${Prose} text=${question} />`)}
    ${choices.length > 0 && html`<fieldset class="choice"><legend class="hidden">Your answer</legend>
      ${choices.map((choice, i) => html`<label key=${i}><input type=${kind} name=${"q" + item.key} checked=${isChosen(i)} onChange=${() => choose(i)} /><span dir="auto">${nameOfChoice(choice)}${choice.description && !isTrigger(choice) && html`<small>${choice.description}</small>`}</span></label>`)}
      <label onClick=${(e) => e.detail && setTimeout(() => card.current?.querySelector("textarea")?.focus())}><input type=${kind} name=${"q" + item.key} checked=${own} onChange=${() => setChosen(several && own ? -1 : choices.length)} /><span>Something else…<small>Say it in your own words.</small></span></label></fieldset>`}
    ${own && html`<label class="field edge tall"><span class="hidden">Your answer in words</span><textarea rows="2" aria-label="Your answer in words" value=${text} data-of=${key} dir="auto" onInput=${(e) => setText(e.target.value)}></textarea></label>`}
    ${note}<div class="row wrap end"><button class="primary" disabled=${isSent || !answer}>Answer</button>
      <button type="button" class="ghost" disabled=${isSent} onClick=${() => send({ text: "You decide." })}>Let ${agent.name} decide</button></div></div></form>`;
}

// asked is what a question about a call shows below its first line: the arguments, whole
// and decoded, as plain text. Where a file goes is said without the engine's names; what
// is in it is indented, and stays as it is.
const asked = (question, tool) => named(tool, (/\n\n([^]*)/.exec(question)?.[1] ?? "").replace(/^ {4}/gm, "").replace(/^(\w*(?:path|file)\w*): \{([\w-]+)\}\//gm, (_, name, folder) => `${name}: ${folders[folder] ?? folder.replace(/[-_]/g, " ")} / `));

const folders = { __proto__: null, "session-folder": "this conversation", session_folder: "this conversation", "project-root": "the project", project_root: "the project" };

// names are what people call the arguments of our tools that write, and named the lines that
// begin with them: what is in an argument is indented.
const names = { file_path: "File", content: "Text", edits: "Changes" };
// Where it goes comes first.
const file = /^File: .*\n?/m;
const named = (tool, text) => {
  if (!writers.includes(tool)) return text;
  const words = text.replace(/^(file_path|content|edits):/gm, (_, name) => names[name] + ":");
  const [line] = file.exec(words) ?? [];
  return line ? line.replace(/\n?$/, "\n") + words.replace(file, "") : words;
};

// mostOnPage is how many characters of what is asked are shown at once, and mostLines
// how many lines.
const mostOnPage = 6_000;
const mostLines = 120;

// pagesOf cuts a text into pages: all of it can be read, none of it is left out.
export function pagesOf(text) {
  const pages = [];
  let page = "", lines = 0;
  for (const line of text.split(/(?<=\n)/)) {
    for (let at = 0, size = 0; at < line.length || at === 0; at += size) {
      size = line.length > mostOnPage && page.length < mostOnPage ? mostOnPage - page.length : mostOnPage; // a very long line fills what is left of a page
      const piece = line.slice(at, at + size);
      if (page && (page.length + piece.length > mostOnPage || lines >= mostLines)) {
        pages.push(page);
        page = "", lines = 0;
      }
      page += piece;
      lines++;
    }
  }
  return [...pages, page];
}

// useRest says of a box that scrolls whether it has more than there is room for, and whether
// something of that is below what is seen: [box, isCut, isMore, look].
function useRest() {
  const box = useRef(null);
  const [isCut, setCut] = useState(false);
  const [isMore, setMore] = useState(false);
  const look = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    setCut(scrollHeight > clientHeight);
    setMore(scrollHeight - scrollTop - clientHeight > 1);
  };
  useLayoutEffect(() => {
    const resized = new ResizeObserver(look);
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  return [box, isCut, isMore, look];
}

// Pages shows a text, page by page where it is long. Of what has no room it says so.
export function Pages({ text, name }) {
  const [at, setAt] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [box, isCut, isMore, look] = useRest();
  const pages = pagesOf(text);
  const shown = Math.min(at, pages.length - 1);
  useLayoutEffect(look, [pages[shown], isOpen]);
  return html`<pre tabindex="0" dir="ltr" aria-label=${name} ref=${box} onScroll=${look} data-more=${isMore} data-open=${isOpen}>${pages[shown]}</pre>
    ${(isCut || isOpen) && html`<button type="button" class="ghost sm rest" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${icon("chevron-down", "chev")}${isOpen ? "Show less" : pages.length > 1 ? "Show the whole page" : "Show all of it"}</button>`}
    ${pages.length > 1 && html`<div class="row small pages"><button type="button" aria-disabled=${shown === 0} onClick=${() => setAt(Math.max(0, shown - 1))}>Page before</button><span aria-live="polite">Page ${shown + 1} of ${pages.length}</span><button type="button" aria-disabled=${shown === pages.length - 1} onClick=${() => setAt(Math.min(pages.length - 1, shown + 1))}>Next page</button></div>`}`;
}

const writers = ["save_output", "write_file", "edit_file"];

// replaces says that a call would write over a file; has knows which there are.
function replaces(tool, args, has) {
  const target = args?.file_path ?? args?.path ?? "";
  return writers.includes(tool) && typeof target === "string" && !!has?.(placeOf(target));
}

// Exactly is what would be done, whole: as it will be read, and character by character.
function Exactly({ agent, tool, args, question, over }) {
  const shown = asked(question ?? "", tool);
  return html`<p class="small dim">${agent.name} wants to <b>${lower(asOrder(tool, args))}</b>. It is done exactly as shown below, or not at all.${over && " A version is there already; this one takes its place, and the one before is kept."}</p>
    ${shown && html`<div class="exact-sent"><${Pages} text=${shown} name="What will be done" /></div>`}
    <details class="exact-sent"><summary class="btn ghost">${icon("chevron-right", "chev")}Show exactly what is sent</summary><${Pages} text=${json(args)} name="Exact arguments" /></details>`;
}

// Decision is what can be answered about a call, and the reason where it is not to be. Ctrl
// Enter gives the answer: in the field for a reason that is a refusal, once there is one.
function Decision({ id, tool, answer, note, isSent }) {
  const [why, setWhy, give] = useTyped(id, answer);
  const no = useRef(null);
  const refuse = () => give({ allow: "no", ...(why.trim() && { text: why.trim() }) });
  const keys = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation(); // the card would allow it
    if (why.trim()) no.current.click(); // as a click, after which the focus is moved on
  };
  return html`<label class="field" onKeyDown=${keys}><span class="hidden">Why not, or what instead</span><input dir="auto" value=${why} placeholder="If not: why, or what instead" aria-label="Why not, or what instead" data-of=${id} onInput=${(e) => setWhy(e.target.value)} /></label>
    <p class="tiny dim" id=${"covers" + id}>“Allow in this conversation” lets everybody here <b>${kindOf(tool)}</b>, whatever is sent, without asking you again.</p>
    ${note}<div class="row wrap end"><button type="button" class="primary" disabled=${isSent} onClick=${() => give({ allow: "once" })}>Allow once</button>
      <button type="button" disabled=${isSent} aria-describedby=${"covers" + id} onClick=${() => give({ allow: "session" })}>Allow in this conversation</button>
      <button type="button" class="ghost danger" ref=${no} disabled=${isSent} onClick=${refuse}>Do not allow</button></div>`;
}

// Approval asks before something is done. What exactly is sent can be seen before the
// answer.
function Approval({ item, agent, acts, id, openFile }) {
  const card = useFocus();
  const [give, note, isSent] = useAnswer(acts, item);
  useApp();
  // What is allowed in the whole conversation is so for every card about the same tool, and
  // nobody decides on them any more: granted has the question that was answered.
  const granted = (acts.granted ??= new Map());
  const answer = (values, done) => give(values, done).then((is) => (is && values.allow === "session" && (granted.set(item.tool, item.ask.id), update()), is));
  const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), answer({ allow: "once" }));
  // What was begun before this came is no answer to it: it is sent once this is decided.
  const [begun, setBegun] = useState(false);
  useEffect(() => {
    if (!document.querySelector(".composer textarea")?.value) return;
    acts.begun = item.key;
    setBegun(true);
  }, []);
  const by = granted.get(item.tool);
  if (by) return html`<${Settled} state="done">${decided(true, agent, item.tool, item.arguments)}${reach(by !== item.ask.id, "session")}<//>`;
  return html`<section class="needs" ref=${card} tabindex="-1" aria-label="Approval" onKeyDown=${keys}><header>${icon("shield-check")}${agent.name} asks before doing this</header><div>
    <h3>${asOrder(item.tool, item.arguments)}?</h3>
    <${Exactly} agent=${agent} tool=${item.tool} args=${item.arguments} question=${item.question} over=${replaces(item.tool, item.arguments, openFile?.has)} />
    ${begun && html`<p class="small dim">What you had begun to write waits until you have decided.</p>`}
    <${Decision} id=${keyOf(id, item)} tool=${item.tool} answer=${answer} note=${note} isSent=${isSent} /></div></section>`;
}

// ApprovalAtHome is the same outside of the conversation, whose files are asked for:
// until it is known whether one would be replaced, there is nothing to agree to.
export function ApprovalAtHome({ id, q, agent, answer }) {
  const [files, setFiles] = useState(null), part = useRef(null);
  const [give, note, isSent] = useAnswer({ answer }, q);
  usePlace(part);
  useEffect(() => {
    const known = (list) => setFiles(new Set(list));
    if (!writers.includes(q.tool)) known([]);
    else Promise.all([api.files(id), api.documents().catch(() => ({ files: [] }))]).then(([own, shared]) => known([...own.files.map((f) => f.path), ...shared.files.map((f) => "/" + f.path)]), () => known([]));
  }, [id, q.id]);
  if (!files) return html`<div ref=${part}><${Bones} /></div>`;
  return html`<${Exactly} agent=${agent} tool=${q.tool} args=${q.arguments} question=${q.text} over=${replaces(q.tool, q.arguments, (path) => files.has(path) || files.has("/" + path))} />
    <${Decision} id=${keyOf(id, q)} tool=${q.tool} answer=${give} note=${note} isSent=${isSent} />`;
}

// ChoicesAtHome are the first choices of a question outside of its conversation, and the way there.
export function ChoicesAtHome({ id, q, answer }) {
  const [give, note, isSent] = useAnswer({ answer }, q), part = useRef(null);
  usePlace(part);
  const lead = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // to another window
    event.preventDefault();
    goTo(talkAddress(id), answerPlace(q));
  };
  return html`${note}<div class="row wrap end" ref=${part}>${(q.several ? [] : q.choices ?? []).slice(0, 4).map((choice) => html`<button type="button" class="chip out" key=${choice.label} disabled=${isSent} onClick=${() => give({ choice: choice.label })}>${nameOfChoice(choice)}</button>`)}<a class="btn ghost sm" href=${talkAddress(id)} onClick=${lead}>${q.choices?.length && !q.several ? "Something else…" : "Answer"}</a></div>`;
}

// inShort is a question without the change that it shows and what to type for an answer:
// both are where the decision is made.
const inShort = (question) => question.split(/^`{3,}diff$/m)[0].replace(/\s+(Answer|Put that right and answer|Then answer) "(?:go on|stop)"[^]*$/, "").trim();

function GateLink({ item, id }) {
  return html`<section class="needs" aria-label="Gate"><header>${icon("hand")}A delivery waits for your decision</header><div>
    <${Prose} text=${inShort(item.question)} /><div class="row end"><a class="btn primary" href=${`#/s/${id}/delivery`}>${icon("scan-search")}Look and decide</a></div></div></section>`;
}
