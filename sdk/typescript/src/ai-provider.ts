// A provider for the AI SDK of Vercel (`ai`, 6 and newer), with Mneme's models for answers from memories and for
// embeddings. It implements the AI SDK's specification `v3` without importing it. Later versions take `v3` as well.

import type { ChatCompletion, ChatCompletionChunk, SearchResult } from "./core/index.ts";
import { MnemeError } from "./errors.ts";
import type { Mneme } from "./mneme.ts";
import type { MemoryScope, NewCompletion, NewEmbeddings } from "./types.ts";

/**
 * Which memories the models read. The program sets it; a conversation cannot change it. Default: the whole project, or
 * the user of the key.
 */
export interface AnswerScope extends MemoryScope {
  /** Conditions that every source fulfils. */
  readonly filters?: Record<string, unknown>;
  /** Maximum number of sources. Default: 8. */
  readonly maxSources?: number;
}

/** Id of a model for answers. */
export type AnswerModelId = NewCompletion["model"];
type Json = null | string | number | boolean | { [name: string]: Json | undefined } | Json[];
type Metadata = Record<string, { [name: string]: Json | undefined }>;

/** A note to the caller, such as about a setting without an effect. */
export type Warning = { type: "unsupported"; feature: string; details?: string };
/** A part of an answer. */
export type AnswerPart = { type: "text"; text: string } | Source;
/** A cited source; the n-th is the one that `[n]` cites. `providerMetadata.mneme` has its memory, passage and score. */
export type Source = { type: "source"; id: string; title: string; providerMetadata: Metadata } & (
  | { sourceType: "url"; url: string }
  | { sourceType: "document"; mediaType: string }
);
/** Number of tokens that the language model read and wrote; 0 without one. */
export interface Usage {
  inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
  outputTokens: { total: number; text: number; reasoning: number };
}
/** Why an answer ended. */
export type FinishReason = { unified: "stop" | "length" | "content-filter" | "other"; raw: string | undefined };
/** An event of a streamed answer. */
export type AnswerStreamPart =
  | { type: "stream-start"; warnings: Warning[] }
  | { type: "response-metadata"; id: string; modelId: string; timestamp: Date }
  | { type: "text-start" | "text-end"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | Source
  | { type: "finish"; usage: Usage; finishReason: FinishReason }
  | { type: "error"; error: unknown };

/** A call of the AI SDK: the fields that this provider reads. */
export interface AnswerCall {
  readonly prompt: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly type: string }[];
  }[];
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly responseFormat?: { readonly type: string } | undefined;
  readonly tools?: readonly unknown[] | undefined;
  readonly toolChoice?: { readonly type: string } | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A model that answers from memories. */
export interface AnswerModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(call: AnswerCall): Promise<{
    content: AnswerPart[];
    finishReason: FinishReason;
    usage: Usage;
    warnings: Warning[];
    response: { id: string; modelId: string; timestamp: Date };
  }>;
  doStream(call: AnswerCall): Promise<{ stream: ReadableStream<AnswerStreamPart> }>;
}

/** An embedding model. `providerOptions: { mneme: { inputType: "query" } }` embeds questions. */
export interface EmbeddingModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: number;
  readonly supportsParallelCalls: boolean;
  doEmbed(call: {
    readonly values: string[];
    readonly abortSignal?: AbortSignal | undefined;
    readonly providerOptions?: Record<string, Record<string, unknown>> | undefined;
  }): Promise<{ embeddings: number[][]; usage: { tokens: number }; warnings: Warning[] }>;
}

/** The models of a server. */
export interface MnemeProvider {
  (modelId: AnswerModelId): AnswerModel;
  readonly specificationVersion: "v3";
  languageModel(modelId: string): AnswerModel;
  embeddingModel(modelId: string): EmbeddingModel;
  textEmbeddingModel(modelId: string): EmbeddingModel;
  imageModel(modelId: string): never;
}

const PROVIDER = "mneme";
/** Maximum number of texts in one request to the server. */
const EMBEDDINGS_MAX = 2_048;
/** Id of the only text of an answer. */
const TEXT_ID = "0";
/** Settings that have no effect on Mneme's models. */
const WITHOUT_EFFECT = ["stopSequences", "topP", "topK", "presencePenalty", "frequencyPenalty", "seed"];

/**
 * The models of a server for the AI SDK: `generateText({ model: mnemeProvider(mneme, { userId })("mneme"), … })`. They
 * cannot call tools; `mnemeTools` is for models that can.
 */
export function mnemeProvider(mneme: Mneme, scope: AnswerScope = {}): MnemeProvider {
  const languageModel = (modelId: string) => answerModel(mneme, modelId, scope);
  const embedding = (modelId: string) => embeddingModel(mneme, modelId);
  return Object.assign((modelId: AnswerModelId) => languageModel(modelId), {
    specificationVersion: "v3" as const,
    languageModel,
    embeddingModel: embedding,
    textEmbeddingModel: embedding,
    imageModel: (modelId: string): never => {
      throw new MnemeError(`Mneme has no image models, so there is no '${modelId}'.`);
    },
  });
}

function answerModel(mneme: Mneme, modelId: string, scope: AnswerScope): AnswerModel {
  const optionsOf = ({ abortSignal }: AnswerCall) => (abortSignal === undefined ? {} : { signal: abortSignal });
  return {
    specificationVersion: "v3",
    provider: PROVIDER,
    modelId,
    supportedUrls: {},
    doGenerate: async (call) => {
      const completion = await mneme.completions.create(completionOf(call, modelId, scope), optionsOf(call));
      const [choice] = completion.choices;
      if (choice === undefined) throw new MnemeError("The server's answer has no text.");
      return {
        content: [{ type: "text", text: choice.message.content }, ...sourcesOf(completion)],
        finishReason: finishReasonOf(choice.finish_reason),
        usage: usageOf(completion.usage),
        warnings: warningsOf(call),
        response: responseOf(completion),
      };
    },
    doStream: async (call) => {
      const body = { ...completionOf(call, modelId, scope), stream_options: { include_usage: true } };
      const chunks = await mneme.completions.stream(body, optionsOf(call));
      const parts = partsOf(chunks, warningsOf(call));
      const stream = new ReadableStream<AnswerStreamPart>({
        pull: async (controller) => {
          const { value, done } = await parts.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => chunks.cancel(),
      });
      return { stream };
    },
  };
}

async function* partsOf(
  chunks: AsyncIterable<ChatCompletionChunk>,
  warnings: Warning[],
): AsyncGenerator<AnswerStreamPart, void, undefined> {
  yield { type: "stream-start", warnings };
  let isStarted = false;
  let finishReason = finishReasonOf(undefined);
  let usage = usageOf(undefined);
  try {
    for await (const chunk of chunks) {
      if (!isStarted) {
        isStarted = true;
        yield { type: "response-metadata", ...responseOf(chunk) };
        yield { type: "text-start", id: TEXT_ID };
      }
      const [choice] = chunk.choices;
      const delta = choice?.delta.content;
      if (delta !== undefined && delta !== "") yield { type: "text-delta", id: TEXT_ID, delta };
      if (chunk.mneme !== undefined) {
        yield { type: "text-end", id: TEXT_ID };
        yield* sourcesOf({ mneme: chunk.mneme });
      }
      if (choice?.finish_reason != null) finishReason = finishReasonOf(choice.finish_reason);
      if (chunk.usage != null) usage = usageOf(chunk.usage);
    }
    yield { type: "finish", usage, finishReason };
  } catch (error) {
    yield { type: "error", error };
  }
}

/** The request for a call. @throws MnemeError if the call asks for something that Mneme's models cannot do */
function completionOf(call: AnswerCall, modelId: string, scope: AnswerScope): NewCompletion {
  const { prompt, maxOutputTokens, temperature, responseFormat, tools, toolChoice } = call;
  if (tools !== undefined && tools.length > 0 && toolChoice?.type !== "none") {
    throw new MnemeError("Mneme's models cannot call tools. Give mnemeTools to a model that can.");
  }
  if (responseFormat !== undefined && responseFormat.type !== "text") {
    throw new MnemeError("Mneme's models answer in text, not in JSON.");
  }
  return {
    model: modelId as AnswerModelId,
    messages: prompt.flatMap(messageOf),
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    mneme: { ...scope },
  };
}

/** The texts of a message; empty for results of tools. @throws MnemeError if a user sends a file or an image */
function messageOf({ role, content }: AnswerCall["prompt"][number]): NewCompletion["messages"] {
  if (role !== "system" && role !== "user" && role !== "assistant") return [];
  if (typeof content === "string") return [{ role, content }];
  if (role === "user" && content.some(({ type }) => type !== "text")) {
    throw new MnemeError("Mneme's models read text only, not files or images.");
  }
  const texts = content.flatMap((part) => (part.type === "text" ? [(part as unknown as { text: string }).text] : []));
  return texts.length === 0 ? [] : [{ role, content: texts.join("\n") }];
}

function sourcesOf({ mneme }: Pick<ChatCompletion, "mneme">): Source[] {
  return mneme.sources.filter(({ cited }) => cited === true).map(sourceOf);
}

function sourceOf({ id, memory_id, content, score, metadata }: SearchResult): Source {
  const title = metadata._memory.title ?? memory_id;
  const providerMetadata = { [PROVIDER]: { memoryId: memory_id, content, score } };
  const common = { type: "source", id, title, providerMetadata } as const;
  const { url } = metadata as { readonly url?: unknown };
  const isAddress = typeof url === "string" && /^https?:\/\//i.test(url);
  return isAddress
    ? { ...common, sourceType: "url", url }
    : { ...common, sourceType: "document", mediaType: "text/plain" };
}

function responseOf({ id, model, created }: Pick<ChatCompletion, "id" | "model" | "created">) {
  return { id, modelId: model, timestamp: new Date(created * 1_000) };
}

function finishReasonOf(raw: string | undefined): FinishReason {
  const unified = raw === "content_filter" ? "content-filter" : raw;
  return {
    unified: unified === "stop" || unified === "length" || unified === "content-filter" ? unified : "other",
    raw,
  };
}

function usageOf(usage: ChatCompletion["usage"] | undefined): Usage {
  const { prompt_tokens = 0, completion_tokens = 0 } = usage ?? {};
  return {
    inputTokens: { total: prompt_tokens, noCache: prompt_tokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: completion_tokens, text: completion_tokens, reasoning: 0 },
  };
}

function warningsOf(call: AnswerCall): Warning[] {
  const given = call as unknown as Readonly<Record<string, unknown>>;
  return WITHOUT_EFFECT.filter((feature) => given[feature] !== undefined).map((feature) => ({
    type: "unsupported",
    feature,
    details: "It has no effect on Mneme's models.",
  }));
}

function embeddingModel(mneme: Mneme, modelId: string): EmbeddingModel {
  return {
    specificationVersion: "v3",
    provider: PROVIDER,
    modelId,
    maxEmbeddingsPerCall: EMBEDDINGS_MAX,
    supportsParallelCalls: true,
    doEmbed: async ({ values, abortSignal, providerOptions }) => {
      const inputType = providerOptions?.[PROVIDER]?.inputType as NewEmbeddings["input_type"];
      const body = { model: modelId, input: values, ...(inputType != null && { input_type: inputType }) };
      const options = abortSignal === undefined ? {} : { signal: abortSignal };
      const { data, usage } = await mneme.embeddings.create(body, options);
      const embeddings = data.map(({ embedding }) => embedding as number[]);
      return { embeddings, usage: { tokens: usage.prompt_tokens }, warnings: [] };
    },
  };
}
