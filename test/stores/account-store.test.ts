// What the port AccountStore owes (src/ports/account-store.ts), on SQLite.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { openDatabase, type SqliteDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { Fault } from "../../src/domain/fault.ts";
import { isId, type ProjectId } from "../../src/domain/ids.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const SECRET = "ctx_Zm9ydHktdHdvLWJ5dGVzLW9mLXNlY3JldC1mb3ItdGVzdHM";

let folder: ReturnType<typeof temporaryFolder>;
let database: SqliteDatabase;
let accounts: SqliteAccountStore;
beforeEach(() => {
  folder = temporaryFolder();
  database = openDatabase(join(folder.path, "mneme.sqlite"));
  accounts = new SqliteAccountStore({ database, clock: new ManualClock() });
});
afterEach(() => {
  database.close();
  folder.remove();
});

test("the default project is made once and stays the same", () => {
  const project = accounts.defaultProject();
  expect(isId("prj", project)).toBe(true);
  expect(accounts.defaultProject()).toBe(project);
  expect(accounts.projects()).toEqual([project]);
});

test("a key authenticates for its project and scopes, and no other text does", () => {
  const projectId = accounts.defaultProject();
  expect(accounts.hasKeys(projectId)).toBe(false);
  const keyId = accounts.addKey(projectId, { secret: SECRET, name: "admin", scopes: ["*", "admin"] });
  expect(isId("key", keyId)).toBe(true);
  expect(accounts.hasKeys(projectId)).toBe(true);
  expect(accounts.authenticate(SECRET)).toEqual({ keyId, projectId, scopes: ["*", "admin"] });
  for (const wrong of ["", "ctx_", SECRET.slice(0, -1), `${SECRET}x`, SECRET.toLowerCase(), "x".repeat(100_000)]) {
    expect(accounts.authenticate(wrong)).toBeNull();
  }
});

test("storing the same key again changes nothing", () => {
  const projectId = accounts.defaultProject();
  const keyId = accounts.addKey(projectId, { secret: SECRET, name: "first", scopes: ["query"] });
  expect(accounts.addKey(projectId, { secret: SECRET, name: "second", scopes: ["*"] })).toBe(keyId);
  expect(accounts.authenticate(SECRET)?.scopes).toEqual(["query"]);
});

test("a key of one project is refused to another", () => {
  const first = accounts.defaultProject();
  const second = "prj_00000000000000000000000000" as ProjectId;
  database
    .prepare<never, { id: string }>(
      "INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'second', 'free', 0)",
    )
    .run({ id: second });
  accounts.addKey(first, { secret: SECRET, name: "admin", scopes: ["*"] });
  expect(() => accounts.addKey(second, { secret: SECRET, name: "thief", scopes: ["*"] })).toThrow(Fault);
  expect(accounts.hasKeys(second)).toBe(false);
  expect(accounts.projects()).toEqual([first, second]);
});

test("a project that does not exist gets no key", () => {
  const key = { secret: SECRET, name: "x", scopes: ["*"] as const };
  expect(() => accounts.addKey("prj_nowhere" as ProjectId, key)).toThrow("bug in Mneme");
});

test("the secret stands nowhere in the files", () => {
  accounts.addKey(accounts.defaultProject(), { secret: SECRET, name: "admin", scopes: ["*"] });
  database.close();
  expect(readFileSync(join(folder.path, "mneme.sqlite")).includes(SECRET)).toBe(false);
});
