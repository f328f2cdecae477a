// Loads a tokeniser by its kind, as a model's manifest names it.

import type { Tokenizer } from "./tokenizer.ts";
import { loadUnigram } from "./unigram.ts";
import { loadWordPiece } from "./wordpiece.ts";

/** Kinds of tokenisers: WordPiece (BERT) and SentencePiece unigram (XLM-RoBERTa). */
export const TOKENIZER_KINDS = ["wordpiece", "unigram"] as const;
/** One of `TOKENIZER_KINDS`. */
type TokenizerKind = (typeof TOKENIZER_KINDS)[number];

const LOADERS: Readonly<Record<TokenizerKind, (path: string) => Tokenizer>> = {
  wordpiece: loadWordPiece,
  unigram: loadUnigram,
};

/** The file of a tokeniser. */
export interface TokenizerFile {
  readonly kind: TokenizerKind;
  readonly path: string;
}

/** Loads the tokeniser file of a model. @throws if the file is not a tokeniser of this kind */
export function loadTokenizer({ kind, path }: TokenizerFile): Tokenizer {
  return LOADERS[kind](path);
}
