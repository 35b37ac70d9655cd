// Draws markdown. What is drawn for each tag stands below; there is no other way
// for a text to become an element.

import { h, html, useMemo, useState } from "./view.js";
import { parse } from "./markdown.js";

// Prose shows a text.
export function Prose({ text }) {
  const tree = useMemo(() => parse(text), [text]);
  return html`<div class="prose" dir="auto">${tree.map(draw)}</div>`;
}

const plain = new Set(["p", "blockquote", "ul", "ol", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "del", "code", "br", "hr", "span", "li"]);

function draw(node) {
  if (typeof node === "string") return node;
  const children = node.children.map(draw);
  switch (node.tag) {
    case "pre":
      return html`<${Code} text=${node.text} lang=${node.lang} />`;
    case "a":
      return html`<a href=${node.href} target="_blank" rel="noopener noreferrer nofollow">${children}</a>`;
    case "table":
      return html`<div class="wide" tabindex="0" role="region" aria-label="Table"><table>${children}</table></div>`;
    case "li":
      return node.checked === undefined
        ? html`<li>${children}</li>`
        : html`<li class="task"><input type="checkbox" disabled checked=${node.checked} aria-label=${node.checked ? "done" : "to do"} />${children}</li>`;
    case "ol":
      return html`<ol start=${node.start}>${children}</ol>`;
    case "th":
    case "td":
      return h(node.tag, { class: node.align }, children);
  }
  if (/^h[1-6]$/.test(node.tag)) return h("h" + Math.min(Number(node.tag[1]) + 2, 6), null, children);
  return plain.has(node.tag) ? h(node.tag, null, children) : children;
}

// Code shows a block of code with a button that copies it.
export function Code({ text, lang }) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied("Copied");
    } catch {
      setCopied("Select it and copy it by hand");
    }
    setTimeout(() => setCopied(""), 2000);
  };
  return html`<div class="code">
    <div class="code-bar"><span>${lang}</span><button type="button" class="quiet" onClick=${copy} aria-live="polite">${copied || "Copy"}</button></div>
    <pre tabindex="0" aria-label=${lang ? `Code, ${lang}` : "Code"}><code>${text}</code></pre>
  </div>`;
}
