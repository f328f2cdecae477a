// Tools for the AI SDK of Vercel (`ai`, 6 and newer): a model can search, ask and store memories. They have the
// standard form of schemas (Standard Schema with JSON Schema), so that this package needs no other. ai-provider.ts has
// Mneme's own models.

import { MnemeError } from "./errors.ts";
import type { Mneme } from "./mneme.ts";
import type { MemoryScope } from "./types.ts";

export { type AnswerScope, type MnemeProvider, mnemeProvider } from "./ai-provider.ts";

/**
 * What the tools may see and do. The model cannot change it. The tools read the memories of this user, agent and
 * session, and what they store belongs to them. Default: the whole project, or the user of the key.
 */
export interface ToolScope extends MemoryScope {
  /** Conditions that every found memory fulfils. */
  readonly filters?: Record<string, unknown>;
  /** Whether the model may store memories. Default: true. */
  readonly canAdd?: boolean;
}

/** What the AI SDK passes to a tool, as far as the tools use it. */
export interface ToolCallOptions {
  readonly abortSignal?: AbortSignal | undefined;
}

/** One tool. */
export interface MnemeTool<Input, Output> {
  readonly description: string;
  readonly inputSchema: InputSchema<Input>;
  readonly execute: (input: Input, options: ToolCallOptions) => Promise<Output>;
}

type Checked<Input> = { readonly value: Input } | { readonly issues: readonly { readonly message: string }[] };

/** A schema in the form of Standard Schema and Standard JSON Schema. */
export interface InputSchema<Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "mneme";
    readonly types?: { readonly input: Input; readonly output: Input } | undefined;
    readonly validate: (value: unknown) => Checked<Input>;
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

/** A passage, with what a model can use of it. */
export interface FoundPassage {
  readonly memoryId: string;
  readonly title: string | null;
  readonly content: string;
  readonly score: number;
  readonly createdAt: string;
}

const LIMIT_MAX = 20;
const LIMIT_DEFAULT = 5;

const text = (description: string) => ({ type: "string", minLength: 1, description });
const SEARCH = {
  query: text("what to look for, as a question or key words"),
  limit: {
    type: "integer",
    minimum: 1,
    maximum: LIMIT_MAX,
    description: `how many passages; ${LIMIT_DEFAULT} if absent`,
  },
};
const ASK = { question: text("a complete question") };
const ADD = {
  content: text("one fact or note, in words that are clear without this conversation"),
  title: text("a few words"),
};

/**
 * Tools for `generateText` and `streamText`: `tools: mnemeTools(mneme, { userId })`.
 * @throws MnemeError if `filters` is given and the model may store memories, which need not fulfil it
 */
export function mnemeTools(mneme: Mneme, { filters, canAdd = true, ...owner }: ToolScope = {}) {
  const scope = { ...owner, ...(filters !== undefined && { filters }) };
  const signalOf = ({ abortSignal }: ToolCallOptions) => (abortSignal === undefined ? {} : { signal: abortSignal });
  const search: MnemeTool<{ query: string; limit?: number }, FoundPassage[]> = {
    description: "Find passages in the stored memories, best first.",
    inputSchema: schemaOf(SEARCH, ["query"]),
    execute: async ({ query, limit = LIMIT_DEFAULT }, options) => {
      const { results } = await mneme.memories.search(query, { ...scope, limit }, signalOf(options));
      return results.map(({ memory_id, content, score, metadata }) => ({
        memoryId: memory_id,
        title: metadata._memory.title,
        content,
        score,
        createdAt: metadata._memory.created_at,
      }));
    },
  };
  const ask: MnemeTool<{ question: string }, { answer: string; sources: string[] }> = {
    description: "Answer a question from the stored memories. [n] in the answer cites the n-th source.",
    inputSchema: schemaOf(ASK, ["question"]),
    execute: async ({ question }, options) => {
      const { answer, sources } = await mneme.memories.query(question, scope, signalOf(options));
      return { answer, sources: sources.filter(({ cited }) => cited === true).map(({ content }) => content) };
    },
  };
  const add: MnemeTool<{ content: string; title?: string }, { memoryId: string; status: string }> = {
    description: "Store a memory, so that later conversations can find it.",
    inputSchema: schemaOf(ADD, ["content"]),
    execute: async (memory, options) => {
      const stored = await mneme.memories.add({ ...memory, ...owner }, { wait: true, ...signalOf(options) });
      return { memoryId: stored.id, status: stored.status };
    },
  };
  const readers = { search_memories: search, ask_memories: ask };
  if (canAdd && filters !== undefined) {
    throw new MnemeError("A memory that a tool stores need not fulfil 'filters': set 'canAdd' to false.");
  }
  return canAdd ? { ...readers, add_memory: add } : readers;
}

interface Field {
  readonly type: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

function schemaOf<Input>(properties: Readonly<Record<string, Field>>, required: readonly string[]): InputSchema<Input> {
  const json = { type: "object", properties, required: [...required], additionalProperties: false };
  const validate = (value: unknown): Checked<Input> => {
    const issues = issuesOf(value, properties, required);
    return issues.length === 0 ? { value: value as Input } : { issues: issues.map((message) => ({ message })) };
  };
  return {
    "~standard": { version: 1, vendor: "mneme", validate, jsonSchema: { input: () => json, output: () => json } },
  };
}

function issuesOf(
  value: unknown,
  properties: Readonly<Record<string, Field>>,
  required: readonly string[],
): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return ["the input must be an object"];
  const missing = required.filter((name) => !(name in value)).map((name) => `'${name}' is missing`);
  const wrong = Object.entries(value).flatMap(([name, given]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (field === undefined) return [`'${name}' is not known`];
    if (field.type === "string") return typeof given === "string" && given !== "" ? [] : [`'${name}' must be a text`];
    const { minimum = 0, maximum = 0 } = field;
    const fits = Number.isInteger(given) && given >= minimum && given <= maximum;
    return fits ? [] : [`'${name}' must be a whole number from ${minimum} to ${maximum}`];
  });
  return [...missing, ...wrong];
}
