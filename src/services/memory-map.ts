// The map of memories: a place for each, so that memories with similar meaning lie close together. Places are computed
// in the background, by a native thread of low priority, and stored. A memory keeps its place while new memories come,
// so that people recognise the map; only when there are four times as many, all places are computed again.

import type { Filter } from "../domain/filter.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory } from "../domain/memory.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import { type Viewer, withinViewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { IndexOf, ModelIndex } from "../ports/chunk-index.ts";
import type { MapStore, Place } from "../ports/map-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import { matchingPages } from "./memory-counts.ts";

/** A map of at least this many memories is computed as a whole again when it has grown fourfold. */
const LAID_OUT_MIN = 1_000;
const GROWTH = 4;
/** Minimum time between two computations of a project, in milliseconds: they take seconds for large projects. */
const PAUSE_MS = 2_000;

/** A memory on the map. */
export interface MapPoint extends Place {
  readonly memory: Memory;
}

/** What a viewer may see of a map. */
export interface MemoryMap {
  /** building: no places were computed yet. */
  readonly state: "ready" | "building";
  /** Unix milliseconds; null if nothing was computed yet. */
  readonly computedAt: number | null;
  /** Number of completed memories that match. */
  readonly total: number;
  /** The newest ones that have a place, newest first. */
  readonly points: readonly MapPoint[];
}

/** What is asked of a map. */
export interface MapQuery extends MemoryScope {
  readonly filter: Filter | null;
  readonly limit: number;
}

/** What the service needs. */
export interface MapServiceDependencies {
  readonly memories: Pick<MemoryStore, "list">;
  readonly maps: MapStore;
  readonly index: IndexOf<Pick<ModelIndex, "layout">>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Maps of all projects. */
export class MapService {
  readonly #uses: MapServiceDependencies;
  /** When the next computation of a project may begin. */
  readonly #dueAt = new Map<ProjectId, number>();
  readonly #waiting = new Set<ProjectId>();
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(uses: MapServiceDependencies) {
    this.#uses = uses;
  }

  /** Waits until a computation in progress has ended, and begins no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /**
   * What a viewer may see of the map. Begins to compute the places that are missing.
   * @throws Fault `insufficient_scope` if a confined viewer names another user
   */
  async map(viewer: Viewer, { filter, limit, ...scope }: MapQuery, signal: AbortSignal): Promise<MemoryMap> {
    const { memories, maps } = this.#uses;
    const { projectId } = viewer;
    const conditions = { ...withinViewer(viewer, scope), status: "completed" as const };
    const state = await maps.state(projectId);
    const points: MapPoint[] = [];
    let [total, missing] = [0, 0];
    for await (const matching of matchingPages(memories, projectId, { conditions, filter, signal })) {
      const shown = matching.slice(0, Math.max(0, limit - total));
      total += matching.length;
      const keys = shown.map(({ key }) => key);
      const places =
        keys.length === 0 || state === null ? new Map<MemoryKey, Place>() : await maps.places(projectId, keys);
      for (const memory of shown) {
        const place = places.get(memory.key);
        if (place === undefined) missing += 1;
        else points.push({ memory, ...place });
      }
    }
    if (missing > 0) this.#compute(projectId);
    const isBuilding = state === null && missing > 0;
    return { state: isBuilding ? "building" : "ready", computedAt: state?.computedAt ?? null, total, points };
  }

  #compute(projectId: ProjectId): void {
    if (this.#isStopped || (this.#dueAt.get(projectId) ?? 0) > this.#uses.clock.now()) return;
    this.#waiting.add(projectId);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (const projectId of this.#waiting) {
      if (this.#isStopped) break;
      try {
        await this.#place(projectId);
      } catch (err) {
        this.#uses.log.warn(
          { err, projectId },
          "the map of a project could not be computed; the next request tries again",
        );
      }
      this.#dueAt.set(projectId, this.#uses.clock.now() + PAUSE_MS);
      this.#waiting.delete(projectId);
    }
    this.#running = null;
  }

  async #place(projectId: ProjectId): Promise<void> {
    const { maps, index } = this.#uses;
    const state = await maps.state(projectId);
    // new memories come first, so that a map that already has the maximum number of places shows them too
    const added = await maps.unplaced(projectId, state === null ? LIMITS.mapPoints : LIMITS.mapPoints / 2);
    if (added.length === 0) return;
    const known = await maps.all(projectId, LIMITS.mapPoints - added.length);
    const count = known.length + added.length;
    const isWhole = state === null || (count >= LAID_OUT_MIN && count >= GROWTH * state.laidOut);
    using project = await index.current(projectId);
    const kept = isWhole ? [] : known;
    const others = isWhole ? [...known.map(({ key }) => key), ...added] : added;
    const placed = await project.layout(kept, others);
    await maps.place(projectId, placed, { version: state?.version ?? 0, laidOut: isWhole ? count : null });
  }
}
