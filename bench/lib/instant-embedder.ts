// Servers whose embedders return pseudo-random vectors at once, so that everything else can be measured.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new working directory in which all processes of a server load fixtures/instant-embedder.ts first. */
export function instantEmbedderFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const preload = [join(import.meta.dir, "../fixtures/instant-embedder.ts")];
  writeFileSync(join(folder, "bunfig.toml"), `preload = ${JSON.stringify(preload)}\n`);
  return folder;
}
