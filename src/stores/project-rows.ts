// Projects. A project is removed in two steps: first it is marked as removed, and from then on counts as missing; its
// rows are erased after its memories were purged.

import { ChunkIds, PROJECT_SECRET_BYTES } from "../domain/chunk-ids.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings, ProjectUse } from "../domain/project.ts";
import { DAY_MS } from "../kit/clock.ts";
import type { Listing } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import { projectsCursorBinding } from "./cursor-binding.ts";
import type { Dialect } from "./dialect.ts";
import { projectErasure, REMOVED_KEY } from "./erasure.ts";
import { type PagedList, readPage } from "./pages.ts";
import { RelationRows } from "./relations/relation-rows.ts";
import type { MemoryRow } from "./rows/memory.ts";
import { fileOf } from "./rows/memory-file.ts";
import {
  DEFAULT_PROJECT,
  PROJECT_COLUMNS,
  PROJECT_USE_COLUMNS,
  type ProjectRow,
  type ProjectUseRow,
  toProject,
  toUsedProject,
} from "./rows/project.ts";
import { newId } from "./rows/random.ts";
import { PROJECT_KEY } from "./rows/sql.ts";
import type { Session } from "./session.ts";

/**
 * Value of `deleted_at` in SQLite of a project that is being imported. It counts as missing like a removed project, but
 * is not erased. PostgreSQL marks such a project with other negative numbers (copies/import.ts).
 */
export const HIDDEN = -1;

/** Finds the default project. */
export const FIND_DEFAULT = "SELECT id FROM projects WHERE is_default = 1";
// if another process creates the default project at the same time, one of the two rows is inserted
const INSERT = ({ repeatsOfSettings: repeats }: Dialect) => `INSERT INTO projects
    (${["id, name, plan, settings, is_default, secret, created_at", ...repeats].join(", ")})
  VALUES (${["$id, $name, $plan, $settings, $isDefault, $secret, $now", ...repeats.map((name) => `$${name}`)].join(", ")})
  ON CONFLICT (is_default) WHERE is_default = 1 DO NOTHING RETURNING ${PROJECT_COLUMNS}`;
const INSERT_SERVICE = "INSERT INTO project_service (project_key) VALUES ($projectKey)";
const ALL_IDS = "SELECT id FROM projects WHERE deleted_at IS NULL ORDER BY project_key";
const FIND = ({ isIn }: Dialect) => `SELECT id AS asked, ${PROJECT_COLUMNS} FROM projects
  WHERE id ${isIn("keys", "text")} AND deleted_at IS NULL`;
const SECRET = "SELECT secret FROM projects WHERE id = $project AND deleted_at IS NULL";
const NEWEST = `SELECT ${PROJECT_COLUMNS}, ${PROJECT_USE_COLUMNS} FROM projects
  WHERE deleted_at IS NULL ORDER BY project_key DESC LIMIT $rows`;
const NEWEST_BEFORE = `SELECT ${PROJECT_COLUMNS}, ${PROJECT_USE_COLUMNS} FROM projects WHERE deleted_at IS NULL AND project_key < $before
  ORDER BY project_key DESC LIMIT $rows`;
// After a longer retention is set, the history begins at the time to which the shorter retention had already erased it.
const LENGTHEN = ({ greatest, retentionDays }: Dialect) => `UPDATE projects
  SET history_since = ${greatest("history_since", `CAST($now AS bigint) - ${DAY_MS} * ${retentionDays}`)}
  WHERE id = $project AND deleted_at IS NULL AND ${retentionDays} < $retentionDays`;
const CHANGE = ({ repeatsOfSettings: repeats }: Dialect) => `UPDATE projects
  SET ${["name", "plan", "settings", ...repeats].map((name) => `${name} = coalesce($${name}, ${name})`).join(", ")}
  WHERE id = $project AND deleted_at IS NULL RETURNING ${PROJECT_COLUMNS}`;

const REMOVE = "UPDATE projects SET deleted_at = $now WHERE id = $project AND deleted_at IS NULL";
// running jobs lose their leases, so that they cannot complete any more
const VOID_LEASES = `UPDATE memories SET lease = NULL
  WHERE project_key = ${PROJECT_KEY} AND status = 'processing' AND lease IS NOT NULL`;
const REMOVE_KEYS = `DELETE FROM api_keys WHERE project_key = ${PROJECT_KEY}`;
// a removed project sends no events
const REMOVE_WEBHOOKS = `DELETE FROM webhooks WHERE project_key = ${PROJECT_KEY}`;
// a negative `deleted_at` means that the project is being imported
const REMOVED_IDS = "SELECT id FROM projects WHERE deleted_at >= 0 ORDER BY project_key";
// two statements, because each can use an index and a statement for both could not
const MEMORIES_LIVE = `SELECT memory_key FROM memories
  WHERE project_key = ${REMOVED_KEY} AND deleted_at IS NULL LIMIT $limit`;
const MEMORIES_DELETED = `SELECT memory_key FROM memories
  WHERE project_key = ${REMOVED_KEY} AND deleted_at IS NOT NULL LIMIT $limit`;
const ERASE_MEMORIES = ({ isIn }: Dialect) => `DELETE FROM memories
  WHERE memory_key ${isIn("keys")} AND project_key = ${REMOVED_KEY} RETURNING source, original_file`;
const ERASE = projectErasure();

type Draft = { readonly name: string; readonly plan: Plan; readonly settings: ProjectSettings };

/** The methods of AccountStore for projects. They are documented there. */
export class ProjectRows {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  /** See AccountStore.defaultProject. */
  async defaultProject(): Promise<ProjectId> {
    const found = await this.session.get<{ id: string }>(FIND_DEFAULT);
    if (found !== null) return found.id as ProjectId;
    const made = await this.#insert(DEFAULT_PROJECT, 1);
    if (made !== null) return made.id;
    const others = await this.session.get<{ id: string }>(FIND_DEFAULT);
    invariant(others !== null, "the default project could neither be found nor created");
    return others.id as ProjectId;
  }

  /** See AccountStore.projects. */
  async all(): Promise<readonly ProjectId[]> {
    return (await this.session.all<{ id: string }>(ALL_IDS)).map((row) => row.id as ProjectId);
  }

  /** See AccountStore.createProject. */
  async create(draft: Draft): Promise<Project> {
    const made = await this.#insert(draft, 0);
    invariant(made !== null, "an inserted project returned no row");
    return made;
  }

  /** See AccountStore.project. */
  async get(id: ProjectId): Promise<Project | null> {
    const row = await this.session.getShared<ProjectRow>(FIND, id);
    return row === null ? null : toProject(row);
  }

  /** See AccountStore.chunkIds. */
  async chunkIds(id: ProjectId): Promise<ChunkIds | null> {
    const row = await this.session.get<{ secret: Uint8Array | null }>(SECRET, { project: id });
    if (row === null) return null;
    invariant(row.secret, `project ${id} has no secret`);
    return new ChunkIds(row.secret);
  }

  /** See AccountStore.listProjects. */
  async list(listing: Listing): Promise<Page<Project & ProjectUse>> {
    const list: PagedList<ProjectUseRow, Project & ProjectUse> = {
      ...{ first: NEWEST, next: NEWEST_BEFORE, params: {} },
      binding: await projectsCursorBinding(this.session),
      keyOf: (row) => row.project_key,
      toItem: toUsedProject,
    };
    return readPage(this.session, list, listing);
  }

  /** See AccountStore.changeProject. */
  async change(id: ProjectId, { name, plan, settings }: ProjectChange): Promise<Project | null> {
    const before = settings === undefined ? null : await this.get(id);
    if (settings !== undefined) {
      const lengthened = { project: id, now: this.context.clock.now(), retentionDays: settings.retention_days };
      await this.session.run(LENGTHEN, lengthened);
    }
    const row = await this.session.get<ProjectRow>(CHANGE, {
      project: id,
      name: name ?? null,
      plan: plan ?? null,
      settings: settings === undefined ? null : JSON.stringify(settings),
      retention_days: settings?.retention_days ?? null,
    });
    if (row === null) return null;
    const isOff = settings?.superseding === "off";
    if (before !== null && isOff !== (before.settings.superseding === "off")) {
      await new RelationRows(this.session, this.context).followSetting(row.project_key, isOff);
    }
    return toProject(row);
  }

  /** See AccountStore.removeProject. */
  async remove(id: ProjectId): Promise<boolean> {
    const project = await this.get(id);
    if (project === null) return false;
    if (project.isDefault) throw new Fault("invalid_state", "The default project cannot be deleted.");
    await this.session.run(REMOVE, { project: id, now: this.context.clock.now() });
    await this.session.run(REMOVE_KEYS, { project: id });
    await this.session.run(REMOVE_WEBHOOKS, { project: id });
    await this.session.run(VOID_LEASES, { project: id });
    return true;
  }

  /** See AccountStore.removedProjects. */
  async removed(): Promise<readonly ProjectId[]> {
    return (await this.session.all<{ id: string }>(REMOVED_IDS)).map((row) => row.id as ProjectId);
  }

  /** See AccountStore.memoriesOfRemoved. */
  async memoriesOfRemoved(id: ProjectId, limit: number): Promise<readonly bigint[]> {
    const live = await this.#memories(MEMORIES_LIVE, id, limit);
    if (live.length === limit) return live;
    return [...live, ...(await this.#memories(MEMORIES_DELETED, id, limit - live.length))];
  }

  async #memories(sql: string, id: ProjectId, limit: number): Promise<readonly bigint[]> {
    const rows = await this.session.all<{ memory_key: bigint }>(sql, { project: id, limit });
    return rows.map((row) => row.memory_key);
  }

  /** See AccountStore.eraseMemoriesOfRemoved. */
  async eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): Promise<readonly string[]> {
    this.context.noteErasure();
    const rows = await this.session.all<Pick<MemoryRow, "source" | "original_file">>(ERASE_MEMORIES, {
      project: id,
      keys,
    });
    return rows.flatMap((row) => fileOf(row) ?? []);
  }

  /** See AccountStore.eraseProject. */
  async erase(id: ProjectId): Promise<void> {
    const left = await this.memoriesOfRemoved(id, 1);
    invariant(left.length === 0, `project ${id} still has memories and cannot be erased`);
    for (const sql of ERASE) await this.session.run(sql, { project: id });
  }

  async #insert({ name, plan, settings }: Draft, isDefault: 0 | 1): Promise<Project | null> {
    const { clock, random } = this.context;
    const now = clock.now();
    const row = await this.session.get<ProjectRow>(INSERT, {
      id: newId("prj", now, random),
      name,
      plan,
      settings: JSON.stringify(settings),
      retention_days: settings.retention_days,
      isDefault,
      secret: random(PROJECT_SECRET_BYTES),
      now,
    });
    if (row === null) return null;
    await beginService(this.session, row.project_key);
    return toProject(row);
  }
}

/** Adds the row of a new project to `project_service`, if this database has that table. */
export async function beginService(session: Session, projectKey: bigint): Promise<void> {
  if (session.dialect.missingTables.includes("project_service")) return;
  await session.run(INSERT_SERVICE, { projectKey });
}
