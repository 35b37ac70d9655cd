// Where messages are written. What is typed survives whatever becomes of the page.

import { tasksOf } from "./state.js";
import { bring, html, icon, lazy, useEffect, useLayoutEffect, useRef, useState } from "./view.js";
import { empty, longPaste, sends } from "./draft.js";
import { count } from "./format.js";

const Attached = lazy(() => import("./attach.js"), "Attached", () => null);

// Composer writes a message to an agent. The draft is { text, files }, which whoever
// shows the composer keeps. send, queue and stop are what its buttons do.
export function Composer({ agent, draft, setDraft, running, waits = false, send, stop, files = [], context = null, hint = "", focus = true, editLast = null, model = null }) {
  const field = useRef(null);
  const picker = useRef(null);
  const [picked, setPicked] = useState({ text: "", menu: false, at: 0 });
  const [closed, setClosed] = useState(false);
  const [menu, setMenu] = useState(false);
  const [made, setMade] = useState(null); // by what offers are made, once it is there
  useEffect(() => void bring(() => import("./offers.js")).then(setMade), []);
  const offers = closed || !made ? [] : menu ? made.tasksFor(agent) : made.offersFor(agent, draft.text, files);
  // What was picked counts for what it was picked from.
  const chosen = picked.text === draft.text && picked.menu === menu && picked.at < offers.length ? picked.at : 0;
  const coarse = matchMedia("(pointer: coarse)").matches;
  const name = agent.name || agent.id;
  useEffect(() => {
    if (draft.instead || (focus && !coarse && !document.querySelector("[data-awaits]"))) field.current?.focus();
  }, [draft.instead]);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    if (draft.text) field.current.style.height = Math.min(field.current.scrollHeight, innerHeight * 0.4) + "px"; // empty, it is as high as its hint
  }, [draft.text]);
  const take = (offer) => {
    setMenu(false);
    if (offer.send) return send({ text: offer.send, files: [] });
    setDraft((d) => ({ ...d, text: d.text.replace(/[@#]\S*$/, offer.insert + " ") }));
    field.current.focus();
  };
  const attach = (list) => {
    const chosen = [...list]; // a copy: the field that they came from is emptied
    return import("./attach.js").then(({ put }) => put(chosen, draft, setDraft));
  };
  const submit = (event) => {
    event?.preventDefault();
    if (draft.text.trim() || draft.files.length) send(draft);
  };
  const keys = (event) => {
    if (event.isComposing) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (offers.length && move) {
      event.preventDefault();
      setPicked({ text: draft.text, menu, at: (chosen + move + offers.length) % offers.length });
    } else if (offers.length && (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey))) {
      event.preventDefault();
      if (offers[chosen].send) setDraft((d) => ({ ...d, text: "" }));
      take(offers[chosen]);
    } else if (event.key === "Escape" && (offers.length || menu)) {
      event.stopPropagation();
      setClosed(true);
      setMenu(false);
    } else if (event.key === "Escape" && draft.instead) {
      event.stopPropagation();
      setDraft((now) => now.aside ?? empty);
    } else if (event.key === "ArrowUp" && editLast && !draft.text && !draft.files.length) {
      event.preventDefault();
      editLast();
    } else if (sends(event)) {
      submit(event);
    }
  };
  const paste = (event) => {
    const { files: pasted } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    if (pasted.length) {
      event.preventDefault();
      attach(pasted);
    } else if (text.length > longPaste) {
      event.preventDefault();
      attach([new File([text], "pasted.txt", { type: "text/plain" })]);
    }
  };
  const used = context?.window ? context.used / context.window : 0;
  const empty = !draft.text.trim() && !draft.files.length;
  return html`<form class="composer" onSubmit=${submit} aria-label="Message">
    ${offers.length > 0 && html`<${made.Offers} name=${name} title=${menu || draft.text.startsWith("/")} offers=${offers} chosen=${chosen} take=${take} />`}
    ${draft.files.length > 0 && html`<${Attached} files=${draft.files} remove=${(f) => setDraft((d) => ({ ...d, files: d.files.filter((other) => other !== f) }))} />`}
    <textarea ref=${field} rows="1" aria-label=${`Message to ${name}`} placeholder=${hint || `Write to ${name}.${tasksOf(agent).length && !coarse ? ` / for what ${name} can do` : ""}`} value=${draft.text} dir="auto"
      aria-haspopup="listbox" aria-controls=${offers.length ? "offers" : undefined} aria-autocomplete="list" aria-activedescendant=${offers.length ? "offer-" + chosen : undefined}
      onInput=${(e) => (setClosed(false), setMenu(false), setDraft((d) => ({ ...d, text: e.target.value })))} onKeyDown=${keys} onPaste=${paste}></textarea>
    <div class="row">
      <button type="button" class="tool sm" title="Attach files" aria-label="Attach files" onClick=${() => picker.current.click()}>${icon("paperclip")}</button>
      <input class="hidden" type="file" multiple ref=${picker} tabindex="-1" aria-hidden="true" onChange=${(e) => attach(e.target.files).finally(() => (picker.current.value = ""))} />
      ${tasksOf(agent).length > 0 && html`<button type="button" class="ghost sm tasks" aria-expanded=${menu} onClick=${() => (setMenu(!menu), setClosed(false), field.current.focus())}>${icon("list")}<span class="desk-only">What ${name} can do</span><span class="phone-only">Tasks</span></button>`}
      ${model && html`<span class="phone-only">${model}</span>`}
      <span class="grow"></span>
      ${used > 0 && html`<span class="row tiny faint desk-only" title=${`${count(context.used)} of ${count(context.window)} tokens`}><span class="meter"><i style=${{ width: Math.max(2, used * 100) + "%" }}></i></span>${Math.round(used * 100)} %</span>`}
      ${running && empty
        ? html`<button type="button" class="primary send" aria-label="Stop" title="Stop" onClick=${stop}>${icon("square", "solid")}</button>`
        : html`${(running || waits) && html`<button type="button" class="ghost sm" aria-label="Stop" onClick=${stop}>${icon("square", "solid")}<span class="desk-only">Stop</span></button>`}
          <button class="primary send" aria-label=${running ? "Send after this answer" : "Send"} title=${running ? "Send after this answer" : "Send"} disabled=${empty}>${icon(running ? "corner-down-left" : "arrow-up")}</button>`}
    </div>
  </form>`;
}
