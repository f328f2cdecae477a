// The character maps of data/cmaps as texts. Runs as a macro, while this program is being loaded or compiled: the single
// binary has them in it, and no file beside it. Who asks for them stands in character-maps.ts.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../../../data/cmaps");
const EXTENSION = ".bcmap";

/** By name, in base64. */
export function packedCharacterMaps(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(FOLDER)
      .filter((name) => name.endsWith(EXTENSION))
      .map((name) => [name.slice(0, -EXTENSION.length), readFileSync(join(FOLDER, name), "base64")]),
  );
}
