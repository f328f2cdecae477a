// Exports, imports, copies, checks and repairs the data of the database. Nodes can run at the same time.

import { Fault } from "../../../domain/fault.ts";
import type { ProjectId } from "../../../domain/ids.ts";
import type { ExportRecord } from "../../../domain/project-export.ts";
import type { FilledPart, StoreLayout, StoreSummary } from "../../../domain/store-copy.ts";
import type { OnVerifyProgress, Verification } from "../../../domain/verification.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { MemoryStore } from "../../../ports/memory-store.ts";
import type { Mended, StoreKeeper, VectorReader } from "../../../ports/store-keeper.ts";
import type { TextArchive } from "../../../ports/text-archive.ts";
import type { UploadFiles } from "../../../ports/upload-files.ts";
import { exportLines } from "../../rows/keeping/export-lines.ts";
import { type LostThings, mend } from "../../rows/keeping/mending.ts";
import { type ImportParts, importProject } from "../../rows/keeping/project-import.ts";
import { compareStores, defectsOf, type StoreComparison } from "../../rows/keeping/verification.ts";
import type { Client } from "../client.ts";
import { readCopy } from "./copy-reader.ts";
import { comparedStoresOf, exportSourceOf, writeRows } from "./row-access.ts";
import { DatabaseSnapshot } from "./snapshot.ts";

/** Time in milliseconds after which an import that has stored nothing more counts as ended. */
const IMPORT_MS_MAX = 60 * 60_000;

const GIVE_UP = "UPDATE projects SET deleted_at = $now WHERE deleted_at < 0 AND deleted_at > $since";

/** What a keeper needs. */
export interface KeeperParts {
  readonly client: Client;
  readonly databaseId: string;
  readonly layout: StoreLayout;
  readonly memories: Pick<MemoryStore, "unreferencedFiles">;
  readonly texts: Pick<TextArchive, "contents" | "remove">;
  readonly files: UploadFiles;
  readonly clock: Clock;
  readonly newWebhookSecret: ImportParts["newWebhookSecret"];
  readonly quarantine: LostThings;
}

/** Exports, imports, copies, checks and repairs the data of a database. */
export class PostgresKeeper implements StoreKeeper {
  constructor(private readonly parts: KeeperParts) {}

  async *export(projectId: string | null, vectors: VectorReader | null): AsyncGenerator<string> {
    const now = this.parts.clock.now();
    const snapshot = await DatabaseSnapshot.take(this.parts.client);
    try {
      yield* exportLines(exportSourceOf(snapshot, vectors), projectId, now);
    } finally {
      await snapshot.close();
    }
  }

  async copy(
    withIndex: boolean,
  ): Promise<{ readonly summary: StoreSummary; readonly parts: AsyncGenerator<FilledPart> }> {
    if (withIndex) {
      throw new Fault(
        "invalid_state",
        "The index of a node cannot be part of a backup of PostgreSQL: leave --with-index out.",
      );
    }
    const { client, databaseId, layout, clock } = this.parts;
    return readCopy(client, databaseId, layout, clock.now());
  }

  async verify(onProgress: OnVerifyProgress): Promise<Verification> {
    const { counts, found } = await this.#compare(onProgress);
    const defects = defectsOf(found);
    return { is_sound: defects.length === 0, pages: 0, ...counts, defects };
  }

  async repair(onProgress: OnVerifyProgress): Promise<Mended> {
    const { found } = await this.#compare(onProgress);
    const { client, memories, texts: archive, files, quarantine, clock } = this.parts;
    // the sweep of a node removes files that no memory refers to
    const setFilesAside = async () => undefined;
    return mend({ write: writeRows(client), memories, archive, files, quarantine, clock, setFilesAside }, found);
  }

  import(records: AsyncIterable<ExportRecord>): Promise<{ readonly projectId: ProjectId; readonly records: number }> {
    const { client, files, clock, newWebhookSecret } = this.parts;
    const hidden = () => -clock.now();
    return importProject({ write: writeRows(client), hidden, files, clock, newWebhookSecret }, records);
  }

  /** Marks the projects of imports whose process was killed as removed, so that what they stored is erased. */
  async giveUpImports(): Promise<void> {
    const now = this.parts.clock.now();
    const since = IMPORT_MS_MAX - now;
    await writeRows(this.parts.client)((rows) => rows.all(GIVE_UP, { now, since }));
  }

  /** Files that no memory refers to are no defect: a node removes them, and another one may just have stored them. */
  async #compare(onProgress: OnVerifyProgress): Promise<StoreComparison> {
    const snapshot = await DatabaseSnapshot.take(this.parts.client);
    try {
      return await compareStores(comparedStoresOf(snapshot), [], (done, total) => onProgress("texts", done, total));
    } finally {
      await snapshot.close();
    }
  }
}
