// The models that a lane has in memory. A model is loaded when it is first needed: its files are verified, and its
// output is checked once. When the limit is reached, the model that was not used for the longest time is freed. If the
// lane's GPU fails, all models move to the CPU, and the failed computation is done there.

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { invariant } from "../../domain/fault.ts";
import { knowsPlaces, loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import type { ReadingTokenizer, Tokenizer } from "../../tokenizers/tokenizer.ts";
import type { TokenSequence } from "../native/model-encoder.ts";
import type { Encoder } from "./encoder.ts";
import { failureReason } from "./gpu/failure-reason.ts";
import { UnsupportedGraph } from "./gpu/unsupported-graph.ts";
import type { LaneReply, LoadedModel } from "./lane-protocol.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import {
  type AnyModelDescription,
  type EmbedderDescription,
  type ModelDescription,
  manifestPath,
  type ReaderDescription,
  type RerankerDescription,
  readAddableFolder,
  readModels,
  verifyModelFiles,
} from "./model-files.ts";

/** A loaded model and its tokeniser. */
export interface Loaded<Model = AnyModelDescription> {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  readonly encoder: Encoder;
  readonly isOnGpu: boolean;
  /** For a model that was added: time of the last change of its manifest, Unix milliseconds; otherwise 0. */
  readonly stamp: number;
}

/** A loaded reader. */
export type LoadedReader = Loaded<ReaderDescription> & { readonly tokenizer: ReadingTokenizer };

/** Functions that open the encoder of a model whose files were verified. */
export interface EncoderOpeners {
  readonly onCpu: (model: ModelDescription) => Promise<Encoder>;
  /** null if the lane has no GPU. */
  readonly onGpu: ((model: ModelDescription) => Promise<Encoder>) | null;
}

/**
 * Maximum number of models in memory: two embedders while a project changes its model, a reranker for each, and a
 * reader.
 */
const LOADED_MAX = 5;
/** Maximum difference between a vector's length and 1; allows for rounding. */
const LENGTH_TOLERANCE = 5e-3;

/** Loads models, and keeps those that were used last. Its methods must not be called concurrently. */
export class LoadedModels {
  /** By id; the one that was used last is at the end. */
  readonly #loaded = new Map<string, Loaded>();
  #reports: LoadedModel[] = [];
  /** Why the GPU is not used any more; null if it is, or if there is none. */
  #gpuFailure: string | null = null;

  constructor(
    private readonly modelsDir: string,
    /** Folder of the models that were added. */
    private readonly installedDir: string | null,
    private readonly openers: EncoderOpeners,
  ) {}

  /** An embedder, loaded if necessary. @throws ModelFilesError if it cannot be loaded */
  async embedder(id: string): Promise<Loaded<EmbedderDescription>> {
    const { model, ...parts } = await this.get(id);
    invariant(model.kind === "embedder", `${id} was used as an embedder`);
    return { model, ...parts };
  }

  /** A reranker, loaded if necessary. @throws ModelFilesError if it cannot be loaded */
  async reranker(id: string): Promise<Loaded<RerankerDescription>> {
    const { model, ...parts } = await this.get(id);
    invariant(model.kind === "reranker", `${id} was used as a reranker`);
    return { model, ...parts };
  }

  /** A reader, loaded if necessary. @throws ModelFilesError if it cannot be loaded */
  async reader(id: string): Promise<LoadedReader> {
    const { model, tokenizer, encoder, ...parts } = await this.get(id);
    invariant(model.kind === "reader" && knowsPlaces(tokenizer), `${id} was used as a reader`);
    return { model, tokenizer, encoder, ...parts };
  }

  /**
   * Any model, loaded if it is not in memory or was replaced on disk.
   * @throws ModelFilesError if it cannot be loaded
   */
  async get(id: string): Promise<Loaded> {
    let found = this.#loaded.get(id);
    if (found !== undefined && found.stamp !== this.#stampOf(id)) {
      this.#loaded.delete(id);
      await found.encoder.close();
      found = undefined;
    }
    found ??= await this.#load(id);
    this.#loaded.delete(id);
    this.#loaded.set(id, found);
    return found;
  }

  /** Runs the model that was returned last; earlier ones may have been freed. If the GPU fails, runs it on the CPU. */
  async encode(
    { model, encoder, isOnGpu }: Loaded,
    sequences: readonly TokenSequence[],
    isUrgent: boolean,
  ): Promise<Float32Array> {
    if (!isOnGpu) return encoder.encode(sequences, isUrgent);
    try {
      const rows = await encoder.encode(sequences, isUrgent);
      refuseWrongOutput(model, rows, sequences.length);
      return rows;
    } catch (error) {
      await this.#leaveGpu(error);
      return (await this.get(model.id)).encoder.encode(sequences, isUrgent);
    }
  }

  /** Like `encode`, for the pairs of the reader that was returned last. */
  async read(reader: LoadedReader, pairs: readonly TokenSequence[]): Promise<readonly Float32Array[]> {
    const { model, encoder, isOnGpu } = reader;
    try {
      return await readWith(encoder, pairs);
    } catch (error) {
      if (!isOnGpu) throw error;
      await this.#leaveGpu(error);
      return readWith((await this.get(model.id)).encoder, pairs);
    }
  }

  /** Describes the models that were loaded or moved since the last call. */
  takeReports(): LaneReply {
    const loaded = this.#reports;
    this.#reports = [];
    return { loaded, gpuFailure: this.#gpuFailure };
  }

  async #load(id: string): Promise<Loaded> {
    const stamp = this.#stampOf(id);
    const model = this.#read(id);
    await verifyModelFiles(model, true);
    await this.#makeRoom();
    const loaded = { ...(await this.#open(model)), stamp };
    // Loading leaves tens of megabytes of garbage, and perhaps a freed model. An idle lane would keep them without
    // this.
    Bun.gc(true);
    this.#report(loaded);
    return loaded;
  }

  #read(id: string): Loaded["model"] {
    const { embedders, rerankers, readers, problems } = readModels(this.modelsDir);
    const shipped = embedders.get(id) ?? rerankers.get(id) ?? readers.get(id);
    if (shipped !== undefined && existsSync(shipped.modelPath)) return shipped;
    const folder = this.installedDir === null ? null : join(this.installedDir, id);
    if (folder !== null && existsSync(manifestPath(folder))) return readAddableFolder(folder);
    if (shipped !== undefined) return shipped;
    throw problems.get(id) ?? new ModelFilesError(`there is no model ${id} any more`);
  }

  /** See `Loaded.stamp`. It changes when another model is added under the same id. */
  #stampOf(id: string): number {
    if (this.installedDir === null) return 0;
    return statSync(manifestPath(join(this.installedDir, id)), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  async #open(model: Loaded["model"]): Promise<Omit<Loaded, "stamp">> {
    try {
      const tokenizer = this.#tokenizerOf(model);
      const onGpu = await this.#openOnGpu(model, tokenizer);
      if (onGpu !== null && typeof onGpu !== "string") return { model, tokenizer, encoder: onGpu, isOnGpu: true };
      const onCpu = await this.openers.onCpu(model);
      const encoder = { ...onCpu, warning: onGpu ?? onCpu.warning };
      await checkOutput(model, tokenizer, encoder);
      return { model, tokenizer, encoder, isOnGpu: false };
    } catch (cause) {
      if (cause instanceof ModelFilesError) throw cause;
      throw new ModelFilesError(`the model ${model.id} cannot be loaded: ${String(cause)}`, { cause });
    }
  }

  /** The tokeniser of a model. A reader has the same one as its embedder, so it is shared. */
  #tokenizerOf({ tokenizer: { path, ...file } }: Loaded["model"]): Tokenizer {
    const sharing = this.#loaded.values().find(({ model }) => model.tokenizer.path === path);
    return sharing?.tokenizer ?? loadTokenizer({ path, ...file });
  }

  /**
   * Opens a model on the GPU. Returns null if there is no GPU that works, or a sentence why this model needs the CPU.
   */
  async #openOnGpu(model: Loaded["model"], tokenizer: Tokenizer): Promise<Encoder | string | null> {
    if (this.openers.onGpu === null || this.#gpuFailure !== null) return null;
    try {
      const encoder = await this.openers.onGpu(model);
      await checkOutput(model, tokenizer, encoder);
      return encoder;
    } catch (error) {
      if (error instanceof UnsupportedGraph) return `${model.id} cannot be converted for the GPU: ${error.message}`;
      await this.#leaveGpu(error);
      return null;
    }
  }

  /** Moves all models to the CPU, because CUDA often cannot be used again after an error. */
  async #leaveGpu(error: unknown): Promise<void> {
    this.#gpuFailure ??= failureReason(error);
    for (const [id, loaded] of this.#loaded) {
      if (!loaded.isOnGpu) continue;
      // A model on a broken GPU may be impossible to free. The server replaces this process later.
      await Promise.allSettled([loaded.encoder.close()]);
      const moved = { ...loaded, encoder: await this.openers.onCpu(loaded.model), isOnGpu: false };
      this.#loaded.set(id, moved);
      this.#report(moved);
    }
  }

  #report({ model, encoder }: Loaded): void {
    const { provider, warning, scoreWithEarlyExit } = encoder;
    this.#reports.push({ id: model.id, provider, warning, supportsEarlyExit: scoreWithEarlyExit !== null });
  }

  async #makeRoom(): Promise<void> {
    for (const [id, { encoder }] of this.#loaded) {
      if (this.#loaded.size < LOADED_MAX) return;
      this.#loaded.delete(id);
      await encoder.close();
    }
  }
}

async function readWith({ read }: Encoder, pairs: readonly TokenSequence[]): Promise<readonly Float32Array[]> {
  invariant(read, "a reader was opened without its spans");
  return read(pairs);
}

/** Checks that a model computes what its manifest says. @throws ModelFilesError if it does not */
async function checkOutput(model: Loaded["model"], tokenizer: Tokenizer, encoder: Encoder): Promise<void> {
  const ids = tokenizer.encode("What does this model compute?", model.tokensMax);
  refuseWrongOutput(model, await encoder.encode([{ ids, firstLength: ids.length }], false), 1);
  if (model.kind !== "reader" || encoder.read !== null) return;
  throw new ModelFilesError(`${model.modelPath} must compute spans, but does not`);
}

/** @throws ModelFilesError if an output does not have `rows` vectors of unit length, or logits */
function refuseWrongOutput(model: Loaded["model"], output: Float32Array, rows: number): void {
  const width = model.kind === "embedder" ? model.dimensions : model.kind === "reader" ? 2 : 1;
  if (output.length !== rows * width) {
    throw new ModelFilesError(
      `${model.modelPath} computes ${output.length / rows} numbers per text; model.json says ${width}`,
    );
  }
  const isGood = (row: Float32Array) =>
    model.kind === "embedder" ? Math.abs(Math.hypot(...row) - 1) < LENGTH_TOLERANCE : row.every(Number.isFinite);
  for (let at = 0; at < output.length; at += width) {
    if (isGood(output.subarray(at, at + width))) continue;
    const what = model.kind === "embedder" ? "vectors of unit length" : "finite logits";
    throw new ModelFilesError(`${model.modelPath} must compute ${what}, but does not`);
  }
}
