// Reads how long the event loop of a watched server was blocked. fixtures/loop-watch.ts writes the file.

import { readFileSync } from "node:fs";

/** Environment variable with the path of the file. */
export const LOOP_FILE_VARIABLE = "MNEME_BENCH_LOOP_FILE";

/** A time between two ticks of an event loop. */
export interface Stall {
  readonly wallMs: number;
  /** Part of it in which the thread waited for a processor. */
  readonly waitedMs: number;
}

/** The stalls that ended after a moment. @param sinceMs Unix milliseconds */
export function stallsSince(file: string, sinceMs: number): readonly Stall[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.flatMap((line) => {
    const [endedMs = 0, wallMs = 0, waitedMs = 0] = line.split(" ").map(Number);
    return endedMs > sinceMs ? [{ wallMs, waitedMs }] : [];
  });
}
