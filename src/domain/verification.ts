// Report of `mneme verify`: the places where the stores of a data directory are damaged or contradict each other, and
// what `--repair` did about them.

/**
 * A kind of defect.
 * - `missing_text`: a completed memory without a text
 * - `other_version`: a completed memory whose text is of another version
 * - `wrong_text`: a completed memory whose text has another size or hash than its row says
 * - `surplus_text`: a text without a memory
 * - `missing_upload`: a memory whose uploaded file is missing or has another size
 * - `surplus_upload`: an uploaded file without a memory
 * - `missing_original`: a memory whose kept original is missing
 * - `damaged_original`: a memory whose kept original has another content than was uploaded
 * - `stray_relation`: a relation with a deleted memory, or of memories of different users or agents
 * - `wrong_supersession`: a memory that its relations supersede but its row does not, or vice versa
 * - `lost_earlier_text`: an earlier text that neither its row nor the text archive has
 * - `damaged_page`: a page of mneme.sqlite has another content than was last written
 * - `unusable`: a store cannot be opened
 */
export type DefectKind =
  | "missing_text"
  | "other_version"
  | "wrong_text"
  | "surplus_text"
  | "missing_upload"
  | "surplus_upload"
  | "missing_original"
  | "damaged_original"
  | "stray_relation"
  | "wrong_supersession"
  | "lost_earlier_text"
  | "damaged_page"
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
  readonly pages: number;
  readonly memories: number;
  readonly texts: number;
  readonly uploads: number;
  readonly defects: readonly Defect[];
  /** Defects of the indexes; absent if a store cannot be opened. */
  readonly index?: readonly IndexDefect[];
  /** What was done about defects; absent if no repair was asked for. The other fields show the state after that. */
  readonly repairs?: readonly Repair[];
}

/** What a repair did about the defects of one kind. */
export interface Repair {
  readonly kind: string;
  readonly count: number;
  readonly is_repaired: boolean;
  /** A sentence: what was done, or which command helps. */
  readonly detail: string;
}

/** What is being checked. */
export type VerifyPhase = "pages" | "texts" | "index";

/** An event of a running check. The last one is the report. */
export type VerifyEvent =
  | { readonly type: "progress"; readonly phase: VerifyPhase; readonly done: number; readonly total: number }
  | { readonly type: "report"; readonly report: Verification };

/** Receives the progress of a check. */
export type OnVerifyProgress = (phase: VerifyPhase, done: number, total: number) => void;

/** A defect of the index of a project. Everything in it can be built again. */
export interface IndexDefect {
  readonly project: string;
  readonly kind: string;
  readonly count: number;
  readonly detail: string;
}
