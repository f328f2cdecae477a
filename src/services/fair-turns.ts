// Decides whose work is next, and how much runs at once. Measures no time and calls nobody: search-queue.ts waits, and
// carries out what is decided here.
//
// The rules:
// - Projects share the work equally: weighted fair queueing with equal weights (Demers, Keshav and Shenker, 1989). The
//   turn with the earliest virtual finish time is next, so short work goes before long work of another project.
// - Within a project, the shortest work is next, or work that later work of at least the same cost has overtaken.
// - While several projects have work, less is in progress than if there is only one, because what is in progress holds
//   up the others. A project that has nothing in progress may exceed that by a factor of two.

import type { ProjectId } from "../domain/ids.ts";

/** Work that waits for its turn. */
export interface Turn {
  readonly projectId: ProjectId;
  /** Size of the work, in the unit of the capacity. */
  readonly cost: number;
}

/**
 * Cost in progress from which on further turns wait: as much as gives the highest throughput if only one project has
 * work, and as much as keeps the lanes busy if several have.
 */
export interface Capacity {
  readonly alone: number;
  readonly shared: number;
}

/** Cost in progress from which on turns wait: of projects that have nothing in progress, and of the others. */
interface Bounds {
  readonly first: number;
  readonly further: number;
}

interface WaitingTurn<T> {
  readonly turn: T;
  /** Whether it goes before all others of its project. */
  readonly goesFirst: boolean;
  /** Cost of the work of its project that came later and began earlier. */
  overtakenBy: number;
}

interface ProjectTurns<T> {
  /** In the order of their arrival. */
  readonly waiting: WaitingTurn<T>[];
  /** Number of turns in progress. */
  inProgress: number;
  /** Virtual time at which all work that has begun would be done, at an equal share. */
  finish: number;
  /** Cost that had begun in all projects when a turn of this one began last; null: none has. */
  lastBegan: number | null;
}

/** Maximum number of turns in progress. Lanes refuse the 257th call, and each turn has at most one there. */
const IN_PROGRESS_MAX = 192;
/** Factor of the shared capacity for projects with nothing in progress. */
const SPARE_CAPACITY = 2;
/**
 * A project counts as one that has work until this many times the capacity has begun since its last turn. So a client
 * that asks one question after the other has its share between its questions, too.
 */
const RECENT_CAPACITIES = 4;

/** The turns that compete for the same lanes. */
export class FairTurns<T extends Turn> {
  readonly #projects = new Map<ProjectId, ProjectTurns<T>>();
  readonly #capacity: () => Capacity;
  /** `alone` of the capacity when it was last asked for. */
  #alone = 0;
  #inProgress = 0;
  #costInProgress = 0;
  /** Cost that a project would have been served by now if it had always had work. */
  #virtualTime = 0;
  #begun = 0;

  /** @param capacity may change at any time */
  constructor(capacity: () => Capacity) {
    this.#capacity = capacity;
  }

  /** Number of turns in progress. */
  get inProgress(): number {
    return this.#inProgress;
  }

  /** Begins a turn at once if that is fair. Returns whether it has begun. */
  tryBegin(turn: T): boolean {
    const project = this.#projectOf(turn);
    if (project.waiting.length > 0 || !this.#mayBegin(project, this.#bounds(project))) return false;
    this.#catchUp(project);
    this.#begin(project, turn);
    return true;
  }

  /** Adds a turn that waits. @param goesFirst whether it goes before all others of its project */
  add(turn: T, goesFirst: boolean): void {
    const project = this.#projectOf(turn);
    if (project.waiting.length === 0) this.#catchUp(project);
    project.waiting.push({ turn, goesFirst, overtakenBy: 0 });
  }

  /** Begins and returns the next turn; null if none may begin now. */
  next(): T | null {
    const bounds = this.#bounds();
    let best: { readonly project: ProjectTurns<T>; readonly first: WaitingTurn<T>; readonly finish: number } | null =
      null;
    for (const project of this.#projects.values()) {
      const first = firstOf(project.waiting);
      if (first === null || !this.#mayBegin(project, bounds)) continue;
      const finish = project.finish + first.turn.cost;
      if (best === null || finish < best.finish || (finish === best.finish && beganEarlier(project, best.project))) {
        best = { project, first, finish };
      }
    }
    if (best === null) return null;
    const { project, first } = best;
    const at = project.waiting.indexOf(first);
    for (const earlier of project.waiting.slice(0, at)) earlier.overtakenBy += first.turn.cost;
    project.waiting.splice(at, 1);
    this.#begin(project, first.turn);
    return first.turn;
  }

  /** Ends a turn that has begun. */
  end(turn: T): void {
    this.#inProgress -= 1;
    this.#costInProgress -= turn.cost;
    this.#projectOf(turn).inProgress -= 1;
    this.#forgetProjects();
  }

  /** Removes a turn that waits. */
  remove(turn: T): void {
    const { waiting } = this.#projectOf(turn);
    const at = waiting.findIndex((other) => other.turn === turn);
    if (at !== -1) waiting.splice(at, 1);
    this.#forgetProjects();
  }

  /** @param asking a project that has a turn to begin and does not wait yet */
  #bounds(asking: ProjectTurns<T> | null = null): Bounds {
    const { alone, shared } = this.#capacity();
    this.#alone = alone;
    const isShared = this.#countActive(asking) > 1;
    return isShared ? { first: SPARE_CAPACITY * shared, further: shared } : { first: alone, further: alone };
  }

  /** Number of projects that have work or had some a moment ago. */
  #countActive(asking: ProjectTurns<T> | null): number {
    let count = 0;
    for (const project of this.#projects.values()) {
      if (project === asking || hasWork(project) || this.#isRecent(project)) count += 1;
    }
    return count;
  }

  #isRecent({ lastBegan }: ProjectTurns<T>): boolean {
    return lastBegan !== null && this.#begun - lastBegan < RECENT_CAPACITIES * this.#alone;
  }

  #mayBegin({ inProgress }: ProjectTurns<T>, { first, further }: Bounds): boolean {
    return this.#inProgress < IN_PROGRESS_MAX && this.#costInProgress < (inProgress === 0 ? first : further);
  }

  /** Begins the virtual time of a project that had nothing waiting: it does not save up what it did not use. */
  #catchUp(project: ProjectTurns<T>): void {
    project.finish = Math.max(this.#virtualTime, project.finish);
  }

  #begin(project: ProjectTurns<T>, { cost }: T): void {
    project.finish += cost;
    project.inProgress += 1;
    this.#inProgress += 1;
    this.#costInProgress += cost;
    this.#begun += cost;
    project.lastBegan = this.#begun;
    this.#virtualTime += cost / this.#countActive(project);
  }

  #projectOf({ projectId }: T): ProjectTurns<T> {
    const known = this.#projects.get(projectId);
    if (known !== undefined) return known;
    const project: ProjectTurns<T> = { waiting: [], inProgress: 0, finish: 0, lastBegan: null };
    this.#projects.set(projectId, project);
    return project;
  }

  /** Forgets projects without recent work that have not used more than their share; all if none has work. */
  #forgetProjects(): void {
    let isIdle = true;
    for (const [id, project] of this.#projects) {
      if (hasWork(project)) isIdle = false;
      else if (project.finish <= this.#virtualTime && !this.#isRecent(project)) this.#projects.delete(id);
    }
    if (!isIdle) return;
    this.#projects.clear();
    this.#virtualTime = 0;
    this.#begun = 0;
  }
}

/** Whether the last turn of `one` began before that of `other`. */
function beganEarlier<T>({ lastBegan: one }: ProjectTurns<T>, { lastBegan: other }: ProjectTurns<T>): boolean {
  return (one ?? Number.NEGATIVE_INFINITY) < (other ?? Number.NEGATIVE_INFINITY);
}

function hasWork<T>({ waiting, inProgress }: ProjectTurns<T>): boolean {
  return waiting.length + inProgress > 0;
}

/** The turn of a project that is next: the shortest, unless one has been overtaken by work of at least its own cost. */
function firstOf<T extends Turn>(waiting: readonly WaitingTurn<T>[]): WaitingTurn<T> | null {
  let shortest: WaitingTurn<T> | null = null;
  let isOverdue = false;
  for (const one of waiting) {
    if (one.goesFirst) return one;
    if (isOverdue) continue;
    isOverdue = one.overtakenBy >= one.turn.cost;
    if (isOverdue || shortest === null || one.turn.cost < shortest.turn.cost) shortest = one;
  }
  return shortest;
}
