// Drives an ACP agent with the official TypeScript SDK, as an editor does.
// usage: node acp.mjs '{"agent": {"command", "args", "env", "cwd"}, "permit": [option kinds], "buffers": {path: unsaved text}, "steps": [...]}'
// With buffers it reads and writes files as an editor does: from the buffer, else from disk; what is written is saved.
// Each step is {"do": method, "with": params, "cancelOn": kind of update}; "$session" in params is the session of the last result that has one.
// Prints {"results": [result or {"error"}], "updates": [[update]], "permissions": [request], "read": [path], "written": {path: text}}: updates are those that came during each step.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

const plan = JSON.parse(process.argv[2]);
const child = spawn(plan.agent.command, plan.agent.args, { cwd: plan.agent.cwd, env: { ...process.env, ...plan.agent.env }, stdio: ["pipe", "pipe", "inherit"] });
const out = { results: [], updates: [], permissions: [], read: [], written: {} };
let step, session;
const app = client({ name: "test" })
  .onNotification(methods.client.session.update, ({ params }) => {
    out.updates.at(-1).push(params.update);
    if (step.cancelOn && params.update.sessionUpdate === step.cancelOn) {
      delete step.cancelOn;
      context.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
    }
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    out.permissions.push(params);
    const kind = plan.permit.shift();
    const option = params.options.find((o) => o.kind === kind);
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) => {
    out.read.push(params.path);
    return { content: plan.buffers[params.path] ?? readFileSync(params.path, "utf8") };
  })
  .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
    plan.buffers[params.path] = out.written[params.path] = params.content;
    writeFileSync(params.path, params.content);
    return {};
  });
let context;
await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
  context = ctx;
  out.updates.push([]);
  step = {};
  out.initialized = await ctx.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: !!plan.buffers, writeTextFile: !!plan.buffers } },
  });
  for (step of plan.steps) {
    out.updates.push([]);
    const params = JSON.parse(JSON.stringify(step.with ?? {}).replaceAll("$session", session));
    try {
      const result = await ctx.request(step.do, params);
      session = result?.sessionId ?? session;
      out.results.push(result ?? {});
    } catch (error) {
      out.results.push({ error: error.message });
    }
    if (step.until) while (!out.updates.at(-1).some((u) => u.sessionUpdate === step.until)) await new Promise((next) => setImmediate(next));
  }
});
child.stdin.end();
await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done()));
out.exit = child.exitCode;
console.log(JSON.stringify(out));
