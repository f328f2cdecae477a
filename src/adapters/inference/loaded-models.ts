// The models that a lane has in memory: loads a model when it is first needed, and frees the one that was not used for
// the longest time. Before a model is used, its files are verified and its output is checked once. If the lane's GPU
// fails, all models move to the CPU, and what was about to be computed is computed there.

import { invariant } from "../../domain/fault.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import type { Tokenizer } from "../../tokenizers/tokenizer.ts";
import type { TokenSequence } from "../native/model-encoder.ts";
import type { Encoder } from "./encoder.ts";
import { failureReason } from "./gpu/failure-reason.ts";
import { UnsupportedGraph } from "./gpu/unsupported-graph.ts";
import type { LaneReply, LoadedModel } from "./lane-protocol.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import {
  type EmbedderDescription,
  type ModelDescription,
  type RerankerDescription,
  readModels,
  verifyModelFiles,
} from "./model-files.ts";

/** A loaded model and its tokeniser. */
export interface Loaded<Model = EmbedderDescription | RerankerDescription> {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  readonly encoder: Encoder;
  readonly isOnGpu: boolean;
}

/** Functions that open encoders of verified models. */
export interface EncoderOpeners {
  readonly onCpu: (model: ModelDescription) => Promise<Encoder>;
  /** null if the lane has no GPU. */
  readonly onGpu: ((model: ModelDescription) => Promise<Encoder>) | null;
}

/** Maximum number of models in memory: two embedders while an index changes its model, and their rerankers. */
const LOADED_MAX = 4;
/** Maximum difference between a vector's length and 1; allows for rounding. */
const LENGTH_TOLERANCE = 5e-3;

/** Loads models and keeps those that were used last. Not for concurrent calls. */
export class LoadedModels {
  /** By id; the one that was used last is at the end. */
  readonly #loaded = new Map<string, Loaded>();
  #reports: LoadedModel[] = [];
  /** Why the GPU is not used any more; null if it is, or if there is none. */
  #gpuFailure: string | null = null;

  constructor(
    private readonly modelsDir: string,
    private readonly openers: EncoderOpeners,
  ) {}

  /** @throws ModelFilesError if it cannot be loaded */
  async embedder(id: string): Promise<Loaded<EmbedderDescription>> {
    const { model, ...parts } = await this.get(id);
    invariant(model.kind === "embedder", `${id} was used as an embedder`);
    return { model, ...parts };
  }

  /** @throws ModelFilesError if it cannot be loaded */
  async reranker(id: string): Promise<Loaded<RerankerDescription>> {
    const { model, ...parts } = await this.get(id);
    invariant(model.kind === "reranker", `${id} was used as a reranker`);
    return { model, ...parts };
  }

  /** Loads a model if it is not in memory. @throws ModelFilesError if it cannot be loaded */
  async get(id: string): Promise<Loaded> {
    const found = this.#loaded.get(id) ?? (await this.#load(id));
    this.#loaded.delete(id);
    this.#loaded.set(id, found);
    return found;
  }

  /** Runs a model that was returned last. If the GPU fails, runs it on the CPU. */
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

  /** Describes the models that were loaded or moved since the last call. */
  takeReports(): LaneReply {
    const loaded = this.#reports;
    this.#reports = [];
    return { loaded, gpuFailure: this.#gpuFailure };
  }

  async #load(id: string): Promise<Loaded> {
    const { embedders, rerankers, problems } = readModels(this.modelsDir);
    const model = embedders.get(id) ?? rerankers.get(id);
    if (model === undefined) throw problems.get(id) ?? new ModelFilesError(`there is no model ${id} any more`);
    await verifyModelFiles(model);
    await this.#makeRoom();
    const loaded = await this.#open(model);
    // Loading leaves tens of megabytes of garbage, and a model that was freed. Without this call, an idle lane would
    // keep them.
    Bun.gc(true);
    this.#report(loaded);
    return loaded;
  }

  async #open(model: Loaded["model"]): Promise<Loaded> {
    try {
      const tokenizer = loadTokenizer(model.tokenizer);
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

  /** Opens a model on the GPU. Null: there is none, or it does not work. A text: why this model runs on the CPU. */
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

/** Throws if the model does not compute what its manifest says. */
async function checkOutput(model: Loaded["model"], tokenizer: Tokenizer, encoder: Encoder): Promise<void> {
  const ids = tokenizer.encode("What does this model compute?", model.tokensMax);
  refuseWrongOutput(model, await encoder.encode([{ ids, firstLength: ids.length }], false), 1);
}

/** @throws ModelFilesError if an output does not have `rows` vectors of unit length, or logits */
function refuseWrongOutput(model: Loaded["model"], output: Float32Array, rows: number): void {
  const width = model.kind === "embedder" ? model.dimensions : 1;
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
