// The models that a lane has in memory: loads a model when it is first needed, and frees the one that was not used for
// the longest time. Before a model is used, its files are verified and its output is checked once.

import { invariant } from "../../domain/fault.ts";
import { loadTokenizer } from "../../kit/load-tokenizer.ts";
import type { Tokenizer } from "../../kit/tokenizer.ts";
import type { Encoder } from "./encoder.ts";
import type { LoadedModel, ModelRuntime } from "./lane-protocol.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import { type EmbedderDescription, type RerankerDescription, readModels, verifyModelFiles } from "./model-files.ts";
import { openEncoder } from "./open-encoder.ts";

/** A loaded model and its tokeniser. */
export interface Loaded<Model = EmbedderDescription | RerankerDescription> {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  readonly encoder: Encoder;
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

  constructor(
    private readonly modelsDir: string,
    private readonly runtime: ModelRuntime,
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

  /** Describes the models that were loaded since the last call. */
  takeReports(): readonly LoadedModel[] {
    const reports = this.#reports;
    this.#reports = [];
    return reports;
  }

  async #load(id: string): Promise<Loaded> {
    const { embedders, rerankers, problems } = readModels(this.modelsDir);
    const model = embedders.get(id) ?? rerankers.get(id);
    if (model === undefined) throw problems.get(id) ?? new ModelFilesError(`there is no model ${id} any more`);
    await verifyModelFiles(model);
    await this.#makeRoom();
    const loaded = await open(model, this.runtime);
    // Loading leaves tens of megabytes of garbage, and a model that was freed. Without this call, an idle lane would
    // keep them.
    Bun.gc(true);
    const { provider, warning, scoreWithEarlyExit } = loaded.encoder;
    this.#reports.push({ id, provider, warning, supportsEarlyExit: scoreWithEarlyExit !== null });
    return loaded;
  }

  async #makeRoom(): Promise<void> {
    for (const [id, { encoder }] of this.#loaded) {
      if (this.#loaded.size < LOADED_MAX) return;
      this.#loaded.delete(id);
      await encoder.close();
    }
  }
}

async function open(model: Loaded["model"], runtime: ModelRuntime): Promise<Loaded> {
  try {
    const tokenizer = loadTokenizer(model.tokenizer);
    const encoder = await openEncoder(model, runtime);
    await checkOutput(model, tokenizer, encoder);
    return { model, tokenizer, encoder };
  } catch (cause) {
    if (cause instanceof ModelFilesError) throw cause;
    throw new ModelFilesError(`the model ${model.id} cannot be loaded: ${String(cause)}`, { cause });
  }
}

/** Throws if the model does not compute what its manifest says. */
async function checkOutput(model: Loaded["model"], tokenizer: Tokenizer, encoder: Encoder): Promise<void> {
  const ids = tokenizer.encode("What does this model compute?", model.tokensMax);
  const output = await encoder.encode([{ ids, firstLength: ids.length }], false);
  const expected = model.kind === "embedder" ? model.dimensions : 1;
  if (output.length !== expected) {
    throw new ModelFilesError(
      `${model.modelPath} computes ${output.length} numbers per text; model.json says ${expected}`,
    );
  }
  const isGood =
    model.kind === "embedder" ? Math.abs(Math.hypot(...output) - 1) < LENGTH_TOLERANCE : output.every(Number.isFinite);
  if (isGood) return;
  const what = model.kind === "embedder" ? "vectors of unit length" : "finite logits";
  throw new ModelFilesError(`${model.modelPath} must compute ${what}, but does not`);
}
