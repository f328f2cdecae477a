// Keys and projects in the file of SQLite: it contains no secret, and changes by another process take effect.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProjectId } from "../../src/domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { messageOf } from "../contract/stores.ts";
import { until } from "../support/until.ts";
import { NO_MOUNT, smallDisk, temporaryFolder } from "./temporary-folder.ts";

const MINUTE_MS = 60_000;

describe("on a file", () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let clock: ManualClock;
  let database: SqliteDatabase;
  let accounts: AccountStore;
  /** A second connection to the same file, like that of another process. */
  let otherDatabase: SqliteDatabase;
  let others: AccountStore;
  let projectId: ProjectId;

  beforeEach(async () => {
    folder = temporaryFolder();
    clock = new ManualClock();
    const path = join(folder.path, "mneme.sqlite");
    database = openDatabase(path);
    accounts = connectStores(database, database, { clock, newWebhookSecret }).accounts;
    otherDatabase = openDatabase(path);
    others = connectStores(otherDatabase, otherDatabase, { clock, newWebhookSecret }).accounts;
    projectId = await accounts.defaultProject();
  });
  afterEach(() => {
    database.close();
    otherDatabase.close();
    folder.remove();
  });
  const issue = (store = accounts, of = projectId) =>
    store.issueKey(of, { name: "k", scopes: ["*"], userId: null, expiresAt: null });

  test("no file contains a secret: issued, rotated, or set by the operator", async () => {
    const { key, secret } = await issue();
    const rotated = (await accounts.rotateKey(projectId, key.id, MINUTE_MS))?.secret ?? "";
    const operators = "ctx_chosen_by_the_operator_0001";
    await accounts.setOperatorKey(operators);
    for (const text of [secret, rotated, operators]) await accounts.authenticate(text);
    const files = readdirSync(folder.path).map((name) => readFileSync(join(folder.path, name)));
    expect(files.length).toBeGreaterThan(1);
    for (const text of [secret, rotated, operators]) {
      expect(files.some((bytes) => bytes.includes(text.slice(6, -4)))).toBe(false);
    }
  });

  test("keys and projects of another process take effect: new ones at once, changes within milliseconds", async () => {
    const { secret } = await issue(others);
    const principal = await accounts.authenticate(secret);
    if (principal === null) throw new Error("the new key is refused");
    const { keyId } = principal;
    const refused = (gone: string) =>
      until(`${gone} is refused`, async () => (await accounts.authenticate(gone)) === null);
    await others.changeKey(projectId, keyId, { scopes: ["query"] });
    await until(
      "the scopes are the changed ones",
      async () => (await accounts.authenticate(secret))?.scopes.join() === "query",
    );
    const rotated = (await others.rotateKey(projectId, keyId, 0))?.secret ?? "";
    expect((await accounts.authenticate(rotated))?.keyId).toBe(keyId);
    await refused(secret);
    await others.removeKey(projectId, keyId);
    await refused(rotated);

    const project = await others.createProject({ name: "p", plan: "free", settings: DEFAULT_SETTINGS });
    const inProject = await issue(others, project.id);
    expect((await accounts.authenticate(inProject.secret))?.projectId).toBe(project.id);
    await others.removeProject(project.id);
    await refused(inProject.secret);
  });

  test("changes of keys and projects by this process take effect at once", async () => {
    const { key, secret } = await issue();
    expect((await accounts.authenticate(secret))?.keyId).toBe(key.id);
    await accounts.changeKey(projectId, key.id, { scopes: ["query"] });
    expect((await accounts.authenticate(secret))?.scopes).toEqual(["query"]);
    const rotated = (await accounts.rotateKey(projectId, key.id, 0))?.secret ?? "";
    expect(await accounts.authenticate(secret)).toBeNull();
    expect((await accounts.authenticate(rotated))?.keyId).toBe(key.id);
    await accounts.removeKey(projectId, key.id);
    expect(await accounts.authenticate(rotated)).toBeNull();

    const project = await accounts.createProject({ name: "p", plan: "free", settings: DEFAULT_SETTINGS });
    const inProject = await issue(accounts, project.id);
    expect((await accounts.authenticate(inProject.secret))?.projectId).toBe(project.id);
    await accounts.removeProject(project.id);
    expect(await accounts.authenticate(inProject.secret)).toBeNull();
  });

  test("flush stores when keys were last used; until then only this process knows it", async () => {
    const { key, secret } = await issue();
    const second = await issue();
    const written = async (id = key.id) => (await others.key(projectId, id))?.lastUsedAt;
    await accounts.authenticate(secret);
    expect([await written(), (await accounts.key(projectId, key.id))?.lastUsedAt]).toEqual([null, clock.now()]);
    await accounts.flush();
    const first = clock.now();
    expect([await written(), await written(second.key.id)]).toEqual([first, null]);
    clock.advance(MINUTE_MS);
    await accounts.authenticate(secret);
    await accounts.authenticate(second.secret);
    expect([await written(), await written(second.key.id)]).toEqual([first, null]);
    await accounts.flush();
    expect([await written(), await written(second.key.id)]).toEqual([clock.now(), clock.now()]);
  });

  test("the last use of a key is the newest one that any process saw", async () => {
    const { key, secret } = await issue();
    await accounts.authenticate(secret);
    clock.advance(10);
    await others.authenticate(secret);
    await others.flush();
    await accounts.flush();
    expect((await others.key(projectId, key.id))?.lastUsedAt).toBe(clock.now());
    expect((await accounts.key(projectId, key.id))?.lastUsedAt).toBe(clock.now());
  });

  test("a setting that is newer than its project has its default", async () => {
    const { id } = await accounts.createProject({ name: "p", plan: "free", settings: DEFAULT_SETTINGS });
    const store = (settings: object) =>
      database
        .prepare<never, { id: string; settings: string }>("UPDATE projects SET settings = $settings WHERE id = $id")
        .run({ id, settings: JSON.stringify(settings) });
    store({});
    expect((await accounts.project(id))?.settings).toEqual(DEFAULT_SETTINGS);
    store({ llm: { model: "m" }, smart_ingestion: { enabled: false }, min_evidence: 0.5 });
    expect((await accounts.project(id))?.settings).toEqual({
      ...DEFAULT_SETTINGS,
      llm: { ...DEFAULT_SETTINGS.llm, model: "m" },
      smart_ingestion: { ...DEFAULT_SETTINGS.smart_ingestion, enabled: false },
      min_evidence: 0.5,
    });
  });

  test("an operator's key of the first schema becomes the operator's key", async () => {
    const { key, secret } = await issue();
    database.prepare<never>("UPDATE api_keys SET redacted = 'ctx_…'").run({});
    await accounts.setOperatorKey(secret);
    expect(await accounts.authenticate(secret)).toMatchObject({ keyId: key.id, scopes: ["*", "admin"] });
    expect(await accounts.key(projectId, key.id)).toMatchObject({ name: "operator", redacted: key.redacted });
    await accounts.setOperatorKey("ctx_chosen_by_the_operator_0002");
    expect(await accounts.authenticate(secret)).toBeNull();
  });

  test("a removed project leaves no row behind", async () => {
    const { id } = await accounts.createProject({ name: "p", plan: "free", settings: DEFAULT_SETTINGS });
    const tables = fillProject(database, id);
    await issue(accounts, id);
    await accounts.countQuery(id, { prompt: 1, completion: 1 });
    const before = new Map(tables.map((table) => [table, rowsOf(database, table)]));
    expect([...before].filter(([, rows]) => rows === 0n)).toEqual([]);
    await accounts.removeProject(id);
    await accounts.eraseMemoriesOfRemoved(id, await accounts.memoriesOfRemoved(id, 9));
    await accounts.eraseProject(id);
    expect(tables.filter((table) => rowsOf(database, table) > 0n)).toEqual([]);
    expect(await accounts.projects()).toEqual([projectId]);
  });
});

const probe = smallDisk(4);
probe?.remove();
test.skipIf(probe === null)(
  `keys are valid while the disk is full${probe === null ? `: ${NO_MOUNT}` : ""}`,
  async () => {
    const disk = smallDisk(4);
    if (disk === null) throw new Error(NO_MOUNT);
    const clock = new ManualClock();
    const database = openDatabase(join(disk.path, "mneme.sqlite"));
    try {
      const accounts = connectStores(database, database, { clock, newWebhookSecret }).accounts;
      const projectId = await accounts.defaultProject();
      const { key, secret } = await accounts.issueKey(projectId, {
        name: "k",
        scopes: ["*"],
        userId: null,
        expiresAt: null,
      });
      const ballast = join(disk.path, "ballast");
      expect(() => writeFileSync(ballast, Buffer.alloc(8 * 1024 * 1024))).toThrow("ENOSPC");
      const use = async () => {
        clock.advance(MINUTE_MS);
        expect((await accounts.authenticate(secret))?.keyId).toBe(key.id);
      };
      // the first writes may succeed although the disk is full, because SQLite's files still have unused space
      let failure: unknown = null;
      for (let count = 0; count < 1_000 && failure === null; count++) {
        await use();
        failure = await Promise.resolve(accounts.flush()).then(
          () => null, // the next one may fail
          (error: unknown) => error,
        );
      }
      expect((failure as Error | null)?.message).toContain("disk is full");
      await use();
      expect((await accounts.key(projectId, key.id))?.lastUsedAt).toBe(clock.now());
      expect(await messageOf(() => accounts.flush())).toContain("disk is full");
      rmSync(ballast);
      await accounts.flush();
      expect(written(database)).toBe(clock.now());
    } finally {
      database.close();
      disk.remove();
    }
  },
);

function written(database: SqliteDatabase): number {
  const row = database.prepare<{ at: bigint | null }>("SELECT max(last_used_at) AS at FROM api_keys").get({});
  return Number(row?.at ?? 0n);
}

function insertMemory(database: SqliteDatabase, project: ProjectId, id: string, bytes: number): bigint {
  const row = database
    .prepare<{ memory_key: bigint }, { project: string; id: string; bytes: number }>(
      `INSERT INTO memories (id, project_key, version, status, given, content_bytes, content_sha256, created_at,
         updated_at, claimable_at, tags)
       SELECT $id, project_key, 1, 'completed', '[]', $bytes, x'00', 0, 0, 0, '["t"]' FROM projects WHERE id = $project
       RETURNING memory_key`,
    )
    .get({ project, id, bytes });
  if (row === null) throw new Error(`${project} takes no memory`);
  return row.memory_key;
}

// Inserts a row into each table whose rows belong to a project. Returns the names of these tables.
function fillProject(database: SqliteDatabase, project: ProjectId): readonly string[] {
  const memory = insertMemory(database, project, "mem_of_removed", 1);
  const insert = (table: string, values: string) => {
    database
      .prepare<never, { project: string }>(
        `INSERT INTO ${table} SELECT ${values} FROM projects LEFT JOIN users USING (project_key)
           LEFT JOIN chats USING (project_key) WHERE projects.id = $project`,
      )
      .run({ project });
    return table;
  };
  const filled = [
    insert("users (project_key, id, created_at)", "project_key, 'u', 0"),
    insert("user_events (id, user_key, type, data, created_at)", "'evt', users.user_key, 't', '{}', 0"),
    insert("chats (id, project_key, user_key, created_at)", "'chat', project_key, users.user_key, 0"),
    insert("messages (id, chat_key, role, content, created_at)", "'msg', chat_key, 'user', 'c', 0"),
    insert("message_sources (message_key, position, memory_key, shown)", `1, 1, ${memory}, '{}'`),
    insert(
      "webhooks (id, project_key, url, events, is_enabled, secret, created_at)",
      "'wh', project_key, '', '', 1, '', 0",
    ),
    insert("deliveries (id, webhook_key, event, body, status, created_at)", "'dlv', 1, 'e', '', 'pending', 0"),
    insert(
      "idempotency_records (project_key, user_id, route, idempotency_key, fingerprint, status, body, created_at)",
      "project_key, '', '', '', x'00', 201, '{}', 0",
    ),
    insert("idempotency_subjects (subject, record_key)", "'chat', 1"),
  ];
  database
    .prepare<never, { memory: bigint }>("INSERT INTO waiting_contents (memory_key, content) VALUES ($memory, 'c')")
    .run({ memory });
  database.prepare<never>("UPDATE memories SET user_key = (SELECT user_key FROM users)").run({});
  const inserted = filled.map((table) => table.split(" ")[0] ?? "");
  return [...inserted, "memories", "memory_tags", "waiting_contents"];
}

function rowsOf(database: SqliteDatabase, table: string): bigint {
  const row = database.prepare<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${table}`).get({});
  return row?.rows ?? 0n;
}
