// Kept files of several nodes: each node has a folder, and all share a store.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SharedSpool } from "../../src/adapters/uploads/shared-spool.ts";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { SharedFiles } from "../../src/ports/upload-files.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { uploadFilesContract } from "../contract/upload-files.ts";
import { emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

const log = createLog("silent");

class FilesInMemory implements SharedFiles {
  readonly #files = new Map<string, readonly Uint8Array[]>();

  async put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    this.#files.set(name, await Array.fromAsync(pieces));
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    yield* this.#files.get(name) ?? [];
  }

  async missing(names: readonly string[]): Promise<readonly string[]> {
    return names.filter((name) => !this.#files.has(name));
  }

  async remove(name: string): Promise<void> {
    this.#files.delete(name);
  }

  async names(): Promise<readonly string[]> {
    return [];
  }
}

uploadFilesContract("A folder with a shared store", (clock) => {
  const folder = temporaryFolder();
  const shared = new FilesInMemory();
  const open = () => new SharedSpool(openSpool(join(folder.path, "uploads"), { clock, log }), shared, log);
  return { files: open(), reopen: open, remove: () => folder.remove() };
});

withPostgres("SharedFiles", () => {
  test("another node reads a kept file of 3 MB, and its removal removes it from the store", async () => {
    const database = await emptyDatabase();
    const folders = [temporaryFolder(), temporaryFolder()];
    const stores = await openPostgresStores({
      ...{ url: database.url, clock: systemClock, newWebhookSecret },
      onEffectFailure: () => undefined,
    });
    const spoolIn = (path = "") => new SharedSpool(openSpool(path, { clock: systemClock, log }), stores.files, log);
    const [here, there] = [spoolIn(folders[0]?.path), spoolIn(folders[1]?.path)];
    const incoming = await here.begin();
    const bytes = crypto.getRandomValues(Buffer.alloc(65_536));
    for (let at = 0; at < 48; at++) await incoming.write(bytes);
    await incoming.end();
    const name = await here.keep(incoming.path);

    expect(existsSync(there.pathOf(name))).toBe(false);
    expect(readFileSync(await there.fetch(name)).equals(readFileSync(here.pathOf(name)))).toBe(true);
    expect(await stores.files.names(0)).toEqual([name]);
    expect(await there.names(0)).toEqual([name]);
    await there.remove(name);
    expect(await stores.files.names(0)).toEqual([]);
    expect(existsSync(there.pathOf(name))).toBe(false);
    expect(existsSync(here.pathOf(name))).toBe(true);
    await here.removeAgain(); // what the first node still has
    expect(existsSync(here.pathOf(name))).toBe(false);

    const missing = await there.fetch("no-such-file");
    expect(existsSync(missing)).toBe(false);
    expect(await there.readText({ name: "no-such-file", sha256: "" })).toBe("missing");
    await stores.close();
    await database.giveBack();
    for (const folder of folders) folder.remove();
  });
});
