// The messages between the server and a lane: the requests, the replies with what a lane says about its models, and the
// environment variables with which a lane starts. children/ handles frames and sockets.

/** Environment variable with the path of the models folder. */
export const MODELS_DIR_VARIABLE = "MNEME_LANE_MODELS";

/** Environment variable with the path of the folder of the models that were added; not set if there is none. */
export const INSTALLED_DIR_VARIABLE = "MNEME_LANE_INSTALLED_MODELS";

/** Environment variable with the ids of the models that a lane loads when it starts, separated by commas. */
export const PRELOAD_VARIABLE = "MNEME_LANE_PRELOAD";

/** Environment variable with the `ModelRuntime` that the operator has set. */
export const RUNTIME_VARIABLE = "MNEME_LANE_RUNTIME";

/**
 * Environment variable that is "1" in each process that uses onnxruntime. Otherwise onnxruntime sends telemetry to
 * Microsoft and writes files into the folder for temporary files. Only the value at the start of the process counts.
 */
export const NO_TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY";

/** Runtimes for the models. `auto`: the native core's encoder where it can be used, otherwise onnxruntime. */
export const MODEL_RUNTIMES = ["auto", "onnxruntime"] as const;
/** One of `MODEL_RUNTIMES`. */
export type ModelRuntime = (typeof MODEL_RUNTIMES)[number];

/** Embeds texts. Payload of the reply: Float32 `[texts.length, dimensions]`. */
export interface EmbedRequest {
  readonly op: "embed";
  /** Id of the embedder. */
  readonly model: string;
  /** The texts, with the prefix for their purpose. */
  readonly texts: readonly string[];
  /** Whether a person waits for the result. A single text may then use a second core. */
  readonly isUrgent: boolean;
}

/** Scores (query, passage) pairs. Payload of the reply: Float32 `[passages.length]`. */
export interface ScoreRequest {
  readonly op: "score";
  /** Id of the reranker. */
  readonly model: string;
  readonly query: string;
  readonly passages: readonly string[];
  /** Allows early exit; null if all passages must pass through all layers. */
  readonly earlyExit: { readonly priorScores: readonly number[]; readonly fullTokensMax: number } | null;
}

/**
 * Reads passages, to say whether they answer a question. Payload of the reply: Float32
 * `[passages.length, READING_WIDTH]`.
 */
export interface ReadRequest {
  readonly op: "read";
  /** Id of the reader. */
  readonly model: string;
  readonly query: string;
  readonly passages: readonly string[];
}

/** Counts the tokens of texts, special tokens included. Payload of the reply: Float32 `[texts.length]`. */
export interface CountRequest {
  readonly op: "count";
  /** Id of the embedder. */
  readonly model: string;
  /** The texts, with the prefix for their purpose. */
  readonly texts: readonly string[];
}

/** A request to a lane. */
export type LaneRequest = EmbedRequest | CountRequest | ScoreRequest | ReadRequest;

/** What a lane says about a model that it has loaded. */
export type LoadedModel = {
  readonly id: string;
  /** Name of the runtime and its instruction set. */
  readonly provider: string;
  /** Whether it is a reranker that supports early exit here. */
  readonly supportsEarlyExit: boolean;
  /** Log line for the operator, such as why the model is slower than it could be; null for none. */
  readonly warning: string | null;
};

/** First message of a lane, sent when the models for its start are loaded. */
export type LaneHello = LaneReply & {
  /** Time from the start of the process until the models were loaded, in milliseconds. */
  readonly loadMs: number;
};

/** Header of a reply. */
export type LaneReply = {
  /** The models that were loaded for this request, or moved from the GPU to the CPU. */
  readonly loaded: readonly LoadedModel[];
  /** Why the lane does not use its GPU any more; null if it does, or has none. */
  readonly gpuFailure: string | null;
};

/** Maximum number of texts or passages in one request. The scheduler sends fewer, so a larger request is a bug. */
export const REQUEST_TEXTS_MAX = 256;
