// The contract of MemoryStore, on SQLite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/adapters/embedded/sqlite/memory-store.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { memoryStoreContract, type ToldEvent } from "../contract/memory-store.ts";

memoryStoreContract("SQLite", (clock) => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-sqlite-"));
  const database = openDatabase(join(folder, "mneme.sqlite"));
  const first = new SqliteAccountStore({ database, clock }).defaultProject();
  const second = "prj_00000000000000000000000000" as ProjectId;
  database
    .prepare<never, { id: string }>(
      "INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'second', 'enterprise', 0)",
    )
    .run({ id: second });
  const keys = new Map(
    database
      .prepare<{ project_key: bigint; id: string }>("SELECT project_key, id FROM projects")
      .all({})
      .map((row) => [row.project_key, row.id as ProjectId]),
  );
  const change = (sql: string) => (id: ProjectId, value: string | number) => {
    database
      .prepare<never, { id: string; value: string | number }>(`UPDATE projects SET ${sql} WHERE id = $id`)
      .run({ id, value });
  };
  let events: ToldEvent[] = [];
  return {
    store: new SqliteMemoryStore({
      database,
      clock,
      outbox: {
        record: (projectKey, event, memory) => {
          // as rows would: what is undone was never told
          database.afterCommit(() => events.push({ projectId: keys.get(projectKey) ?? first, event, memory }));
        },
      },
    }),
    projects: [first, second],
    told: () => {
      const told = events;
      events = [];
      return told;
    },
    setPlan: change("plan = $value"),
    setRetention: change("settings = json_object('retention_days', $value)"),
    occupy: change("storage_bytes = storage_bytes + $value"),
    removeProject: (id) => change("deleted_at = $value")(id, clock.now()),
    close: () => {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
});
