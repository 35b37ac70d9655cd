// What agents did in a turn: their calls, what they saved, and what can be done with an
// answer.

import { did, doing, done, isCutOff, isToldVain, isVain, times, written } from "./words.js";
import { capital, cost, hour, short, size } from "./format.js";
import { duration, fileIcon, pathWords, titleOfFile } from "./forms.js";
import { agentOf, inPerson, nameAt, pipeline } from "./state.js";
import { choosesModel } from "./models.js";
import { api, fileAddress, fileOf } from "./shelf.js";
import { plainNames } from "./prose.js";
import { askerIn } from "./steps.js";
import { isSaid } from "./turns.js";
import { isTried } from "./tries.js";
import { html, icon, lazy, speaks, useEffect, useRef, useState } from "./view.js";

const Call = lazy(() => import("./call.js"), "Call", ({ item }) => html`<div>${doing(item.tool, item.arguments, true)}</div>`);

// Calls is the one line of what tools did. It opens to a list, and each of that to what
// was sent and what came back.
export function Calls({ items, id }) {
  const [open, setOpen] = useState(false);
  const running = items.find((item) => item.state === "running");
  const failed = items.filter((item) => item.state === "failed" && !isToldVain(item)).length;
  const [lead, ...rest] = did(items);
  const vain = items.every(isVain);
  return html`<details class="did" open=${open} onToggle=${(e) => setOpen(e.currentTarget.open)}><summary class="acts">${icon(running ? "loader-circle" : vain ? "circle-x" : items.some(isCutOff) ? "circle-pause" : "circle-check", running ? "spin acc" : "")}
      <span>${running ? html`<b>${capital(doing(running.tool, running.arguments))}</b>` : html`<b>${lead}</b>${rest.map((part) => ", " + part)}`}${failed > 0 && html`<span class="faint"> (${failed === items.length ? "it did not work" : `${failed} did not work`})</span>`}</span>${icon("chevron-down", "chev")}</summary>
    <div class="steps">${open && inRows(items).map((row) => (row.length === 1 ? html`<${Call} key=${row[0].key} item=${row[0]} id=${id} />` : html`<details class="call" key=${row[0].key}><summary>${done(row[0])}${times(row.length)}</summary>${row.map((item) => html`<${Call} key=${item.key} item=${item} id=${id} />`)}</details>`))}</div></details>`;
}

// inRows puts calls together that follow each other and came to the same.
function inRows(items) {
  const rows = [];
  for (const item of items) {
    const last = rows.at(-1)?.[0];
    if (last && last.state === item.state && done(last) === done(item)) rows.at(-1).push(item);
    else rows.push([item]);
  }
  return rows;
}

// nearest is the version that was written when a card says: others may have the same content.
export const nearest = (list, time) => list.toSorted((a, b) => Math.abs(Date.parse(a.at) - Date.parse(time)) - Math.abs(Date.parse(b.at) - Date.parse(time)))[0];

const versions = new Map(); // promises of the versions of documents, by path and what is open

// versionOf is the version of a document that was saved, by its content: { number, isLatest },
// with no number where it was not kept. Others write the document, too, so what is known of its
// versions may be too old: they are then asked for once more, for all cards together.
async function versionOf({ path, sha, time }, shown) {
  const key = path + (shown.startsWith(path + " ") ? shown : "");
  const ask = () => versions.set(key, api.versions(fileOf("", path)).catch(() => [])).get(key);
  const find = (list) => {
    const number = nearest(list.filter((v) => v.known && v.sha256 === sha), time)?.number;
    return { number, isLatest: number !== undefined && number === list[0].number };
  };
  const before = versions.get(key) ?? ask(), found = find(await before);
  return found.number ? found : find(await (versions.get(key) === before ? ask() : versions.get(key)));
}

// SavedRow is a file that was saved. It opens the version that was saved then.
function SavedRow({ item, id, openFile }) {
  const [kept, setKept] = useState({ number: 0 });
  const isDocument = item.path.startsWith("/");
  useEffect(() => {
    let left = false;
    if (isDocument) versionOf(item, openFile.shown).then((found) => left || setKept(found));
    return () => {
      left = true;
    };
  }, [item.path, item.sha, openFile.shown]);
  const { number, isLatest } = isDocument ? kept : item;
  const place = useRef(null), [changed, setChanged] = useState("");
  // What a version has changed is found out where somebody sees it: the texts are asked for.
  useEffect(() => {
    if (!(number > 1)) return;
    let left = false;
    const seen = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      seen.disconnect();
      import("./sections.js").then(({ changeWords }) => changeWords(fileOf(id, item.path), number, item.size)).then((words) => left || setChanged(words), () => {});
    });
    seen.observe(place.current);
    return () => {
      left = true;
      seen.disconnect();
    };
  }, [number]);
  const { shown } = openFile, name = written[item.phase] ?? titleOfFile(item.path, item.description), [base, folder] = pathWords(item.path).split(" / ").reverse();
  const first = [base !== name && base, number ? `version ${number}` : number === undefined && "this version was not kept", changed].filter(Boolean).join(" · "), more = [folder, size(item.size), isDocument && "a document of the project"].filter(Boolean);
  return html`<div class="doc" ref=${place}>
    <button type="button" class="bare row grow" onClick=${() => openFile.open(item.path, number || undefined)}>
      <span class="leaf">${icon(fileIcon(item.path))}</span><span class="grow"><b><span class="hidden">Open </span>${name}</b><span class="small dim line"><span>${first}</span><span class="cut">${more.map((words, i) => (first || i > 0 ? " · " : "") + words).join("")}</span></span></span></button>
    ${(shown === `${item.path} ${number}` || (isLatest && shown.startsWith(`${item.path} -`))) && html`<span class="chip acc t">open</span>`}
    <a class="btn tool sm" href=${fileAddress(fileOf(id, item.path)) + (number ? "?version=" + number : "")} download title="Download" aria-label=${`Download ${item.path}`}>${icon("download")}</a></div>`;
}

// Saved is the card of what was saved: a document, or several files in rows.
export function Saved({ items, id, openFile }) {
  return html`<div class=${"docs" + (items.length > 1 ? " many" : "")}>${items.map((item) => html`<${SavedRow} key=${item.path} item=${item} id=${id} openFile=${openFile} />`)}</div>`;
}

const drawn = /^image\/(png|jpeg|gif|webp|avif)$/;
const mostShown = 20_000; // characters

// Attached is a file that went with a message: its name, and opened what is in it. A picture
// is there at once, small. What is on record without its content has a name only.
export function Attached({ part: { name, mime = "", data } }) {
  const [open, setOpen] = useState(false);
  const [kept, setKept] = useState(null);
  const isPicture = drawn.test(mime), isText = /^text\/|json$/.test(mime);
  useEffect(() => {
    if (!data) return;
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    // Only pictures keep their type: nothing else is ever opened as a page of ours.
    const place = URL.createObjectURL(new Blob([bytes], { type: isPicture ? mime : "application/octet-stream" }));
    setKept({ place, size: bytes.length, text: isText ? new TextDecoder().decode(bytes.subarray(0, mostShown * 4)) : "" });
    return () => URL.revokeObjectURL(place);
  }, [data]);
  const title = html`${icon("paperclip")} ${name || mime}`;
  if (!kept) return html`<p class="attachment small dim">${title}</p>`;
  return html`<details class="attachment small" onToggle=${(e) => setOpen(e.currentTarget.open)}><summary class="acts">${title} <span class="faint">${size(kept.size)}</span>${isPicture && !open && html`<img class="thumb" src=${kept.place} alt="" />`}</summary>
    ${open && (isPicture ? html`<img src=${kept.place} alt=${name || "The picture that was attached"} />` : isText ? html`<pre tabindex="0" dir="auto" aria-label=${name}>${kept.text.slice(0, mostShown)}</pre>${kept.text.length > mostShown && html`<p class="tiny faint">This is its beginning.</p>`}` : html`<p class="dim">It cannot be shown here.</p>`)}
    <a class="btn" href=${kept.place} download=${name || "attached"}>${icon("download")}Download</a></details>`;
}

// Opened is a line that opens to a text.
const Opened = ({ drawing, line, text }) => html`<details class="did"><summary class="acts">${icon(drawing)}<span>${line}</span>${icon("chevron-down", "chev")}</summary><div class="steps plain" dir="auto" ref=${(e) => speaks(e, text)}>${text}</div></details>`;

// Thought is what a model has thought before it said something.
export const Thought = ({ text }) => html`<${Opened} drawing="compass" line="Thought about it" text=${text} />`;

// Broken is what was said of an answer before it broke off, and was begun anew.
export function Broken({ item }) {
  const text = item.text || item.thought;
  return text && html`<${Opened} drawing="zap" line="This answer broke off, and was begun anew" text=${text} />`;
}

// Handed says to which step of a flow the work went, by the name that it has there, and where to look
// if a part of it has failed.
export const Handed = ({ item, flow }) => html`<div class="acts">${icon("arrow-right")}<span>Handed over to <b>${nameAt(flow, item.at, item.round) || agentOf(item.to).name}</b>${item.handoff?.metadata?.status === "partial" && html`, though not all was done: <a class="link" href=${location.hash.match(/^#\/s\/[^/?]*/) + "/flow"}>see where</a>`}</span></div>`;

// noted are the words of what is worth a line: that a conversation goes on from another, and
// that a step failed beside others that did not.
const noted = {
  __proto__: null,
  forked: ({ change }) => "This conversation goes on from another one. It has the files of that one as they were then; the project’s documents are as they are today." + (change ? ` What ${change.agent} is given was changed by ${change.user || "hand"}.` : ""),
  failed: ({ cause, agent }) => `${agentOf(agent).name} has no answer. ${cause?.problem?.sentence ?? "Its run says why."}`,
};

export const Note = ({ item }) => html`<div class="acts">${icon("info")}<span>${noted[item.code](item)}</span></div>`;

// SaidFoot is when a message was said, and what can be done with it.
export const SaidFoot = ({ item, idle, acts }) => html`<footer><time datetime=${item.time}>${hour(item.time)}</time>
  <button type="button" class="tool sm" title="Edit and try again" aria-label="Edit and try again" disabled=${!idle} onClick=${() => acts.edit(item)}>${icon("pencil")}</button>
  <button type="button" class="tool sm" title="Copy" aria-label="Copy the message" onClick=${() => acts.copy(item.text)}>${icon("copy")}</button></footer>`;

// asSeen is what a turn says, as its reader sees it.
export async function asSeen(items, session) {
  const { asText } = items.some((item) => item.phase) ? await import("./phase.js") : {}; // some browsers copy only while a click is handled
  return items.filter(isSaid).map((item) => (item.phase ? asText(item) : plainNames(item.agent === pipeline ? inPerson(item.text, session) : item.text)).trim()).join("\n\n");
}

// Foot is what can be done with an answer, and what it took. said are the items of its turn.
export function Foot({ answer, said, exchange, last, idle, acts, id }) {
  const took = exchange?.ended ? Date.parse(exchange.ended) - Date.parse(exchange.started) : NaN;
  const figures = [exchange?.tokens > 0 && `${short(exchange.tokens)} tokens`, cost(exchange?.cost), duration(took)].filter(Boolean).join(" · ");
  const button = (name, drawing, act, disabled = false) => html`<button type="button" class="tool sm" title=${name} aria-label=${name} disabled=${disabled} onClick=${act}>${icon(drawing)}</button>`;
  return html`${answer.text.startsWith("[rehearsal] No model") && html`<p class="small dim">Nobody has thought about this: no model is chosen. ${choosesModel()}</p>`}<footer>
    ${button("Copy the answer", "copy", async () => acts.copy(await asSeen(said, acts.session())))}
    ${last && button("Ask again", "refresh-cw", acts.again, !idle)}
    ${button("Go on from here in a new conversation", "git-branch", () => acts.fork(answer.end ?? answer.seq), !idle)}
    ${figures && html`<a class="btn ghost sm" href=${`#/s/${id}/run`} title="See what was sent">${figures}</a>`}
  </footer>`;
}

// Working says what the run does while nothing is to be seen of it.
export function Working({ session, acts }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const last = session.items.at(-1);
  const silent = Date.now() - Date.parse(last?.heard ?? last?.time ?? new Date());
  if ((last?.streaming && silent < 10_000) || last?.state === "running" || (last?.type === "retry" && isTried(last, session))) return null;
  const agent = askerIn(session.agent, session, last?.agent ? last : session);
  return html`<div class="acts working" role="status">${icon(silent > 180_000 ? "circle-alert" : "loader-circle", silent > 180_000 ? "wait" : "spin acc")}
    <span>${silent > 180_000 ? html`Nothing for ${duration(silent)}. Wait on, or <button type="button" class="link" onClick=${acts.stop}>stop</button>.` : silent > 60_000 ? html`The model has been thinking for <b class="num">${duration(silent)}</b>.` : silent > 10_000 ? html`Waiting for the model, <b class="num">${Math.floor(silent / 1000)} s</b>` : `${agent.name || "The agent"} is thinking`}</span></div>`;
}
