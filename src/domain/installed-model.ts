// Models that projects can use: those that ship with the program (`built_in`), those that an operator added from files
// (`installed`), and those that another server computes (`remote`).

import type { JsonRecord } from "../kit/record.ts";
import type { Calibration, CalibrationJob } from "./calibration.ts";
import type { RetrievalTuning } from "./retrieval-tuning.ts";

/** What a model that can be added does: compute vectors, or score pairs of query and passage. */
export const ADDED_TASKS = ["embed", "rerank"] as const;
/** One of `ADDED_TASKS`. */
export type AddedTask = (typeof ADDED_TASKS)[number];

/** What a model does. A built-in one may also read passages, to say whether they answer a question. */
export const MODEL_TASKS = [...ADDED_TASKS, "read"] as const;
/** One of `MODEL_TASKS`. */
export type ModelTask = (typeof MODEL_TASKS)[number];

/** Where a model comes from. */
export const MODEL_KINDS = ["built_in", "installed", "remote"] as const;
/** One of `MODEL_KINDS`. */
export type ModelKind = (typeof MODEL_KINDS)[number];

/** States of a model. Only a `ready` one can be used. */
export const MODEL_STATUSES = ["downloading", "checking", "ready", "failed"] as const;
/** One of `MODEL_STATUSES`. */
export type ModelStatus = (typeof MODEL_STATUSES)[number];

/** Protocols of servers that compute models. */
export const REMOTE_APIS = ["openai", "tei", "ollama", "cohere", "jina"] as const;
/** One of `REMOTE_APIS`. */
export type RemoteApi = (typeof REMOTE_APIS)[number];

/** What a remote embedder computed when it was added. */
export interface RemoteProbes {
  /** Vectors of the probe texts as queries and as passages: 32-bit floats in base64. */
  readonly query: readonly string[];
  readonly passage: readonly string[];
  /** Typical cosines of a question with a passage that answers it, and with any other passage. */
  readonly spread: { readonly related: number; readonly unrelated: number };
}

/** How a remote model is called. The names are those of the API, because it is stored as received. */
export interface RemoteModel {
  readonly api: RemoteApi;
  /** Ends in `/v1` for `openai` and `jina`; the root of the server for the others. */
  readonly base_url: string;
  /** Name of the model on that server. */
  readonly model: string;
  /** The API never returns it. */
  readonly api_key: string | null;
  /** What is put before texts of an embedder. Absent: nothing. */
  readonly prefixes?: { readonly query: string; readonly passage: string };
  /** Maximum number of tokens that are sent of a text. Absent: 512. */
  readonly tokens_max?: number;
  /** Whether requests tell queries from passages, in the form of the API. Absent: no, but for Cohere always yes. */
  readonly says_purpose?: boolean;
  /** Absent for a reranker, and until the model was reached. */
  readonly probes?: RemoteProbes;
}

/** A remote model to add. */
export interface RemoteRequest {
  readonly remote: Pick<RemoteModel, "api" | "base_url" | "model"> & {
    readonly task: AddedTask;
    readonly api_key?: string | null | undefined;
    /** BCP 47. Default: those of large multilingual models. */
    readonly languages?: readonly string[] | null | undefined;
    readonly prefixes?:
      | { readonly query?: string | null | undefined; readonly passage?: string | null | undefined }
      | null
      | undefined;
    readonly tokens_max?: number | null | undefined;
    readonly says_purpose?: boolean | null | undefined;
  };
  /** Default: made from the model's name. */
  readonly id?: string | null | undefined;
}

/** How many bytes of a download have arrived. */
export interface DownloadProgress {
  readonly bytesDone: number;
  /** null: unknown. */
  readonly bytesTotal: number | null;
}

/**
 * Curves that were fitted for a model, by the id of the model that it works with: that of the reranker for an embedder,
 * that of the embedder for a reranker. An embedder without a reranker has its curves under `NO_RERANKER`.
 */
export type FittedTunings = Readonly<Record<string, RetrievalTuning>>;

/** Key of `FittedTunings` for an embedder that works without a reranker. No model has this id. */
export const NO_RERANKER = "-";

/** Whether a text can be the id of a model. It is also the name of a folder. */
export function isModelId(text: string): boolean {
  return /^[a-z0-9][a-z0-9.-]{0,99}$/.test(text);
}

/** A model to add from files. */
export interface ModelRequest {
  /** Folder, address of an archive, or `hub:OWNER/NAME`. */
  readonly source: string;
  /** SHA-256 that the archive must have. */
  readonly sha256?: string | null | undefined;
  /** Default: made from the source. */
  readonly id?: string | null | undefined;
  /** Fields of the manifest, which override what the files say. */
  readonly manifest?: JsonRecord | undefined;
}

/** What is known of a model that was added. */
export interface ModelProperties {
  /** Length of a vector as it is stored; null for a reranker, and until it is known. */
  readonly dimensions: number | null;
  /** Maximum number of tokens of an input; null until it is known. */
  readonly tokensMax: number | null;
  /** BCP 47; empty: unknown. */
  readonly languages: readonly string[];
  /** SPDX name. */
  readonly licence: string | null;
  /** Identifies everything that determines a vector (`Embedder.fingerprint`); null for a reranker. */
  readonly fingerprint: string | null;
  /** Whether its manifest has curves. */
  readonly isCalibrated: boolean;
  /** SHA-256 of the manifest, which has those of all files; null for a remote model, and until it is known. */
  readonly manifestSha256: string | null;
}

/** A model that was added: a row of the store. */
export interface AddedModel extends ModelProperties {
  /** Grows with each model. */
  readonly key: bigint;
  readonly id: string;
  readonly task: AddedTask;
  readonly kind: Exclude<ModelKind, "built_in">;
  /** Folder, address, or `hub:OWNER/NAME`; null for a remote model. */
  readonly source: string | null;
  /** Expected SHA-256 of the archive; null: not given. */
  readonly sha256: string | null;
  /** null unless `kind` is `remote`. */
  readonly remote: RemoteModel | null;
  readonly status: ModelStatus;
  /** null unless it is being downloaded. */
  readonly progress: DownloadProgress | null;
  /** Why it failed, in one sentence; null unless it did. */
  readonly error: string | null;
  readonly tunings: FittedTunings;
  /** null: none was asked for, or the last one has ended well or was cancelled. */
  readonly calibrationJob: CalibrationJob | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A model as the API shows it. */
export interface InstalledModel
  extends Omit<
    AddedModel,
    "key" | "task" | "kind" | "tunings" | "fingerprint" | "isCalibrated" | "manifestSha256" | "sha256" | "createdAt"
  > {
  readonly task: ModelTask;
  readonly kind: ModelKind;
  readonly calibration: Calibration;
  /** Ids of the projects that use it, or keep vectors of it for a rollback. */
  readonly usedBy: readonly string[];
  /** Unix milliseconds; null for a built-in one. */
  readonly createdAt: number | null;
}
