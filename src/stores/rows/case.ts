// Converts rows of the tables `cases` and `case_runs`.

import type { CaseRun, CaseSetup, CaseSums, SearchCase } from "../../domain/case.ts";
import type { CaseId, CaseRunId, MemoryId } from "../../domain/ids.ts";
import type { ModeName } from "../../domain/ranking.ts";

/** The columns that `toCase` needs. */
export const CASE_COLUMNS = "case_key, id, user_id, query, mode, memory_ids, created_at";
/** The columns that `toRun` needs, and the place of the run. */
export const RUN_COLUMNS =
  "run_key, id, status, modes, setup, done, skipped, total, sums, place, last_case, error, created_at, updated_at";

/** A row of a case. */
export interface CaseRow {
  readonly case_key: bigint;
  readonly id: string;
  readonly user_id: string | null;
  readonly query: string;
  readonly mode: string | null;
  readonly memory_ids: string | null;
  readonly created_at: bigint;
}

/** A row of a run. */
export interface RunRow {
  readonly run_key: bigint;
  readonly id: string;
  readonly status: string;
  readonly modes: string | null;
  readonly setup: string | null;
  readonly done: bigint;
  readonly skipped: bigint;
  readonly total: bigint;
  readonly sums: string;
  readonly place: bigint;
  readonly last_case: bigint;
  readonly error: string | null;
  readonly created_at: bigint;
  readonly updated_at: bigint;
}

/** Converts a row to a case. */
export function toCase(row: CaseRow): SearchCase {
  return {
    id: row.id as CaseId,
    query: row.query,
    userId: row.user_id,
    mode: row.mode as ModeName | null,
    memoryIds: row.memory_ids === null ? null : (JSON.parse(row.memory_ids) as MemoryId[]),
    createdAt: Number(row.created_at),
  };
}

/** Converts a row to a run. */
export function toRun(row: RunRow): CaseRun {
  return {
    id: row.id as CaseRunId,
    modes: row.modes === null ? null : (JSON.parse(row.modes) as ModeName[]),
    status: row.status as CaseRun["status"],
    setup: row.setup === null ? null : (JSON.parse(row.setup) as CaseSetup),
    done: Number(row.done),
    skipped: Number(row.skipped),
    total: Number(row.total),
    sums: JSON.parse(row.sums) as CaseSums[],
    error: row.error,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
