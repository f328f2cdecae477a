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
   * Runs the model. Returns one row per sequence, in their order: a vector (embedder), one logit (reranker) or two
   * logits (reader: relevance, answer).
   * @param isUrgent whether more than one core may be used
   */
  encode(sequences: readonly TokenSequence[], isUrgent: boolean): Promise<Float32Array>;
  /** Returns logits of pairs, some of them estimated after the first layers. null if early exit is not supported. */
  readonly scoreWithEarlyExit:
    | ((pairs: readonly TokenSequence[], earlyExit: EarlyExit) => Promise<Float32Array>)
    | null;
  /**
   * Runs a reader. Returns one row per pair: its two logits (relevance, answer), then two logits per token, for the
   * begin and the end of the answer. null if the model is not a reader.
   */
  readonly read: ((pairs: readonly TokenSequence[]) => Promise<readonly Float32Array[]>) | null;
  /** Frees the memory of the model. No other call may follow. */
  close(): Promise<void>;
}
