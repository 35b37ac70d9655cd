// Asking before something goes out of the configuration, with what that means.

import { operate } from "./operate.js";
import { address } from "./route.js";
import { agentOf, app, can, toast } from "./state.js";
import { html, useEffect, useRef, useState } from "./view.js";

// usedWords says in people's words which settings name something, with a way to where each
// is changed on the page.
function usedWords(key) {
  const [, id, what] = /^agents\.(.+)\.(model|tools)$/.exec(key) ?? [];
  if (key === "model") return html`<a class="link" href="#/settings/models">the usual model</a>`;
  if (what === "model" && id !== "*") return html`<a class="link" href=${address(["settings", "agents", id])}>the model of ${agentOf(id).name}</a>`;
  if (what === "tools" && id !== "*") return html`the tools of ${agentOf(id).name} (<code>${key}</code> in <code>troupe.yaml</code>)`;
  if (key === "--model") return html`<code>--model</code> on the command line`;
  if (key === "TROUPE_MODEL") return html`the variable <code>TROUPE_MODEL</code>`;
  return html`<code>${key}</code> in <code>troupe.yaml</code>`;
}

// Removal is the question itself. Where something is in the way there is nothing to decide.
function Removal({ name, obstacle, meaning, keeps = "Keep it", remove, done, close }) {
  const dialog = useRef(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const row = useRef(document.activeElement?.closest(".rows > div")); // what is to be removed
  useEffect(() => dialog.current.showModal(), []);
  // removed leaves the focus to the next row, or the one before, or else to what heads them.
  const removed = () => {
    const heirs = [row.current?.nextElementSibling, row.current?.previousElementSibling].map((other) => other?.querySelector("button:enabled")), heading = document.querySelector(".set h2");
    dialog.current.close(); // until then nothing else can have it
    heading.tabIndex = -1;
    (heirs.find(Boolean) ?? heading).focus();
    done();
  };
  const act = () => {
    setBusy(true);
    remove().then(removed, (trouble) => (trouble.code === "stale" ? (toast(trouble.message), close()) : (setWrong(trouble.message), setBusy(false))));
  };
  const keep = () => dialog.current.close(); // whoever had the focus before has it again
  const title = obstacle ? `${name} cannot be removed now` : `Remove ${name}?`;
  return html`<dialog class="ask-dialog removal" ref=${dialog} aria-label=${title} onClose=${close} onClick=${(e) => e.target.closest("a") && close()}><h2>${title}</h2>
    ${obstacle ?? html`<ul>${meaning.filter(Boolean).map((text, i) => html`<li key=${i}>${text}</li>`)}</ul>`}
    ${wrong && html`<p class="bad small" role="alert">${wrong}</p>`}
    <div class="row wrap">${obstacle ? html`<button type="button" class="primary" onClick=${keep}>Close</button>` : html`<button type="button" onClick=${keep}>${keeps}</button><button type="button" class="danger" disabled=${busy} onClick=${act}>Remove ${name}</button>`}</div></dialog>`;
}

const InUse = ({ list, text }) => html`<p>${text}</p><ul>${list.map((key) => html`<li key=${key}>${usedWords(key)}</li>`)}</ul>`;

// RemoveProvider asks whether a provider is to go, with its key.
export function RemoveProvider({ provider: p, usual, done, close }) {
  const title = p.title || p.name;
  const known = app.models.filter((m) => m.provider === p.name).length;
  const answers = !usual?.value && (usual?.usual ?? "").split("/")[0] === p.name;
  const obstacle = p.used_by?.length ? html`<${InUse} list=${p.used_by} text="Its models are in use. Choose others first for:" />` : p.kept ? html`<p>It is not set up on this page: ${p.kept}. Take the variable away there, and start Troupe anew.</p>` : null;
  const meaning = [
    answers ? "It answers now, because nobody has chosen a model. Another provider that is set up answers then; without one, agents only rehearse." : "Neither the usual model nor an agent uses it.",
    known > 0 && `${known === 1 ? "Its model" : `Its ${known} models`} cannot be chosen any more. A conversation that was given one has to choose another.`,
    p.has_key && (p.key_kept ? `Its key stays: ${p.key_kept}.` : "Its key is removed from the keys file (.env), too. There is no other copy: to come back, you paste it again."),
    html`Its lines go out of <code>troupe.yaml</code>. All else in the file stays, with its comments.`,
    "An answer that is being written is finished.",
  ];
  return html`<${Removal} name=${title} obstacle=${obstacle} meaning=${meaning} remove=${() => operate.removeProvider(p.name)} done=${done} close=${close} />`;
}

// RemoveToolServer asks whether a tool server is to go.
export function RemoveToolServer({ server: s, done, close }) {
  const obstacle = s.used_by?.length ? html`<${InUse} list=${s.used_by} text="It is named by the settings below, which would be wrong without it. Take it out of them first, or switch it off instead:" />` : null;
  const meaning = [
    s.tools.length > 0 && `Agents that may use any tools lose ${s.tools.length === 1 ? "its one" : `its ${s.tools.length}`}.`,
    html`Its lines go out of <code>troupe.yaml</code>. All else in the file stays, with its comments, and so do variables in <code>.env</code> that it uses.`,
    s.program ? html`Troupe starts this program, so it can only be added again in <code>troupe.yaml</code>: a page must not be able to run programs.` : "It can be added again by its address.",
    "What you accepted of its tools stays on record: a server that is called the same later is compared with it.",
  ];
  return html`<${Removal} name=${s.name} obstacle=${obstacle} meaning=${meaning} remove=${() => operate.removeTools(s.name)} done=${done} close=${close} />`;
}

// RemovePerson asks whether somebody is not to come in any more.
export function RemovePerson({ person: p, done, close }) {
  const meaning = [
    `${p.name} cannot sign in any more, and is signed out everywhere at once.${p.operator ? ` ${p.name} is an operator no longer, either.` : ""}`,
    html`Nothing that ${p.name} has made is deleted. The conversations and files${can("documents") && !app.me.shared_documents ? ", and the documents," : ""} stay, but nobody sees them on this page any more; <code>troupe sessions</code>, on the machine that Troupe runs on, lists the conversations.`,
    `Whoever is added as ${p.name} later can be given them: you are asked then.`,
    "An answer that is being written is finished.",
    html`The name goes out of <code>troupe.yaml</code>, and the access code out of <code>.env</code>. All else in these files stays.`,
  ];
  return html`<${Removal} name=${p.name} meaning=${meaning} keeps=${`Keep ${p.name}`} remove=${() => operate.removePerson(p.name)} done=${done} close=${close} />`;
}
