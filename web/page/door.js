// What stands above the page where somebody is signed out.

import { SignedOut, SignIn } from "./signin.js";
import { html, useEffect, useRef } from "./view.js";

// Door is the sign-in above a page whose visitor was signed out.
export function Door() {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="doorway" ref=${dialog} aria-label="You are signed out" onCancel=${(e) => e.preventDefault()}><${SignedOut} /><${SignIn} /></dialog>`;
}
