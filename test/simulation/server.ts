// A simulated server: the real worker, services and retrieval over simulated ports. A crash drops the process; what was
// committed stays on its disk, and the next process opens it as a start of the server does (src/compose/service.ts).

import { localMonthlyTokens, MonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { localDailyTokens } from "../../src/account/running-tokens.ts";
import { repair } from "../../src/compose/storage.ts";
import { LlmExtractor } from "../../src/ingest/llm-extraction/extractor.ts";
import { ModelChanger } from "../../src/ingest/model-change.ts";
import { VectorBuilder } from "../../src/ingest/vector-builder.ts";
import { IngestWorker } from "../../src/ingest/worker.ts";
import type { Log } from "../../src/kit/log.ts";
import type { Transaction } from "../../src/ports/transactions.ts";
import { Intake } from "../../src/services/intake.ts";
import { MemoryService } from "../../src/services/memories.ts";
import { ProjectModelService } from "../../src/services/project-models.ts";
import { RecentResults } from "../../src/services/recent-results.ts";
import { SearchService } from "../../src/services/search.ts";
import { FairQueue } from "../../src/services/search-queue.ts";
import { SlowSearches } from "../../src/services/slow-searches.ts";
import { UserService } from "../../src/services/users.ts";
import { InMemoryChunkIndex } from "../in-memory/chunk-index.ts";
import { type DelayedStores, openDelayedStores } from "../in-memory/delayed-stores.ts";
import { NO_OPERATOR_LLM } from "../support/llm.ts";
import { NO_DESCRIPTIONS, NO_RECOGNITION } from "../support/no-recognition.ts";
import type { ServerDisk } from "./disk.ts";
import { LinePreparer, SimulatedFiles, SimulatedReader, simulatedModels } from "./ports.ts";
import { type Scheduler, SimulatedProcess } from "./scheduler.ts";

/** Level of a line in the server's log. */
export type LogLevel = "info" | "warn" | "error";

/** What a server tells the simulation. */
export interface ServerListener {
  /** Called within each commit, after the `onCommit` of a request's transaction. */
  onCommit(): void;
  /** Called with each line that the server logs. */
  onLog(level: LogLevel, line: string, error: unknown): void;
}

/** Texts with more bytes than this are large here (src/ingest/large-texts.ts), so that some of the texts are. */
const LARGE_TEXT_BYTES = 120;
/** Memories with more chunks than this are published in parts here (src/ingest/publisher.ts), so that some are. */
const LARGE_CHUNKS = 2;

/** One process of the server. */
export class Server {
  readonly process: SimulatedProcess;
  readonly index: InMemoryChunkIndex;
  readonly stores: DelayedStores;
  readonly files: SimulatedFiles;
  readonly memories: MemoryService;
  readonly intake: Intake;
  readonly users: UserService;
  readonly search: SearchService;
  readonly models: ProjectModelService;
  /** Whether requests are accepted. */
  isServing = false;
  readonly #worker: IngestWorker;
  readonly #changer: ModelChanger;
  readonly #log: Log;
  /** What to call at the next commit. A transaction of a request sets it when its work is done. */
  #onCommit: (() => void) | null = null;

  constructor(
    scheduler: Scheduler,
    readonly disk: ServerDisk,
    listener: ServerListener,
  ) {
    const process = new SimulatedProcess(scheduler);
    const clock = process;
    this.process = process;
    const log = logTo(listener);
    this.#log = log;
    this.stores = openDelayedStores({
      clock,
      newWebhookSecret: () => "whsec_simulated",
      onEffectFailure: (err) => log.error({ err }, "an effect of a committed transaction failed"),
      delays: {
        next: async (call, phase) => {
          try {
            await process.next(call, phase);
          } catch (error) {
            if (call === "commit") this.#onCommit = null;
            throw error;
          }
        },
      },
      database: disk.database,
      transactionMsMax: Number.POSITIVE_INFINITY,
      random: (count) => Uint8Array.from({ length: count }, () => Math.floor(scheduler.random() * 256)),
    });
    disk.rollBack(); // what the last process has not committed
    disk.database.onCommit = () => {
      const apply = this.#onCommit;
      this.#onCommit = null;
      apply?.();
      listener.onCommit();
    };
    const { stores } = this;
    const { transactions } = stores;
    const { embedders, rerankers } = simulatedModels(process);
    const installed = embedders.ids.map((id) => embedders.get(id));
    this.index = new InMemoryChunkIndex([embedders.default, ...installed], disk.index, process);
    const { index } = this;
    const files = new SimulatedFiles(process, disk.files);
    this.files = files;
    const preparer = new LinePreparer(process);
    const { accounts, extractions, jobs, memories, relations, history, retirement, projectModels, users } = stores;
    const [operator, monthlyTokens] = [NO_OPERATOR_LLM, new MonthlyTokens(localMonthlyTokens(accounts), clock)];
    const dailyTokens = localDailyTokens(extractions);
    const model = { complete: () => Promise.reject(new Error("no language model is configured")) };
    this.#worker = new IngestWorker({
      ...{ stores, transactions, files, index, preparer, embedders, clock, log, largeTextBytes: LARGE_TEXT_BYTES },
      largeChunks: LARGE_CHUNKS,
      hasSpace: () => !scheduler.chance(scheduler.rates.full),
      documents: new SimulatedReader(process, disk.files),
      ...{ pictures: NO_RECOGNITION, describer: NO_DESCRIPTIONS, accounts },
      extractor: new LlmExtractor({ accounts, extractions, model, operator, monthlyTokens, dailyTokens, clock, log }),
    });
    this.#changer = new ModelChanger({
      ...{ store: projectModels, accounts, index, embedders, clock, log },
      builder: new VectorBuilder({ index, jobs, extractions, preparer, clock, chunksPerSecond: null }),
      freeSpace: async () => ({ diskBytes: 1e12, memoryBytes: 1e12 }),
      upgrades: false,
      absentModels: () => [],
    });
    const wakeIngest = () => this.#worker.wake();
    this.memories = new MemoryService({ memories, retirement, files, index, log, wakeIngest });
    this.intake = new Intake({ memories, files, log });
    this.users = new UserService({ users, index, wakeIngest });
    const languageOf = () => "en";
    const queue = new FairQueue({ patienceMs: 3_600_000, capacity: () => ({ alone: 20, shared: 4 }), clock });
    const reading = { languageOf, rerankDeadlineMs: Number.POSITIVE_INFINITY };
    this.search = new SearchService({
      index,
      memories,
      relations,
      history,
      preparer,
      accounts,
      users,
      embedders,
      rerankers,
      recent: new RecentResults({ bytesMax: 0, clock }),
      ...reading,
      clock,
      queue,
      slow: new SlowSearches({ fromMs: Number.POSITIVE_INFINITY, log, clock }),
    });
    const wakeChanges = () => this.#changer.wake();
    this.models = new ProjectModelService({ accounts, projectModels, index, embedders, wakeChanges });
  }

  /** Opens the stores as a start does, then accepts requests. Rejects if a call fails: then the process has to end. */
  async start(): Promise<void> {
    const { stores, files, index } = this;
    await repair({ stores, files, projectsHere: null }, index, this.#log);
    this.#worker.start();
    this.#changer.start();
    this.isServing = true;
  }

  /** Ends the process as SIGTERM does. */
  async stop(): Promise<void> {
    this.isServing = false;
    await this.#changer.stop();
    await this.#worker.stop();
  }

  /**
   * Runs a transaction of a request. `onCommit` is called at the moment of the commit, with the result and the time at
   * which the work began.
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    onCommit: (result: T, beganMs: number) => void,
  ): Promise<T> {
    return this.stores.transactions.run(async (transaction) => {
      const beganMs = this.process.now();
      const result = await work(transaction);
      this.#onCommit = () => onCommit(result, beganMs);
      return result;
    });
  }
}

function logTo({ onLog }: ServerListener): Log {
  const line = (level: LogLevel) => (fields: unknown, message?: string) => {
    const error = (fields as { readonly err?: unknown }).err;
    onLog(level, message ?? String(fields), error);
  };
  const log: Log = {
    debug: () => undefined,
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: () => log,
  };
  return log;
}
