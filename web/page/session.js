// A session on the page: its events, followed for as long as it is shown.

import { api } from "./api.js";
import { follow } from "./events.js";
import { Session } from "./fold.js";
import { useEffect, useRef, useState } from "./view.js";

// useSession follows a session and draws anew at most once per frame. It returns
// { session, connection, problem, busy }, or null where there is no id.
export function useSession(id) {
  const [, draw] = useState(0);
  const held = useRef(null);
  if (held.current?.id !== id) {
    held.current = id ? { id, session: new Session(), connection: "connecting", problem: null, interrupted: 0 } : null;
  }
  useEffect(() => {
    if (!id) return;
    const here = held.current;
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
        redraw();
      },
      (connection, problem = null) => {
        if (connection === "live") here.session.reconnected();
        Object.assign(here, { connection, problem });
        redraw();
      });
    // A run whose process died has no end in its events: only the store can tell.
    api.session(id).then((info) => {
      here.interrupted = info.status === "interrupted" ? info.events : 0;
      here.agent = info.agent;
      redraw();
    }, () => {});
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id]);
  return held.current;
}

// statusOf is how the session stands.
export function statusOf({ session, interrupted }) {
  return interrupted && interrupted === session.seq ? "interrupted" : session.status;
}
