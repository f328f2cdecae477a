// Opens stores on a new SQLite file, for the contracts.

import { join } from "node:path";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { openStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import type { OpenStores, Stored } from "../contract/stores.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const TABLES: Readonly<Record<Stored, string>> = {
  messages: "messages",
  sources: "message_sources",
  answers: "idempotency_records",
  subjects: "idempotency_subjects",
};

/** Opens stores on a new file. */
export const openSqlite: OpenStores = (surroundings) => {
  const folder = temporaryFolder();
  const path = join(folder.path, "mneme.sqlite");
  const stores = openStores({ path, newWebhookSecret, ...surroundings });
  const beside = openDatabase(path);
  return {
    ...stores,
    occupy: (id, bytes) => {
      beside
        .prepare<never, { id: string; bytes: number }>(
          "UPDATE projects SET storage_bytes = storage_bytes + $bytes WHERE id = $id",
        )
        .run({ id, bytes });
    },
    stored: (what) =>
      Number(beside.prepare<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${TABLES[what]}`).get({})?.rows),
    close: () => {
      beside.close();
      stores.close();
      folder.remove();
    },
  };
};
