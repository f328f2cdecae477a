// One supervised preparation process: sends it texts in groups of limited size, restarts it, and gives up a text that
// kills it. preparation-process.ts decides which process prepares what.

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
import { type Prepared, PrepareFailure, type PrepareInput } from "../../ports/preparer.ts";
import { assemble } from "../../preparation/assemble.ts";
import {
  decodeResults,
  encodeInputs,
  TOKENS_VARIABLE,
  type TokenSettings,
} from "../../preparation/preparation-protocol.ts";

/** Options of a preparation process. */
export interface ProcessOptions extends TokenSettings {
  readonly log: Log;
  /** Resident memory in bytes above which the process is replaced between groups. */
  readonly memoryBytesMax?: number;
  /** Returns the timeout in milliseconds for a group of texts of this size. */
  readonly groupTimeoutMs?: (contentBytes: number) => number;
  /** How long a child ran and waited for a processor. Replaced in tests, to simulate a starved child. */
  readonly usage?: ProcessUsage;
  /** Program and arguments of the child. Tests use a child that fails. */
  readonly command?: readonly string[];
}

/** The outcome for one text. */
export type Outcome = Prepared | PrepareFailure;

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

/** Maximum processor time for a group, as a share of its time limit. A twentieth is usual. */
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

/** One supervised process. It works on one call at a time; others wait in the order of their calls. */
export class SupervisedPreparation {
  private readonly starting: Promise<SupervisedChild>;
  private child: SupervisedChild | null = null;
  /** Functions that wake callers waiting for a change of the child's state. */
  private readonly watchers = new Set<() => void>();
  private lastCall: Promise<unknown> = Promise.resolve();
  private waitingCalls = 0;
  private waitingUnits = 0;
  private isClosed = false;

  constructor(
    private readonly name: string,
    private readonly niceness: number,
    private readonly options: ProcessOptions,
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

  /** Length of the texts that are being prepared or wait for it, in UTF-16 code units. */
  get backlogUnits(): number {
    return this.waitingUnits;
  }

  /**
   * Prepares the texts of one group (`groupsOf`); one outcome per text.
   * @throws Fault `overloaded` if too many calls are waiting or the process gets too little processor time,
   *   `model_unavailable` if no process can be started; `signal.reason` if `signal` aborts before the turn of the group
   */
  async prepare(group: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    const units = group.reduce((sum, { content }) => sum + content.length, 0);
    this.waitingUnits += units;
    try {
      return await this.enqueue(() => {
        signal?.throwIfAborted();
        return this.prepareGroup(group);
      });
    } finally {
      this.waitingUnits -= units;
    }
  }

  /** Ends the child. Pending calls reject. @param deadlineMs time until a child that computes is killed */
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
  private async enqueue<T>(work: () => Promise<T>): Promise<T> {
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

/** The fault of a call for which no process can be started. */
export function unavailable(reason: string): Fault {
  return new Fault("model_unavailable", "Texts cannot be prepared at the moment.", { cause: new Error(reason) });
}

/**
 * Splits texts into groups that are small enough for one request each. Texts of a group are consecutive. A larger text
 * is a group of its own.
 */
export function groupsOf(inputs: readonly PrepareInput[]): PrepareInput[][] {
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
