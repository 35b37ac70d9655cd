// What the whole page knows: who looks at it, who can be talked to, how the
// conversations stand. One stream keeps it up to date; nothing is asked for again and
// again.

import { api, noticed } from "./api.js";
import { follow, hurry } from "./events.js";
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
  toastsHeight: 0, // which is taken from what they are below
  said: "", // what a screen reader says
  configured: 0, // goes up when the configuration has changed, here or elsewhere
  documents: 0, // and when a document was saved
};

const listeners = new Set();
let frame = 0, late = 0;

// update changes what is known, and draws anew whoever uses it, once per frame. A tab that is hidden
// has no frames, but a title.
export function update(values) {
  Object.assign(app, values);
  if (document.hidden) late ||= setTimeout(redraw);
  else frame ||= requestAnimationFrame(redraw);
}

function redraw() {
  frame = late = 0;
  for (const draw of [...listeners]) draw();
}

globalThis.addEventListener?.("visibilitychange", () => update());

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

// plainName is what a flow, a frame of one or an agent of a delivery is called, which nobody has given a name.
const plainName = (id) => (/^[a-z]+(-[a-z\d]+)+$/.test(id) ? id.replace(/-agent$/, "").replace(/^qa-/, "").replaceAll("-", " ").replace(/^./, (c) => c.toUpperCase()) : id.replaceAll("_", " "));

export const pipeline = "deliver";
const delivering = { id: pipeline, name: "Delivery", title: "", icon: "", commands: [] };

// inPerson names who has stopped a delivery, in what is said of it: whoever it is that looks, or the
// one whose delivery it is.
export function inPerson(text, session) {
  const user = [...session.runs.values()].findLast((run) => !run.parent)?.user;
  return text.replace(/(?<=\bstopped by )a person\b/gi, () => (user && user !== app.me.name ? user : "you"));
}

// castOf are the agents of a flow.
export const castOf = (flow) => [...new Set((flow?.nodes ?? []).filter((n) => n.kind === "agent").map((n) => n.agent))];

// nameIn is what a node is called in its flow: agents that have several are numbered.
export function nameIn(flow, node) {
  const name = (n) => n.title || agentOf(n.agent).name;
  const same = flow.nodes.filter((n) => n.kind === "agent" && name(n) === name(node));
  return same.length > 1 ? `${name(node)} ${same.indexOf(node) + 1}` : name(node);
}

// nameAt is what the node with an id is called in the flow of a name, in one of its rounds: "" where
// there is none.
export function nameAt(name, id, round) {
  const flow = app.flows.find((f) => f.name === name), node = flow?.nodes?.find((n) => n.id === id);
  return node ? nameIn(flow, node) + (round > 1 ? ", round " + round : "") : "";
}

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
  sharing ??= import("./tabs.js").then(({ share }) => {
    // Somebody else may have signed in since, in another tab.
    const all = share(connect, ({ who, ...news }) => who === app.me.name && take(news, true));
    tell = (news) => all({ who: app.me.name, ...news });
  }, () => connect(true));
  clearTimeout(again);
  try {
    api.models().then((models) => update({ models }), () => {}); // providers are asked for them: nobody waits for that
    const [me, agents, flows] = await Promise.all([api.me(), api.agents(), api.flows().catch(() => []), list()]);
    const restarted = app.me.started && app.me.started !== me.started;
    update({ me, agents, flows, known: true, problem: null, signedOut: false });
    const isSaid = [...app.sessions.values()].some((s) => s.status === "interrupted" && location.hash.includes(s.id)); // by a card, there
    if (restarted && !isSaid) toast("Troupe was restarted. What was finished is on record.");
  } catch (problem) {
    missed = load;
    update({ problem });
    if (app.known && problem.status > 499) again = setTimeout(load, 3000);
  }
}

let again = 0;

let asking = 0;

// listers ask for the conversations that a place lists beside the latest.
export const listers = new Set();

// list takes over the conversations as the server lists them, and as it has told of them since it
// was asked.
async function list() {
  if (!asking++) told.clear();
  const sessions = new Map((await Promise.all([api.sessions, ...listers].map((ask) => ask())).finally(() => asking--)).flat().map((s) => [s.id, s]));
  for (const [id, session] of told) sessions.set(id, session);
  for (const [id, session] of sessions) {
    if (!session || leaving.has(id)) sessions.delete(id);
    else call(session);
  }
  update({ sessions });
}

// call notifies somebody of a conversation that has begun to wait.
const call = (session) => app.known && waits(session) && !waits(app.sessions.get(session.id)) && import("./notify.js").then(({ notify }) => notify(session), () => {});

export const told = new Map();

// renew asks again for what the configuration decides: who there is, which models, and who may do what.
const renew = () => Promise.all([api.agents(), api.models(), api.flows(), api.me()]).then(([agents, models, flows, me]) => update({ agents, models, flows, me }), () => {});

// isStale says that another model answers for an agent than this page knows of.
const isStale = ({ agent, chosen, model, status }, before) => status !== "running" && !chosen && model && model !== before?.model && agentOf(agent).model && agentOf(agent).model !== model;

// leaving are the conversations that are deleted as far as people see it, while that can still
// be undone. Nothing that the server says brings them back.
export const leaving = new Set();

let sharing = null; // with the other tabs of the browser
let tell = () => {}; // them what the stream tells
let isConnected = false;
let shown = null; // the conversation that the stream tells of, too
let stop = null; // ends the stream
let next = null; // ends the one that is to take its place
let missed = null; // asks for what was told to nobody here

// connect begins to listen, or lets go of the stream for other tabs to have one.
function connect(now) {
  isConnected = now;
  if (!now) {
    missed ??= relist;
    update({ connection: "connecting", retryAt: 0 });
  }
  listen();
}

const relist = () => list().catch(load);

// attend has the stream tell of a conversation, too: { address, seq, take, changed } as follow has
// them. The function it returns ends that.
export function attend(one) {
  shown = one;
  turn();
  return () => {
    if (shown !== one) return;
    shown = null;
    turn();
  };
}

function listen() {
  stop?.();
  stop = null;
  turn();
}

// turn begins another stream. The one before is heard until that is there, so that nothing is missed.
function turn() {
  next?.();
  next = null;
  if (!isConnected) return;
  const own = shown;
  let mine = null;
  mine = next = follow(own?.address ?? api.events, own?.seq() ?? 0,
    (event) => {
      if (!event.kind) return tell(event), take(event);
      if (own === shown) own.take(event);
    },
    (connection, problem = null, wait = 0) => {
      if (connection !== "connecting" && mine === next) {
        stop?.();
        stop = mine;
        next = null;
      }
      if (own === shown) own?.changed(connection, problem);
      if (stop && stop !== mine) return;
      if (problem?.status === 401) return signedOut();
      if (own && own === shown && [400, 403, 404].includes(problem?.status)) return (shown = null), listen();
      // While it is tried again it is as lost as before, and nothing moves.
      update({ connection: connection === "connecting" && app.connection === "lost" ? "lost" : connection, retryAt: connection === "lost" ? Date.now() + wait : 0 });
      if (connection === "lost") (missed = load), tell({ isLost: true });
      if (connection === "live") missed = void missed?.();
    });
}

// take takes over what the server tells. isQuiet says that another tab has told it, which notifies people itself.
function take({ session, gone, reconfigured, documents, isLost }, isQuiet = false) {
  if (isLost) return void (missed = load);
  if (documents) update({ documents: app.documents + 1 });
  if (reconfigured) update({ configured: app.configured + 1 }), renew();
  if (!(session || gone) || leaving.has(session?.id)) return;
  const sessions = new Map(app.sessions);
  told.set(gone ?? session.id, session);
  if (gone) sessions.delete(gone);
  else {
    if (!isQuiet) call(session);
    if (app.known && isStale(session, sessions.get(session.id))) renew();
    sessions.set(session.id, session);
  }
  update({ sessions });
}

export const tryNow = () => hurry();

// isBack asks whether the server can be reached: who is answered does not wait any longer.
export const isBack = () => api.me().catch(() => {});

export const signedOut = () => update({ signedOut: true });

// entered begins again where somebody was signed out.
export const entered = () => (update({ entries: app.entries + 1, signedOut: false }), listen(), load());

// Who signs in does so in every tab of the browser, and who signs out, which is a 0: nothing is left
// to be read then, and the door says why.
globalThis.addEventListener?.("storage", ({ key, newValue }) => key === "troupe.entered" && (newValue === "0" ? ((sessionStorage["troupe.own.out"] = 1), location.reload()) : newValue && (app.signedOut || !app.known) && entered()));

// refresh takes over a session as the server shows it, unless the stream has told of what came later.
export function refresh(session) {
  if (!(Date.parse(app.sessions.get(session.id)?.updated) > Date.parse(session.updated))) update({ sessions: new Map(app.sessions).set(session.id, session) });
}

// byTime are the sessions, what was touched last first: those that are archived, or the others.
export function byTime(archived = false) {
  return [...app.sessions.values()].filter((s) => !!s.archived === archived && s.status !== "empty").sort((a, b) => (a.updated < b.updated ? 1 : -1));
}

export const waiting = () => byTime().filter(waits).sort((a, b) => isApproval(a) - isApproval(b));

// isApproval says that a conversation asks before something is done. These come last: their cards
// are larger, and what is read beside each other is in the order of the list.
export const isApproval = (s) => s.question?.kind === "approval";

// waits says that somebody is asked something in a conversation, though others may be at work in it.
export const waits = (s) => s?.status === "waiting" || s?.question;

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
    missed = load;
    listen(); // the stream may think that it is well, and would never say when it is again
  }
};
