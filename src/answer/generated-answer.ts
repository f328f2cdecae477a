// Turns the output stream of a language model into answer events: its text with renumbered citations, then the sources,
// then the token usage. prompt.ts builds the prompt; ports/language-model.ts has the interface for the call.

import type { RankedPassage } from "../domain/ranking.ts";
import type { LlmEnding, LlmFragment } from "../ports/language-model.ts";
import { CitationRenumberer } from "./citation-renumbering.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { repeatsSources } from "./grounding.ts";

/** The model's output was empty. `message` is one sentence for the caller, without a full stop. */
export class EmptyAnswer extends Error {
  override readonly name = "EmptyAnswer";

  constructor(readonly ending: LlmEnding) {
    super(
      ending === "length"
        ? "the language model reached its output limit before it wrote any text; raise max_output_tokens"
        : "the language model's answer is empty",
    );
  }
}

/** Appended to an answer that was cut off. */
const CUT_OFF = "…";
/** End of a complete sentence. A complete refusal matches; an answer that was withheld in the middle does not. */
const SENTENCE_END = /[.!?…。！？।؟][\p{Pe}\p{Pf}"'*_]*(?:\s*\[\d+\])*\s*$/u;
/** Length of the output's end that is compared with `SENTENCE_END`, in UTF-16 code units. */
const END_UNITS = 64;
/**
 * Maximum length of the text processed in one turn of the event loop, in UTF-16 code units. It takes at most 10 ms,
 * even if the text has brackets only.
 */
const TURN_UNITS_MAX = 8_192;

/**
 * Yields the events of a model's answer. An answer that was cut off at the project's output limit, or withheld in the
 * middle of a sentence, ends with `…`. The prompt demands a citation behind each statement and none behind a refusal,
 * so an answer is `not_found` and has no sources if it cites nothing and repeats nothing of its sources.
 * @param question the self-contained question
 * @param sources the prompt's sources in the order of their numbers (`PackedContext`), at most `maxSources`
 * @throws EmptyAnswer before any event, if the output has only white space and unknown citations; also the errors that
 *   `fragments` throws
 */
export async function* generatedAnswer(
  fragments: AsyncIterable<LlmFragment>,
  sources: readonly RankedPassage[],
  maxSources: number,
  question: string,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const citations = new CitationRenumberer(sources);
  let tokensUsed = 0;
  let ending: LlmEnding = "model";
  let text = "";
  let citedBefore = 0;
  let hasText = false;
  const eventsOf = (renumbered: string): AnswerEvent[] => {
    const content = hasText ? renumbered : renumbered.trimStart();
    if (content === "") return [];
    hasText = true;
    text += content;
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
  if (!hasText) throw new EmptyAnswer(ending);
  if (ending === "length" || (ending === "withheld" && !SENTENCE_END.test(text.slice(-END_UNITS))))
    yield { type: "text", content: CUT_OFF };
  const isFound = citations.cited.length > 0 || repeatsSources(text, question, sources);
  yield { type: "sources", sources: isFound ? citedFirst(citations.cited, sources, maxSources) : [] };
  const state = isFound ? "answered" : "not_found";
  yield { type: "usage", tokensUsed, state, ...(ending !== "model" && { ending }) };
}

// Splits huge fragments into pieces; nearly all fragments give one piece. A split may separate a surrogate pair, which
// citation-renumbering.ts joins again.
function piecesOf(text: string): readonly string[] {
  if (text.length <= TURN_UNITS_MAX) return [text];
  const count = Math.ceil(text.length / TURN_UNITS_MAX);
  return Array.from({ length: count }, (_, at) => text.slice(at * TURN_UNITS_MAX, (at + 1) * TURN_UNITS_MAX));
}
