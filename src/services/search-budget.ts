// A strict time budget for searches: those that would probably take longer than the budget of their mode are refused at
// once, instead of waiting. Off by default. docs/decisions/070-searches-beyond-capacity.md explains the rules.
//
// The work of searches is counted in units. How long a search takes for each unit in progress is measured on the
// searches that end, so the same rules fit any machine, whatever else it is doing.

import type { ProjectId } from "../domain/ids.ts";
import { MODE_NAMES, type ModeName } from "../domain/ranking.ts";
import { overloaded, type QueuedWork, type QueueLoad, type SearchQueue, UNITS } from "./search-queue.ts";

/** Time in milliseconds within which 95 % of a mode's searches should end, while the server has more than it can do. */
const LATENCY_BUDGETS_MS: Readonly<Record<ModeName, number>> = {
  fast: 100,
  hybrid: 150,
  balanced: 300,
  precise: 800,
};

/** Number of searches in progress below which a search is never refused, however slow the machine is. */
const ALWAYS_ADMITTED = 4;

/**
 * For this time, in milliseconds, searches beyond the budget are not refused, so a short burst is answered whole. Once
 * the time is used up, there is no other burst until all of it has come back, ten times as slowly.
 */
const BURST_MS = 1_000;
const BURST_REFILL = 0.1;

/** Maximum number of searches in progress in a burst. */
const BURST_SEARCHES = 128;
/** Factor of the budget for a project that has less than its share of the work in progress. */
const SHARE_BUDGETS = 2;

/** Weight of a new measurement in the moving averages. */
const WEIGHT = 1 / 16;
/** A measurement counts at most as this multiple of the average, because one search may wait for a cold disk. */
const OUTLIER = 4;
/** Milliseconds per unit, and its mean absolute deviation, before the first measurement. */
const FIRST_UNIT_MS = 5;
const FIRST_UNIT_MS_DEVIATION = 1;
/** Number of mean absolute deviations above the average within which 95 % of the searches end. */
const DEVIATIONS = 2.5;
/** Share of a budget that predictions may use up. The rest is reserve, because predictions lag behind what changes. */
const BUDGET_SHARE = 0.9;

interface Search {
  readonly mode: ModeName;
  readonly projectId: ProjectId;
}

/** Options of a budget. */
export interface SearchBudgetOptions {
  /** Multiplies the budgets of all modes. */
  readonly budgetFactor: number;
  /** Runs the searches that are not refused. */
  readonly queue: SearchQueue;
  /** Called for each search that is refused. */
  readonly onRefused?: (mode: ModeName) => void;
  /** Time in milliseconds that never goes back. */
  readonly now?: () => number;
}

/** What is known of the searches of a mode. */
interface ModeState {
  readonly units: number;
  /** Number of searches in progress. */
  searches: number;
  /** Moving averages: milliseconds that a search takes per unit in progress, and the mean absolute deviation. */
  unitMs: number;
  unitMsDeviation: number;
}

/** A queue that refuses searches that would exceed their budget. Other work passes. */
export class SearchBudget implements SearchQueue {
  readonly #options: SearchBudgetOptions;
  readonly #now: () => number;
  readonly #modes = modeStates();
  readonly #unitsOfProject = new Map<ProjectId, number>();
  #burstLeftMs = BURST_MS;
  #burstCheckedAt: number;
  #isBurstUsedUp = false;
  /** Whether the last search was beyond its budget. */
  #isBeyond = false;

  constructor(options: SearchBudgetOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#burstCheckedAt = this.#now();
  }

  load(): QueueLoad {
    return this.#options.queue.load();
  }

  close(): void {
    this.#options.queue.close();
  }

  /**
   * Like `SearchQueue.run`. Searches that fail or are aborted do not change the measured times.
   * @throws Fault `overloaded` at once if the search would probably take too long
   */
  async run<Result>(work: QueuedWork, begin: (waitedMs: number) => Promise<Result>): Promise<Result> {
    const { queue } = this.#options;
    const name = MODE_NAMES.find((mode) => mode === work.task);
    if (name === undefined) return queue.run(work, begin);
    const search = { mode: name, projectId: work.projectId };
    const mode = this.#modes[name];
    this.#admit(search);
    const startedAt = this.#now();
    this.#count(search, 1);
    const units = this.#unitsFor(mode);
    try {
      const result = await queue.run(work, begin);
      measure(mode, (this.#now() - startedAt) / units);
      return result;
    } finally {
      this.#count(search, -1);
      this.#countBurst(this.#isBeyond && this.#searches >= ALWAYS_ADMITTED);
    }
  }

  get #searches(): number {
    return sumOf(this.#modes, ({ searches }) => searches);
  }

  #admit({ mode, projectId }: Search): void {
    const budgetMs = LATENCY_BUDGETS_MS[mode] * this.#options.budgetFactor * BUDGET_SHARE;
    const predictedMs = this.#predict(this.#modes[mode]);
    const isBeyond = this.#searches >= ALWAYS_ADMITTED && predictedMs > budgetMs;
    this.#countBurst(isBeyond);
    if (!isBeyond) return;
    if (!this.#isBurstUsedUp && this.#searches < BURST_SEARCHES) return;
    if (this.#hasLessThanItsShare(projectId) && predictedMs <= budgetMs * SHARE_BUDGETS) return;
    this.#options.onRefused?.(mode);
    throw overloaded(predictedMs - budgetMs);
  }

  /** Time in milliseconds within which one more search of this mode would end, in 95 % of the cases. */
  #predict(mode: ModeState): number {
    return (mode.unitMs + DEVIATIONS * mode.unitMsDeviation) * (this.#unitsFor(mode) + mode.units);
  }

  /**
   * Units of the searches in progress that delay one of this mode. A search of a longer mode counts like one of this
   * mode, because short work overtakes long work in the lanes.
   */
  #unitsFor({ units }: ModeState): number {
    return sumOf(this.#modes, (mode) => mode.searches * Math.min(mode.units, units));
  }

  /** Whether other projects have work in progress, and this one has less of it than an equal share. */
  #hasLessThanItsShare(projectId: ProjectId): boolean {
    const own = this.#unitsOfProject.get(projectId) ?? 0;
    const projects = this.#unitsOfProject.size + (own === 0 ? 1 : 0);
    return own < sumOf(this.#modes, ({ searches, units }) => searches * units) / projects;
  }

  #countBurst(isBeyond: boolean): void {
    const now = this.#now();
    const passedMs = now - this.#burstCheckedAt;
    const change = this.#isBeyond ? -passedMs : passedMs * BURST_REFILL;
    this.#burstLeftMs = Math.min(BURST_MS, Math.max(0, this.#burstLeftMs + change));
    if (this.#burstLeftMs === 0) this.#isBurstUsedUp = true;
    if (this.#burstLeftMs === BURST_MS) this.#isBurstUsedUp = false;
    this.#burstCheckedAt = now;
    this.#isBeyond = isBeyond;
  }

  #count({ mode, projectId }: Search, change: 1 | -1): void {
    const state = this.#modes[mode];
    state.searches += change;
    const units = (this.#unitsOfProject.get(projectId) ?? 0) + change * state.units;
    if (units > 0) this.#unitsOfProject.set(projectId, units);
    else this.#unitsOfProject.delete(projectId);
  }
}

function modeStates(): Readonly<Record<ModeName, ModeState>> {
  const stateOf = (mode: ModeName): ModeState => ({
    ...{ units: UNITS[mode], searches: 0 },
    ...{ unitMs: FIRST_UNIT_MS, unitMsDeviation: FIRST_UNIT_MS_DEVIATION },
  });
  return {
    fast: stateOf("fast"),
    hybrid: stateOf("hybrid"),
    balanced: stateOf("balanced"),
    precise: stateOf("precise"),
  };
}

function measure(mode: ModeState, unitMs: number): void {
  const counted = Math.min(unitMs, mode.unitMs * OUTLIER);
  mode.unitMsDeviation += WEIGHT * (Math.abs(counted - mode.unitMs) - mode.unitMsDeviation);
  mode.unitMs += WEIGHT * (counted - mode.unitMs);
}

function sumOf(modes: Readonly<Record<ModeName, ModeState>>, value: (mode: ModeState) => number): number {
  return MODE_NAMES.reduce((sum, name) => sum + value(modes[name]), 0);
}
