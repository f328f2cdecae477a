// The interface of a loaded model, the same for all runtimes. open-encoder.ts chooses the runtime.

import type { EarlyExit } from "../../ports/models.ts";
import type { TokenSequence } from "../native/model-encoder.ts";

/** A loaded model. */
export interface Encoder {
  /** Name of the runtime and its instruction set, for status pages. */
  readonly provider: string;
  /** Why the model is slower than it could be on this processor; null if it is not. */
  readonly warning: string | null;
  /**
   * Runs the model: one row per sequence, in their order. A row is a vector (embedder) or one logit (reranker).
   * @param isUrgent whether more than one core may be used
   */
  encode(sequences: readonly TokenSequence[], isUrgent: boolean): Promise<Float32Array>;
  /** Returns logits of pairs, some of them estimated after the first layers. null if early exit is not supported. */
  readonly scoreWithEarlyExit:
    | ((pairs: readonly TokenSequence[], earlyExit: EarlyExit) => Promise<Float32Array>)
    | null;
  /** Frees the memory of the model. No other call may follow. */
  close(): Promise<void>;
}
