// Copies data out of the stores and back into them: exports and imports of projects.

import type { ProjectId } from "../../../domain/ids.ts";
import type { ExportRecord } from "../../../domain/project-export.ts";
import type { FilledPart, StoreSummary } from "../../../domain/store-copy.ts";
import type { OnVerifyProgress, Verification } from "../../../domain/verification.ts";
import type { Mended, StoreKeeper, VectorReader } from "../../../ports/store-keeper.ts";
import { exportLines } from "../../../stores/rows/keeping/export-lines.ts";
import { type MendingParts, mend } from "../../../stores/rows/keeping/mending.ts";
import { type ImportParts, importProject } from "../../../stores/rows/keeping/project-import.ts";
import { compareStores, defectsOf, type StoreComparison } from "../../../stores/rows/keeping/verification.ts";
import { HIDDEN } from "../../../stores/sqlite/project-rows.ts";
import type { SqliteStores } from "../../../stores/sqlite/stores.ts";
import type { StoreQuarantine } from "../../../stores/store-quarantine.ts";
import type { Archive } from "../duckdb/archive.ts";
import { type Snapshot, type SnapshotParts, takeSnapshot } from "../snapshot.ts";
import { comparedStoresOf, exportSourceOf, writeRows } from "./row-access.ts";
import { partsOf, summaryOf } from "./store-parts.ts";

/** What a keeper needs. */
export type KeeperParts = SnapshotParts &
  Omit<ImportParts, "write" | "hidden"> &
  Pick<MendingParts, "clock"> & {
    readonly stores: SqliteStores;
    readonly archive: Archive;
    readonly quarantine: StoreQuarantine;
  };

/** Exports and imports projects of the stores of one data directory. */
export class Keeper implements StoreKeeper {
  readonly #parts: KeeperParts;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  async *export(projectId: string | null, vectors: VectorReader | null): AsyncGenerator<string> {
    const now = this.#parts.clock.now();
    const snapshot = await takeSnapshot(this.#parts);
    try {
      yield* exportLines(exportSourceOf(snapshot, vectors), projectId, now);
    } finally {
      await snapshot.close();
    }
  }

  /**
   * A copy of all stores at one moment: what it contains, and its parts. The parts have to be read to their end, or
   * returned.
   * @param withIndex whether the copy contains the index, so that a restore need not compute it again
   * @throws StoreError if a store cannot be read
   */
  async copy(
    withIndex: boolean,
  ): Promise<{ readonly summary: StoreSummary; readonly parts: AsyncGenerator<FilledPart> }> {
    const snapshot = await takeSnapshot(this.#parts, withIndex);
    try {
      const summary = await summaryOf(snapshot, this.#parts.clock.now());
      return { summary, parts: closing(partsOf(snapshot), snapshot) };
    } catch (error) {
      await snapshot.close();
      throw error;
    }
  }

  /**
   * Compares the pages of mneme.sqlite with their sums, then rows, texts and uploaded files at one moment. Changes
   * nothing.
   * @throws StoreError if a store cannot be read
   */
  async verify(onProgress: OnVerifyProgress): Promise<Verification> {
    const { pages, damaged } = await this.#parts.stores.comparePages((done, total) => onProgress("pages", done, total));
    const { counts, found } = await this.#compare(onProgress);
    const ofPages = damaged.map((page) => ({ kind: "damaged_page" as const, example: String(page) }));
    const defects = defectsOf([...ofPages, ...found]);
    return { is_sound: defects.length === 0, pages, ...counts, defects };
  }

  /**
   * Repairs what `verify` finds in rows, texts and uploaded files. What cannot be computed again goes to the
   * quarantine.
   * @throws StoreError if a store cannot be read or written
   */
  async repair(onProgress: OnVerifyProgress): Promise<Mended> {
    const { found } = await this.#compare(onProgress);
    const { stores, archive, files, quarantine, clock } = this.#parts;
    const parts = { write: writeRows(stores), memories: stores.memories, archive, files, quarantine, clock };
    const setFilesAside = async (names: readonly string[]) => {
      quarantine.move(...names.map((name) => files.pathOf(name)));
    };
    return mend({ ...parts, setFilesAside }, found);
  }

  async #compare(onProgress: OnVerifyProgress): Promise<StoreComparison> {
    const uploads = await this.#parts.files.names(0);
    const snapshot = await takeSnapshot(this.#parts);
    try {
      return await compareStores(comparedStoresOf(snapshot), uploads, (done, total) =>
        onProgress("texts", done, total),
      );
    } finally {
      await snapshot.close();
    }
  }

  import(records: AsyncIterable<ExportRecord>): Promise<{ readonly projectId: ProjectId; readonly records: number }> {
    return importProject({ ...this.#parts, write: writeRows(this.#parts.stores), hidden: () => HIDDEN }, records);
  }
}

async function* closing(parts: AsyncGenerator<FilledPart>, snapshot: Snapshot): AsyncGenerator<FilledPart> {
  try {
    yield* parts;
  } finally {
    await snapshot.close();
  }
}
