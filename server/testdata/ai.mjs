// Talks to the server with Vercel's AI SDK and prints what came of it as JSON.
// Usage: node ai.mjs BASE_URL TOKEN MODULES
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , baseURL, apiKey, modules] = process.argv;
const load = (name) => import(pathToFileURL(createRequire(modules + "/").resolve(name)));
const { generateText, streamText } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const model = createOpenAICompatible({ name: "troupe", baseURL, apiKey, includeUsage: true })("clerk");
const out = {};

const messages = [{ role: "user", content: "hello" }];
const first = await generateText({ model, system: "Be brief.", messages, maxRetries: 0 });
out.first = first.text;
out.finish = first.finishReason;
out.usage = first.usage.totalTokens;
out.session = first.response.headers["troupe-session"];

messages.push({ role: "assistant", content: first.text }, { role: "user", content: "again" });
const second = streamText({ model, system: "Be brief.", messages, maxRetries: 0 });
out.second = "";
for await (const piece of second.textStream) out.second += piece;
out.streamUsage = (await second.usage).totalTokens;

try {
  const other = createOpenAICompatible({ name: "troupe", baseURL, apiKey })("nobody");
  await generateText({ model: other, prompt: "hi", maxRetries: 0 });
} catch (e) {
  out.noModel = [e.statusCode, e.message];
}
console.log(JSON.stringify(out));
