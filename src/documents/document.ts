// Defines what the readers of all formats return: text, title, and the pages, slides or sheets that the text comes
// from.

/** The result of reading a file: readable Markdown, and the places that its parts come from. */
export interface ReadDocument {
  /**
   * Their concatenation is the text: at least one visible character, no NUL, no lone surrogate. Pieces avoid a second
   * copy of a large text in memory.
   */
  readonly pieces: readonly string[];
  /** The title in the file's own properties; null: taken from the text later. */
  readonly title: string | null;
  /** Ascending by `at`; each mark is valid up to the next one. */
  readonly marks: readonly PlaceMark[];
}

/** From `at` on (UTF-16 code units of the text), the text comes from this page, slide or sheet. */
export interface PlaceMark {
  readonly at: number;
  readonly page?: number;
  readonly slide?: number;
  readonly sheet?: string;
}

/** Message for a file behind a password. */
export const ENCRYPTED = "The file is encrypted. Upload it without a password.";
