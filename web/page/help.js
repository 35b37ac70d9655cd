// The list of what the keyboard does.

import { take } from "./focus.js";
import { inField, placesThere } from "./keys.js";
import { html, useEffect, useRef } from "./view.js";

const keys = () => [
  ["Ctrl K", "find anything"], ["Ctrl J", "new conversation"], [placesThere().map(([letter]) => "g " + letter).join(", "), placesThere().map(([, , name]) => name).join(", ")], ["[", "side bar"], ["]", "files beside the conversation"],
  ["Enter", "send"], ["Shift Enter", "new line"], ["↑", "in an empty box: edit the last message"], ["/", "what the agent can do"], ["@", "name another agent"], ["#", "name a file"], ["Esc", "close, else to the box"], ["Esc Esc", "stop"],
  ["Ctrl Shift C", "copy the last answer"], ["j, k", "next, previous turn or row"], ["w", "next thing that waits for you"], ["Ctrl Enter", "give the answer of the card"], ["m", "model"], ["?", "this list"],
];

export function Help({ close }) {
  const dialog = useRef(null);
  useEffect(() => {
    // A field that has the focus was given it since: in one, the key would have been a letter.
    const wasNowhere = document.activeElement === document.body || inField(document.activeElement);
    dialog.current.showModal();
    return () => void (wasNowhere && take(document.querySelector("#main h1"))); // in the box, the next letter would be a word's
  }, []);
  return html`<dialog class="ask-dialog" ref=${dialog} aria-label="Keyboard" onClose=${close}><h2>Keyboard</h2><dl class="keys" tabindex="0">${keys().map(([key, what]) => html`<div class="row" key=${key}><dt>${key.split(", ").map((one) => html`<kbd key=${one}>${one}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl>
    <p class="small dim">Single letters act only outside fields. They can be switched off in <a class="link" href="#/settings/look" onClick=${close}>this page’s settings</a>.</p><form method="dialog"><button class="primary" autofocus>Close</button></form></dialog>`;
}
