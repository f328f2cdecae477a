// Loads large publications, one after the other, before their memories are completed, so that the memories then only
// have to be made visible. followed-project.ts chooses the publications.

import type { ChunkKey, MemoryKey } from "../../../domain/ids.ts";
import type { WantedPublication } from "../../../ports/shared-index.ts";

/**
 * Minimum number of chunks of a publication that is loaded ahead. One with fewer is loaded in a fraction of a second,
 * and its memory is completed at about the same time.
 */
const AHEAD_CHUNKS_MIN = 513;

/** A publication that is being loaded ahead, or was loaded ahead. */
interface Coming {
  readonly firstChunkKey: ChunkKey;
  hasBegun: boolean;
  /** Resolves when the publication is loaded, or was given up. */
  readonly loading: Promise<void>;
}

/** Loads publications of memories that are not completed yet. */
export class ComingPublications {
  readonly #coming = new Map<MemoryKey, Coming>();
  #last: Promise<void> = Promise.resolve();

  /**
   * @param load loads a publication, and ends early when `isWanted` returns false
   * @param onFailure receives the error of `load`; the publication is loaded when its memory is completed
   */
  constructor(
    private readonly load: (wanted: WantedPublication, isWanted: () => boolean) => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** The memories whose publications are being loaded ahead, or were and have not been removed. */
  get memoryKeys(): readonly MemoryKey[] {
    return [...this.#coming.keys()];
  }

  /** First chunk key of the publication of a memory that is loaded ahead; null if there is none. */
  firstChunkKeyOf(memoryKey: MemoryKey): ChunkKey | null {
    return this.#coming.get(memoryKey)?.firstChunkKey ?? null;
  }

  /** Begins to load a publication after those before it, unless it is small or is being loaded already. */
  add(wanted: WantedPublication): void {
    const { memoryKey, firstChunkKey, chunkCount } = wanted;
    if (chunkCount < AHEAD_CHUNKS_MIN || this.firstChunkKeyOf(memoryKey) === firstChunkKey) return;
    const isWanted = () => this.#coming.get(memoryKey) === coming;
    const loading = this.#last.then(async () => {
      if (!isWanted()) return;
      coming.hasBegun = true;
      await this.load(wanted, isWanted).catch(this.onFailure);
    });
    const coming: Coming = { firstChunkKey, hasBegun: false, loading };
    this.#coming.set(memoryKey, coming);
    this.#last = loading;
  }

  /** Forgets a publication. Nothing more of it is written. */
  remove(memoryKey: MemoryKey): void {
    this.#coming.delete(memoryKey);
  }

  /** Waits for a publication if it is being loaded, and gives it up if loading has not begun. */
  async finish(memoryKey: MemoryKey, firstChunkKey: ChunkKey | null): Promise<void> {
    const coming = this.#coming.get(memoryKey);
    if (coming === undefined || coming.firstChunkKey !== firstChunkKey) return;
    if (coming.hasBegun) await coming.loading;
    else this.remove(memoryKey);
  }

  /** Gives up all publications, and waits until nothing of them is being written. */
  async stop(): Promise<void> {
    this.#coming.clear();
    await this.#last;
  }
}
