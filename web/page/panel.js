// The panel beside a conversation: a document to read, what changed in it, its source;
// or the list of all files.

import { useVisit } from "./focus.js";
import { api, fileAddress, fileOf } from "./shelf.js";
import { copy } from "./copy.js";
import { agentOf, app, dismiss, nameAt, pipeline, toast, update } from "./state.js";
import { boxWords, Compared, compared, counted, Lines } from "./changes.js";
import { isText, kindOf, Listing, Preview, WithOutline } from "./preview.js";
import { keep, kept } from "./kept.js";
import { takeFocus } from "./keys.js";
import { useLooks } from "./looks.js";
import { Seek } from "./seek.js";
import { nameOf, size, when } from "./format.js";
import { fileIcon, titleOfFile } from "./forms.js";
import { placeOf } from "./found.js";
import { Trouble } from "./trouble.js";
import { Bones, html, icon, useCalm, useEffect, useMemo, useRef, useState } from "./view.js";

// Panel shows a file of a session, or with "*" the list of its files.
export function Panel({ session, path, route, saved, changed, open, close }) {
  const panel = useVisit(path);
  useEffect(() => (update(), () => void setTimeout(update)), []); // where toasts are depends on it
  return html`<aside class="panel over" ref=${panel} tabindex="-1" aria-label="Document">${path === "*" ? html`<${All} session=${session} saved=${saved} changed=${changed} open=${open} close=${close} />`
    : html`<${Document} key=${path} file=${fileOf(session, path)} changed=${changed} version=${Number(route.query.v) || 0} choose=${(v) => open(path, { v: v || undefined })} all=${() => open("*")} close=${close} />`}</aside>`;
}

function All({ session, saved, changed, close }) {
  const [found, setList] = useState(null);
  const list = useCalm(found);
  useEffect(() => {
    const documents = [...saved.values()].filter((f) => f.path.startsWith("/")).map((f) => ({ path: f.path, size: f.size, modified: f.time }));
    api.files(session).then((found) => setList([...documents, ...found.files.filter((f) => f.path !== "manifest.json")]), () => setList(documents));
  }, [session, changed]);
  return html`<div class="bar"><a class="btn tool phone-only" href="#" aria-label="Back to the conversation" onClick=${(e) => (e.preventDefault(), close())}>${icon("arrow-left")}</a><div class="grow"><h2>Files</h2></div>${list?.length > 0 && html`<a class="btn tool sm" href=${api.zipOf(session)} download aria-label="Download all" title="Download all">${icon("archive")}</a>`}<button type="button" class="tool sm desk-only" title="Close" aria-label="Close" onClick=${close}>${icon("x")}</button></div>
    <div class="sheet">${list === null ? html`<${Bones} />` : list.length === 0 ? html`<p class="dim">Nothing was saved in this conversation yet.</p>`
      : html`<ul class="recent">${list.map((f) => [f, titleOfFile(f.path, saved.get(f.path)?.description)]).map(([f, title]) => html`<li key=${f.path}><a href=${`#/s/${session}?file=${encodeURIComponent(f.path)}`}><span class="page-i">${icon(fileIcon(f.path))}</span><span class="grow"><span class="cut">${title}</span><span class="tiny faint cut">${[placeOf(f.path, title), f.path.startsWith("/") ? "a document of the project" : size(f.size)].filter(Boolean).join(" · ")}</span></span><span class="tiny faint">${when(f.modified)}</span></a></li>`)}</ul>`}</div>`;
}

// outsideOf is where a version was written that no agent of the conversation wrote, nor a person here. In
// a directory that was granted that may have been another conversation.
export const outsideOf = ({ path }) => (path.startsWith("{") ? "elsewhere" : "outside of Troupe");

// saves has Ctrl S, which browsers take otherwise, and Ctrl Enter save what is written.
const saves = (event) => {
  if (!(event.ctrlKey || event.metaKey) || !["s", "Enter"].includes(event.key)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
};

// isMade says of a file that a delivery has made it.
const isMade = ({ session, path }) => path.startsWith("{output}/") && app.sessions.get(session)?.agent === pipeline;

// writerOf is the agent who wrote a version of a file, as its conversation calls it: in a flow by its
// step and round.
export const writerOf = ({ session }, { by, node, round }) => nameAt(app.sessions.get(session)?.agent, node, round) || agentOf(by).name;

// useFile loads the text of a file in one version, and its versions.
function useFile(file, version, changed) {
  const [state, setState] = useState({ text: null, versions: [], problem: null });
  const looks = useLooks();
  useEffect(() => {
    const of = `${file.session} ${file.path} ${version}`;
    let left = false;
    (async () => {
      const versions = await api.versions(file).catch(() => []);
      const text = isText(file.path) ? await api.text({ ...file, version: version || undefined }) : "";
      if (!left) setState({ text, versions, problem: null, of });
    })().catch((problem) => left || setState((now) => (now.text !== null && now.of === of && problem.status !== 404 ? now : { text: "", versions: [], problem, of }))); // what is shown stays while nothing can be asked
    return () => {
      left = true;
    };
  }, [file.session, file.path, version, changed, looks, app.documents]);
  return [state, setState];
}

// Document shows a file with its versions. version 0 is the latest.
export function Document({ file, changed, version, choose, close, all = null }) {
  const [{ text, versions, problem }, setState] = useFile(file, version, changed);
  const calm = useCalm(text);
  const latest = versions[0]?.number ?? 1;
  const shown = version || latest;
  const [tab, setTab] = useState("Read");
  const [full, setFull] = useState(false);
  useEffect(update, [full]); // where toasts are depends on it
  const place = `edited.${app.me.name}.${file.session ?? ""}.${file.path}`;
  const [editing, setEdited] = useState(kept(place)); // { text, base }: base is the version that it changes
  useEffect(() => setEdited(kept(place)), [place]); // who this is may be known a moment later
  const setEditing = (now) => (setEdited(now), keep(place, now));
  const [seeking, setSeeking] = useState(false);
  const old = version > 0 && versions.length > 0 && version !== latest;
  const [isAway, setAway] = useState(false); // somebody who edits looks at what is saved
  const isEditing = editing !== null && !old && !isAway; // an older version is shown, not edited
  const write = () => requestAnimationFrame(() => { // the button that had the focus is gone
    document.querySelector(".editor textarea")?.setSelectionRange(0, 0); // where reading begins
    takeFocus(".editor textarea");
  });
  const edit = (now) => (setEditing(now), setAway(false), write());
  const goOn = () => (setAway(false), old && choose(0), write());
  const putAway = (words) => {
    const one = toast("Your changes are put away.", () => {
      dismiss(one); // once is enough
      const since = kept(place);
      if (since && since.text !== words.text) putAway(since); // nor is that lost
      edit(words);
    }, 10_000);
  };
  const drop = () => {
    if (editing.text !== text) putAway(editing);
    setEditing(null);
    requestAnimationFrame(() => takeFocus(".document .bar-2 [aria-label=Edit]:enabled", ".document .bar-2 [aria-pressed=true]"));
  };
  const followed = useRef(0);
  useEffect(() => { // whoever looks at the latest version, or edits it, goes on doing so
    if (versions.length && version && latest > version && (followed.current === version || editing?.base === version)) choose(0);
    followed.current = versions.length ? latest : 0;
  }, [latest, versions.length > 0, version]);
  const box = useRef(null);
  const changes = useChanges(file, text, shown, versions, tab === "Changes" && versions.length > 1);
  const title = kindOf(file.path) === "document" ? text?.match(/^#\s+(.+)$/m)?.[1]?.replace(/[*`_]/g, "") || nameOf(file.path) : nameOf(file.path);
  const info = versions.find((v) => v.number === shown), where = placeOf(file.path, title), base = where.split(" / ").at(-1);
  const reload = (done) => {
    const at = document.activeElement, panel = at === document.body ? document.querySelector(".panel") : at.closest(".panel"); // the button that has the focus goes
    if (panel) (panel.tabIndex = -1), panel.focus({ preventScroll: true });
    setState((s) => ({ ...s, text: null }));
    choose(0);
    api.versions(file).then(async (list) => setState({ versions: list, text: await api.text(file), problem: null }), () => {});
    toast(done);
  };
  const fetched = async () => ({ versions: await api.versions(file), text: await api.text({ ...file, version: version || undefined }), problem: null });
  const look = () => fetched().then(setState, (trouble) => toast(trouble.message));
  const save = (base) => editing.text === text ? (drop(), toast("Nothing was changed: no version was made.")) : api.edit(file, editing.text, base).then((v) => (setEditing(null), reload(`Saved as version ${v.number}`)), (trouble) => (trouble.code === "edited" ? look() : toast(trouble.message)));
  // A box that is ticked is a version at once; what fails shows the box as it was.
  const change = (to) => api.edit(file, to, latest).then(async (v) => (toast(`Saved as version ${v.number}`), setState({ text: to, versions: await api.versions(file), problem: null })), (trouble) => {
    toast(trouble.code === "edited" ? "Somebody saved another version meanwhile. Look at that one first." : trouble.message);
    setState((s) => ({ ...s, text: null }));
    fetched().catch(() => ({ text })).then((now) => setState((s) => ({ ...s, ...now })));
  });
  const restore = () => api.restore(file, shown).then((v) => reload(`Version ${shown} is back, as version ${v.number}`), (trouble) => toast(trouble.message));
  const text_ = isText(file.path), fixed = file.path.startsWith("{") && !isMade(file); // what is in the project is changed there
  const seekable = text_ && !isEditing && (tab !== "Read" || kindOf(file.path) !== "frame");
  const tabs = [text_ && "Read", text_ && versions.length > 1 && "Changes", text_ && "Source"].filter(Boolean);
  const pick = (where) => versions.length > 0 && html`<label class=${"btn sm pick " + where}>${icon("rotate-ccw-clock")}<span>${where === "phone-only" ? shown : `Version ${shown}`}</span>${icon("chevron-down")}<select aria-label="Version" value=${String(shown)} onChange=${(e) => choose(Number(e.target.value) === latest ? 0 : Number(e.target.value))}>${versions.map((v) => html`<option key=${v.number} value=${String(v.number)} disabled=${!v.known}>${v.number}, ${v.by_hand ? `by ${v.by || "you"}` : writerOf(file, v) || `changed ${outsideOf(file)}`}, ${when(v.at)}${v.known ? "" : " (not kept)"}</option>`)}</select></label>`;
  const tool = (name, drawing, act, more = "") => html`<button type="button" class=${"tool sm " + more} title=${name} aria-label=${name} onClick=${act}>${icon(drawing)}</button>`;
  return html`<div class=${"document" + (full ? " full" : "")}><div class="bar"><a class="btn tool phone-only" href="#" aria-label="Back to the conversation" onClick=${(e) => (e.preventDefault(), close())}>${icon("arrow-left")}</a>
      <div class="grow"><h2 class="cut">${title}</h2><div class="tiny faint row">${where && html`<span class="cut folder">${where.slice(0, -base.length)}</span><span class="cut">${base}</span>`}${info && `${where ? " · " : ""}saved ${when(info.at)}`}</div></div>
      ${pick("desk-only")}
      ${text_ && tool("Copy the text", "copy", () => copy(text ?? ""))}
      ${seekable && tool("Find in this document", "search", () => setSeeking(!seeking), "phone-only")}
      <a class="btn tool sm" href=${fileAddress(file) + (version ? `?version=${version}` : "")} download title="Download" aria-label="Download">${icon("download")}</a>
      ${tool(full ? "Beside the conversation" : "Full width", full ? "minimize-2" : "maximize-2", () => setFull(!full), "desk-only")}
      ${all && tool("All files", "folder-open", all, "desk-only")}
      ${tool("Close", "x", close, "desk-only")}</div>
    ${problem ? html`<div class="sheet"><${Trouble} code=${problem.status === 404 ? "file_gone" : problem.code} context=${{ detail: problem.message }} /></div>` : html`
    ${(tabs.length > 0 || versions.length > 0) && html`<div class=${"row bar-2" + (tabs.length || old ? "" : " phone-only")}>${tabs.length > 0 && html`<div class="seg" role="group" aria-label="How to look at it">${tabs.map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name && !isEditing} onClick=${() => (setTab(name), setAway(true))}>${name}</button>`)}${editing !== null && html`<button type="button" aria-pressed=${isEditing} onClick=${goOn}>Edit</button>`}</div>`}<span class="grow"></span>
      ${tab === "Changes" && !isEditing && versions.length > 1 && changes.known.length > 0 && html`<${Since} changes=${changes} shown=${shown} box=${box} />`}
      ${pick("phone-only")}
      ${old && !fixed && html`<button type="button" class="sm" onClick=${restore}>${icon("rotate-ccw-clock")}Bring back</button>`}
      ${seekable && tool("Find in this document", "search", () => setSeeking(!seeking), "desk-only")}
      ${text_ && fixed && html`<span class="tiny faint">Edited where it is: in the project</span>`}
      ${text_ && !fixed && tab !== "Changes" && !old && editing === null && html`<button type="button" class="ghost sm" aria-label="Edit" disabled=${text === null} onClick=${() => edit({ text, base: latest })}>${icon("pencil")}<span class="desk-only">Edit</span></button>`}</div>`}
    ${seeking && seekable && html`<${Seek} key=${tab} close=${() => setSeeking(false)} />`}
    ${editing !== null && !isEditing && html`<div class="row wrap card chosen" role="status"><span class="grow small">Your changes of version ${editing.base} are not saved yet. They are kept.</span><button type="button" class="sm" onClick=${goOn}>${icon("pencil")}Go on editing</button></div>`}
    ${isEditing ? html`<form class="editor" onKeyDown=${saves} onSubmit=${(e) => (e.preventDefault(), save(editing.base))}><textarea aria-label=${`Text of ${file.path}`} value=${editing.text} dir="auto" onInput=${(e) => setEditing({ ...editing, text: e.target.value })}></textarea>${latest > editing.base ? html`<${Clash} file=${file} theirs=${versions[0]} text=${text ?? ""} editing=${editing} save=${() => save(latest)} drop=${drop} />` : html`<div class="row pad-s"><button class="primary">Save a version</button><button type="button" class="ghost" onClick=${drop}>Cancel</button></div>`}</form>`
      : calm === null ? html`<div class="sheet"><${Bones} /></div>`
      : tab === "Changes" && versions.length > 1 ? html`<${Changes} changes=${changes} shown=${shown} box=${box} />`
      : tab === "Source" ? html`<div class="sheet flush"><${Listing} text=${text} lang=${file.path.split(".").at(-1)} /></div>`
      : html`<div class="sheet" tabindex="0"><${Preview} file=${{ ...file, version: version || undefined }} text=${text} change=${fixed || old || editing !== null ? undefined : change} /></div>`}`}</div>`;
}

// Clash says that another version was saved while somebody wrote theirs, and lets them choose.
function Clash({ file, theirs, text, editing, save, drop }) {
  const [compare, setCompare] = useState(false);
  const who = theirs.by_hand ? (theirs.by && theirs.by !== app.me.name ? theirs.by : "You") : writerOf(file, theirs) || "Somebody";
  return html`<div class="card clash" role="alert"><p class="small"><b>${who} saved version ${theirs.number} meanwhile</b>, ${when(theirs.at)}. What you write here changes version ${editing.base}. Save yours, and version ${theirs.number} is kept as well.</p>
    ${compare && html`<div class="scroll"><${Lines} before=${text} after=${editing.text} /></div>`}
    <div class="row wrap"><button type="button" class="primary" onClick=${save}>Save mine as version ${theirs.number + 1}</button><button type="button" onClick=${drop}>Take version ${theirs.number}</button><button type="button" class="ghost" aria-expanded=${compare} onClick=${() => setCompare(!compare)}>${compare ? "Hide the difference" : "Show the difference"}</button></div></div>`;
}

// useChanges compares the version that is shown with another one of a file, once that is wanted: with
// the one before it, or the one that somebody chooses. Changes lead from the older to the newer.
function useChanges(file, text, shown, versions, wanted) {
  const known = versions.filter((v) => v.known && v.number !== shown);
  const [chosen, setAgainst] = useState(0);
  const against = known.some((v) => v.number === chosen) ? chosen : known.find((v) => v.number < shown)?.number ?? 0;
  const [other, setOther] = useState(null);
  useEffect(() => {
    let left = false;
    setOther(null);
    if (wanted && against) api.text({ ...file, version: against }).then((found) => left || setOther(found), () => left || setOther(""));
    return () => {
      left = true;
    };
  }, [file.session, file.path, against, wanted]);
  const readable = kindOf(file.path) === "document";
  const [before, after] = against > shown ? [text, other] : [other, text];
  const units = useMemo(() => (before === null || after === null || !readable ? [] : compared(before, after)), [before, after]);
  return { known, against, setAgainst, before, after, readable, units, ...counted(units) };
}

// Since are the controls of a comparison: with which version, and from change to change.
function Since({ changes, shown, box }) {
  const jump = (by) => {
    const all = [...box.current.querySelectorAll("ins, del, .diff .a, .diff .d")];
    const at = all.findIndex((e) => e === document.activeElement);
    const next = all[(at + by + all.length) % all.length] ?? all[0];
    next?.setAttribute("tabindex", "-1");
    next?.focus();
    next?.scrollIntoView({ block: "center" });
  };
  const { known, against, setAgainst, before, after, readable, added, removed, boxes } = changes;
  const pick = html`<label class="btn sm pick since"><span>${against ? `${against > shown ? "Until" : "Since"} version ${against}` : "Compare with…"}</span>${icon("chevron-down")}<select aria-label="Compare with" value=${String(against)} onChange=${(e) => setAgainst(Number(e.target.value))}>${!against && html`<option value="0">Compare with…</option>`}${known.map((v) => html`<option key=${v.number} value=${String(v.number)}>version ${v.number}</option>`)}</select></label>`;
  if (!against) return pick;
  return html`${readable && before !== null && after !== null && html`<span class="tiny dim">${added + removed > 0 ? html`<span class="good">+${added}</span> <span class="bad">−${removed}</span> words${boxes > 0 && ", "}` : boxes === 0 && "No word is changed"}${boxWords(boxes)}</span>`}${pick}
    <span class="row"><button type="button" class="tool sm" aria-label="Change before" title="Change before" onClick=${() => jump(-1)}>${icon("chevron-up")}</button><button type="button" class="tool sm" aria-label="Next change" title="Next change" onClick=${() => jump(1)}>${icon("chevron-down")}</button></span>`;
}

// Changes shows what differs between two versions: in the rendered text, word by word.
function Changes({ changes, shown, box }) {
  const { known, against, before, after, readable, units } = changes;
  if (!known.length) return html`<div class="sheet"><p class="dim">No other version was kept.</p></div>`;
  if (!against) return html`<div class="sheet"><p class="dim">${shown === 1 ? "This is the first version." : "No earlier version was kept."}</p></div>`;
  return html`<div class="sheet" ref=${box} tabindex="0">${before === null || after === null ? html`<${Bones} />` : readable ? html`<${WithOutline} tokens=${units.filter((u) => u.kind !== "removed").map((u) => u.token)}><${Compared} units=${units} /><//>` : html`<${Lines} before=${before} after=${after} />`}</div>`;
}
