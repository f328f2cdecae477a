// What every reader of documents hands on: text, title, and where the parts of the text come from. How a format becomes
// that is the readers' business (pdf/, office/), what is made of the text that of prepare.ts.

/** What a reader makes of a file: Markdown that reads well, and where its parts come from. */
export interface ReadDocument {
  /** Put together they are the text; at least one visible character, no NUL, no lone surrogate. Pieces, so that a large text need not be held twice. */
  readonly pieces: readonly string[];
  /** The title that the file has beside its text (its properties); null: to be found in the text. */
  readonly title: string | null;
  /** Ascending by `at`; each holds from there to the next. */
  readonly marks: readonly PlaceMark[];
}

/** From this place in the text on (UTF-16 units), the text stands on this page, slide or sheet. */
export interface PlaceMark {
  readonly at: number;
  readonly page?: number;
  readonly slide?: number;
  readonly sheet?: string;
}
