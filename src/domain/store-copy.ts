// A copy of all stores as a sequence of parts. The stores make and read parts (stores/copies); a backup keeps them
// (src/backup).

/** Version of the parts. A change that older readers misread is a new version. */
export const STORE_COPY_VERSION = 1;

/** What a copy contains. */
export interface StoreSummary {
  readonly version: number;
  /** Version of Mneme that made the copy. */
  readonly mneme: string;
  /** The moment that the copy shows, in ISO 8601. */
  readonly taken_at: string;
  /** Schema versions of the two databases. */
  readonly rows_version: number;
  readonly texts_version: number;
  readonly counts: {
    readonly projects: number;
    /** Memories that are not deleted. */
    readonly memories: number;
    readonly users: number;
    readonly chats: number;
    /** Uploaded files that have not been read yet. */
    readonly uploads: number;
  };
  /** Whether the index is part of it. */
  readonly has_index: boolean;
  /** Approximate size of the parts in bytes, for the progress. */
  readonly bytes_estimated: number;
}

/** What a part contains. Equal parts have equal bytes, so that a part that did not change is recognised by its hash. */
export type StorePart =
  | {
      readonly kind: "rows" | "texts";
      readonly table: string;
      readonly columns: readonly string[];
      /** Number of rows: lines, each a JSON array. */
      readonly rows: number;
    }
  | { readonly kind: "upload"; readonly name: string; readonly offset: number }
  /** Piece of a file of the index. `path` is relative to the folder of all projects, with `/`. */
  | { readonly kind: "index"; readonly path: string; readonly offset: number };

/** A part and its bytes. */
export interface FilledPart {
  readonly part: StorePart;
  readonly bytes: Uint8Array;
}

/** A table of rows in a copy. */
export interface TableLayout {
  readonly table: string;
  /** Names of all columns, in the order of a row. */
  readonly columns: readonly string[];
  /** Names of the columns by which rows are ordered: the primary key. */
  readonly keys: readonly string[];
  /** Whether the primary key is a number that is never used again. */
  readonly isNumbered: boolean;
}

/** The tables of rows of a copy, and the schema versions that it names. */
export interface StoreLayout {
  /** Parents come before the tables that refer to them. */
  readonly tables: readonly TableLayout[];
  readonly rowsVersion: number;
  readonly textsVersion: number;
  /** Maximum length of a piece of a text in UTF-16 code units. */
  readonly pieceCharactersMax: number;
}
