// Loads a tokeniser by its kind, as a model's manifest names it.

import { loadHubTokenizer } from "./hub.ts";
import type { ReadingTokenizer, Tokenizer } from "./tokenizer.ts";
import { loadUnigram } from "./unigram.ts";
import { loadWordPiece } from "./wordpiece.ts";

/**
 * Kinds of tokenisers: WordPiece (BERT) and SentencePiece unigram (XLM-RoBERTa) of the shipped models, and any
 * `tokenizer.json`.
 */
export const TOKENIZER_KINDS = ["wordpiece", "unigram", "huggingface"] as const;
/** One of `TOKENIZER_KINDS`. */
type TokenizerKind = (typeof TOKENIZER_KINDS)[number];

const LOADERS: Readonly<Record<TokenizerKind, (path: string) => Tokenizer>> = {
  wordpiece: loadWordPiece,
  unigram: loadUnigram,
  huggingface: loadHubTokenizer,
};

/** The file of a tokeniser. */
export interface TokenizerFile {
  readonly kind: TokenizerKind;
  readonly path: string;
}

/** Whether a tokeniser knows where in a text its tokens are. */
export function knowsPlaces(tokenizer: Tokenizer): tokenizer is ReadingTokenizer {
  return "encodeReading" in tokenizer;
}

/** Loads the tokeniser file of a model. @throws if the file is not a tokeniser of this kind */
export function loadTokenizer({ kind, path }: TokenizerFile): Tokenizer {
  return LOADERS[kind](path);
}
