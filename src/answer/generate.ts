// What a language model says becomes an answer: its text as it comes, with the numbers of its sources, then these, then
// what it cost. What it is asked is prompt.ts; how it is called, ports/language-model.ts.

import type { RankedPassage } from "../domain/ranking.ts";
import type { LlmEnding, LlmFragment } from "../ports/language-model.ts";
import { CitationStream } from "./citations.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";

/** A model has ended without saying anything. `message` is one sentence for a caller, without a full stop. */
export class EmptyAnswer extends Error {
  override readonly name = "EmptyAnswer";

  constructor(readonly ending: LlmEnding) {
    super(
      ending === "length"
        ? "the language model ended at its length before it said anything; raise max_output_tokens"
        : "the language model's answer is empty",
    );
  }
}

/** Behind an answer that was cut off. */
const CUT_OFF = "…";
/** A refusal that is whole ends like this; an answer that was withheld in the middle does not. */
const SENTENCE_END = /[.!?…。！？।؟][\p{Pe}\p{Pf}"'*_]*(?:\s*\[\d+\])*\s*$/u;
/** Of what was said, the end that tells whether a sentence ended. */
const END_UNITS = 64;
/** Text read in one turn of the event loop, in UTF-16 units: 10 ms at most, for a text of nothing but brackets. */
const TURN_UNITS_MAX = 8_192;

/**
 * The events of an answer that a model writes. One that was cut off at the length that a project allows ends in `…`,
 * and so does one that was withheld in the middle of a sentence.
 * @param sources what the prompt's numbers stand for (`PackedContext`), at most `maxSources`
 * @throws EmptyAnswer when nothing but white space and unknown numbers came; and whatever `fragments` throws. Nothing
 *   of an answer that is empty was given out before.
 */
export async function* generatedAnswer(
  fragments: AsyncIterable<LlmFragment>,
  sources: readonly RankedPassage[],
  maxSources: number,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const citations = new CitationStream(sources);
  let tokensUsed = 0;
  let ending: LlmEnding = "model";
  let end = "";
  let citedBefore = 0;
  let hasBegun = false;
  const eventsOf = (written: string): AnswerEvent[] => {
    const content = hasBegun ? written : written.trimStart();
    if (content === "") return [];
    hasBegun = true;
    end = (end + content.slice(-END_UNITS)).slice(-END_UNITS);
    const cites = citations.cited.slice(citedBefore);
    citedBefore += cites.length;
    return [{ type: "text", content, cites }];
  };

  for await (const fragment of fragments) {
    if (fragment.type === "text") {
      for (const [at, piece] of piecesOf(fragment.text).entries()) {
        if (at > 0) await new Promise(setImmediate);
        yield* eventsOf(citations.take(piece));
      }
    } else {
      tokensUsed = fragment.usage.prompt + fragment.usage.completion;
      ending = fragment.ending;
    }
  }
  yield* eventsOf(citations.end());
  if (!hasBegun) throw new EmptyAnswer(ending);
  if (ending === "length" || (ending === "withheld" && !SENTENCE_END.test(end)))
    yield { type: "text", content: CUT_OFF };
  yield { type: "sources", sources: citedFirst(citations.cited, sources, maxSources) };
  yield { type: "usage", tokensUsed };
}

// One piece of nearly every fragment; a character may be cut in two, which citations.ts puts together.
function piecesOf(text: string): readonly string[] {
  if (text.length <= TURN_UNITS_MAX) return [text];
  const count = Math.ceil(text.length / TURN_UNITS_MAX);
  return Array.from({ length: count }, (_, at) => text.slice(at * TURN_UNITS_MAX, (at + 1) * TURN_UNITS_MAX));
}
