// The contract of ChunkIndex, on DuckDB and the native core, and in memory.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { chunkIndexContract, MODEL, OTHER_MODEL } from "../contract/chunk-index.ts";
import { Disk, InMemoryChunkIndex } from "../in-memory/chunk-index.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

chunkIndexContract("Embedded", async () => {
  const folder = temporaryFolder();
  let nextChunkKey = 1n;
  const open = async () => {
    const directory = join(folder.path, "projects");
    mkdirSync(directory, { recursive: true });
    const archive = await Archive.open({ path: join(folder.path, "archive.duckdb"), log: createLog("silent") });
    const index = new EmbeddedChunkIndex({
      directory,
      archive,
      quarantine: new Quarantine(join(folder.path, "quarantine"), systemClock),
      log: createLog("silent"),
      models: () => [MODEL, OTHER_MODEL],
      reserveChunkKeys: async (count) => {
        await Promise.resolve();
        const first = nextChunkKey;
        nextChunkKey += BigInt(count);
        return first;
      },
    });
    return { index, archive };
  };
  let opened = await open();
  const close = async () => {
    await opened.index.close();
    await opened.archive.close();
  };
  return {
    index: opened.index,
    reopen: async () => {
      await close();
      opened = await open();
      return opened.index;
    },
    remove: async () => {
      await close();
      folder.remove();
    },
  };
});

chunkIndexContract("In-memory", async () => {
  const disk = new Disk();
  let index = new InMemoryChunkIndex([MODEL, OTHER_MODEL], disk);
  return {
    index,
    reopen: async () => {
      await index.close();
      index = new InMemoryChunkIndex([MODEL, OTHER_MODEL], disk);
      return index;
    },
    remove: () => index.close(),
  };
});
