// Typed wrapper of the native core's model encoder. Its caller decides which models it runs.

import { addon, translated } from "./addon.ts";
import type { NativeEncoder } from "./addon-types.ts";

/** Whether `ModelEncoder` is faster than a general runtime on this processor. */
export function isEncoderMadeForThisProcessor(): boolean {
  return translated(() => addon().isEncoderMadeForThisProcessor());
}

/** Tokens of one text, or of two texts in a row. */
export interface TokenSequence {
  readonly ids: Int32Array;
  /** Number of tokens of the first text. */
  readonly firstLength: number;
}

/** Linear probe that estimates a pair's logit from the hidden states after the first layers. */
export interface EarlyExitProbe {
  /** Number of layers to run before the estimate. */
  readonly layers: number;
  /** Weights, then the bias. */
  readonly numbers: Float32Array;
}

/** A model exported by `data/models/recipe`, run by the native core. */
export class ModelEncoder {
  readonly #native: NativeEncoder;

  private constructor(native: NativeEncoder) {
    this.#native = native;
  }

  /** Loads a model; takes 0.1 s. @throws NativeError `invalid` for other models, and on processors without AVX2 */
  static open(path: string): ModelEncoder {
    return translated(() => new ModelEncoder(addon().NativeEncoder.open(path)));
  }

  /**
   * Runs the model: one row per sequence, a unit vector (embedder) or one logit (reranker). Blocks the calling thread
   * for about .15 ms per token. A single urgent text uses a second thread for half of its tokens.
   * @throws NativeError `invalid` for token ids outside the model's vocabulary
   */
  encode(sequences: readonly TokenSequence[], isUrgent: boolean): Float32Array {
    const { ids, lengths, firstLengths } = concatenated(sequences);
    return translated(() => this.#native.encode(ids, lengths, firstLengths, isUrgent));
  }

  /**
   * Logits of the pairs of one list. All pairs go through the probe's layers first. Then the pairs with the highest
   * sum of prior score and estimated logit go through the other layers: always the best one, and the next ones until a
   * pair would exceed `fullTokensMax` in all. The logits of the remaining pairs are the estimates. `priorScores` has
   * one score per pair, in the unit of the logits.
   * @throws NativeError `invalid` for a probe of another model
   */
  scoreWithEarlyExit(
    pairs: readonly TokenSequence[],
    { priorScores, fullTokensMax }: { readonly priorScores: readonly number[]; readonly fullTokensMax: number },
    probe: EarlyExitProbe,
  ): Float32Array {
    const { ids, lengths, firstLengths } = concatenated(pairs);
    const priors = Float32Array.from(priorScores);
    return translated(() =>
      this.#native.scoreWithEarlyExit(ids, lengths, firstLengths, priors, fullTokensMax, probe.layers, probe.numbers),
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
