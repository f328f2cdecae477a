// The messages between the server and a lane: two requests, the hello message, and the size limit of a request.
// children/ handles frames and sockets.

/** Environment variable with the path of the models folder. */
export const MODELS_DIR_VARIABLE = "MNEME_LANE_MODELS";

/** Environment variable with the `ModelRuntime`. */
export const RUNTIME_VARIABLE = "MNEME_LANE_RUNTIME";

/** Runtimes for the models. `auto`: the native core's encoder where it can be used, otherwise onnxruntime. */
export const MODEL_RUNTIMES = ["auto", "onnxruntime"] as const;
/** One of `MODEL_RUNTIMES`. */
export type ModelRuntime = (typeof MODEL_RUNTIMES)[number];

/** Embeds texts. Payload of the reply: Float32 `[texts.length, dimensions]`. */
export interface EmbedRequest {
  readonly op: "embed";
  readonly texts: readonly string[];
  /** Whether a person waits for the result. A single text may then use a second core. */
  readonly isUrgent: boolean;
}

/** Scores (query, passage) pairs. Payload of the reply: Float32 `[passages.length]`. */
export interface ScoreRequest {
  readonly op: "score";
  readonly query: string;
  readonly passages: readonly string[];
  /** Allows early exit; null if all passages must pass through all layers. */
  readonly earlyExit: { readonly priorScores: readonly number[]; readonly fullTokensMax: number } | null;
}

/** A request to a lane. */
export type LaneRequest = EmbedRequest | ScoreRequest;

/** First message of a lane, sent when its models are loaded. */
export type LaneHello = {
  readonly provider: string;
  /** Whether the reranker of this lane supports early exit. */
  readonly supportsEarlyExit: boolean;
  /** Log lines for the operator, such as why a model is slower than it could be. */
  readonly warnings: readonly string[];
  /** Time from the start of the process until the models were loaded, in milliseconds. */
  readonly loadMs: number;
};

/** Maximum number of texts or passages in one request. The scheduler sends fewer, so a larger request is a bug. */
export const REQUEST_TEXTS_MAX = 256;
