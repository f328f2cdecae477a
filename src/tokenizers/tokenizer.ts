// The interface of all tokenisers. wordpiece.ts, unigram.ts and hub.ts implement it, load-tokenizer.ts chooses one by
// its kind.

/** Tokens of two texts in one sequence, with the special tokens of the model between them. */
export interface PairTokens {
  readonly ids: Int32Array;
  /** Number of `ids` with token type 0, special tokens included; the rest has type 1. */
  readonly firstLength: number;
}

/** Tokens of a question and a passage, with the place of each passage token in the passage. */
export interface ReadingTokens extends PairTokens {
  /** Number of `ids` up to the end of the passage: all but the last special token. */
  readonly secondEnd: number;
  /** For each token of the passage, begin and end in the passage in UTF-16 code units; `[tokens, 2]`. */
  readonly places: Int32Array;
}

/** A tokeniser that knows where in a text its tokens are. */
export interface ReadingTokenizer extends Tokenizer {
  /**
   * The tokens of a question and a passage, with one special token between them. `question` is truncated to
   * `questionTokensMax` ids; then `passage` is truncated so that there are at most `tokensMax` ids in total.
   */
  encodeReading(question: string, passage: string, questionTokensMax: number, tokensMax: number): ReadingTokens;
}

/** Converts text to the token ids of a model. An instance is not thread-safe. */
export interface Tokenizer {
  /** The tokens of a text between the model's special tokens, truncated to `tokensMax` ids in total (at least 2). */
  encode(text: string, tokensMax: number): Int32Array;
  /**
   * The tokens of two texts with the model's special tokens. `first` is truncated to `firstTokensMax` ids; then
   * `second` is truncated so that there are at most `tokensMax` ids in total.
   */
  encodePair(first: string, second: string, firstTokensMax: number, tokensMax: number): PairTokens;
  /** Number of tokens of a text, without special tokens. */
  count(text: string): number;
}
