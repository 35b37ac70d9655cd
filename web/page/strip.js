// What stands above the page where the server cannot be reached, or where somebody is
// signed out.

import { SignIn } from "./signin.js";
import { app, tryNow } from "./state.js";
import { html, icon, useEffect, useRef, useState } from "./view.js";

// Strip says that the server cannot be reached, and when it is tried again.
export function Strip() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, Math.ceil((app.retryAt - Date.now()) / 1000));
  return html`<div class="strip calm" role="status">${icon("wifi-off")}<span class="grow"><b>Troupe cannot be reached.</b> What you type is kept here. ${left > 0 ? `Trying again in ${left} s.` : "Trying again…"}</span><button type="button" class="sm" onClick=${tryNow}>Try now</button></div>`;
}

// Door is the sign-in above a page whose visitor was signed out.
export function Door() {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="doorway" ref=${dialog} aria-label="You are signed out" onCancel=${(e) => e.preventDefault()}><p class="strip calm">${icon("lock")}<b>You are signed out.</b> What you typed is kept in this tab.</p><${SignIn} /></dialog>`;
}
