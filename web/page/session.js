// A session on the page: its events, followed for as long as it is shown, and its queue.

import { api } from "./api.js";
import { decode } from "./events.js";
import { Session } from "./fold.js";
import { app, attend, refresh } from "./state.js";
import { useEffect, useRef, useState } from "./view.js";

// useSession follows a session and draws anew at most once per frame. It returns
// { id, session, connection, problem, agent, caughtUp, missing }, or null where there is no id:
// missing says that the server could not be reached for what has happened. speaks, which others set,
// says that somebody has said something here and now that is not shown yet.
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
    const ask = () => api.session(id).then((info) => {
      here.agent = info.agent;
      if (info.status !== "empty") refresh(info);
      redraw();
    }, (problem) => {
      Object.assign(here, { problem });
      redraw();
    });
    const begin = () => {
      here.caughtUp = !here.missing;
      if (!left) stop = followed(here, redraw, ask, () => (stop(), load()));
      redraw();
    };
    const load = () => {
      here.missing = false;
      past(here, begin, redraw, () => left).catch((problem) => {
        here.problem = problem;
        here.missing = !here.caughtUp;
        if (here.missing) begin(); // which says when the server can be reached
      });
    };
    // What has happened comes at once, what happens piece by piece.
    if (here.session.seq) begin();
    else load();
    ask();
    return () => {
      left = true;
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, app.entries]);
  return here;
}

// followed follows a session's events from where it is, and asks how it stands whenever the
// server is back: it may have died, and what it worked on with it. What has happened before
// is loaded then, where it is missing.
function followed(here, redraw, ask, load) {
  let lost = false;
  return attend({
    address: api.eventsOf(here.id),
    seq: () => here.session.seq,
    take: (event) => {
      here.session.take(event);
      here.recent?.push(event);
      redraw();
    },
    changed: (connection, problem) => {
      if (connection === "live") here.session.reconnected();
      if (connection === "live" && lost) ask();
      lost = connection === "lost" || (lost && connection !== "live");
      here.session.unheard = lost ? here.session.unheard || new Date().toISOString() : "";
      Object.assign(here, { connection, problem });
      redraw();
      if (connection === "live" && here.missing) load();
    },
  });
}

// allEvents are all events of a session so far, each as a line of JSON, fetched page by
// page from the end.
export async function allEvents(id, before = "") {
  const pages = [];
  while (before === "" || before > 1) {
    const lines = await pageOf(id, before, 5000);
    if (!lines.length) break;
    pages.unshift(lines);
    before = JSON.parse(lines[0]).seq;
  }
  return pages.flat();
}

async function pageOf(id, before, limit) {
  const lines = (await api.page(id, before, limit)).split("\n").slice(1, -2).map((line) => line.replace(/,$/, ""));
  return lines[0] ? lines : [];
}

// lately is how many events are fetched before anything is shown.
const lately = 400;

// folded is the session of events, from the first one given on.
function folded(events) {
  const session = new Session(events.length ? events[0].seq - 1 : 0);
  for (const event of events) session.take(event);
  return session;
}

// drawn waits until what there is has been drawn. A page that is not looked at draws
// nothing, and does not wait for it.
const drawn = () => new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, 500);
});

// past takes in what has happened so far: at first the end of it, from the beginning of
// a run on, and then all. Events that come meanwhile are kept for the whole.
async function past(here, begin, redraw, isLeft) {
  const lines = await pageOf(here.id, "", lately);
  const events = lines.map(decode);
  if (!events.length || events[0].seq === 1) {
    here.session = folded(events);
    return begin();
  }
  const from = events.findIndex((event) => event.kind === "run_started" && !event.parent);
  if (from >= 0) {
    here.session = folded(events.slice(from));
    here.recent = [];
    begin();
    await drawn();
  }
  const earlier = await allEvents(here.id, events[0].seq);
  if (isLeft()) return;
  const whole = folded([...earlier.map(decode), ...events]);
  for (const event of here.recent ?? []) whole.take(event);
  here.session = whole;
  here.recent = null;
  if (from < 0) begin();
  redraw();
}

// useQueue returns a session's queue, asked for anew whenever changed changes.
export function useQueue(id, changed) {
  const [queue, setQueue] = useState({ messages: [], held: false });
  useEffect(() => {
    let left = false;
    if (id) api.queue(id).then((found) => left || setQueue(found), () => {});
    return () => {
      left = true;
    };
  }, [id, changed]);
  return [queue, setQueue];
}
