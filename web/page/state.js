// What the whole page knows: who looks at it, who can be talked to, how the
// conversations stand. One stream keeps it up to date; nothing is asked for again and
// again.

import { api, noticed } from "./api.js";
import { follow, hurry } from "./events.js";
import { keep } from "./kept.js";
import { useEffect, useState } from "./view.js";

export const app = {
  me: { name: "", operator: false, can: [], started: "" },
  agents: [],
  flows: [],
  models: [],
  sessions: new Map(),
  known: false, // everything above was loaded once
  problem: null, // why it was not
  connection: "connecting", // live, or lost
  retryAt: 0,
  signedOut: false,
  entries: 0, // goes up when somebody has signed in: streams begin anew
  toasts: [],
  said: "", // what a screen reader says
  configured: 0, // goes up when the configuration has changed, here or elsewhere
};

const listeners = new Set();
let frame = 0;

// update changes what is known, and draws anew whoever uses it, once per frame.
export function update(values) {
  Object.assign(app, values);
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const draw of [...listeners]) draw();
  });
}

// useApp draws a component anew when what is known changes.
export function useApp() {
  const [, draw] = useState(0);
  useEffect(() => {
    const again = () => draw((n) => n + 1);
    listeners.add(again);
    return () => listeners.delete(again);
  }, []);
  return app;
}

export const can = (what) => app.me.can.includes(what);

const unknown = new Map();

// agentOf is what is known of an agent, the same object for as long as that holds.
export function agentOf(id = "") {
  const agent = app.agents.find((a) => a.id === id);
  if (agent) return agent;
  if (id === pipeline) return delivering;
  if (!unknown.has(id)) unknown.set(id, { id, name: plainName(id), title: "", icon: "", commands: [] });
  return unknown.get(id);
}

// plainName is what an agent of a delivery or a frame of a flow is called, which nobody has given a name.
const plainName = (id) => (/^[a-z][a-z-]+-agent$/.test(id) ? id.slice(0, -6).replace(/^qa-/, "").replaceAll("-", " ").replace(/^./, (c) => c.toUpperCase()) : id.replaceAll("_", " "));

export const pipeline = "deliver";
const delivering = { id: pipeline, name: "Delivery", title: "", icon: "", commands: [] };

// brokenWords says why an agent cannot start: lacks is the file that is missing, if one is.
export const brokenWords = (lacks) => `${lacks ? `${lacks} is missing.` : "Something that it is made of is missing or wrong."}${app.me.operator ? "" : " Ask whoever runs Troupe."}`;

// castOf are the agents of a flow.
export const castOf = (flow) => [...new Set((flow?.nodes ?? []).filter((n) => n.kind === "agent").map((n) => n.agent))];

export const isFlow = (id) => app.flows.some((flow) => flow.name === id);

// tasksOf are what people can ask an agent for: each has a label, which is short, and the
// rest of what its author has written of it. Many write both in one line, with a colon.
export const tasksOf = (agent) => (agent.commands ?? []).filter((command) => !command.hidden && command.label).map((command) => ({ ...command, ...inTwo(command.label) }));

// inTwo is a task's label, and what stands behind the colon of it.
export function inTwo(text) {
  const [, label = text, about = ""] = text.match(/^([^:]{3,40}): (.+)$/s) ?? [];
  return { label, about };
}

// taskNamed is the label of the task that has a trigger, "" where none has.
export const taskNamed = (agent, trigger) => (/^\*\S+$/.test(trigger) && inTwo((agent.commands ?? []).find((c) => c.trigger === trigger)?.label ?? "").label) || "";

// labelOf is what people read for a text that is a trigger of the agent's.
export const labelOf = (agent, text) => taskNamed(agent, text.trim()) || text;

// titleOf is what a conversation is called.
export function titleOf(session) {
  const agent = agentOf(session.agent);
  return (session.title && labelOf(agent, session.title)) || agent.name;
}

// load asks for everything, and follows what changes.
export async function load() {
  try {
    api.models().then((models) => update({ models }), () => {}); // providers are asked for them: nobody waits for that
    const [me, agents, flows, sessions] = await Promise.all([api.me(), api.agents(), api.flows().catch(() => []), api.sessions()]);
    const restarted = app.me.started && app.me.started !== me.started;
    update({ me, agents, flows, sessions: new Map(sessions.filter((s) => !leaving.has(s.id)).map((s) => [s.id, s])), known: true, problem: null, signedOut: false });
    if (restarted) toast("Troupe was restarted. What was finished is on record.");
  } catch (problem) {
    update({ problem, known: app.known });
  }
  listen();
}

// renew asks again for what the configuration decides: who there is, which models, and who may do what.
export const renew = () => Promise.all([api.agents(), api.models(), api.flows(), api.me()]).then(([agents, models, flows, me]) => update({ agents, models, flows, me }), () => {});

// isStale says that another model answers for an agent than this page knows of.
const isStale = ({ agent, chosen, model, status }, before) => status !== "running" && !chosen && model && model !== before?.model && agentOf(agent).model && agentOf(agent).model !== model;

// leaving are the conversations that are deleted as far as people see it, while that can still
// be undone. Nothing that the server says brings them back.
export const leaving = new Set();

let stop = null;

// listen follows how the conversations stand.
function listen(lost = false) {
  stop?.();
  stop = follow(api.events, 0,
    ({ session, gone, reconfigured }) => {
      if (reconfigured) return void (update({ configured: app.configured + 1 }), renew());
      if (leaving.has(session?.id)) return;
      const sessions = new Map(app.sessions);
      if (gone) sessions.delete(gone);
      else {
        if (session.status === "waiting" && app.known && sessions.get(session.id)?.status !== "waiting") import("./notify.js").then(({ notify }) => notify(session), () => {});
        if (app.known && isStale(session, sessions.get(session.id))) renew();
        sessions.set(session.id, session);
      }
      update({ sessions });
    },
    (connection, problem = null, wait = 0) => {
      if (problem?.status === 401) return signedOut();
      if (connection === "live" && lost) load(); // what has changed in the meantime
      lost = connection === "lost" || lost;
      update({ connection, retryAt: connection === "lost" ? Date.now() + wait : 0 });
    });
}

export const tryNow = () => hurry();

// isBack asks whether the server can be reached: who is answered does not wait any longer.
export const isBack = () => api.me().catch(() => {});

export const signedOut = () => update({ signedOut: true });

// enter exchanges an access code for a cookie, and begins again where everybody was.
export async function enter(code) {
  await api.login(codeIn(code));
  keep("entered", Date.now()); // for the other tabs
  await entered();
}

const entered = () => (update({ entries: app.entries + 1, signedOut: false }), load());

// Who signs in does so in every tab of the browser.
globalThis.addEventListener?.("storage", ({ key, newValue }) => key === "troupe.entered" && newValue && app.signedOut && entered());

// leave signs out, and shows the door.
export const leave = () => api.signOut(app.me.sign_out).then(() => location.reload(), (problem) => toast(problem.message));

// codeIn is the code in what somebody pasted: the code itself, or the whole link.
export const codeIn = (text) => decodeURIComponent(text.trim().match(/token=([^&\s]+)/)?.[1] ?? text.trim());

// refresh takes over a session as the server shows it.
export function refresh(session) {
  update({ sessions: new Map(app.sessions).set(session.id, session) });
}

// byTime are the sessions, what was touched last first.
export function byTime() {
  return [...app.sessions.values()].filter((s) => !s.archived && s.status !== "empty").sort((a, b) => (a.updated < b.updated ? 1 : -1));
}

export const waiting = () => byTime().filter((s) => s.status === "waiting");

let lastToast = 0;

// toast says something for a while. undo, where given, is a button. For as long as
// somebody points at it or has the focus in it, it stays. gone is called when it goes.
export function toast(text, undo = null, ms = 6000, gone = () => {}) {
  const one = { key: ++lastToast, text, undo, gone };
  one.hold = () => clearTimeout(one.timer);
  one.go = () => (one.hold(), (one.timer = setTimeout(() => dismiss(one), ms)));
  one.go();
  update({ toasts: [...app.toasts.filter((other) => other.undo || other.text !== text), one] });
  return one;
}

export function dismiss(one) {
  one.hold();
  if (!app.toasts.includes(one)) return;
  update({ toasts: app.toasts.filter((other) => other !== one) });
  one.gone();
}

// say has a screen reader say something.
export const say = (text) => update({ said: text });

noticed.full = () => toast("Too much at once. It goes on by itself in a moment.");

let hurried = 0;

// Who is answered again does not wait any longer. Not each time: what is between might end
// every stream at once.
noticed.answered = () => app.connection === "lost" && Date.now() - hurried > 5000 && ((hurried = Date.now()), hurry());

noticed.problem = (problem) => {
  if (problem.status === 401 && app.known) signedOut();
  if (problem.status === 0 && app.connection === "live") {
    update({ connection: "lost" });
    listen(true); // the stream may think that it is well, and would never say when it is again
  }
};
