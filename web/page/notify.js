// Has the browser say that somebody waits.

import { kept } from "./kept.js";
import { agentOf, titleOf } from "./state.js";

// notify says it where that is wanted and nobody looks.
export function notify(session) {
  if (!kept("notify", false) || document.visibilityState === "visible" || globalThis.Notification?.permission !== "granted") return;
  const note = new Notification(`${agentOf(session.agent).name} needs your answer`, { body: titleOf(session), tag: session.id });
  note.onclick = () => (focus(), (location.hash = "#/s/" + session.id), note.close());
}
