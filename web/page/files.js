// The session's files: a panel that lists them, and shows one rendered or raw.

import { api, fileAddress } from "./api.js";
import { html, useEffect, useState } from "./view.js";
import { size } from "./format.js";
import { Prose } from "./prose.js";

// Files is the panel. shown is the path of the file that is open, "" for the list;
// version goes up when files were saved.
export function Files({ id, shown, version, open, close }) {
  const [list, setList] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let stale = false;
    api.files(id).then(
      (found) => stale || (setList(found), setProblem("")),
      (failed) => stale || setProblem(failed.message));
    return () => { stale = true; };
  }, [id, version]);
  return html`<aside class="panel" aria-label="Files">
    <header class="row">
      ${shown && html`<button type="button" class="quiet" onClick=${() => open("")}>← All files</button>`}
      <h2>Files</h2>
      <button type="button" class="quiet" aria-label="Close files" onClick=${close}>×</button>
    </header>
    ${problem && html`<p class="note" data-level="error" role="alert">${problem}</p>`}
    ${shown ? html`<${File} key=${shown} id=${id} path=${shown} version=${version} />` : html`<${List} list=${list} id=${id} open=${open} />`}
  </aside>`;
}

function List({ list, id, open }) {
  const files = (list?.files ?? []).filter((f) => f.path !== "manifest.json");
  if (list && !files.length) return html`<p class="hint">The agent has saved nothing yet. What it saves appears here.</p>`;
  return html`<ul class="files">
    ${files.map((f) => html`<li key=${f.path} class="entry">
      <button type="button" class="link" onClick=${() => open(f.path)}>${f.path}</button>
      <span class="hint">${size(f.size)}</span>
      <a class="button quiet" href=${fileAddress(id, f.path)} download aria-label=${"Download " + f.path}>↓</a>
    </li>`)}
    ${list?.truncated && html`<li class="hint">There are more files than are listed here.</li>`}
  </ul>`;
}

function File({ id, path, version }) {
  const [text, setText] = useState(null);
  const [problem, setProblem] = useState("");
  const [raw, setRaw] = useState(!/\.(md|markdown)$/i.test(path));
  useEffect(() => {
    let stale = false;
    api.file(id, path).then((content) => stale || setText(content), (failed) => stale || setProblem(failed.message));
    return () => { stale = true; };
  }, [id, path, version]);
  const tab = (name, pressed, choose) => html`<button type="button" aria-pressed=${pressed} onClick=${choose}>${name}</button>`;
  return html`<section aria-label=${path}>
    <h3 class="path">${path}</h3>
    <div class="row" role="group" aria-label="How to show it">
      ${tab("Rendered", !raw, () => setRaw(false))}
      ${tab("Raw", raw, () => setRaw(true))}
      <a class="button" href=${fileAddress(id, path)} download>Download</a>
    </div>
    ${problem && html`<p class="note" data-level="error" role="alert">${problem}</p>`}
    ${text === null && !problem && html`<p class="hint">Loading…</p>`}
    ${text !== null && (raw ? html`<pre class="raw" tabindex="0" aria-label="Raw content">${text}</pre>` : html`<${Prose} text=${text} />`)}
  </section>`;
}
