// The models whose files are on this node: those that ship with the program, and those that were added. lanes.ts runs
// them.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AddedModel } from "../../domain/installed-model.ts";
import type { BuiltInModel, FoundModel, LocalModels } from "../../ports/models.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import {
  type AnyModelDescription,
  type EmbedderDescription,
  type ModelCatalogue,
  type ModelDescription,
  manifestPath,
  type RerankerDescription,
  readAddableFolder,
} from "./model-files.ts";
import { embedderOn, type Read, type RunEmbedder, readerOn, rerankerOn, type Score } from "./model-registries.ts";
import { readTextReferences } from "./text-references.ts";

/** What `localModels` needs besides the catalogue: where added models are, and how models are run. */
interface LocalModelOptions {
  /** Folder of the models that were added; null: there is none. */
  readonly installedDir: string | null;
  readonly defaultId: string;
  readonly runEmbedder: RunEmbedder;
  readonly score: Score;
  readonly read: Read;
  /** Called when a model that was added is opened. */
  readonly onOpen: (model: ModelDescription) => void;
}

/** The models of this node. @param catalogue the built-in models, and the default embedder if it was added */
export function localModels(catalogue: ModelCatalogue, options: LocalModelOptions): LocalModels {
  const { installedDir, defaultId } = options;
  const embedders = [...catalogue.embedders.values()].sort(
    (left, right) => Number(right.id === defaultId) - Number(left.id === defaultId),
  );
  const builtIn = [...embedders, ...catalogue.rerankers.values(), ...catalogue.readers.values()].filter(
    ({ modelPath }) => modelPath.startsWith(catalogue.folder),
  );
  const builtInById = new Map(builtIn.map((model) => [model.id, toFound(model, options)]));
  return {
    builtIn: builtIn.map(toBuiltIn),
    builtInModel: (id) => builtInById.get(id) ?? null,
    open: (added) => {
      const model = readAddedModel(installedDir, added);
      options.onOpen(model);
      return toFound(model, options);
    },
  };
}

/**
 * Reads the manifest of a model that was added.
 * @throws ModelFilesError if its files are not on this node, or are not those that were added
 */
export function readAddedModel(
  installedDir: string | null,
  { id, manifestSha256 }: Pick<AddedModel, "id" | "manifestSha256">,
): EmbedderDescription | RerankerDescription {
  const folder = installedDir === null ? null : join(installedDir, id);
  if (folder === null || !existsSync(manifestPath(folder))) {
    throw new ModelFilesError(`The files of the model ${id} are not on this node: add the model here too.`);
  }
  if (manifestSha256 !== null && manifestSha256 !== sha256OfManifest(folder)) {
    throw new ModelFilesError(`The files of the model ${id} on this node are not those that were added.`);
  }
  return readAddableFolder(folder);
}

/** SHA-256 of the manifest in a folder, in hexadecimal digits. */
export function sha256OfManifest(folder: string): string {
  return createHash("sha256")
    .update(readFileSync(manifestPath(folder)))
    .digest("hex");
}

/** Describes a model and what runs it. Its file of references is read only when `references` is read. */
function toFound(model: AnyModelDescription, { runEmbedder, score, read }: LocalModelOptions): FoundModel {
  const width = model.kind === "embedder" ? model.dimensions : 1;
  const common = {
    get references() {
      return readTextReferences(model.referencePath, width);
    },
  };
  if (model.kind === "reranker")
    return Object.assign(common, { task: "rerank" as const, reranker: rerankerOn(model, score) });
  if (model.kind === "reader") return Object.assign(common, { task: "read" as const, reader: readerOn(model, read) });
  const embedder = embedderOn(model, runEmbedder);
  return Object.assign(common, { task: "embed" as const, embedder, reranker: model.reranker });
}

/** Describes a model that ships with the program. */
export function toBuiltIn(model: AnyModelDescription): BuiltInModel {
  const { id, tokensMax, languages, licence } = model;
  return {
    id,
    task: model.kind === "reader" ? "read" : taskOf(model),
    dimensions: model.kind === "embedder" ? model.dimensions : null,
    ...{ tokensMax, languages, licence },
  };
}

/** The task of an embedder or reranker. */
export function taskOf({ kind }: Pick<EmbedderDescription | RerankerDescription, "kind">): AddedModel["task"] {
  return kind === "embedder" ? "embed" : "rerank";
}
