// The flow view: the agents as a tree, lit up where somebody is working.

import { html } from "./view.js";
import { cost, count } from "./format.js";

// planned reads a flow's drawing, one step on each line, into [{ name, depth, how }].
export function planned(tree) {
  return tree.split("\n").filter((line) => line.trim()).map((line) => {
    const [, lead, text] = line.match(/^([\s│├└─]*)(.*)$/su);
    const [, role = "", name, how = ""] = text.match(/^(?:([\w ]+): )?(\S+)\s*(.*)$/s) ?? [];
    return { name: name ?? text, depth: Math.round(lead.length / 3), how: [role, how.replace(/^\(|\)$/g, "")].filter(Boolean).join(", ") };
  });
}

// drawn returns the agents of a session as a tree: those that ran below those that
// had them run, each once, and those that are planned and have not run yet.
export function drawn(session, flow) {
  const root = { name: "", nodes: [] };
  const below = (parent, name) => {
    const known = parent.nodes.find((node) => node.name === name);
    if (known) return known;
    parent.nodes.push({ name, how: "", state: "idle", runs: 0, doing: "", tokens: 0, cost: 0, nodes: [] });
    return parent.nodes.at(-1);
  };
  const path = [root];
  for (const step of flow?.tree ? planned(flow.tree) : []) {
    path.length = Math.min(step.depth + 1, path.length);
    const node = below(path.at(-1), step.name);
    node.how = step.how;
    path.push(node);
  }
  const nodeOf = new Map();
  for (const run of session.runs.values()) {
    const node = below(nodeOf.get(run.parent) ?? root, run.agent);
    nodeOf.set(run.id, node);
    node.runs++;
    if (node.state !== "running") node.state = run.status;
  }
  for (const item of session.items) {
    const node = nodeOf.get(item.run);
    if (!node || node.state !== "running") continue;
    if (item.type === "tool" && item.state === "running") node.doing = item.tool;
    if (item.type === "answer" && item.streaming) node.doing = "writing";
  }
  for (const span of session.spans) {
    const node = nodeOf.get(span.run);
    if (!node || span.kind !== "model") continue;
    node.tokens += (span.usage.input_tokens ?? 0) + (span.usage.output_tokens ?? 0);
    node.cost += span.cost;
  }
  return root.nodes;
}

const words = { idle: "has not run", running: "working", waiting: "waits for you", completed: "done", failed: "failed", cancelled: "stopped" };

export function Flow({ session, flow, agentOf }) {
  const nodes = drawn(session, flow);
  const handoffs = session.items.filter((item) => item.type === "note" && / handed over to /.test(item.text));
  return html`<div class="page">
    <h1>Flow</h1>
    ${nodes.length === 0 && html`<p class="note">Nobody has worked in this session yet. Say something in the conversation.</p>`}
    <${Branch} nodes=${nodes} agentOf=${agentOf} />
    ${handoffs.length > 0 && html`<h2>Handed over</h2><ol>${handoffs.map((item) => html`<li key=${item.key}>${item.text}</li>`)}</ol>`}
  </div>`;
}

function Branch({ nodes, agentOf }) {
  if (!nodes.length) return null;
  return html`<ul class="tree">${nodes.map((node) => html`<li key=${node.name}>
    <div class="node" data-state=${node.state}>
      <span class="icon" aria-hidden="true">${agentOf(node.name).icon || "○"}</span>
      <span><strong>${agentOf(node.name).name || node.name}</strong> <span class="hint">${node.how}</span><br />
        <span class="node-state">${words[node.state] ?? node.state}${node.doing && `: ${node.doing}`}</span>
        <span class="hint">${node.runs > 1 ? ` ${node.runs} runs` : ""}${node.tokens ? ` ${count(node.tokens)} tokens` : ""} ${cost(node.cost)}</span></span>
    </div>
    <${Branch} nodes=${node.nodes} agentOf=${agentOf} />
  </li>`)}</ul>`;
}
