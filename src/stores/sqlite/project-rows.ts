// Projects in mneme.sqlite. A project is removed in two steps: first it is marked as removed, and from then on counts
// as missing; its rows are erased after its memories were purged.

import { ChunkIds, PROJECT_SECRET_BYTES } from "../../domain/chunk-ids.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import { decodeCursor, type Page, pageOf } from "../../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings } from "../../domain/project.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Listing } from "../../ports/user-store.ts";
import { projectErasure, REMOVED_KEY } from "../erasure.ts";
import type { MemoryRow } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import { DEFAULT_PROJECT, PROJECT_COLUMNS, type ProjectRow, toProject } from "../rows/project.ts";
import { newId, type RandomBytes } from "../rows/random.ts";
import { PROJECT_KEY } from "../rows/sql.ts";
import { projectsCursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";
import { KEYS, keyList } from "./memory-row.ts";

/**
 * Value of `deleted_at` of a project that an import still fills. It counts as missing like a removed project, but is
 * not erased.
 */
export const HIDDEN = -1;

const FIND_DEFAULT = "SELECT id FROM projects WHERE is_default = 1";
const INSERT = `INSERT INTO projects (id, name, plan, settings, is_default, secret, created_at)
  VALUES ($id, $name, $plan, $settings, $isDefault, $secret, $now) RETURNING ${PROJECT_COLUMNS}`;
const ALL_IDS = "SELECT id FROM projects WHERE deleted_at IS NULL ORDER BY project_key";
const FIND = `SELECT ${PROJECT_COLUMNS} FROM projects WHERE id = $project AND deleted_at IS NULL`;
const SECRET = "SELECT secret FROM projects WHERE id = $project AND deleted_at IS NULL";
const NEWEST = `SELECT ${PROJECT_COLUMNS} FROM projects WHERE deleted_at IS NULL ORDER BY project_key DESC LIMIT $rows`;
const NEWEST_BEFORE = `SELECT ${PROJECT_COLUMNS} FROM projects WHERE deleted_at IS NULL AND project_key < $before
  ORDER BY project_key DESC LIMIT $rows`;
const CHANGE = `UPDATE projects SET name = ifnull($name, name), plan = ifnull($plan, plan),
  settings = ifnull($settings, settings) WHERE id = $project AND deleted_at IS NULL RETURNING ${PROJECT_COLUMNS}`;

const REMOVE = "UPDATE projects SET deleted_at = $now WHERE id = $project AND deleted_at IS NULL";
// running jobs lose their leases, so that they cannot complete any more
const VOID_LEASES = `UPDATE memories SET lease = NULL
  WHERE project_key = ${PROJECT_KEY} AND status = 'processing' AND lease IS NOT NULL`;
const REMOVE_KEYS = `DELETE FROM api_keys WHERE project_key = ${PROJECT_KEY}`;
// a removed project sends no events
const REMOVE_WEBHOOKS = `DELETE FROM webhooks WHERE project_key = ${PROJECT_KEY}`;
const REMOVED_IDS = `SELECT id FROM projects WHERE deleted_at IS NOT NULL AND deleted_at <> ${HIDDEN}
  ORDER BY project_key`;
// two statements, because each can use an index and a statement for both could not
const MEMORIES_LIVE = `SELECT memory_key FROM memories
  WHERE project_key = ${REMOVED_KEY} AND deleted_at IS NULL LIMIT $limit`;
const MEMORIES_DELETED = `SELECT memory_key FROM memories
  WHERE project_key = ${REMOVED_KEY} AND deleted_at IS NOT NULL LIMIT $limit`;
const ERASE_MEMORIES = `DELETE FROM memories WHERE memory_key IN ${KEYS} AND project_key = ${REMOVED_KEY}
  RETURNING source`;
const ERASE = projectErasure("sqlite");

/** The methods of AccountStore for projects. They are documented there. */
export class ProjectRows {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly random: RandomBytes,
  ) {}

  /** See AccountStore.defaultProject. */
  defaultProject(): ProjectId {
    return this.database.transaction(() => {
      const found = this.database.prepare<{ id: string }>(FIND_DEFAULT).get({});
      if (found !== null) return found.id as ProjectId;
      return this.#insert({ ...DEFAULT_PROJECT }, 1).id;
    });
  }

  /** See AccountStore.projects. */
  all(): readonly ProjectId[] {
    return this.database
      .prepare<{ id: string }>(ALL_IDS)
      .all({})
      .map((row) => row.id as ProjectId);
  }

  /** See AccountStore.createProject. */
  create(draft: { readonly name: string; readonly plan: Plan; readonly settings: ProjectSettings }): Project {
    return this.#insert(draft, 0);
  }

  /** See AccountStore.project. */
  get(id: ProjectId): Project | null {
    const row = this.database.prepare<ProjectRow, { project: string }>(FIND).get({ project: id });
    return row === null ? null : toProject(row);
  }

  /** See AccountStore.chunkIds. */
  chunkIds(id: ProjectId): ChunkIds | null {
    const row = this.database.prepare<{ secret: Uint8Array | null }, { project: string }>(SECRET).get({ project: id });
    if (row === null) return null;
    invariant(row.secret, `project ${id} has no secret`);
    return new ChunkIds(row.secret);
  }

  /** See AccountStore.listProjects. */
  list({ limit, cursor }: Listing): Page<Project> {
    // one row more than requested shows whether another page follows
    const rows = limit + 1;
    const binding = projectsCursorBinding(this.database);
    const found =
      cursor === undefined
        ? this.database.prepare<ProjectRow, { rows: number }>(NEWEST).all({ rows })
        : this.database
            .prepare<ProjectRow, { before: bigint; rows: number }>(NEWEST_BEFORE)
            .all({ before: decodeCursor(cursor, binding), rows });
    const toItems = (page: readonly ProjectRow[]) => page.map(toProject);
    return pageOf(found, { limit, binding, keyOf: (row) => row.project_key, toItems });
  }

  /** See AccountStore.changeProject. */
  change(id: ProjectId, { name, plan, settings }: ProjectChange): Project | null {
    const row = this.database
      .prepare<ProjectRow, { project: string; name: string | null; plan: string | null; settings: string | null }>(
        CHANGE,
      )
      .get({
        project: id,
        name: name ?? null,
        plan: plan ?? null,
        settings: settings === undefined ? null : JSON.stringify(settings),
      });
    return row === null ? null : toProject(row);
  }

  /** See AccountStore.removeProject. */
  remove(id: ProjectId): boolean {
    return this.database.transaction(() => {
      const project = this.get(id);
      if (project === null) return false;
      if (project.isDefault) throw new Fault("invalid_state", "The default project cannot be deleted.");
      this.database
        .prepare<never, { project: string; now: number }>(REMOVE)
        .run({ project: id, now: this.clock.now() });
      this.database.prepare<never, { project: string }>(REMOVE_KEYS).run({ project: id });
      this.database.prepare<never, { project: string }>(REMOVE_WEBHOOKS).run({ project: id });
      this.database.prepare<never, { project: string }>(VOID_LEASES).run({ project: id });
      return true;
    });
  }

  /** See AccountStore.removedProjects. */
  removed(): readonly ProjectId[] {
    return this.database
      .prepare<{ id: string }>(REMOVED_IDS)
      .all({})
      .map((row) => row.id as ProjectId);
  }

  /** See AccountStore.memoriesOfRemoved. */
  memoriesOfRemoved(id: ProjectId, limit: number): readonly bigint[] {
    return this.database.transaction(() => {
      const live = this.#memories(MEMORIES_LIVE, id, limit);
      return live.length < limit ? [...live, ...this.#memories(MEMORIES_DELETED, id, limit - live.length)] : live;
    });
  }

  /** See AccountStore.eraseMemoriesOfRemoved. */
  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): readonly string[] {
    this.database.noteErasure();
    return this.database
      .prepare<Pick<MemoryRow, "source">, { project: string; keys: string }>(ERASE_MEMORIES)
      .all({ project: id, keys: keyList(keys) })
      .flatMap((row) => keptFileOf(row) ?? []);
  }

  /** See AccountStore.eraseProject. */
  erase(id: ProjectId): void {
    this.database.transaction(() => {
      invariant(this.memoriesOfRemoved(id, 1).length === 0, `project ${id} still has memories and cannot be erased`);
      for (const sql of ERASE) this.database.prepare<never, { project: string }>(sql).run({ project: id });
    });
  }

  #insert(
    { name, plan, settings }: { readonly name: string; readonly plan: Plan; readonly settings: ProjectSettings },
    isDefault: 0 | 1,
  ): Project {
    const now = this.clock.now();
    const row = this.database
      .prepare<
        ProjectRow,
        {
          id: string;
          name: string;
          plan: string;
          settings: string;
          isDefault: number;
          secret: Uint8Array;
          now: number;
        }
      >(INSERT)
      .get({
        id: newId("prj", now, this.random),
        name,
        plan,
        settings: JSON.stringify(settings),
        isDefault,
        secret: this.random(PROJECT_SECRET_BYTES),
        now,
      });
    invariant(row !== null, "an inserted project returned no row");
    return toProject(row);
  }

  #memories(sql: string, id: ProjectId, limit: number): readonly bigint[] {
    return this.database
      .prepare<{ memory_key: bigint }, { project: string; limit: number }>(sql)
      .all({ project: id, limit })
      .map((row) => row.memory_key);
  }
}
