// How far a guided workflow has come. Its steps are in the instructions that the
// agent loads; which of them it is at is what the agent says last, so that this is
// a good guess and no more.

const stepTag = /<step\b([^>]{0,400})>/g;
const said = /^[\s#>*_-]*step\s+(\d+[a-z]?)\b/gim;

export class Progress {
  workflow = "";
  steps = []; // { n, goal }
  at = -1;

  // returned reads what a tool returned: the instructions of a workflow, perhaps.
  returned(tool, content) {
    if (tool !== "execute_workflow" && tool !== "read_file") return;
    let result;
    try {
      result = JSON.parse(content);
    } catch {
      return;
    }
    const steps = stepsOf(String(result?.instructions ?? (tool === "read_file" ? result?.content : "") ?? ""));
    if (steps.length < 2) return;
    this.workflow = String(result.workflow_name ?? "");
    this.steps = steps;
    this.at = 0;
  }

  // heard reads what the agent said.
  heard(text) {
    if (!this.steps.length) return;
    for (const [, n] of text.matchAll(said)) {
      const at = this.steps.findIndex((step) => step.n === n.toLowerCase());
      if (at >= 0) this.at = at;
    }
  }
}

function stepsOf(text) {
  const steps = [];
  for (const [, attributes] of text.matchAll(stepTag)) {
    const value = (name) => attributes.match(new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`))?.[1];
    const n = value("n");
    if (n && !steps.some((step) => step.n === n.toLowerCase())) steps.push({ n: n.toLowerCase(), goal: value("goal") ?? value("title") ?? "" });
  }
  return steps;
}
