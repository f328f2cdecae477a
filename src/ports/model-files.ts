// The files of the models that are added to this node. Implemented by adapters/installation.
//
// Obligations of an implementation:
// - The files of a model appear together, when all of them are there. A process that ends in the middle leaves nothing
//   that could be taken for a model.
// - What was refused or failed is one sentence for the operator, and names no path outside of the folders of models.

import type { AddedTask, DownloadProgress, ModelProperties } from "../domain/installed-model.ts";
import type { JsonRecord } from "../kit/record.ts";

/** Where a model comes from. */
export interface ModelOrigin {
  readonly id: string;
  /** Folder, address of an archive, or `hub:OWNER/NAME`. */
  readonly source: string;
  /** Expected SHA-256 of an archive, in hexadecimal digits; null: not given. */
  readonly sha256: string | null;
  /** Fields of the manifest, which override what the files say. Default: none. */
  readonly manifest?: JsonRecord;
}

/** What the files of a model say. */
export interface InstalledFiles extends ModelProperties {
  readonly task: AddedTask;
}

/** The files of models on this node. */
export interface ModelFiles {
  /** The id for a model of this source: the last part of its name. @throws Fault `invalid_request` if there is none */
  idFor(source: string): string;
  /**
   * Refuses a source that cannot be used, without downloading anything.
   * @throws Fault `invalid_request` with the parameter `source`
   */
  check(source: string): Promise<void>;
  /**
   * Brings the files of a model to this node.
   * @throws Error with a sentence for the operator
   */
  install(
    origin: ModelOrigin,
    onProgress: (progress: DownloadProgress) => void,
    signal: AbortSignal,
  ): Promise<InstalledFiles>;
  /**
   * Deletes the files of a model; does nothing if there are none, or if the folder of the model is itself its source,
   * which belongs to the operator.
   */
  remove(model: Pick<ModelOrigin, "id" | "source">): Promise<void>;
}
