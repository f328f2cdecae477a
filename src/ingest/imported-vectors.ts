// Reads the vectors of a project for an export, and checks those that came with an import. Imported vectors are used
// only if model and texts are the same. Otherwise they are computed as for any memory.

import { createHash } from "node:crypto";
import type { Chunk, ChunkTexts } from "../domain/chunk.ts";
import {
  type IndexOf,
  type ModelIndex,
  OtherModel,
  type PublishedMemories,
  type StoredChunk,
} from "../ports/chunk-index.ts";
import type { ImportedVectors, JobStore } from "../ports/job-store.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import type { Embedder } from "../ports/models.ts";
import { PrepareFailure, type Preparer } from "../ports/preparer.ts";
import type { ReadVectors, VectorReader } from "../ports/vector-reader.ts";
import { areSame, batchesOf, type PreparedAgain, prepareAgain } from "./published-texts.ts";

/** Number of vectors that are read at once: about 1 MB. */
const PART_CHUNKS = 512;

/** The chunks of a memory, and what models read of them. */
interface EmbeddedTexts {
  readonly chunks: readonly Chunk[];
  readonly texts: Pick<ChunkTexts, "embeddedText">;
}

/** SHA-256 of the texts that a model reads of the chunks of a memory, in hexadecimal digits. */
export function sha256OfInputs(texts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text}\0`);
  return hash.digest("hex");
}

function inputsSha256({ chunks, texts }: EmbeddedTexts): string {
  return sha256OfInputs(chunks.map((chunk) => texts.embeddedText(chunk)));
}

/**
 * The imported vectors of a memory, if they are those that the model would compute.
 * @returns `[chunks, dimensions]`, row-major; null if they are of another model, of other texts, incomplete, or not
 *   numbers
 */
export function usableVectors(
  imported: ImportedVectors | null,
  prepared: EmbeddedTexts,
  { fingerprint, dimensions }: Pick<Embedder, "fingerprint" | "dimensions">,
): Float32Array | null {
  if (imported?.fingerprint !== fingerprint) return null;
  const { bytes } = imported;
  if (bytes.byteLength !== prepared.chunks.length * dimensions * 4) return null;
  if (imported.inputsSha256 !== inputsSha256(prepared)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const vectors = Float32Array.from({ length: bytes.byteLength / 4 }, (_, at) => view.getFloat32(at * 4, true));
  for (let first = 0; first < vectors.length; first += dimensions) {
    const length = vectors.subarray(first, first + dimensions).reduce((sum, value) => sum + value * value, 0);
    if (!(length > 0 && length < Number.POSITIVE_INFINITY)) return null;
  }
  return vectors;
}

/** Dependencies of `vectorReader`. */
export interface VectorReaderDependencies {
  readonly jobs: Pick<JobStore, "published">;
  readonly extractions: Pick<LlmExtractionStore, "previous">;
  readonly index: IndexOf<ModelIndex> & Pick<PublishedMemories, "stored">;
  readonly preparer: Preparer;
}

/** Reads the vectors of published memories. */
export function vectorReader(uses: VectorReaderDependencies): VectorReader {
  return async function* vectors(projectId, keys) {
    const { jobs, index } = uses;
    using project = await index.project(projectId);
    const { live } = await project.models();
    for (const batch of batchesOf(await jobs.published(projectId, keys))) {
      const stored = await index.stored(batch.map(({ memory }) => memory.key));
      for (const memory of await prepareAgain(uses, batch, stored)) {
        try {
          yield* partsOf(project, memory, live);
        } catch (error) {
          // The model was swapped meanwhile. Vectors of the new one would not fit those that were read before.
          if (error instanceof OtherModel) return;
          throw error;
        }
      }
    }
  };
}

async function* partsOf(
  project: ModelIndex,
  { extracted: { job }, stored: { chunks: places }, outcome }: PreparedAgain,
  { fingerprint, dimensions }: { readonly fingerprint: string; readonly dimensions: number },
): AsyncGenerator<ReadVectors> {
  if (outcome instanceof PrepareFailure || !areSame(outcome.chunks, places)) return;
  const { key: memoryKey } = job.memory;
  const inputs = inputsSha256(outcome);
  for (let first = 0; first < places.length; first += PART_CHUNKS) {
    const part: readonly StoredChunk[] = places.slice(first, first + PART_CHUNKS);
    const chunkKeys = BigUint64Array.from(part, ({ chunkKey }) => chunkKey);
    const memoryKeys = new BigUint64Array(part.length).fill(memoryKey);
    const vectors = await project.storedVectors(fingerprint, { chunkKeys, memoryKeys });
    if (vectors.some(Number.isNaN)) return;
    yield { memoryKey, fingerprint, dimensions, inputsSha256: inputs, first, vectors };
  }
}
