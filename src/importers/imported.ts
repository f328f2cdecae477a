// What an importer makes of an export: memories, and notes on what cannot come along. Each file of this folder reads
// the exports of one product; importers.ts lists them.

import type { JsonRecord } from "../kit/record.ts";

/** A memory from an export. */
export interface ImportedMemory {
  readonly kind: "memory";
  /** Where the export has it, such as `results, item 3 at byte 120`. */
  readonly place: string;
  /** Body of createMemory. */
  readonly memory: JsonRecord;
  /** Fields of the source that came along, as `source field → field of the memory`. */
  readonly mapped: readonly string[];
  /** Fields of the source with a value that a memory has no place for. */
  readonly unplaced: readonly string[];
  /** Marks of what this record replaced in the source; see `replacedAs`. */
  readonly replaces?: readonly string[];
  /**
   * Mark of this record if it was replaced in the source: the record whose `replaces` contains it did so. null:
   * replaced by an unknown record. Absent: not replaced.
   */
  readonly replacedAs?: string | null;
  /** Reason to report if the record that replaced this one is not in the export. Present together with `replacedAs`. */
  readonly replacedWhy?: string;
}

/** Something in an export that becomes no memory. */
export interface NotImported {
  /** `skipped`: left out on purpose. `damaged`: should have come, but cannot be read. */
  readonly kind: "skipped" | "damaged";
  readonly place: string;
  /** For skipped ones, a phrase that is the same for all of its sort, because they are counted by it. */
  readonly why: string;
}

/** What an importer finds, in the order of the export. */
export type Found = ImportedMemory | NotImported;

/** A record of an export, or a problem at its place. */
export type SourceRecord =
  | {
      readonly kind: "record";
      readonly place: string;
      /** Name of the list that has the record; null if the export is a list, or one record per line. */
      readonly list: string | null;
      readonly value: unknown;
    }
  | NotImported;

/** The reader of a product's exports. */
export interface Importer {
  /** What the file or address has to be, for messages. */
  readonly expects: string;
  /** Names of the lists in an export that is one JSON object. */
  readonly lists: readonly string[];
  /** Names of the files that are read in a folder or ZIP archive. */
  readonly files: RegExp;
  /** What a record becomes. */
  readonly read: (record: Extract<SourceRecord, { kind: "record" }>) => Iterable<Found>;
  /** How the product's own server is read; null if it has no documented API for that. */
  readonly server: SourceServer | null;
}

/** How a product's server is read. */
export interface SourceServer {
  /** Variable of the environment with the API key. */
  readonly keyVariable: string;
  /** Value of the header `Authorization` for a key. */
  readonly authorization: (key: string) => string;
  /** All records of the server, page by page. */
  readonly records: (call: CallSource) => AsyncGenerator<SourceRecord>;
}

/**
 * Sends a request to a product's server and returns the JSON of its answer.
 * @param path with query, after the base address
 * @throws SourceError if the server refuses, does not answer, or answers with something else than JSON
 */
export type CallSource = (method: "GET" | "POST", path: string, body?: unknown) => Promise<JsonRecord>;

/** A product's server refused a request, could not be reached, or gave an answer that cannot be read. */
export class SourceError extends Error {
  override readonly name = "SourceError";

  constructor(
    /** Status of the response; null if there was none. */
    readonly status: number | null,
    message: string,
  ) {
    super(message);
  }
}
