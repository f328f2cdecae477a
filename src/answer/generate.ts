// What a language model says becomes an answer: its text as it comes, with the numbers of its sources, then these, then what it
// cost. What it is asked is prompt.ts; how it is called, ports/language-model.ts.

import type { RankedPassage } from "../domain/ranking.ts";
import type { LlmFragment } from "../ports/language-model.ts";
import { CitationStream } from "./citations.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";

/** A model has ended without saying anything. */
export class EmptyAnswer extends Error {
  override readonly name = "EmptyAnswer";

  constructor() {
    super("the language model's answer is empty");
  }
}

/** Behind an answer that its length cut off. */
const CUT_OFF = "…";

/**
 * The events of an answer that a model writes. One that was cut off at the length that a project allows ends in `…`.
 * @param sources what the prompt's numbers stand for (`PackedContext`), at most `maxSources`
 * @throws EmptyAnswer when nothing but white space and unknown numbers came; and whatever `fragments` throws. Nothing of an answer that is
 *   empty was given out before.
 */
export async function* generatedAnswer(
  fragments: AsyncIterable<LlmFragment>,
  sources: readonly RankedPassage[],
  maxSources: number,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const citations = new CitationStream(sources);
  let tokensUsed = 0;
  let isCutOff = false;
  let citedBefore = 0;
  let hasBegun = false;
  const eventsOf = (written: string): AnswerEvent[] => {
    const content = hasBegun ? written : written.trimStart();
    if (content === "") return [];
    hasBegun = true;
    const cites = citations.cited.slice(citedBefore);
    citedBefore += cites.length;
    return [{ type: "text", content, cites }];
  };

  for await (const fragment of fragments) {
    if (fragment.type === "text") {
      yield* eventsOf(citations.take(fragment.text));
    } else {
      tokensUsed = fragment.usage.prompt + fragment.usage.completion;
      isCutOff = fragment.ending === "length";
    }
  }
  yield* eventsOf(citations.end());
  if (!hasBegun) throw new EmptyAnswer();
  if (isCutOff) yield { type: "text", content: CUT_OFF };
  yield { type: "sources", sources: citedFirst(citations.cited, sources, maxSources) };
  yield { type: "usage", tokensUsed };
}
