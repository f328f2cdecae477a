// Documents indexed in one way or another, in this process: an index of their own with whatever texts and vectors of their chunks, and
// the rows that a search hydrates from. For benches that ask what a way of indexing is worth; a server knows one way only.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { describeEmbedder } from "../../src/adapters/inference/model-files.ts";
import { Progress } from "../../src/cli/terminal.ts";
import type { Chunk } from "../../src/domain/chunk.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { createLog } from "../../src/kit/log.ts";
import { loadWordPiece } from "../../src/kit/wordpiece.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import type { Embedder } from "../../src/ports/models.ts";
import { assemble, type CodePointCut } from "../../src/preparation/assemble.ts";
import { prepareRanges } from "../../src/preparation/prepare.ts";
import type { LongDocument } from "./long-documents.ts";

/** Texts embedded in one call: an ingest's slice. */
const SLICE = 64;
const HNSW_MIN_CHUNKS = 1_000_000;
const MODELS = join(import.meta.dir, "../../data/models");

/** The project of every index that is made here. */
export const PROJECT = "prj_bench" as ProjectId;

/** A document with its chunks. */
export interface ChunkedDocument {
  readonly memory: Memory;
  readonly content: string;
  readonly cut: CodePointCut;
  /** With the texts that ingest makes of them. */
  readonly chunks: readonly Chunk[];
}

/** The texts of a chunk that an index is made of. */
export interface ChunkTexts {
  readonly embedded: string;
  readonly own: string;
  readonly context: string | null;
}

/** Another way of indexing. */
export interface IndexVariant {
  readonly texts: (document: ChunkedDocument, ordinal: number) => ChunkTexts;
  /** How much of each neighbour's vector is added to a chunk's own; 0: none. */
  readonly neighbourWeight: number;
}

/** Documents cut into chunks as ingest cuts them; their keys are their positions from 1. */
export function chunkedDocuments(documents: readonly LongDocument[]): readonly ChunkedDocument[] {
  const tokenizer = loadWordPiece(describeEmbedder(MODELS).tokenizerPath);
  const models = { countTokens: (text: string) => tokenizer.count(text) };
  return documents.map(({ name, title, content }, at) => {
    const known = { content, title, type: null, tags: null, language: null, date: null, createdAt: null };
    const { extracted, cut } = prepareRanges(known, models);
    const memory: Memory = {
      key: BigInt(at + 1) as MemoryKey,
      id: `mem_${at}` as MemoryId,
      version: 1,
      state: { status: "completed", chunkCount: cut.ranges.length, extraction: "local" },
      ...extracted,
      metadata: null,
      userId: null,
      userKey: null,
      externalId: name,
      createdAt: 0,
      updatedAt: 0,
      expiresAt: null,
      contentBytes: Buffer.byteLength(content, "utf8"),
      source: null,
      given: [],
    };
    return { memory, content, cut, chunks: assemble(content, cut) };
  });
}

/** The rows of documents, as a search reads them. */
export function rowsOf(documents: readonly ChunkedDocument[]): Pick<MemoryStore, "getMany"> {
  const rows = new Map(documents.map(({ memory }) => [memory.key, memory]));
  return {
    getMany: (_, keys) => {
      return new Map(
        keys.flatMap((key) => {
          const memory = rows.get(key);
          return memory === undefined ? [] : [[key, memory] as const];
        }),
      );
    },
  };
}

/**
 * Builds the index of a variant in a folder of its own, which goes when it is disposed of.
 * @param vectorsFolder where vectors are kept from run to run.
 */
export async function openVariant(
  embedder: Embedder,
  documents: readonly ChunkedDocument[],
  variant: IndexVariant,
  vectorsFolder: string,
): Promise<{ readonly index: EmbeddedChunkIndex; readonly [Symbol.asyncDispose]: () => Promise<void> }> {
  await using opening = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "mneme-variant-"));
  opening.defer(() => rmSync(directory, { recursive: true, force: true }));
  const archive = await Archive.open({ path: join(directory, "memories.duckdb"), log: createLog("warn") });
  opening.defer(() => archive.close());
  let nextKey = 1n;
  const index = new EmbeddedChunkIndex({
    directory: join(directory, "projects"),
    archive,
    dimensions: embedder.dimensions,
    fingerprint: embedder.fingerprint,
    hnswMinChunks: HNSW_MIN_CHUNKS,
    reserveChunkKeys: (count) => {
      nextKey += BigInt(count);
      return nextKey - BigInt(count);
    },
  });
  opening.defer(() => index.close());

  const project = await index.project(PROJECT);
  for (const document of documents) {
    const texts = document.chunks.map((_, ordinal) => variant.texts(document, ordinal));
    const vectors = await keptVectors(
      embedder,
      texts.map(({ embedded }) => embedded),
      vectorsFolder,
    );
    await project.publish([
      {
        memoryKey: document.memory.key,
        version: document.memory.version,
        content: document.content,
        language: document.memory.language ?? "und",
        chunks: document.chunks.map((chunk, at) => withTexts(chunk, texts[at])),
        vectors: smoothed(vectors, embedder.dimensions, variant.neighbourWeight),
        names: { title: document.memory.title, phrases: document.memory.tags ?? [] },
      },
    ]);
  }
  project.show(
    documents.map(({ memory }) => ({ memoryKey: memory.key, userKey: null, expiresAt: null, attributes: "{}" })),
  );
  const opened = opening.move();
  return { index, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function withTexts(chunk: Chunk, texts: ChunkTexts | undefined): Chunk {
  if (texts === undefined) throw new Error("a chunk has its texts");
  const { ordinal, start, end, passage, tokens, headings } = chunk;
  return { ordinal, start, end, passage, tokens, headings, ...texts };
}

// A document's vectors are a file, named for the model and all its texts: variants differ in few of them.
async function keptVectors(embedder: Embedder, texts: readonly string[], folder: string): Promise<Float32Array> {
  mkdirSync(folder, { recursive: true });
  const name = createHash("sha256")
    .update(JSON.stringify([embedder.fingerprint, texts]))
    .digest("hex");
  const path = join(folder, `${name}.f32`);
  if (existsSync(path)) return new Float32Array(new Uint8Array(readFileSync(path)).buffer);
  const vectors = new Float32Array(texts.length * embedder.dimensions);
  const progress = new Progress("embedding:");
  for (let first = 0; first < texts.length; first += SLICE) {
    progress.show(first / texts.length, `${first} of ${texts.length} chunks`);
    const slice = texts.slice(first, first + SLICE);
    vectors.set(await embedder.embed(slice, "ingest"), first * embedder.dimensions);
  }
  progress.finish(`embedded: ${texts.length} chunks`);
  writeFileSync(path, vectors);
  return vectors;
}

// As ingest smooths turns (src/ingest/smoothing.ts), one neighbour each way.
function smoothed(vectors: Float32Array, dimensions: number, weight: number): Float32Array {
  if (weight === 0) return vectors;
  const result = vectors.slice();
  for (let first = 0; first < vectors.length; first += dimensions) {
    let squares = 0;
    for (let at = first; at < first + dimensions; at++) {
      const around = (vectors[at - dimensions] ?? 0) + (vectors[at + dimensions] ?? 0);
      const value = (vectors[at] ?? 0) + weight * around;
      result[at] = value;
      squares += value * value;
    }
    for (let at = first; at < first + dimensions; at++) result[at] = (result[at] ?? 0) / Math.sqrt(squares);
  }
  return result;
}
