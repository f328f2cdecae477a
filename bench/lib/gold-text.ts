// Compares an answer with its gold word for word, as SQuAD's evaluation does.

import { fold } from "../../src/kit/fold.ts";

/** Characters that do not separate words: apostrophes, full stops within or after words, commas within numbers. */
const JOINING = /['’`´]|(?<=\p{L})\.(?=\p{L}|\s|$)|(?<=\p{N}),(?=\p{N}{3})/gu;
const PARTING = /[\p{P}\p{S}]/gu;
const ARTICLES = /(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu;
/** A citation `[n]` with the space before it. */
const CITATION = /\s*\[\d+\]/g;

/** Whether a gold is yes or no, which cannot be searched for in an answer. */
export function isVerdict(gold: string): boolean {
  return ["yes", "no"].includes(normalised(gold));
}

/** Whether a text contains the gold word for word, after both were normalised (see `normalised`). */
export function contains(text: string, gold: string): boolean {
  const wanted = normalised(gold);
  return wanted !== "" && ` ${normalised(text)} `.includes(` ${wanted} `);
}

/**
 * Normalises a text as SQuAD's evaluation does (Rajpurkar et al. 2016): lower case, no articles, no punctuation, single
 * spaces. Punctuation between two words becomes a space.
 */
export function normalised(text: string): string {
  const words = fold(text).replace(JOINING, "").replace(PARTING, " ").replace(ARTICLES, " ");
  return words.replace(/\s+/gu, " ").trim();
}

/** An answer's text without citations `[n]`. */
export function withoutCitations(answer: string): string {
  return answer.replace(CITATION, "");
}
