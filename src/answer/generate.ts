// What a language model says becomes an answer: its text as it comes, with the numbers of its sources, then these, then what it
// cost. What it is asked is prompt.ts; how it is called, ports/language-model.ts.

import type { RankedPassage } from "../domain/ranking.ts";
import type { LlmUsage } from "../ports/language-model.ts";
import { CitationStream } from "./citations.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { Thinking } from "./thinking.ts";

/** What comes of a model that is answering: fragments of its text as they come, and what it took once that is known. */
export type ModelPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "usage" } & LlmUsage);

/** A model has ended without saying anything. */
export class EmptyAnswer extends Error {
  override readonly name = "EmptyAnswer";

  constructor() {
    super("the language model's answer is empty");
  }
}

/**
 * The events of an answer that a model writes. What it thinks aloud before it (`<think>…</think>`) is left out.
 * @param sources what the prompt's numbers stand for (`PackedContext`), at most `maxSources`
 * @throws EmptyAnswer when nothing but white space and unknown numbers came; and whatever `parts` throws. Nothing of an answer that is
 *   empty was given out before.
 */
export async function* generatedAnswer(
  parts: AsyncIterable<ModelPart>,
  sources: readonly RankedPassage[],
  maxSources: number,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const thinking = new Thinking();
  const citations = new CitationStream(sources);
  let tokens: LlmUsage = { prompt: 0, completion: 0 };
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

  for await (const part of parts) {
    if (part.type === "usage") tokens = { prompt: part.prompt, completion: part.completion };
    else yield* eventsOf(citations.take(thinking.take(part.text)));
  }
  yield* eventsOf(citations.take(thinking.end()) + citations.end());
  if (!hasBegun) throw new EmptyAnswer();
  yield { type: "sources", sources: citedFirst(citations.cited, sources, maxSources) };
  yield { type: "usage", tokensUsed: tokens.prompt + tokens.completion, tokens };
}
