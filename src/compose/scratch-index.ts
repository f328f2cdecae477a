// Temporary indexes, for calibrations. Their folder is deleted when they are closed, and, after a crash, at the start.

import { mkdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveInMemory } from "../adapters/embedded/archive-in-memory.ts";
import { EmbeddedChunkIndex } from "../adapters/embedded/chunk-index.ts";
import { Quarantine } from "../adapters/embedded/quarantine.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { OpenScratchIndex } from "../ports/scratch-index.ts";

/** Returns a function that opens such an index below the data directory. Only one may be open at a time. */
export function scratchIndexes({
  dataDir,
  log,
  clock,
}: {
  readonly dataDir: string;
  readonly log: Log;
  readonly clock: Pick<Clock, "now">;
}): OpenScratchIndex {
  const folder = join(dataDir, "calibrating");
  rmSync(folder, { recursive: true, force: true });
  return async (model) => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    let lastKey = 0n;
    const index = new EmbeddedChunkIndex({
      ...{ directory: folder, archive: new ArchiveInMemory(), log },
      quarantine: new Quarantine(join(folder, "quarantine"), clock),
      models: () => [model],
      reserveChunkKeys: (count) => {
        const first = lastKey + 1n;
        lastKey += BigInt(count);
        return first;
      },
    });
    return {
      project: (id) => index.project(id),
      current: (id) => index.current(id),
      close: async () => {
        await index.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  };
}
