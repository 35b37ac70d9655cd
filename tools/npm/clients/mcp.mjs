// Drives an MCP server with the official TypeScript SDK.
// usage: node mcp.mjs '{"server": {"command", "args", "env", "cwd"} or {"url", "token"}, "elicit": [answers], "steps": [...]}'
// Each step is {"do": "listTools" | "listPrompts" | "listResources" | "listResourceTemplates"} or
// {"do": "callTool" | "getPrompt" | "readResource", "with": params, "cancelOn": text of a progress message}.
// Prints {"server", "instructions", "results": [result or {"error"}], "progress": [[messages]], "elicited": [params]}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const plan = JSON.parse(process.argv[2]);
const client = new Client({ name: "test", version: "1" }, { capabilities: plan.elicit ? { elicitation: {} } : {} });
const out = { results: [], progress: [], elicited: [] };
if (plan.elicit) {
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    out.elicited.push(request.params);
    return plan.elicit.shift() ?? { action: "cancel" };
  });
}
const transport = plan.server.url
  ? new StreamableHTTPClientTransport(new URL(plan.server.url), { requestInit: { headers: plan.server.token ? { Authorization: `Bearer ${plan.server.token}` } : {} } })
  : new StdioClientTransport({ ...plan.server, stderr: "inherit" });
await client.connect(transport);
out.server = client.getServerVersion();
out.instructions = client.getInstructions();
for (const step of plan.steps) {
  const messages = [];
  out.progress.push(messages);
  const cancel = new AbortController();
  const options = {
    signal: cancel.signal,
    onprogress: (p) => {
      messages.push(p.message);
      if (step.cancelOn && p.message.includes(step.cancelOn)) cancel.abort("enough");
    },
  };
  // "$session" in parameters is the session of the result before.
  const session = out.results.at(-1)?.structuredContent?.session;
  const params = JSON.parse(JSON.stringify(step.with ?? {}).replaceAll("$session", session));
  try {
    out.results.push(step.do === "callTool" ? await client.callTool(params, undefined, options) : await client[step.do](params, options));
  } catch (error) {
    out.results.push({ error: String(error) });
  }
}
await client.close();
console.log(JSON.stringify(out));
