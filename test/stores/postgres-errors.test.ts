// What an operator and a caller see if PostgreSQL cannot be used: at the start, and in the middle of a transaction.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { Fault } from "../../src/domain/fault.ts";
import { UnknownOutcome } from "../../src/ports/transactions.ts";
import { DatabaseError, faultOfDatabase, toDatabaseError } from "../../src/stores/postgres/database-error.ts";
import { refuseServer } from "../../src/stores/postgres/opening.ts";
import { openPostgresStores, type PostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addProject, errorOf } from "../contract/stores.ts";
import { databaseUrl, execute, postgresServer } from "../support/postgres.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "./open-postgres.ts";

const clock = new ManualClock();

function open(url: string, answerMsMax?: number, transactionMsMax?: number): Promise<PostgresStores> {
  return openPostgresStores({
    ...{ url, clock, newWebhookSecret },
    ...(answerMsMax !== undefined && { answerMsMax }),
    ...(transactionMsMax !== undefined && { transactionMsMax }),
    onEffectFailure: (error) => {
      throw error;
    },
  });
}

async function databaseErrorOf(call: () => unknown): Promise<DatabaseError> {
  const error = await errorOf(call);
  if (error instanceof DatabaseError) return error;
  throw error;
}

withPostgres("errors", () => {
  describe("at the start, one sentence says what is wrong:", () => {
    /** The error of opening `url`. Its message is one sentence that contains no password. */
    const refusal = async (url: string, secret?: string): Promise<string> => {
      const password = secret ?? new URL(await postgresServer()).password;
      const { code, message } = await databaseErrorOf(() => open(url));
      expect(message).toMatch(/^[A-Z][^\n]+\.$/);
      expect(message).not.toContain(password);
      return `${code}: ${message}`;
    };

    test("an address that is not one of PostgreSQL", async () => {
      for (const url of ["", "postgres", "mysql://a:b@host/name", "postgres://host", "postgres:///name", "/data"]) {
        expect(await refusal(url)).toMatch(
          /^invalid_url: .* must look like postgres:\/\/user:password@host:5432\/name\./,
        );
      }
    });

    test("no server at this port or host", async () => {
      expect(await refusal("postgres://a:secret@127.0.0.1:1/name", "secret")).toMatch(
        /^unreachable: The database a@127.0.0.1:1\/name cannot be reached/,
      );
      expect(await refusal("postgres://a:secret@nowhere.invalid/name", "secret")).toMatch(
        /^unreachable: The database a@nowhere.invalid:5432\/name cannot be reached/,
      );
    });

    test("a wrong password or user", async () => {
      const wrong = new URL(await postgresServer());
      wrong.password = "wrong-password";
      expect(await refusal(wrong.href, "wrong-password")).toContain("refused the user or password");
      wrong.username = "nobody-known";
      expect(await refusal(wrong.href, "wrong-password")).toContain("refused: The database nobody-known@127.0.0.1");
    });

    test("a database that does not exist", async () => {
      expect(await refusal(databaseUrl(await postgresServer(), "mneme_missing"))).toContain("createdb");
    });

    test("a user without rights, and a database without UTF-8", async () => {
      const server = await postgresServer();
      const [name, role] = [`rights_${process.pid}`, `role_${process.pid}`];
      await execute(
        server,
        `CREATE DATABASE ${name}`,
        `CREATE ROLE ${role} LOGIN PASSWORD 'limited'`,
        `CREATE DATABASE ${name}_ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`,
      );
      const limited = new URL(databaseUrl(server, name));
      [limited.username, limited.password] = [role, "limited"];
      expect(await refusal(limited.href, "limited")).toMatch(/^rights: .*make the user the owner of the database\.$/);
      expect(await refusal(databaseUrl(server, `${name}_ascii`))).toMatch(/^encoding: .*ENCODING 'UTF8'/);
      await execute(server, `DROP DATABASE ${name}`, `DROP DATABASE ${name}_ascii`, `DROP ROLE ${role}`);
    });

    test("tables of a newer version of Mneme, which stay as they are", async () => {
      const { url, giveBack } = await emptyDatabase();
      const version = new SQL({ url, max: 1 });
      const [before] = await version.unsafe("SELECT schema_version FROM mneme_store");
      await version.unsafe("UPDATE mneme_store SET schema_version = 4711");
      expect(await refusal(url)).toMatch(
        /^newer_schema: .*has schema version 4711, but .* start a newer version of Mneme\.$/,
      );
      expect((await version.unsafe("SELECT schema_version FROM mneme_store"))[0]).toEqual({ schema_version: "4711" });
      await version.unsafe("UPDATE mneme_store SET schema_version = $1", [before.schema_version]);
      await version.close();
      await giveBack();
    });

    test("a server that is too old, or a standby", async () => {
      const good = { version: 160_000, encoding: "UTF8", isStandby: false };
      expect(() => refuseServer("u@h:5432/n", good)).not.toThrow();
      const old = await databaseErrorOf(() => refuseServer("u@h:5432/n", { ...good, version: 159_999 }));
      expect(old.message).toBe(
        "The database u@h:5432/n is on PostgreSQL 15, but Mneme needs at least 16: upgrade the server.",
      );
      const standby = await databaseErrorOf(() => refuseServer("u@h:5432/n", { ...good, isStandby: true }));
      expect(standby.message).toContain("name the primary");
    });
  });

  describe("in the middle,", () => {
    let database: EmptyDatabase;
    let stores: PostgresStores;
    let beside: SQL;

    beforeEach(async () => {
      database = await emptyDatabase();
      stores = await open(database.url, 1_000);
      beside = new SQL({ url: database.url, max: 1 });
    });
    afterEach(async () => {
      await stores.close();
      await beside.close();
      await database.giveBack();
    });

    /** Process ids of the server's processes for the connections of `stores`. */
    const backends = async (): Promise<readonly number[]> => {
      const found = await beside.unsafe(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
      return found.map(({ pid }: { readonly pid: number }) => pid);
    };
    const userIds = async (project: Parameters<typeof stores.users.list>[0]) =>
      (await stores.users.list(project, { limit: 9 })).items.map(({ id }) => id);

    test("a lost connection undoes the transaction, callers may try again, and the next call works", async () => {
      const project = await addProject(stores);
      const error = await databaseErrorOf(() =>
        stores.transactions.run(async (tx) => {
          await tx.users.upsert(project, { id: "undone" });
          for (const pid of await backends()) await beside.unsafe("SELECT pg_terminate_backend($1)", [pid]);
          await tx.users.upsert(project, { id: "undone too" });
        }),
      );
      expect(error.code).toBe("lost");
      const fault = faultOfDatabase(error);
      expect(fault).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
      expect(fault?.message).not.toContain("127.0.0.1");
      await stores.users.upsert(project, { id: "after" });
      expect(await userIds(project)).toEqual(["after"]);
    });

    test("a frozen server ends the call after the time limit, and other connections go on", async () => {
      const project = await addProject(stores);
      await stores.users.upsert(project, { id: "before" });
      const frozen: number[] = [];
      const error = await databaseErrorOf(() =>
        stores.transactions.run(async (tx) => {
          await tx.users.upsert(project, { id: "undone" });
          const [writing] = (
            await beside.unsafe("SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'")
          ).map(({ pid }: { readonly pid: number }) => pid);
          frozen.push(writing);
          process.kill(writing, "SIGSTOP");
          await tx.users.upsert(project, { id: "undone too" });
        }),
      );
      expect(error).toMatchObject({ code: "lost" });
      expect(await userIds(project)).toEqual(["before"]);
      const other = await addProject(stores);
      await stores.users.upsert(other, { id: "elsewhere" });
      for (const pid of frozen) process.kill(pid, "SIGCONT");
      // the server notices that the client is gone, and gives up the lock
      await stores.users.upsert(project, { id: "after" });
      expect(await userIds(project)).toEqual(["after", "before"]);
    });

    test("a connection that is lost during the commit leaves the outcome unknown, and no effect runs", async () => {
      const project = await addProject(stores);
      await beside.unsafe(`CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS
        $body$ BEGIN PERFORM pg_sleep(30); RETURN NULL; END $body$`);
      await beside.unsafe(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`);
      let hasRun = false;
      const error = await errorOf(() =>
        stores.transactions.run(async (tx) => {
          await tx.users.upsert(project, { id: "unknown" });
          tx.afterCommit(() => {
            hasRun = true;
          });
        }),
      );
      expect(error).toBeInstanceOf(UnknownOutcome);
      expect(faultOfDatabase(error)).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
      expect(hasRun).toBe(false);
      await beside.unsafe("DROP TRIGGER slow ON users");
      await beside.unsafe("DROP FUNCTION wait_at_commit");
      await stores.users.upsert(project, { id: "after" });
      expect((await userIds(project))[0]).toBe("after");
    });

    test("an error of a statement undoes only its call", async () => {
      const project = await addProject(stores);
      await beside.unsafe("ALTER TABLE users ADD CONSTRAINT short CHECK (length(id) < 5)");
      await stores.transactions.run(async (tx) => {
        await tx.users.upsert(project, { id: "a" });
        expect((await errorOf(() => tx.users.upsert(project, { id: "too long" }))) instanceof DatabaseError).toBe(
          false,
        );
        await tx.users.upsert(project, { id: "b" });
      });
      expect(await userIds(project)).toEqual(["b", "a"]);
      await beside.unsafe("ALTER TABLE users DROP CONSTRAINT short");
    });

    test("a transaction that a slow database makes overdue is an outage and changes nothing, any other is a bug", async () => {
      const project = await addProject(stores);
      const other = await open(database.url, undefined, 200);
      await beside.unsafe(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END'",
      );
      await beside.unsafe("CREATE TRIGGER wait BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION wait()");
      const slow = await errorOf(() => other.transactions.run((tx) => tx.users.upsert(project, { id: "a" })));
      expect(slow).toMatchObject({ name: "DatabaseError", code: "slow" });
      expect(faultOfDatabase(slow)).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
      await beside.unsafe("DROP TRIGGER wait ON users");
      await beside.unsafe("DROP FUNCTION wait()");
      expect(await userIds(project)).toEqual([]);
      const never = Promise.withResolvers<void>();
      const stuck = await errorOf(() => other.transactions.run(() => never.promise));
      expect(stuck).not.toBeInstanceOf(DatabaseError);
      await other.close();
    });

    test("a transaction whose read failed is not said to be committed, even if the work goes on", async () => {
      const project = await addProject(stores);
      await beside.unsafe("ALTER TABLE webhooks RENAME TO hidden");
      const run = stores.transactions.run(async (tx) => {
        await tx.users.upsert(project, { id: "a" });
        expect(await errorOf(() => tx.webhooks.list(project, { limit: 1 }))).toBeInstanceOf(Error);
      });
      expect(await errorOf(() => run)).toBeInstanceOf(Error);
      await beside.unsafe("ALTER TABLE hidden RENAME TO webhooks");
      expect(await userIds(project)).toEqual([]);
      await stores.users.upsert(project, { id: "b" });
      expect(await userIds(project)).toEqual(["b"]);
    });

    test("texts with NUL and control characters come back as they were, and are found", async () => {
      const project = await addProject(stores);
      for (const text of ["a\0b", "\0", "\u0001", "\u0001\u0002\u0003", "\0\u0001\u0003", "plain ü😀"]) {
        const [stored] = await stores.memories.accept(project, [{ content: text, title: text, tags: [text] }]);
        if (stored === undefined || stored instanceof Fault) throw new Error("the memory was refused");
        const { key, title, tags } = stored.memory;
        expect([title, tags]).toEqual([text, [text]]);
        expect((await stores.memories.waitingContents([key])).get(key)).toBe(text);
        const found = await stores.memories.list(project, { limit: 9, tag: text, q: text });
        expect(found.items.map((memory) => memory.key)).toEqual([key]);
      }
    });
  });

  test("a statement that the operator's time limit ended is an outage", () => {
    const ended = Object.assign(new Error("canceling statement due to statement timeout"), { errno: "57014" });
    expect(faultOfDatabase(toDatabaseError("here", ended))).toMatchObject({
      code: "unavailable",
      retryAfterSeconds: 5,
    });
  });

  test("callers learn nothing of errors that waiting does not help", () => {
    expect(faultOfDatabase(new DatabaseError("rights", "secret"))).toBeNull();
    expect(faultOfDatabase(new Error("secret"))).toBeNull();
    expect(faultOfDatabase(new DatabaseError("busy", "secret"))?.message).not.toContain("secret");
  });
});
