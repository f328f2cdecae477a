// The server's part of preparation: sends groups of texts to the preparation processes. There is one process, and more
// on machines with many cores when the first has too much to do. A large text gets a process of its own, which ends
// with it, so that other texts do not wait for it. The child's part is in src/preparation; adapters/documents reads
// files.

import type { ChildState } from "../../children/supervisor.ts";
import { utf8BytesOf } from "../../kit/pieced-text.ts";
import { LARGE_TEXT_BYTES, PrepareFailure, type PrepareInput, type Preparer } from "../../ports/preparer.ts";
import {
  groupsOf,
  type Outcome,
  type ProcessOptions,
  SupervisedPreparation,
  unavailable,
} from "./supervised-preparation.ts";

/** Options of preparation. */
export interface PreparationOptions extends ProcessOptions {
  /** Maximum number of processes for texts that are not large; default 1. */
  readonly processesMax?: number;
  /** Texts with more UTF-8 bytes than this get a process of their own; tests use a small number. */
  readonly largeTextBytes?: number;
}

/** A Preparer with child processes that can be observed and closed. */
export interface PreparationProcess extends Preparer {
  /**
   * @throws Fault `overloaded` if too many calls are waiting or a process gets too little processor time,
   *   `model_unavailable` if no process can be started; `signal.reason` if `signal` aborts
   */
  prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]>;
  /** State of the first child for texts that are not large; null before its first start. */
  state(): ChildState | null;
  /** Number of starts of the children for texts that are not large, without the first one of each. */
  restarts(): number;
  /** Resident memory of the children when it was last measured, in bytes. */
  rssBytes(): number;
  /** Ends the children. Pending calls reject. */
  close(): Promise<void>;
}

/** Low priority: ingestion yields to searches, and a large text to others. */
const NICENESS = 10;
const LARGE_TEXT_NICENESS = 15;

/** Starts a preparation process in the background. Calls wait until it accepts requests. */
export function createPreparationProcess(options: PreparationOptions): PreparationProcess {
  return new Preparation(options);
}

/** The processes that stay, and one for each large text. */
class Preparation implements PreparationProcess {
  private readonly first: SupervisedPreparation;
  private readonly shared: SupervisedPreparation[];
  /** The processes of the large texts that are being prepared. */
  private readonly ofLargeTexts = new Set<SupervisedPreparation>();
  private isClosed = false;

  constructor(private readonly options: PreparationOptions) {
    this.first = this.started();
    this.shared = [this.first];
  }

  get parallelMax(): number {
    return this.options.processesMax ?? 1;
  }

  state(): ChildState | null {
    return this.first.state();
  }

  restarts(): number {
    return this.shared.reduce((sum, process) => sum + process.restarts(), 0);
  }

  rssBytes(): number {
    return [...this.shared, ...this.ofLargeTexts].reduce((sum, process) => sum + process.rssBytes(), 0);
  }

  async prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    signal?.throwIfAborted();
    const largeBytes = this.options.largeTextBytes ?? LARGE_TEXT_BYTES;
    const isLarge = inputs.map(({ content }) => utf8BytesOf(content) > largeBytes);
    if (!isLarge.includes(true)) return this.prepareShared(inputs, signal);
    const others = await this.prepareShared(
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
    await Promise.all([...this.shared, ...this.ofLargeTexts].map((process) => process.close()));
  }

  private started(): SupervisedPreparation {
    return new SupervisedPreparation("preparation", NICENESS, this.options);
  }

  /** Prepares texts in groups, as many at a time as there may be processes. */
  private async prepareShared(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    const groups = groupsOf(inputs);
    const outcomes: (readonly Outcome[])[] = groups.map(() => []);
    let next = 0;
    const inTurn = async () => {
      for (let at = next++; at < groups.length; at = next++) {
        try {
          outcomes[at] = await this.leastBusy().prepare(groups[at] ?? [], signal);
        } catch (error) {
          next = groups.length; // the call rejects, so the groups that are left need no work
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.parallelMax, groups.length) }, inTurn));
    return outcomes.flat();
  }

  /**
   * The process with the fewest texts to do among those that accept requests. If all of them have something to do,
   * starts one more for later calls, unless there are as many as there may be.
   */
  private leastBusy(): SupervisedPreparation {
    const up = this.shared.filter((process) => process.state()?.status === "up");
    const chosen = up.reduce(
      (best, process) => (process.backlogUnits < best.backlogUnits ? process : best),
      up[0] ?? this.first,
    );
    const isEachBusy = up.length === this.shared.length && chosen.backlogUnits > 0;
    if (isEachBusy && this.shared.length < this.parallelMax && !this.isClosed) this.shared.push(this.started());
    return chosen;
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
