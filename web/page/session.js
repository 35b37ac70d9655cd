// A session on the page: its events, followed for as long as it is shown.

import { api } from "./api.js";
import { follow } from "./events.js";
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
    const stop = follow(api.eventsOf(id), here.session.seq,
      (event) => {
        here.session.take(event);
        if (!here.caughtUp && here.session.seq >= (here.events ?? Infinity)) here.caughtUp = true;
        if (here.caughtUp) redraw();
      },
      (connection, problem = null) => {
        if (problem?.status === 401) signedOut();
        if (connection === "live") here.session.reconnected();
        Object.assign(here, { connection, problem });
        redraw();
      });
    api.session(id).then((info) => {
      Object.assign(here, { agent: info.agent, events: info.events, interrupted: info.status === "interrupted" ? info.events : 0 });
      here.caughtUp ||= here.session.seq >= info.events;
      if (info.status !== "empty") refresh(info);
      redraw();
    }, (problem) => {
      Object.assign(here, { problem, caughtUp: true });
      redraw();
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, app.entries]);
  return here;
}

// statusOf is how the session stands. A run whose process died has no end in its
// events: only the store can tell.
export function statusOf({ session, interrupted }) {
  return interrupted && interrupted === session.seq ? "interrupted" : session.status;
}
