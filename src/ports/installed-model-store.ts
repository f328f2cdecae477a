// The models that an operator added to a deployment, local and remote ones. The files of a local one are on each node
// (model-files.ts); this store says which models there are and what was found out about them. Implemented by stores/,
// on SQLite and on PostgreSQL.
//
// Obligations of an implementation:
// - Each method is one transaction, or part of the transaction that its store belongs to (transactions.ts).
// - Ids are unique. Models are listed in the order in which they were added.
// - A model has at most one calibration. `askCalibration` gives it a new number, which grows. `noteCalibration` and
//   `finishCalibration` name the key of the model and the number, and do nothing for one that has ended, was cancelled
//   or replaced, or whose model was deleted, also if another model has its id now.

import type { CalibrationJob } from "../domain/calibration.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { AddedModel, FittedTunings, ModelProperties } from "../domain/installed-model.ts";
import type { CursorBinding } from "../domain/page.ts";

/** A model to add. */
export type NewModel = Omit<AddedModel, "key" | "createdAt" | "tunings" | "calibrationJob">;

/** A change of a model. A field that is absent stays unchanged. */
export type ModelUpdate = Partial<
  ModelProperties & Pick<AddedModel, "task" | "status" | "progress" | "error" | "remote">
>;

/** The models that were added. */
export interface InstalledModelStore {
  /** All models. Their number is limited (`LIMITS.installedModels`). */
  list(): Promise<readonly AddedModel[]>;
  /** Returns null if there is no such model. */
  get(id: string): Promise<AddedModel | null>;
  /** @throws Fault `invalid_state` if the id is in use; `invalid_request` if there are too many models */
  add(model: NewModel): Promise<AddedModel>;
  /** Returns false if there is no such model. */
  change(id: string, update: ModelUpdate): Promise<boolean>;
  /**
   * Removes a model, and the curves of other models for use with it: a later model can get its id. Returns false if
   * there is no such model.
   */
  remove(id: string): Promise<boolean>;
  /**
   * Asks for a calibration, in place of an earlier one.
   * @param projectId project whose texts are stored beside the judged samples; null: none
   * @returns false if there is no such model
   */
  askCalibration(id: string, projectId: ProjectId | null): Promise<boolean>;
  /** Stores how far a calibration is, or why it failed. Returns whether it is still the one that is wanted. */
  noteCalibration(key: bigint, job: CalibrationJob): Promise<boolean>;
  /** Ends a calibration: these curves hold now, beside those for other models. Returns what `noteCalibration` does. */
  finishCalibration(key: bigint, number: number, fitted: FittedTunings): Promise<boolean>;
  /** Cancels a calibration, or forgets why it failed. Returns false if there is none. */
  cancelCalibration(id: string): Promise<boolean>;
  /** Binding of cursors to the list of models of a task, or of all. */
  cursorBinding(task: string | null): Promise<CursorBinding>;
}
