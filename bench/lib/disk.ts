// Size of a data directory on disk.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Folder of the single binary's libraries and models in the data directory. */
const RUNTIME = /^runtime-/;
/** Space that the server keeps free for deletions. */
const RESERVE = "reserve";

/** Bytes of all files in a data directory, without unpacked libraries and models, and without reserved space. */
export function diskBytes(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += RUNTIME.test(entry.name) ? 0 : diskBytes(path);
    else if (entry.isFile() && entry.name !== RESERVE) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
