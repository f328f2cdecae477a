// Works off runs over cases in the background. A step searches for one case in all modes of its run, and stores the
// sums with the place of the next case. So a run goes on after a restart, and each case counts once.

import { CASE_RESULTS, type CaseSums, type SearchCase, withOutcome } from "../domain/case.ts";
import { Fault } from "../domain/fault.ts";
import type { CaseRunId, MemoryId, ProjectId } from "../domain/ids.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { CaseStore } from "../ports/case-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { AnswerService } from "./answers.ts";

/** Maximum number of runs that take turns. The others wait until one of these has ended. */
const TURNS = 8;
/** Maximum time in milliseconds until this node sees a run that another node began or left. */
const POLL_MS = 10_000;
/** Maximum number of attempts of one step, and the first pause in milliseconds. Each later pause is twice as long. */
const ATTEMPTS_MAX = 8;
const PAUSE_FIRST_MS = 500;

/** What the runner needs. */
export interface CaseRunnerDependencies {
  readonly cases: Pick<CaseStore, "open" | "step" | "advance" | "end">;
  readonly memories: Pick<MemoryStore, "get">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly answers: Pick<AnswerService, "assess">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this node does the runs. */
  readonly isMine: () => Eventually<boolean>;
  /** Longest sleep in milliseconds, if other nodes begin runs. */
  readonly pollMs?: number | undefined;
}

/** Runs of all projects. */
export class CaseRunner {
  readonly #loop = new WakingLoop((round) => this.#round(round));
  /** Failed attempts in a row, and when the next one is due in Unix milliseconds, by run. */
  readonly #failures = new Map<CaseRunId, { readonly count: number; readonly dueAt: number }>();

  constructor(private readonly uses: CaseRunnerDependencies) {}

  /** Starts to work off runs. */
  start(): void {
    this.#loop.start();
  }

  /** Looks for runs now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops. The next start continues the runs in progress. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { cases, clock, log, isMine, pollMs = POLL_MS } = this.uses;
    let waitMs = pollMs;
    try {
      const open = (await isMine()) ? await cases.open(TURNS) : [];
      for (const { projectId, id } of open) {
        if (stopped.aborted) return;
        waitMs = Math.min(waitMs, await this.#advance(projectId, id));
      }
    } catch (err) {
      log.error({ err }, "runs over cases could not be read; trying again");
    }
    await clock.sleep(waitMs, woken);
  }

  /** Does one step. Returns the time until the next one, in milliseconds. */
  async #advance(projectId: ProjectId, id: CaseRunId): Promise<number> {
    const { cases, clock, log } = this.uses;
    const failed = this.#failures.get(id) ?? { count: 0, dueAt: 0 };
    const pauseMs = failed.dueAt - clock.now();
    if (pauseMs > 0) return pauseMs;
    try {
      await this.#step(projectId, id);
      this.#failures.delete(id);
      return 0;
    } catch (err) {
      if (this.#loop.stopped.aborted) return 0;
      const count = failed.count + 1;
      log.warn({ err, run: id, failures: count }, "a step of a run over cases failed");
      if (count < ATTEMPTS_MAX) {
        const waitMs = PAUSE_FIRST_MS * 2 ** failed.count;
        this.#failures.set(id, { count, dueAt: clock.now() + waitMs });
        return waitMs;
      }
      const reason = err instanceof Fault ? err.message : "The server's log says why.";
      await cases.end(projectId, id, `A search failed ${ATTEMPTS_MAX} times in a row. ${reason}`);
      this.#failures.delete(id);
      return 0;
    }
  }

  async #step(projectId: ProjectId, id: CaseRunId): Promise<void> {
    const { cases, accounts } = this.uses;
    const step = await cases.step(projectId, id);
    if (step === null) return;
    const { run, place: from, next } = step;
    if (next === null) return cases.end(projectId, id, null);
    const { searchCase, place } = next;
    const own = async () => searchCase.mode ?? (await accounts.project(projectId))?.settings.default_mode;
    const modes = run.modes ?? [(await own()) ?? DEFAULT_SETTINGS.default_mode];
    const sums = await this.#search(projectId, searchCase, modes, run.sums);
    await cases.advance(projectId, id, {
      ...{ from, place, done: run.done + modes.length },
      skipped: run.skipped + (sums === null ? modes.length : 0),
      sums: sums ?? run.sums,
    });
  }

  /** The sums with this case; null if none of the memories that it expects exists any more. */
  async #search(
    projectId: ProjectId,
    { query, userId, memoryIds, createdAt }: SearchCase,
    modes: readonly ModeName[],
    before: readonly CaseSums[],
  ): Promise<readonly CaseSums[] | null> {
    const expected = memoryIds === null ? null : await this.#existing(projectId, memoryIds);
    if (expected?.size === 0) return null;
    const asker = { signal: this.#loop.stopped, confirm: async () => undefined };
    let sums = before;
    for (const mode of modes) {
      const question = {
        ...{ text: query, mode, maxSources: CASE_RESULTS, filter: null, includeGraph: false, asOf: createdAt },
        ...{ instructions: null, model: null },
        ...(userId !== null && { userId }),
      };
      const { results, isAnswerable } = await this.uses.answers.assess({ projectId, userId: null }, question, asker);
      sums = withOutcome(sums, mode, expected, { found: results.map(({ memory }) => memory.id), isAnswerable });
    }
    return sums;
  }

  async #existing(projectId: ProjectId, ids: readonly MemoryId[]): Promise<ReadonlySet<MemoryId>> {
    const existing = new Set<MemoryId>();
    for (const id of ids) if ((await this.uses.memories.get(projectId, id)) !== null) existing.add(id);
    return existing;
  }
}
