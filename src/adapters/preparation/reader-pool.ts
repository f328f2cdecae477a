// The server's side of text preparation: one reader process, its requests in bounded groups, and what happens to a text that the
// reader dies over. What a preparation is stands in preparation/, how files are read in document-reader.ts.

import { join } from "node:path";
import { childCommand } from "../../children/command.ts";
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
import { type Prepared, PrepareFailure, type PrepareInput, type Preparer } from "../../ports/preparer.ts";
import { assemble } from "../../preparation/assemble.ts";
import { decodeLayouts, encodeInputs, TOKENIZER_VARIABLE } from "../../preparation/reader-protocol.ts";

/** What a reader needs. */
export interface ReaderOptions {
  /** Folder of the models; `embedder/tokenizer.json` in it counts the tokens. */
  readonly modelsDir: string;
  readonly log: Log;
  /** Resident bytes above which the reader is replaced between groups. */
  readonly memoryBytesMax?: number;
  /** Time for a group of texts, of which there is more the larger they are. */
  readonly groupTimeoutMs?: (contentBytes: number) => number;
  /** Program and arguments of the child; tests put one in that breaks. */
  readonly command?: readonly string[];
}

/** Text preparation in a process of its own. */
export interface Reader extends Preparer {
  /** @throws Fault `overloaded` when 64 calls wait, `model_unavailable` when no reader can be had; the signal's reason */
  prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly (Prepared | PrepareFailure)[]>;
  /** Where the child stands; null before it was first started. */
  state(): ChildState | null;
  /** Starts after the first one. */
  restarts(): number;
  /** Resident memory of the child when last looked at. */
  rssBytes(): number;
  /** Ends the child. Calls under way reject. */
  close(): Promise<void>;
}

/** A reader is 110 MB at rest; the rest is for texts. A 100 MB text passes and the reader is replaced after it. */
const MEMORY_BYTES_MAX = 512 * 1024 * 1024;
const START_TIMEOUT_MS = 20_000;
/** Longest wait for a reader that is being restarted: its slowest restart and its start. */
const UP_TIMEOUT_MS = 30_000;
/** Ingestion yields to searches. */
const NICENESS = 10;
/** A group ends with the text that takes it past either of these. */
const GROUP_TEXTS_MAX = 64;
const GROUP_UNITS_MAX = 4 * 1024 * 1024;
/** Calls that wait at most; ingestion makes one at a time. */
const WAITING_CALLS_MAX = 64;
/** Times that a reader may die over one text, alone, before that is given up: once can be chance. */
const DEATHS_MAX = 2;

/** Of preparation's 0.1 s per MiB at most twenty times that, and room for a machine that is busy with something else. */
function groupTimeout(contentBytes: number): number {
  return 40_000 + 2_000 * Math.ceil(contentBytes / (1024 * 1024));
}

/** Starts a reader at once, in the background: calls wait until it is up. */
export function createReader(options: ReaderOptions): Reader {
  return new SupervisedReader(options);
}

type Outcome = Prepared | PrepareFailure;

class SupervisedReader implements Reader {
  private readonly starting: Promise<SupervisedChild>;
  private child: SupervisedChild | null = null;
  /** Wake those who wait for the child to come up, or to be given up. */
  private readonly watchers = new Set<() => void>();
  private turn: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private isClosed = false;

  constructor(private readonly options: ReaderOptions) {
    this.starting = this.start();
    this.starting.catch((error: unknown) => options.log.error({ err: error }, "the reader cannot be supervised"));
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
    return this.inTurn(async () => {
      const outcomes: Outcome[] = [];
      for (const group of groupsOf(inputs)) {
        signal?.throwIfAborted();
        outcomes.push(...(await this.prepareGroup(group)));
      }
      return outcomes;
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.wake();
    const [started] = await Promise.allSettled([this.starting]);
    if (started.status === "fulfilled") await started.value.close();
  }

  private async start(): Promise<SupervisedChild> {
    this.child = await superviseChild({
      name: "reader",
      command: this.options.command ?? childCommand("reader"),
      env: { [TOKENIZER_VARIABLE]: join(this.options.modelsDir, "embedder", "tokenizer.json") },
      niceness: NICENESS,
      memoryBytesMax: this.options.memoryBytesMax ?? MEMORY_BYTES_MAX,
      startTimeoutMs: START_TIMEOUT_MS,
      log: this.options.log,
      onUp: () => this.wake(),
      onDown: () => this.wake(),
    });
    return this.child;
  }

  /** One call at a time: the parts of a large text must not mix with another's. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting >= WAITING_CALLS_MAX) {
      throw new Fault("overloaded", "Too many texts are waiting to be prepared; try again later.");
    }
    this.waiting += 1;
    const call = this.turn.then(work);
    const settled = () => {
      this.waiting -= 1;
    };
    this.turn = call.then(settled, settled);
    return call;
  }

  /** Together, and one by one when that fails: then only the text that is at fault pays for it. */
  private async prepareGroup(group: readonly PrepareInput[]): Promise<Outcome[]> {
    try {
      return await this.ask(group);
    } catch (error) {
      if (!isAboutTexts(error) || this.isClosed) throw error;
      this.options.log.warn({ err: error, texts: group.length }, "texts are prepared again, one by one");
    }
    const outcomes: Outcome[] = [];
    for (const input of group) outcomes.push(await this.prepareAlone(input));
    return outcomes;
  }

  private async prepareAlone(input: PrepareInput): Promise<Outcome> {
    for (let deaths = 1; ; deaths++) {
      try {
        const [outcome] = await this.ask([input]);
        return outcome ?? new PrepareFailure("The text could not be prepared.");
      } catch (error) {
        if (!isAboutTexts(error) || this.isClosed) throw error;
        if (error instanceof ChildFailure || deaths === DEATHS_MAX) {
          this.options.log.warn({ err: error, contentUnits: input.content.length }, "a text cannot be prepared");
          return new PrepareFailure("The text could not be prepared: it takes too much time or memory to split.", {
            cause: error,
          });
        }
      }
    }
  }

  private async ask(group: readonly PrepareInput[]): Promise<Prepared[]> {
    const requests = encodeInputs(group);
    const bytes = requests.reduce((sum, { payload }) => sum + (payload?.byteLength ?? 0), 0);
    const answer = (await this.request(requests, bytes)).at(-1);
    const layouts = answer === undefined ? [] : decodeLayouts(answer);
    return layouts.map(({ extracted, cut }, position) => {
      return { extracted, chunks: assemble(group[position]?.content ?? "", cut) };
    });
  }

  /** All are sent at once: between two requests an overgrown reader would be replaced, and the first parts be lost. */
  private async request(requests: readonly ChildMessage[], contentBytes: number): Promise<readonly ChildMessage[]> {
    const child = await this.upChild();
    const timeoutMs = (this.options.groupTimeoutMs ?? groupTimeout)(contentBytes);
    return Promise.all(requests.map(({ header, payload }) => child.request(header, payload, timeoutMs)));
  }

  /** The child when it takes requests. @throws Fault `model_unavailable` when it is not up within 30 s or will never be */
  private async upChild(): Promise<SupervisedChild> {
    const child = await this.starting;
    const deadlineMs = performance.now() + UP_TIMEOUT_MS;
    for (;;) {
      const state = child.state();
      if (this.isClosed || state.status === "closed") throw unavailable("the server is shutting down");
      if (state.status === "refused") throw unavailable(state.reason);
      if (state.status === "up") return child;
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw unavailable(`the reader is ${state.status}`);
      await this.changed(leftMs);
    }
  }

  /** Resolves when the child came up or went down, or after `timeoutMs`. */
  private changed(timeoutMs: number): Promise<void> {
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

function isAboutTexts(error: unknown): boolean {
  return error instanceof ChildGone || error instanceof ChildFailure;
}

function unavailable(reason: string): Fault {
  return new Fault("model_unavailable", "Texts cannot be prepared at the moment.", { cause: new Error(reason) });
}

/** Groups of neighbouring texts, small enough to be one request; a text larger than that is a group of its own. */
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
