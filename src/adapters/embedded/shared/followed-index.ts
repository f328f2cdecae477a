// ChunkIndex of one of several nodes. Texts and publications are in a shared store; the native index of each project is
// this node's copy, which follows the project's change sequence (followed-project.ts). A project is opened when it is
// used first.

import { existsSync, readdirSync } from "node:fs";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { ProjectIndex as NativeIndex } from "../../native/core.ts";
import { EmbeddedChunkIndex } from "../chunk-index.ts";
import type { EmbeddedIndexParts } from "../project-index.ts";
import { FollowedProjectIndex, type FollowParts } from "./followed-project.ts";

/**
 * Interval in milliseconds at which open projects are compared with their committed sequence numbers. It bounds how
 * much the next search has to catch up with; whether a search sees a change does not depend on it.
 */
const POLL_MS = 250;

/** Minimum time between two erasures of retracted data from the files of a node, in milliseconds. */
const ERASE_MS = 10 * 60_000;

/** Options of `FollowedChunkIndex`. */
export type FollowedIndexParts = EmbeddedIndexParts & FollowParts;

/** ChunkIndex of one of several nodes. */
export class FollowedChunkIndex extends EmbeddedChunkIndex {
  readonly #parts: FollowedIndexParts;
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
  #erasedAt = 0;

  constructor(parts: FollowedIndexParts) {
    super(parts);
    this.#parts = parts;
    this.#polling = this.#poll();
  }

  /** The projects of which this node has files. */
  get projectsHere(): readonly ProjectId[] {
    const { directory } = this.#parts;
    return existsSync(directory) ? (readdirSync(directory) as ProjectId[]) : [];
  }

  /** Opens the index and brings it up to date with what was committed before the first call. */
  override async project(id: ProjectId): Promise<FollowedProjectIndex> {
    const index = (await super.project(id)) as FollowedProjectIndex;
    await index.opened();
    return index;
  }

  override async current(id: ProjectId): Promise<FollowedProjectIndex> {
    const index = (await super.project(id)) as FollowedProjectIndex;
    await index.untilCurrent();
    return index;
  }

  override async show(id: ProjectId): Promise<void> {
    await this.#wake(id);
  }

  override async hide(id: ProjectId): Promise<void> {
    await this.#wake(id);
  }

  /** A node that has not opened the project needs nothing: it does not load deleted memories. */
  override async retract(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    const index = await this.opened.get(id);
    if (index !== undefined) await index.retract(memoryKeys);
  }

  /** Other nodes purge texts without this one being told, so what was retracted here is erased after a while. */
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

  override async close(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await super.close();
  }

  protected override create(
    id: ProjectId,
    native: NativeIndex,
    parts: EmbeddedIndexParts,
    repairs: readonly string[],
  ): FollowedProjectIndex {
    for (const repair of repairs) this.#parts.log.warn({ projectId: id }, repair);
    return new FollowedProjectIndex(id, native, parts, { repairs, follow: this.#parts });
  }

  /** Changes do not open a project: opening can take long, and a change must not wait for it. */
  async #wake(id: ProjectId): Promise<void> {
    ((await this.opened.get(id)) as FollowedProjectIndex | undefined)?.wake();
  }

  async #poll(): Promise<void> {
    const { clock, log } = this.#parts;
    for (;;) {
      await clock.sleep(POLL_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      try {
        await this.#compare();
      } catch (err) {
        log.debug({ err }, "changes of other nodes could not be looked up; trying again");
      }
    }
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
