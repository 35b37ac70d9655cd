// What a step of a flow is given, as fields that people read and change.

import { same } from "./forms.js";

const pretty = (value) => JSON.stringify(value, null, 2);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// notJSON says that a text is no JSON, with what the browser says of it: what it did not
// expect, or where.
function notJSON(text) {
  try {
    JSON.parse(text);
  } catch ({ message }) {
    return `This is not JSON: ${message.replace(/ is not valid JSON$/, "").replace(/^(JSON\.parse|JSON Parse error): /, "").replace(/\s+/g, " ")}.`;
  }
}

// fieldsOf are the fields of a handoff: { id, label, text, json }. An agent that returns a
// value says it in its summary, too: then it is shown once.
export function fieldsOf(input = {}) {
  const field = (id, label, value) => ({ id, label, text: typeof value === "string" ? value : pretty(value), json: typeof value !== "string" });
  const fields = [field("task", "Task", input.task ?? "")];
  const hasValue = input.value !== undefined;
  if (input.summary && !(hasValue && same(parsed(input.summary), input.value))) fields.push(field("summary", "Summary", input.summary));
  if (hasValue) fields.push({ id: "value", label: "Value", text: pretty(input.value), json: true });
  for (const [name, value] of Object.entries(input.key_outputs ?? {})) fields.push({ ...field("output " + name, name, value), output: name });
  if (input.custom) fields.push(field("custom", "Custom", input.custom));
  return fields;
}

// ownWords are a task's own words, of a task that a group chat or a loop has put into what it tells
// an agent.
export function ownWords(text) {
  const [, told] = text.match(/^The task:\n([^]*?)\n\n(?:Nobody has spoken yet\.|The conversation so far:\n)/) ?? text.match(/^Check this outcome of the task below\. [^\n]*\n\nThe task:\n([^]*)$/) ?? [];
  return told ?? text;
}

// changedInput is what was changed of a handoff, by the texts of its fields: { input, wrong }.
// The input is undefined if nothing was, and wrong says of fields why they cannot be so.
export function changedInput(given = {}, texts = {}) {
  const input = {}, wrong = {};
  for (const { id, text, json, output } of fieldsOf(given)) {
    const now = texts[id] ?? text;
    const value = json ? parsed(now) : now;
    if (value === undefined) wrong[id] = notJSON(now);
    else if (id === "custom" && (value === null || typeof value !== "object" || Array.isArray(value))) wrong[id] = "This must be an object: { … }.";
    else if (now === text || (json && same(value, parsed(text)))) continue;
    else if (output === undefined) input[id] = value;
    else input.key_outputs = { ...(input.key_outputs ?? given.key_outputs), [output]: value };
  }
  return { input: Object.keys(input).length ? input : undefined, wrong };
}
