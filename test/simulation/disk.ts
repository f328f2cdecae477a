// What survives a crash of the simulated server, and what its rows say.

import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { MemoryStatus } from "../../src/domain/memory.ts";
import { numberOrNull } from "../../src/stores/rows/memory.ts";
import { keptFileOf } from "../../src/stores/rows/memory-file.ts";
import { Disk } from "../in-memory/chunk-index.ts";
import type { UnsyncedDatabase } from "../in-memory/unsynced-database.ts";
import { FileDisk } from "./ports.ts";

/** A row of a memory, also of one that was deleted and not erased yet. */
export interface StoredMemory {
  readonly key: MemoryKey;
  readonly id: MemoryId;
  readonly projectId: ProjectId;
  readonly userId: string | null;
  readonly externalId: string | null;
  readonly version: number;
  readonly status: MemoryStatus;
  readonly tags: readonly string[];
  /** null once the memory is completed: its text is in the index then. */
  readonly content: string | null;
  /** Name of the uploaded file until its text has been read. */
  readonly file: string | null;
  readonly chunkCount: number;
  readonly error: string | null;
  readonly isLeased: boolean;
  readonly expiresAt: number | null;
  readonly deletedAt: number | null;
  readonly isRetracted: boolean;
  readonly isPurgeAsked: boolean;
}

const MEMORIES = `SELECT memory_key, memories.id, projects.id AS project_id, users.id AS user_id, external_id, version,
    status, tags, content, source, chunk_count, error_message, lease, expires_at, memories.deleted_at, is_retracted,
    is_purge_asked
  FROM memories JOIN projects USING (project_key) LEFT JOIN users USING (user_key)
    LEFT JOIN waiting_contents USING (memory_key)
  ORDER BY memory_key`;
const CHANGES_OF_MODELS = "SELECT 1 FROM project_models WHERE state = 'building'";

/** What survives a crash. */
export class ServerDisk {
  readonly index = new Disk();
  readonly files = new FileDisk();
  #seen: Committed = { commits: -1, memories: [], isChangingModels: false };

  /** @param database that no other simulation uses meanwhile; it is emptied */
  constructor(readonly database: UnsyncedDatabase) {
    database.empty();
  }

  /** All rows of memories as of the last commit, by key. */
  get memories(): readonly StoredMemory[] {
    return this.#committed().memories;
  }

  /** Whether the model of a project is being changed. */
  get isChangingModels(): boolean {
    return this.#committed().isChangingModels;
  }

  /** Undoes what a process that ended has not committed. */
  rollBack(): void {
    this.database.writer.rollback();
  }

  #committed(): Committed {
    const { commits, reader } = this.database;
    if (this.#seen.commits !== commits) {
      this.#seen = {
        commits,
        memories: reader.prepare<Row>(MEMORIES).all({}).map(toStored),
        isChangingModels: reader.prepare(CHANGES_OF_MODELS).get({}) !== null,
      };
    }
    return this.#seen;
  }
}

/** What the rows say after a number of commits. */
interface Committed {
  readonly commits: number;
  readonly memories: readonly StoredMemory[];
  readonly isChangingModels: boolean;
}

interface Row {
  readonly memory_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly user_id: string | null;
  readonly external_id: string | null;
  readonly version: bigint;
  readonly status: string;
  readonly tags: string | null;
  readonly content: string | null;
  readonly source: string | null;
  readonly chunk_count: bigint;
  readonly error_message: string | null;
  readonly lease: bigint | null;
  readonly expires_at: bigint | null;
  readonly deleted_at: bigint | null;
  readonly is_retracted: bigint;
  readonly is_purge_asked: bigint;
}

function toStored(row: Row): StoredMemory {
  return {
    key: row.memory_key as MemoryKey,
    id: row.id as MemoryId,
    projectId: row.project_id as ProjectId,
    userId: row.user_id,
    externalId: row.external_id,
    version: Number(row.version),
    status: row.status as MemoryStatus,
    tags: JSON.parse(row.tags ?? "[]") as readonly string[],
    content: row.content,
    file: keptFileOf(row),
    chunkCount: Number(row.chunk_count),
    error: row.error_message,
    isLeased: row.lease !== null,
    expiresAt: numberOrNull(row.expires_at),
    deletedAt: numberOrNull(row.deleted_at),
    isRetracted: row.is_retracted === 1n,
    isPurgeAsked: row.is_purge_asked === 1n,
  };
}
