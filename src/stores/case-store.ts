// Implements CaseStore: one row per case, and one per run with the sums over the cases that it has searched.

import { CASE_RUNS_KEPT_MS, type CaseDraft, type CaseRun, type CaseSetup, type SearchCase } from "../domain/case.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { CaseId, CaseRunId, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Page } from "../domain/page.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { CaseStore, RunProgress, RunStep } from "../ports/case-store.ts";
import type { Listing } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import { cursorBinding } from "./cursor-binding.ts";
import { type PagedList, readPage } from "./pages.ts";
import { CASE_COLUMNS, type CaseRow, RUN_COLUMNS, type RunRow, toCase, toRun } from "./rows/case.ts";
import { newId } from "./rows/random.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf } from "./user-rows.ts";

const OF_PROJECT = `project_key = ${OPEN_PROJECT}`;
const IN_PROGRESS = "status = 'processing'";

const COUNT = "SELECT count(*) AS n, coalesce(max(case_key), 0) AS last FROM cases WHERE project_key = $projectKey";
const INSERT = `INSERT INTO cases (id, project_key, user_id, query, mode, memory_ids, created_at)
  VALUES ($id, $projectKey, $userId, $query, $mode, $memoryIds, $now) RETURNING ${CASE_COLUMNS}`;
const LIST = `SELECT ${CASE_COLUMNS} FROM cases WHERE ${OF_PROJECT} ORDER BY case_key DESC LIMIT $rows`;
const LIST_BEFORE = `SELECT ${CASE_COLUMNS} FROM cases WHERE ${OF_PROJECT} AND case_key < $before
  ORDER BY case_key DESC LIMIT $rows`;
const REMOVE = `DELETE FROM cases WHERE id = $id AND ${OF_PROJECT}`;
const FORGET_USER = `DELETE FROM cases WHERE ${OF_PROJECT} AND user_id = $userId`;
const NEXT = `SELECT ${CASE_COLUMNS} FROM cases
  WHERE ${OF_PROJECT} AND case_key > $place AND case_key <= $last ORDER BY case_key LIMIT 1`;

const OPEN_OF = `SELECT count(*) AS n FROM case_runs WHERE project_key = $projectKey AND ${IN_PROGRESS}`;
const BEGIN = `INSERT INTO case_runs (id, project_key, status, modes, setup, total, sums, last_case, created_at, updated_at)
  VALUES ($id, $projectKey, $status, $modes, $setup, $total, '[]', $last, $now, $now) RETURNING ${RUN_COLUMNS}`;
const RUN = `SELECT ${RUN_COLUMNS} FROM case_runs WHERE id = $id AND ${OF_PROJECT}`;
const RUNS = `SELECT ${RUN_COLUMNS} FROM case_runs WHERE ${OF_PROJECT} ORDER BY run_key DESC LIMIT $rows`;
const RUNS_BEFORE = `SELECT ${RUN_COLUMNS} FROM case_runs WHERE ${OF_PROJECT} AND run_key < $before
  ORDER BY run_key DESC LIMIT $rows`;
const OPEN = `SELECT case_runs.id, projects.id AS project_id FROM case_runs JOIN projects USING (project_key)
  WHERE ${IN_PROGRESS} AND projects.deleted_at IS NULL ORDER BY run_key LIMIT $rows`;
const ADVANCE = `UPDATE case_runs SET place = $place, done = $done, skipped = $skipped, sums = $sums, updated_at = $now
  WHERE id = $id AND ${OF_PROJECT} AND ${IN_PROGRESS} AND place = $from`;
// cases that were deleted during the run were not searched, so they do not count
const END = `UPDATE case_runs SET status = $status, error = $error, updated_at = $now,
    total = CASE WHEN $status = 'completed' THEN done ELSE total END
  WHERE id = $id AND ${OF_PROJECT} AND ${IN_PROGRESS}`;
const PRUNE = `DELETE FROM case_runs WHERE NOT ${IN_PROGRESS} AND updated_at < $before`;

const BUSY_RETRY_SECONDS = 5;

/** Cases and runs over them. */
export class StoredCases implements CaseStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async create(projectId: ProjectId, { query, userId, mode, memoryIds }: CaseDraft): Promise<SearchCase> {
    const projectKey = await projectKeyOf(this.session, projectId);
    if ((await this.#count(projectKey)).cases >= LIMITS.casesPerProject) {
      throw new Fault(
        "invalid_request",
        `The project has ${LIMITS.casesPerProject} cases, which is the limit. Delete some.`,
      );
    }
    const now = this.context.clock.now();
    const row = await this.session.get<CaseRow>(INSERT, {
      ...{ id: newId("case", now, this.context.random), projectKey, userId, query, mode, now },
      memoryIds: memoryIds === null ? null : JSON.stringify(memoryIds),
    });
    invariant(row !== null, "an inserted case returned no row");
    return toCase(row);
  }

  async list(projectId: ProjectId, listing: Listing): Promise<Page<SearchCase>> {
    const list: PagedList<CaseRow, SearchCase> = {
      ...{ first: LIST, next: LIST_BEFORE, params: { project: projectId } },
      binding: await cursorBinding(this.session, projectId, ["cases"]),
      keyOf: (row) => row.case_key,
      toItem: toCase,
    };
    return readPage(this.session, list, listing);
  }

  async remove(projectId: ProjectId, id: CaseId): Promise<boolean> {
    return (await this.session.run(REMOVE, { project: projectId, id })) > 0;
  }

  async forgetUser(projectId: ProjectId, userId: string): Promise<void> {
    await this.session.run(FORGET_USER, { project: projectId, userId });
  }

  async begin(projectId: ProjectId, modes: readonly ModeName[] | null, setup: CaseSetup): Promise<CaseRun> {
    const projectKey = await projectKeyOf(this.session, projectId);
    const open = await this.session.get<{ n: bigint }>(OPEN_OF, { projectKey });
    if (Number(open?.n ?? 0n) >= LIMITS.caseRunsInProgress) {
      const message = `${LIMITS.caseRunsInProgress} runs of this project are in progress. Wait until one has ended.`;
      throw new Fault("overloaded", message, { retryAfterSeconds: BUSY_RETRY_SECONDS });
    }
    const { cases, last } = await this.#count(projectKey);
    const now = this.context.clock.now();
    const row = await this.session.get<RunRow>(BEGIN, {
      ...{ id: newId("run", now, this.context.random), projectKey, last, now },
      status: cases === 0 ? "completed" : "processing",
      modes: modes === null ? null : JSON.stringify(modes),
      setup: JSON.stringify(setup),
      total: cases * (modes?.length ?? 1),
    });
    invariant(row !== null, "an inserted run returned no row");
    return toRun(row);
  }

  async run(projectId: ProjectId, id: CaseRunId): Promise<CaseRun | null> {
    const row = await this.#row(projectId, id);
    return row === null ? null : toRun(row);
  }

  async runs(projectId: ProjectId, listing: Listing): Promise<Page<CaseRun>> {
    const list: PagedList<RunRow, CaseRun> = {
      ...{ first: RUNS, next: RUNS_BEFORE, params: { project: projectId } },
      binding: await cursorBinding(this.session, projectId, ["case runs"]),
      keyOf: (row) => row.run_key,
      toItem: toRun,
    };
    return readPage(this.session, list, listing);
  }

  async open(limit: number): Promise<readonly { readonly projectId: ProjectId; readonly id: CaseRunId }[]> {
    const rows = await this.session.all<{ id: string; project_id: string }>(OPEN, { rows: limit });
    return rows.map((row) => ({ projectId: row.project_id as ProjectId, id: row.id as CaseRunId }));
  }

  async step(projectId: ProjectId, id: CaseRunId): Promise<RunStep | null> {
    const row = await this.#row(projectId, id);
    if (row === null || row.status !== "processing") return null;
    const { place, last_case: last } = row;
    const next = await this.session.get<CaseRow>(NEXT, { project: projectId, place, last });
    return {
      ...{ run: toRun(row), place },
      next: next === null ? null : { searchCase: toCase(next), place: next.case_key },
    };
  }

  async advance(projectId: ProjectId, id: CaseRunId, { sums, ...progress }: RunProgress): Promise<void> {
    const now = this.context.clock.now();
    await this.session.run(ADVANCE, { project: projectId, id, ...progress, sums: JSON.stringify(sums), now });
  }

  async end(projectId: ProjectId, id: CaseRunId, error: string | null): Promise<void> {
    const status = error === null ? "completed" : "failed";
    await this.session.run(END, { project: projectId, id, status, error, now: this.context.clock.now() });
  }

  async prune(): Promise<void> {
    await this.session.run(PRUNE, { before: this.context.clock.now() - CASE_RUNS_KEPT_MS });
  }

  #row(projectId: ProjectId, id: CaseRunId): Promise<RunRow | null> {
    return this.session.get<RunRow>(RUN, { project: projectId, id });
  }

  async #count(projectKey: bigint): Promise<{ readonly cases: number; readonly last: bigint }> {
    const counted = await this.session.get<{ n: bigint; last: bigint }>(COUNT, { projectKey });
    return { cases: Number(counted?.n ?? 0n), last: counted?.last ?? 0n };
  }
}
