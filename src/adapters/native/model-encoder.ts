// The typed face of the native core's model encoder. Which models it computes, and when, is decided by its caller.

import { loadAddon, translated } from "./addon.ts";

/** `native/src/encoder.rs`. */
interface NativeEncoder {
  answer(ids: Uint32Array, lengths: Uint32Array, firstLengths: Uint32Array, isUrgent: boolean): Float32Array;
  judge(
    ids: Uint32Array,
    lengths: Uint32Array,
    firstLengths: Uint32Array,
    priorScores: Float32Array,
    tokensMax: number,
    probeLayers: number,
    probe: Float32Array,
  ): Float32Array;
}

/** What this file uses of the addon. */
interface EncoderAddon {
  NativeEncoder: { open(path: string): NativeEncoder };
  isEncoderMadeForThisProcessor(): boolean;
}

const addon = () => loadAddon<EncoderAddon>();

/** Whether `ModelEncoder` is faster on this processor than a general runtime is. */
export function isEncoderMadeForThisProcessor(): boolean {
  return translated(() => addon().isEncoderMadeForThisProcessor());
}

/** A sequence of tokens, of one text or of two that follow each other. */
export interface TokenSequence {
  readonly ids: Int32Array;
  /** Tokens of the first text. */
  readonly firstLength: number;
}

/** How a logit is told from the states after the first layers: see `native/src/encoder.rs`. */
export interface EarlyExitProbe {
  /** So many. */
  readonly layers: number;
  /** Weights, and the bias at the end. */
  readonly numbers: Float32Array;
}

/** A model as it is exported by `data/models/recipe`, computed by the native core. */
export class ModelEncoder {
  readonly #native: NativeEncoder;

  private constructor(native: NativeEncoder) {
    this.#native = native;
  }

  /** Reads a model; 0.1 s. @throws NativeError `invalid` for other models, and for processors without AVX2 */
  static open(path: string): ModelEncoder {
    return translated(() => new ModelEncoder(addon().NativeEncoder.open(path)));
  }

  /**
   * One row per sequence: its unit vector, or its logit alone. Takes the calling thread, about .15 ms a token; a single text that
   * is urgent takes a second one for half of its tokens. `invalid` for tokens that the model does not know.
   */
  answer(sequences: readonly TokenSequence[], isUrgent: boolean): Float32Array {
    const { ids, lengths, firstLengths } = joined(sequences);
    return translated(() => this.#native.answer(ids, lengths, firstLengths, isUrgent));
  }

  /**
   * Logits of pairs of one list. Those worth most by `priorScores`, one number per pair in the logits' unit, and by the logit that
   * they seem to get after the probe's layers are read to the end, until the next one is beyond `tokensMax` tokens in all, the
   * first in any case; the others' logits are what they seem to be. `invalid` for another model's probe.
   */
  judge(
    pairs: readonly TokenSequence[],
    priorScores: readonly number[],
    tokensMax: number,
    probe: EarlyExitProbe,
  ): Float32Array {
    const { ids, lengths, firstLengths } = joined(pairs);
    const starts = Float32Array.from(priorScores);
    return translated(() =>
      this.#native.judge(ids, lengths, firstLengths, starts, tokensMax, probe.layers, probe.numbers),
    );
  }
}

function joined(sequences: readonly TokenSequence[]) {
  const lengths = Uint32Array.from(sequences, ({ ids }) => ids.length);
  const ids = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const sequence of sequences) {
    ids.set(sequence.ids, at);
    at += sequence.ids.length;
  }
  return { ids, lengths, firstLengths: Uint32Array.from(sequences, ({ firstLength }) => firstLength) };
}
