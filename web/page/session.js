// A session on the page: its events, followed for as long as it is shown.

import { api } from "./api.js";
import { decode, follow } from "./events.js";
import { Session } from "./fold.js";
import { app, refresh, signedOut } from "./state.js";
import { useEffect, useRef, useState } from "./view.js";

// useSession follows a session and draws anew at most once per frame. It returns
// { id, session, connection, problem, info }, or null where there is no id.
export function useSession(id) {
  const [, draw] = useState(0);
  const held = useRef(null);
  if (held.current?.id !== id) {
    held.current = id ? { id, session: new Session(), connection: "connecting", problem: null, caughtUp: false } : null;
  }
  const here = held.current;
  useEffect(() => {
    if (!id) return;
    let frame = 0;
    const redraw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        draw((n) => n + 1);
      });
    };
    let stop = () => {}, left = false;
    const begin = () => {
      here.caughtUp = true;
      if (!left) stop = followed(here, redraw);
      redraw();
    };
    // What has happened comes at once, what happens piece by piece.
    if (here.session.seq) begin();
    else past(id, here.session).then(begin, (problem) => (Object.assign(here, { problem }), begin()));
    api.session(id).then((info) => {
      Object.assign(here, { agent: info.agent, interrupted: info.status === "interrupted" ? info.events : 0 });
      if (info.status !== "empty") refresh(info);
      redraw();
    }, (problem) => {
      Object.assign(here, { problem });
      redraw();
    });
    return () => {
      left = true;
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, app.entries]);
  return here;
}

// followed follows a session's events from where it is.
function followed(here, redraw) {
  return follow(api.eventsOf(here.id), here.session.seq,
    (event) => {
      here.session.take(event);
      redraw();
    },
    (connection, problem = null) => {
      if (problem?.status === 401) signedOut();
      if (connection === "live") here.session.reconnected();
      Object.assign(here, { connection, problem });
      redraw();
    });
}

// allEvents are all events of a session so far, each as a line of JSON, fetched page by
// page from the end.
export async function allEvents(id) {
  const pages = [];
  for (let before = ""; before === "" || before > 1; ) {
    const lines = (await api.page(id, before)).split("\n").slice(1, -2).map((line) => line.replace(/,$/, ""));
    if (!lines[0]) break;
    pages.unshift(lines);
    before = JSON.parse(lines[0]).seq;
  }
  return pages.flat();
}

// past takes in all that has happened so far.
async function past(id, session) {
  for (const line of await allEvents(id)) session.take(decode(line));
}

// statusOf is how the session stands. A run whose process died has no end in its
// events: only the store can tell.
export function statusOf({ session, interrupted }) {
  return interrupted && interrupted === session.seq ? "interrupted" : session.status;
}
