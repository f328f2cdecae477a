// What the server and a lane say to each other: the two requests, the hello, and the bounds of one request. Frames and
// sockets are children/'s.

/** Environment variable that tells a lane where the models are. */
export const MODELS_DIR_VARIABLE = "MNEME_LANE_MODELS";

/** Texts to vectors: the answer's payload is Float32 `[texts.length, dimensions]`. */
export interface EmbedRequest {
  readonly op: "embed";
  readonly texts: readonly string[];
}

/** Pairs to logits: the answer's payload is Float32 `[passages.length]`. */
export interface ScoreRequest {
  readonly op: "score";
  readonly query: string;
  readonly passages: readonly string[];
}

/** What a lane can be asked. */
export type LaneRequest = EmbedRequest | ScoreRequest;

/** What a lane says once its models are loaded. */
export interface LaneHello {
  readonly provider: string;
  /** From the process's start to ready. */
  readonly loadMs: number;
}

/** Texts or passages of one request; the scheduler sends fewer, so a larger request is a mistake of ours. */
export const REQUEST_TEXTS_MAX = 256;
