// Parses the flag `--mode` of several benches.

import { MODE_NAMES, type ModeName } from "../../src/domain/ranking.ts";
import { UsageError } from "../../src/kit/flags.ts";

/**
 * Parses comma-separated names of modes; undefined means all modes.
 * @throws UsageError with the name of an unknown mode
 */
export function modesOf(names: string | undefined): readonly ModeName[] {
  if (names === undefined) return MODE_NAMES;
  return names.split(",").map((name) => {
    const mode = MODE_NAMES.find((known) => known === name);
    if (mode === undefined) throw new UsageError(`There is no mode ${name}; there are ${MODE_NAMES.join(", ")}.`);
    return mode;
  });
}
