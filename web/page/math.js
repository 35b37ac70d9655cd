// Mathematics, drawn by KaTeX into an element of its own. It trusts nothing and
// expands little: a formula can neither link nor load, nor grow without bounds.

import { here, html, useEffect, useRef, useState } from "./view.js";

let loading = null;

// katex loads the library, its style and its fonts with the first formula.
function katex() {
  loading ??= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: here("lib/katex/katex.css") });
    const script = Object.assign(document.createElement("script"), { src: "lib/katex/katex.js" });
    script.onload = () => resolve(globalThis.katex);
    script.onerror = reject;
    document.head.append(style, script);
  });
  return loading;
}

const most = 4000;

export function Formula({ text, display }) {
  const place = useRef(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let left = false;
    if (text.length > most) return setFailed("it is too long");
    katex().then((library) => {
      if (left) return;
      library.render(text, place.current, { displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: 20, strict: "ignore" });
      setFailed("");
    }).catch((error) => left || setFailed(String(error.message ?? "it could not be read").split("\n")[0]));
    return () => {
      left = true;
    };
  }, [text, display]);
  const shown = html`<span ref=${place} hidden=${failed !== ""}></span>`;
  if (failed) return html`<span class="formula"><code title=${failed}>${text}</code>${shown}</span>`;
  return display ? html`<div class="math" tabindex="0">${shown}</div>` : html`<span class="formula">${shown}</span>`;
}
