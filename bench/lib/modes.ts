// Which modes does a bench ask? Reads the flag that several benches have.

import { MODE_NAMES, type ModeName } from "../../src/domain/ranking.ts";
import { UsageError } from "../../src/kit/flags.ts";

/**
 * Modes by their names, separated by commas; undefined: all of them.
 * @throws UsageError naming the one that does not exist.
 */
export function modesOf(names: string | undefined): readonly ModeName[] {
  if (names === undefined) return MODE_NAMES;
  return names.split(",").map((name) => {
    const mode = MODE_NAMES.find((known) => known === name);
    if (mode === undefined) throw new UsageError(`There is no mode ${name}; there are ${MODE_NAMES.join(", ")}.`);
    return mode;
  });
}
