// What programs keep at the top of a document, between two lines of dashes: its properties (YAML
// front matter). People read what is below.

import { lex } from "./prose.js";
import { html, icon } from "./view.js";

const between = /^\uFEFF?---[ \t]*\r?\n((?:(?:[\w"'][^:\r\n]*:(?:[ \t].*)?|[ \t].*|-[ \t].*|#.*|)\r?\n)*)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;

// apart is a document in two: what is properties with the lines around it, and what is below.
function apart(text) {
  const [raw = "", inner = ""] = text.match(between) ?? [];
  return { raw, inner, below: text.slice(raw.length) };
}

// proseOf is a document without what is for programs: its properties and comments.
export const proseOf = (text) => apart(text).below.replace(/<!--[^]*?-->\s*/g, "");

// lexDocument reads a document into tokens, its properties into one of their own.
export function lexDocument(text) {
  const { raw, inner, below } = apart(text);
  return raw ? [{ type: "properties", raw, text: inner }, ...lex(below)] : lex(text);
}

// Properties are folded. What is written of them is set into it.
export const Properties = ({ children, open = false }) => html`<details class="did" open=${open}><summary class="acts">Properties${icon("chevron-down", "chev")}</summary>${children}</details>`;

export const drawProperties = (token, key) => html`<${Properties} key=${key}><pre tabindex="0"><code>${token.text}</code></pre><//>`;
