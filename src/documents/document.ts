// Defines what the readers of all formats return: text, title, and the pages, slides or sheets that the text comes
// from.

import type { DocumentPlace } from "../domain/chunk.ts";
import { counted } from "../kit/counted.ts";
import type { DocumentPart } from "../ports/document-reader.ts";

/**
 * The result of reading a file: readable Markdown, and for each part of it the page, slide or sheet that it comes from.
 */
export interface ReadDocument {
  /**
   * The text in pieces, which avoid a second copy of a large text in memory. Concatenated, they have at least one
   * visible character, no NUL and no lone surrogate.
   */
  readonly pieces: readonly string[];
  /** The title in the properties of the file; null if it has none: then preparation extracts a title from the text. */
  readonly title: string | null;
  /** Sorted by `at`. Each mark applies to the text up to the next mark. */
  readonly marks: readonly PlaceMark[];
  /** What was not read, and why, as sentences for the uploader. Absent: nothing. */
  readonly warnings?: readonly string[];
  /** The files in it. Absent: none, or they were not read. */
  readonly parts?: readonly DocumentPart[];
}

/**
 * Marks where a page, slide, sheet or other place begins in the text: at `at`, in UTF-16 code units. A mark that has
 * only `cells` belongs to the sheet of the mark before it. After a mark with `line`, the number of a line in the file
 * is `line` plus the number of lines before it in the text.
 */
export interface PlaceMark extends DocumentPlace {
  readonly at: number;
}

/** Message for a file that is protected by a password. */
export const ENCRYPTED = "The file is encrypted. Upload it without a password.";

/**
 * The subject and verb of a warning about things that were not read: `1 picture was`, `3 pictures of outputs were`.
 * @param where what follows the noun; empty if nothing does
 */
export function countWere(count: number, noun: string, where = ""): string {
  return `${counted(count, noun)}${where === "" ? "" : ` ${where}`} ${count === 1 ? "was" : "were"}`;
}

/** Warnings about charts, sheets and other objects of other programs that a file contains; none if there are none. */
export function embeddedWarnings(objects: number): readonly string[] {
  return objects === 0 ? [] : [`${countWere(objects, "embedded object")} not read, such as a chart or a sheet.`];
}

/** Message for a file without a visible character. */
export const NO_TEXT = "The file holds no text.";
