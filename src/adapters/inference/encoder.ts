// The interface of a loaded model, whichever runtime computes it. open-encoder.ts chooses the runtime.

import type { EarlyExit } from "../../ports/models.ts";
import type { TokenSequence } from "../native/model-encoder.ts";

/** A loaded model. */
export interface Encoder {
  /** Name of the runtime and its instruction set, for status pages. */
  readonly provider: string;
  /** Why the model is slower than it could be on this processor; null: it is not. */
  readonly warning: string | null;
  /**
   * Runs the model: one row per sequence, in their order. A row is a vector (embedder) or one logit (reranker).
   * @param isUrgent allows more than one core
   */
  encode(sequences: readonly TokenSequence[], isUrgent: boolean): Promise<Float32Array>;
  /** Logits of pairs, some of them estimated after the first layers. null: not supported. */
  readonly scoreWithEarlyExit:
    | ((pairs: readonly TokenSequence[], earlyExit: EarlyExit) => Promise<Float32Array>)
    | null;
}
