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

const between = (low, value, high) => Math.max(low, Math.min(high, value));

// Frame is the frame that draws a text, and tells the size of the drawing as it is, and why there
// is none. It is as wide as its place has room, or at a scale of its own.
function Frame({ text, theme, scale, hidden = false, told, failed }) {
  const frame = useRef(null);
  const [ready, setReady] = useState(false);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const heard = ({ source: from, data }) => {
      if (from !== frame.current?.contentWindow || typeof data !== "object" || data === null) return;
      if (data.ready === true) setReady(true);
      if (Number.isFinite(data.height)) {
        const now = { width: between(20, Number.isFinite(data.width) ? data.width : 600, 6000), height: between(20, data.height, scale ? 6000 : 2000) };
        setSize(now);
        told(now);
      }
      if (typeof data.failed === "string") failed(reasonOf(data.failed).slice(0, 300));
    };
    addEventListener("message", heard);
    return () => removeEventListener("message", heard);
  }, []);
  useEffect(() => {
    if (!ready) return;
    frame.current.contentWindow.postMessage({ text, theme, scale }, "*"); // it has no origin to name
  }, [ready, text, theme, scale]);
  return html`<iframe ref=${frame} sandbox="allow-scripts" src=${here("frame/diagram.html")} title="Diagram" hidden=${hidden} style=${{ height: size.height + "px", ...(scale && { width: size.width + "px" }) }}></iframe>`;
}

const step = 1.25;

// Large is a drawing on the whole screen, to be scrolled and enlarged. At first its words are as
// large as those around it, and larger where there is room.
function Large({ text, theme, width, close }) {
  const dialog = useRef(null);
  const [scale, setScale] = useState(() => between(1, (innerWidth - 48) / width, 2));
  useEffect(() => dialog.current.showModal(), []);
  const button = (name, drawing, act) => html`<button type="button" class="tool" title=${name} aria-label=${name} onClick=${act}>${icon(drawing)}</button>`;
  return html`<dialog class="large" ref=${dialog} aria-label="Diagram, large" onClose=${close}>
    <div class="bar"><h2 class="h-17 grow">Diagram</h2>${button("Smaller", "zoom-out", () => setScale(between(0.25, scale / step, 4)))}${button("Larger", "zoom-in", () => setScale(between(0.25, scale * step, 4)))}${button("Close", "x", () => dialog.current.close())}</div>
    <div class="drawing" tabindex="0" role="group" aria-label="The drawing"><${Frame} text=${text} theme=${theme} scale=${scale} told=${() => {}} failed=${close} /></div></dialog>`;
}

export function Diagram({ text, open }) {
  const opener = useRef(null);
  const [drawn, setDrawn] = useState(null); // the size of the drawing
  const [failed, setFailed] = useState("");
  const [source, setSource] = useState(false);
  const [isLarge, setLarge] = useState(false);
  const theme = useTheme();
  const drawable = !open && text.length <= most;
  const showText = open || source || failed !== "" || text.length > most;
  const isShown = !open && !failed && drawn !== null;
  useEffect(() => setFailed(""), [text, theme]);
  const close = () => (setLarge(false), opener.current?.focus());
  return html`<figure class="fig">
    <header><span class="grow">Diagram</span>${failed && html`<span class="tiny">It could not be drawn: ${failed}</span>`}
      ${isShown && html`<button type="button" class="ghost sm" aria-pressed=${source} onClick=${() => setSource(!source)}>${source ? "Drawing" : "Text"}</button>`}
      ${isShown && html`<button type="button" class="tool sm" ref=${opener} title="Show it large" aria-label="Show the diagram large" onClick=${() => setLarge(true)}>${icon("maximize-2")}</button>`}
      ${!open && html`<button type="button" class="tool sm" title="Copy the text" aria-label="Copy the text" onClick=${() => copy(text)}>${icon("copy")}</button>`}</header>
    ${drawable && !failed && html`<${Frame} text=${text} theme=${theme} hidden=${showText} told=${setDrawn} failed=${setFailed} />`}
    ${(showText || !drawn) && html`<pre tabindex="0">${text}</pre>`}
    ${isLarge && html`<${Large} text=${text} theme=${theme} width=${drawn.width} close=${close} />`}
  </figure>`;
}
