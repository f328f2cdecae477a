// The contract of IdempotencyStore, on SQLite, and what the tables see to by themselves.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteIdempotencyStore } from "../../src/adapters/embedded/sqlite/idempotency-store.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { idempotencyStoreContract, type OpenedIdempotencyStore } from "../contract/idempotency-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { temporaryFolder } from "./temporary-folder.ts";

idempotencyStoreContract("SQLite", open);

test("the row of a memory that is erased empties the answers that speak of it", () => {
  const { store, projects, close, ...opened } = open(new ManualClock());
  const [about, other] = ["about", "other"].map((key) => ({
    projectId: projects[0],
    userId: null,
    route: "POST /",
    key,
  }));
  if (about === undefined || other === undefined) throw new Error("two slots are needed");
  const answer = { fingerprint: new Uint8Array(32), status: 202, body: "{}" };
  store.remember(about, answer, ["mem_a", "mem_b"]);
  store.remember(other, answer, ["mem_b"]);
  opened.run(`INSERT INTO memories (id, project_key, version, status, given, content_bytes, content_sha256, created_at,
    updated_at, claimable_at) VALUES ('mem_a', 1, 1, 'completed', '[]', 1, x'00', 0, 0, 0)`);
  opened.run("UPDATE memories SET deleted_at = 1");
  expect(store.recall(about)).toEqual(answer);
  opened.run("DELETE FROM memories");
  expect([store.recall(about), store.recall(other)]).toEqual([{ ...answer, body: null }, answer]);
  close();
});

function open(clock: Clock): OpenedIdempotencyStore & { run(sql: string): void } {
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
  const count = (table: "idempotency_records" | "idempotency_subjects") =>
    Number(database.prepare<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${table}`).get({})?.rows);
  return {
    store: new SqliteIdempotencyStore({ database, clock }),
    transactions: database,
    projects,
    storedAnswers: () => count("idempotency_records"),
    storedSubjects: () => count("idempotency_subjects"),
    run: (sql) => {
      database.prepare(sql).run({});
    },
    close: () => {
      database.close();
      folder.remove();
    },
  };
}
