// Joins the answers to the parts of a question into one answer: their sentences in order, citations that are renumbered
// together, and a sentence for each part without an answer. Pure functions.

import type { AnswerState } from "../domain/answer-state.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { type Answer, type AnswerEvent, citedFirst } from "./events.ts";

/** The answer to one part of a question. */
export interface AnsweredPart {
  /** The part, in the words of the question. */
  readonly text: string;
  readonly answer: Answer;
}

/** The space after a citation, which ends a quoted sentence. */
const BETWEEN_QUOTES = /(?<=\[\d+\]) /u;
const CITATION = /\[(\d+)\]/gu;

/**
 * The events of the answer to the whole question: one `text` event for each sentence. No sentence occurs twice.
 * @param parts at least one of them is answered
 * @param refusalOf the sentence for a part that nothing answers
 */
export function* joinedAnswer(
  parts: readonly AnsweredPart[],
  maxSources: number,
  refusalOf: (part: string) => string,
): Generator<AnswerEvent, void, undefined> {
  const cited: RankedPassage[] = [];
  const said = new Set<string>();
  for (const { text, answer } of parts) {
    const own = answer.sources.filter(({ isCited }) => isCited).map(({ passage }) => passage);
    const content = answer.state === "not_found" && own.length === 0 ? refusalOf(text) : answer.answer;
    for (const quote of content.split(BETWEEN_QUOTES)) {
      const cites: RankedPassage[] = [];
      const renumbered = quote.replace(CITATION, (_, number) => {
        const passage = own[Number(number) - 1];
        if (passage === undefined) return "";
        const known = cited.findIndex(({ chunkId }) => chunkId === passage.chunkId);
        if (known >= 0) return `[${known + 1}]`;
        cites.push(passage);
        return `[${cited.push(passage)}]`;
      });
      if (said.has(renumbered)) continue;
      yield { type: "text", content: `${said.size === 0 ? "" : " "}${renumbered}`, cites };
      said.add(renumbered);
    }
  }
  const others = parts.flatMap(({ answer }) => answer.sources.map(({ passage }) => passage));
  yield { type: "sources", sources: citedFirst(cited, withoutKnown(others, cited), maxSources) };
  const answers = parts.map(({ answer }) => answer);
  yield {
    type: "usage",
    tokensUsed: answers.reduce((sum, { tokensUsed }) => sum + tokensUsed, 0),
    state: stateOf(answers),
    evidence: evidenceOf(answers),
  };
}

/** The passages that are not among the cited ones, without duplicates. */
function withoutKnown(passages: readonly RankedPassage[], cited: readonly RankedPassage[]): readonly RankedPassage[] {
  const known = new Set(cited.map(({ chunkId }) => chunkId));
  return passages.filter(({ chunkId }) => !known.has(chunkId) && known.add(chunkId));
}

function stateOf(answers: readonly Answer[]): AnswerState {
  return answers.every(({ state }) => state === "answered") ? "answered" : "partial";
}

/** The lowest evidence of the parts that are answered at least in part; null if one of these has none. */
function evidenceOf(answers: readonly Answer[]): number | null {
  const found = answers.filter(({ state }) => state !== "not_found").map(({ evidence }) => evidence ?? null);
  return found.some((evidence) => evidence === null) ? null : Math.min(...found.filter((each) => each !== null));
}
