// The events of an answer, with or without a language model: fragments of text, then the sources, then the token usage.
// The code in src/api sends them to the caller, as one JSON body or as a stream that ends with `done` or `error`.

import type { AnswerState } from "../domain/answer-state.ts";
import { invariant } from "../domain/fault.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { LlmEnding } from "../ports/language-model.ts";

/** A passage that an answer is based on. */
export interface CitedPassage {
  readonly passage: RankedPassage;
  /** Whether the answer's text cites the passage. Otherwise the passage was only context. */
  readonly isCited: boolean;
}

/**
 * One event of an answer. The order is: any number of `text`, one `sources`, one `usage`. Cited sources come first:
 * `[n]` in the text is the n-th of them, and `[1]` is the first one that the text cites. `cites` are the passages that
 * a fragment cites for the first time, in the order of their numbers. Thanks to `cites`, the sources of an answer are
 * known even if the answer ends before its `sources` event. `ending` says why the answer is not complete; it is absent
 * if the answer is complete.
 */
export type AnswerEvent =
  | { readonly type: "text"; readonly content: string; readonly cites?: readonly RankedPassage[] }
  | { readonly type: "sources"; readonly sources: readonly CitedPassage[] }
  | {
      readonly type: "usage";
      readonly tokensUsed: number;
      readonly state: AnswerState;
      readonly evidence?: number | null;
      readonly ending?: Incomplete;
    };

/** Why a language model's answer is not complete. */
export type Incomplete = Exclude<LlmEnding, "model">;

/** An answer whose events have all arrived. */
export interface Answer {
  readonly answer: string;
  readonly sources: readonly CitedPassage[];
  /** Tokens that a language model read and wrote for the answer; 0 without a language model. */
  readonly tokensUsed: number;
  readonly state: AnswerState;
  /** Probability, 0..1, that the passages that were found answer the question; null or absent if there are none. */
  readonly evidence?: number | null;
  /** Why the text of a language model is not complete; absent if it is. */
  readonly ending?: Incomplete;
}

/**
 * The sources of an answer: the cited passages, in the order of their numbers, then other `passages`, up to
 * `maxSources` in all.
 */
export function citedFirst(
  cited: readonly RankedPassage[],
  passages: readonly RankedPassage[],
  maxSources: number,
): readonly CitedPassage[] {
  const others = passages
    .filter((passage) => !cited.includes(passage))
    .slice(0, Math.max(0, maxSources - cited.length));
  return [
    ...cited.map((passage) => ({ passage, isCited: true })),
    ...others.map((passage) => ({ passage, isCited: false })),
  ];
}

/** The text, sources and usage of an answer so far. */
export class AnswerSoFar {
  text = "";
  #cited: readonly RankedPassage[] = [];
  #sources: readonly CitedPassage[] | null = null;
  #usage: Omit<Extract<AnswerEvent, { type: "usage" }>, "type"> | null = null;

  /** @throws Error if the events are not in the order that `AnswerEvent` defines */
  add(event: AnswerEvent): void {
    invariant(this.#usage === null, "usage is the last event of an answer");
    switch (event.type) {
      case "text":
        invariant(this.#sources === null, "the text of an answer ends before its sources");
        this.text += event.content;
        this.#cited = [...this.#cited, ...(event.cites ?? [])];
        break;
      case "sources":
        invariant(this.#sources === null, "an answer gives its sources once");
        this.#sources = event.sources;
        break;
      case "usage": {
        const { type: _type, ...usage } = event;
        this.#usage = usage;
      }
    }
  }

  /** The answer. @throws Error if not all of its events have arrived */
  whole(): Answer {
    const [sources, usage] = [this.#sources, this.#usage];
    invariant(sources !== null && usage !== null, "an answer ends with its sources and its usage");
    return { answer: this.text, sources, ...usage };
  }

  /**
   * The sources of the answer. If the answer was interrupted before it listed them, its sources are the passages cited
   * so far, followed by the other passages of its context.
   */
  sourcesAmong(context: readonly RankedPassage[], maxSources: number): readonly CitedPassage[] {
    return this.#sources ?? citedFirst(this.#cited, context, maxSources);
  }
}

/** Collects all events of an answer. @throws the errors that `events` throws, and those of `AnswerSoFar` */
export async function collectAnswer(events: AsyncIterable<AnswerEvent>): Promise<Answer> {
  const answer = new AnswerSoFar();
  for await (const event of events) answer.add(event);
  return answer.whole();
}
