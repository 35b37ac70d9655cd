// Where messages are written: commands complete themselves, files can be dropped.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./view.js";
import { size } from "./format.js";

const mostFiles = 10;
const mostBytes = 8 << 20;

// Composer writes a message. The draft is { text, files }, which whoever shows the
// composer keeps. send and stop are what its buttons do.
export function Composer({ commands, draft, setDraft, running, send, stop, tell }) {
  const field = useRef(null);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState(false);
  const matching = closed ? [] : matches(commands, draft.text);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => setChosen(0), [draft.text]);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = Math.min(field.current.scrollHeight + 2, 240) + "px";
  }, [draft.text]);
  const complete = (command) => {
    setDraft({ ...draft, text: command.cmd + " " });
    field.current.focus();
  };
  const attach = async (list) => setDraft({ ...draft, files: await addFiles(draft.files, list, tell) });
  const submit = (event) => {
    event?.preventDefault();
    if (!running && (draft.text.trim() || draft.files.length)) send();
  };
  const keys = (event) => {
    if (event.isComposing) return;
    if (matching.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      setChosen((chosen + (event.key === "ArrowDown" ? 1 : matching.length - 1)) % matching.length);
    } else if (matching.length && (event.key === "Tab" || (event.key === "Enter" && matching[chosen].cmd !== draft.text.trim()))) {
      event.preventDefault();
      complete(matching[chosen]);
    } else if (event.key === "Escape" && matching.length) {
      event.stopPropagation();
      setClosed(true);
    } else if (event.key === "Enter" && !event.shiftKey) {
      submit(event);
    }
  };
  return html`<form class="composer" onSubmit=${submit} aria-label="Message">
    ${matching.length > 0 && html`<ul class="completion" id="completion" role="listbox" aria-label="Commands">
      ${matching.map((c, i) => html`<li key=${c.cmd} id=${"command-" + i} role="option" aria-selected=${i === chosen} onMouseDown=${(e) => (e.preventDefault(), complete(c))}>
        <code>${c.cmd}</code> <span class="hint">${c.description}</span>
      </li>`)}
    </ul>`}
    ${draft.files.length > 0 && html`<ul class="chips" aria-label="Attached files">
      ${draft.files.map((f) => html`<li key=${f.name}>${f.name} <button type="button" class="quiet" aria-label=${"Remove " + f.name}
        onClick=${() => setDraft({ ...draft, files: draft.files.filter((other) => other !== f) })}>×</button></li>`)}
    </ul>`}
    <div class="row">
      <label class="button quiet" title="Attach files"><span aria-hidden="true">+</span><span class="hidden">Attach files</span>
        <input class="hidden" type="file" multiple onChange=${(e) => (attach(e.target.files), (e.target.value = ""))} /></label>
      <textarea ref=${field} rows="1" aria-label="Your message" placeholder="Message or *command" value=${draft.text} dir="auto"
        role="combobox" aria-expanded=${matching.length > 0} aria-controls="completion" aria-autocomplete="list"
        aria-activedescendant=${matching.length ? "command-" + chosen : undefined}
        onInput=${(e) => (setClosed(false), setDraft({ ...draft, text: e.target.value }))} onKeyDown=${keys}
        onPaste=${(e) => e.clipboardData.files.length && (e.preventDefault(), attach(e.clipboardData.files))}></textarea>
      ${running
        ? html`<button type="button" class="danger" onClick=${stop}>Stop</button>`
        : html`<button class="primary" disabled=${!draft.text.trim() && !draft.files.length}>Send</button>`}
    </div>
  </form>`;
}

// matches are the commands that a text may become.
export function matches(commands, text) {
  if (!/^\*\S*$/.test(text)) return [];
  const typed = text.toLowerCase();
  const starred = commands.map((c) => ({ ...c, cmd: c.cmd.startsWith("*") ? c.cmd : "*" + c.cmd }));
  return starred.filter((c) => c.cmd.toLowerCase().startsWith(typed) && c.cmd.toLowerCase() !== typed).slice(0, 12);
}

// addFiles returns the files of a message with more of them, read and ready to be
// sent. What cannot be attached is told.
export async function addFiles(files, list, tell) {
  const added = [...files];
  for (const file of list) {
    if (added.length >= mostFiles) {
      tell(`A message has at most ${mostFiles} files.`);
      break;
    }
    if (file.size > mostBytes || file.size === 0) {
      tell(`${file.name} ${file.size ? `is larger than ${size(mostBytes)}` : "is empty, or a folder"}: it was not attached.`);
      continue;
    }
    added.push({ name: file.name, mime: typeOf(file), data: await encoded(file) });
  }
  return added;
}

// typeOf is the file's type. Browsers know few kinds of text.
function typeOf(file) {
  return file.type || (/\.(md|txt|csv|log|json|ya?ml|toml|xml|go|py|js|ts|sql|sh)$/i.test(file.name) ? "text/plain" : "application/octet-stream");
}

function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
