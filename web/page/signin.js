// The door: an access code, or the whole link, pasted; or the way to where people sign in. Shown in place where somebody is
// signed out, so that nothing typed is lost.

import { get, request } from "./api.js";
import { keep, kept } from "./kept.js";
import { app, entered, toast } from "./state.js";
import { Logo, html, icon, useEffect, useRef, useState } from "./view.js";

// enter exchanges an access code for a cookie, and begins again where everybody was.
export async function enter(code) {
  await request("POST", "api/login", { token: codeIn(code) });
  keep("entered", Date.now()); // for the other tabs
  await entered();
}

// codeIn is the code in what somebody pasted: the code itself, or the whole link.
export const codeIn = (text) => decodeURIComponent(text.trim().match(/token=([^&\s]+)/)?.[1] ?? text.trim());

// leave signs out, and shows the door, in the other tabs, too.
export const leave = () => request("POST", app.me.sign_out).then(() => (keep("entered", 0), location.reload()), (problem) => toast(problem.message));

// unknown says why a code may not be known, by what the server says of it: one that it makes
// up itself, or one that each person has.
const unknown = {
  __proto__: null,
  signed_out: () => html`Codes change when Troupe starts anew. Ask for a fresh link, or look at the terminal where <code>troupe serve</code> runs.`,
  person_unknown: () => "Was all of it copied? A sign-in link that somebody made for you holds for a day, and until Troupe starts anew. Ask whoever runs Troupe for a new one.",
};

export const SignedOut = () => html`<p class="strip calm">${icon("lock")}<span><b>You are signed out.</b> What you typed is kept in this tab.</span></p>`;

export function SignIn({ problem = "" }) {
  const field = useRef(null);
  const [failed, setFailed] = useState(problem);
  const [busy, setBusy] = useState(false);
  const [way, setWay] = useState(null);
  useEffect(() => () => keep("own.out", null), []);
  useEffect(() => field.current?.focus(), [way]);
  useEffect(() => void get("api/ways").catch(() => ({ code: true })).then(setWay), []);
  const away = () => {
    const at = new URL(way.sign_in, document.baseURI);
    at.searchParams.set("to", location.hash);
    location.assign(at);
  };
  const submit = async (event) => {
    event?.preventDefault();
    const code = field.current.value;
    if (!code.trim()) return;
    setBusy(true);
    try {
      await enter(code);
      if (!matchMedia("(pointer: coarse)").matches) (await import("./keys.js")).takeFocus(".composer textarea, .ask textarea");
    } catch (trouble) {
      setFailed(trouble.status === 401 ? trouble.code : trouble.message);
      setBusy(false);
    }
  };
  // A pasted link says everything: there is nothing left to press.
  const pasted = (event) => /token=/.test(event.clipboardData.getData("text/plain")) && setTimeout(submit);
  return html`${kept("own.out") && html`<${SignedOut} />`}<div class="door"><div><div class="crest"><${Logo} /></div><h1>Welcome to Troupe</h1><p class="dim lead">A company of agents that write, plan and build with you.</p>
    ${way && !way.code && html`<p class="lead dim">You are signed out.${!way.sign_in && " Sign in where you did before, and load the page anew."}</p><p class="lead"><button class="primary" onClick=${way.sign_in ? away : () => location.reload()}>${way.sign_in ? `Sign in${way.name ? ` with ${way.name}` : ""}` : "Load the page anew"}</button></p>`}
    ${way?.code && html`<form class="card stack" onSubmit=${submit}><label class="small" for="code"><b>Your access code</b></label><label class="field edge">${icon("key-round")}<input id="code" ref=${field} type="password" autocomplete="current-password" placeholder="Paste the code or the whole link" onPaste=${pasted} /></label>
      <button class="primary" disabled=${busy}>Come in</button><p class="small dim">Whoever runs Troupe gave you a link. Opening it signs you in; the code is the part after <code>token=</code>.</p></form>`}
    ${failed && (way?.code || !unknown[failed]) && html`<div class="trouble" role="alert">${icon("circle-alert")}<b>${unknown[failed] ? "This code is not known here" : "It did not work"}</b><p>${unknown[failed]?.() ?? failed}</p></div>`}
    <p class="tiny faint lead">Nothing on this page comes from anywhere but this server.</p></div></div>`;
}
