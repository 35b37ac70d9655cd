// Reads markdown into a tree of plain objects: { tag, children, ... } and strings.
//
// Only the tags below come out, whatever goes in, and no attribute is ever copied
// from the text: HTML in it stays text, images become links, and addresses that are
// not http, https or mailto are left out. It takes time proportional to the text.

import { inline } from "./inline.js";

// deepest is how far quotes and lists nest. What is deeper is a paragraph.
const deepest = 16;

// parse returns the blocks of a text.
export function parse(text) {
  return blocks(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").replaceAll("\0", "\uFFFD").split("\n"), 0);
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const quote = /^ {0,3}> ?/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const divider = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines, depth) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line.trim() === "") {
      at++;
      continue;
    }
    const read = (fence.test(line) && code) || (heading.test(line) && title) || (rule.test(line) && line_) ||
      (depth < deepest && quote.test(line) && quoted) || (depth < deepest && bullet.test(line) && list) ||
      (isTable(lines, at) && table) || paragraph;
    at = read(lines, at, out, depth);
  }
  return out;
}

// Each reader below takes the block that begins at a line, and returns the line
// after it.

function code(lines, at, out) {
  const [, mark, lang] = lines[at].match(fence);
  const indent = lines[at].search(/\S/);
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`);
  const body = [];
  for (at++; at < lines.length && !closing.test(lines[at]); at++) {
    body.push(lines[at].slice(Math.min(indent, Math.max(lines[at].search(/\S|$/), 0))));
  }
  out.push({ tag: "pre", lang, text: body.join("\n"), children: [] });
  return at + 1;
}

function title(lines, at, out) {
  const [, marks, text = ""] = lines[at].match(heading);
  out.push({ tag: "h" + marks.length, children: inline(text) });
  return at + 1;
}

function line_(lines, at, out) {
  out.push({ tag: "hr", children: [] });
  return at + 1;
}

function quoted(lines, at, out, depth) {
  const body = [];
  while (at < lines.length && (quote.test(lines[at]) || (lines[at].trim() !== "" && !begins(lines, at)))) {
    body.push(lines[at++].replace(quote, ""));
  }
  out.push({ tag: "blockquote", children: blocks(body, depth + 1) });
  return at;
}

function list(lines, at, out, depth) {
  const kind = lines[at].match(bullet)[2];
  const ordered = /\d/.test(kind);
  const node = { tag: ordered ? "ol" : "ul", start: ordered ? parseInt(kind, 10) : undefined, children: [] };
  let loose = false;
  while (at < lines.length) {
    const match = lines[at].match(bullet);
    if (!match || match[2].at(-1) !== kind.at(-1) || rule.test(lines[at])) break;
    const width = match[1].length + match[2].length + (match[3].length > 4 ? 1 : Math.max(match[3].length, 1));
    const body = [lines[at++].slice(width)];
    let gap = false;
    for (; at < lines.length; at++) {
      const indent = lines[at].search(/\S/);
      if (indent < 0) {
        gap = true;
      } else if (indent >= width) {
        loose ||= gap && indent < width + 2;
        gap = false;
      } else if (gap || begins(lines, at)) {
        break;
      }
      body.push(lines[at].slice(indent < 0 ? 0 : Math.min(indent, width)));
    }
    while (body.length > 1 && body.at(-1).trim() === "") body.pop();
    if (gap && at < lines.length && bullet.test(lines[at])) loose = true;
    node.children.push(item(body, depth));
  }
  if (!loose) node.children.forEach(tighten);
  out.push(node);
  return at;
}

function item(body, depth) {
  const task = body[0].match(/^\[([ xX])\]\s+/);
  if (task) body[0] = body[0].slice(task[0].length);
  const checked = task ? task[1] !== " " : undefined;
  return { tag: "li", checked, children: blocks(body, depth + 1) };
}

// tighten takes the paragraphs of a list without blank lines for what they hold.
function tighten(li) {
  li.children = li.children.flatMap((child) => (child.tag === "p" ? child.children : [child]));
}

function isTable(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && divider.test(lines[at + 1]) &&
    lines[at + 1].includes("-") && cells(lines[at]).length === cells(lines[at + 1]).length;
}

// cells splits a row at its bars, but for those that are escaped or in code.
function cells(line) {
  const parts = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1").match(/(?:\\.|`[^`]*`|[^|])+|\|(?=\||$)|^(?=\|)/gs) ?? [];
  return parts.map((part) => (part === "|" ? "" : part.trim().replaceAll("\\|", "|")));
}

function table(lines, at, out) {
  const head = cells(lines[at]);
  const sides = cells(lines[at + 1]).map((mark) => [mark.startsWith(":"), mark.endsWith(":")]);
  const align = sides.map(([left, right]) => (left && right ? "center" : right ? "right" : undefined));
  const row = (tag, texts) => ({
    tag: "tr",
    children: head.map((_, i) => ({ tag, align: align[i], children: inline(texts[i] ?? "") })),
  });
  const body = [];
  for (at += 2; at < lines.length && lines[at].trim() !== "" && !begins(lines, at); at++) {
    body.push(row("td", cells(lines[at])));
  }
  out.push({ tag: "table", children: [{ tag: "thead", children: [row("th", head)] }, { tag: "tbody", children: body }] });
  return at;
}

// begins says whether a line begins another block in the middle of one.
function begins(lines, at) {
  const line = lines[at];
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || bullet.test(line);
}

function paragraph(lines, at, out) {
  const body = [lines[at++]];
  while (at < lines.length && lines[at].trim() !== "" && !isTable(lines, at)) {
    const under = lines[at].match(/^ {0,3}(=+|-+)\s*$/);
    if (under) {
      out.push({ tag: under[1][0] === "=" ? "h1" : "h2", children: inline(body.join("\n").trim()) });
      return at + 1;
    }
    if (begins(lines, at) && !/^ {0,3}(?!1[.)])\d+[.)]/.test(lines[at])) break;
    body.push(lines[at++]);
  }
  out.push({ tag: "p", children: inline(body.map((line) => line.replace(/^ +/, "")).join("\n").trimEnd()) });
  return at;
}
