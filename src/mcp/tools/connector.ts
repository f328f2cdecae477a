// The tools `search` and `fetch` in the form that ChatGPT's connectors and deep research require. They do the same as
// search_memories and get_memory, so they are listed only if the operator switches them on.

import { Type } from "@sinclair/typebox";
import { Text } from "../../api/check.ts";
import { memoryPath, ofMemory } from "../../api/operation-calls.ts";
import { Body, JsonMap } from "../../api/schema/fields.ts";
import { SearchMemories } from "../../api/schema/memories.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { fitted } from "../budget.ts";
import { memoryResult, passageResult } from "../memory-result.ts";
import { MemoryIdArgument, READS, type Tool, tool } from "../tool.ts";

/** Greatest size of a fetched text, in estimated tokens. */
const FETCH_TOKENS = 20_000;
/** Maximum length of a title that is made from the beginning of a text, in tokens. */
const TITLE_TOKENS = 12;

const Found = Type.Object({ id: Text(), title: Text(), url: Text() });

/** Finds memories. Returns the id, title and address of each. */
export const search: Tool = tool({
  name: "search",
  title: "Search",
  description: "Finds what is stored about a subject, best first. Read a result with fetch.",
  scope: "memories:read",
  annotations: READS,
  input: Body({ query: SearchMemories.properties.query }),
  output: Type.Object({ results: Type.Array(Found) }),
  run: async ({ query }, { operations, origin }) => {
    const answer = await operations.call("searchMemories", { body: { query } });
    const passages = (answer.results as JsonRecord[]).map(passageResult);
    const best = new Map(passages.toReversed().map((passage) => [passage.memory_id, passage]));
    const results = [...best.values()].toReversed().map(({ memory_id, title, content }) => {
      return { id: memory_id, title: title ?? titleOf(content), url: addressOf(origin, memory_id) };
    });
    return { results };
  },
});

/** Reads a memory that `search` found. */
export const fetchMemory: Tool = tool({
  name: "fetch",
  title: "Fetch",
  description: "Reads the text of a result of search.",
  scope: "memories:read",
  annotations: READS,
  input: Body({ id: MemoryIdArgument }),
  output: Type.Object({
    ...Found.properties,
    text: Text(),
    metadata: Type.Optional(JsonMap),
    note: Type.Optional(Text({ description: "What is cut" })),
  }),
  run: async ({ id }, { operations, origin }) => {
    const memory = memoryResult(await operations.call("getMemory", ofMemory(id)));
    const { memory_id, content, title, metadata } = memory;
    const { text, isCut } = fitted(content, FETCH_TOKENS);
    return {
      id: memory_id,
      title: title ?? titleOf(content),
      text,
      url: addressOf(origin, memory_id),
      ...(metadata !== undefined && { metadata }),
      ...(isCut && { note: `Only the first ${FETCH_TOKENS} tokens are shown; get_memory reads the rest.` }),
    };
  },
});

function titleOf(content: string): string {
  return fitted(content, TITLE_TOKENS).text;
}

function addressOf(origin: string, id: string): string {
  return `${origin}${memoryPath(id)}`;
}
