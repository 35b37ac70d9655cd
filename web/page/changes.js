// Differences between texts, by jsdiff: by words inside rendered text, and by lines.

import { diffLines } from "./lib/diff/diff/line.js";
import Diff from "./lib/diff/diff/base.js";
import { block, heading, plain } from "./prose.js";
import { drawProperties, lexDocument, Properties } from "./properties.js";
import { h, html } from "./view.js";

// mostWords is how long a block may be whose words are compared.
const mostWords = 8000;

export const lines = (before, after) => diffLines(before, after);

const countWords = (text) => text.split(/\s+/).filter((piece) => /[\p{L}\p{N}]/u.test(piece)).length;

// turned says that a box was ticked in a change, or is not any more.
const turned = ({ was, token }) => !!was?.item?.task && !!token.item?.task && !!was.item.checked !== !!token.item.checked;

// counted is how many words were added and removed, and how many boxes ticked or not any more.
export function counted(units) {
  let added = 0, removed = 0;
  const boxes = units.filter(turned).length;
  for (const unit of units) {
    if (unit.kind === "added") added += countWords(textOf(unit.token));
    if (unit.kind === "removed") removed += countWords(textOf(unit.token));
    for (const part of unit.words ?? []) {
      if (part.added) added += countWords(part.value);
      if (part.removed) removed += countWords(part.value);
    }
  }
  return { added, removed, boxes };
}

// boxWords says how many boxes were turned, "" for none.
export const boxWords = (n) => (n > 0 ? `${n} ${n === 1 ? "box" : "boxes"}` : "");

// wordsIn is how many words a document has, by the rule by which changes of it are counted: what
// people read, without the marks of markdown.
export const wordsIn = (text) => unitsOf(text).reduce((sum, token) => sum + countWords(textOf(token)), 0);

const unitsOf = (text) => lexDocument(text).flatMap(split).filter((token) => !["space", "def"].includes(token.type) && !/^<!--[^]*?-->\s*$/.test(token.raw));
const textOf = (token) => (token.type === "properties" ? "" : token.type === "details" ? token.raw.replace(/<\/?(details|summary)[^>]*>/g, " ") : token.tokens ? plain(token.tokens) : token.text ?? token.raw ?? "");
const lineOf = (token) => JSON.stringify(token.number ? token.raw.trim().replace(/^\d+/, "1") : token.raw.trim()) + "\n"; // what is only numbered anew is the same

// compared sets two documents side by side, block by block: { kind, token, words }.
// Of blocks that were replaced, those of one type are paired in order, and their words
// compared.
export function compared(before, after) {
  const old = unitsOf(before), now = unitsOf(after), out = [];
  let i = 0, j = 0, gone = [];
  const flush = () => {
    for (const token of gone) out.push({ kind: "removed", token });
    gone = [];
  };
  for (const part of diffLines(old.map(lineOf).join(""), now.map(lineOf).join(""))) {
    const n = part.count;
    if (part.removed) {
      flush();
      gone = old.slice(i, i += n);
    } else if (part.added) {
      for (const token of now.slice(j, j += n)) {
        const at = gone.findIndex((other) => other.type === token.type);
        if (at < 0) {
          out.push({ kind: "added", token });
          continue;
        }
        for (const other of gone.splice(0, at)) out.push({ kind: "removed", token: other });
        const [was] = gone.splice(0, 1);
        out.push({ kind: "changed", token, was, words: wordsOf(was, token) });
      }
      flush();
    } else {
      flush();
      for (const token of now.slice(j, j += n)) out.push({ kind: "same", token });
      i += n;
    }
  }
  flush();
  return out;
}

// split makes units of the items of a list, so that one changed item is one change.
function split(token) {
  if (token.type !== "list") return [token];
  return token.items.map((item, i) => ({ type: "item", raw: item.raw, item, list: token, number: token.ordered && (token.start || 1) + i, tokens: item.tokens, text: item.text }));
}

// byWords compares what people take for words: a number with its sign and its commas is
// one, and of scripts that are written without spaces each character.
const byWords = Object.assign(new Diff(), {
  tokenize: (text) => text.match(/\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[.,;:!?…)\]"”’]+(?=\s|$)|(?:(?![.,;:!?…)\]"”’]+(?:\s|$))[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])+/gu) ?? [],
});

function wordsOf(was, token) {
  const a = textOf(was), b = textOf(token);
  return a.length + b.length > mostWords ? null : joined(byWords.diff(a, b));
}

// joined takes spaces between two changes into them, so that a phrase that was replaced
// is one change.
function joined(parts) {
  const out = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    const between = !part.added && !part.removed && (part.value.trim().length <= 4 && /\s/.test(part.value)) && out.length > 0 && (parts[i - 1].added || parts[i - 1].removed) && i + 1 < parts.length && (parts[i + 1].added || parts[i + 1].removed);
    if (!between) {
      out.push({ ...part });
      continue;
    }
    out.push({ value: part.value, removed: true }, { value: part.value, added: true });
  }
  const grouped = [];
  for (const part of out) { // what was removed goes before what was added
    if (!part.added && !part.removed) {
      grouped.push(part);
      continue;
    }
    const run = grouped.at(-1)?.run ?? null;
    const group = run ?? { run: true, removed: "", added: "" };
    if (!run) grouped.push({ run: group, group });
    group[part.added ? "added" : "removed"] += part.value;
  }
  return grouped.flatMap((part) => (part.group ? apart(part.group) : [part]));
}

// apart makes parts of what was removed and added at one place. Spaces around them are not marked:
// they are those that are there now, or were, where nothing is.
function apart({ removed, added }) {
  const gone = removed.trim(), come = added.trim(), outer = come || !gone ? added : removed;
  const [before, behind] = come || gone ? [outer.match(/^\s*/)[0], outer.match(/\s*$/)[0]] : [added, ""];
  return [{ value: before }, { value: gone, removed: true }, { value: come, added: true }, { value: behind }].filter((part) => part.value);
}

// Compared draws a comparison: the document as it is now, with what was added and
// removed marked in it.
export function Compared({ units }) {
  return html`<div class="prose" dir="auto">${units.map((unit, i) => drawn(unit, i))}</div>`;
}

const said = (word) => html`<span class="hidden">${word}: </span>`;

function drawn(unit, key) {
  const { kind, token } = unit;
  if (kind === "same") return h("div", { key, class: "unit" }, whole(token));
  if (kind === "changed" && token.type === "properties") return html`<div class="unit" key=${key}><${Properties} open><${Lines} before=${unit.was.text} after=${token.text} /><//></div>`;
  if (["table", "code", "details", "properties"].includes(token.type)) return html`<div class="unit" key=${key}>${kind !== "added" && asWhole("del", "Removed", unit.was ?? token)}${kind !== "removed" && asWhole("ins", "Added", token)}</div>`;
  if (kind === "added") return html`<ins class="unit" key=${key} tabindex="-1">${said("added")}${whole(token)}</ins>`;
  if (kind === "removed") return html`<del class="unit" key=${key} tabindex="-1">${said("removed")}${whole(token)}</del>`;
  if (!unit.words) {
    return html`<div class="unit" key=${key}><del class="unit" tabindex="-1">${said("removed")}${whole(unit.was)}</del><ins class="unit" tabindex="-1">${said("added")}${whole(token)}</ins></div>`;
  }
  const words = unit.words.map((part) => (part.added ? html`<ins tabindex="-1">${said("added")}${part.value}</ins>` : part.removed ? html`<del tabindex="-1">${said("removed")}${part.value}</del>` : part.value));
  if (token.type === "heading") return heading(token, words, { key });
  if (token.type !== "item") return html`<p key=${key}>${words}</p>`;
  return token.list.ordered ? html`<ol key=${key} start=${token.number}>${asItem(unit, words)}</ol>` : html`<ul key=${key} class=${token.item.task ? "tasks" : undefined}>${asItem(unit, words)}</ul>`;
}

// asItem is an item of a list, with its box where it has one: marked where that was turned.
function asItem(unit, words) {
  const { task, checked } = unit.token.item;
  if (!task) return html`<li>${words}</li>`;
  const box = html`<input type="checkbox" checked=${!!checked} disabled aria-label=${checked ? "done" : "to do"} />`;
  return html`<li class="task">${turned(unit) ? html`<ins tabindex="-1">${said(checked ? "ticked" : "not ticked any more")}${box}</ins>` : box}<span>${words}</span></li>`;
}

// asWhole marks a table, code or what is folded as a whole, in a word: struck out it could not be read.
const asWhole = (tag, word, token) => html`<${tag} class="unit whole" tabindex="-1"><b class="tiny">${word}</b><span class="hidden">: </span>${whole(token)}<//>`;

const whole = (token) => (token.type === "item" ? block({ ...token.list, start: token.number, items: [token.item] }) : token.type === "properties" ? drawProperties(token) : block(token));

// Lines draws a difference by lines, with those around a change.
export function Lines({ before, after, around = 3 }) {
  const rows = [];
  for (const part of diffLines(before, after)) {
    const list = part.value.replace(/\n$/, "").split("\n");
    for (const text of list) rows.push({ kind: part.added ? "a" : part.removed ? "d" : "", text });
  }
  const near = rows.map((_, i) => rows.slice(Math.max(0, i - around), i + around + 1).some((row) => row.kind));
  const out = [];
  rows.forEach((row, i) => {
    if (near[i]) out.push(html`<div class=${row.kind} key=${i}>${row.kind === "a" ? html`<span class="hidden">added: </span>+ ` : row.kind === "d" ? html`<span class="hidden">removed: </span>- ` : "  "}${row.text}</div>`);
    else if (near[i - 1]) out.push(html`<div class="h" key=${i}>⋯</div>`);
  });
  return html`<div class="diff" tabindex="0" role="group" aria-label="Changes">${out.length ? out : html`<div class="h">Nothing differs.</div>`}</div>`;
}
