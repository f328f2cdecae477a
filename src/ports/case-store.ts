// Cases and their runs: which questions a project keeps, and how far each run over them is. Implemented by stores/, on
// SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Cases and runs of a removed project do not exist. A run covers the cases that exist when it
// begins, oldest first; those that are deleted meanwhile are left out.

import type { CaseDraft, CaseRun, CaseSetup, CaseSums, SearchCase } from "../domain/case.ts";
import type { CaseId, CaseRunId, ProjectId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { Listing } from "./user-store.ts";

/** A run in status `processing`, and its next case. */
export interface RunStep {
  readonly run: CaseRun;
  /** Place in the run: the key of the last case that was searched; 0 at the beginning. */
  readonly place: bigint;
  /** null if no case is left. */
  readonly next: { readonly searchCase: SearchCase; readonly place: bigint } | null;
}

/** What a run has done up to a place. */
export interface RunProgress {
  /** Place where the step began. If the run is no longer there, another node did the step, and nothing changes. */
  readonly from: bigint;
  readonly place: bigint;
  readonly done: number;
  readonly skipped: number;
  readonly sums: readonly CaseSums[];
}

/** Cases and runs of all projects. */
export interface CaseStore {
  /**
   * Adds a case.
   * @throws Fault `project_not_found`; `invalid_request` if the project has `LIMITS.casesPerProject` cases
   */
  create(projectId: ProjectId, draft: CaseDraft): Promise<SearchCase>;
  /** Newest first. @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing): Promise<Page<SearchCase>>;
  /** Returns whether the project had this case. */
  remove(projectId: ProjectId, id: CaseId): Promise<boolean>;
  /** Removes the cases that search the memories of a user. */
  forgetUser(projectId: ProjectId, userId: string): Promise<void>;
  /**
   * Adds a run over all present cases, in status `processing`; without cases it is completed.
   * @throws Fault `project_not_found`; `overloaded` if `LIMITS.caseRunsInProgress` runs of the project are in progress
   */
  begin(projectId: ProjectId, modes: readonly ModeName[] | null, setup: CaseSetup): Promise<CaseRun>;
  /** Returns null if the project has no such run. */
  run(projectId: ProjectId, id: CaseRunId): Promise<CaseRun | null>;
  /** Newest first. @throws Fault `invalid_cursor` */
  runs(projectId: ProjectId, listing: Listing): Promise<Page<CaseRun>>;
  /** Runs in status `processing` of all existing projects, oldest first. */
  open(limit: number): Promise<readonly { readonly projectId: ProjectId; readonly id: CaseRunId }[]>;
  /** What a run in status `processing` has to do next; null if it has ended or does not exist. */
  step(projectId: ProjectId, id: CaseRunId): Promise<RunStep | null>;
  /** Stores what a step has done, if the run is still where the step began. */
  advance(projectId: ProjectId, id: CaseRunId, progress: RunProgress): Promise<void>;
  /** Ends a run as completed, or as failed with a public sentence. Does nothing if it has ended. */
  end(projectId: ProjectId, id: CaseRunId, error: string | null): Promise<void>;
  /** Removes runs that ended more than `CASE_RUNS_KEPT_MS` ago. */
  prune(): Promise<void>;
}
