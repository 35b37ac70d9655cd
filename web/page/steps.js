// What the steps of a flow are called: in the same words wherever one of them asks, works or is
// drawn.

import { agentOf, app, nameAt } from "./state.js";

// runsOf are the runs of each node, in order.
export const runsOf = (flow, session) => new Map(flow.nodes.filter((n) => n.kind === "agent").map((n) => [n.id, [...session.runs.values()].filter((run) => run.node === n.id)]));

// namesIn are what the runs of a flow's steps are called in a session.
export const namesIn = (name, session) => new Map([...session.runs.values()].map((run) => [run.id, nameAt(name, run.node, run.round)]).filter(([, called]) => called));

// askerIn is the agent that asks something in a session of a flow, by the name of its step.
export function askerIn(name, session, { agent, run }) {
  let up = session.runs.get(run);
  while (up && !up.node) up = session.runs.get(up.parent);
  const who = agentOf(agent);
  return up?.agent === agent ? { ...who, name: nameAt(name, up.node) || who.name } : who;
}

// askerOf is who asks in a session of a list: in a flow the agent at work, and not the flow.
export function askerOf({ agent, question: q }) {
  const isAgents = q && q.kind !== "gate", who = agentOf((isAgents && q.agent) || agent), name = isAgents && nameAt(agent, q.node);
  return name && app.flows.find((f) => f.name === agent).nodes.find((n) => n.id === q.node).agent === q.agent ? { ...who, name } : who;
}
