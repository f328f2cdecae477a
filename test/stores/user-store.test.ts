// The contract of UserStore, on SQLite.

import { join } from "node:path";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteUserStore } from "../../src/adapters/embedded/sqlite/user-store.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { userStoreContract } from "../contract/user-store.ts";
import { temporaryFolder } from "./temporary-folder.ts";

userStoreContract("SQLite", (clock) => {
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
  return {
    store: new SqliteUserStore({ database, clock }),
    projects,
    close: () => {
      database.close();
      folder.remove();
    },
  };
});
