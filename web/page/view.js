// The view library as the page uses it: html`...` makes elements out of values.
// Values become text or attributes, never markup.

import { h, render, Component, Fragment } from "./lib/preact.js";
import htm from "./lib/htm.js";
import { icons } from "./lib/icons.js";
import { useEffect, useRef, useState } from "./lib/hooks.js";

export const html = htm.bind(h);
export { h, render, Component, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "./lib/hooks.js";

// icon draws one of Lucide's icons. It says nothing to a screen reader: the words
// beside it do.
export function icon(name, more = "") {
  const nodes = (icons[name] ?? icons.circle).map(([tag, attributes]) => h(tag, attributes));
  return h("svg", { class: "i " + more, viewBox: "0 0 24 24", "aria-hidden": "true" }, nodes);
}

// Logo is the mark: an arch with a parted curtain and a player in the light.
export function Logo() {
  return html`<svg class="logo" viewBox="0 0 26 28" aria-hidden="true"><path class="arch" d="M1 27V13a12 12 0 0 1 24 0v14z" />
    <path class="curtain" d="M13 1.5C12.6 12 9 20 1.6 22.8V13A11.4 11.4 0 0 1 13 1.5zM13 1.5C13.4 12 17 20 24.4 22.8V13A11.4 11.4 0 0 0 13 1.5z" />
    <circle class="player" cx="13" cy="20.4" r="3.5" /></svg>`;
}

// Face is an agent's portrait: the first letter of its name under an arch, in a tint
// that its id decides.
export function Face({ id = "", name = "", size = "" }) {
  let hash = 7;
  for (const char of id || name) hash = (hash * 31 + char.codePointAt(0)) % 997;
  const letter = [...(name || id || "?").trim()][0] ?? "?";
  return html`<span class=${`face ${size} k${hash % 6}`} aria-hidden="true">${letter.toUpperCase()}</span>`;
}

// What loads is shown after a moment, so that nothing flickers where it comes quickly, and
// then for long enough to be seen, in milliseconds.
const appears = 200, stays = 300;

// useCalm is a value that is null while it loads, and stays so for as long as the bones
// that stand for it must be seen.
export function useCalm(value) {
  const mark = useRef({ since: 0 }).current;
  const [, draw] = useState(0);
  if (value === null) mark.since ||= performance.now();
  const shown = mark.since ? performance.now() - mark.since : 0;
  const left = value !== null && shown > appears ? appears + stays - shown : 0;
  if (value !== null && left <= 0) mark.since = 0;
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(() => draw((n) => n + 1), left);
    return () => clearTimeout(timer);
  });
  return left > 0 ? null : value;
}

const bones = () => html`<${Bones} />`;

// lazy shows a component of a module that is loaded when it is first needed, and until
// then what meanwhile makes of its properties.
export function lazy(load, name, meanwhile = bones) {
  let loaded = null;
  return class Lazy extends Component {
    componentDidMount() {
      if (!loaded) this.load();
    }

    // What cannot be loaded now may be there in a moment, as when the server comes back.
    load() {
      const begun = performance.now();
      load().then((module) => {
        const took = performance.now() - begun, early = meanwhile === bones && took > appears ? appears + stays - took : 0;
        const show = () => ((loaded = module[name]), this.setState({}));
        if (early > 0) this.timer = setTimeout(show, early);
        else show();
      }, () => {
        this.setState({ failed: true });
        this.timer = setTimeout(() => this.load(), 2000);
      });
    }

    componentWillUnmount() {
      clearTimeout(this.timer);
    }

    render(props, { failed }) {
      if (loaded) return h(loaded, props);
      return failed ? html`<p class="pad dim" role="alert">This part could not be loaded yet. It is tried again by itself.</p>` : meanwhile(props);
    }
  };
}

// bring loads what is used later. What cannot be loaded now is tried again, as when the server
// comes back.
export const bring = (load) => load().catch(() => new Promise((again) => setTimeout(again, 2000)).then(() => bring(load)));

// speaks has an element that holds a text say in which language that is, for screen
// readers and for the shapes of letters. It takes a moment: nobody waits for it.
export const speaks = (element, text) => void (element && text && import("./language.js").then(({ mark }) => mark(element, text)).catch(() => {}));

// here is the address of a file of the page's own: as a module has it, for good.
export const here = (name) => new URL(name, import.meta.url).href;

let styling = null;

// styled loads a module of the views that are not there at first, with their icons and
// their style, which goes before that of phones.
export function styled(load) {
  styling ??= new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: here("views.css") });
    link.onload = link.onerror = resolve;
    document.querySelector('link[href$="phone.css"]').before(link);
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", media: "print", href: here("print.css") })); // nobody waits for it
  });
  return Promise.all([load(), styling, import("./lib/icons-more.js")]).then(([module]) => module);
}

// Bones stand for what is being loaded. They are not drawn at once: see appears.
export function Bones() {
  return html`<div class="bones" role="status" aria-label="Loading"><div class="bone"></div><div class="bone"></div><div class="bone"></div></div>`;
}
