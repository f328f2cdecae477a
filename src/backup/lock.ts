// Lets one backup at a time use a target. Each backup first writes a lock of its own and then looks for others, so of
// two that begin at the same moment at most one goes on, with nothing but `write`, `read` and `list` of a target.

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { type Clock, isoTime } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { isRunning } from "../kit/is-running.ts";
import type { Target } from "./target.ts";

const LOCKS = "locks/";
/** A lock that was not renewed for this long is passed over. */
const LIFE_MS = 10 * 60_000;
/** Time between two renewals: seven in a row may fail before a backup loses its lock. */
const RENEW_MS = 60_000;
/** If the lock ends within this time, no backup is completed and nothing removed: it may be passed over meanwhile. */
const MARGIN_MS = 2 * 60_000;

/** What a lock says of the backup that holds it. Times are in ISO 8601. */
interface LockRecord {
  readonly host: string;
  readonly pid: number;
  /** The processes among which `pid` is unique: start of the machine, and container (`processes`). */
  readonly processes: string;
  readonly taken_at: string;
  readonly ends_at: string;
}

/** The right of this process to write into a target, until `release`. */
export class TargetLock {
  readonly #ending = new AbortController();
  #renewing: Promise<void> = Promise.resolve();
  #isLost = false;

  private constructor(
    private readonly target: Target,
    private readonly clock: Clock,
    private readonly name: string,
    private readonly takenAt: number,
    private endsAt: number,
  ) {}

  /**
   * Takes the lock, and renews it every minute. Removes locks of processes that have ended, and locks that ended.
   * @throws UsageError if another backup holds the target, or a lock in it is damaged
   */
  static async take(target: Target, clock: Clock): Promise<TargetLock> {
    const now = clock.now();
    const lock = new TargetLock(target, clock, `${LOCKS}${crypto.randomUUID()}`, now, now + LIFE_MS);
    await lock.#write();
    try {
      for (const name of await target.list(LOCKS)) {
        if (name !== lock.name) await passOver(target, name, now);
      }
    } catch (error) {
      await target.remove(lock.name);
      throw error;
    }
    lock.#renewing = lock.#renewUntilReleased();
    return lock;
  }

  /** @throws Error if another backup may hold the target by now */
  async assertHeld(): Promise<void> {
    const isTooLate = this.clock.now() > this.endsAt - MARGIN_MS;
    if (!this.#isLost && !isTooLate && (await this.target.read(this.name)) !== null) return;
    throw new Error(
      `The backup was stopped for so long that another one may use ${this.target.description} by now; run it again.`,
    );
  }

  /** Ends the lock. */
  async release(): Promise<void> {
    this.#ending.abort();
    await this.#renewing;
    await this.target.remove(this.name);
  }

  async #renewUntilReleased(): Promise<void> {
    for (;;) {
      await this.clock.sleep(RENEW_MS, this.#ending.signal);
      if (this.#ending.signal.aborted || this.#isLost) return;
      try {
        await this.assertHeld();
        const endsAt = this.clock.now() + LIFE_MS;
        await this.#write(endsAt);
        this.endsAt = endsAt;
      } catch {
        // the target may answer again in a minute; `assertHeld` refuses to go on if it does not
        this.#isLost = this.clock.now() > this.endsAt - MARGIN_MS;
      }
    }
  }

  async #write(endsAt = this.endsAt): Promise<void> {
    const record: LockRecord = {
      ...{ host: hostname(), pid: process.pid, processes: processes() },
      ...{ taken_at: isoTime(this.takenAt), ends_at: isoTime(endsAt) },
    };
    await this.target.write(this.name, new TextEncoder().encode(`${JSON.stringify(record)}\n`));
  }
}

/**
 * Removes a lock that has ended, or whose process has.
 * @throws UsageError if the backup that holds the lock is still running, or the lock is damaged
 */
async function passOver(target: Target, name: string, now: number): Promise<void> {
  const bytes = await target.read(name);
  if (bytes === null) return; // released meanwhile
  const { host, pid, processes: of, taken_at, ends_at } = recordIn(bytes, `${name} in ${target.description}`);
  const hasEnded = Date.parse(ends_at) <= now || (of === processes() && !isRunning(pid));
  if (hasEnded) return target.remove(name);
  throw new UsageError(
    `Another backup is being made in ${target.description}, by process ${pid} on ${host} since ${taken_at}. ` +
      `Wait until it has ended. If it was stopped from outside, its lock ends at ${ends_at}.`,
  );
}

function recordIn(bytes: Uint8Array, place: string): LockRecord {
  try {
    const record: LockRecord = JSON.parse(new TextDecoder().decode(bytes));
    if (!Number.isNaN(Date.parse(record.ends_at))) return record;
  } catch (cause) {
    throw damaged(place, cause);
  }
  throw damaged(place);
}

function damaged(place: string, cause?: unknown): UsageError {
  return new UsageError(`${place} is no lock of a backup: remove it if no backup is being made.`, { cause });
}

/** Names the set of processes that this one can see. In one set, each process has another number. */
function processes(): string {
  if (process.platform !== "linux") return hostname();
  const start = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return `${start} ${readlinkSync("/proc/self/ns/pid")}`;
}
