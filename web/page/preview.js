// Shows a file by its kind: a document is read, a table is a table, a picture is one.
// Whatever cannot be shown can be downloaded.

import { fileAddress, previewAddress } from "./shelf.js";
import { Coloured } from "./code.js";
import { block, plain } from "./prose.js";
import { drawProperties, lexDocument } from "./properties.js";
import { ticked } from "./ticks.js";
import { html, icon, speaks, useEffect, useMemo, useRef, useState } from "./view.js";

// headings are those of a text, for an outline.
function headings(tokens) {
  const all = tokens.filter((token) => token.type === "heading" && token.depth <= 3);
  return all.map((token, i) => ({ text: plain(token.tokens), depth: token.depth, token, i }));
}

const extension = (path) => path.match(/\.([\w]+)$/)?.[1].toLowerCase() ?? "";

// kindOf is how a file is shown.
export function kindOf(path) {
  const ext = extension(path);
  if (["md", "markdown"].includes(ext)) return "document";
  if (["csv", "tsv"].includes(ext)) return "table";
  if (ext === "json") return "tree";
  if (["png", "jpg", "jpeg", "gif", "webp", "svg"].includes(ext)) return "image";
  if (["html", "htm", "pdf"].includes(ext)) return "frame";
  return ["zip", "gz", "docx", "xlsx", "pptx", "exe", "bin"].includes(ext) ? "other" : "code";
}

export const isText = (path) => !["image", "other"].includes(kindOf(path)) && extension(path) !== "pdf";

// Preview shows the content of a file: text is what it holds, file where it is.
// change, where given, saves another text.
export function Preview({ file, text, change }) {
  switch (kindOf(file.path)) {
    case "document":
      return html`<${Reading} text=${text} change=${change} />`;
    case "table":
      return html`<${Table} text=${text} tabs=${extension(file.path) === "tsv"} />`;
    case "tree":
      return html`<${Tree} text=${text} />`;
    case "image":
      return html`<div class="picture"><img src=${previewAddress(file)} alt=${file.path} /></div>`;
    case "frame":
      return html`<iframe class="framed" sandbox="" src=${previewAddress(file)} title=${file.path}></iframe>`;
    case "code":
      return html`<${Listing} text=${text} lang=${extension(file.path)} />`;
    default:
      return html`<div class="card pad empty">${icon("file-text")}<h3>${file.path}</h3><p class="dim">This kind of file is not shown here.</p><a class="btn primary" href=${fileAddress(file)} download>${icon("download")}Download</a></div>`;
  }
}

// WithOutline sets the outline of a document beside it, or above it where there is
// little room. A heading that it names is found by its place among all headings.
export function WithOutline({ tokens, children }) {
  const box = useRef(null), jumped = useRef(null);
  const [here, setHere] = useState(-1);
  const outline = useMemo(() => headings(tokens), [tokens]);
  const drawn = () => [...(box.current?.querySelectorAll(".prose .as1, .prose .as2, .prose .as3") ?? [])].filter((e) => !e.closest("del, details.did"));
  useEffect(() => {
    const sheet = box.current?.closest(".sheet");
    if (!sheet || outline.length <= 2) return;
    // The last parts never come to the top: at the end one is at the last, or where one jumped to.
    const look = () => {
      if (jumped.current?.top === sheet.scrollTop) return setHere(jumped.current.i);
      jumped.current = null;
      const all = drawn(), isAtEnd = sheet.scrollTop > 0 && sheet.scrollTop + sheet.clientHeight > sheet.scrollHeight - 2;
      setHere(isAtEnd ? all.length - 1 : all.findLastIndex((e) => e.getBoundingClientRect().top < sheet.getBoundingClientRect().top + 80));
    };
    sheet.addEventListener("scroll", look, { passive: true });
    look();
    return () => sheet.removeEventListener("scroll", look);
  }, [outline]);
  const jump = (event, i) => {
    event.preventDefault();
    drawn()[i]?.scrollIntoView({ block: "start" });
    jumped.current = { i, top: box.current.closest(".sheet").scrollTop };
    setHere(i);
  };
  const titled = outline[0]?.depth === 1 && outline.filter((o) => o.depth === 1).length === 1; // its title is above it
  const listed = outline.slice(titled ? 1 : 0, 60), current = listed.some((o) => o.i === here) ? here : here < (listed[0]?.i ?? 0) ? listed[0]?.i : -1;
  useEffect(() => {
    const nav = box.current?.querySelector(".outline"), at = nav?.querySelector("[aria-current]")?.getBoundingClientRect(), { top, bottom } = nav?.getBoundingClientRect() ?? {};
    if (at && (at.top < top || at.bottom > bottom)) nav.scrollTop += at.top - (top + bottom) / 2;
  }, [current]);
  const links = listed.map((o) => html`<a href="#" key=${o.i} data-depth=${o.depth} aria-current=${o.i === current ? "true" : undefined} onClick=${(e) => jump(e, o.i)}>${o.text}</a>`);
  return html`<div class="reading" ref=${box}>${outline.length > 2 && html`<nav class="outline" aria-label="Outline">${links}</nav><details class="outline-small"><summary class="btn ghost sm">${icon("list")}Outline</summary><nav aria-label="Outline">${links}</nav></details>`}${children}</div>`;
}

// Reading is a document with its outline beside it. Its boxes can be ticked where it can
// be changed.
export function Reading({ text, change }) {
  const tokens = useMemo(() => lexDocument(text), [text]);
  const boxes = useMemo(() => (change ? ticked(text, tokens) : new Map()), [text, !change]);
  const tick = (item) => boxes.has(item) && (() => change(boxes.get(item)()));
  return html`<${WithOutline} tokens=${tokens}><div class="prose" dir="auto" ref=${(e) => speaks(e, text)}>${tokens.map((token, i) => (token.type === "properties" ? drawProperties(token, i) : block(token, { key: i, tick })))}</div><//>`;
}

const mostRows = 5000;

// parsed reads comma-separated values as RFC 4180 has them.
export function parsed(text, separator = ",") {
  const rows = [[""]];
  let inQuotes = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i], row = rows.at(-1);
    if (inQuotes) {
      if (char === '"' && text[i + 1] === '"') (row[row.length - 1] += '"'), i++;
      else if (char === '"') inQuotes = false;
      else row[row.length - 1] += char;
    } else if (char === '"' && row.at(-1) === "") inQuotes = true;
    else if (char === separator) row.push("");
    else if (char === "\n") {
      if (rows.length > mostRows) break;
      rows.push([""]);
    } else if (char !== "\r") row[row.length - 1] += char;
  }
  if (rows.at(-1).length === 1 && rows.at(-1)[0] === "") rows.pop();
  return rows;
}

function Table({ text, tabs }) {
  const [order, setOrder] = useState({ column: -1, down: false });
  const [head = [], ...rows] = useMemo(() => parsed(text, tabs ? "\t" : ","), [text]);
  const numeric = head.map((_, i) => rows.length > 0 && rows.every((r) => !r[i] || !isNaN(Number(r[i].replace(/[,\s%$€]/g, "")))));
  const value = (row) => (numeric[order.column] ? Number((row[order.column] ?? "").replace(/[,\s%$€]/g, "")) : row[order.column] ?? "");
  const sorted = order.column < 0 ? rows : [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (order.down ? -1 : 1));
  const direction = (i) => (order.column !== i ? "none" : order.down ? "descending" : "ascending");
  return html`<div class="wide sheet-table" tabindex="0" role="group" aria-label="Table"><table class="grid"><thead><tr>${head.map((name, i) => html`<th key=${i} scope="col" class=${numeric[i] ? "r" : ""} aria-sort=${direction(i)}><button type="button" class="bare" onClick=${() => setOrder({ column: i, down: order.column === i && !order.down })}>${name || `Column ${i + 1}`}${order.column === i && icon(order.down ? "chevron-down" : "chevron-up")}</button></th>`)}</tr></thead>
    <tbody>${sorted.slice(0, mostRows).map((row, i) => html`<tr key=${i}>${head.map((_, j) => html`<td key=${j} class=${numeric[j] ? "r" : ""}>${row[j] ?? ""}</td>`)}</tr>`)}</tbody></table>${rows.length >= mostRows && html`<p class="small faint pad">The first ${mostRows} rows.</p>`}</div>`;
}

function Tree({ text }) {
  const value = useMemo(() => {
    try {
      return { json: JSON.parse(text) };
    } catch {
      return null;
    }
  }, [text]);
  return value ? html`<div class="tree"><${Branch} name="" value=${value.json} depth=${0} /></div>` : html`<${Listing} text=${text} lang="json" />`;
}

const mostChildren = 500;

function Branch({ name, value, depth }) {
  const label = name !== "" && html`<b>${name}</b>${": "}`;
  if (value === null || typeof value !== "object") return html`<div class="leaf-row">${label}<code class=${typeof value === "string" ? "hljs-string" : "hljs-number"}>${JSON.stringify(value)}</code></div>`;
  const entries = Object.entries(value);
  return html`<details class="branch" open=${depth < 2}><summary>${label}<span class="faint">${`${entries.length} ${Array.isArray(value) ? "item" : "field"}${entries.length === 1 ? "" : "s"}`}</span></summary>
    ${entries.slice(0, mostChildren).map(([key, child]) => html`<${Branch} key=${key} name=${key} value=${child} depth=${depth + 1} />`)}${entries.length > mostChildren && html`<p class="small faint">and ${entries.length - mostChildren} more</p>`}</details>`;
}

// Listing is text with line numbers.
export function Listing({ text, lang }) {
  const n = text.split("\n").length;
  return html`<div class="listing" tabindex="0" role="group" aria-label="Source"><pre class="numbers" aria-hidden="true">${Array.from({ length: Math.min(n, 20_000) }, (_, i) => i + 1).join("\n")}</pre><pre><${Coloured} text=${text} lang=${lang} /></pre></div>`;
}

