// The tools for Vercel's AI SDK on the server at MNEME_URL: a model that always calls them, with the real `ai` package.
// Then the provider: Mneme's own models.

import assert from "node:assert/strict";
import {
  asSchema,
  createProviderRegistry,
  embed,
  embedMany,
  generateObject,
  generateText,
  isStepCount,
  jsonSchema,
  streamText,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Mneme, MnemeError } from "mneme-client";
import { mnemeProvider, mnemeTools } from "mneme-client/ai";

const mneme = new Mneme();
await mneme.memories.add({ content: "Bob keeps the spare key in the shed.", userId: "bob" }, { wait: true });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
/** The results of tools that a model calls with these inputs, one after the other. */
async function called(tools, calls) {
  let step = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const [toolName, input] = calls[step] ?? [];
      step++;
      const content =
        toolName === undefined
          ? [{ type: "text", text: "done" }]
          : [{ type: "tool-call", toolCallId: `call-${step}`, toolName, input: JSON.stringify(input) }];
      const unified = toolName === undefined ? "stop" : "tool-calls";
      return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
    },
  });
  const { steps, text } = await generateText({
    model,
    prompt: "Help.",
    tools,
    stopWhen: isStepCount(calls.length + 1),
  });
  assert.equal(text, "done");
  return steps.flatMap(({ content }) => content.filter(({ type }) => type === "tool-result" || type === "tool-error"));
}

const tools = mnemeTools(mneme, { userId: "ada" });
assert.deepEqual(Object.keys(tools), ["search_memories", "ask_memories", "add_memory"]);
const [added, found, answered] = await called(tools, [
  ["add_memory", { content: "Ada keeps the spare key under the blue pot.", title: "Spare key" }],
  ["search_memories", { query: "Where is the spare key?", limit: 3 }],
  ["ask_memories", { question: "Where is the spare key?" }],
]);
assert.equal(added.output.status, "completed");
assert.deepEqual(
  found.output.map(({ memoryId, title }) => [memoryId, title]),
  [[added.output.memoryId, "Spare key"]],
);
assert.match(answered.output.answer, /blue pot/);
assert.match(answered.output.sources[0], /blue pot/);

const refused = await called(tools, [
  ["search_memories", { query: "key", userId: "bob" }],
  ["search_memories", { query: "key", limit: 1_000 }],
  ["add_memory", { content: "" }],
]);
assert.deepEqual(
  refused.map(({ type }) => type),
  ["tool-error", "tool-error", "tool-error"],
);
assert.equal((await mneme.memories.list().take(9)).length, 2);

const [kept, ownAgent] = await called(mnemeTools(mneme, { userId: "ada", agentId: "cook", sessionId: "s-1" }), [
  ["add_memory", { content: "The soup needs salt." }],
  ["search_memories", { query: "What needs salt, and where is the spare key?" }],
]);
assert.deepEqual(
  ownAgent.output.map(({ memoryId }) => memoryId),
  [kept.output.memoryId],
);
const stored = await mneme.memories.get(kept.output.memoryId);
assert.deepEqual([stored.userId, stored.agentId, stored.sessionId], ["ada", "cook", "s-1"]);
await mneme.memories.delete(stored.id);

const reading = mnemeTools(mneme, { userId: "ada", filters: { title: "nothing" }, canAdd: false });
assert.deepEqual(Object.keys(reading), ["search_memories", "ask_memories"]);
assert.deepEqual((await called(reading, [["search_memories", { query: "spare key" }]]))[0].output, []);
assert.throws(() => mnemeTools(mneme, { filters: { title: "a" } }), MnemeError);
assert.equal((await asSchema(tools.add_memory.inputSchema).jsonSchema).additionalProperties, false);

// the provider
const models = mnemeProvider(mneme, { userId: "ada" });
const prompt = "Where is the spare key?";
const whole = await generateText({ model: models("mneme/fast"), prompt, topP: 0.5 });
assert.equal(whole.text, "Ada keeps the spare key under the blue pot. [1]");
assert.deepEqual([whole.finishReason, whole.usage.totalTokens, whole.response.modelId], ["stop", 0, "mneme/fast"]);
assert.deepEqual(
  whole.warnings.map(({ type, feature }) => [type, feature]),
  [["unsupported", "topP"]],
);
const [source] = whole.sources;
assert.deepEqual([whole.sources.length, source.sourceType, source.title], [1, "document", "Spare key"]);
assert.equal(source.providerMetadata.mneme.memoryId, added.output.memoryId);
assert.equal(source.providerMetadata.mneme.content, "Ada keeps the spare key under the blue pot.");

const page = {
  content: "The ferry to Bergen leaves at nine.",
  userId: "ada",
  metadata: { url: "https://a.test/ferry" },
};
const ferry = await mneme.memories.add(page, { wait: true });
const followUp = [
  { role: "user", content: [{ type: "text", text: "When does the ferry leave?" }] },
  { role: "assistant", content: [{ type: "text", text: "At nine. [1]" }] },
  { role: "user", content: "And where does the ferry go to?" },
];
const streamed = streamText({
  model: createProviderRegistry({ mneme: models }).languageModel("mneme:mneme"),
  system: "Answer briefly.",
  messages: followUp,
  onError: ({ error }) => console.log(error),
});
let written = "";
for await (const text of streamed.textStream) written += text;
assert.match(written, /ferry to Bergen leaves at nine\. \[1\]/);
const [linked] = await streamed.sources;
assert.deepEqual([linked.sourceType, linked.url], ["url", "https://a.test/ferry"]);
assert.equal(await streamed.finishReason, "stop");
assert.equal((await streamed.usage).totalTokens, 0);

for (const [model, filters] of [
  ["mneme", { userId: "bob" }],
  ["mneme/precise", { userId: "ada", filters: { title: "nothing" } }],
  ["mneme/hybrid", { userId: "ada", agentId: "nobody" }],
]) {
  const answer = await generateText({ model: mnemeProvider(mneme, filters)(model), prompt });
  assert.ok(!answer.text.includes("blue pot"), `${model} left its scope: ${answer.text}`);
}

// what these models cannot do is refused, not left out
const refuses = (work, message) => assert.rejects(work, message);
const model = models("mneme/fast");
const text = (url) => [{ role: "user", content: [{ type: "file", data: url, mediaType: "image/png" }] }];
await refuses(generateText({ model, prompt, tools }), /cannot call tools/);
await refuses(generateObject({ model, prompt, schema: jsonSchema({ type: "object" }) }), /not in JSON/);
await refuses(generateText({ model, messages: text(new Uint8Array([137, 80, 78, 71])) }), /not files or images/);
await refuses(generateText({ model: models("gpt-4o"), prompt, maxRetries: 0 }), /There is no model/);
assert.throws(() => models.imageModel("x"), MnemeError);

// a failure in a stream is an error of the stream, and hanging up ends it
const errors = [];
const failing = streamText({ model: models("gpt-4o"), prompt, onError: ({ error }) => errors.push(error) });
await failing.consumeStream({ onError: () => undefined });
assert.match(String(errors[0]), /There is no model/);
const abort = new AbortController();
abort.abort();
await refuses(generateText({ model, prompt, abortSignal: abort.signal }), /abort/i);

// embeddings
const embedder = (await mneme.models.list()).find(({ mneme }) => mneme?.task === "embeddings").id;
const query = { mneme: { inputType: "query" } };
const one = await embed({ model: models.embeddingModel(embedder), value: prompt, providerOptions: query });
const many = await embedMany({ model: models.embeddingModel(embedder), values: [prompt, "A kettle."] });
assert.deepEqual([one.embedding.length, many.embeddings.length], [384, 2]);
assert.notDeepEqual(one.embedding, many.embeddings[0]);
assert.ok(one.usage.tokens > 0);
await mneme.memories.delete(ferry.id);
console.log("ok");
