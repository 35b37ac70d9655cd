// What stands above the page where somebody is signed out.

import { SignIn } from "./signin.js";
import { html, icon, useEffect, useRef } from "./view.js";

// Door is the sign-in above a page whose visitor was signed out.
export function Door() {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="doorway" ref=${dialog} aria-label="You are signed out" onCancel=${(e) => e.preventDefault()}><p class="strip calm">${icon("lock")}<span><b>You are signed out.</b> What you typed is kept in this tab.</span></p><${SignIn} /></dialog>`;
}
