// Makes the stores of an empty folder from the parts of a copy (domain/store-copy.ts).

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type FilledPart, STORE_COPY_VERSION, type StoreSummary } from "../../../domain/store-copy.ts";
import type { Log } from "../../../kit/log.ts";
import { syncFolderNow } from "../../../kit/sync-folder.ts";
import { partsOf } from "../../../stores/copies/parts.ts";
import { decodeRow } from "../../../stores/copies/row-lines.ts";
import type { CopySink } from "../../../stores/copies/sink.ts";
import { MIGRATIONS } from "../../../stores/sqlite/migrations.ts";
import { PARTS, RestoringDatabase } from "../../../stores/sqlite/restoring.ts";
import { refuseNewerVersion, StoreError } from "../../../stores/store-error.ts";
import { DuckDatabase } from "../duckdb/database.ts";
import { MIGRATIONS as TEXT_MIGRATIONS } from "../duckdb/schema.ts";
import type { Cell } from "../duckdb/snapshot.ts";
import { EmbeddedSnapshot } from "./snapshot.ts";

/** Folder in a data directory that has the stores until the restore is complete. */
export const RESTORING = "restoring";
const ROWS_FILE = "mneme.sqlite";
const TEXTS_FILE = "memories.duckdb";
const INDEX_FOLDER = "projects";
/** What `finish` moves to its place, in this order: without mneme.sqlite, no server starts on the directory. */
const MOVED = [INDEX_FOLDER, "uploads", TEXTS_FILE, ROWS_FILE];
/** File in the folder that identifies the source of a copy that can be continued. */
const SOURCE_FILE = "source";

/**
 * Checks that no restore into this data directory was interrupted. @throws StoreError if one has begun, but not ended
 */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, RESTORING))) return;
  throw new StoreError(
    "damaged",
    `A restore into ${dataDir} has not ended: run mneme restore again, or remove ${join(dataDir, RESTORING)}.`,
  );
}

/** Writes the stores of one data directory. */
export class DirectoryWriter implements CopySink {
  /** Folders of files that were written; their names are not durable yet. */
  readonly #folders = new Set<string>();

  private constructor(
    private readonly dataDir: string,
    private readonly summary: StoreSummary,
    private readonly rows: RestoringDatabase,
    private readonly texts: DuckDatabase,
  ) {}

  /**
   * Begins in an empty data directory, or one in which a restore did not end.
   * @param resumed identifies a source whose parts are always the same: an unfinished copy of it is continued. Default:
   *   begins from the first part
   * @throws StoreError if a newer version of Mneme made the copy, or a file cannot be written
   */
  static async create(
    dataDir: string,
    summary: StoreSummary,
    log: Log,
    resumed: string | null = null,
  ): Promise<DirectoryWriter> {
    refuseNewerVersion("The backup", summary.version, STORE_COPY_VERSION);
    refuseNewerVersion("The backup", summary.rows_version, MIGRATIONS.length);
    refuseNewerVersion("The backup", summary.texts_version, TEXT_MIGRATIONS.length);
    const folder = join(dataDir, RESTORING);
    const source = join(folder, SOURCE_FILE);
    const isMoved = MOVED.some((name) => existsSync(join(dataDir, name)));
    const isResumed = resumed !== null && !isMoved && existsSync(source) && readFileSync(source, "utf8") === resumed;
    if (existsSync(folder) && !isResumed) {
      // removes what an unfinished restore has already moved to its place
      for (const name of MOVED) rmSync(join(dataDir, name), { recursive: true, force: true });
      rmSync(folder, { recursive: true });
    }
    mkdirSync(join(folder, "uploads"), { recursive: true, mode: 0o700 });
    if (resumed !== null && !isResumed) writeFileSync(source, resumed);
    const rows = new RestoringDatabase(join(folder, ROWS_FILE), summary.rows_version);
    const path = join(folder, TEXTS_FILE);
    const texts = await DuckDatabase.open({ path, log, schemaVersionMax: summary.texts_version });
    return new DirectoryWriter(dataDir, summary, rows, texts);
  }

  get partsDone(): number {
    return Number(this.rows.progressOf(PARTS) ?? 0);
  }

  /** Progress that `note` stored for `what`; null if there is none. */
  progressOf(what: string): string | null {
    return this.rows.progressOf(what);
  }

  /** Stores the progress of something besides the parts. */
  note(what: string, done: string): void {
    this.rows.note(what, done);
  }

  /** Folder for the indexes of all projects, which are moved with the stores if the copy has an index. */
  get indexFolder(): string {
    return join(this.dataDir, RESTORING, INDEX_FOLDER);
  }

  async endParts(): Promise<void> {}

  async *writtenParts(): AsyncGenerator<FilledPart> {
    const texts = await this.texts.snapshot();
    try {
      await texts.begin();
      const pathOf = (name: string) => join(this.dataDir, RESTORING, "uploads", name);
      const close = async () => undefined;
      yield* partsOf(new EmbeddedSnapshot({ rows: this.rows.database, texts, pathOf, index: [], close }));
    } finally {
      await texts.close();
    }
  }

  async write({ part, bytes }: FilledPart, number: number): Promise<void> {
    const done = String(number + 1);
    if (part.kind === "upload" || part.kind === "index") {
      const name = part.kind === "upload" ? `uploads/${part.name}` : `${INDEX_FOLDER}/${part.path}`;
      this.#writeFile(name, part.offset, bytes);
      this.rows.note(PARTS, done);
      return;
    }
    const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
    const values = lines.map(decodeRow);
    if (values.length !== part.rows)
      throw new Error(`a part of ${part.table} has ${values.length} rows, not ${part.rows}`);
    if (part.kind === "rows") {
      this.rows.insert(part.table, part.columns, values, done);
      return;
    }
    const columns = await this.#textColumns(part.table);
    if (columns.map(([name]) => name).join() !== part.columns.join()) {
      throw new Error(`the columns of the table ${part.table} are not those of the backup`);
    }
    const cells = values.map((row) => row.map((value, at) => toCell(value as Cell, columns[at]?.[1] ?? "")));
    const before = Number(this.rows.progressOf(part.table) ?? 0);
    // a process that was killed may have written the part without noting it
    if (before === 0 || (await this.#countOf(part.table)) !== before + part.rows) {
      await this.texts.write(async (writer) => {
        if (before === 0) await writer.run(`DELETE FROM ${part.table}`);
        await writer.append(part.table, cells);
      });
    }
    this.rows.noteAll({ [part.table]: String(before + part.rows), [PARTS]: done });
  }

  async #countOf(table: string): Promise<number> {
    const [row] = await this.texts.rows<readonly [bigint]>(`SELECT count(*)::UBIGINT FROM ${table}`);
    return Number(row?.[0] ?? 0n);
  }

  /**
   * Checks the stores and moves them to their places.
   * @throws StoreError `damaged` if they do not fit together; then nothing was moved
   */
  async finish(): Promise<void> {
    this.rows.finish();
    await this.#check();
    this.rows.close();
    await this.texts.close();
    const folder = join(this.dataDir, RESTORING);
    for (const written of this.#folders) syncFolderNow(written);
    const names = MOVED.filter((name) => name !== INDEX_FOLDER || existsSync(this.indexFolder));
    for (const name of names) renameSync(join(folder, name), join(this.dataDir, name));
    syncFolderNow(this.dataDir);
    rmSync(folder, { recursive: true });
    syncFolderNow(this.dataDir);
  }

  async abandon(): Promise<void> {
    this.rows.close();
    await this.texts.close();
  }

  #columns = new Map<string, readonly (readonly [string, string])[]>();

  async #textColumns(table: string): Promise<readonly (readonly [string, string])[]> {
    const known = this.#columns.get(table);
    if (known !== undefined) return known;
    const columns = await this.texts.rows<readonly [string, string]>(
      "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = $1 ORDER BY column_index",
      [table],
    );
    if (columns.length === 0) throw new Error(`the backup has an unknown table of texts, ${JSON.stringify(table)}`);
    this.#columns.set(table, columns);
    return columns;
  }

  #writeFile(name: string, offset: number, bytes: Uint8Array): void {
    const isPlain = name.split("/").every((step) => /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/.test(step));
    if (!isPlain) throw new Error(`${JSON.stringify(name)} is not the name of a file of Mneme`);
    const path = join(this.dataDir, RESTORING, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    for (let at = dirname(path); at.length >= join(this.dataDir, RESTORING).length; at = dirname(at))
      this.#folders.add(at);
    const file = openSync(path, offset === 0 ? "w" : "r+", 0o600);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, offset + at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /**
   * Compares the rows with the summary, and the texts with the rows: each memory has a text if it is completed, or if
   * it is indexed again and no newer text of it is waiting.
   */
  async #check(): Promise<void> {
    const { memories } = this.summary.counts;
    const found = this.rows.count("SELECT count(*) AS n FROM memories WHERE deleted_at IS NULL");
    if (found !== memories) throw incomplete(`it has ${found} memories, but should have ${memories}`);
    const [keys] = await this.texts.keyColumns("SELECT DISTINCT memory_key FROM texts ORDER BY memory_key");
    const texts = new Set(keys ?? []);
    const missing = this.rows.keys(
      `SELECT memory_key AS key FROM memories WHERE deleted_at IS NULL AND (status = 'completed' OR (is_reindexed = 1
         AND memory_key NOT IN (SELECT memory_key FROM waiting_contents)))`,
    );
    const lost = missing.filter((key) => !texts.has(key)).length;
    if (lost > 0) throw incomplete(`the texts of ${lost} memories are missing`);
  }
}

function incomplete(why: string): StoreError {
  return new StoreError("damaged", `The backup cannot be restored: ${why}. Restore an earlier one.`);
}

// Integers of a copy are bigint. A column of 32 bits takes a number.
function toCell(value: Cell, type: string): Cell {
  return typeof value === "bigint" && type === "UINTEGER" ? Number(value) : value;
}
