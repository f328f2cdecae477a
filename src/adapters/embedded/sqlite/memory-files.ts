// Which files belong to which memories: a memory whose text was not read yet refers to one in the column `source`. Where files
// lie is the business of the port; when they come and go follows the rows.

import { createHash } from "node:crypto";
import { invariant } from "../../../domain/fault.ts";
import type { MemorySource, ReceivedFile } from "../../../domain/memory.ts";
import type { DocumentFile } from "../../../ports/document-reader.ts";
import type { UploadFiles } from "../../../ports/upload-files.ts";
import type { SqliteDatabase } from "./database.ts";
import type { ContentMarks } from "./memory-change.ts";
import { type MemoryRow, type StoredSource, storedSource } from "./memory-row.ts";

/** Names that one statement asks for: a list of them all would be megabytes where many files wait. */
const STEP_FILES = 500;

// a name begins with the id of its memory, which has no hyphen
const LOOSE = `SELECT value AS name FROM json_each($names) WHERE NOT EXISTS (
    SELECT 1 FROM memories WHERE memories.id = substr(value, 1, instr(value, '-') - 1)
      AND json_extract(memories.source, '$.file') = value)`;

/** Keeps the files of memories, and lets them go. */
export class MemoryFiles {
  constructor(
    private readonly database: SqliteDatabase,
    /** null: this store takes no uploads. */
    private readonly files: UploadFiles | null,
  ) {}

  /**
   * Keeps a file for this version of a memory, within the transaction that makes the version; returns what the column
   * `source` then holds. Where the transaction is undone the file is loose.
   * @throws Fault `overloaded` when the disk is full
   */
  keep(upload: ReceivedFile, memoryId: string, version: number): string {
    const file = `${memoryId}-${version}`;
    this.#port().keep(upload.path, file);
    const stored: StoredSource = { ...upload.source, file };
    return JSON.stringify(stored);
  }

  /** The file that is to be read for a memory; null: none. */
  documentOf(row: MemoryRow): DocumentFile | null {
    const source = storedSource(row);
    if (source?.file === undefined) return null;
    return {
      path: this.#port().pathOf(source.file),
      bytes: source.bytes,
      filename: source.filename,
      mediaType: source.media_type,
    };
  }

  /** Lets go of the file that a row refers to, once the transaction under way is durable. */
  release(row: Pick<MemoryRow, "source">): void {
    const file = storedSource(row)?.file;
    if (file !== undefined) this.database.afterCommit(() => this.#port().remove(file));
  }

  /** See MemoryStore.removeLooseFiles. */
  removeLoose(): number {
    const names = this.files?.names() ?? [];
    let removed = 0;
    for (let first = 0; first < names.length; first += STEP_FILES) {
      const loose = this.database
        .prepare<{ name: string }, { names: string }>(LOOSE)
        .all({ names: JSON.stringify(names.slice(first, first + STEP_FILES)) });
      for (const { name } of loose) this.#port().remove(name);
      removed += loose.length;
    }
    return removed;
  }

  #port(): UploadFiles {
    invariant(this.files, "a file was stored where none can be");
    return this.files;
  }
}

/** The marks of a file: never those of a text, and others where the same bytes would be read in another way. */
export function marksOfFile({ sha256, source }: ReceivedFile): ContentMarks {
  return {
    contentBytes: source.bytes,
    contentSha256: createHash("sha256").update(sha256).update(source.media_type).digest(),
  };
}

/** What the column `source` holds once the file was read. */
export function readSource(row: Pick<MemoryRow, "source">): string | null {
  const source = storedSource(row);
  if (source === null) return null;
  const { filename, media_type, bytes } = source;
  const read: MemorySource = { filename, media_type, bytes };
  return JSON.stringify(read);
}
