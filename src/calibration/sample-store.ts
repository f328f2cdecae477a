// A store of judged texts in which searches run as in any project: with the same preparation, index, fusion and
// reranking. Its rows are in memory. Its index is on disk until the caller closes it.

import { ChunkIds, PROJECT_SECRET_BYTES } from "../domain/chunk-ids.ts";
import { invariant } from "../domain/fault.ts";
import { filteredAttributesJson, parseFilter } from "../domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { ModeName, Ranking } from "../domain/ranking.ts";
import type { RetrievalTuning } from "../domain/retrieval-tuning.ts";
import type { Clock } from "../kit/clock.ts";
import type { Publication, VisibleMemory } from "../ports/chunk-index.ts";
import type { Embedder, Reranker } from "../ports/models.ts";
import { type Prepared, PrepareFailure, type Preparer } from "../ports/preparer.ts";
import type { ScratchIndex } from "../ports/scratch-index.ts";
import type { Mode } from "../retrieval/modes.ts";
import type { RetrievalDependencies } from "../retrieval/request.ts";
import { search } from "../retrieval/search.ts";
import type { SampleText } from "./judged-samples.ts";

/** Number of texts that are prepared and published together. */
const BATCH_TEXTS = 16;
/** Number of results of a search: fewer than any mode reranks, so that either all results are reranked or none. */
const RESULTS = 10;
const PROJECT = "prj_calibration" as ProjectId;

/** What a store needs. */
export interface SampleStoreDependencies {
  readonly index: ScratchIndex;
  readonly embedder: Embedder;
  readonly reranker: Reranker | null;
  readonly preparer: Pick<Preparer, "prepare">;
  readonly languageOf: RetrievalDependencies["languageOf"];
  readonly clock: Clock;
}

/** The texts that a search may find: those whose `field` has one of these values. */
export interface SampleScope {
  readonly field: "id" | "part" | "owner";
  readonly values: readonly string[];
}

/** How a search of the store runs. */
export interface SampleSearch {
  readonly text: string;
  readonly scope: SampleScope;
  /** Unix milliseconds; null: now. */
  readonly asOf: number | null;
  readonly mode: ModeName;
  readonly changes: Partial<Mode>;
  readonly tuning: RetrievalTuning;
}

/** Texts that can be searched. */
export class SampleStore {
  readonly #uses: SampleStoreDependencies;
  readonly #rows = new Map<MemoryKey, Memory>();
  /** The vector of the first chunk of each text, by the id of the text. */
  readonly #firstVectors = new Map<string, Float32Array>();
  #lastKey = 0n;
  readonly #chunkIds = new ChunkIds(new Uint8Array(PROJECT_SECRET_BYTES));

  constructor(uses: SampleStoreDependencies) {
    this.#uses = uses;
  }

  /** Stores texts. A text that cannot be prepared is left out. */
  async store(texts: readonly SampleText[], signal: AbortSignal): Promise<void> {
    using index = await this.#uses.index.project(PROJECT);
    for (let first = 0; first < texts.length; first += BATCH_TEXTS) {
      signal.throwIfAborted();
      const batch = texts.slice(first, first + BATCH_TEXTS);
      const prepared = await this.#uses.preparer.prepare(batch.map(prepareInput), signal);
      const ready = batch.flatMap((text, at) => {
        const found = prepared[at];
        return found === undefined || found instanceof PrepareFailure || found.chunks.length === 0
          ? []
          : [{ text, prepared: found, memory: this.#rowOf(text, found) }];
      });
      const publications: Publication[] = [];
      for (const each of ready) publications.push(await this.#publication(each, signal));
      await index.publish(publications);
      await index.show(ready.map(({ memory }) => visible(memory)));
      for (const { memory } of ready) this.#rows.set(memory.key, memory);
    }
  }

  /** The vector of the first chunk of a text; undefined if it was not stored. */
  vectorOf(id: string): Float32Array | undefined {
    return this.#firstVectors.get(id);
  }

  /** Runs a search. The ids of the texts are the `externalId` of the results. */
  async search({ text, scope, asOf, mode, changes, tuning }: SampleSearch): Promise<Ranking> {
    const { index, embedder, reranker, languageOf, clock } = this.#uses;
    const tuned = { ...embedder, tuning };
    const parts: RetrievalDependencies = {
      index,
      memories: { getMany: async (_project, keys) => new Map(keys.flatMap((key) => this.#entry(key))) },
      accounts: { chunkIds: async () => this.#chunkIds },
      relations: { supersededAt: async () => new Map() },
      history: { textsAt: async () => new Map(), earlierTexts: async () => [] },
      embedders: { withFingerprint: () => tuned },
      rerankers: { for: () => reranker },
      ...{ languageOf, clock, rerankDeadlineMs: Number.POSITIVE_INFINITY },
    };
    const filter = parseFilter({ [`metadata.${scope.field}`]: { $in: scope.values } });
    const request = {
      ...{ query: text, mode, limit: RESULTS, scoreMin: 0, includeGraph: false, filter },
      scope: { projectId: PROJECT, user: null },
      ...(asOf !== null && { asOf }),
    };
    return search(parts, request, changes);
  }

  #entry(key: MemoryKey): readonly (readonly [MemoryKey, Memory])[] {
    const row = this.#rows.get(key);
    return row === undefined ? [] : [[key, row]];
  }

  #rowOf(text: SampleText, { extracted, chunks }: Prepared): Memory {
    this.#lastKey += 1n;
    const key = this.#lastKey as MemoryKey;
    const at = text.createdAt ?? this.#uses.clock.now();
    return {
      ...{ key, id: `mem_${key}` as MemoryId, version: 1, userKey: null, source: null, originalFile: null },
      state: { status: "completed", chunkCount: chunks.length, extraction: "local" },
      contentBytes: Buffer.byteLength(text.content),
      ...{ given: [], supersededPassages: null, supersededBy: null },
      ...{ title: extracted.title, type: extracted.type, tags: extracted.tags, language: extracted.language },
      metadata: { id: text.id, part: text.part, owner: text.owner },
      ...{ userId: null, agentId: null, sessionId: null, externalId: text.id },
      ...{ createdAt: at, updatedAt: at, expiresAt: null, occurredAt: text.createdAt, occurredAtGiven: null },
    };
  }

  async #publication(
    { text, prepared, memory }: { readonly text: SampleText; readonly prepared: Prepared; readonly memory: Memory },
    signal: AbortSignal,
  ): Promise<Publication> {
    const { embedder } = this.#uses;
    const { chunks, texts, extracted } = prepared;
    const read = chunks.map((chunk) => texts.embeddedText(chunk));
    const vectors = await embedder.embed(read, { purpose: "passage", priority: "ingest", share: PROJECT, signal });
    invariant(vectors.length === chunks.length * embedder.dimensions, "an embedder returns one vector per text");
    this.#firstVectors.set(text.id, vectors.slice(0, embedder.dimensions));
    return {
      ...{ memoryKey: memory.key, version: memory.version, content: text.content, language: extracted.language },
      ...{ chunks, texts, vectors: [{ fingerprint: embedder.fingerprint, vectors }] },
      entities: { title: extracted.title, phrases: extracted.tags },
    };
  }
}

function prepareInput({ content, title, language, createdAt }: SampleText) {
  return { content, title, language, createdAt, type: null, tags: null, date: null };
}

function visible(memory: Memory): VisibleMemory {
  const { key: memoryKey, userKey } = memory;
  return { memoryKey, userKey, expiresAt: null, attributes: filteredAttributesJson(memory) };
}
