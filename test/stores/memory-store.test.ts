// The contract of MemoryStore, on SQLite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/adapters/embedded/sqlite/memory-store.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { memoryStoreContract } from "../contract/memory-store.ts";

memoryStoreContract("SQLite", (clock) => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-sqlite-"));
  const database = openDatabase(join(folder, "mneme.sqlite"));
  const first = new SqliteAccountStore({ database, clock }).defaultProject();
  const second = "prj_00000000000000000000000000" as ProjectId;
  database
    .prepare<never, { id: string }>(
      "INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'second', 'free', 0)",
    )
    .run({ id: second });
  return {
    store: new SqliteMemoryStore({ database, clock }),
    projects: [first, second],
    close: () => {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
});
