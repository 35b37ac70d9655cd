// Markdown as elements. Marked's lexer reads it; what its tokens become is decided here,
// element by element: no text of a model's ever becomes markup.

import { Lexer, Marked } from "./lib/marked.js";
import { Component, Fragment, h, html, icon, lazy, speaks, styled } from "./view.js";

const bare = ({ text }) => html`<div class="code"><header></header><pre tabindex="0"><code>${text}</code></pre></div>`;
const Code = lazy(() => styled(() => import("./code.js")), "Code", bare);
const Formula = lazy(() => styled(() => import("./math.js")), "Formula", ({ text }) => html`<code>${text}</code>`);
const Diagram = lazy(() => styled(() => import("./diagram.js")), "Diagram", bare);

// extensions are mathematics, $$..$$, \[..\] and \(..\), and what is folded.
const extensions = [
  { name: "formulaBlock", level: "block", start: (src) => src.search(/\$\$|\\\[/), tokenizer: (src) => taken(src.match(/^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/), true) },
  { name: "formulaInline", level: "inline", start: (src) => src.search(/\$\$|\\\(/), tokenizer: (src) => taken(src.match(/^(?:\$\$([^\n]+?)\$\$|\\\(([^\n]+?)\\\))/), false) },
  { name: "details", level: "block", tokenizer: folded },
];
const taken = (m, display) => m && { type: "formula", raw: m[0], text: (m[1] ?? m[2]).trim(), display };

// folded takes <details> with a summary up to its end, or to the end of all. Nobody folds
// deeper than eight times: the rest is text.
let folds = 0;
function folded(src) {
  if (folds === 8) return;
  const [head, open, summary] = src.match(/^ {0,3}<details( open)?>\s*<summary>(.*?)<\/summary>/i) ?? [];
  if (!head) return;
  const rest = src.slice(head.length);
  // Those in code are none.
  const ends = /^ {0,3}(```+|~~~+)[^]*?(?:^ {0,3}\1|$(?![^]))|(<\/details>)|<details\b/gim;
  let depth = 1;
  const end = [...rest.matchAll(ends)].find((m) => !m[1] && (depth += m[2] ? -1 : 1) === 0), to = end?.index ?? rest.length;
  folds++;
  const tokens = this.lexer.blockTokens(rest.slice(0, to));
  folds--;
  return { type: "details", raw: head + rest.slice(0, to) + (end?.[0] ?? ""), open, summary: this.lexer.inline(summary), tokens };
}

const marked = new Marked({ gfm: true });
marked.use({ extensions });

// What is longer than this, or nested deeper, is made to be hard to read: it is shown
// as the plain text that it is. The lexer's time grows with the square of a paragraph.
const mostText = 400_000;
const mostParagraph = 6_000;
const tooDeep = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])[ \t]?){24,}/m;

class Reader extends Lexer {
  inline(source, tokens = []) {
    if (source.length <= mostParagraph) return super.inline(source, tokens);
    tokens.push({ type: "text", raw: source, text: source });
    return tokens;
  }
}

const asText = (text) => ({ type: "paragraph", raw: text, tokens: [{ type: "text", raw: text, text }] });

// lex reads a text into tokens.
export function lex(text) {
  const head = text.slice(0, mostText);
  const tokens = tooDeep.test(head) ? [asText(head)] : new Reader(marked.defaults).lex(head);
  if (text.length > mostText) tokens.push(asText(text.slice(mostText)));
  return tokens;
}

// Prose shows a text. One that grows is read from its last block on: what is complete
// is never touched again. openFile, where given, is what links to files do, and tasks are
// what an agent names by its triggers: { labelOf, ask }.
export class Prose extends Component {
  #whole = []; // tokens that are complete
  #length = 0; // and how much of the text they are
  #text = "";

  shouldComponentUpdate(next) {
    return next.text !== this.props.text || next.streaming !== this.props.streaming;
  }

  componentDidMount() {
    if (!this.props.streaming) speaks(this.base, this.props.text);
  }

  componentDidUpdate() {
    this.componentDidMount();
  }

  render({ text = "", streaming = false, openFile = null, tasks = null }) {
    if (!text.startsWith(this.#text.slice(0, this.#length))) {
      this.#whole = [];
      this.#length = 0;
    }
    this.#text = text;
    const rest = lex(text.slice(this.#length)).filter((token) => token.type !== "def");
    let open = rest;
    if (streaming) {
      const last = rest.findLastIndex((token) => token.type !== "space");
      for (const token of rest.slice(0, Math.max(last, 0))) {
        this.#whole.push(token);
        this.#length += token.raw.length;
      }
      open = rest.slice(Math.max(last, 0));
    }
    const blocks = [...this.#whole, ...open].filter((token) => token.type !== "space");
    return html`<div class="prose" dir="auto">${blocks.map((token, i) => html`<${Block} key=${i} token=${token} open=${streaming && i === blocks.length - 1} openFile=${openFile} tasks=${tasks} />`)}</div>`;
  }
}

class Block extends Component {
  shouldComponentUpdate(next) {
    return next.token.raw !== this.props.token.raw || next.open !== this.props.open;
  }

  render({ token, ...at }) {
    return block(token, at);
  }
}

// block makes an element of a block token.
export function block(token, at = {}) {
  switch (token.type) {
    case "heading":
      return heading(token, inline(token.tokens, at), { id: at.anchor?.(token) });
    case "paragraph":
    case "text":
      return html`<p>${token.tokens ? inline(token.tokens, at) : token.text}</p>`;
    case "code":
      if (/^mermaid\b/.test(token.lang ?? "")) return html`<${Diagram} text=${token.text} open=${at.open} />`;
      return html`<${Code} text=${token.text} lang=${(token.lang ?? "").split(/\s/)[0]} open=${at.open} />`;
    case "blockquote":
      return html`<blockquote>${token.tokens.map((t) => block(t, at))}</blockquote>`;
    case "list":
      return h(token.ordered ? "ol" : "ul", { start: token.ordered && token.start !== 1 ? token.start : undefined, class: token.items.some((i) => i.task) ? "tasks" : undefined }, token.items.map((item) => listItem(item, at)));
    case "table":
      return table(token, at);
    case "hr":
      return html`<hr />`;
    case "formula":
      return html`<${Formula} text=${token.text} display=${true} />`;
    case "details":
      return html`<details class="did" open=${!!token.open}><summary class="acts">${inline(token.summary, at)}${icon("chevron-down", "chev")}</summary>${token.tokens.map((t) => block(t, at))}</details>`;
    case "html": {
      const raw = token.raw.replace(/<!--[^]*?-->|^(\s*<\/details>)+\s*/gi, "").trim();
      return raw ? html`<p>${inline([{ ...token, raw }], at)}</p>` : null;
    }
    case "space":
    case "def":
      return null;
    default:
      return html`<p>${token.raw ?? ""}</p>`;
  }
}

// heading is one level below what is written: the page has the first level itself.
export const heading = (token, content, more = {}) => h("h" + Math.min(token.depth + 1, 6), { class: "as" + Math.min(token.depth, 4), ...more }, content);

function listItem(item, at) {
  const tokens = (item.tokens ?? []).filter((token) => token.type !== "checkbox"), isList = (token) => token.type === "list";
  const drawn = (some) => some.map((token) => (token.type === "text" ? (token.tokens ? inline(token.tokens, at) : token.text) : block(token, at)));
  if (!item.task) return html`<li>${drawn(tokens)}</li>`;
  const tick = at.tick?.(item); // where the text can be changed
  return html`<li class="task"><label><input type="checkbox" checked=${!!item.checked} disabled=${!tick} aria-label=${tick ? undefined : item.checked ? "done" : "to do"} onChange=${tick} /><span>${drawn(tokens.filter((token) => !isList(token)))}</span></label>${drawn(tokens.filter(isList))}</li>`;
}

function table(token, at) {
  const cell = (tag) => (c, i) => h(tag, { class: token.align[i] === "right" ? "r" : undefined, scope: tag === "th" ? "col" : undefined }, inline(c.tokens, at));
  return html`<div class="wide" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${token.header.map(cell("th"))}</tr></thead>
    <tbody>${token.rows.map((row) => html`<tr>${row.map(cell("td"))}</tr>`)}</tbody></table></div>`;
}

// tags are the few of a text's own that stand for themselves.
const tags = ["sub", "sup", "kbd"];

// inline makes elements of inline tokens. Tags that are opened and closed hold what is
// between them; others are text.
function inline(tokens = [], at = {}) {
  const out = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token.type !== "html") {
      out.push(span(token, at));
      continue;
    }
    const tag = token.raw.match(/^<(\w+)>$/)?.[1]?.toLowerCase();
    const end = tags.includes(tag) ? tokens.findIndex((t, j) => j > i && t.type === "html" && t.raw.toLowerCase() === `</${tag}>`) : -1;
    if (end > 0) {
      out.push(h(tag, null, inline(tokens.slice(i + 1, end), at)));
      i = end;
    } else {
      out.push(/^<br\s*\/?>\s*$/i.test(token.raw) ? html`<br />` : token.raw);
    }
  }
  return out;
}

function span(token, at) {
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return h(token.type === "del" ? "s" : token.type, null, inline(token.tokens, at));
    case "codespan":
      return at.tasks?.labelOf(token.text) ? named(token.text, at) : html`<code>${plainNames(token.text)}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return link(token.href, inline(token.tokens, at), at);
    case "image":
      return html`<span class="dim">${icon("image")} ${link(token.href, token.text || "Image", at)}</span>`;
    case "formula":
      return html`<${Formula} text=${token.text} display=${token.display} />`;
    case "escape":
      return token.text;
    case "text":
      return token.tokens ? inline(token.tokens, at) : named(plainNames(unescaped(token.text)), at);
    default:
      return token.raw ?? "";
  }
}

// named has what an agent calls by a trigger, as in "type *create-brief", be called by
// its label, which asks for it; but where both are written, as in a list of all tasks.
function named(text, { tasks }) {
  if (!tasks || !text.includes("*")) return text;
  return text.split(/(?<![\w*])(\*[a-z][\w-]*\w)(?![\w*-])/i).map((piece, i) => (i % 2 && tasks.labelOf(piece) && !text.includes(tasks.labelOf(piece)) ? html`<button type="button" class="link" title=${piece} onClick=${() => tasks.ask(piece)}>“${tasks.labelOf(piece)}”</button>` : piece));
}

// link leads to the web, or to a file of the conversation; anywhere else it is text.
function link(href, content, at) {
  if (/^(https?:\/\/|mailto:)/i.test(href)) {
    return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${content}</a>`;
  }
  const path = href.replace(/^\.\//, "");
  if (at.openFile?.has(path)) return html`<button type="button" class="link" onClick=${() => at.openFile.open(path)}>${content}</button>`;
  return h(Fragment, null, content);
}

// plainNames takes the engine's names of places out of a text: people know files by
// their names.
export const plainNames = (text) => (text.includes("{") ? text.replace(/\{\{?(?:(?:session|output)[-_]folder|(?:bundle|core|project)[-_]root|(?:planning|implementation)_artifacts)\}?\}\//g, "") : text);

const entities = { __proto__: null, amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←" };

// unescaped reads the entities that people write.
const unescaped = (text) =>
  text.includes("&") ? text.replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(\w+));/gi, (all, dec, hex, name) => (dec ? point(+dec) : hex ? point(parseInt(hex, 16)) : entities[name] ?? all)) : text;

const point = (n) => (n > 31 && n < 0x110000 && !(n >= 0xd800 && n < 0xe000) ? String.fromCodePoint(n) : "\ufffd");

export const plain = (tokens = []) => tokens.map((token) => (token.tokens ? plain(token.tokens) : token.type === "br" ? " " : unescaped(token.text ?? ""))).join("");
