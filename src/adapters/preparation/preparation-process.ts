// The server's part of preparation: sends texts to the preparation process in groups of limited size, restarts the
// process, and gives up a text that kills it. A large text gets a process of its own, which ends with it, so that other
// texts do not wait for it. The child's part is in src/preparation; adapters/documents reads files.

import { childCommand } from "../../children/command.ts";
import { type ProcessUsage, StarvationCheck } from "../../children/process-usage.ts";
import type { ChildMessage } from "../../children/serve.ts";
import {
  ChildFailure,
  ChildGone,
  type ChildState,
  type SupervisedChild,
  superviseChild,
} from "../../children/supervisor.ts";
import { Fault } from "../../domain/fault.ts";
import type { Log } from "../../kit/log.ts";
import { utf8BytesOf } from "../../kit/pieced-text.ts";
import {
  LARGE_TEXT_BYTES,
  type Prepared,
  PrepareFailure,
  type PrepareInput,
  type Preparer,
} from "../../ports/preparer.ts";
import { assemble } from "../../preparation/assemble.ts";
import {
  decodeResults,
  encodeInputs,
  TOKENS_VARIABLE,
  type TokenSettings,
} from "../../preparation/preparation-protocol.ts";

/** Options of a preparation process. */
export interface PreparationOptions extends TokenSettings {
  readonly log: Log;
  /** Resident memory in bytes above which the process is replaced between groups. */
  readonly memoryBytesMax?: number;
  /** Returns the timeout in milliseconds for a group of texts of this size. */
  readonly groupTimeoutMs?: (contentBytes: number) => number;
  /** Texts with more UTF-8 bytes than this get a process of their own; tests use a small number. */
  readonly largeTextBytes?: number;
  /** How long a child ran and waited for a processor. Tests use a child that is starved for certain. */
  readonly usage?: ProcessUsage;
  /** Program and arguments of the child. Tests use a child that fails. */
  readonly command?: readonly string[];
}

/** A Preparer with a child process that can be observed and closed. */
export interface PreparationProcess extends Preparer {
  /**
   * @throws Fault `overloaded` if 64 calls are waiting or the process gets too little processor time,
   *   `model_unavailable` if no process can be started; `signal.reason` if `signal` aborts
   */
  prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly (Prepared | PrepareFailure)[]>;
  /** State of the child for texts that are not large; null before its first start. */
  state(): ChildState | null;
  /** Number of starts after the first one. */
  restarts(): number;
  /** Resident memory of the children when it was last measured, in bytes. */
  rssBytes(): number;
  /** Ends the child. Pending calls reject. */
  close(): Promise<void>;
}

/**
 * Default of the memory limit, in bytes. The idle process takes 110 MB; the rest is for texts. After a text of 100 MB,
 * the process exceeds the limit and is replaced.
 */
const MEMORY_BYTES_MAX = 512 * 1024 * 1024;
const START_TIMEOUT_MS = 20_000;
/**
 * Maximum time in milliseconds that a call waits for a process that is being restarted. Covers the longest pause before
 * a restart, and the start.
 */
const UP_TIMEOUT_MS = 30_000;
/** Low priority: ingestion yields to searches, and a large text to others. */
const NICENESS = 10;
const LARGE_TEXT_NICENESS = 15;
/** Maximum number of texts of a group, and of their UTF-16 code units. A larger text is a group of its own. */
const GROUP_TEXTS_MAX = 64;
const GROUP_UNITS_MAX = 4 * 1024 * 1024;
/** Maximum number of waiting calls. Ingestion makes one call at a time. */
const WAITING_CALLS_MAX = 64;
/**
 * Number of times that the process dies while it prepares one text alone before the text is given up. A single death
 * can be chance.
 */
const DEATHS_MAX = 2;

/** Share of its time limit that the preparation of a group may take of a processor. A twentieth is usual. */
const PROCESSOR_SHARE_MAX = 0.25;
/**
 * Number of times that a group gets its time limit again because other processes used the processors. After that, its
 * texts are tried again later.
 */
const EXTENSIONS_MAX = 9;

/** Preparation takes 0.1 s per MiB. The timeout is twenty times as long, plus a reserve for a busy machine. */
function groupTimeout(contentBytes: number): number {
  return 40_000 + 2_000 * Math.ceil(contentBytes / (1024 * 1024));
}

/** Starts a preparation process in the background. Calls wait until it accepts requests. */
export function createPreparationProcess(options: PreparationOptions): PreparationProcess {
  return new Preparation(options);
}

type Outcome = Prepared | PrepareFailure;

/** One process that stays, and one for each large text. */
class Preparation implements PreparationProcess {
  private readonly shared: SupervisedPreparation;
  /** The processes of the large texts that are being prepared. */
  private readonly ofLargeTexts = new Set<SupervisedPreparation>();
  private isClosed = false;

  constructor(private readonly options: PreparationOptions) {
    this.shared = new SupervisedPreparation("preparation", NICENESS, options);
  }

  state(): ChildState | null {
    return this.shared.state();
  }

  restarts(): number {
    return this.shared.restarts();
  }

  rssBytes(): number {
    return [this.shared, ...this.ofLargeTexts].reduce((sum, process) => sum + process.rssBytes(), 0);
  }

  async prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    signal?.throwIfAborted();
    const largeBytes = this.options.largeTextBytes ?? LARGE_TEXT_BYTES;
    const isLarge = inputs.map(({ content }) => utf8BytesOf(content) > largeBytes);
    if (!isLarge.includes(true)) return this.shared.prepare(inputs, signal);
    const others = await this.shared.prepare(
      inputs.filter((_, at) => !isLarge[at]),
      signal,
    );
    const left = [...others];
    const outcomes: (Outcome | undefined)[] = [];
    for (const [at, input] of inputs.entries()) {
      outcomes.push(isLarge[at] === true ? await this.prepareLarge(input, signal) : left.shift());
    }
    return outcomes.map((outcome) => outcome ?? new PrepareFailure("The text could not be prepared."));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([this.shared, ...this.ofLargeTexts].map((process) => process.close()));
  }

  /** Prepares a text in a process of its own. Its end returns all memory that the text took. */
  private async prepareLarge(input: PrepareInput, signal?: AbortSignal): Promise<Outcome | undefined> {
    if (this.isClosed) throw unavailable("the server is shutting down");
    const process = new SupervisedPreparation("preparation-of-large-text", LARGE_TEXT_NICENESS, this.options);
    this.ofLargeTexts.add(process);
    // The child cannot be interrupted while it computes.
    const onAbort = () => void process.close(0);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const [outcome] = await process.prepare([input]);
      return outcome;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      await process.close(0);
      this.ofLargeTexts.delete(process);
    }
  }
}

/** One supervised process. */
class SupervisedPreparation {
  private readonly starting: Promise<SupervisedChild>;
  private child: SupervisedChild | null = null;
  /** Functions that wake callers waiting for a change of the child's state. */
  private readonly watchers = new Set<() => void>();
  private lastCall: Promise<unknown> = Promise.resolve();
  private waitingCalls = 0;
  private isClosed = false;

  constructor(
    private readonly name: string,
    private readonly niceness: number,
    private readonly options: PreparationOptions,
  ) {
    this.starting = this.start();
    this.starting.catch((error: unknown) =>
      options.log.error({ err: error }, "the preparation process cannot be supervised"),
    );
  }

  state(): ChildState | null {
    return this.child?.state() ?? null;
  }

  restarts(): number {
    return this.child?.restarts() ?? 0;
  }

  rssBytes(): number {
    return this.child?.rssBytes() ?? 0;
  }

  async prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    return this.enqueue(async () => {
      const outcomes: Outcome[] = [];
      for (const group of groupsOf(inputs)) {
        signal?.throwIfAborted();
        outcomes.push(...(await this.prepareGroup(group)));
      }
      return outcomes;
    });
  }

  /** @param deadlineMs time until a child that computes is killed */
  async close(deadlineMs?: number): Promise<void> {
    this.isClosed = true;
    this.wake();
    const [started] = await Promise.allSettled([this.starting]);
    if (started.status === "fulfilled") await started.value.close(deadlineMs);
  }

  private async start(): Promise<SupervisedChild> {
    const { tokenizer, chunkTokens } = this.options;
    this.child = await superviseChild({
      name: this.name,
      command: this.options.command ?? childCommand("preparation"),
      env: () => ({ [TOKENS_VARIABLE]: JSON.stringify({ tokenizer, chunkTokens } satisfies TokenSettings) }),
      niceness: this.niceness,
      memoryBytesMax: this.options.memoryBytesMax ?? MEMORY_BYTES_MAX,
      startTimeoutMs: START_TIMEOUT_MS,
      log: this.options.log,
      onUp: () => this.wake(),
      onDown: () => this.wake(),
    });
    return this.child;
  }

  /** Runs one call at a time: the parts in which a large text is sent must not be mixed with those of another call. */
  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    if (this.waitingCalls >= WAITING_CALLS_MAX) {
      throw new Fault("overloaded", "Too many texts are waiting to be prepared; try again later.");
    }
    this.waitingCalls += 1;
    const call = this.lastCall.then(work);
    const settled = () => {
      this.waitingCalls -= 1;
    };
    this.lastCall = call.then(settled, settled);
    return call;
  }

  /**
   * Prepares a group at once. If that fails, prepares its texts one by one, so that only the text that caused the
   * failure fails.
   */
  private async prepareGroup(group: readonly PrepareInput[]): Promise<Outcome[]> {
    try {
      return await this.prepareTogether(group);
    } catch (error) {
      if (!mayBeCausedByText(error) || this.isClosed) throw error;
      this.options.log.warn(
        { err: error, texts: group.length },
        "preparation of a group failed; its texts are prepared one by one",
      );
    }
    const outcomes: Outcome[] = [];
    for (const input of group) outcomes.push(await this.prepareAlone(input));
    return outcomes;
  }

  private async prepareAlone(input: PrepareInput): Promise<Outcome> {
    for (let deaths = 1; ; deaths++) {
      try {
        const [outcome] = await this.prepareTogether([input]);
        return outcome ?? new PrepareFailure("The text could not be prepared.");
      } catch (error) {
        if (!mayBeCausedByText(error) || this.isClosed) throw error;
        if (error instanceof ChildFailure || deaths === DEATHS_MAX) {
          this.options.log.warn({ err: error, contentUnits: input.content.length }, "a text cannot be prepared");
          return new PrepareFailure("The text could not be prepared: it takes too much time or memory to split.", {
            cause: error,
          });
        }
      }
    }
  }

  private async prepareTogether(group: readonly PrepareInput[]): Promise<Prepared[]> {
    const requests = await encodeInputs(group);
    const inFiles = group.reduce((sum, { content, file }) => sum + (file === undefined ? 0 : utf8BytesOf(content)), 0);
    const bytes = requests.reduce((sum, { payload }) => sum + (payload?.byteLength ?? 0), inFiles);
    const answer = (await this.request(requests, bytes)).at(-1);
    const results = answer === undefined ? [] : await decodeResults(answer);
    return results.map(({ extracted, cut }, position) => {
      return { extracted, ...assemble(group[position]?.content ?? "", cut) };
    });
  }

  /**
   * Sends all requests at once: between two requests a process above its memory limit is replaced, which would lose the
   * first parts.
   */
  private async request(requests: readonly ChildMessage[], contentBytes: number): Promise<readonly ChildMessage[]> {
    const child = await this.upChild();
    const timeoutMs = (this.options.groupTimeoutMs ?? groupTimeout)(contentBytes);
    const state = child.state();
    const pid = state.status === "up" ? state.pid : 0;
    const starvation = new StarvationCheck(pid, timeoutMs * PROCESSOR_SHARE_MAX, this.options.usage);
    let isStarved = false;
    let extensions = 0;
    const getsMoreTime = () => {
      isStarved = starvation.wasStarved();
      extensions += 1;
      return isStarved && extensions <= EXTENSIONS_MAX;
    };
    const last = requests.length - 1;
    try {
      return await Promise.all(
        requests.map(({ header, payload }, at) =>
          // the parts before the last request are answered at once; if not, the last one is not answered either
          child.request(header, payload, timeoutMs, at === last ? getsMoreTime : () => true),
        ),
      );
    } catch (error) {
      if (!isStarved || !(error instanceof ChildGone)) throw error;
      throw new Fault("overloaded", "Texts cannot be prepared at the moment: the machine is too busy.", {
        cause: error,
      });
    }
  }

  /**
   * Returns the child as soon as it accepts requests.
   * @throws Fault `model_unavailable` if it does not within 30 s, or never will
   */
  private async upChild(): Promise<SupervisedChild> {
    const child = await this.starting;
    const deadlineMs = performance.now() + UP_TIMEOUT_MS;
    for (;;) {
      const state = child.state();
      if (this.isClosed || state.status === "closed") throw unavailable("the server is shutting down");
      if (state.status === "refused") throw unavailable(state.reason);
      if (state.status === "up") return child;
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw unavailable(`the preparation process is ${state.status}`);
      await this.stateChange(leftMs);
    }
  }

  /** Resolves when the child begins or ceases to accept requests, or after `timeoutMs`. */
  private stateChange(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.watchers.delete(finish);
        resolve();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.watchers.add(finish);
    });
  }

  private wake(): void {
    for (const watcher of [...this.watchers]) watcher();
  }
}

function mayBeCausedByText(error: unknown): boolean {
  return error instanceof ChildGone || error instanceof ChildFailure;
}

function unavailable(reason: string): Fault {
  return new Fault("model_unavailable", "Texts cannot be prepared at the moment.", { cause: new Error(reason) });
}

/**
 * Splits texts into groups that are small enough for one request each. Texts of a group are consecutive. A larger text
 * is a group of its own.
 */
function groupsOf(inputs: readonly PrepareInput[]): PrepareInput[][] {
  const groups: PrepareInput[][] = [];
  let group: PrepareInput[] = [];
  let units = 0;
  for (const input of inputs) {
    const isFull = group.length >= GROUP_TEXTS_MAX || units + input.content.length > GROUP_UNITS_MAX;
    if (group.length > 0 && isFull) {
      groups.push(group);
      group = [];
      units = 0;
    }
    group.push(input);
    units += input.content.length;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
