// The contract of TextArchive, on DuckDB, in memory and on PostgreSQL. archive.test.ts tests the file of DuckDB.

import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { textArchiveContract } from "../contract/text-archive.ts";
import { openInMemoryShared } from "../in-memory/shared-index.ts";
import { emptyDatabase, withPostgres } from "./open-postgres.ts";
import { temporaryFolder } from "./temporary-folder.ts";

textArchiveContract("DuckDB", async () => {
  const folder = temporaryFolder();
  // little memory: the largest texts do not fit
  const options = {
    path: join(folder.path, "memories.duckdb"),
    log: createLog("silent"),
    memoryMaxBytes: 128 * 2 ** 20,
  };
  let archive = await Archive.open(options);
  return {
    archive,
    reopen: async () => {
      await archive.close();
      archive = await Archive.open(options);
      return archive;
    },
    close: async () => {
      await archive.close();
      folder.remove();
    },
  };
});

textArchiveContract("In-memory", async () => {
  const { texts: archive, close } = await openInMemoryShared(systemClock);
  return { archive, reopen: async () => archive, close: async () => close() };
});

withPostgres("TextArchive", () =>
  textArchiveContract("PostgreSQL", async () => {
    const { url, giveBack } = await emptyDatabase();
    const open = () =>
      openPostgresStores({ url, clock: systemClock, newWebhookSecret, onEffectFailure: () => undefined });
    let stores = await open();
    return {
      archive: stores.texts,
      reopen: async () => {
        await stores.close();
        stores = await open();
        return stores.texts;
      },
      close: async () => {
        await stores.close();
        await giveBack();
      },
    };
  }),
);
