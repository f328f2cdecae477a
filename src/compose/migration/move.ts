// Moves data between a data directory and PostgreSQL: the steps that both directions share.

import type { FilledPart } from "../../domain/store-copy.ts";
import { ByteRateLimit } from "../../kit/byte-rate-limit.ts";
import type { Clock } from "../../kit/clock.ts";
import type { StoreCopy } from "../../stores/copies/copies.ts";
import type { CopySink } from "../../stores/copies/sink.ts";
import { CopyDigest } from "./digest.ts";

/** The steps of a move, in their order. */
export type MoveStep = "rows and texts" | "vectors" | "checking";

/** Options of a move. */
export interface MoveOptions {
  readonly clock: Clock;
  /** Maximum rate; null: unlimited. */
  readonly bytesPerSecond: number | null;
  /**
   * Called after each part. `share`: share of the step that is done, 0..1; null if unknown. `done`: text like `12 MB`.
   */
  readonly onProgress: (step: MoveStep, share: number | null, done: string) => void;
}

/** Result of a move. */
export interface Moved {
  readonly memories: number;
  readonly users: number;
  readonly chats: number;
  /** Memories whose vectors were copied. */
  readonly publications: number;
  /** Memories that will be indexed again. */
  readonly skipped: number;
  readonly bytes: number;
}

/** Counts the bytes of a move, limits their rate, and reports the progress. */
export class MovePace {
  readonly #limit: ByteRateLimit;
  #bytes = 0;

  constructor(private readonly options: MoveOptions) {
    this.#limit = new ByteRateLimit(options.bytesPerSecond, options.clock);
  }

  /** Number of bytes so far. Each part counts when it is copied and when it is compared. */
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

/**
 * Writes a copy of the stores, then the vectors of the indexes. Then compares the written rows, texts and files with
 * the copy.
 * @param moveVectors returns the numbers of memories whose vectors were copied, and of those that are indexed again
 * @throws Error with a message for the operator; another call with the same copy continues, except after a difference
 */
export async function move(
  { summary, parts }: StoreCopy,
  sink: CopySink,
  options: MoveOptions,
  moveVectors: (pace: MovePace) => Promise<Pick<Moved, "publications" | "skipped">>,
): Promise<Moved> {
  const pace = new MovePace(options);
  try {
    const digest = new CopyDigest();
    let [number, bytes] = [0, 0];
    for await (const part of parts) {
      digest.add(part);
      if (number >= sink.partsDone) await sink.write(part, number); // an earlier run has written the others
      number += 1;
      bytes += part.bytes.length;
      await pace.take(
        "rows and texts",
        part.bytes.length,
        Math.min(0.99, bytes / Math.max(1, summary.bytes_estimated)),
      );
    }
    await sink.endParts();
    const vectors = await moveVectors(pace);
    const differences = digest.differencesTo(await digestOf(sink.writtenParts(), pace, bytes));
    if (differences.length > 0) {
      throw new Error(
        `The copy differs from its source in ${differences.join(", ")}: empty the target and run the command again.`,
      );
    }
    await sink.finish();
    const { memories, users, chats } = summary.counts;
    return { memories, users, chats, ...vectors, bytes: pace.bytes };
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}

/** The hashes of parts. @param total size of all parts in bytes, for the progress */
async function digestOf(parts: AsyncIterable<FilledPart>, pace: MovePace, total: number): Promise<CopyDigest> {
  const digest = new CopyDigest();
  let done = 0;
  for await (const part of parts) {
    digest.add(part);
    done += part.bytes.length;
    await pace.take("checking", part.bytes.length, Math.min(1, done / Math.max(1, total)));
  }
  return digest;
}
