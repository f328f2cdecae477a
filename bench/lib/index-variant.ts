// Builds an index in this process, with other chunk texts and vectors than the server's, and a store with the memories
// that a search returns. For benches that compare ways of indexing.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import { Progress } from "../../src/cli/terminal.ts";
import type { Chunk, ChunkTexts } from "../../src/domain/chunk.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import type { Embedder } from "../../src/ports/models.ts";
import { assemble, type CodePointCut } from "../../src/preparation/assemble.ts";
import { prepareRanges } from "../../src/preparation/prepare.ts";
import type { LongDocument } from "./long-documents.ts";
import { benchEmbedder, benchTokenizer } from "./models.ts";

/** Number of texts that are embedded in one call, as in ingestion. */
const SLICE = 64;

/** The project of every index built here. */
export const PROJECT = "prj_bench" as ProjectId;

/** A document with its chunks. */
export interface ChunkedDocument {
  readonly memory: Memory;
  readonly content: string;
  readonly cut: CodePointCut;
  readonly chunks: readonly Chunk[];
  /** The texts of the chunks as ingestion would index them. */
  readonly texts: ChunkTexts;
}

/** A way of indexing chunks. */
export interface IndexVariant {
  readonly textsOf: (document: ChunkedDocument) => ChunkTexts;
  /** Each neighbour's vector, multiplied by this weight, is added to the vector of a chunk. 0 means no smoothing. */
  readonly neighbourWeight: number;
}

/** Cuts documents into chunks as ingestion does. The memory key of a document is its position in the list, from 1. */
export function chunkedDocuments(documents: readonly LongDocument[]): readonly ChunkedDocument[] {
  const tokenizer = benchTokenizer();
  const { chunkTokens } = benchEmbedder();
  const models = { countTokens: (text: string) => tokenizer.count(text) };
  return documents.map(({ name, title, content }, at) => {
    const known = { content, title, type: null, tags: null, language: null, date: null, createdAt: null };
    const { extracted, cut } = prepareRanges(known, models, chunkTokens);
    const memory: Memory = {
      key: BigInt(at + 1) as MemoryKey,
      id: `mem_${at}` as MemoryId,
      version: 1,
      state: { status: "completed", chunkCount: cut.ranges.length, extraction: "local" },
      ...extracted,
      metadata: null,
      userId: null,
      userKey: null,
      agentId: null,
      sessionId: null,
      externalId: name,
      createdAt: 0,
      updatedAt: 0,
      expiresAt: null,
      occurredAt: null,
      contentBytes: Buffer.byteLength(content, "utf8"),
      source: null,
      given: [],
    };
    return { memory, content, cut, ...assemble(content, cut) };
  });
}

/** A store with the memories of the documents, for searches. */
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
 * Builds the index of a variant in a temporary folder, which is removed on disposal.
 * @param vectorsFolder caches vectors between runs.
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
    quarantine: new Quarantine(join(directory, "quarantine"), systemClock),
    log: createLog("silent"),
    models: [embedder],
    reserveChunkKeys: (count) => {
      nextKey += BigInt(count);
      return nextKey - BigInt(count);
    },
  });
  opening.defer(() => index.close());

  const project = await index.project(PROJECT);
  for (const document of documents) {
    const texts = variant.textsOf(document);
    const vectors = await cachedVectors(
      embedder,
      document.chunks.map((chunk) => texts.embeddedText(chunk)),
      vectorsFolder,
    );
    await project.publish([
      {
        memoryKey: document.memory.key,
        version: document.memory.version,
        content: document.content,
        language: document.memory.language ?? "und",
        chunks: document.chunks,
        texts,
        vectors: [
          {
            fingerprint: embedder.fingerprint,
            vectors: smoothed(vectors, embedder.dimensions, variant.neighbourWeight),
          },
        ],
        entities: { title: document.memory.title, phrases: document.memory.tags ?? [] },
      },
    ]);
  }
  await project.show(
    documents.map(({ memory }) => ({ memoryKey: memory.key, userKey: null, expiresAt: null, attributes: "{}" })),
  );
  const opened = opening.move();
  return { index, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

// Caches the vectors of a document in a file. The file's name is a hash of the model and all embedded texts, so that
// most variants share these files.
async function cachedVectors(embedder: Embedder, texts: readonly string[], folder: string): Promise<Float32Array> {
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
    vectors.set(await embedder.embed(slice, { purpose: "passage", priority: "ingest" }), first * embedder.dimensions);
  }
  progress.finish(`embedded: ${texts.length} chunks`);
  writeFileSync(path, vectors);
  return vectors;
}

// Smooths vectors like src/ingest/smoothing.ts, with one neighbour on each side.
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
