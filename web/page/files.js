// The library: the project's documents, and the files of all conversations.

import { api, fileAddress } from "./shelf.js";
import { copy } from "./copy.js";
import { agentOf, app, can, isFlow, leaving, titleOf, toast } from "./state.js";
import { entryPoints } from "./home.js";
import { addFiles } from "./attach.js";
import { keepFiles } from "./attached.js";
import { Document, outsideOf, writerOf } from "./panel.js";
import { isText, Preview } from "./preview.js";
import { Trouble } from "./trouble.js";
import { nameOf, size, when } from "./format.js";
import { fileIcon, plainPath } from "./forms.js";
import { Marked, placeOf, quote } from "./found.js";
import { address, go, replace, talkAddress } from "./route.js";
import { askerOf } from "./steps.js";
import { boxWords, compared, counted, Lines, wordsIn } from "./changes.js";
import { takeFocus } from "./keys.js";
import { Rows } from "./rows.js";
import { Bones, Face, html, icon, useCalm, useEffect, useMemo, useRef, useState } from "./view.js";

const kinds = [["", "All", ""], ["document", "Documents", "file-text"], ["data", "Data", "table-2"], ["code", "Code", "file-code"], ["image", "Images", "image"]];

// mostAdded is how large a file may be that is added.
const mostAdded = 4 << 20;

// isAbout says that a conversation asks about a file: about one that a call would change, or in the
// midst of what it wrote last. all are the files that there are.
function isAbout({ id, agent, question }, f, all) {
  if (question?.kind === "question" && !isFlow(agent)) return f === all.filter((one) => (one.session ?? one.in) === id && !one.by_hand).sort((a, b) => (a.changed < b.changed ? 1 : -1))[0];
  const target = question?.arguments?.file_path ?? question?.arguments?.path;
  if (typeof target !== "string") return false;
  const path = plainPath(target), [, folder = "session-folder"] = target.match(/^\{\{?([\w-]+)/) ?? [];
  if (folder === "session-folder") return f.session === id && f.path === path;
  // Where the folders of a project are, its documents tell.
  return !f.session && (f.path === path || (f.in === id && f.path.endsWith("/" + path)));
}

// waitsAbout is the conversation that waits for an answer about a file.
const waitsAbout = (f, all) => [...app.sessions.values()].find((s) => isAbout(s, f, all));

// fileOf is a file of the library as one that is chosen from a disk. What is text is plain text to a
// model, whatever its name.
async function fileOf({ session, path }) {
  const bytes = await api.blob({ session, path });
  return new File([bytes], plainPath(path).split("/").at(-1), { type: /^(image\/(?!svg)|application\/pdf$)/.test(bytes.type) ? bytes.type : "text/plain" });
}

// calledIn is what a file is called in the list.
const calledIn = (f) => f.heading || nameOf(f.path);

// fromOf is what the conversation is called that a file is from.
const fromOf = ({ session, by, title }) => titleOf({ agent: app.sessions.get(session)?.agent ?? by, title });

// bothOf are the names of two files: where they have the same one, with the paths, or the
// conversations that they are from.
export const bothOf = (...two) => two.map((f, i) => {
  const name = calledIn(f), other = two[1 - i];
  if (name !== calledIn(other)) return name;
  return f.path !== other.path ? `${name} (${plainPath(f.path)})` : `${name} from ${f.session ? `“${fromOf(f)}”` : "the project’s documents"}`;
}).join(" and ");

export function Files({ route }) {
  const { q = "", kind = "", by = "", file: shownPath, session = "", doc } = route.query; // the one that is shown: of a session, or a document
  const [found, setLists] = useState(null);
  const loaded = useCalm(found);
  const lists = loaded && { ...loaded, files: loaded.files.filter((f) => !leaving.has(f.session)) };
  const [chosen, setChosen] = useState(new Map());
  const [compare, setCompare] = useState(null);
  const [version, setVersion] = useState(0);
  const picker = useRef(null);
  useEffect(() => setVersion(0), [shownPath, session, doc]);
  const set = (values) => replace(address(["files"], { ...route.query, ...values }));
  const changes = useMemo(() => JSON.stringify([...app.sessions.values()].map((s) => [s.id, s.updated, s.edited])) + app.documents, [app.sessions, app.documents]);
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => Promise.all([api.library({ q }), api.documents({ q })]).then(
      ([files, documents]) => left || setLists({ files: files.files, documents: documents.files }), (problem) => left || setLists((now) => (now && !now.problem ? now : { files: [], documents: [], problem }))), q ? 150 : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [q, changes, app.me]); // who was not connected knows everything anew
  const all = [...(lists?.documents ?? []), ...(lists?.files ?? [])];
  const authors = [...new Set(all.map((f) => f.by).filter(Boolean))];
  const fits = (f) => (!kind || f.kind === kind) && (!by || f.by === by);
  const key = (f) => (f.session ?? "") + "|" + f.path;
  const toggle = (f) => setChosen((before) => {
    const next = new Map(before);
    next.has(key(f)) ? next.delete(key(f)) : next.set(key(f), f);
    return next;
  });
  const add = async (list) => {
    const added = [];
    for (const file of list) {
      if (file.size > mostAdded) {
        toast(`${file.name} is too large: ${size(file.size)} of at most ${size(mostAdded)}`);
        continue;
      }
      const data = await new Promise((done) => Object.assign(new FileReader(), { onload: (e) => done(e.target.result.split(",")[1] ?? ""), onerror: () => done(null) }).readAsDataURL(file));
      const made = data === null ? null : await api.addDocument(file.name, data).catch((problem) => void toast(`${file.name} was not added: ${problem.message}`));
      if (made) added.push(made);
    }
    if (!added.length) return;
    toast(added.length === 1 ? `${nameOf(added[0].path)} is among the documents${added[0].version.number > 1 ? `, as version ${added[0].version.number}` : ""}` : `${added.length} files are among the documents`);
  };
  const zip = async () => {
    try {
      const url = URL.createObjectURL(await api.zip([...chosen.values()].map((f) => ({ ...(f.session && { session: f.session }), path: f.path }))));
      Object.assign(document.createElement("a"), { href: url, download: "files.zip" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (problem) {
      toast(problem.message);
    }
  };
  const two = async () => {
    const [a, b] = [...chosen.values()];
    const [before, after] = await Promise.all([api.text(a), api.text(b)]).catch((problem) => (toast(problem.message), []));
    if (before !== undefined) setCompare({ a, b, before, after });
  };
  // What is to be done with them is said first: they are in the box until then.
  const give = async (agent) => {
    try {
      const files = await addFiles([], await Promise.all([...chosen.values()].map(fileOf)), toast);
      const { id } = await api.create(agent);
      if (files.length) await keepFiles(id, files, []);
      go(talkAddress(id));
    } catch (problem) {
      if (problem.status !== 401) toast(problem.message);
    }
  };
  const open = (f) => set({ open: undefined, ...(f.session ? { file: f.path, session: f.session, doc: undefined } : { doc: f.path, file: undefined, session: undefined }) });
  const current = doc !== undefined ? { path: doc } : shownPath !== undefined ? { session, path: shownPath } : null;
  const pressed = (event, f) => {
    if (event.key === "Enter") current && key(f) === key(current) ? takeFocus(".lib .glance", ".lib .panel") : open(f);
    if (event.key === " " && event.target === event.currentTarget) event.preventDefault(), toggle(f); // and the list does not scroll
  };
  const files = (lists?.files ?? []).filter(fits);
  const documents = (lists?.documents ?? []).filter(fits);
  const row = (documents) => (f, i) => {
    const name = calledIn(f), where = placeOf(f.path, name), from = fromOf(f), talk = waitsAbout(f, all);
    const who = f.by_hand && (!f.by || f.by === app.me.name) ? "You" : f.by_hand ? f.by : f.by && agentOf(f.by).name;
    const inPlace = (words) => !documents && html`<span class="in-place">${words}</span>`; // of the column, where that has no room
    const below = f.found ? html`${inPlace(from + " · ")}${where && where + " · "}<${Marked} text=${quote(f.found)} words=${q.trim()} />`
      : documents ? html`<span class="phone-inline">${[who, when(f.changed)].filter(Boolean).join(", ")}${where && " · "}</span>${where}` : html`${inPlace(from)}<span class="phone-inline">, ${when(f.changed)}</span>${where && inPlace(" · ")}${where}`;
    return html`<tr key=${key(f)} tabindex="0" aria-rowindex=${i + 2} aria-selected=${chosen.has(key(f))} aria-current=${current && key(f) === key(current) ? "true" : undefined} onClick=${() => open(f)} onKeyDown=${(e) => pressed(e, f)}>
    <td class="tick" onClick=${(e) => e.stopPropagation()}><label><input type="checkbox" checked=${chosen.has(key(f))} aria-label=${`Choose ${f.path.replace(/[{}]/g, "")}`} onChange=${() => toggle(f)} /></label></td>
    <td><div class="row gap-3"><span class="page-i">${icon(fileIcon(f.path))}</span><div class="grow"><div class="row"><span class="cut strong">${name}</span>${talk && html`<span class="chip spot t">${askerOf(talk).name} asks</span>`}</div><div class="tiny faint cut">${below}</div></div></div></td>
    <td>${documents ? html`<span class="row">${f.by_hand ? html`<span class="face s you" aria-hidden="true">${(f.by || "Y")[0].toUpperCase()}</span><span class="cut">${f.by && f.by !== app.me.name ? f.by : "You"}</span>` : f.by ? html`<${Face} id=${f.by} name=${agentOf(f.by).name} size="s" /><span class="cut">${agentOf(f.by).name}</span>` : html`<span class="faint">from elsewhere</span>`}</span>` : html`<span class="row"><${Face} id=${f.by} name=${agentOf(f.by).name} size="s" /><span class="cut" title=${from}>${from}</span></span>`}</td>
    ${documents && html`<td class="num">${f.version}</td>`}<td class="num">${when(f.changed)}</td><td class="right num dim">${size(f.size)}</td></tr>`;
  };
  const isNothing = !q && !kind && !by && !all.length;
  const head = (second) => html`<thead><tr><th class="tick"><span class="hidden">Choose</span></th><th>Name</th><th>${second}</th>${second === "Last by" && html`<th>Version</th>`}<th>Changed</th><th class="right">Size</th></tr></thead>`;
  return html`<div class="bar"><h1 class="h-20">Files</h1><span class="grow"></span><label class="field search">${icon("search")}<input placeholder="Find by name or by what is inside" aria-label="Find by name or by what is inside" value=${q} onInput=${(e) => set({ q: e.target.value })} /></label>${can("documents") && html`<button type="button" onClick=${() => picker.current.click()}>${icon("plus")}<span>Add files</span></button><input class="hidden" type="file" multiple ref=${picker} tabindex="-1" aria-hidden="true" onChange=${(e) => add([...e.target.files]).finally(() => (picker.current.value = ""))} />`}</div>
    <div class=${"room lib" + (current ? (route.query.open ? " open" : "") : " solo")} onDrop=${(e) => can("documents") && add([...e.dataTransfer.files])}><div class="library">
      ${!isNothing && !lists?.problem && html`<div class="row wrap chips">${kinds.map(([name, words, drawing]) => html`<button type="button" key=${name} class=${"chip " + (kind === name ? "on" : "out")} aria-pressed=${kind === name} onClick=${() => set({ kind: name })}>${drawing && icon(drawing)}${words} ${all.filter((f) => !name || f.kind === name).length}</button>`)}<span class="grow"></span>
        ${authors.length > 1 && html`<label class="btn ghost sm pick">${icon("list-filter")}<span>${by ? agentOf(by).name : "Anyone"}</span><select aria-label="By whom" value=${by} onChange=${(e) => set({ by: e.target.value })}><option value="">Anyone</option>${authors.map((id) => html`<option key=${id} value=${id}>${agentOf(id).name}</option>`)}</select></label>`}</div>`}
      ${chosen.size > 0 && html`<div class="row card chosen" role="group" aria-label="What was chosen"><b class="small">${chosen.size} chosen</b><span class="grow"></span>
        ${chosen.size === 2 && html`<button type="button" class="ghost sm" onClick=${two}>${icon("git-compare-arrows")}Compare</button>`}
        <label class="btn ghost sm pick">${icon("message-square")}<span>Give to an agent</span><select aria-label="Give to an agent" value="" onChange=${(e) => e.target.value && give(e.target.value)}><option value="">Give to…</option>${entryPoints().filter((a) => !a.broken).map((a) => html`<option key=${a.id} value=${a.id}>${a.name}</option>`)}</select></label>
        <button type="button" class="primary sm" onClick=${zip}>${icon("archive")}Download as zip</button><button type="button" class="tool sm" title="Choose none" aria-label="Choose none" onClick=${() => setChosen(new Map())}>${icon("x")}</button></div>`}
      ${compare && html`<section class="card compare" aria-label="Comparison"><div class="row pad-s"><h3 class="grow">${bothOf(compare.a, compare.b)}</h3><button type="button" class="tool sm" aria-label="Close the comparison" onClick=${() => setCompare(null)}>${icon("x")}</button></div><${Lines} before=${compare.before} after=${compare.after} /></section>`}
      ${lists === null ? html`<${Bones} />` : lists.problem ? html`<${Trouble} code=${lists.problem.code} context=${{ detail: lists.problem.message }} />` : isNothing ? html`<section class="card pad empty">${icon("folder-open")}<h2 class="h-20">No file was saved yet</h2><p class="dim">Ask an agent for a document. ${can("documents") ? "The project’s documents, which every agent reads and writes, and what else conversations save are listed here." : "What conversations save is listed here."}</p><a class="btn primary" href="#/">Begin</a></section>` : html`
        ${can("documents") && html`<h2 class="h-17">The project’s documents</h2><p class="small faint">One of each name, which the agents of bundles read and write; older versions are kept. Other agents save into their conversation.</p>
          ${documents.length > 0 ? html`<table class="list" aria-rowcount=${documents.length + 1}>${head("Last by")}<${Rows} list=${documents} row=${row(true)} /></table>` : html`<p class="dim small">${q || kind || by ? "Nothing fits." : "There are none yet."}</p>`}`}
        <h2 class="h-17">From conversations</h2>
        ${files.length > 0 ? html`<table class="list talks" aria-rowcount=${files.length + 1}>${head("From")}<${Rows} list=${files} row=${row(false)} /></table>`
          : html`<p class="dim small">${q || kind || by ? "Nothing fits." : "No file was saved yet. Ask an agent for a document."}</p>`}`}</div>
      ${current && (route.query.open ? html`<aside class="panel over" aria-label="Document"><${Document} key=${key(current)} file=${current} version=${version} changed=${changes} choose=${setVersion} close=${() => set({ open: undefined })} /></aside>`
        : html`<aside class="panel over" aria-label="Document"><${Glance} key=${key(current)} file=${current} listed=${all.find((f) => key(f) === key(current))} changed=${changes} choose=${(v) => (setVersion(v), set({ open: 1 }))} close=${() => (document.querySelector(".library tr[aria-current]")?.focus(), set({ file: undefined, session: undefined, doc: undefined }))} /></aside>`)}</div>`;
}

// mostCounted is of how many versions the words are counted that each has changed.
const mostCounted = 6;

// broughtBack says which version another one by hand has brought back, "" for none.
export function broughtBack(version, all) {
  const earlier = all.filter((v) => v.number < version.number && v.known && v.sha256 === version.sha256).at(-1);
  return earlier ? `Version ${earlier.number} brought back` : "";
}

// Glance is a file at a glance: how it begins, its versions, who reads it.
function Glance({ file, listed, changed, choose, close }) {
  const [{ text, versions, counts, problem }, setState] = useState({ text: null, versions: [], counts: new Map(), problem: null });
  const isWords = isText(file.path), words = useMemo(() => (text ? wordsIn(text) : 0), [text]);
  useEffect(() => {
    let left = false;
    (async () => {
      const [found, now] = await Promise.all([api.versions(file).catch(() => []), isWords ? api.text(file) : ""]);
      if (left) return;
      setState({ text: now, versions: found, counts: new Map(), problem: null });
      if (!isWords) return;
      const known = found.filter((v) => v.known).slice(0, mostCounted + 1);
      const texts = await Promise.all(known.map((v) => api.text({ ...file, version: v.number })));
      const changes = new Map(known.slice(0, mostCounted).flatMap((v, i) => (i + 1 < known.length || v.number === 1 ? [[v.number, wordsChanged(texts[i + 1] ?? "", texts[i])]] : [])));
      if (!left) setState({ text: now, versions: found, counts: changes, problem: null });
    })().catch((trouble) => left || setState({ text: "", versions: [], counts: new Map(), problem: trouble }));
    return () => {
      left = true;
    };
  }, [file.session, file.path, changed]);
  if (problem) return html`<div class="bar"><div class="grow"><h2>${nameOf(file.path)}</h2></div><button type="button" class="tool sm" aria-label="Close" onClick=${close}>${icon("x")}</button></div><div class="sheet"><${Trouble} code=${problem.status === 404 ? "file_gone" : problem.code} context=${{ detail: problem.message }} /></div>`;
  const name = listed?.heading || nameOf(file.path);
  const readers = (listed?.readers ?? []).map((id) => agentOf(id).name);
  const talk = file.session ?? listed?.in;
  const beside = talk && app.sessions.has(talk) ? `#/s/${talk}?file=${encodeURIComponent(file.session ? file.path : "/" + file.path)}` : "";
  return html`<div class="glance" tabindex="0"><button type="button" class="tool sm desk-only corner" title="Close" aria-label="Close" onClick=${close}>${icon("x")}</button><div class="row phone-only"><button type="button" class="tool" aria-label="Back to the files" onClick=${close}>${icon("arrow-left")}</button></div>
    <div class="card beginning-of" aria-hidden="true" inert>${text === null ? html`<${Bones} />` : html`<${Preview} file=${file} text=${text.slice(0, 3000)} />`}</div>
    <h2 class="cut">${name}</h2>
    <p class="small dim">${[placeOf(file.path, name), listed && size(listed.size), words > 0 && `${words.toLocaleString("en")} ${words === 1 ? "word" : "words"}`].filter(Boolean).join(" · ")}</p>
    <div class="row wrap does-1"><button type="button" class="primary" onClick=${() => choose(0)}>${icon("eye")}Open</button>
      <a class="btn" href=${fileAddress(file)} download title="Download" aria-label="Download">${icon("download")}</a>
      ${isWords && html`<button type="button" title="Copy the text" aria-label="Copy the text" onClick=${() => copy(text ?? "")}>${icon("copy")}</button>`}
      <button type="button" title="Copy a link" aria-label="Copy a link" onClick=${() => copy(location.href, "The link is copied")}>${icon("link")}</button>
      ${beside && html`<a class="btn" href=${beside} title="Beside its conversation" aria-label="Open it beside its conversation">${icon("message-square")}</a>`}</div>
    ${versions.length > 0 && html`<h3 class="tiny faint">Versions</h3><div class="versions small">${versions.slice(0, 20).map((v) => html`<button type="button" class="bare row" key=${v.number} disabled=${!v.known} onClick=${() => choose(v.number === versions[0].number ? 0 : v.number)}>
      ${v.by_hand ? html`<span class="face s you" aria-hidden="true">${(v.by || "Y")[0].toUpperCase()}</span>` : html`<${Face} id=${v.by} name=${agentOf(v.by).name} size="s" />`}<b>${v.number}</b><span class="grow dim cut">${v.by_hand ? `${broughtBack(v, versions) || "Edited"} by ${v.by && v.by !== app.me.name ? v.by : "you"}` : v.number === 1 ? "First draft" : v.by ? `By ${writerOf(file, v)}` : `Changed ${outsideOf(file)}`}, ${when(v.at)}${v.known ? "" : " (not kept)"}</span>
      ${counts.has(v.number) && html`<span class="num"><span class="good">+${counts.get(v.number).added.toLocaleString("en")}</span>${counts.get(v.number).removed > 0 && html` <span class="bad">−${counts.get(v.number).removed.toLocaleString("en")}</span>`}${counts.get(v.number).boxes > 0 && html` ${boxWords(counts.get(v.number).boxes)}`}</span>`}</button>`)}</div>`}
    ${readers.length > 0 && html`<h3 class="tiny faint">Read by</h3><p class="small dim">${readers.join(", ")}</p>`}</div>`;
}

// wordsChanged counts the words that a version has added and removed.
const wordsChanged = (before, after) => (before.length + after.length > 400_000 ? { added: 0, removed: 0, boxes: 0 } : counted(compared(before, after)));
