// What an answer consists of, in the order in which it comes about, whoever makes it: fragments of text, then its
// sources, then what it cost. How the events reach a caller (one JSON body, a stream with `done` or `error` at its end)
// is api/'s.

import { invariant } from "../domain/fault.ts";
import type { RankedPassage } from "../domain/ranking.ts";

/** A passage that an answer was made from. */
export interface CitedPassage {
  readonly passage: RankedPassage;
  /** Whether the answer's text refers to it; if not, it was context only. */
  readonly isCited: boolean;
}

/**
 * One event of an answer. Any number of `text`, then one `sources`, then one `usage`. The cited sources come first:
 * `[n]` in the text is the n-th of them, and `[1]` is the first that the text refers to. `cites` are the passages that
 * a fragment is the first to refer to, in the order of their numbers: what an answer stands on that never comes to its
 * sources.
 */
export type AnswerEvent =
  | { readonly type: "text"; readonly content: string; readonly cites?: readonly RankedPassage[] }
  | { readonly type: "sources"; readonly sources: readonly CitedPassage[] }
  | { readonly type: "usage"; readonly tokensUsed: number };

/** An answer that is whole. */
export interface Answer {
  readonly answer: string;
  readonly sources: readonly CitedPassage[];
  /** Tokens that a language model read and wrote for it; 0 where none took part. */
  readonly tokensUsed: number;
}

/**
 * The sources of an answer: what it cites, in the order of the numbers, then others of `passages`, up to `maxSources`
 * in all.
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

/**
 * Waits for a whole answer.
 * @throws whatever `events` throws, and an Error when they come in another order than `AnswerEvent` says.
 */
export async function collectAnswer(events: AsyncIterable<AnswerEvent>): Promise<Answer> {
  let answer = "";
  let sources: readonly CitedPassage[] | null = null;
  let tokensUsed: number | null = null;
  for await (const event of events) {
    invariant(tokensUsed === null, "usage is the last event of an answer");
    switch (event.type) {
      case "text":
        invariant(sources === null, "the text of an answer ends before its sources");
        answer += event.content;
        break;
      case "sources":
        invariant(sources === null, "an answer gives its sources once");
        sources = event.sources;
        break;
      case "usage":
        tokensUsed = event.tokensUsed;
    }
  }
  invariant(sources !== null && tokensUsed !== null, "an answer ends with its sources and its usage");
  return { answer, sources, tokensUsed };
}
