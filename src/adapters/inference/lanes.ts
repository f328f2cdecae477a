// The models as the server sees them: takes texts from services, gives them to the lanes (child processes that run the
// models), and puts the answers together. The order of work is schedule.ts's, keeping the processes alive children/'s.

import { childCommand } from "../../children/command.ts";
import type { ChildMessage } from "../../children/serve.ts";
import { ChildGone, type ChildState, type SupervisedChild, superviseChild } from "../../children/supervisor.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Log } from "../../kit/log.ts";
import type { EarlyExit, Embedder, Priority, Reranker } from "../../ports/models.ts";
import { type LaneRequest, MODELS_DIR_VARIABLE, type ModelRuntime, RUNTIME_VARIABLE } from "./lane-protocol.ts";
import { describeEmbedder, describeReranker, fingerprintOf } from "./model-files.ts";
import { rerankPieces } from "./rerank-pieces.ts";
import { estimateTokens, type LaneRole, Schedule, type Slice, type Unit } from "./schedule.ts";

/** How to run the models. */
export interface LanesOptions {
  /** Folder with `embedder/` and `reranker/`. */
  readonly modelsDir: string;
  /** Processes, each with one thread: the first for queries, the others for ingest. Default 2. */
  readonly lanes?: number;
  /** What may compute them. Default `auto`. */
  readonly runtime?: ModelRuntime;
  /** Resident bytes above which a lane is replaced. Default 512 MiB. */
  readonly memoryBytesMax?: number;
  /** Calls of priority `query` and reranks that may be unanswered. Default 256. */
  readonly queryCallsMax?: number;
  /** Estimated tokens of ingest work that may wait; the call that crosses the line is still taken. Default 262,144. */
  readonly ingestTokensMax?: number;
  readonly log: Log;
}

/** One lane, for `/ready` and metrics. */
export interface LaneStatus {
  readonly name: string;
  readonly status: ChildState["status"];
  /** null: not up. */
  readonly pid: number | null;
  readonly restarts: number;
  /** 0 while unknown. */
  readonly rssBytes: number;
  /** What computes, as the lane said; null: not up. */
  readonly provider: string | null;
  /** Requests sent and not answered. */
  readonly inFlight: number;
  /** Why it refuses to run; null: it does not. */
  readonly refusal: string | null;
}

/** All lanes and what waits for them. */
export interface LanesStatus {
  readonly lanes: readonly LaneStatus[];
  /** Calls of priority `query` and reranks, unanswered. */
  readonly queryCalls: number;
  /** Estimated tokens of ingest work, waiting. */
  readonly ingestTokens: number;
}

/** Both models on their lanes. */
export interface Lanes extends Embedder, Reranker {
  /** Resolves once a lane is up. @throws Fault `model_unavailable` when none will be; its cause says why */
  ready(): Promise<void>;
  status(): LanesStatus;
  /** Ends the lanes; calls that are unanswered fail with `model_unavailable`. */
  close(): Promise<void>;
}

const MEMORY_BYTES_MAX = 512 * 1024 * 1024;
const QUERY_CALLS_MAX = 256;
/** About 10 seconds of two cores: enough to keep the lanes busy, and soon drained. */
const INGEST_TOKENS_MAX = 262_144;
/** Texts of one `query` call, passages of one rerank. */
const QUERY_TEXTS_MAX = 256;
/** Loading takes .3 s; a cold disk and a busy machine a multiple of it. */
const START_TIMEOUT_MS = 60_000;
/** The largest slice takes .1 s; this ends a lane that hangs. */
const REQUEST_TIMEOUT_MS = 60_000;
const INGEST_NICENESS = 10;
/** Without a query for so long, the query lane helps ingest: a person's next question is further away than that. */
const QUIET_AFTER_MS = 250;
/** More lanes soon read all passages to the end, and among the few of a share the better ones are harder to tell. */
const EARLY_EXIT_LANES_MAX = 2;
/** A unit over which this many lanes died is given up. */
const DEATHS_MAX = 2;
/** A lane that failed this often in a row is not waited for. */
const FAILURES_HOPELESS = 3;
/** Seconds a caller should wait when the lines are full: within them they have moved on. */
const RETRY_AFTER_SECONDS = 2;
/** A vector's squared length may differ from 1 by rounding only. */
const SQUARED_LENGTH_TOLERANCE = 1e-2;

/**
 * Starts the lanes; resolves before they are up. Calls wait until then.
 * @throws ModelFilesError when a model.json is missing or incomplete
 */
export async function createLanes(options: LanesOptions): Promise<Lanes> {
  const lanes = new LaneGroup(options);
  await lanes.open();
  return lanes;
}

/** What a caller wants. */
interface CallTerms {
  readonly priority: Priority;
  readonly rows: number;
  /** Values per row. */
  readonly width: number;
  readonly signal: AbortSignal | undefined;
  readonly onBegin: (() => void) | undefined;
}

/** One call of a caller, and its promise. */
interface Call {
  readonly priority: Priority;
  /** Told once, when a lane takes the first unit. */
  onBegin: (() => void) | undefined;
  /** Filled in as units are answered; `width` values per text. */
  readonly output: Float32Array;
  readonly width: number;
  unitsLeft: number;
  isSettled: boolean;
  readonly resolve: (output: Float32Array) => void;
  readonly reject: (reason: unknown) => void;
}

interface Lane {
  readonly name: string;
  readonly role: LaneRole;
  child: SupervisedChild | null;
  inFlight: number;
  tookQueryLast: boolean;
}

class LaneGroup implements Lanes {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly tokensMax: number;
  readonly languages: readonly string[];
  private readonly pairTokensMax: number;
  private readonly queryCallsMax: number;
  private readonly ingestTokensMax: number;
  private readonly schedule = new Schedule<Call>();
  private readonly lanes: readonly Lane[];
  private queryCalls = 0;
  private lastQueryMs = Number.NEGATIVE_INFINITY;
  private quietTimer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  private readonly whenReady = Promise.withResolvers<void>();

  constructor(private readonly options: LanesOptions) {
    const embedder = describeEmbedder(options.modelsDir);
    this.dimensions = embedder.dimensions;
    this.fingerprint = fingerprintOf(embedder);
    this.tokensMax = embedder.tokensMax;
    this.languages = embedder.languages;
    this.pairTokensMax = describeReranker(options.modelsDir).tokensMax;
    this.queryCallsMax = options.queryCallsMax ?? QUERY_CALLS_MAX;
    this.ingestTokensMax = options.ingestTokensMax ?? INGEST_TOKENS_MAX;
    this.lanes = laneRoles(options.lanes ?? 2).map((role, index) => ({
      name: `lane-${index}-${role}`,
      role,
      child: null,
      inFlight: 0,
      tookQueryLast: false,
    }));
    // A server that does not wait for readiness still learns of it from the calls and the status.
    this.whenReady.promise.catch((error) => options.log.error({ err: error }, "the models did not become available"));
  }

  async open(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => this.startLane(lane)));
  }

  ready(): Promise<void> {
    return this.whenReady.promise;
  }

  embed(
    texts: readonly string[],
    priority: Priority,
    signal?: AbortSignal,
    onBegin?: () => void,
  ): Promise<Float32Array> {
    invariant(priority === "ingest" || texts.length <= QUERY_TEXTS_MAX, `a query call had ${texts.length} texts`);
    return this.call({ priority, rows: texts.length, width: this.dimensions, signal, onBegin }, (owner) =>
      texts.map((text, index) => ({
        op: "embed",
        owner,
        text,
        index,
        tokens: estimateTokens(text, this.tokensMax),
        deaths: 0,
      })),
    );
  }

  score(
    query: string,
    passages: readonly string[],
    signal?: AbortSignal,
    onBegin?: () => void,
    earlyExit?: EarlyExit,
  ): Promise<Float32Array> {
    invariant(passages.length <= QUERY_TEXTS_MAX, `a rerank had ${passages.length} passages`);
    return this.call({ priority: "query", rows: passages.length, width: 1, signal, onBegin }, (owner) => {
      const queryTokens = estimateTokens(query, this.pairTokensMax);
      const tokens = passages.map((text) =>
        Math.min(this.pairTokensMax, queryTokens + estimateTokens(text, this.pairTokensMax)),
      );
      const lanesUp = Math.max(1, this.lanes.filter(isUp).length);
      const mayBeHeld = this.lanes.length <= EARLY_EXIT_LANES_MAX && this.lanes.every(supportsEarlyExit);
      const held = mayBeHeld && earlyExit !== undefined ? earlyExit : null;
      return rerankPieces(tokens, lanesUp, held).map(({ indices, tokens, earlyExit }) => ({
        op: "score",
        owner,
        query,
        passages: indices.map((index) => passages[index] ?? ""),
        earlyExit,
        indices,
        tokens,
        deaths: 0,
      }));
    });
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
    this.failAll("The server is shutting down.");
    this.whenReady.reject(unavailable("The server is shutting down."));
    await Promise.all(this.lanes.map((lane) => lane.child?.close()));
  }

  private async startLane(lane: Lane): Promise<void> {
    lane.child = await superviseChild({
      name: lane.name,
      command: childCommand("lane"),
      env: {
        [MODELS_DIR_VARIABLE]: this.options.modelsDir,
        [RUNTIME_VARIABLE]: this.options.runtime ?? "auto",
      },
      niceness: lane.role === "ingest" ? INGEST_NICENESS : 0,
      memoryBytesMax: this.options.memoryBytesMax ?? MEMORY_BYTES_MAX,
      startTimeoutMs: START_TIMEOUT_MS,
      log: this.options.log,
      onUp: ({ complaints }) => {
        for (const complaint of Array.isArray(complaints) ? complaints : []) {
          this.options.log.warn({ lane: lane.name }, String(complaint));
        }
        this.whenReady.resolve();
        this.handOut();
      },
      onDown: () => this.laneDown(),
    });
  }

  /** Makes a call of some units, or refuses it; settles when all units are answered, one fails, or `signal` aborts. */
  private async call(
    { priority, rows, width, signal, onBegin }: CallTerms,
    unitsOf: (owner: Call) => readonly Unit<Call>[],
  ): Promise<Float32Array> {
    signal?.throwIfAborted();
    if (rows === 0) return new Float32Array();
    this.admit(priority);
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
    const output = new Float32Array(rows * width);
    const call: Call = { priority, output, width, unitsLeft: 0, isSettled: false, resolve, reject, onBegin };
    const units = unitsOf(call);
    call.unitsLeft = units.length;
    if (priority === "query") this.queryCame();
    const abort = () => this.fail(call, signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.schedule.add(units);
    this.handOut();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      if (priority === "query") this.queryWent();
    }
  }

  private queryCame(): void {
    this.queryCalls += 1;
    this.lastQueryMs = performance.now();
  }

  /** After the last query of a burst, the query lane has to be told that it may help again. */
  private queryWent(): void {
    this.queryCalls -= 1;
    this.lastQueryMs = performance.now();
    clearTimeout(this.quietTimer);
    if (!this.isClosed) this.quietTimer = setTimeout(() => this.handOut(), QUIET_AFTER_MS);
  }

  /** @throws Fault `model_unavailable` when no lane is up or coming, `overloaded` when the line is full */
  private admit(priority: Priority): void {
    if (this.isClosed || !this.lanes.some(isComing)) throw unavailable("The models are not available.", this.refusal());
    const isFull =
      priority === "query"
        ? this.queryCalls >= this.queryCallsMax
        : this.schedule.ingestTokens() >= this.ingestTokensMax;
    if (!isFull) return;
    const message = `Too much ${priority === "query" ? "search" : "ingest"} work is waiting for the models; try again later.`;
    throw new Fault("overloaded", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  /** Gives each lane what it should compute next, the query lane first, until no lane takes more. */
  private handOut(): void {
    const isQuiet = this.queryCalls === 0 && performance.now() - this.lastQueryMs >= QUIET_AFTER_MS;
    for (const lane of this.lanes) {
      while (isUp(lane)) {
        const slice = this.schedule.take({ ...lane, isQuiet });
        if (slice === null) break;
        void this.compute(lane, slice);
      }
    }
  }

  private async compute(lane: Lane, slice: Slice<Call>): Promise<void> {
    invariant(lane.child, "a lane without a process took work");
    lane.inFlight += 1;
    lane.tookQueryLast = slice.priority === "query";
    for (const { owner } of slice.units) {
      owner.onBegin?.();
      owner.onBegin = undefined;
    }
    try {
      const request = { ...requestOf(slice) };
      deliver(slice, await lane.child.request(request, undefined, REQUEST_TIMEOUT_MS));
    } catch (error) {
      this.recover(slice, error);
    } finally {
      lane.inFlight -= 1;
      this.handOut();
    }
  }

  /** Tries the units of a lane that died again, once; whatever else went wrong is told to the callers. */
  private recover(slice: Slice<Call>, error: unknown): void {
    const again: Unit<Call>[] = [];
    for (const unit of slice.units) {
      unit.deaths += 1;
      const isHopeful = error instanceof ChildGone && unit.deaths < DEATHS_MAX && !this.isClosed;
      if (!isHopeful) this.fail(unit.owner, failureOf(error));
      else if (!unit.owner.isSettled) again.push(unit);
    }
    this.schedule.putBack(again);
  }

  private fail(call: Call, reason: unknown): void {
    if (call.isSettled) return;
    call.isSettled = true;
    this.schedule.drop(call);
    call.reject(reason);
  }

  private failAll(message: string): void {
    for (const call of this.schedule.owners()) this.fail(call, unavailable(message, this.refusal()));
  }

  private laneDown(): void {
    if (this.lanes.every((lane) => lane.child?.state().status === "refused")) {
      this.whenReady.reject(unavailable("The models cannot be loaded.", this.refusal()));
    }
    if (!this.lanes.some(isComing)) this.failAll("The models are not available.");
  }

  private refusal(): string | null {
    return this.lanes.map((lane) => statusOf(lane).refusal).find((reason) => reason !== null) ?? null;
  }
}

/** The roles of `count` lanes. */
function laneRoles(count: number): readonly LaneRole[] {
  invariant(Number.isInteger(count) && count >= 1, `${count} lanes were asked for`);
  if (count === 1) return ["only"];
  return ["query", ...Array<LaneRole>(count - 1).fill("ingest")];
}

/** Whether its reranker can exit early. A lane that is not up does not count. */
function supportsEarlyExit(lane: Lane): boolean {
  const state = lane.child?.state();
  return state?.status !== "up" || state.hello.supportsEarlyExit === true;
}

function isUp(lane: Lane): boolean {
  return lane.child?.state().status === "up";
}

/** Whether it makes sense to wait for a lane: it is up, starting or being replaced, and does not fail each time. */
function isComing(lane: Lane): boolean {
  const state = lane.child?.state();
  if (state === undefined) return true;
  switch (state.status) {
    case "up":
    case "draining":
      return true;
    case "starting":
    case "waiting":
      return state.failures < FAILURES_HOPELESS;
    case "refused":
    case "closed":
      return false;
  }
}

function statusOf(lane: Lane): LaneStatus {
  const { name, child, inFlight } = lane;
  const state: ChildState = child?.state() ?? { status: "starting", failures: 0 };
  return {
    name,
    status: state.status,
    pid: state.status === "up" || state.status === "draining" ? state.pid : null,
    restarts: child?.restarts() ?? 0,
    rssBytes: child?.rssBytes() ?? 0,
    provider: state.status === "up" ? String(state.hello.provider) : null,
    inFlight,
    refusal: state.status === "refused" ? state.reason : null,
  };
}

function requestOf(slice: Slice<Call>): LaneRequest {
  if (slice.op === "embed")
    return { op: "embed", texts: slice.units.map((unit) => unit.text), isUrgent: slice.priority === "query" };
  const [{ query, passages, earlyExit }] = slice.units;
  return { op: "score", query, passages, earlyExit };
}

/** Copies an answer's values to the callers' results; settles the calls that are complete. */
function deliver(slice: Slice<Call>, answer: ChildMessage): void {
  const values = new Float32Array(answer.payload?.buffer ?? new ArrayBuffer());
  let at = 0;
  for (const unit of slice.units) {
    const { owner } = unit;
    const indices = unit.op === "embed" ? [unit.index] : unit.indices;
    for (const index of indices) {
      const row = values.subarray(at, at + owner.width);
      at += owner.width;
      checkRow(row, owner.width, unit.op);
      owner.output.set(row, index * owner.width);
    }
    owner.unitsLeft -= 1;
    if (owner.unitsLeft > 0 || owner.isSettled) continue;
    owner.isSettled = true;
    owner.resolve(owner.output);
  }
  invariant(at === values.length, "a lane answered with more values than were asked for");
}

/** A damaged vector must not reach an index: searched with NaN, it finds everything at distance 0. */
function checkRow(row: Float32Array, width: number, op: "embed" | "score"): void {
  invariant(row.length === width, "a lane answered with fewer values than were asked for");
  let squaredLength = 0;
  for (const value of row) squaredLength += value * value;
  const isGood =
    op === "score" ? Number.isFinite(squaredLength) : Math.abs(squaredLength - 1) < SQUARED_LENGTH_TOLERANCE;
  invariant(
    isGood,
    `a lane computed ${op === "score" ? "a score that is no number" : "a vector that is not of unit length"}`,
  );
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof ChildGone)) return error;
  return new Fault("internal_error", "The models failed on this input twice.", { cause: error });
}

function unavailable(message: string, cause: unknown = null): Fault {
  return new Fault("model_unavailable", message, {
    ...(cause !== null && { cause }),
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
