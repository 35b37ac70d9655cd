// Code with colours. Highlight.js marks it up as text, which is read here: its spans
// become elements, everything else stays text.

import { copy } from "./copy.js";
import { Component, h, html, icon, useEffect, useState } from "./view.js";
import core from "./lib/highlight/core.js";

const known = "bash c cpp csharp css diff dockerfile go graphql ini java javascript json kotlin lua makefile markdown nginx objectivec perl php plaintext powershell python r ruby rust scala shell sql swift typescript xml yaml".split(" ");
const aliases = { __proto__: null, js: "javascript", mjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript", py: "python", sh: "bash", zsh: "bash", console: "shell", yml: "yaml", md: "markdown", html: "xml", htm: "xml", svg: "xml", rs: "rust", rb: "ruby", kt: "kotlin", cs: "csharp", "c++": "cpp", h: "c", hpp: "cpp", toml: "ini", docker: "dockerfile", mk: "makefile", txt: "plaintext", text: "plaintext", ps1: "powershell", jsonl: "json" };
const names = { __proto__: null, bash: "Shell", cpp: "C++", csharp: "C#", css: "CSS", go: "Go", graphql: "GraphQL", ini: "INI", javascript: "JavaScript", json: "JSON", php: "PHP", sql: "SQL", typescript: "TypeScript", xml: "XML", yaml: "YAML", plaintext: "Text", diff: "Changes" };
const most = 60_000;

const resolved = (lang) => {
  const name = String(lang).toLowerCase();
  return known.includes(name) ? name : aliases[name] ?? "";
};

// colour returns the elements of code in a language, loading that first.
export async function colour(text, lang) {
  const name = resolved(lang);
  if (!name || text.length > most) return null;
  if (!core.getLanguage(name)) core.registerLanguage(name, (await import(`./lib/highlight/${name}.js`)).default);
  return elements(core.highlight(text, { language: name, ignoreIllegals: true }).value);
}

const characters = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
const text = (piece) => piece.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => characters[entity]);

// elements reads what highlight.js writes: spans with a class, nested, and text.
export function elements(markup) {
  const root = [], open = [root];
  for (const [, start, end, piece] of markup.matchAll(/<span class="([\w\s-]*)">|(<\/span>)|([^<]+)/g)) {
    if (piece !== undefined) open.at(-1).push(text(piece));
    else if (end) open.length > 1 && open.pop();
    else {
      const children = [];
      open.at(-1).push({ start, children });
      open.push(children);
    }
  }
  const made = (list) => list.map((item) => (typeof item === "string" ? item : h("span", { class: item.start }, made(item.children))));
  return made(root);
}

// Coloured shows code, plain until its colours are there. While open it stays plain.
export function Coloured({ text, lang, open }) {
  const [colours, setColours] = useState(null);
  useEffect(() => {
    let left = false;
    setColours(null);
    if (!open) colour(text, lang).then((made) => left || setColours(made), () => {});
    return () => {
      left = true;
    };
  }, [text, lang, open]);
  return html`<code>${colours ?? text}</code>`;
}

export class Code extends Component {
  shouldComponentUpdate(next, state) {
    return next.text !== this.props.text || next.lang !== this.props.lang || next.open !== this.props.open || state !== this.state;
  }

  render({ text, lang, open }, { copied }) {
    const name = resolved(lang);
    const act = () => copy(text, "").then((copied) => this.setState({ copied }));
    return html`<div class="code"><header><span class="grow">${names[name] ?? (name ? name[0].toUpperCase() + name.slice(1) : lang || "Text")}</span>
      <button type="button" class="ghost sm" onClick=${act}>${icon("copy")}${copied ? "Copied" : "Copy"}</button></header>
      <pre tabindex="0"><${Coloured} text=${text} lang=${lang} open=${open} /></pre></div>`;
  }
}
