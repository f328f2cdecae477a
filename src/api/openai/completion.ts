// Turns an answer into a chat completion, whole or in chunks. Under an Idempotency-Key, a `Completion` is stored, from
// which a repeated request is answered.

import { type CitationPlace, citationPlaces } from "../../answer/citation-places.ts";
import type { Incomplete } from "../../answer/events.ts";
import type { AnswerState } from "../../domain/answer-state.ts";
import type { LlmUsage } from "../../ports/language-model.ts";
import type * as memories from "../schema/memories.ts";
import type * as schema from "../schema/openai.ts";
import type { SseEvent } from "../sse.ts";
import type { View } from "../views.ts";
import { type CitedSource, sourceList } from "./source-list.ts";

type Source = View<typeof memories.SearchResult>;
type Chunk = View<typeof schema.ChatCompletionChunk>;
type Annotations = View<typeof schema.ChatCompletion>["choices"][number]["message"]["annotations"];

/** What identifies a completion. */
export interface CompletionHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The model as the caller named it. */
  readonly model: string;
}

/** A complete answer. */
export interface Completion extends CompletionHead {
  readonly answer: string;
  /** Cited sources first: `[n]` is the n-th of them. */
  readonly sources: readonly Source[];
  /** Absent in completions that an earlier version of Mneme stored. */
  readonly state?: AnswerState;
  readonly tokens: LlmUsage;
  readonly ending: Incomplete | null;
}

/** How a caller wants a completion to be written. */
export interface CompletionStyle {
  readonly showsSourceList: boolean;
  /** Whether the last chunk of a stream has the usage. */
  readonly includesUsage: boolean;
}

/** A whole completion. */
export function completionView(
  completion: Completion,
  { showsSourceList }: CompletionStyle,
): View<typeof schema.ChatCompletion> {
  const { id, created, model, answer, sources } = completion;
  const cited = citedOf(sources);
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: showsSourceList ? answer + sourceList(cited) : answer,
          refusal: null,
          annotations: annotationsOf(completion, cited),
        },
        logprobs: null,
        finish_reason: finishReason(completion),
      },
    ],
    usage: usageView(completion.tokens),
    mneme: addition(completion),
  };
}

/** Makes the chunks of a streamed completion. */
export class CompletionChunks {
  readonly #head: CompletionHead;
  readonly #style: CompletionStyle;
  #hasText = false;

  constructor(head: CompletionHead, style: CompletionStyle) {
    this.#head = head;
    this.#style = style;
  }

  /** The chunks for a piece of the answer. The first piece has the role in front of it, as OpenAI sends it. */
  *text(content: string): Generator<SseEvent> {
    if (!this.#hasText) yield this.#chunk({ delta: { role: "assistant", content: "" } });
    this.#hasText = true;
    yield this.#chunk({ delta: { content } });
  }

  /** The chunks behind the text: the sources, the end, and the usage if it was asked for. */
  *end(completion: Completion): Generator<SseEvent> {
    const cited = citedOf(completion.sources);
    const list = this.#style.showsSourceList ? sourceList(cited) : "";
    if (list !== "") yield this.#chunk({ delta: { content: list } });
    // This chunk has a choice, because some clients fail on chunks without choices, except for the one with the usage.
    yield this.#chunk({ delta: { annotations: annotationsOf(completion, cited) } }, { mneme: addition(completion) });
    yield this.#chunk({ delta: {}, finish_reason: finishReason(completion) });
    if (this.#style.includesUsage) yield this.#event({ choices: [], usage: usageView(completion.tokens) });
  }

  #chunk(
    choice: Pick<Chunk["choices"][number], "delta"> & Partial<Chunk["choices"][number]>,
    more: Pick<Chunk, "mneme"> = {},
  ): SseEvent {
    const nullUsage = this.#style.includesUsage ? { usage: null } : {};
    return this.#event({
      choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
      ...nullUsage,
      ...more,
    });
  }

  #event(rest: Pick<Chunk, "choices" | "usage" | "mneme">): SseEvent {
    const { id, created, model } = this.#head;
    const data: Chunk = { id, object: "chat.completion.chunk", created, model, ...rest };
    return { name: "chunk", data };
  }
}

/** What a completion has beside the fields that OpenAI defines. */
function addition({ sources, state }: Completion): View<typeof schema.ChatCompletion>["mneme"] {
  return { sources, ...(state !== undefined && { answer_state: state }) };
}

function citedOf(sources: readonly Source[]): readonly CitedSource[] {
  return sources
    .filter(({ cited }) => cited === true)
    .map((source) => ({ title: titleOf(source), url: urlOf(source) }));
}

const TITLE_UNITS_MAX = 80;

/** The title of the memory, or the beginning of the passage. Always one line. */
function titleOf({ content, metadata }: Source): string {
  const text = (metadata._memory.title ?? content).replace(/\s+/g, " ").trim();
  return text.length <= TITLE_UNITS_MAX ? text : `${text.slice(0, TITLE_UNITS_MAX - 1).toWellFormed()}…`;
}

/** The address that the caller stored with the memory, or the path of the memory in this API. */
function urlOf({ memory_id, metadata: { url } }: Source): string {
  return typeof url === "string" && /^https?:\/\/[^\s]+$/.test(url) ? url : `/v1/memories/${memory_id}`;
}

function annotationsOf({ answer, tokens }: Completion, cited: readonly CitedSource[]): Annotations {
  const hasCode = tokens.completion > 0;
  return citationPlaces(answer, cited.length, { hasCode }).flatMap(({ number, start, end }: CitationPlace) => {
    const source = cited[number - 1];
    if (source === undefined) return [];
    return [{ type: "url_citation", url_citation: { start_index: start, end_index: end, ...source } }];
  });
}

function finishReason({ ending }: Completion): "stop" | "length" | "content_filter" {
  if (ending === null) return "stop";
  return ending === "length" ? "length" : "content_filter";
}

function usageView({ prompt, completion }: LlmUsage): View<typeof schema.ChatCompletion>["usage"] {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
