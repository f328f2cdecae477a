// What is made of a text before models see it: its language, type, title and tags, and its chunks. Control only: each step
// is a file of its own. Readers of other formats join before this one, by handing in the text they found.

import type { Extracted } from "../domain/memory.ts";
import type { Prepared, PrepareInput } from "../ports/preparer.ts";
import { assemble, codePointsOf, type PlacedCut } from "./assemble.ts";
import { CHUNK_TOKENS, type CountTokens, type Cut, cutChunks } from "./chunk.ts";
import { cutConversation } from "./conversation/cut.ts";
import { spokenSample } from "./conversation/turns.ts";
import { knownDays, recognise } from "./conversation.ts";
import { detectLanguage } from "./language.ts";
import { extractTags } from "./tags.ts";
import { extractTitle } from "./title.ts";
import { formOf } from "./type.ts";

/** Units at a conversation's beginning that its attributes are found in: as much as the detectors look at. */
const SPOKEN_UNITS_MAX = 32_768;

/** What preparation needs from models. */
export interface PrepareModels {
  readonly countTokens: CountTokens;
}

/** A prepared text whose chunks are still ranges of its content: small enough to travel between processes. */
export interface Layout {
  readonly extracted: Extracted;
  readonly cut: PlacedCut;
}

/**
 * Prepares a text. All four attributes come back: the caller's where one was given, else the one found.
 * Pure and synchronous; linear in the content's length, about 0.7 ms for 1.4 KB.
 * @param tokensMax budget of a chunk, to be changed for measurements only.
 */
export function prepare(input: PrepareInput, models: PrepareModels, tokensMax = CHUNK_TOKENS): Prepared {
  const { extracted, cut } = layOut(input, models, tokensMax);
  return { extracted, chunks: assemble(input.content, cut) };
}

/** The same, but for the texts of the chunks: `assemble(content, cut)` makes them. */
export function layOut(input: PrepareInput, { countTokens }: PrepareModels, tokensMax = CHUNK_TOKENS): Layout {
  const { content } = input;
  const { detected, conversation } = recognise(content, input.type);
  // Where the detectors look only at the beginning, that is where something stands; of a conversation, what is said.
  const visible = content.trimStart();
  const sample = (conversation !== null && spokenSample(content, conversation, SPOKEN_UNITS_MAX)) || visible;
  const language = input.language ?? detectLanguage(sample);
  const title = input.title ?? extractTitle(sample, conversation === null ? detected : "conversation");
  const extracted = {
    title,
    type: input.type ?? detected,
    tags: input.tags ?? extractTags(sample, language),
    language,
  };
  let cut: Cut;
  if (conversation !== null) {
    const days = knownDays(input.date, input.createdAt);
    cut = cutConversation(content, conversation, { countTokens, tokensMax, ...days });
  } else {
    cut = cutChunks(content, {
      form: formOf(detected, visible),
      title: { text: title, isGiven: input.title !== null },
      countTokens,
      tokensMax,
    });
  }
  return { extracted, cut: { ...cut, points: codePointsOf(content, cut) } };
}
