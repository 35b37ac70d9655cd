// Drives an A2A agent with the official JavaScript SDK.
// usage: node a2a.mjs '{"url", "token", "legacy": true for the protocol's version 0.3, "steps": [...]}'
// Each step is {"do": "stream" | "send" | "getTask" | "listTasks" | "cancelTask" | "createTaskPushNotificationConfig", "text", "data", "with": params, "cancelOn": state}.
// "$task" and "$context" in a step are those of the step before.
// Prints {"card", "version", "results": [result or {"error"}], "events": [[event]]}.
import { randomUUID } from "node:crypto";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";

const plan = JSON.parse(process.argv[2]);
const withToken = (input, init = {}) => fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...(plan.token ? { Authorization: `Bearer ${plan.token}` } : {}) } });
const legacyCompat = { enabled: !!plan.legacy };
const resolver = new DefaultAgentCardResolver({ fetchImpl: withToken, legacyCompat });
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl: withToken, legacyCompat })], cardResolver: resolver });
const out = { results: [], events: [] };
let task, context;
const remember = (value) => {
  task = value?.task?.id ?? value?.id ?? value?.statusUpdate?.taskId ?? value?.taskId ?? task;
  context = value?.task?.contextId ?? value?.contextId ?? value?.statusUpdate?.contextId ?? context;
};
// What the SDK wraps as {payload: {$case, value}} is shown as {[$case]: value}.
const plain = (value) => {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value && typeof value === "object") {
    if (typeof value.$case === "string") return { [value.$case]: plain(value.value) };
    const made = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
    return made.payload ? { ...made, ...made.payload, payload: undefined } : made;
  }
  return value;
};
let card = await resolver.resolve(plan.url + "/.well-known/agent-card.json", "");
if (plan.legacy) card = { ...card, supportedInterfaces: card.supportedInterfaces.filter((i) => i.protocolVersion.startsWith("0.3")) };
const client = await factory.createFromAgentCard(card);
out.card = card;
out.version = client.protocolVersion;
for (let step of plan.steps) {
  step = JSON.parse(JSON.stringify(step).replaceAll("$task", task ?? "").replaceAll("$context", context ?? ""));
  const events = [];
  out.events.push(events);
  const parts = [];
  if (step.text) parts.push({ content: { $case: "text", value: step.text }, mediaType: "text/plain", filename: "", metadata: undefined });
  if (step.data) parts.push({ content: { $case: "data", value: step.data }, mediaType: "application/json", filename: "", metadata: undefined });
  const message = { messageId: randomUUID(), role: 1, parts, contextId: "", taskId: "", extensions: [], referenceTaskIds: [], metadata: undefined, ...step.message };
  const params = { tenant: "", message, configuration: step.configuration, metadata: undefined };
  try {
    if (step.do === "stream") {
      for await (const event of client.sendMessageStream(params)) {
        const shown = plain(event);
        events.push(shown);
        remember(shown);
        if (step.cancelOn && shown.statusUpdate?.status?.message?.parts?.some((p) => p.content?.text?.includes(step.cancelOn))) {
          delete step.cancelOn;
          await client.cancelTask({ tenant: "", id: task, metadata: undefined });
        }
      }
      out.results.push({ task, context });
    } else if (step.do === "send") {
      const result = plain(await client.sendMessage(params));
      remember(result);
      out.results.push(result);
    } else {
      out.results.push(plain(await client[step.do]({ tenant: "", ...step.with })));
    }
  } catch (error) {
    out.results.push({ error: String(error?.message ?? error) });
  }
}
console.log(JSON.stringify(out));
