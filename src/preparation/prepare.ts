// Prepares a text for indexing: language, type, title, tags and chunks. This file only defines the order of the steps;
// each step has a file of its own. For uploaded files, the text is the one that src/documents extracted.

import { CHUNK_TOKENS } from "../domain/chunk.ts";
import type { Extracted } from "../domain/memory.ts";
import type { Prepared, PrepareInput } from "../ports/preparer.ts";
import { assemble, codePointRanges, lineRanges, type PlacedCut } from "./assemble.ts";
import { type CountTokens, type Cut, cutChunks } from "./chunk.ts";
import { cutConversation } from "./conversation/cut.ts";
import { spokenSample } from "./conversation/turns.ts";
import { CODE, classifyText, memoryDays } from "./conversation.ts";
import { detectLanguage } from "./language.ts";
import { extractTags } from "./tags.ts";
import { extractTitle } from "./title.ts";
import { formOf } from "./type.ts";

/**
 * Maximum length, in UTF-16 code units, of the spoken text from which the attributes of a conversation are extracted.
 * The detectors read no more.
 */
const SPOKEN_UNITS_MAX = 32_768;

/** What preparation needs from the models. */
export interface PrepareModels {
  readonly countTokens: CountTokens;
}

/** A text to prepare as one string. */
export interface WholeInput extends PrepareInput {
  readonly content: string;
}

/**
 * A prepared text whose chunks are only ranges of its content, so that it is small enough to be sent between processes.
 */
export interface PreparedRanges {
  readonly extracted: Extracted;
  readonly cut: PlacedCut;
}

/**
 * Prepares a text. Returns all four attributes. Each is the caller's if the caller gave one, else it is extracted. With
 * smart ingestion off, only the language is extracted. Pure and synchronous. Takes time linear in the length of the
 * content, about 0.7 ms for 1.4 KB.
 * @param tokensMax token budget of a chunk
 */
export function prepare(input: WholeInput, models: PrepareModels, tokensMax = CHUNK_TOKENS): Prepared {
  const { extracted, cut } = prepareRanges(input, models, tokensMax);
  return { extracted, ...assemble(input.content, cut) };
}

/** Like `prepare`, but without the chunks: `assemble(content, cut)` makes them from the ranges. */
export function prepareRanges(
  input: WholeInput,
  { countTokens }: PrepareModels,
  tokensMax = CHUNK_TOKENS,
): PreparedRanges {
  const { content } = input;
  const { detectedType, conversation } = input.isCode === true ? CODE : classifyText(content, input.type);
  // The detectors only read the beginning, so leading white space is removed. For a conversation, they read only the
  // spoken text.
  const visible = content.trimStart();
  const sample = (conversation !== null && spokenSample(content, conversation, SPOKEN_UNITS_MAX)) || visible;
  const language = input.language ?? detectLanguage(sample);
  const { isSmart = true, isTitleExtracted = false } = input;
  const detectedTitle = () => extractTitle(sample, conversation === null ? detectedType : "conversation");
  const title = input.title ?? (isSmart ? detectedTitle() : null);
  const extracted = {
    title,
    type: input.type ?? (isSmart ? detectedType : null),
    tags: input.tags ?? (isSmart ? extractTags(sample, language) : []),
    language,
  };
  let cut: Cut;
  if (conversation !== null) {
    const days = memoryDays(input.date, input.createdAt);
    cut = cutConversation(content, conversation, { countTokens, tokensMax, ...days });
  } else {
    cut = cutChunks(content, {
      form: formOf(detectedType, visible),
      title: { text: title ?? "", isGiven: input.title !== null && !isTitleExtracted },
      countTokens,
      tokensMax,
    });
  }
  return { extracted, cut: { ...cut, codePoints: codePointRanges(content, cut), lines: lineRanges(content, cut) } };
}
