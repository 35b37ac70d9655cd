// The view library as the page uses it: html`...` makes elements out of values.
// Values become text or attributes, never markup.

import { h, render, Component, Fragment } from "./lib/preact.js";
import htm from "./lib/htm.js";

export const html = htm.bind(h);
export { h, render, Component, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "./lib/hooks.js";
