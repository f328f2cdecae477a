// The tools for Vercel's AI SDK on the server at MNEME_URL: a model that always calls them, with the real `ai` package.

import assert from "node:assert/strict";
import { asSchema, generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Mneme, MnemeError } from "mneme-client";
import { mnemeTools } from "mneme-client/ai";

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
console.log("ok");
