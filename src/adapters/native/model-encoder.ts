// Typed wrapper of the native core's model encoder, which computes embeddings, logits of rerankers, and readings.
// Callers decide which models it runs.

import { addon } from "./addon.ts";
import type { NativeEncoder } from "./addon-types.ts";

/** Whether `ModelEncoder` is faster on this processor than a general runtime for models. */
export function isEncoderMadeForThisProcessor(): boolean {
  return addon().isEncoderMadeForThisProcessor();
}

/** Token ids of one text, or of two texts (query and passage), one after the other. */
export interface TokenSequence {
  readonly ids: Int32Array;
  /** Number of tokens of the first text. */
  readonly firstLength: number;
  /**
   * Number of tokens up to the end of the second text. onnxruntime-encoder.ts gives the tokens behind it the type of
   * the first text; `ModelEncoder` ignores it. Default: all tokens.
   */
  readonly secondEnd?: number;
}

/** Linear probe that estimates a pair's logit from the hidden states after the first layers. */
export interface EarlyExitProbe {
  /** Number of layers to run before the estimate. */
  readonly layers: number;
  /** The weights, followed by the bias. */
  readonly numbers: Float32Array;
}

/**
 * A model that the native core runs. Number of layers, kind of word table and head come from its file, whose graph must
 * have the form that `data/models/recipe/export_onnx.py` exports.
 */
export class ModelEncoder {
  readonly #native: NativeEncoder;

  private constructor(native: NativeEncoder) {
    this.#native = native;
  }

  /**
   * Loads a model. Takes 0.1 to 0.5 s.
   * @param words file of the model whose word table it uses; null: it has its own
   * @throws NativeError with code `invalid` on a processor without AVX2, and for a graph of another form; the message
   * names the part that is not supported
   */
  static open(path: string, words: string | null = null): ModelEncoder {
    return new ModelEncoder(addon().openEncoder(path, words));
  }

  /**
   * Runs the model. Returns one row per sequence: a unit vector (embedder), one logit (reranker) or two (reader).
   * Blocks the calling thread for about 0.15 ms per token. A single urgent text uses a second thread for half of its
   * tokens.
   * @throws NativeError with code `invalid` for a token id outside the model's vocabulary
   */
  encode(sequences: readonly TokenSequence[], isUrgent: boolean): Float32Array {
    const { ids, lengths, firstLengths } = concatenated(sequences);
    return this.#native.encode(ids, lengths, firstLengths, isUrgent);
  }

  /** Whether the model computes where an answer begins and ends. */
  get hasSpans(): boolean {
    return this.#native.hasSpans();
  }

  /**
   * Runs a reader. Returns for each pair the logits of relevance and of an answer, then for each token the logits that
   * an answer begins and ends there.
   * @throws NativeError with code `invalid` for a model without spans, or a token id outside the model's vocabulary
   */
  read(pairs: readonly TokenSequence[]): readonly Float32Array[] {
    const { ids, lengths, firstLengths } = concatenated(pairs);
    const values = this.#native.read(ids, lengths, firstLengths);
    let at = 0;
    return pairs.map((pair) => {
      const begin = at;
      at += 2 + 2 * pair.ids.length;
      return values.subarray(begin, at);
    });
  }

  /**
   * Logits of the pairs of one list. All pairs go through the probe's layers first. Then the pairs with the highest sum
   * of prior score and estimated logit go through the other layers: always the best one, and further ones as long as
   * the total number of their tokens is at most `fullTokensMax`. The logits of the remaining pairs are the estimates.
   * `priorScores` has one score per pair, on the same scale as the logits.
   * @throws NativeError with code `invalid` for a probe that does not fit the model
   */
  scoreWithEarlyExit(
    pairs: readonly TokenSequence[],
    { priorScores, fullTokensMax }: { readonly priorScores: readonly number[]; readonly fullTokensMax: number },
    probe: EarlyExitProbe,
  ): Float32Array {
    const { ids, lengths, firstLengths } = concatenated(pairs);
    const priors = Float32Array.from(priorScores);
    return this.#native.scoreWithEarlyExit(
      ...([ids, lengths, firstLengths, priors, fullTokensMax, probe.layers, probe.numbers] as const),
    );
  }
}

function concatenated(sequences: readonly TokenSequence[]) {
  const lengths = Uint32Array.from(sequences, ({ ids }) => ids.length);
  const ids = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const sequence of sequences) {
    ids.set(sequence.ids, at);
    at += sequence.ids.length;
  }
  return { ids, lengths, firstLengths: Uint32Array.from(sequences, ({ firstLength }) => firstLength) };
}
