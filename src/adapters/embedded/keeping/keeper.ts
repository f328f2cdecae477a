// Copies data out of the stores and back into them: exports and imports of projects.

import type { ProjectId } from "../../../domain/ids.ts";
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRecord,
} from "../../../domain/project-export.ts";
import type { FilledPart, StoreSummary } from "../../../domain/store-copy.ts";
import type { OnVerifyProgress, Verification } from "../../../domain/verification.ts";
import { isoTime } from "../../../kit/clock.ts";
import { VERSION } from "../../../kit/version.ts";
import { type Snapshot, type SnapshotParts, takeSnapshot } from "../snapshot.ts";
import type { SqliteStores } from "../sqlite/stores.ts";
import { type Mended, type MendingParts, mend } from "./mending.ts";
import { ProjectExport } from "./project-export.ts";
import { type ImportParts, ProjectImport } from "./project-import.ts";
import { partsOf, summaryOf } from "./store-parts.ts";
import { compareStores, defectsOf, type StoreComparison } from "./verification.ts";

/** What a keeper needs. */
export type KeeperParts = SnapshotParts & ImportParts & MendingParts & { readonly stores: SqliteStores };

/** Exports and imports projects of the stores of one data directory. */
export class Keeper {
  readonly #parts: KeeperParts;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /**
   * The lines of an export, each with its line end. All of them show the project at one moment.
   * @param projectId null: the default project
   * @throws Fault `project_not_found`; StoreError if a store cannot be read
   */
  async *export(projectId: string | null): AsyncGenerator<string> {
    const now = this.#parts.clock.now();
    const snapshot = await takeSnapshot(this.#parts);
    try {
      const project = new ProjectExport(snapshot, projectId, now);
      const header: ExportHeader = {
        ...{ type: "header", format: EXPORT_FORMAT, version: EXPORT_VERSION, mneme: VERSION },
        ...{ exported_at: isoTime(now), counts: project.counts() },
      };
      yield lineOf(header);
      const hash = new Bun.CryptoHasher("sha256");
      let lines = 0;
      for await (const record of project.records()) {
        const line = lineOf(record);
        hash.update(line);
        lines += 1;
        yield line;
      }
      yield lineOf({ type: "end", lines, sha256: hash.digest("hex") });
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
    return mend(this.#parts, found);
  }

  async #compare(onProgress: OnVerifyProgress): Promise<StoreComparison> {
    const uploads = await this.#parts.files.names(0);
    const snapshot = await takeSnapshot(this.#parts);
    try {
      return await compareStores(snapshot, uploads, (done, total) => onProgress("texts", done, total));
    } finally {
      await snapshot.close();
    }
  }

  /**
   * Stores the records of an export as a new project, completely or not at all.
   * @throws ExportError if the records cannot be stored, with the number of the record
   */
  async import(
    records: AsyncIterable<ExportRecord>,
  ): Promise<{ readonly projectId: ProjectId; readonly records: number }> {
    const importing = new ProjectImport(this.#parts);
    try {
      for await (const record of records) await importing.add(record);
      return await importing.finish();
    } catch (error) {
      await importing.giveUp();
      throw error;
    }
  }
}

async function* closing(parts: AsyncGenerator<FilledPart>, snapshot: Snapshot): AsyncGenerator<FilledPart> {
  try {
    yield* parts;
  } finally {
    await snapshot.close();
  }
}

function lineOf(record: ExportHeader | ExportRecord | ExportEnd): string {
  return `${JSON.stringify(record)}\n`;
}
