// Usage of projects. Triggers count memories (migrations.ts). Queries and tokens are counted here, one row per month,
// and the tokens of ingestion also in one row per day.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { monthOf, type Usage } from "../domain/project.ts";
import { DAY_MS } from "../kit/clock.ts";
import { toUsage, type UsageRow } from "./rows/project.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";

const READ = `SELECT plan, documents, storage_bytes, queries, prompt_tokens, completion_tokens
  FROM projects LEFT JOIN monthly_usage
    ON monthly_usage.project_key = projects.project_key AND monthly_usage.month_start = $month
  WHERE projects.id = $project AND projects.deleted_at IS NULL`;
const COUNT = `INSERT INTO monthly_usage AS known (project_key, month_start, queries, prompt_tokens, completion_tokens)
  SELECT project_key, $month, $queries, $prompt, $completion FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key, month_start) DO UPDATE SET queries = known.queries + excluded.queries,
    prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = known.completion_tokens + excluded.completion_tokens`;
const READ_DAY = `SELECT prompt_tokens + completion_tokens AS tokens FROM daily_ingestion_tokens
  WHERE project_key = ${OPEN_PROJECT} AND day_start = $day`;
const COUNT_DAY = `INSERT INTO daily_ingestion_tokens AS known (project_key, day_start, prompt_tokens, completion_tokens)
  SELECT project_key, $day, $prompt, $completion FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key, day_start) DO UPDATE SET prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = known.completion_tokens + excluded.completion_tokens`;

/**
 * How much of its plan a project uses. Expired memories count until their expiry is recorded.
 * @throws Fault `project_not_found`
 */
export async function readUsage(session: Session, projectId: ProjectId, nowMs: number): Promise<Usage> {
  const period = monthOf(nowMs);
  const row = await session.get<UsageRow>(READ, { project: projectId, month: period.start });
  if (row === null) throw new Fault("project_not_found", `There is no project ${projectId}.`);
  return toUsage(row, period);
}

/** Adds queries and tokens to the month of `nowMs`. Does nothing for a project that does not exist. */
export async function countUsage(
  session: Session,
  projectId: ProjectId,
  nowMs: number,
  used: { readonly queries: number; readonly prompt: number; readonly completion: number },
): Promise<void> {
  await session.run(COUNT, { project: projectId, month: monthOf(nowMs).start, ...used });
}

/** Tokens that ingestion of a project used on the day (UTC) of `nowMs`. */
export async function readTokensOfDay(session: Session, projectId: ProjectId, nowMs: number): Promise<number> {
  const row = await session.get<{ tokens: bigint }>(READ_DAY, { project: projectId, day: dayOf(nowMs) });
  return row === null ? 0 : Number(row.tokens);
}

/** Adds tokens of ingestion to the day (UTC) and to the month of `nowMs`. */
export async function countIngestionTokens(
  session: Session,
  projectId: ProjectId,
  nowMs: number,
  tokens: { readonly prompt: number; readonly completion: number },
): Promise<void> {
  await session.run(COUNT_DAY, { project: projectId, day: dayOf(nowMs), ...tokens });
  await countUsage(session, projectId, nowMs, { queries: 0, ...tokens });
}

/** First instant of a day (UTC), in Unix milliseconds. */
function dayOf(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}
