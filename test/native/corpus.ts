// Memories that the native core's tests publish. Key and version determine the whole content of a memory, so that a
// test knows for each hit what was written.

import { addon } from "../../src/adapters/native/addon.ts";
import type {
  KnownEntities,
  NativeIndex,
  ProjectIndexOptions,
  PublishChunk,
  VectorModel,
  VectorsOfModel,
} from "../../src/adapters/native/addon-types.ts";
import { nativeChunks, type PublishChunks } from "../../src/adapters/native/chunks.ts";
import { seeded } from "../support/seeded.ts";

/** Number of components of every vector in these tests. The native core pads rows of 24 components. */
export const DIMENSIONS = 24;

/** Model fingerprint of every project in these tests. */
export const FINGERPRINT = "model-a";
/** Model of every project in these tests. */
export const MODEL: VectorModel = { fingerprint: FINGERPRINT, dimensions: DIMENSIONS };

/** Seed of the random tests: `MNEME_TEST_SEED=<n>` repeats a run. */
export const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);

/** Arguments of `publish`. */
export interface Publication {
  readonly memoryKeys: BigUint64Array;
  readonly chunks: PublishChunk[];
  /** Shape `[chunks, DIMENSIONS]`: one row per chunk. */
  readonly vectors: Float32Array;
}

/** Opens or creates a project, and says what was repaired. */
export async function openIndex(options: ProjectIndexOptions) {
  const index = await addon().openProject(options);
  return { index, repairs: index.repairs() };
}

const NOTHING_KNOWN: KnownEntities = { title: null, phrases: [] };

/** Publishes chunks in the native core. By default, no entities of their memories are known. */
export async function publish(
  index: NativeIndex,
  memoryKeys: BigUint64Array,
  chunks: PublishChunks,
  vectors: readonly VectorsOfModel[],
  entities: readonly KnownEntities[] = Array.from(memoryKeys, () => NOTHING_KNOWN),
): Promise<void> {
  await index.publish({ memoryKeys, entities }, await nativeChunks(chunks), vectors);
}

/** A random vector of unit length with `DIMENSIONS` components. */
export function unitVector(random: () => number): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => random() + random() - 1);
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

/** The chunk keys of a memory in a version. No other key and version has the same ones. */
export function chunkKeysOf(memoryKey: bigint, version: number, chunksEach: number): bigint[] {
  const first = (BigInt(version) * 1_000_000n + memoryKey) * 100n;
  return Array.from({ length: chunksEach }, (_, ordinal) => first + BigInt(ordinal));
}

/** The vector of a chunk. */
export function vectorOf(chunkKey: bigint): Float32Array {
  return unitVector(seeded(Number(chunkKey % 0xffff_ffffn)));
}

/** Memories whose chunks contain their own key: chunk 123 has the word `c123` and the passage `passage 123`. */
export function publication(memoryKeys: readonly bigint[], version: number, chunksEach: number): Publication {
  const chunks = memoryKeys.flatMap((memoryKey) =>
    chunkKeysOf(memoryKey, version, chunksEach).map((chunkKey): PublishChunk => {
      const own = `c${chunkKey} of m${memoryKey}`;
      return { chunkKey, memoryKey, own, context: null, language: "en", passage: `passage ${chunkKey}`, place: "" };
    }),
  );
  const vectors = new Float32Array(chunks.length * DIMENSIONS);
  for (const [at, chunk] of chunks.entries()) vectors.set(vectorOf(chunk.chunkKey), at * DIMENSIONS);
  return { memoryKeys: BigUint64Array.from(memoryKeys), chunks, vectors };
}

/** Vectors of the model of these tests, as `publish` takes them. */
export function live(vectors: Float32Array): readonly [VectorsOfModel] {
  return [{ fingerprint: FINGERPRINT, vectors }];
}

/** Cosine of two unit vectors. */
export function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, component, at) => sum + component * (right[at] ?? 0), 0);
}
