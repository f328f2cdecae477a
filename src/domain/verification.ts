// Report of `mneme verify`: the places where the stores of a data directory contradict each other.

/**
 * A kind of defect.
 * - `missing_text`: a completed memory without a text
 * - `other_version`: a completed memory whose text is of another version
 * - `wrong_text`: a completed memory whose text has another size or hash than its row says
 * - `surplus_text`: a text without a memory
 * - `missing_upload`: a memory whose uploaded file is missing or has another size
 * - `surplus_upload`: an uploaded file without a memory
 * - `unusable`: a store cannot be opened
 */
export type DefectKind =
  | "missing_text"
  | "other_version"
  | "wrong_text"
  | "surplus_text"
  | "missing_upload"
  | "surplus_upload"
  | "unusable";

/** Defects of one kind. */
export interface Defect {
  readonly kind: DefectKind;
  readonly count: number;
  /** Ids of memories, names of files, or a sentence: at most `EXAMPLES_MAX`. */
  readonly examples: readonly string[];
}

/** Maximum number of examples of a kind of defect. */
export const EXAMPLES_MAX = 10;

/** The report. */
export interface Verification {
  readonly is_sound: boolean;
  /** Numbers of what was compared. */
  readonly memories: number;
  readonly texts: number;
  readonly uploads: number;
  readonly defects: readonly Defect[];
  /** Defects of the indexes; absent if no server has them open. */
  readonly index?: readonly IndexDefect[];
}

/** A defect of the index of a project. Everything in it can be built again. */
export interface IndexDefect {
  readonly project: string;
  readonly kind: string;
  readonly count: number;
  readonly detail: string;
}
