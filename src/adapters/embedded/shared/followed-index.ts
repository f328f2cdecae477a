// ChunkIndex of one of several nodes. Texts and publications are in a shared store; the native index of each project is
// this node's copy, which follows the project's change sequence (followed-project.ts). A project is opened when it is
// used first.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import { readAhead } from "../../../kit/pipelined.ts";
import type { NativeIndex } from "../../native/addon-types.ts";
import { EmbeddedChunkIndex } from "../chunk-index.ts";
import type { IndexDependencies, ProjectIndexDependencies } from "../project-index.ts";
import { type FollowDependencies, FollowedProjectIndex, type ReadAhead } from "./followed-project.ts";

/**
 * Interval in milliseconds at which open projects are compared with their committed sequence numbers. It bounds how
 * much the next search has to catch up with; whether a search sees a change does not depend on it.
 */
const POLL_MS = 250;

/** Minimum time between two erasures of retracted data from the files of a node, in milliseconds. */
const ERASE_MS = 10 * 60_000;

/** Number of polls after which the memory of open projects is estimated again: they grow while they are used. */
const ESTIMATE_POLLS = 20;

/**
 * Maximum number of pages of memories that are read while the files of their project are being opened. A page takes
 * about 0.6 MB of memory until it is used.
 */
const PAGES_AHEAD = 160;

/** Options of `FollowedChunkIndex`. */
export type FollowedIndexDependencies = IndexDependencies &
  FollowDependencies & {
    /** Maximum memory of the open projects in bytes; null: no limit. */
    readonly memoryMax: number | null;
  };

/** The open projects of a node. */
export interface IndexUsage {
  readonly projects: number;
  /** Estimate of their memory. */
  readonly bytes: number;
  /** Number of projects that were closed to save memory, since the start. */
  readonly closed: number;
}

/** ChunkIndex of one of several nodes. */
export class FollowedChunkIndex extends EmbeddedChunkIndex {
  readonly #parts: FollowedIndexDependencies;
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
  #erasedAt = 0;
  #uses = 0;
  #isTrimming = false;
  readonly #ahead = new Map<ProjectId, ReadAhead>();
  /** Estimates of the memory of open projects, in bytes. */
  #memory = new Map<FollowedProjectIndex, number>();
  /** Number of projects that were closed to save memory. */
  #closed = 0;

  constructor(parts: FollowedIndexDependencies) {
    super(parts);
    this.#parts = parts;
    this.#polling = this.#poll();
  }

  /** The projects of which this node has files. */
  get projectsHere(): readonly ProjectId[] {
    const { directory } = this.#parts;
    return existsSync(directory) ? (readdirSync(directory) as ProjectId[]) : [];
  }

  /** The open projects, for operators. */
  get usage(): IndexUsage {
    const bytes = [...this.#memory.values()].reduce((sum, each) => sum + each, 0);
    return { projects: this.opened.size, bytes, closed: this.#closed };
  }

  /** Opens the index and brings it up to date with what was committed before the first call. */
  override project(id: ProjectId): Promise<FollowedProjectIndex> {
    return this.#held(id, (index) => index.opened());
  }

  override current(id: ProjectId): Promise<FollowedProjectIndex> {
    return this.#held(id, (index) => index.untilCurrent());
  }

  /** The index of a project, which the caller holds, after `prepare`. */
  async #held(id: ProjectId, prepare: (index: FollowedProjectIndex) => Promise<void>): Promise<FollowedProjectIndex> {
    let index: FollowedProjectIndex;
    do {
      this.#readAhead(id);
      try {
        index = (await super.project(id)) as FollowedProjectIndex;
      } finally {
        this.#ahead.delete(id); // the next attempt reads again
      }
    } while (!index.hold());
    index.lastUse = ++this.#uses;
    try {
      await prepare(index);
    } catch (error) {
      index[Symbol.dispose]();
      throw error;
    }
    if (!this.#memory.has(index)) {
      this.#memory.set(index, index.memoryBytes);
      this.#trim();
    }
    return index;
  }

  /** Begins to read the rows of a project while its files are still to be opened: each takes about as long. */
  #readAhead(id: ProjectId): void {
    const { shared, completedOf, archive, directory } = this.#parts;
    if (this.opened.has(id) || this.#ahead.has(id) || !existsSync(join(directory, id))) return;
    const sequence = shared.sequence(id);
    const chunkKeys = sequence.then(() => archive.chunkKeys(id));
    void Promise.allSettled([sequence, chunkKeys]); // their failures are thrown where the results are used
    const afterSequence = async function* () {
      await sequence;
      yield* completedOf(id);
    };
    this.#ahead.set(id, { sequence, completed: readAhead(afterSequence(), PAGES_AHEAD), chunkKeys });
  }

  /** Closes the least recently used projects until the others are within the limit. */
  #trim(): void {
    const { memoryMax, log } = this.#parts;
    if (memoryMax === null || this.#isTrimming) return;
    this.#isTrimming = true;
    this.#closeSurplus(memoryMax)
      .catch((err: unknown) => log.error({ err }, "indexes could not be closed to save memory"))
      .finally(() => {
        this.#isTrimming = false;
      });
  }

  async #closeSurplus(memoryMax: number): Promise<void> {
    const { log } = this.#parts;
    while (this.usage.bytes > memoryMax) {
      const byUse = [...this.#memory.keys()].sort((one, other) => one.lastUse - other.lastUse);
      // the one that was used last stays: its user may come back at once
      const index = byUse.slice(0, -1).find((each) => each.retire());
      if (index === undefined) return;
      this.#memory.delete(index);
      this.#closed += 1;
      log.debug({ projectId: index.id }, "an index was closed to save memory");
      await this.closeUntilUsed(index.id, index);
    }
  }

  override async show(id: ProjectId): Promise<void> {
    await this.#wake(id);
  }

  override async hide(id: ProjectId): Promise<void> {
    await this.#wake(id);
  }

  /** A node that has not opened the project needs nothing: it does not load deleted memories. */
  override async retract(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    using index = await this.opened.get(id);
    if (index?.hold() === true) await index.retract(memoryKeys);
  }

  /** Other nodes purge texts without telling this one, so what was retracted here is erased after a while. */
  override async compact(erasesNow = false): Promise<boolean> {
    const now = this.#parts.clock.now();
    if (now - this.#erasedAt >= ERASE_MS) {
      this.#erasedAt = now;
      for (const [id, opening] of this.opened) {
        if (((await opening) as FollowedProjectIndex).takeHasRetracted()) this.eraseSoon(id);
      }
    }
    return super.compact(erasesNow);
  }

  override async drop(id: ProjectId): Promise<void> {
    const opening = this.opened.get(id);
    await super.drop(id);
    const index = (await opening) as FollowedProjectIndex | undefined;
    if (index !== undefined) this.#memory.delete(index);
  }

  override async close(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await super.close();
  }

  protected override create(
    id: ProjectId,
    native: NativeIndex,
    parts: ProjectIndexDependencies,
    repairs: readonly string[],
  ): FollowedProjectIndex {
    for (const repair of repairs) this.#parts.log.warn({ projectId: id }, repair);
    const ahead = this.#ahead.get(id) ?? null;
    return new FollowedProjectIndex(id, native, parts, { repairs, follow: this.#parts, ahead });
  }

  /** Changes do not open a project: opening can take long, and a change must not wait for it. */
  async #wake(id: ProjectId): Promise<void> {
    ((await this.opened.get(id)) as FollowedProjectIndex | undefined)?.wake();
  }

  async #poll(): Promise<void> {
    const { clock, log } = this.#parts;
    for (let polls = 1; ; polls++) {
      await clock.sleep(POLL_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      try {
        await this.#compare();
        if (polls % ESTIMATE_POLLS === 0) await this.#estimate();
      } catch (err) {
        log.debug({ err }, "changes of other nodes could not be looked up; trying again");
      }
    }
  }

  async #estimate(): Promise<void> {
    const open = (await Promise.all(this.opened.values())) as FollowedProjectIndex[];
    const loaded = open.filter((index) => this.#memory.has(index));
    this.#memory = new Map(loaded.map((index) => [index, index.memoryBytes]));
    this.#trim();
  }

  /** Wakes the projects that have changed, and drops those that another node removed. */
  async #compare(): Promise<void> {
    const ids = [...this.opened.keys()];
    const sequences = await this.#parts.shared.sequences(ids);
    for (const id of ids) {
      const sequence = sequences.get(id);
      if (sequence === undefined) await this.drop(id);
      else {
        const index = (await this.opened.get(id)) as FollowedProjectIndex | undefined;
        if (index !== undefined && index.applied !== sequence) index.wake();
      }
    }
  }
}
