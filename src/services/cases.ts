// Cases: questions of a project with what a search should find, and runs over all of them, which show what a change of
// a model or a setting does to the project's own data. case-runner.ts works off the runs.

import type { CaseDraft, CaseRun, CaseSetup, SearchCase } from "../domain/case.ts";
import { Fault } from "../domain/fault.ts";
import type { CaseId, CaseRunId, ProjectId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { ModeName } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { CaseStore } from "../ports/case-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";

/** What the service needs. */
export interface CaseServiceDependencies {
  readonly cases: Pick<CaseStore, "list" | "run" | "runs">;
  /** The models and settings with which the project's searches work now. @throws Fault `project_not_found` */
  readonly setupOf: (id: ProjectId) => Promise<CaseSetup>;
  /** Called when there is a new run. */
  readonly wakeRuns: () => void;
}

/** Cases of one project. */
export class CaseService {
  constructor(private readonly uses: CaseServiceDependencies) {}

  /**
   * Adds a case.
   * @throws Fault `memory_not_found` for an expected memory that the search of the case cannot find, because it does
   *   not exist or is another user's; `invalid_request` if there are too many cases
   */
  async create({ memories, cases }: Transaction, viewer: Viewer, draft: CaseDraft): Promise<SearchCase> {
    const userId = userOf(viewer, draft.userId);
    for (const [at, id] of (draft.memoryIds ?? []).entries()) {
      const memory = await memories.get(viewer.projectId, id);
      if (memory !== null && (userId === undefined || memory.userId === userId)) continue;
      const whose = userId === undefined ? "in this project" : `of user '${userId}'`;
      throw new Fault("memory_not_found", `There is no memory '${id}' ${whose}.`, {
        param: `expected.memory_ids[${at}]`,
      });
    }
    return cases.create(viewer.projectId, draft);
  }

  /** Newest first. @throws Fault `invalid_cursor` */
  list({ projectId }: Viewer, listing: Listing): Promise<Page<SearchCase>> {
    return this.uses.cases.list(projectId, listing);
  }

  /** @throws Fault `case_not_found` */
  async remove({ cases }: Transaction, { projectId }: Viewer, id: CaseId): Promise<void> {
    if (await cases.remove(projectId, id)) return;
    throw new Fault("case_not_found", `There is no case '${id}' in this project.`, { param: "id" });
  }

  /** See `CaseServiceDependencies.setupOf`. */
  setup({ projectId }: Viewer): Promise<CaseSetup> {
    return this.uses.setupOf(projectId);
  }

  /**
   * Begins a run over all present cases. Its searches do not count as queries.
   * @param modes null: each case in its own mode
   * @param setup what `setup` returned
   * @throws Fault `overloaded` if too many runs are in progress
   */
  async begin(
    transaction: Transaction,
    { projectId }: Viewer,
    modes: readonly ModeName[] | null,
    setup: CaseSetup,
  ): Promise<CaseRun> {
    const run = await transaction.cases.begin(projectId, modes, setup);
    transaction.afterCommit(this.uses.wakeRuns);
    return run;
  }

  /** @throws Fault `run_not_found` */
  async run({ projectId }: Viewer, id: CaseRunId): Promise<CaseRun> {
    const run = await this.uses.cases.run(projectId, id);
    if (run !== null) return run;
    throw new Fault("run_not_found", `There is no run '${id}' in this project.`, { param: "id" });
  }

  /** Newest first. @throws Fault `invalid_cursor` */
  runs({ projectId }: Viewer, listing: Listing): Promise<Page<CaseRun>> {
    return this.uses.cases.runs(projectId, listing);
  }
}
