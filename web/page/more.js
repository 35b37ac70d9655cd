// What else can be done with a conversation, behind one button.

import { get } from "./api.js";
import { api } from "./shelf.js";
import { editing, keeping } from "./draft.js";
import { plainPath } from "./forms.js";
import { held } from "./held.js";
import { keep, kept } from "./kept.js";
import { goTo, takeFocus } from "./keys.js";
import { talkAddress } from "./route.js";
import { app, dismiss, leaving, refresh, titleOf, toast, update } from "./state.js";
import { html, icon, lazy, useEffect, useRef, useState } from "./view.js";
import { forget, leave, wordsElsewhere } from "./windows.js";

const Related = lazy(() => import("./related.js"), "Related", () => null);

export function More({ here, info, route, delivers, flows, model, choose }) {
  const [open, setOpen] = useState(false);
  const [renaming, setRenaming] = useState(false);
  const [relating, setRelating] = useState(false);
  const dialog = useRef(null), button = useRef(null);
  const { id } = here;
  const title = info?.title || here.session.title, name = info ? titleOf(info) : title;
  useEffect(() => {
    if (!renaming) return;
    dialog.current?.showModal();
    dialog.current?.querySelector("input").select();
    return () => button.current?.focus(); // which the dialog has it from
  }, [renaming]);
  useEffect(() => {
    if (!open) return;
    const away = (event) => event.target.closest?.(".has-pop") || setOpen(false);
    const escape = (event) => event.key === "Escape" && (event.stopPropagation(), setOpen(false));
    addEventListener("pointerdown", away);
    addEventListener("keydown", escape, true);
    return () => (removeEventListener("pointerdown", away), removeEventListener("keydown", escape, true));
  }, [open]);
  const rename = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("title").trim();
    setRenaming(false);
    if (text) api.change(id, { title: text }).then(refresh, (problem) => toast(problem.message));
  };
  const act = (name, drawing, what, disabled = false) => html`<button type="button" class="opt" disabled=${disabled} onClick=${() => (setOpen(false), what())}>${icon(drawing)}<span class="grow">${name}</span></button>`;
  const view = (name, words, drawing) => html`<a class="opt phone-only" href=${talkAddress(id, name)} onClick=${() => setOpen(false)} aria-current=${route.view === name ? "true" : undefined}>${icon(drawing)}<span class="grow">${words}</span></a>`;
  const begun = here.session.seq > 0;
  // remove says what of a delivery stays in the repository, which only the server knows.
  const remove = async () => {
    const { stays } = delivers ? await get("api/deliveries/" + encodeURIComponent(id)).catch(() => ({})) : {};
    deleteSession(id, name, [...here.session.files.keys()].filter((path) => !/^(\/|\{(?!output\}))/.test(path)), stays);
  };
  return html`<span class="has-pop"><button type="button" ref=${button} class="tool" title="More" aria-label="More" aria-haspopup="true" aria-expanded=${open} onClick=${() => setOpen(!open)}>${icon("ellipsis")}</button>
    ${open && html`<div class="pop right" role="group" aria-label="More">
      ${delivers && view("delivery", "Delivery", "package-check")}${view("", "Conversation", "message-square")}${view("run", "Run", "activity")}${flows && view("flow", "Flow", "workflow")}
      ${act("Rename", "pencil", () => setRenaming(true), !begun)}
      ${!delivers && act(`Files of other conversations${info?.related?.length ? ` (${info.related.length})` : ""}`, "link", () => setRelating(true), !begun)}
      ${act(info?.pinned ? "Unpin" : "Pin", "pin", () => api.change(id, { pinned: !info?.pinned }).then(refresh), !begun)}
      ${act(info?.archived ? "Bring back from the archive" : "Archive", "archive", () => archive(id, name, !info?.archived), !begun)}
      ${here.session.files.size > 0 && html`<a class="opt" href=${api.zipOf(id)} download onClick=${() => setOpen(false)}>${icon("download")}<span class="grow">Download all files</span></a>`}
      ${act("Delete", "trash", remove)}</div>`}
    ${relating && html`<${Related} id=${id} info=${info} close=${() => setRelating(false)} />`}
    ${renaming && html`<dialog class="ask-dialog" ref=${dialog} aria-label="Rename" onClose=${() => setRenaming(false)}><form class="stack" onSubmit=${rename}><label class="small" for="new-title">New title</label>
      <label class="field edge"><input id="new-title" name="title" value=${title} dir="auto" maxlength="200" autocomplete="off" /></label><div class="row"><button class="primary">Rename</button><button type="button" class="ghost" onClick=${() => setRenaming(false)}>Cancel</button></div></form></dialog>`}</span>`;
}

// archive puts a conversation aside, or back, and says where it is.
function archive(id, title, archived) {
  const change = (to) => api.change(id, { archived: to }).then(refresh);
  const undo = () => (dismiss(said), change(!archived).catch((problem) => toast(problem.message)));
  let said = null;
  change(archived).then(() => (said = toast(archived ? `“${title}” is archived: below the other conversations, and in Find anything` : `“${title}” is back among the conversations`, undo)), (problem) => toast(problem.message));
}

// deleteSession takes a conversation away, for good only after a while, or when the page is left.
// Until then, whoever opens it has it back: what is written there must not go with it. What it
// does at the moment ends at once. Its own files go along: files are their paths, and stays says
// what does not. What somebody has written meanwhile in another tab, or with another program,
// keeps it: the server compares.
export function deleteSession(id, title, files = [], stays = "") {
  const { status, written } = app.sessions.get(id) ?? {};
  const runs = status === "running";
  const name = `“${title || "The conversation"}”`;
  const sessions = new Map(app.sessions);
  sessions.delete(id);
  leaving.add(id);
  update({ sessions });
  if (location.hash.includes(id)) goTo("#/", "#main h1");
  const stopped = runs ? api.cancel(id).catch(() => {}) : Promise.resolve(); // what has ended meanwhile is stopped, too
  const unwatch = () => removeEventListener("hashchange", opened, true);
  const back = () => (unwatch(), leaving.delete(id), stopped.then(() => api.session(id)).then(refresh, (problem) => toast(problem.message)));
  const undone = () => back().then(() => requestAnimationFrame(() => takeFocus(`a[href="${talkAddress(id)}"]`, "#main h1"))); // the button is gone
  const opened = () => location.hash.includes(id) && withdraw() && (back(), toast(`${name} is not deleted: you opened it again`));
  const forGood = (left) => {
    unwatch();
    if (left) clear(id), leave(); // nobody is there any more to do so later
    api.remove(id, written).then(() => clear(id), (problem) => back().then(() => toast(problem.code !== "written" ? problem.message : app.sessions.get(id)?.status === "running" ? `${name} is at work again, so it is not deleted` : `${name} is not deleted: something was written in it meanwhile`)));
  };
  const withdraw = held(`${name} ${runs ? "stopped and " : ""}deleted${files.length ? `, with its ${files.length === 1 ? `file ${plainPath(files[0])}` : `${files.length} files`}` : ""}${stays && `. ${stays}`}`, forGood, undone);
  addEventListener("hashchange", opened, true); // before the page goes there
}

// clear forgets the draft of a conversation that is deleted. What was typed there, perhaps in
// another tab, is kept in the box of the first screen, below what is there.
function clear(id) {
  const typed = (box) => [kept("own." + box), kept("draft." + box)];
  const here = [...typed(id), ...wordsElsewhere(id)], home = "home." + app.me.name, text = [...new Set([...typed(home), ...here])].filter(Boolean).join("\n\n");
  if (here.some(Boolean)) for (const key of ["own.", "draft."]) keep(key + home, text);
  for (const key of ["own.", "draft.", "sending.", ...editing]) keep(key + id, null);
  forget(id);
  keeping(id, [], null);
}
