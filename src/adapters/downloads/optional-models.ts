// The models that are not part of the program: data/models/optional.json has their addresses, checksums and licences.
// Nothing here uses the network; pull.ts does, when a person asks for it.

import { statSync } from "node:fs";
import { join } from "node:path";
import list from "../../../data/models/optional.json";

/** A file that is downloaded. */
export interface Download {
  /** null: it is a file of the release (scripts/release.ts), which has no public address. */
  readonly url: string | null;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** A file of a model. */
export interface ModelFile {
  /** Name in the folder of the model. */
  readonly name: string;
  /** Name in the archive. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** A model that can be installed. */
export interface OptionalModel {
  /** Name on the command line. */
  readonly id: string;
  /** Name of its folder below a folder of models. */
  readonly folder: string;
  readonly name: string;
  /** SPDX name. */
  readonly licence: string;
  /** ZIP archive with the files. */
  readonly archive: Download;
  readonly files: readonly ModelFile[];
}

/** All models that can be installed. */
export const OPTIONAL_MODELS: readonly OptionalModel[] = list;

/** The model with this id; null if there is none. */
export function optionalModel(id: string): OptionalModel | null {
  return OPTIONAL_MODELS.find((model) => model.id === id) ?? null;
}

/** The folder to which models are downloaded: below the data directory, because new versions keep it. */
export function downloadedModels(dataDir: string): string {
  return join(dataDir, "models");
}

/**
 * The folder of an installed model: the first of these folders of models that has all its files in the right size; null
 * if none has.
 */
export function installedFolder(model: OptionalModel, modelsDirs: readonly string[]): string | null {
  const isComplete = (folder: string) =>
    model.files.every(({ name, bytes }) => statSync(join(folder, name), { throwIfNoEntry: false })?.size === bytes);
  return modelsDirs.map((directory) => join(directory, model.folder)).find(isComplete) ?? null;
}
