// Embedders, rerankers and readers for the server: accepts calls, distributes their texts to the lanes (child processes
// that run the models), and assembles the results. schedule.ts decides the order of work, calls.ts handles requests and
// results, and children/ keeps the processes alive.

import { childCommand } from "../../children/command.ts";
import { ChildGone, superviseChild } from "../../children/supervisor.ts";
import { invariant } from "../../domain/fault.ts";
import type { Log } from "../../kit/log.ts";
import { machineShare } from "../../kit/machine-share.ts";
import {
  type Embedders,
  type EmbedOptions,
  type LocalModels,
  type Priority,
  READING_WIDTH,
  type ReadOptions,
  type Rerankers,
  type ScoreOptions,
} from "../../ports/models.ts";
import { type Call, deliver, requestOf } from "./calls.ts";
import { type GpuOptions, type GpuPlan, planGpus } from "./gpu/gpu-plan.ts";
import { LaneGpu } from "./gpu/lane-gpu.ts";
import { laneCountFor } from "./lane-count.ts";
import { failureOf, overloaded, unavailable } from "./lane-faults.ts";
import {
  INSTALLED_DIR_VARIABLE,
  type LaneHello,
  type LaneReply,
  MODELS_DIR_VARIABLE,
  type ModelRuntime,
  NO_TELEMETRY_VARIABLE,
  PRELOAD_VARIABLE,
  RUNTIME_VARIABLE,
} from "./lane-protocol.ts";
import { isExpected, isUp, type Lane, type LaneStatus, laneRoles, statusOf, supportsEarlyExit } from "./lane-state.ts";
import { localModels } from "./local-models.ts";
import {
  bytesOf,
  type EmbedderDescription,
  embedderOf,
  isInstalled,
  type ModelDescription,
  type ReaderDescription,
  type RerankerDescription,
  readModelsWith,
} from "./model-files.ts";
import { createEmbedders, createRerankers } from "./model-registries.ts";
import { gpuRerankPieces, rerankPieces } from "./rerank-pieces.ts";
import {
  countingCost,
  estimateTokens,
  type PairsUnit,
  Schedule,
  type Slice,
  type TextUnit,
  type Unit,
} from "./schedule.ts";

/** Options for running the models. */
export interface LanesOptions {
  /** Folder with one folder per model that ships with the program. */
  readonly modelsDir: string;
  /** Folder of the models that were added. Default: there is none. */
  readonly installedDir?: string;
  /** Id of the default embedder. Lanes load it and its reranker when they start, other models when they are needed. */
  readonly embedder: string;
  /**
   * Number of processes, each with one thread: the first for queries, the others for ingest. Default: as many as fit
   * the machine (lane-count.ts).
   */
  readonly lanes?: number | null;
  /** Runtime of the models. Default `auto`. */
  readonly runtime?: ModelRuntime;
  /** The operator's settings about GPUs. Default: all lanes compute on the CPU. */
  readonly gpu?: GpuOptions;
  /** Whether lanes load the reranker at their start instead of at its first use. Default: yes. */
  readonly preloadsReranker?: boolean;
  /**
   * Resident memory in bytes above which a lane is replaced. Default 768 MiB, with GPUs 4 GiB. Models that were added
   * come on top.
   */
  readonly memoryBytesMax?: number;
  /** Maximum number of unanswered calls of priority `query`, reranks and readings included. Default 256. */
  readonly queryCallsMax?: number;
  /**
   * Maximum amount of waiting ingest work, in estimated tokens. The call that exceeds the limit is still accepted;
   * later ones are refused. Default 262,144.
   */
  readonly ingestTokensMax?: number;
  readonly log: Log;
}

/** State of all lanes and their queues. */
export interface LanesStatus {
  readonly lanes: readonly LaneStatus[];
  /** Number of unanswered calls of priority `query`, reranks and readings included. */
  readonly queryCalls: number;
  /** Amount of waiting ingest work, in estimated tokens. */
  readonly ingestTokens: number;
}

/** The models that run on lanes. */
export interface Lanes {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly local: LocalModels;
  /**
   * Resolves once a lane is up.
   * @throws Fault `model_unavailable` if no lane can load its models (the cause says why), or `close` is called first
   */
  ready(): Promise<void>;
  status(): LanesStatus;
  /** Ends the lanes. Unanswered calls fail with `model_unavailable`. */
  close(): Promise<void>;
}

/** Default of `memoryBytesMax`. A lane with the default models takes less than 250 MB. */
const MEMORY_BYTES_MAX = 768 * 1024 * 1024;
/** Default of `memoryBytesMax` with GPUs. CUDA's libraries alone take more than a gigabyte. */
const GPU_LANE_MEMORY_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** Memory of a lane per byte of a model that was added. onnxruntime copies weights into its own layout. */
const BYTES_PER_MODEL_BYTE = 2;
const QUERY_CALLS_MAX = 256;
/** Default of `ingestTokensMax`: about 10 seconds of work for two cores, which is enough to keep the lanes busy. */
const INGEST_TOKENS_MAX = 262_144;
/** Maximum number of texts of one `query` call, and of passages of one rerank or reading. */
const QUERY_TEXTS_MAX = 256;
/**
 * Time limit for the start of a lane. Loading takes 0.3 s, and several times that with a cold disk on a busy machine.
 */
const START_TIMEOUT_MS = 60_000;
/**
 * Time limit with a GPU. If the GPU is newer than CUDA's libraries, their code is compiled for it at the first start,
 * which may take minutes.
 */
const GPU_START_TIMEOUT_MS = 10 * 60_000;
/** Time limit for a request. The largest slice takes 0.1 s, so a lane that does not answer within this time hangs. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Time in milliseconds after which the other lanes start although the first one is not up yet. */
const FIRST_LANE_MS = 2_000;
const INGEST_NICENESS = 10;
/**
 * Time without a query, in milliseconds, after which the query lane also gets ingest work: a person's next query then
 * usually comes much later.
 */
const QUIET_AFTER_MS = 250;
/**
 * Time in milliseconds for which a query waits for others, so that a GPU computes them together. It is less than the
 * time of one query, 3.5 ms on an H200.
 */
const GATHER_MS = 2;
/**
 * Maximum number of lanes with which early exit is used. With more lanes, all layers are fast enough for all passages,
 * and each lane has so few passages that choosing the best ones among them is less reliable.
 */
const EARLY_EXIT_LANES_MAX = 2;
/** A call fails when this many lanes have died while they computed one of its units. */
const DEATHS_MAX = 2;

/**
 * Starts the lanes and resolves before they are up. Calls wait until a lane is up.
 * @throws ModelFilesError if the default embedder or its reranker cannot be used
 */
export async function createLanes(options: LanesOptions): Promise<Lanes> {
  const lanes = new LaneGroup(options);
  await lanes.open();
  return lanes;
}

/** Parameters of a call. */
interface CallOptions {
  readonly priority: Priority;
  readonly share?: string | undefined;
  readonly tokensLeft?: number | undefined;
  readonly hasTurn?: boolean | undefined;
  /** Number of texts or passages. */
  readonly rows: number;
  /** Number of values per text or passage in the result. */
  readonly width: number;
  readonly signal: AbortSignal | undefined;
  readonly onBegin: (() => void) | undefined;
  /** After this time in milliseconds, the call ends with the values that are there, and NaN for the others. */
  readonly deadlineMs?: number | undefined;
}

class LaneGroup implements Lanes {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly local: LocalModels;
  private readonly preload: readonly string[];
  private readonly queryCallsMax: number;
  private readonly ingestTokensMax: number;
  private readonly schedule = new Schedule<Call>();
  /** Sizes in bytes of the models that were added and have been opened, by their ids. */
  private readonly openedBytes = new Map<string, number>();
  private readonly gpus: GpuPlan;
  private readonly lanes: readonly Lane[];
  private queryCalls = 0;
  private lastQueryMs = Number.NEGATIVE_INFINITY;
  private quietTimer: ReturnType<typeof setTimeout> | undefined;
  /** Time at which the first waiting query arrived, on the clock of `performance.now`; null if none waits. */
  private gatheringSinceMs: number | null = null;
  private gatherTimer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  /** Settles when all lanes have a process. */
  private othersStart = Promise.resolve();
  private readonly whenReady = Promise.withResolvers<void>();

  constructor(private readonly options: LanesOptions) {
    const installedDir = options.installedDir ?? null;
    const catalogue = readModelsWith(options.modelsDir, installedDir, options.embedder);
    const { id, reranker } = embedderOf(catalogue, options.embedder);
    for (const [model, err] of catalogue.problems) options.log.warn({ model, err }, "a model cannot be used");
    const runEmbedder: typeof this.runEmbedder = async (op, model, ...call) => {
      if (!isInstalled(model, installedDir)) {
        throw unavailable(`The model ${model.id} is not installed on the server: mneme models pull ${model.id}`);
      }
      return this.runEmbedder(op, model, ...call);
    };
    const score: typeof this.score = (...call) => this.score(...call);
    const read: typeof this.read = (...call) => this.read(...call);
    this.embedders = createEmbedders(catalogue, id, runEmbedder, read);
    this.rerankers = createRerankers(catalogue, score);
    const onOpen = (model: ModelDescription) => this.openedBytes.set(model.id, bytesOf(model));
    this.local = localModels(catalogue, { installedDir, defaultId: id, runEmbedder, score, read, onOpen });
    this.preload = reranker === null || options.preloadsReranker === false ? [id] : [id, reranker];
    this.queryCallsMax = options.queryCallsMax ?? QUERY_CALLS_MAX;
    this.ingestTokensMax = options.ingestTokensMax ?? INGEST_TOKENS_MAX;
    this.gpus = planGpus(options.gpu ?? { provider: { kind: "cpu" }, libraryDir: null, memoryBytesMax: null });
    const count = options.lanes ?? laneCountFor({ ...machineShare(), gpus: this.gpus.devices.length });
    this.lanes = laneRoles(count).map((role, index) => ({
      ...{ name: `lane-${index}-${role}`, role, child: null, inFlight: 0, tookQueryLast: false, loaded: new Map() },
      ...{ gpu: null, gpuProblem: this.gpus.problem },
    }));
    this.assignGpus();
    // Not every caller uses `ready()`, so a failure must not become an unhandled rejection. Calls and status report it
    // anyway.
    this.whenReady.promise.catch((error) => {
      if (!this.isClosed) options.log.error({ err: error }, "the models did not become available");
    });
  }

  async open(): Promise<void> {
    const [first, ...others] = this.lanes;
    if (first !== undefined) await this.startLane(first);
    this.othersStart = this.startOthers(others);
  }

  /** Starts further lanes once one is up: on few cores, they would make its start longer. */
  private async startOthers(lanes: readonly Lane[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, FIRST_LANE_MS);
    this.whenReady.promise.then(resolve, () => resolve());
    await promise;
    clearTimeout(timer);
    if (!this.isClosed) await Promise.all(lanes.map((lane) => this.startLane(lane)));
  }

  ready(): Promise<void> {
    return this.whenReady.promise;
  }

  private runEmbedder(
    op: TextUnit<Call>["op"],
    { id: model, dimensions, tokensMax, prefixes }: EmbedderDescription,
    texts: readonly string[],
    { purpose, priority, share, tokensLeft, hasTurn, signal, onBegin }: EmbedOptions,
  ): Promise<Float32Array> {
    invariant(priority === "ingest" || texts.length <= QUERY_TEXTS_MAX, `a query call had ${texts.length} texts`);
    const width = op === "embed" ? dimensions : 1;
    const options = { priority, share, tokensLeft, hasTurn, rows: texts.length, width, signal, onBegin };
    return this.call(options, (owner) =>
      texts.map((given, index) => {
        const text = prefixes[purpose] + given;
        const tokens = op === "embed" ? estimateTokens(text, tokensMax) : countingCost(text);
        return { op, owner, model, text, index, tokens, deaths: 0 };
      }),
    );
  }

  private score(
    { id: model, tokensMax }: RerankerDescription,
    query: string,
    passages: readonly string[],
    { signal, onBegin, earlyExit, deadlineMs }: ScoreOptions = {},
  ): Promise<Float32Array> {
    invariant(passages.length <= QUERY_TEXTS_MAX, `a rerank had ${passages.length} passages`);
    const options = { priority: "query", rows: passages.length, width: 1, signal, onBegin, deadlineMs } as const;
    return this.call(options, (owner) => {
      const canExitEarly =
        this.lanes.length <= EARLY_EXIT_LANES_MAX && this.lanes.every((lane) => supportsEarlyExit(lane, model));
      const applied = canExitEarly && earlyExit !== undefined ? earlyExit : null;
      return this.pairsUnits({ op: "score", owner, model, query }, passages, tokensMax, applied);
    });
  }

  /** Splits the pairs of a query with passages into units, as many as suit the lanes that are up. */
  private pairsUnits(
    shared: Pick<PairsUnit<Call>, "op" | "owner" | "model" | "query">,
    passages: readonly string[],
    tokensMax: number,
    earlyExit: PairsUnit<Call>["earlyExit"],
  ): readonly PairsUnit<Call>[] {
    const queryTokens = estimateTokens(shared.query, tokensMax);
    const tokens = passages.map((text) => Math.min(tokensMax, queryTokens + estimateTokens(text, tokensMax)));
    const up = this.lanes.filter(isUp);
    const areAllOnGpu = up.length > 0 && up.every((lane) => lane.gpu?.isWorking === true);
    const pieces = areAllOnGpu ? gpuRerankPieces(tokens) : rerankPieces(tokens, Math.max(1, up.length), earlyExit);
    return pieces.map(({ indices, ...piece }) => ({
      ...{ ...shared, indices, ...piece, deaths: 0 },
      passages: indices.map((index) => passages[index] ?? ""),
    }));
  }

  private read(
    { id: model, tokensMax }: ReaderDescription,
    query: string,
    passages: readonly string[],
    { signal, onBegin, deadlineMs }: ReadOptions = {},
  ): Promise<Float32Array> {
    invariant(passages.length <= QUERY_TEXTS_MAX, `a reader had ${passages.length} passages`);
    const rows = { rows: passages.length, width: READING_WIDTH };
    return this.call({ priority: "query", ...rows, signal, onBegin, deadlineMs }, (owner) =>
      this.pairsUnits({ op: "read", owner, model, query }, passages, tokensMax, null),
    );
  }

  status(): LanesStatus {
    return {
      lanes: this.lanes.map(statusOf),
      queryCalls: this.queryCalls,
      ingestTokens: this.schedule.ingestTokens(),
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.quietTimer);
    clearTimeout(this.gatherTimer);
    this.failAll("The server is shutting down.");
    this.whenReady.reject(unavailable("The server is shutting down."));
    for (const { gpu } of this.lanes) gpu?.close();
    await this.othersStart;
    await Promise.all(this.lanes.map((lane) => lane.child?.close()));
    this.gpus.close();
  }

  private assignGpus(): void {
    const { devices, problem, isRequested } = this.gpus;
    const { log } = this.options;
    if (problem !== null) {
      const line = `the GPU cannot be used, so the CPU computes: ${problem}`;
      if (isRequested) log.warn(line);
      else log.info(line);
    }
    if (devices.length > this.lanes.length) {
      log.warn({ gpus: devices.length, lanes: this.lanes.length }, "there are more GPUs than lanes; set MNEME_LANES");
    }
    this.lanes.forEach((lane, index) => {
      const device = devices[index % devices.length];
      if (device !== undefined) lane.gpu = this.gpuOf(lane, device);
    });
  }

  private gpuOf(lane: Lane, device: number): LaneGpu {
    const onRetry = () => this.replaceForGpu(lane);
    const onFailure = (reason: string, retryInMs: number | null) => {
      const line = `the GPU cannot be used, so the CPU computes: ${reason}`;
      const fields = { lane: lane.name, gpu: device, retryInMs };
      if (retryInMs === null) this.options.log.info(fields, line);
      else this.options.log.warn(fields, line);
    };
    return new LaneGpu({ plan: this.gpus, device, retryFirstMs: this.options.gpu?.retryFirstMs, onRetry, onFailure });
  }

  /**
   * Replaces a lane by one that tries the GPU. Returns false if it is not up, or if another lane is being replaced or
   * starts.
   */
  private replaceForGpu(lane: Lane): boolean {
    const others = this.lanes.filter((other) => other !== lane);
    if (!isUp(lane) || others.some((other) => !isUp(other) && isExpected(other))) return false;
    lane.child?.replace("tries the GPU again");
    return true;
  }

  private async startLane(lane: Lane): Promise<void> {
    lane.child = await superviseChild({
      name: lane.name,
      command: childCommand("lane"),
      env: () => ({
        [MODELS_DIR_VARIABLE]: this.options.modelsDir,
        ...(this.options.installedDir !== undefined && { [INSTALLED_DIR_VARIABLE]: this.options.installedDir }),
        [PRELOAD_VARIABLE]: this.preload.join(","),
        [RUNTIME_VARIABLE]: this.options.runtime ?? "auto",
        [NO_TELEMETRY_VARIABLE]: "1",
        ...lane.gpu?.begin(),
      }),
      niceness: lane.role === "ingest" ? INGEST_NICENESS : 0,
      memoryBytesMax: () => this.memoryBytesMax(lane),
      startTimeoutMs: lane.gpu ? GPU_START_TIMEOUT_MS : START_TIMEOUT_MS,
      log: this.options.log,
      onUp: (hello) => {
        const { gpuFailure, loaded } = hello as LaneHello;
        lane.loaded.clear();
        lane.gpu?.ready(gpuFailure);
        this.noteAnswer(lane, { gpuFailure, loaded });
        this.whenReady.resolve();
        this.distribute();
      },
      onDown: () => this.laneWentDown(lane),
    });
  }

  /** Resident memory in bytes above which a lane is replaced. Models that were added raise it. */
  private memoryBytesMax(lane: Lane): number {
    const own = this.options.memoryBytesMax ?? (lane.gpu ? GPU_LANE_MEMORY_BYTES_MAX : MEMORY_BYTES_MAX);
    return own + BYTES_PER_MODEL_BYTE * this.openedBytes.values().reduce((sum, bytes) => sum + bytes, 0);
  }

  private noteAnswer(lane: Lane, { loaded, gpuFailure }: LaneReply): void {
    if (gpuFailure !== null) lane.gpu?.failed(gpuFailure);
    for (const model of loaded) {
      lane.loaded.set(model.id, model);
      if (model.warning !== null) this.options.log.warn({ lane: lane.name }, model.warning);
    }
  }

  /**
   * Queues the units of a call, or refuses it. Settles when all units are answered, a unit fails, the deadline passes,
   * or `signal` aborts.
   */
  private async call(options: CallOptions, unitsOf: (owner: Call) => readonly Unit<Call>[]): Promise<Float32Array> {
    const { priority, share = "", tokensLeft = Number.POSITIVE_INFINITY, rows, width, signal, onBegin } = options;
    signal?.throwIfAborted();
    if (rows === 0) return new Float32Array();
    this.admit(options);
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
    const output = new Float32Array(rows * width).fill(Number.NaN);
    const progress = { unitsLeft: 0, isSettled: false };
    const call: Call = { priority, share, tokensLeft, output, width, ...progress, resolve, reject, onBegin };
    const units = unitsOf(call);
    call.unitsLeft = units.length;
    if (priority === "query") this.queryStarted();
    const abort = () => this.fail(call, signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const { deadlineMs = Number.POSITIVE_INFINITY } = options;
    const timer = deadlineMs < Number.POSITIVE_INFINITY ? setTimeout(() => this.endEarly(call), deadlineMs) : undefined;
    this.schedule.add(units);
    this.distribute();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      if (priority === "query") this.queryEnded();
    }
  }

  private queryStarted(): void {
    this.queryCalls += 1;
    this.lastQueryMs = performance.now();
  }

  /** Distributes work again QUIET_AFTER_MS after the last query, because the query lane may then get ingest work. */
  private queryEnded(): void {
    this.queryCalls -= 1;
    this.lastQueryMs = performance.now();
    clearTimeout(this.quietTimer);
    if (!this.isClosed) this.quietTimer = setTimeout(() => this.distribute(), QUIET_AFTER_MS);
  }

  /** @throws Fault `model_unavailable` if no lane is up or starting, `overloaded` if the queue is full */
  private admit({ priority, hasTurn = false }: CallOptions): void {
    if (this.isClosed || !this.lanes.some(isExpected))
      throw unavailable("The models are not available.", this.refusal());
    const isFull =
      priority === "query"
        ? this.queryCalls >= this.queryCallsMax
        : this.schedule.ingestTokens() >= this.ingestTokensMax;
    if (!isFull || hasTurn) return;
    throw overloaded(priority);
  }

  /** Sends work to the lanes, the query lane first, until no lane can get more. */
  private distribute(): void {
    const isQuiet = this.queryCalls === 0 && performance.now() - this.lastQueryMs >= QUIET_AFTER_MS;
    const isGathering = this.gathersQueries();
    for (const lane of this.lanes) {
      while (isUp(lane)) {
        const isOnGpu = lane.gpu?.isWorking === true;
        const slice = this.schedule.take({ ...lane, isQuiet, isOnGpu, isGathering: isOnGpu && isGathering });
        if (slice === null) break;
        void this.compute(lane, slice);
      }
    }
    if (!this.schedule.areOnlyTextsOfQueriesWaiting) this.gatheringSinceMs = null;
  }

  /**
   * Whether waiting queries should wait for further ones, because a GPU computes several in the time of one. True if
   * other queries are under way and the first waiting one has not waited for `GATHER_MS`.
   */
  private gathersQueries(): boolean {
    if (!this.schedule.areOnlyTextsOfQueriesWaiting) return false;
    this.gatheringSinceMs ??= performance.now();
    if (this.queryCalls < 2) return false;
    const leftMs = this.gatheringSinceMs + GATHER_MS - performance.now();
    if (leftMs <= 0) return false;
    clearTimeout(this.gatherTimer);
    this.gatherTimer = setTimeout(() => this.distribute(), leftMs);
    return true;
  }

  private async compute(lane: Lane, slice: Slice<Call>): Promise<void> {
    invariant(lane.child, "a lane without a process took work");
    lane.inFlight += 1;
    lane.tookQueryLast = slice.priority === "query";
    for (const { owner } of slice.units) {
      owner.onBegin?.();
      owner.onBegin = undefined;
    }
    const isGpuInUse = lane.gpu?.isInUse === true;
    try {
      const request = { ...requestOf(slice) };
      const answer = await lane.child.request(request, undefined, REQUEST_TIMEOUT_MS);
      this.noteAnswer(lane, answer.header as LaneReply);
      for (const { owner, fault } of deliver(slice, answer)) this.fail(owner, fault);
    } catch (error) {
      this.recover(slice, error, isGpuInUse);
    } finally {
      lane.inFlight -= 1;
      this.distribute();
    }
  }

  /**
   * Handles units whose lane failed. If it was the first lane that died with a unit, queues the unit again; otherwise
   * fails its call. The death of a lane that used its GPU does not count, because its next process computes on the CPU.
   */
  private recover(slice: Slice<Call>, error: unknown, isGpuInUse: boolean): void {
    const retried: Unit<Call>[] = [];
    for (const unit of slice.units) {
      if (!isGpuInUse) unit.deaths += 1;
      const isRetried = error instanceof ChildGone && unit.deaths < DEATHS_MAX && !this.isClosed;
      if (!isRetried) this.fail(unit.owner, failureOf(error, slice.model));
      else if (!unit.owner.isSettled) retried.push(unit);
    }
    this.schedule.putBack(retried);
  }

  private fail(call: Call, reason: unknown): void {
    if (call.isSettled) return;
    call.isSettled = true;
    this.schedule.drop(call);
    call.reject(reason);
  }

  /** Ends a call whose deadline has passed. Its result has NaN for what was not computed. */
  private endEarly(call: Call): void {
    if (call.isSettled) return;
    call.isSettled = true;
    this.schedule.drop(call);
    call.resolve(call.output);
  }

  private failAll(message: string): void {
    for (const call of this.schedule.owners()) this.fail(call, unavailable(message, this.refusal()));
  }

  private laneWentDown(lane: Lane): void {
    const { status } = lane.child?.state() ?? {};
    if (status === "draining") lane.gpu?.leave();
    if (status === "waiting") lane.gpu?.ended();
    if (this.lanes.every((lane) => lane.child?.state().status === "refused")) {
      this.whenReady.reject(unavailable("The models cannot be loaded.", this.refusal()));
    }
    if (!this.lanes.some(isExpected)) this.failAll("The models are not available.");
  }

  private refusal(): string | null {
    return this.lanes.map((lane) => statusOf(lane).refusal).find((reason) => reason !== null) ?? null;
  }
}
