// The index of a project, opened without a server. `mneme bench scale` fills it with the vectors of `--vectors`.

import { addon } from "../../src/adapters/native/addon.ts";
import { nativeChunks } from "../../src/adapters/native/chunks.ts";

/** Fingerprint of a model that does not exist, so that no server takes the index for one of its own. */
const FINGERPRINT = "pseudo-random vectors";

/** Interval at which the progress of building the graph is read. */
const GRAPH_POLL_MS = 20;

/** An index whose memories have one chunk each: a vector and one word. */
export interface BareIndex {
  /**
   * Adds memories `first`, `first + 1`, …, one per vector. `userOf` says which user each belongs to; 0 for none.
   * @param vectors unit vectors, row-major
   */
  readonly add: (first: number, vectors: Float32Array, userOf: (memory: number) => number) => Promise<void>;
  /** The memories with the nearest vectors, best first. @param user only those of this user; null for all */
  readonly nearest: (query: Float32Array, user: number | null, limit: number) => Promise<readonly number[]>;
  /** Makes the first `count` memories visible after the index was opened again. `userOf` as for `add`. */
  readonly show: (count: number, userOf: (memory: number) => number) => void;
  /**
   * Builds the graph (HNSW), or loads it, and resolves when it answers searches. `onProgress` gets the share that is
   * built, 0..1.
   * @throws Error if the graph cannot be built
   */
  readonly useGraph: (onProgress: (share: number) => void) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens or creates an index in a folder. No memory is found before it was added, or `show` was called for it. */
export async function openBareIndex(directory: string, dimensions: number): Promise<BareIndex> {
  const index = await addon().openProject({ directory, newModel: { fingerprint: FINGERPRINT, dimensions } });
  const show = (memories: readonly number[], userOf: (memory: number) => number) =>
    index.show(
      BigUint64Array.from(memories, keyOf),
      BigUint64Array.from(memories, (memory) => BigInt(userOf(memory))),
      new Float64Array(memories.length),
    );
  return {
    add: async (first, vectors, userOf) => {
      const memories = Array.from({ length: vectors.length / dimensions }, (_, at) => first + at);
      const chunks = memories.map((memory) => ({
        ...{ chunkKey: keyOf(memory), memoryKey: keyOf(memory), own: "word", context: null },
        ...{ language: "und", passage: "", place: "" },
      }));
      const published = {
        memoryKeys: BigUint64Array.from(memories, keyOf),
        entities: memories.map(() => ({ title: null, phrases: [] })),
      };
      await index.publish(published, await nativeChunks(chunks), [{ fingerprint: FINGERPRINT, vectors }]);
      show(memories, userOf);
    },
    show: (count, userOf) => show([...Array(count).keys()], userOf),
    nearest: async (query, user, limit) => {
      const within = index.admit(user === null ? null : BigInt(user), 0);
      const { chunkKeys } = await index.searchVectors(FINGERPRINT, query, within, limit);
      return [...chunkKeys].map((key) => Number(key) - 1);
    },
    useGraph: async (onProgress) => {
      await index.chooseVectorIndex("hnsw");
      for (;;) {
        const { isGraphActive, build, vectorsMissing } = index.vectorIndexStatus();
        if (isGraphActive && vectorsMissing === 0) return;
        if (build?.error != null) throw new Error(`The graph could not be built: ${build.error}`);
        onProgress((build?.vectorsDone ?? 0) / Math.max(1, build?.vectorsTotal ?? 1));
        await Bun.sleep(GRAPH_POLL_MS);
      }
    },
    close: () => index.close(),
  };
}

/** Key of a memory and of its chunk. Keys begin at 1, because 0 is not a valid key. */
function keyOf(memory: number): bigint {
  return BigInt(memory + 1);
}
