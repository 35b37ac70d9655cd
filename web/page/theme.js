// Light or dark, as the machine has it or as was chosen.

import { keep } from "./kept.js";
import { html, icon, useState } from "./view.js";

export function currentTheme() {
  return document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

// setTheme chooses light, dark, or "" for what the machine has.
export function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  keep("theme", theme);
}

export function Theme() {
  const [, draw] = useState(0);
  const next = currentTheme() === "dark" ? "light" : "dark";
  return html`<button type="button" class="tool sm" title=${`Switch to ${next} colours`} aria-label=${`Switch to ${next} colours`} onClick=${() => (setTheme(next), draw((n) => n + 1))}>${icon(next === "dark" ? "moon" : "sun")}</button>`;
}
