// What the server and a lane say to each other: the two requests, the hello, and the bounds of one request. Frames and
// sockets are children/'s.

/** Environment variable that tells a lane where the models are. */
export const MODELS_DIR_VARIABLE = "MNEME_LANE_MODELS";

/** Environment variable that tells a lane what should compute them: a `ModelRuntime`. */
export const RUNTIME_VARIABLE = "MNEME_LANE_RUNTIME";

/** What may compute the models: the native core's own encoder where it is the faster one (`auto`), or onnxruntime only. */
export const MODEL_RUNTIMES = ["auto", "onnxruntime"] as const;
/** One of them. */
export type ModelRuntime = (typeof MODEL_RUNTIMES)[number];

/** Texts to vectors: the answer's payload is Float32 `[texts.length, dimensions]`. */
export interface EmbedRequest {
  readonly op: "embed";
  readonly texts: readonly string[];
  /** Whether somebody waits for the answer: a single text may then take a second core. */
  readonly isUrgent: boolean;
}

/** Pairs to logits: the answer's payload is Float32 `[passages.length]`. */
export interface ScoreRequest {
  readonly op: "score";
  readonly query: string;
  readonly passages: readonly string[];
  /** An `EarlyExit`; null: all passages are read by all layers. */
  readonly earlyExit: { readonly priorScores: readonly number[]; readonly fullTokensMax: number } | null;
}

/** What a lane can be asked. */
export type LaneRequest = EmbedRequest | ScoreRequest;

/** What a lane says once its models are loaded. */
export interface LaneHello {
  readonly provider: string;
  /** Whether its reranker can exit early on unlikely passages. */
  readonly supportsEarlyExit: boolean;
  /** What an operator should know of it. */
  readonly complaints: readonly string[];
  /** From the process's start to ready. */
  readonly loadMs: number;
}

/** Texts or passages of one request; the scheduler sends fewer, so a larger request is a mistake of ours. */
export const REQUEST_TEXTS_MAX = 256;
