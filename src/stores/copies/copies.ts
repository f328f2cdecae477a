// Exports, imports, copies, checks and repairs of the stores of record, on both databases.

import { EXPORT_FORMAT, EXPORT_VERSION, type ExportHeader, type ExportRecord } from "../../domain/project-export.ts";
import type { FilledPart, StoreSummary } from "../../domain/store-copy.ts";
import type { OnVerifyProgress, Verification } from "../../domain/verification.ts";
import { isoTime } from "../../kit/clock.ts";
import { VERSION } from "../../kit/version.ts";
import type { VectorReader } from "../../ports/vector-reader.ts";
import { ProjectExport } from "./export.ts";
import { type ImportedProject, type ImportTarget, importProject } from "./import.ts";
import { partsOf } from "./parts.ts";
import { type Repaired, type RepairedStores, repair } from "./repair.ts";
import { type StoreSnapshot, summaryOf } from "./snapshot.ts";
import { compareStores, defectsOf } from "./verification.ts";

/** Stores that are copied. */
export interface CopiedStores extends ImportTarget, RepairedStores {
  /** @throws Fault `invalid_state` if the index cannot be part of a copy */
  readonly takeSnapshot: (withIndex?: boolean) => Promise<StoreSnapshot>;
  /** Names of the uploaded files that should belong to a memory. */
  readonly uploadNames: () => Promise<readonly string[]>;
  /** Compares the pages of the database file with their checksums; null if the stores have no such file. */
  readonly comparePages:
    | ((
        onProgress: (done: number, total: number) => void,
      ) => Promise<{ readonly pages: number; readonly damaged: readonly number[] }>)
    | null;
}

/** Copies data out of the stores and back into them, checks and repairs them. */
export class StoreCopies {
  constructor(private readonly stores: CopiedStores) {}

  /**
   * The lines of an export, each with its line end. All of them have the state of the project at one moment.
   * @param named id or name of the project; null: the default project
   * @param vectors null: the export has no vectors
   * @throws Fault `project_not_found`, or `invalid_request` for the name of several projects; ExportError if the text
   *   of a memory is missing, or a file is missing or damaged
   */
  async *export(named: string | null, vectors: VectorReader | null): AsyncGenerator<string> {
    const now = this.stores.clock.now();
    await using snapshot = await this.stores.takeSnapshot();
    const project = await ProjectExport.open(snapshot, vectors, named, now);
    const header: ExportHeader = {
      ...{ type: "header", format: EXPORT_FORMAT, version: EXPORT_VERSION, mneme: VERSION },
      ...{ exported_at: isoTime(now), counts: await project.counts() },
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
  }

  /**
   * A copy of all stores at one moment: what it contains, and its parts. Read the parts to their end, or call their
   * `return`.
   * @param withIndex whether the copy contains the index, so that a restore need not compute it again
   * @throws Fault `invalid_state` if the index cannot be part of it
   */
  async copy(withIndex: boolean): Promise<StoreCopy> {
    return copyOf(await this.stores.takeSnapshot(withIndex), this.stores.clock.now());
  }

  /** Compares the pages of the database file, then rows, texts and uploaded files at one moment. Changes nothing. */
  async verify(onProgress: OnVerifyProgress): Promise<Verification> {
    const compared = await this.stores.comparePages?.((done, total) => onProgress("pages", done, total));
    const { pages, damaged } = compared ?? { pages: 0, damaged: [] };
    const { counts, found } = await this.#compare(onProgress);
    const ofPages = damaged.map((page) => ({ kind: "damaged_page" as const, example: String(page) }));
    const defects = defectsOf([...ofPages, ...found]);
    return { is_sound: defects.length === 0, pages, ...counts, defects };
  }

  /**
   * Repairs the defects of rows, texts and uploaded files that `verify` finds. Data that cannot be computed again is
   * moved to the quarantine.
   */
  async repair(onProgress: OnVerifyProgress): Promise<Repaired> {
    const { found } = await this.#compare(onProgress);
    return repair(this.stores, found);
  }

  /**
   * Stores the records of an export as a new project, completely or not at all.
   * @throws ExportError if the records cannot be stored
   */
  import(records: AsyncIterable<ExportRecord>): Promise<ImportedProject> {
    return importProject(this.stores, records);
  }

  async #compare(onProgress: OnVerifyProgress): ReturnType<typeof compareStores> {
    const uploads = await this.stores.uploadNames();
    await using snapshot = await this.stores.takeSnapshot();
    return await compareStores(snapshot, uploads, (done, total) => onProgress("texts", done, total));
  }
}

/** A copy of stores. */
export interface StoreCopy {
  readonly summary: StoreSummary;
  readonly parts: AsyncGenerator<FilledPart>;
}

/** Makes a copy from a snapshot. Closes the snapshot after the last part was read. */
export async function copyOf(snapshot: StoreSnapshot, now: number): Promise<StoreCopy> {
  try {
    return { summary: await summaryOf(snapshot, now), parts: closing(snapshot) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

async function* closing(snapshot: StoreSnapshot): AsyncGenerator<FilledPart> {
  try {
    yield* partsOf(snapshot);
  } finally {
    await snapshot.close();
  }
}

function lineOf(line: object): string {
  return `${JSON.stringify(line)}\n`;
}
