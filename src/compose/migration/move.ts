// What both directions of a move have in common.

import type { FilledPart } from "../../domain/store-copy.ts";
import type { Clock } from "../../kit/clock.ts";
import { RateLimit } from "../../kit/rate-limit.ts";
import { CopyDigest } from "./digest.ts";

/** The steps of a move, in their order. */
export type MoveStep = "rows and texts" | "vectors" | "checking";

/** How a move is made. */
export interface MoveOptions {
  readonly clock: Clock;
  /** null: unlimited. */
  readonly bytesPerSecond: number | null;
  /** Called after each part. `share` is that of the step, 0..1; null if it is not known. */
  readonly onProgress: (step: MoveStep, share: number | null, done: string) => void;
}

/** Result of a move. */
export interface Moved {
  readonly memories: number;
  readonly users: number;
  readonly chats: number;
  /** Memories with vectors that were copied, and those that will be indexed again. */
  readonly publications: number;
  readonly skipped: number;
  readonly bytes: number;
}

/** Counts the bytes of a move, limits their rate, and reports the progress. */
export class MovePace {
  readonly #limit: RateLimit;
  #bytes = 0;

  constructor(private readonly options: MoveOptions) {
    this.#limit = new RateLimit(options.bytesPerSecond, options.clock);
  }

  /** Number of bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes of a step, and resolves when the next ones may follow. */
  async take(step: MoveStep, bytes: number, share: number | null): Promise<void> {
    this.#bytes += bytes;
    this.options.onProgress(step, share, `${(this.#bytes / 1_000_000).toFixed(1)} MB`);
    await this.#limit.take(bytes);
  }
}

/** What was copied: the hashes of all parts, and their size in bytes. */
export interface CopiedParts {
  readonly digest: CopyDigest;
  readonly bytes: number;
}

/**
 * Writes the parts of a copy. The first `done` ones are only hashed, because an earlier run has written them.
 * @param bytesEstimated size of all parts, for the progress
 */
export async function copyParts(
  parts: AsyncIterable<FilledPart>,
  { done, bytesEstimated }: { readonly done: number; readonly bytesEstimated: number },
  write: (part: FilledPart, number: number) => Promise<void>,
  pace: MovePace,
): Promise<CopiedParts> {
  const digest = new CopyDigest();
  let [number, bytes] = [0, 0];
  for await (const part of parts) {
    digest.add(part);
    if (number >= done) await write(part, number);
    number += 1;
    bytes += part.bytes.length;
    await pace.take("rows and texts", part.bytes.length, Math.min(0.99, bytes / Math.max(1, bytesEstimated)));
  }
  return { digest, bytes };
}

/** The hashes of all parts. `total` is the size of them all. */
export async function digestOf(parts: AsyncIterable<FilledPart>, pace: MovePace, total: number): Promise<CopyDigest> {
  const digest = new CopyDigest();
  let done = 0;
  for await (const part of parts) {
    digest.add(part);
    done += part.bytes.length;
    await pace.take("checking", part.bytes.length, Math.min(1, done / Math.max(1, total)));
  }
  return digest;
}

/** @throws Error that names the tables in which the copy differs from its source */
export function refuseDifferences(source: CopyDigest, copy: CopyDigest): void {
  const differences = source.differencesTo(copy);
  if (differences.length === 0) return;
  throw new Error(
    `The copy differs from its source in ${differences.join(", ")}: empty the target and run the command again.`,
  );
}
