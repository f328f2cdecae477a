// All stores at one moment, for exports, backups, moves and checks. Implemented for the embedded stores
// (adapters/embedded/copies) and for PostgreSQL (stores/postgres/copies).

import { invariant } from "../../domain/fault.ts";
import { STORE_COPY_VERSION, type StoreSummary } from "../../domain/store-copy.ts";
import { isoTime } from "../../kit/clock.ts";
import { VERSION } from "../../kit/version.ts";
import type { Reader } from "../session.ts";
import type { RowValue } from "./row-lines.ts";

/** Size and hash of a stored text. */
export interface TextSum {
  readonly memoryKey: bigint;
  readonly version: bigint;
  /** Size in UTF-8 bytes. */
  readonly bytes: bigint;
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string;
}

/** A table of a copy. */
export interface CopiedTable {
  readonly kind: "rows" | "texts";
  readonly table: string;
  readonly columns: readonly string[];
  /** Columns whose values decide where a part ends (parts.ts). */
  readonly keys: readonly string[];
}

/** A file of the index, up to the size that it had. Later changes only append to it or replace it by another file. */
export interface IndexFile {
  /** Relative to the folder of all projects, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly pieces: () => AsyncIterable<Uint8Array>;
}

/** All stores as they were at one moment. */
export interface StoreSnapshot {
  readonly rows: Reader;
  /** The texts of published memories, by memory key. */
  contents(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>>;
  /** The largest memory key of a text; 0 if there are no texts. */
  lastText(): Promise<bigint>;
  /** The texts of memories with keys in a range. */
  texts(first: bigint, last: bigint): Promise<readonly TextSum[]>;
  /** The bytes of an uploaded file. */
  file(name: string): AsyncIterable<Uint8Array>;
  /** Size of an uploaded file in bytes; null if it is missing. */
  fileBytes(name: string): Promise<number | null>;
  /** The tables of a copy in their order: a table of rows comes after those that it refers to. */
  tables(): Promise<readonly CopiedTable[]>;
  /** The rows of a table, in the order of its keys. */
  rowsOf(table: CopiedTable): AsyncIterable<readonly RowValue[]>;
  /**
   * Names of the files that memories refer to, uploaded ones and originals, in ascending order, and the number of
   * memories whose uploaded file was not read yet.
   */
  uploads(): Promise<{ readonly names: readonly string[]; readonly memories: number }>;
  /** Schema versions of a copy, and its approximate size in bytes without the index. */
  size(): Promise<Pick<StoreSummary, "rows_version" | "texts_version" | "bytes_estimated">>;
  /** Files of the index; empty unless the index was asked for. */
  readonly index: readonly IndexFile[];
  /** Ends the snapshot. A second call does nothing. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const COUNTS = `SELECT (SELECT count(*) FROM projects WHERE deleted_at IS NULL) AS projects,
  (SELECT count(*) FROM memories WHERE deleted_at IS NULL) AS memories,
  (SELECT count(*) FROM users WHERE known_key IS NOT NULL) AS users,
  (SELECT count(*) FROM chats) AS chats`;

/** The summary of a copy of this snapshot. `now` is Unix milliseconds. */
export async function summaryOf(snapshot: StoreSnapshot, now: number): Promise<StoreSummary> {
  const { rows, index } = snapshot;
  const [counted] = await rows.all<Readonly<Record<"projects" | "memories" | "users" | "chats", bigint>>>(COUNTS);
  invariant(counted !== undefined, "a count returned no row");
  const { projects, memories, users, chats } = counted;
  const { bytes_estimated, ...versions } = await snapshot.size();
  return {
    ...{ has_index: index.length > 0, version: STORE_COPY_VERSION, mneme: VERSION, taken_at: isoTime(now) },
    ...versions,
    counts: {
      ...{ projects: Number(projects), memories: Number(memories), users: Number(users), chats: Number(chats) },
      uploads: (await snapshot.uploads()).memories,
    },
    bytes_estimated: bytes_estimated + index.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
