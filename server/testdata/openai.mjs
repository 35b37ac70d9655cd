// Talks to the server with OpenAI's own client and prints what came of it as JSON.
// Usage: node openai.mjs BASE_URL TOKEN MODULES
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , baseURL, apiKey, modules] = process.argv;
const { default: OpenAI } = await import(pathToFileURL(createRequire(modules + "/").resolve("openai")));
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const out = {};

out.models = (await client.models.list()).data.map((m) => m.id);
out.model = (await client.models.retrieve("round")).id;

const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];
const { data: first, response } = await client.chat.completions.create({ model: "clerk", messages }).withResponse();
out.first = first.choices[0].message.content;
out.finish = first.choices[0].finish_reason;
out.usage = first.usage.total_tokens;
out.session = response.headers.get("troupe-session");

messages.push(first.choices[0].message, { role: "user", content: "again" });
const stream = await client.chat.completions.create({ model: "clerk", messages, stream: true, stream_options: { include_usage: true } });
out.second = "";
for await (const chunk of stream) {
  const delta = chunk.choices[0]?.delta.content;
  if (delta) out.second += delta;
  if (chunk.usage) out.streamUsage = chunk.usage.total_tokens;
}

const runner = client.chat.completions.stream({ model: "clerk", messages: [{ role: "user", content: "hi" }] });
out.runner = await runner.finalContent();

const failure = async (request, key = apiKey) => {
  try {
    await new OpenAI({ baseURL, apiKey: key, maxRetries: 0 }).chat.completions.create(request);
  } catch (e) {
    return [e.constructor.name, e.status, e.code, e.param];
  }
};
const ask = { model: "clerk", messages: [{ role: "user", content: "hi" }] };
out.noModel = await failure({ ...ask, model: "nobody" });
out.noKey = await failure(ask, "wrong");
out.tools = await failure({ ...ask, tools: [{ type: "function", function: { name: "f", parameters: {} } }] });
console.log(JSON.stringify(out));
