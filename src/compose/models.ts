// Starts the processes that run models, read files and prepare texts. language-model.ts connects to language models.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { createDocumentReader } from "../adapters/documents/document-reader.ts";
import { downloadedModels } from "../adapters/downloads/optional-models.ts";
import type { GpuOptions } from "../adapters/inference/gpu/gpu-plan.ts";
import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import { createLanes } from "../adapters/inference/lanes.ts";
import {
  type EmbedderDescription,
  embedderOf,
  fingerprintOf,
  type ModelCatalogue,
  readModelsWith,
} from "../adapters/inference/model-files.ts";
import { createPictureRecogniser } from "../adapters/ocr/picture-recogniser.ts";
import { preparationCountFor } from "../adapters/preparation/preparation-count.ts";
import { createPreparationProcess } from "../adapters/preparation/preparation-process.ts";
import type { Config } from "../config.ts";
import type { Log } from "../kit/log.ts";
import { machineShare } from "../kit/machine-share.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { Embedders, InstalledEmbedders, LocalModels, Rerankers } from "../ports/models.ts";
import type { PictureRecogniser } from "../ports/picture-recogniser.ts";
import type { Preparer } from "../ports/preparer.ts";
import type { Closers } from "./closers.ts";
import { optionalModelFolder } from "./optional-models.ts";

/** The models and the processes that read and prepare texts. */
export interface Models {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly local: LocalModels;
  readonly preparer: Preparer;
  readonly documents: DocumentReader;
  readonly pictures: PictureRecogniser;
  /** The state of the processes that run models, for `/ready` and the metrics. */
  readonly laneStatus: () => readonly LaneStatus[];
  /** Resolves when the models are ready; rejects if they can never be ready. */
  readonly ready: () => Promise<void>;
}

/** Models that were started before the data directory is open. */
export type StartedModels = Omit<Models, "pictures"> & {
  /** Opens the recogniser of pictures, whose files are in the data directory: to be called once that is open. */
  readonly openPictures: () => PictureRecogniser;
};

/** Starts lanes, preparation and the reading of files. @throws ModelFilesError with a sentence for the operator */
export async function startModels(
  { config, log }: { readonly config: Config; readonly log: Log },
  closers: Closers,
): Promise<StartedModels> {
  const lanes = await createLanes({
    modelsDir: config.modelsDir,
    installedDir: downloadedModels(config.dataDir),
    embedder: config.embedder,
    lanes: config.lanes,
    runtime: config.modelRuntime,
    gpu: gpuOptionsOf(config),
    preloadsReranker: config.role !== "ingest",
    log,
  });
  closers.add(() => lanes.close());
  const preparer = preparerFor(embedderOf(catalogueOf(config), config.embedder), log);
  closers.add(() => preparer.close());
  const documents = createDocumentReader({ log });
  closers.add(() => documents.close());
  return {
    embedders: lanes.embedders,
    rerankers: lanes.rerankers,
    local: lanes.local,
    preparer,
    documents,
    openPictures: () => pictureRecogniserFor(config, log, closers),
    laneStatus: () => lanes.status().lanes,
    ready: () => lanes.ready(),
  };
}

/** The recogniser of text in pictures. It works if the models for that are installed; `closers` close it. */
export function pictureRecogniserFor(config: Config, log: Log, closers: Closers): PictureRecogniser {
  const pictures = createPictureRecogniser({
    directory: join(config.dataDir, "recognised"),
    modelFolder: () => optionalModelFolder("ocr", config),
    isKept: (name) => existsSync(join(config.dataDir, "uploads", name)),
    log,
  });
  closers.add(() => pictures.close());
  return pictures;
}

/** The models that ship with the program, and the default embedder. */
function catalogueOf({ modelsDir, dataDir, embedder }: Config): ModelCatalogue {
  return readModelsWith(modelsDir, downloadedModels(dataDir), embedder);
}

/** The settings about GPUs. */
export function gpuOptionsOf(config: Config): GpuOptions {
  return {
    provider: config.modelProvider,
    libraryDir: config.onnxruntimeDir,
    memoryBytesMax: config.gpuMemoryMax,
  };
}

/** The processes that prepare texts for an embedder. */
export function preparerFor({ tokenizer, chunkTokens }: EmbedderDescription, log: Log) {
  const processesMax = preparationCountFor(machineShare());
  return createPreparationProcess({ tokenizer, chunkTokens, processesMax, log });
}

/** Starts the preparation process without models. @throws ModelFilesError if the default embedder is not installed */
export function startPreparation(
  { config, log }: { readonly config: Config; readonly log: Log },
  closers: Closers,
): { readonly preparer: Preparer; readonly embedders: InstalledEmbedders } {
  const catalogue = catalogueOf(config);
  const identityOf = (id: string) => {
    const found = embedderOf(catalogue, id);
    return { id, dimensions: found.dimensions, fingerprint: fingerprintOf(found) };
  };
  const preparer = preparerFor(embedderOf(catalogue, config.embedder), log);
  closers.add(() => preparer.close());
  const ids = [...catalogue.embedders.keys()].sort();
  const all = ids.map(identityOf);
  const withFingerprint = (fingerprint: string) => all.find((each) => each.fingerprint === fingerprint) ?? null;
  return { preparer, embedders: { default: identityOf(config.embedder), ids, get: identityOf, withFingerprint } };
}
