// The conversations whose files may be read in another one.

import { api } from "./api.js";
import { agentOf, byTime, refresh, titleOf, toast } from "./state.js";
import { when } from "./format.js";
import { Face, html, icon, useEffect, useRef, useState } from "./view.js";

// mostShown is how many conversations are offered at once; words narrow them down.
const mostShown = 40;

export function Related({ id, info, close }) {
  const dialog = useRef(null);
  const [chosen, setChosen] = useState(new Set(info?.related ?? []));
  const [words, setWords] = useState("");
  useEffect(() => dialog.current.showModal(), []);
  const fits = (s) => `${titleOf(s)} ${agentOf(s.agent).name}`.toLowerCase().includes(words.trim().toLowerCase());
  const others = byTime().filter((s) => s.id !== id && (chosen.has(s.id) || ((s.files ?? 0) > 0 && fits(s)))).slice(0, mostShown);
  const toggle = (other) => setChosen((before) => {
    const next = new Set(before);
    next.has(other) ? next.delete(other) : next.add(other);
    return next;
  });
  const save = (event) => {
    event.preventDefault();
    api.change(id, { related: [...chosen] }).then((changed) => {
      refresh(changed);
      toast(chosen.size ? `${agentOf(changed.agent).name} may read the files of ${chosen.size} other ${chosen.size === 1 ? "conversation" : "conversations"} from the next message on` : "Only the files of this conversation are read now");
      close();
    }, (problem) => toast(problem.message));
  };
  if (others.length === 0 && !words) return html`<dialog class="ask-dialog" ref=${dialog} aria-label="Files of other conversations" onClose=${close}><h2>Files of other conversations</h2>
    <p class="small dim">No other conversation has files yet that ${agentOf(info?.agent ?? "").name} could read. The project’s documents can be read everywhere.</p><div class="row"><button type="button" class="primary" autofocus onClick=${() => dialog.current.close()}>Close</button></div></dialog>`;
  return html`<dialog class="ask-dialog" ref=${dialog} aria-label="Files of other conversations" onClose=${close}><form class="stack" onSubmit=${save}><h2>Files of other conversations</h2>
    <p class="small dim">${agentOf(info?.agent ?? "").name} may read what was saved in the conversations that you choose. The project’s documents can be read everywhere.</p>
    <label class="field edge">${icon("search")}<input autofocus aria-label="Find a conversation" placeholder="Find a conversation" value=${words} onInput=${(e) => setWords(e.target.value)} /></label>
    <ul class="related">${others.map((s) => html`<li key=${s.id}><label class="row"><input type="checkbox" checked=${chosen.has(s.id)} onChange=${() => toggle(s.id)} /><${Face} id=${s.agent} name=${agentOf(s.agent).name} size="s" /><span class="cut grow" dir="auto">${titleOf(s)}</span><span class="tiny faint">${s.files} ${s.files === 1 ? "file" : "files"}, ${when(s.updated)}</span></label></li>`)}</ul>
    ${others.length === 0 && html`<p class="small dim">No other conversation has files${words ? " and is called so" : ""}.</p>`}
    <div class="row"><button class="primary">Save</button><button type="button" class="ghost" onClick=${close}>Cancel</button></div></form></dialog>`;
}
