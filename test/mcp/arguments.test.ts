// Arguments of tools as language models send them.

import { expect, test } from "bun:test";
import { check } from "../../src/api/check.ts";
import { meantArguments } from "../../src/mcp/arguments.ts";
import { toolsOf } from "../../src/mcp/tools.ts";

const inputOf = (name: string) => {
  const found = toolsOf(false).find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`there is no tool ${name}`);
  return found.input;
};
const meant = (tool: string, args: unknown) => check(inputOf(tool), meantArguments(inputOf(tool), args)) as object;

test.each([
  ["search_memories", { query: "5", limit: "5", includeGraph: "True" }, { query: "5", limit: 5, includeGraph: true }],
  ["search_memories", { query: "a", filters: '{"tags":"x"}' }, { query: "a", filters: { tags: "x" } }],
  ["search_memories", { query: "a", filters: null, min_score: "0.5" }, { query: "a", min_score: 0.5 }],
  ["search_memories", { query: "null", mode: "fast", limit: "" }, { query: "null", mode: "fast", limit: null }],
  ["search_memories", '{"query":"a"}', { query: "a" }],
  ["list_memories", null, {}],
  ["list_memories", { cursor: null, userId: "7", limit: " 5 " }, { userId: "7", limit: 5 }],
  ["add_memory", { content: "[1]", tags: '["a","b"]' }, { content: "[1]", tags: ["a", "b"] }],
  [
    "add_memory",
    { content: "a", metadata: '{"k":"5"}', tags: "null" },
    { content: "a", metadata: { k: "5" }, tags: null },
  ],
  ["update_memory", { memory_id: "mem_1", title: null, content: null }, { memory_id: "mem_1", title: null }],
  ["delete_memory", { memory_id: "mem_1", purge: "false" }, { memory_id: "mem_1", purge: false }],
  ["get_profile", { max_tokens: "400", userId: null }, { max_tokens: 400, userId: null }],
])("%s(%j)", (tool, args, expected) => {
  expect(meant(tool, args)).toEqual(expected);
});

test("arguments that are right stay as they are", () => {
  const args = { query: "1", limit: 1, filters: { "metadata.n": { $gt: 3 } }, userId: "true", mode: "precise" };
  expect(meantArguments(inputOf("search_memories"), args)).toEqual(args);
});

test("what cannot be meant is refused as it was sent", () => {
  for (const args of ["no JSON", 7, [], { query: "a", limit: [5] }, { query: "a", limit: "1e3" }]) {
    expect(() => meant("search_memories", args)).toThrow();
  }
});
