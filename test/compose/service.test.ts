// A server opens its parts in the right order: a refused data folder starts no models.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { startService } from "../support/service.ts";

test("a path that cannot be the data folder is refused before a child process starts", async () => {
  const folder = temporaryFolder();
  const file = join(folder.path, "a-file");
  await Bun.write(file, "");
  let starts = 0;
  const startModels: typeof WORD_PORTS.startModels = (...given) => {
    starts += 1;
    return WORD_PORTS.startModels(...given);
  };
  for (const dataDir of [file, join(file, "below")]) {
    const starting = startService({ dataDir, ports: { ...WORD_PORTS, startModels } });
    await expect(starting).rejects.toThrow(
      `${dataDir} cannot be the data folder: it, or a part of its path, is a file.`,
    );
  }
  expect(starts).toBe(0);
  folder.remove();
});
