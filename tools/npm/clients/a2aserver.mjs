// An A2A agent made with the official JavaScript SDK: it books tables, and asks for how many.
// Prints its address and serves until it is ended.
import express from "express";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";

const text = (value) => ({ content: { $case: "text", value }, mediaType: "text/plain", filename: "", metadata: undefined });
const say = (taskId, contextId, value) => ({ messageId: taskId + value, role: 2, parts: [text(value)], taskId, contextId, extensions: [], referenceTaskIds: [], metadata: undefined });
const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });
const executor = {
  async execute({ taskId, contextId, task, userMessage }, bus) {
    bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(1), artifacts: [], history: [userMessage], metadata: undefined, ...task }));
    if (!task) {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(6, say(taskId, contextId, "For how many?")), metadata: undefined }));
    } else {
      const said = userMessage.parts[0].content.value.toLowerCase();
      const artifact = { artifactId: "booking", name: "booking", description: "", parts: [text("Booked "), text(said)], extensions: [], metadata: undefined };
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }));
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(3), metadata: undefined }));
    }
    bus.finished();
  },
  async cancelTask() {},
};
const card = {
  name: "Booking", description: "Books tables.", version: "1", skills: [], capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], supportedInterfaces: [], securitySchemes: {}, securityRequirements: [], signatures: [],
};
const app = express();
const listener = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${listener.address().port}`;
  card.supportedInterfaces.push({ url, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" });
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
  app.use("/", jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
  console.log(url);
});
