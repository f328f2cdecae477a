// Test harness: the ingest worker with real stores and real text preparation. A test can delay, break or observe each
// step. Vectors are hashes of texts, because the meaning of texts makes no difference for ingestion.

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localMonthlyTokens, MonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { localDailyTokens } from "../../src/account/running-tokens.ts";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { encodeResponse, ResponseDecoder } from "../../src/documents/document-protocol.ts";
import { readFileText } from "../../src/documents/read-file.ts";
import type { ChunkPlace } from "../../src/domain/chunk.ts";
import { Fault, invariant } from "../../src/domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Memory, MemoryDraft, PageProgress } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import { LlmExtractor, type LlmExtractorDependencies } from "../../src/ingest/llm-extraction/extractor.ts";
import { type IngestDependencies, IngestWorker } from "../../src/ingest/worker.ts";
import { createLog } from "../../src/kit/log.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type {
  ChunkIndex,
  ProjectIndex,
  Publication,
  Reconciliation,
  StoredText,
  VisibleMemory,
} from "../../src/ports/chunk-index.ts";
import {
  type DocumentFile,
  type DocumentReader,
  type DocumentText,
  ReadFailure,
} from "../../src/ports/document-reader.ts";
import type { HistoryStore } from "../../src/ports/history-store.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import type { LlmExtractionStore } from "../../src/ports/llm-extraction-store.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import type { Embedder, Embedders, EmbedOptions } from "../../src/ports/models.ts";
import type { Prepared, PrepareFailure, PrepareInput, Preparer } from "../../src/ports/preparer.ts";
import type { ProjectModelStore } from "../../src/ports/project-model-store.ts";
import type { RelationStore } from "../../src/ports/relation-store.ts";
import type { RetirementStore } from "../../src/ports/retirement-store.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import type { UploadFiles } from "../../src/ports/upload-files.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase, openReader } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { StoreQuarantine } from "../../src/stores/store-quarantine.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { models } from "../preparation/fixtures/models.ts";
import { NO_OPERATOR_LLM } from "../support/llm.ts";
import { NO_DESCRIPTIONS, NO_RECOGNITION } from "../support/no-recognition.ts";
import { searchVectors } from "../support/search-legs.ts";
import { ENGLISH_TUNING, embeddersOf } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

const DIMENSIONS = 24;
/** Retention of deleted memories' texts in milliseconds: the default of projects. */
export const RETENTION_MS = DEFAULT_SETTINGS.retention_days * 24 * 60 * 60 * 1000;

/** A function that runs before or after a step. If it throws, the step throws the same error. */
type Hook<Input> = (input: Input) => void | Promise<void>;

/**
 * An embedder whose vectors are hashes of the texts, so that equal texts have equal vectors. A test can replace
 * `vectorOf`.
 */
export class HashEmbedder implements Embedder {
  readonly tuning = ENGLISH_TUNING;
  readonly dimensions: number;
  readonly id: string;
  readonly fingerprint: string;
  readonly tokensMax = 256;
  languages: readonly string[] = ["en"];
  before: Hook<readonly string[]> = () => undefined;
  vectorOf: (text: string) => Float32Array;

  constructor(id = "hash", dimensions = DIMENSIONS) {
    this.id = id;
    this.fingerprint = id;
    this.dimensions = dimensions;
    this.vectorOf = (text) => hashVector(text, dimensions);
  }

  async embed(texts: readonly string[], { onBegin }: Partial<EmbedOptions> = {}): Promise<Float32Array> {
    onBegin?.();
    await this.before(texts);
    const vectors = new Float32Array(texts.length * this.dimensions);
    for (const [at, text] of texts.entries()) vectors.set(this.vectorOf(text), at * this.dimensions);
    return vectors;
  }

  async countTokens(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map((text) => text.split(" ").length);
  }
}

/** Vector of unit length made from a hash of the text. */
export function hashVector(text: string, dimensions = DIMENSIONS): Float32Array {
  const digest = createHash("sha256").update(text).digest();
  const vector = Float32Array.from({ length: dimensions }, (_, at) => digest.readUInt8(at) / 127.5 - 1);
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

/** The real preparation. `refuse` returns a failure for a text, or null to prepare it. */
export class WatchedPreparer implements Preparer {
  readonly parallelMax = 1;
  before: (inputs: readonly PrepareInput[], signal?: AbortSignal) => void | Promise<void> = () => undefined;
  refuse: (content: string) => PrepareFailure | null = () => null;
  /** Token budget of a chunk; undefined: the default. */
  chunkTokens: number | undefined;

  async prepare(
    inputs: readonly PrepareInput[],
    signal?: AbortSignal,
  ): Promise<readonly (Prepared | PrepareFailure)[]> {
    await this.before(inputs, signal);
    signal?.throwIfAborted();
    return inputs.map((input) => {
      const content = input.content.slice(0);
      return this.refuse(content) ?? prepare({ ...input, content }, models, this.chunkTokens);
    });
  }
}

/** The real document reader. `before` runs before each file, `onPages` after each report about pages that were read. */
class WatchedDocuments implements DocumentReader {
  before: (file: DocumentFile, signal?: AbortSignal) => void | Promise<void> = () => undefined;
  onPages: () => void = () => undefined;

  async read(
    file: DocumentFile,
    onPages?: (pages: PageProgress) => void,
    signal?: AbortSignal,
  ): Promise<DocumentText | ReadFailure> {
    await this.before(file, signal);
    const text = await readFileText(file, (done, total) => {
      onPages?.({ done, total });
      this.onPages();
    });
    if (text instanceof ReadFailure) return text;
    const response = new ResponseDecoder();
    for (const part of encodeResponse(text)) response.push(Buffer.from(part));
    const outcome = response.end();
    invariant(outcome?.kind === "text", "an encoded text is decoded as a text");
    return outcome.text;
  }
}

/**
 * The real index. `before` and `after` run before and after each call of `publish` and `publishInParts`, `beforePart`
 * before each part of the second.
 */
class WatchedIndex implements ChunkIndex {
  before: Hook<readonly Publication[]> = () => undefined;
  after: Hook<readonly Publication[]> = () => undefined;
  beforePart: Hook<Publication> = () => undefined;
  readonly #open: () => EmbeddedChunkIndex;
  #index: EmbeddedChunkIndex;

  constructor(open: () => EmbeddedChunkIndex) {
    this.#open = open;
    this.#index = open();
  }

  /** Closes the index and opens it again, as a new process would. */
  async restart(id: ProjectId, completed: readonly VisibleMemory[]): Promise<Reconciliation> {
    await this.#index.close();
    this.#index = this.#open();
    return this.#index.reconcile(id, onePage(completed));
  }

  async project(id: ProjectId): Promise<ProjectIndex> {
    const project = await this.#index.project(id);
    return {
      [Symbol.dispose]: () => project[Symbol.dispose](),
      publish: async (publications) => {
        await this.before(publications);
        await project.publish(publications);
        await this.after(publications);
      },
      publishInParts: (publication) => this.#publishInParts(project, publication),
      rebuild: (memories) => project.rebuild(memories),
      retract: (keys) => project.retract(keys),
      show: (memories) => project.show(memories),
      hide: (keys) => project.hide(keys),
      admit: (userKey, nowMs) => project.admit(userKey, nowMs),
      admitWithin: (userKey, nowMs, filter) => project.admitWithin(userKey, nowMs, filter),
      recall: (...asked) => project.recall(...asked),
      walk: (...asked) => project.walk(...asked),
      compareVectors: (chunks) => project.compareVectors(chunks),
      storedVectors: (model, chunks) => project.storedVectors(model, chunks),
      neighbourhood: (key, within, limit) => project.neighbourhood(key, within, limit),
      layout: (...asked) => project.layout(...asked),
      entities: (...asked) => project.entities(...asked),
      entity: (...asked) => project.entity(...asked),
      entityPath: (...asked) => project.entityPath(...asked),
      passages: (keys) => project.passages(keys),
      models: () => project.models(),
      chooseVectorIndex: (name) => project.chooseVectorIndex(name),
      vectorIndex: () => project.vectorIndex(),
      beginModel: (model) => project.beginModel(model),
      missingVectors: () => project.missingVectors(),
      addVectors: (chunks, vectors) => project.addVectors(chunks, vectors),
      swapModel: () => project.swapModel(),
      dropBuilding: () => project.dropBuilding(),
      forgetPrevious: () => project.forgetPrevious(),
    };
  }

  current(id: ProjectId): Promise<ProjectIndex> {
    return this.project(id);
  }

  async show(id: ProjectId, memories: readonly VisibleMemory[]): Promise<void> {
    await (await this.project(id)).show(memories);
  }

  async hide(id: ProjectId, keys: readonly MemoryKey[]): Promise<void> {
    await (await this.project(id)).hide(keys);
  }

  async retract(id: ProjectId, keys: readonly MemoryKey[]): Promise<void> {
    const project = await this.project(id);
    await project.hide(keys);
    await project.retract(keys);
  }

  async *#publishInParts(project: ProjectIndex, publication: Publication): AsyncGenerator<void> {
    await this.before([publication]);
    const parts = project.publishInParts(publication)[Symbol.asyncIterator]();
    for (;;) {
      await this.beforePart(publication);
      if ((await parts.next()).done === true) break;
      yield;
    }
    await this.after([publication]);
  }

  contents(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>> {
    return this.#index.contents(keys);
  }

  stored: ChunkIndex["stored"] = (keys) => this.#index.stored(keys);

  purge(keys: readonly MemoryKey[]): Promise<void> {
    return this.#index.purge(keys);
  }

  eraseReplaced(): Promise<void> {
    return this.#index.eraseReplaced();
  }

  vectorIndexes: ChunkIndex["vectorIndexes"] = () => this.#index.vectorIndexes();

  drop(id: ProjectId): Promise<void> {
    return this.#index.drop(id);
  }

  compact(erasesNow?: boolean): Promise<boolean> {
    return this.#index.compact(erasesNow);
  }

  verify: ChunkIndex["verify"] = (id, completed, onProgress) => this.#index.verify(id, completed, onProgress);

  reconcile: ChunkIndex["reconcile"] = (id, completed) => this.#index.reconcile(id, completed);

  close(): Promise<void> {
    return this.#index.close();
  }
}

async function* onePage<Item>(page: Item): AsyncGenerator<Item> {
  yield page;
}

/** Parts for a test of ingestion. `close` stops the worker and removes the stores. */
export interface IngestHarness {
  readonly clock: ManualClock;
  readonly database: SqliteDatabase;
  readonly accounts: AccountStore;
  readonly extractions: LlmExtractionStore;
  readonly memories: MemoryStore;
  readonly jobs: JobStore;
  readonly retirement: RetirementStore;
  readonly history: HistoryStore;
  readonly relations: RelationStore;
  readonly projectModels: ProjectModelStore;
  readonly transactions: Transactions;
  readonly index: WatchedIndex;
  readonly files: UploadFiles;
  readonly documents: WatchedDocuments;
  readonly preparer: WatchedPreparer;
  readonly embedder: HashEmbedder;
  /** Another installed model. Its vectors have another length. */
  readonly otherEmbedder: HashEmbedder;
  readonly embedders: Embedders;
  readonly projectId: ProjectId;
  /** The running worker. `startWorker` replaces it after `stop`. */
  worker: IngestWorker;
  startWorker(): void;
  /** Stores drafts as accepted memories and wakes the worker. */
  accept<Drafts extends readonly MemoryDraft[]>(...drafts: Drafts): Promise<{ [At in keyof Drafts]: Memory }>;
  read(memory: Memory): Promise<Memory | null>;
  /** Waits until a memory has this status. Advances the clock meanwhile, so that retries become due. */
  settled(memory: Memory, status?: "completed" | "failed"): Promise<Memory>;
  /** All passages that an unlimited search finds, sorted. */
  searchable(): Promise<readonly string[]>;
  /** Number of chunks that still have a vector or a passage in the index. */
  storedChunks(): Promise<number>;
  /** Places of all chunks in the order of their ordinals. For tests with one memory. */
  places(): Promise<readonly ChunkPlace[]>;
  close(): Promise<void>;
}

const NO_MODEL: LlmExtractorDependencies["model"] = {
  complete: () => Promise.reject(new Error("a language model was called although none is configured")),
};

/** Options of a harness. */
interface HarnessOptions extends Pick<IngestDependencies, "largeTextBytes"> {
  /** Folder of the stores, which `close` does not remove. Default: a temporary folder, which `close` removes. */
  readonly folder?: string;
}

/** Opens the stores and starts a worker. @param model language model for extraction; null if there is none */
export async function openIngestHarness(
  model: LlmExtractorDependencies["model"] | null = null,
  { folder: kept, ...limits }: HarnessOptions = {},
): Promise<IngestHarness> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), "mneme-ingest-"));
  const clock = new ManualClock();
  const log = createLog("silent");
  const quarantine = new StoreQuarantine(folder, clock.now());
  const database = openDatabase(join(folder, "mneme.sqlite"), { ownership: { log, quarantine, acceptsLoss: false } });
  const files = openSpool(join(folder, "uploads"), { clock, log });
  // Tests call the stores while the worker uses the same connection.
  const reader = openReader(database);
  const { transactions, ...stores } = connectStores(database, reader, { clock, newWebhookSecret });
  const { memories, jobs, relations, retirement, history } = stores;
  const { accounts, extractions, projectModels } = stores;
  const projectId = await accounts.defaultProject();
  const archive = await Archive.open({ path: join(folder, "memories.duckdb"), log });
  const documents = new WatchedDocuments();
  const preparer = new WatchedPreparer();
  const embedder = new HashEmbedder();
  const otherEmbedder = new HashEmbedder("other", 16);
  const embedders = embeddersOf(embedder, otherEmbedder);
  const index = new WatchedIndex(
    () =>
      new EmbeddedChunkIndex({
        directory: join(folder, "projects"),
        archive,
        quarantine: new Quarantine(join(folder, "quarantine"), clock),
        log,
        models: () => [embedder, otherEmbedder],
        reserveChunkKeys: async (count) => jobs.reserveChunkKeys(count),
      }),
  );
  const operator = { ...NO_OPERATOR_LLM, baseUrl: model === null ? null : "http://llm.test/v1", model: "a test's" };
  const monthlyTokens = new MonthlyTokens(localMonthlyTokens(accounts), clock);
  const newWorker = () => {
    const dailyTokens = localDailyTokens(extractions);
    const uses = { accounts, extractions, monthlyTokens, dailyTokens, operator, clock, log };
    const extractor = new LlmExtractor({ ...uses, model: model ?? NO_MODEL });
    return new IngestWorker({
      ...{ stores, transactions, files, index, documents, extractor, preparer, embedders, clock, log },
      ...{ pictures: NO_RECOGNITION, describer: NO_DESCRIPTIONS, accounts },
      hasSpace: () => true,
      ...limits,
    });
  };

  const passages = async () => {
    const project = await index.project(projectId);
    const hits = await searchVectors(
      project,
      embedder.fingerprint,
      hashVector(""),
      await project.admit(null, clock.now()),
      1_000,
    );
    return project.passages(hits.chunkKeys);
  };
  const harness: IngestHarness = {
    ...{ clock, database, accounts, extractions, memories, jobs, relations, retirement, history },
    ...{ projectModels, transactions },
    ...{ index, files, documents, preparer, embedder, otherEmbedder, embedders, projectId },
    worker: newWorker(),
    startWorker: () => {
      harness.worker = newWorker();
      harness.worker.start();
    },
    accept: async <Drafts extends readonly MemoryDraft[]>(...drafts: Drafts) => {
      const accepted = (await memories.accept(projectId, drafts)).map((result) => {
        if (result instanceof Fault) throw result;
        if (result.releasedFile !== null) void files.remove(result.releasedFile); // as the service does
        return result.memory;
      });
      harness.worker.wake();
      return accepted as { [At in keyof Drafts]: Memory };
    },
    read: async (memory) => memories.get(projectId, memory.id),
    settled: (memory, status = "completed") =>
      until(`${memory.id} is ${status}`, async () => {
        const found = await memories.get(projectId, memory.id);
        if (found?.state.status === status) return found;
        clock.advance(1_000);
        return null;
      }),
    searchable: async () => (await passages()).map((passage) => passage?.text ?? "(gone)").sort(),
    storedChunks: async () => {
      const { next } = database
        .prepare<{ next: bigint }>("SELECT next FROM sequences WHERE name = 'chunk_key'")
        .get({}) ?? { next: 1n };
      const chunkKeys = BigUint64Array.from({ length: Number(next) - 1 }, (_, at) => BigInt(at + 1));
      const project = await index.project(projectId);
      const stored = new Set<bigint>();
      for (const passage of await project.passages(chunkKeys)) if (passage !== null) stored.add(passage.chunkKey);
      const memoryKeys = database
        .prepare<{ last: bigint | null }>("SELECT max(memory_key) AS last FROM memories")
        .get({});
      for (let key = 1n; key <= (memoryKeys?.last ?? 0n); key++) {
        const vectors = await project.storedVectors(embedder.fingerprint, {
          chunkKeys,
          memoryKeys: chunkKeys.map(() => key),
        });
        for (const [at, chunkKey] of chunkKeys.entries()) {
          if (!Number.isNaN(vectors[at * embedder.dimensions])) stored.add(chunkKey);
        }
      }
      return stored.size;
    },
    places: async () => {
      const places = (await passages()).flatMap((passage) => (passage === null ? [] : [passage.place]));
      return places.sort((one, other) => one.ordinal - other.ordinal);
    },
    close: async () => {
      await harness.worker.stop();
      await index.close();
      await archive.close();
      reader.close();
      database.close();
      if (kept === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
  await jobs.voidLeases(); // as a server's start does
  harness.worker.start();
  return harness;
}

/** A gate: callers of `pass` wait until `open` is called. */
export class Gate {
  #isOpen = false;
  #open: () => void = () => undefined;
  #waiting = 0;
  readonly #opened = new Promise<void>((resolve) => {
    this.#open = resolve;
  });

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#isOpen ? 0 : this.#waiting;
  }

  pass(): Promise<void> {
    this.#waiting += 1;
    return this.#opened;
  }

  open(): void {
    this.#isOpen = true;
    this.#open();
  }
}
