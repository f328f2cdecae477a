// The tools that read: search_memories, ask_memories, get_memory, list_memories.

import { type Static, Type } from "@sinclair/typebox";
import { Text } from "../../api/check.ts";
import { ofMemory } from "../../api/operation-calls.ts";
import { Body, Optional } from "../../api/schema/fields.ts";
import {
  AnswerState,
  GetMemory as GetMemoryQuery,
  ListMemories,
  QueryMemories,
  SearchMemories,
} from "../../api/schema/memories.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { splitsPair } from "../../kit/surrogates.ts";
import { cutNote, ENVELOPE_TOKENS, firstFitting, fitted, LIGHTER, lightened, MaxTokens, tokensOf } from "../budget.ts";
import { MemoryResult, memoryResult, PassageResult, passageResult } from "../memory-result.ts";
import { MemoryIdArgument, READS, type Tool, tool } from "../tool.ts";

/** Default of `max_tokens` of the tools that return several items. A search result takes about 100 tokens. */
const SEARCH_TOKENS = 4_000;
/** Default of `max_tokens` of get_memory. */
const MEMORY_TOKENS = 8_000;
/** Share of `max_tokens` that the attributes of a memory may take when it is read alone. */
const MEMORY_ATTRIBUTES_SHARE = 0.5;
/** Number of tokens of a list besides its memories. A list also has a cursor. */
const LIST_ENVELOPE_TOKENS = 2 * ENVELOPE_TOKENS;
/** Minimum number of tokens that the text of a memory gets, in a list and when it is read alone. */
const TEXT_TOKENS_MIN = 40;

const Note = Type.Optional(Text({ description: "What is left out or cut" }));

const { explain, ...searching } = SearchMemories.properties;
const { stream, ...asking } = QueryMemories.properties;

/** Finds passages. */
export const searchMemories: Tool = tool({
  name: "search_memories",
  title: "Search memories",
  description:
    "Finds what is stored about a subject, best first, by meaning and by words, in any language. Use it before you answer anything that may depend on earlier conversations, people, preferences or documents.",
  scope: "memories:read",
  annotations: READS,
  input: Body({ ...searching, max_tokens: MaxTokens(SEARCH_TOKENS) }),
  output: Type.Object({
    results: Type.Array(PassageResult),
    total_results: Type.Integer({ description: "Number of passages found, with those left out" }),
    note: Note,
  }),
  run: async ({ max_tokens, ...body }, { operations }) => {
    const answer = await operations.call("searchMemories", { body });
    const found = (answer.results as JsonRecord[]).map(passageResult);
    const tokensMax = max_tokens ?? SEARCH_TOKENS;
    const fitting = firstFitting(found, tokensMax - ENVELOPE_TOKENS, tokensMax);
    const note = cutNote(fitting, tokensMax);
    return { results: [...fitting.items], total_results: found.length, ...(note !== null && { note }) };
  },
});

/** Answers a question. */
export const askMemories: Tool = tool({
  name: "ask_memories",
  title: "Ask the memories",
  description:
    "Answers a question from what is stored, with [n] for the source of each sentence, and says so if nothing stored answers it. Use search_memories instead if you want to read the passages and conclude yourself.",
  scope: "query",
  annotations: READS,
  input: Body({ ...asking, max_tokens: MaxTokens(SEARCH_TOKENS) }),
  output: Type.Object({
    answer: Text(),
    answer_state: AnswerState,
    sources: Type.Array(
      Type.Object({ n: Type.Integer({ description: "[n] in the answer" }), ...PassageResult.properties }),
    ),
    tokens_used: Type.Integer({ description: "Tokens of the language model; 0 without one" }),
    note: Note,
  }),
  run: async ({ max_tokens, ...body }, { operations }) => {
    const result = await operations.call("queryMemories", { body });
    const tokensMax = max_tokens ?? SEARCH_TOKENS;
    const room = tokensMax - ENVELOPE_TOKENS;
    const { text: answer, isCut } = fitted(String(result.answer), room);
    const sources = (result.sources as JsonRecord[]).map((source, at) => ({ n: at + 1, ...passageResult(source) }));
    const fitting = firstFitting(sources, room - tokensOf(answer), tokensMax, false);
    const note = isCut ? `The answer is cut, because of max_tokens ${tokensMax}.` : cutNote(fitting, tokensMax);
    const { tokens_used } = result.usage as { readonly tokens_used: number };
    const answer_state = result.answer_state as Static<typeof AnswerState>;
    return { answer, answer_state, sources: [...fitting.items], tokens_used, ...(note !== null && { note }) };
  },
});

/** Reads one memory. */
export const getMemory: Tool = tool({
  name: "get_memory",
  title: "Read a memory",
  description: "Reads one memory as a whole, with its attributes. A long text can be read in parts with `offset`.",
  scope: "memories:read",
  annotations: READS,
  input: Body({
    memory_id: MemoryIdArgument,
    knownAt: Optional(GetMemoryQuery.properties.knownAt),
    offset: Optional(
      Type.Integer({
        minimum: 0,
        default: 0,
        description: "Where to begin in the text: `next_offset` of the last call",
      }),
    ),
    max_tokens: MaxTokens(MEMORY_TOKENS),
  }),
  output: Type.Object({
    ...MemoryResult.properties,
    next_offset: Type.Optional(Type.Integer({ description: "Present if the text goes on" })),
    note: Note,
  }),
  run: async ({ memory_id, knownAt, offset, max_tokens }, { operations }) => {
    const tokensMax = max_tokens ?? MEMORY_TOKENS;
    const query = knownAt == null ? {} : { knownAt };
    const whole = memoryResult(await operations.call("getMemory", { ...ofMemory(memory_id), query }));
    const { item: memory, isLighter } = lightened(whole, tokensMax, MEMORY_ATTRIBUTES_SHARE);
    const lighterNote = isLighter ? `Because of max_tokens ${tokensMax}, ${LIGHTER}.` : null;
    const start = startOf(memory.content, offset ?? 0);
    const rest = memory.content.slice(start);
    const frame = tokensOf({ ...memory, content: "" });
    const { text, isCut } = fitted(rest, Math.max(TEXT_TOKENS_MIN, tokensMax - ENVELOPE_TOKENS - frame));
    if (!isCut) return { ...memory, content: text, ...(lighterNote !== null && { note: lighterNote }) };
    const shown = text.slice(0, -1); // without the ellipsis
    const next_offset = start + shown.length;
    const goesOn = `The text goes on: up to here, ${next_offset} of its ${memory.content.length} characters have been shown.`;
    const note = lighterNote === null ? goesOn : `${lighterNote} ${goesOn}`;
    return { ...memory, content: shown, next_offset, note };
  },
});

/** The position at `offset`, or before it if that is within a surrogate pair; at most the length of the text. */
function startOf(text: string, offset: number): number {
  const start = Math.min(offset, text.length);
  return start > 0 && splitsPair(text, start) ? start - 1 : start;
}

/** Lists memories. */
export const listMemories: Tool = tool({
  name: "list_memories",
  title: "List memories",
  description:
    "Lists memories, newest first, with the beginning of their texts. Use search_memories to find something by its meaning.",
  scope: "memories:read",
  annotations: READS,
  input: Body({ ...ListMemories.properties, max_tokens: MaxTokens(SEARCH_TOKENS) }),
  output: Type.Object({
    memories: Type.Array(MemoryResult),
    has_more: Type.Boolean(),
    cursor: Type.Optional(Text({ description: "Pass it to the next call to go on" })),
    note: Note,
  }),
  run: async ({ max_tokens, ...query }, { operations }) => {
    const tokensMax = max_tokens ?? SEARCH_TOKENS;
    const page = async (limit: number | undefined) => {
      const { data, has_more, cursor } = await operations.call("listMemories", { query: { ...query, limit } });
      const lighter = (data as JsonRecord[]).map((memory) => lightened(memoryResult(memory), tokensMax));
      return {
        memories: lighter.map(({ item }) => item),
        isLighter: lighter.some(({ isLighter }) => isLighter),
        has_more: has_more === true,
        cursor: cursor as string | null,
      };
    };
    let listed = await page(query.limit);
    const room = tokensMax - LIST_ENVELOPE_TOKENS;
    const fitting = numberFitting(listed.memories, room);
    const isShorter = fitting < listed.memories.length;
    if (isShorter) listed = await page(fitting); // so that the cursor goes on after the last memory that is shown
    const { memories, isCut } = sharing(listed.memories, room);
    const notes = [
      ...(isShorter ? [`Only ${fitting} memories fit into max_tokens ${tokensMax}; go on with the cursor.`] : []),
      ...(isCut ? ["Long texts are cut; get_memory reads them."] : []),
      ...(listed.isLighter ? [`Because of max_tokens ${tokensMax}, ${LIGHTER}.`] : []),
    ];
    return {
      memories,
      has_more: listed.has_more,
      ...(listed.cursor !== null && { cursor: listed.cursor }),
      ...(notes.length > 0 && { note: notes.join(" ") }),
    };
  },
});

/** Number of memories whose attributes and beginnings of texts fit into `tokensMax`; at least 1. */
function numberFitting(memories: readonly MemoryResult[], tokensMax: number): number {
  let tokens = 0;
  const at = memories.findIndex((memory) => {
    const { text } = fitted(memory.content, TEXT_TOKENS_MIN);
    tokens += tokensOf({ ...memory, content: text });
    return tokens > tokensMax;
  });
  return at === -1 ? memories.length : Math.max(1, at);
}

/**
 * Cuts the texts of memories so that all fit into `tokensMax` with their attributes. They share the room equally,
 * except that short texts leave their rest to longer ones.
 */
function sharing(memories: readonly MemoryResult[], tokensMax: number) {
  let left = memories.reduce((rest, memory) => rest - tokensOf({ ...memory, content: "" }), tokensMax);
  let isCut = false;
  const shown = new Map<MemoryResult, MemoryResult>();
  const byLength = [...memories].sort((one, other) => one.content.length - other.content.length);
  for (const [at, memory] of byLength.entries()) {
    const share = Math.max(TEXT_TOKENS_MIN, Math.floor(left / (byLength.length - at)));
    const content = fitted(memory.content, share);
    left -= tokensOf(content.text);
    isCut ||= content.isCut;
    shown.set(memory, { ...memory, content: content.text });
  }
  return { memories: memories.map((memory) => shown.get(memory) ?? memory), isCut };
}
