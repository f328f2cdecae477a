// Loads the character maps of data/cmaps as base64. Runs as a macro when the program is loaded or compiled, so that the
// single binary contains them. character-maps.ts uses them.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../../../data/cmaps");
const EXTENSION = ".bcmap";

/** The maps in base64, by their names. */
export function packedCharacterMaps(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(FOLDER)
      .filter((name) => name.endsWith(EXTENSION))
      .map((name) => [name.slice(0, -EXTENSION.length), readFileSync(join(FOLDER, name), "base64")]),
  );
}
