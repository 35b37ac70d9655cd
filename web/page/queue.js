// Messages that wait until the answer in the making is there. They live on the server.

import { api as talk } from "./api.js";
import { changingQueued, sends } from "./draft.js";
import { useKept } from "./fields.js";
import { kept } from "./kept.js";
import { api } from "./shelf.js";
import { toast } from "./state.js";
import { html, icon, useEffect, useRef } from "./view.js";

// why says for which reason a queue is held.
const why = {
  __proto__: null, // the reasons come from outside
  stopped: "the answer before was stopped", failed: "the answer before did not work out", asks: "you are asked something first", unfinished: "the answer before is not complete",
  interrupted: "the answer before was interrupted", unsent: "the next message could not be sent",
};

// Queue shows them. What somebody makes of one is kept in this window until the server has it; where
// the message went out meanwhile, or was removed, it goes into the box, and whoever types goes on
// there: see back.
export function Queue({ id, queue, setQueue, back }) {
  const [editing, setEditing] = useKept(changingQueued(id), null); // { number, text, was }
  const field = useRef(null);
  useEffect(() => { // the field has the focus for as long as it is there, and gives it back
    if (!editing) return;
    field.current?.focus();
    return () => requestAnimationFrame(() => document.getElementById("edit-queued-" + editing.number)?.focus());
  }, [editing?.number]);
  const trying = (what) => what().catch((problem) => toast(problem.message));
  const isThere = ({ messages }) => messages.some((m) => m.number === editing.number);
  useEffect(() => {
    if (!editing || isThere(queue)) return;
    let left = false;
    talk.queue(id).then((now) => {
      if (left) return; // it is asked again
      if (isThere(now)) return setQueue(now);
      const { text, was } = kept(changingQueued(id)); // as it was typed until now
      if (field.current === document.activeElement) document.querySelector(".composer textarea")?.focus();
      setEditing(null);
      if (text === was) return;
      back(text);
      toast("That message has gone out meanwhile, or was removed, as it was. What you made of it is in the box.");
    }, () => {});
    return () => {
      left = true;
    };
  }, [queue]);
  const remove = (m) => trying(async () => {
    await api.removeQueued(id, m.number);
    setQueue({ ...queue, messages: queue.messages.filter((other) => other !== m) });
  });
  const now = (m) => trying(async () => setQueue(await api.changeQueued(id, m.number, { now: true })));
  const save = (event) => {
    event.preventDefault();
    trying(async () => {
      const { number, text, was } = editing;
      let other = "";
      const changed = await api.changeQueued(id, number, { text, was }).catch(async (problem) => {
        if (problem.status !== 404 && problem.code !== "edited") throw problem;
        const now = await talk.queue(id); // it is gone: see above; or it was changed
        other = now.messages.find((m) => m.number === number)?.text ?? "";
        return now;
      });
      if (other) setEditing({ number, text: kept(changingQueued(id))?.text ?? text, was: other }), toast(`It was changed meanwhile to “${other.slice(0, 200)}”. Keep yours once more, or cancel.`);
      else if (isThere(changed)) setEditing(null);
      setQueue(changed);
    });
  };
  const keys = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") event.stopPropagation(), setEditing(null);
    else if (sends(event)) editing.text.trim() ? save(event) : event.preventDefault();
  };
  // What has gone out is there until what was made of it is in the box.
  const messages = !editing || isThere(queue) ? queue.messages : [{ number: editing.number, text: editing.was, attachments: [] }, ...queue.messages];
  if (!messages.length) return null;
  return html`<ul class="queues" aria-label="What is sent next">${queue.held && html`<li class="queue row">${icon("circle-pause")}<span class="grow">Held: ${why[queue.why] ?? "there is no answer yet"}.</span>${queue.why !== "asks" && html`<button type="button" class="sm" onClick=${() => now(queue.messages[0])}>Send ${queue.messages.length > 1 ? "them" : "it"}</button>`}</li>`}${messages.map((m, i) => html`<li class="queue row" key=${m.number}>${icon("corner-down-left")}
    ${editing?.number === m.number
      ? html`<form class="row grow" onSubmit=${save}><textarea ref=${field} class="grow" dir="auto" rows=${Math.min(8, editing.text.split("\n").length)} aria-label="Queued message" value=${editing.text} onInput=${(e) => setEditing({ ...editing, text: e.target.value })} onKeyDown=${keys}></textarea><button class="sm" disabled=${!editing.text.trim()}>Keep</button><button type="button" class="ghost sm" onClick=${() => setEditing(null)}>Cancel</button></form>`
      : html`<span class="cut grow">${i === 0 ? "Next: " : "Then: "}“${m.text || m.attachments.join(", ")}”</span>${m.text && m.attachments.length > 0 && html`<span class="tiny faint row" title=${m.attachments.join(", ")}>${icon("paperclip")}<span class="hidden">with </span>${m.attachments.length} ${m.attachments.length === 1 ? "file" : "files"}</span>`}
        <button type="button" class="tool sm" title="Send now" aria-label="Send now" onClick=${() => now(m)}>${icon("arrow-up")}</button>
        <button type="button" class="tool sm" title="Edit" disabled=${!!editing} id=${"edit-queued-" + m.number} aria-label="Edit the queued message" onClick=${() => setEditing({ number: m.number, text: m.text, was: m.text })}>${icon("pencil")}</button>
        <button type="button" class="tool sm" title="Remove" aria-label="Remove the queued message" onClick=${() => remove(m)}>${icon("x")}</button>`}</li>`)}</ul>`;
}
