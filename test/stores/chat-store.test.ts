// The contract of ChatStore, on SQLite.

import { join } from "node:path";
import { SqliteChatStore } from "../../src/adapters/embedded/sqlite/chat-store.ts";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { nameUser, projectKeyOf } from "../../src/adapters/embedded/sqlite/user-rows.ts";
import { SqliteUserStore } from "../../src/adapters/embedded/sqlite/user-store.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { chatStoreContract } from "../contract/chat-store.ts";
import { temporaryFolder } from "./temporary-folder.ts";

// a memory as far as a chat is concerned: its project, and when it goes
const ADD_MEMORY = `INSERT INTO memories (id, project_key, user_key, version, status, given, content_bytes, content_sha256,
    created_at, updated_at, expires_at, claimable_at)
  SELECT 'mem_' || hex(randomblob(16)), project_key, $userKey, 1, 'completed', '[]', 1, x'00', 0, 0, $expiresAt, 0
  FROM projects WHERE id = $project RETURNING memory_key`;

chatStoreContract("SQLite", (clock) => {
  const folder = temporaryFolder();
  const database = openDatabase(join(folder.path, "mneme.sqlite"));
  const projects: readonly [ProjectId, ProjectId] = [
    "prj_00000000000000000000000001" as ProjectId,
    "prj_00000000000000000000000002" as ProjectId,
  ];
  for (const id of projects) {
    database
      .prepare<never, { id: string }>("INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'p', 'free', 0)")
      .run({ id });
  }
  const count = (table: "messages" | "message_sources") =>
    Number(database.prepare<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${table}`).get({})?.rows);
  return {
    store: new SqliteChatStore({ database, clock }),
    users: new SqliteUserStore({ database, clock }),
    projects,
    addMemory: (project, expiresAt, userId) => {
      const userKey = userId === undefined ? null : nameUser(database, projectKeyOf(database, project), userId, 0);
      const row = database
        .prepare<{ memory_key: bigint }, { project: string; userKey: bigint | null; expiresAt: number | null }>(
          ADD_MEMORY,
        )
        .get({ project, userKey, expiresAt });
      if (row === null) throw new Error(`${project} is not there`);
      return row.memory_key as MemoryKey;
    },
    removeMemory: (key) => {
      database
        .prepare<never, { key: bigint }>("UPDATE memories SET deleted_at = 1 WHERE memory_key = $key")
        .run({ key });
    },
    eraseMemory: (key) => {
      database.prepare<never, { key: bigint }>("DELETE FROM memories WHERE memory_key = $key").run({ key });
    },
    storedSources: () => count("message_sources"),
    storedMessages: () => count("messages"),
    close: () => {
      database.close();
      folder.remove();
    },
  };
});
