// Diagrams are drawn in a frame that has an origin of its own: no cookie, no network
// but the page's static files, no way to this document. It gets a text and answers
// with a size.

import { copy } from "./copy.js";
import { here, html, icon, useEffect, useRef, useState } from "./view.js";

const most = 20_000;

const themeNow = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

// useTheme is the theme of the page, as it is switched here or on the machine.
function useTheme() {
  const [theme, setTheme] = useState(themeNow);
  useEffect(() => {
    const look = () => setTheme(themeNow()), machine = matchMedia("(prefers-color-scheme: dark)"), page = new MutationObserver(look);
    page.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    machine.addEventListener("change", look);
    return () => (page.disconnect(), machine.removeEventListener("change", look));
  }, []);
  return theme;
}

// mostNamed is of how many kinds of things those that may stand at a place are named.
const mostNamed = 4;

// reasonOf says why a diagram could not be drawn: the line, what in it is not understood and what it
// was taken for, of the four lines that a parser says.
export function reasonOf(message) {
  const [first, near = "", mark = "", rest = ""] = message.split("\n");
  const line = first.match(/^(?:Parse|Lexical) error on line (\d+)/)?.[1];
  if (!line) return first;
  const at = near.slice(mark.indexOf("^")).trim(), named = [...rest.matchAll(/'([^']+)'/g)].map((m) => m[1]), found = named.pop();
  const why = !found ? "" : named.length > mostNamed ? `: ${found} was not expected there` : `: expected ${named.join(" or ")}, found ${found}`;
  return `line ${line} is not understood at ${at ? `“${at}”` : "its end"}${why}.`;
}

export function Diagram({ text, open }) {
  const frame = useRef(null);
  const [height, setHeight] = useState(0);
  const [failed, setFailed] = useState("");
  const [source, setSource] = useState(false);
  const [ready, setReady] = useState(false);
  const drawable = !open && text.length <= most;
  useEffect(() => {
    const heard = ({ source: from, data }) => {
      if (from !== frame.current?.contentWindow || typeof data !== "object" || data === null) return;
      if (data.ready === true) setReady(true);
      if (Number.isFinite(data.height)) setHeight(Math.max(20, Math.min(2000, data.height)));
      if (typeof data.failed === "string") setFailed(reasonOf(data.failed).slice(0, 300));
    };
    addEventListener("message", heard);
    return () => removeEventListener("message", heard);
  }, []);
  const theme = useTheme();
  useEffect(() => {
    if (!ready || !drawable) return;
    setFailed("");
    frame.current.contentWindow.postMessage({ text, theme }, "*"); // it has no origin to name
  }, [ready, drawable, text, theme]);
  const showText = open || source || failed !== "" || text.length > most;
  return html`<figure class="fig">
    <header><span class="grow">Diagram</span>${failed && html`<span class="tiny">It could not be drawn: ${failed}</span>`}
      ${!open && !failed && height > 0 && html`<button type="button" class="ghost sm" aria-pressed=${source} onClick=${() => setSource(!source)}>${source ? "Drawing" : "Text"}</button>`}
      ${!open && html`<button type="button" class="tool sm" title="Copy the text" aria-label="Copy the text" onClick=${() => copy(text)}>${icon("copy")}</button>`}</header>
    ${drawable && !failed && html`<iframe ref=${frame} sandbox="allow-scripts" src=${here("frame/diagram.html")} title="Diagram" hidden=${showText} style=${{ height: height + "px" }}></iframe>`}
    ${(showText || !height) && html`<pre tabindex="0">${text}</pre>`}
  </figure>`;
}
