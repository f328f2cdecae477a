// Usage of projects in mneme.sqlite. Triggers count memories (migrations.ts). Queries and tokens are counted here, one
// row per month.

import { Fault } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import { monthOf, type Usage } from "../../domain/project.ts";
import type { Clock } from "../../kit/clock.ts";
import { toUsage, type UsageRow } from "../rows/project.ts";
import type { SqliteDatabase } from "./database.ts";

const READ = `SELECT plan, documents, storage_bytes, queries, prompt_tokens, completion_tokens
  FROM projects LEFT JOIN monthly_usage
    ON monthly_usage.project_key = projects.project_key AND monthly_usage.month_start = $month
  WHERE projects.id = $project AND projects.deleted_at IS NULL`;
const COUNT = `INSERT INTO monthly_usage (project_key, month_start, queries, prompt_tokens, completion_tokens)
  SELECT project_key, $month, $queries, $prompt, $completion FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key, month_start) DO UPDATE SET queries = queries + excluded.queries,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens`;

/** The methods of AccountStore for usage. They are documented there. */
export class UsageRows {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly expire: (projectId: ProjectId) => void,
  ) {}

  /** See AccountStore.usage. */
  read(projectId: ProjectId): Usage {
    const period = monthOf(this.clock.now());
    this.expire(projectId);
    const row = this.database
      .prepare<UsageRow, { project: string; month: number }>(READ)
      .get({ project: projectId, month: period.start });
    if (row === null) throw new Fault("project_not_found", `There is no project ${projectId}.`);
    return toUsage(row, period);
  }

  /** See AccountStore.countQuery. */
  countQuery(projectId: ProjectId, tokens: { readonly prompt: number; readonly completion: number }): void {
    countUsage(this.database, projectId, this.clock.now(), { queries: 1, ...tokens });
  }
}

/** Adds queries and tokens to the month of `nowMs`. Does nothing for a project that does not exist. */
export function countUsage(
  database: SqliteDatabase,
  projectId: ProjectId,
  nowMs: number,
  used: { readonly queries: number; readonly prompt: number; readonly completion: number },
): void {
  database
    .prepare<never, { project: string; month: number; queries: number; prompt: number; completion: number }>(COUNT)
    .run({ project: projectId, month: monthOf(nowMs).start, ...used });
}
