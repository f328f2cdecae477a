// `mneme migrate`: what is moved to PostgreSQL and back is the same in every row, and gives the same answers; a move
// that was killed continues; during a move the source can be read, not changed; wrong sources and targets are refused.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrateCommand } from "../../src/cli/migrate.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { Faults } from "../crash/faults/faults.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { spawnMneme, startMneme } from "../support/command.ts";
import { execute, executeNow } from "../support/postgres.ts";
import { startService, type TestService } from "../support/service.ts";
import { storedRows } from "../support/stored-rows.ts";
import { until } from "../support/until.ts";

/** A whole number beyond the precision of a double. */
const BIG = parseJson("-12345678901234567890");

const folder = mkdtempSync(join(tmpdir(), "mneme-migrate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string) => join(folder, name);
const start = {
  environment: {},
  place: { workingDirectory: folder, shippedModelsDirectory: () => join(import.meta.dir, "../../data/models") },
};
const migrate = (...argv: readonly string[]) => migrateCommand(argv, start);
const failureOf = async (work: Promise<unknown>) => String(await work.then(() => "no failure", String));

const MODES = ["fast", "hybrid", "balanced", "precise"] as const;
const QUESTIONS = ["Where does Ada keep the blue key?", "harbour cranes in Rotterdam", "who met Howard Aiken", "notes"];

/** What a service answers: lists, texts, chats, and searches in all modes with ids, order and scores. */
async function answersOf(service: TestService): Promise<unknown> {
  const searches: unknown[] = [];
  for (const mode of MODES) {
    for (const query of QUESTIONS) {
      const { status, body } = await service.call("POST", "/v1/memories/search", { query, mode, limit: 10 });
      expect(status).toBe(200);
      searches.push([mode, query, body.results.map((found: object) => withoutTimes(found))]);
    }
  }
  const get = async (route: string) => (await service.call("GET", route)).body;
  const memories = await get("/v1/memories?limit=100");
  const chats = await get("/v1/chats?limit=100");
  return {
    searches,
    memories,
    chats,
    messages: await Promise.all(chats.data.map(({ id }: { id: string }) => get(`/v1/chats/${id}/messages`))),
    users: await get("/v1/users?limit=100"),
    events: await get("/v1/users/ada/events"),
    webhooks: await get("/v1/webhooks"),
    keys: (await get("/v1/keys")).data?.map(({ id, name }: { id: string; name: string }) => [id, name]),
    filtered: await service.call("POST", "/v1/memories/search", { query: "crane", userId: "ada" }).then((a) => a.body),
  };
}

function withoutTimes(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== "took_ms"));
}

async function fill(service: TestService): Promise<void> {
  const deleted = await service.store({
    content: "Harbour cranes of a memory that is deleted, but kept for its retention.",
  });
  await service.call("DELETE", `/v1/memories/${deleted.body.id}`);
  for (let n = 0; n < 40; n++) {
    const content = `Note ${n}: Ada keeps the ${["blue", "green"][n % 2]} key in drawer ${n}. Grace Hopper met Howard Aiken. ${"Harbour cranes of Rotterdam lift crates. ".repeat(n)}`;
    const more =
      n % 3 === 0
        ? { userId: "ada", agentId: "a1", sessionId: "s1", tags: ["key", "harbour"], metadata: { n, number: BIG } }
        : { externalId: `note-${n}` };
    await service.call("POST", "/v1/memories", { content, ...more });
  }
  await service.store({
    content: `A long text. ${"ü and 漢字 in a sentence with words. ".repeat(900)}`,
    title: "NUL\u0001",
  });
  await service.call("POST", "/v1/users/ada/events", { type: "login", data: { at: "home" } });
  await service.call("POST", "/v1/webhooks", { url: "https://example.com/hook", events: ["memory.completed"] });
  const { body: chat } = await service.call("POST", "/v1/chats", { userId: "ada", title: "keys" });
  await service.call("POST", `/v1/chats/${chat.id}/messages`, { message: "Where is the blue key?" });
  await service.call("POST", "/v1/keys", { name: "second", scopes: ["memories:read"] });
  await until("all are processed", async () => {
    const { body } = await service.call("GET", "/v1/memories?status=processing&limit=1");
    return body.data.length === 0;
  });
  // until then, the deleted memory counts in the frequencies of words
  await until("the deleted memory has left the index", () => !isInIndex(service));
}

function isInIndex(service: TestService): boolean {
  return (storedRows(service).get("memories") ?? []).some((row) => row.deleted_at !== null && row.is_retracted === 0);
}

withPostgres("mneme migrate", () => {
  let source: TestService;
  let stop: () => Promise<void>;
  let before: unknown;
  let database: EmptyDatabase;
  beforeAll(async () => {
    database = await emptyDatabase();
    mkdirSync(path("source"));
    source = await startService({ dataDir: path("source"), config: { store: null } });
    await fill(source);
    before = await answersOf(source);
    stop = listenForCommands(source.dataDir, source.service.control);
  });
  afterAll(async () => {
    await migrate("--reopen", database.url);
    await database.giveBack();
  });

  test("moves everything to PostgreSQL while the server answers reads, and refuses writes with 503", async () => {
    const said = await migrate("--from", path("source"), "--to", database.url);
    expect(said).toContain("Moved 41 memories");
    expect(said).not.toContain("indexed again");
    expect(said).not.toContain(new URL(database.url).password);
    expect(await answersOf(source)).toEqual(before);
    const refused = await source.call("POST", "/v1/memories", { content: "too late" });
    expect([refused.status, refused.body.error.code]).toEqual([503, "unavailable"]);
    expect(refused.body.error.message).toContain("is being moved");
    expect(refused.body.error.retry_after_seconds).toBe(60);
    expect((await source.call("POST", "/v1/memories/query", { query: "Where is the blue key?" })).status).toBe(200);
    await stop();
    await source.service.close();
    const restarted = startService({ dataDir: path("source"), config: { store: null } });
    expect(await failureOf(restarted)).toContain("mneme migrate --reopen");
  });

  test("gives the same answers on PostgreSQL, with the vectors that were copied", async () => {
    const service = await startService({ dataDir: path("node"), config: { store: database.url } });
    expect(await answersOf(service)).toEqual(before);
    expect(executeNow(database.url, "SELECT count(*) FROM memories WHERE status = 'processing'")).toBe("0");
    const added = await service.store({ content: "One more memory after the move." });
    expect(added.body.status).toBe("completed");
    await service.call("DELETE", `/v1/memories/${added.body.id}?purge=true`);
    await service.service.close();
  });

  test("moves everything back to an empty folder, with the same answers", async () => {
    const said = await migrate("--from", database.url, "--to", path("back"));
    expect(said).toContain("Moved 41 memories");
    const back = await startService({ dataDir: path("back"), config: { store: null } });
    expect(await answersOf(back)).toEqual(before);
    await back.service.close();
  });

  describe("a move that was killed", () => {
    test("to PostgreSQL goes on where it was, at whatever moment it was killed", async () => {
      await migrate("--reopen", path("back"));
      const target = await emptyDatabase();
      const argv = ["migrate", "--from", path("back"), "--to", target.url, "--rate", "400K"];
      const progress = () => {
        const exists = executeNow(target.url, "SELECT to_regclass('mneme_migration') IS NOT NULL") === "t";
        if (!exists) return "";
        return executeNow(target.url, "SELECT parts || ' ' || last_publication FROM mneme_migration");
      };
      const seen: string[] = [];
      for (let kill = 0; kill < 4; kill++) {
        const known = progress();
        const child = spawnMneme(argv, folder);
        await until("it has gone on", () => progress() !== known || child.exitCode !== null);
        child.kill("SIGKILL");
        await child.exited;
        seen.push(progress());
        const refused = startService({ dataDir: path("never"), config: { store: target.url } });
        expect(await failureOf(refused)).toContain("has not ended: run mneme migrate again");
      }
      expect(new Set(seen).size).toBe(4);
      expect(await migrate("--from", path("back"), "--to", target.url)).toContain("Moved 41 memories");
      const service = await startService({ dataDir: path("node-2"), config: { store: target.url } });
      expect(await answersOf(service)).toEqual(before);
      await service.service.close();
      await target.giveBack();
    });

    test("to PostgreSQL goes on after a lost connection, which is told in one line", async () => {
      const target = await emptyDatabase();
      const moving = startMneme(["migrate", "--from", path("back"), "--to", target.url, "--rate", "300K"], folder);
      await until("the move has begun", () => {
        const exists = executeNow(target.url, "SELECT to_regclass('mneme_migration') IS NOT NULL") === "t";
        return exists && executeNow(target.url, "SELECT parts > 2 FROM mneme_migration") === "t";
      });
      const others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
      let isOver = false;
      const ended = moving.finally(() => {
        isOver = true;
      });
      await until("the command has ended", () => {
        executeNow(target.url, `SELECT count(pg_terminate_backend(pid)) ${others}`);
        return isOver;
      });
      const { exitCode, stderr } = await ended;
      expect([exitCode, stderr.trim().split("\n").length]).toEqual([1, 1]);
      expect(stderr).toContain("ended the connection or did not answer in time");
      expect(await migrate("--from", path("back"), "--to", target.url)).toContain("Moved 41 memories");
      await target.giveBack();
    });

    test("to a folder goes on after a full disk, which is told in one line", async () => {
      const faults = new Faults(folder);
      for (const file of ["mneme.sqlite-wal", "memories.duckdb.wal", "projects/*"]) {
        const action = { kind: "fail", error: "ENOSPC", lasts: true } as const;
        faults.arm({ operations: ["write"], paths: [`full/restoring/${file}`], action, skip: 1 });
        const ended = await startMneme(
          ["migrate", "--from", database.url, "--to", path("full")],
          folder,
          faults.environment,
        );
        faults.disarm();
        expect([file, ended.exitCode, ended.stderr.trim().split("\n").length]).toEqual([file, 1, 1]);
        expect(ended.stderr).toMatch(/disk is full|No space left|no space/i);
      }
      faults.close();
      expect(await migrate("--from", database.url, "--to", path("full"))).toContain("Moved 41 memories");
    });

    test("to a folder goes on where it was, at whatever moment it was killed", async () => {
      const argv = ["migrate", "--from", database.url, "--to", path("resumed"), "--rate", "400K"];
      const faults = new Faults(folder);
      for (const paths of [
        ["mneme.sqlite-wal"],
        ["memories.duckdb.wal"],
        ["projects/*/vectors*/vectors.log"],
        ["memories.duckdb"],
      ]) {
        const operations = paths[0] === "memories.duckdb" ? (["rename"] as const) : (["write"] as const);
        faults.arm({
          operations,
          paths: paths.map((name) => (operations[0] === "rename" ? `resumed/${name}` : `resumed/restoring/${name}`)),
          action: { kind: "kill", when: "after" },
          skip: paths[0]?.startsWith("m") && operations[0] === "write" ? 3 : 0,
        });
        const ended = await startMneme(argv, folder, faults.environment);
        faults.disarm();
        expect([paths, faults.acted, ended.stdout]).toEqual([paths, 1, ""]);
        const refused = startService({ dataDir: path("resumed"), config: { store: null } });
        expect(await failureOf(refused)).toContain("has not ended");
      }
      faults.close();
      expect(await migrate("--from", database.url, "--to", path("resumed"))).toContain("Moved 41 memories");
      const service = await startService({ dataDir: path("resumed"), config: { store: null } });
      expect(await answersOf(service)).toEqual(before);
      await service.service.close();
    });
  });

  describe("refuses, with one sentence and before it changes anything,", () => {
    test("a target that is not empty, and a source without data", async () => {
      mkdirSync(path("not-empty"));
      writeFileSync(path("not-empty/notes.txt"), "mine");
      expect(await failureOf(migrate("--from", database.url, "--to", path("not-empty")))).toContain("is not empty");
      mkdirSync(path("nothing"));
      const target = await emptyDatabase();
      expect(await failureOf(migrate("--from", path("nothing"), "--to", target.url))).toContain("no data of Mneme");
      expect(await failureOf(migrate("--from", path("back"), "--to", database.url))).toContain("has data already");
      await target.giveBack();
    });

    test("a database that cannot be used, or that another version made", async () => {
      const wrong = new URL(database.url);
      wrong.password = "wrong";
      expect(await failureOf(migrate("--from", path("back"), "--to", wrong.href))).toContain(
        "refused the user or password",
      );
      const target = await emptyDatabase();
      const role = `r${crypto.randomUUID().replaceAll("-", "")}`;
      await execute(target.url, `CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
      const limited = new URL(target.url);
      [limited.username, limited.password] = [role, "p"];
      expect(await failureOf(migrate("--from", path("back"), "--to", limited.href))).toContain(
        "does not allow this user to use or create the tables",
      );
      await execute(target.url, `DROP ROLE ${role}`);
      await target.giveBack();
      const gone = new URL(database.url);
      gone.port = "1";
      expect(await failureOf(migrate("--from", gone.href, "--to", path("unused")))).toContain("cannot be reached");
      expect(existsSync(path("unused/restoring"))).toBe(false);
      const [version] = [executeNow(database.url, "SELECT schema_version FROM mneme_store")];
      await execute(database.url, "UPDATE mneme_store SET schema_version = schema_version - 1");
      expect(await failureOf(migrate("--from", database.url, "--to", path("unused")))).toContain(
        "start a server of this version",
      );
      await execute(database.url, "UPDATE mneme_store SET schema_version = 4711");
      expect(await failureOf(migrate("--from", database.url, "--to", path("unused")))).toContain(
        "start a newer version",
      );
      await execute(database.url, `UPDATE mneme_store SET schema_version = ${version}`);
    });

    test("two folders, two databases, and missing or unknown flags", async () => {
      expect(await failureOf(migrate("--from", "a", "--to", "b"))).toContain("One of --from and --to");
      expect(await failureOf(migrate("--from", database.url, "--to", database.url))).toContain(
        "One of --from and --to",
      );
      expect(await failureOf(migrate("--from", "a"))).toContain("Missing --from or --to");
      expect(await failureOf(migrate("--reopen", "a", "--to", "b"))).toContain("stands alone");
      expect(await failureOf(migrate("--from", "a", "--to", database.url, "--rate", "0"))).toContain("--rate must be");
    });
  });
});
