// `mneme keys` and `mneme projects` on a data directory and through a server: output, errors and exit codes.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AccountsCommand, accountsHelp, runAccounts } from "../../src/cli/accounts.ts";
import { Client } from "../../src/cli/client.ts";
import { openLocalAccounts } from "../../src/compose/local-accounts.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import { UsageError } from "../../src/kit/flags.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { runMneme } from "../support/command.ts";

const SECRET_LINE = /^ctx_[A-Za-z0-9_-]{43}$/;
const SHOWN_ONCE = "Save this secret now: only its hash is stored, so it cannot be shown again.";

const folder = mkdtempSync(join(tmpdir(), "mneme-accounts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let clock: ManualClock;
let directories = 0;
let dataDir: string;
let database: SqliteDatabase;
/** Takes the part of a running server that uses the same data directory. */
let accounts: AccountStore;
beforeEach(async () => {
  clock = new ManualClock();
  directories += 1;
  dataDir = join(folder, String(directories));
  mkdirSync(dataDir);
  database = openDatabase(join(dataDir, "mneme.sqlite"));
  accounts = connectStores(database, database, { clock, newWebhookSecret }).accounts;
  await accounts.defaultProject();
});
afterEach(() => database.close());

const run = (
  command: AccountsCommand,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = { MNEME_DATA_DIR: dataDir },
) =>
  runAccounts(command, argv, {
    environment,
    place: { workingDirectory: folder, shippedModelsDirectory: () => folder },
    clock,
    openLocal: openLocalAccounts,
    isServed: async () => false,
  });
const linesOf = (text: string) => text.trimEnd().split("\n");
const secretOf = (text: string) => {
  const [, secret = "", sentence, ...rest] = linesOf(text);
  expect(secret).toMatch(SECRET_LINE);
  expect([sentence, rest]).toEqual([SHOWN_ONCE, []]);
  return secret;
};
const newKey = async (...flags: string[]) => secretOf(await run("keys", ["create", "--name", "k", ...flags]));
const principalOf = async (secret: string) => {
  const principal = await accounts.authenticate(secret);
  await accounts.flush(); // a server writes the times at which keys were last used once a minute; this does it now
  if (principal === null) throw new Error("the secret does not work");
  return principal;
};

const ANOTHER = { name: "another", plan: "free", settings: DEFAULT_SETTINGS } as const;

describe("on a data directory, while a server uses it", () => {
  test("keys create makes a key that works at once, with the requested properties", async () => {
    const text = await run("keys", [
      ...["create", "--name", "ci", "--scopes", "memories:read, query,query", "--user", "ada"],
      ...["--expires", "2030-01-31T13:00:00+01:00"],
    ]);
    const principal = await principalOf(secretOf(text));
    const projectId = await accounts.defaultProject();
    expect(linesOf(text)[0]).toBe(`${principal.keyId} (ci) allows memories:read,query.`);
    expect(principal).toMatchObject({ projectId, userId: "ada", scopes: ["memories:read", "query"] });
    expect(await accounts.key(projectId, principal.keyId)).toMatchObject({
      name: "ci",
      expiresAt: Date.UTC(2030, 0, 31, 12),
      createdAt: clock.now(),
    });
  });

  test("keys list shows every key of one project, newest first, and no secret", async () => {
    expect(await run("keys", ["list"])).toBe("There are no keys.\n");
    const other = await accounts.createProject({ ...ANOTHER, name: "elsewhere" });
    const secrets = [await newKey("--scopes", "*"), await newKey("--scopes", "query", "--user", "ada")];
    await newKey("--scopes", "*", "--project", other.id);
    const [second, first] = [(await principalOf(secrets[1] ?? "")).keyId, (await principalOf(secrets[0] ?? "")).keyId];
    const text = await run("keys", ["list"]);
    const [head = "", ...rows] = linesOf(text);
    expect(head.split(/ {2,}/)).toEqual(["ID", "NAME", "SCOPES", "USER", "EXPIRES", "LAST USED", "CREATED", "SECRET"]);
    expect(rows.map((row) => row.split(" ")[0] ?? "")).toEqual([second, first]);
    expect(rows[0]).toMatch(/ {2}query +ada +– +2027-01-15T08:00:00Z +2027-01-15T08:00:00Z +ctx_..….{4}$/);
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(linesOf(await run("keys", ["list", "--project", "elsewhere"]))).toHaveLength(2);
  });

  test("keys list --json prints the list of the API, complete however long it is", async () => {
    const projectId = await accounts.defaultProject();
    for (let at = 0; at < 101; at++) {
      await accounts.issueKey(projectId, { name: `k${at}`, scopes: ["*"], userId: null, expiresAt: null });
    }
    const list = JSON.parse(await run("keys", ["list", "--json"]));
    expect(list).toMatchObject({ has_more: false, cursor: null });
    expect(list.data).toHaveLength(101);
    expect(list.data[0]).toEqual({
      id: list.data[0].id,
      projectId,
      name: "k100",
      scopes: ["*"],
      userId: null,
      expires_at: null,
      last_used_at: null,
      last_client: null,
      created_at: "2027-01-15T08:00:00.000Z",
      redacted: list.data[0].redacted,
    });
  });

  test("keys rotate invalidates the old secret, at once or after the grace period", async () => {
    const first = await newKey("--scopes", "*");
    const { keyId } = await principalOf(first);
    const text = await run("keys", ["rotate", keyId]);
    expect(text).toStartWith(`${keyId} (k) has a new secret; the old one no longer works.\n`);
    const second = secretOf(text);
    expect(await accounts.authenticate(first)).toBeNull();
    const third = secretOf(await run("keys", ["rotate", "--grace", "60", keyId]));
    expect([(await principalOf(second)).keyId, (await principalOf(third)).keyId]).toEqual([keyId, keyId]);
    clock.advance(60_000);
    expect(await accounts.authenticate(second)).toBeNull();
    expect((await principalOf(third)).keyId).toBe(keyId);
  });

  test("keys revoke deletes a key of any project, but only of the project named by --project", async () => {
    const { id } = await accounts.createProject(ANOTHER);
    const { keyId } = await principalOf(await newKey("--scopes", "*", "--project", id));
    const elsewhere = ["--project", await accounts.defaultProject()];
    expect(run("keys", ["revoke", keyId, ...elsewhere])).rejects.toThrow(`There is no key '${keyId}'`);
    expect(run("keys", ["rotate", keyId, ...elsewhere])).rejects.toThrow(`There is no key '${keyId}'`);
    expect(await run("keys", ["revoke", keyId])).toBe(`${keyId} is deleted and no longer works.\n`);
    expect(await accounts.key(id, keyId)).toBeNull();
    expect(run("keys", ["revoke", keyId])).rejects.toThrow(`There is no key '${keyId}'`);
  });

  test("projects create makes a project with its first key, on the requested plan or the operator's", async () => {
    const text = await run("projects", ["create", "--name", "acme", "--plan", "pro"]);
    const principal = await principalOf(secretOf(text));
    expect(linesOf(text)[0]).toBe(`${principal.projectId} (acme) is on plan pro; its first key allows *.`);
    expect(principal).toMatchObject({ userId: null, scopes: ["*"] });
    expect(await accounts.project(principal.projectId)).toMatchObject({ name: "acme", plan: "pro", isDefault: false });
    const planOf = async (environment: Readonly<Record<string, string>>) => {
      const made = await run("projects", ["create", "--name", "small"], { MNEME_DATA_DIR: dataDir, ...environment });
      return (await accounts.project((await principalOf(secretOf(made))).projectId))?.plan;
    };
    expect(await planOf({})).toBe("enterprise");
    expect(await planOf({ MNEME_DEFAULT_PLAN: "starter" })).toBe("starter");
  });

  test("projects list shows all of them, --json like the API", async () => {
    const first = await accounts.defaultProject();
    const { id } = await accounts.createProject({ ...ANOTHER, name: "acme", plan: "starter" });
    const rows = linesOf(await run("projects", ["list"])).map((line) => line.split(/ {2,}/));
    expect(rows).toEqual([
      ["ID", "NAME", "PLAN", "CREATED"],
      [id, "acme", "starter", "2027-01-15T08:00:00Z"],
      [first, "default", "enterprise", "2027-01-15T08:00:00Z"],
    ]);
    const list = JSON.parse(await run("projects", ["list", "--json"]));
    expect(list.data[0]).toEqual({
      id,
      name: "acme",
      plan: "starter",
      llm: {
        ...{ provider: "openai", base_url: null, model: null, temperature: null, max_output_tokens: null },
        ...{ monthly_token_limit: null, vision: false, fallbacks: [] },
      },
      smart_ingestion: { enabled: true, daily_token_limit: null },
      ...{ documents: 0, storage_bytes: 0, last_used_at: null },
      retention_days: 30,
      min_evidence: null,
      default_mode: "balanced",
      superseding: "on",
      time_zone: null,
      ocr: "auto",
      keep_files: false,
      vector_index: "auto",
      reranker: null,
      created_at: "2027-01-15T08:00:00.000Z",
    });
  });

  test("projects delete and set-plan take an id or a name", async () => {
    const { id } = await accounts.createProject({ ...ANOTHER, name: "acme" });
    expect(await run("projects", ["set-plan", "acme", "--plan", "pro"])).toBe(`${id} (acme) is on plan pro.\n`);
    expect((await accounts.project(id))?.plan).toBe("pro");
    expect(JSON.parse(await run("projects", ["set-plan", id, "--plan", "free", "--json"]))).toMatchObject({
      id,
      plan: "free",
    });
    const secret = await newKey("--scopes", "*", "--project", "acme");
    expect(await run("projects", ["delete", "acme"])).toStartWith(`${id} is deleted: `);
    expect(await accounts.project(id)).toBeNull();
    expect(await accounts.authenticate(secret)).toBeNull();
    expect(run("projects", ["delete", id])).rejects.toThrow(`There is no project '${id}'.`);
    expect(run("projects", ["set-plan", id, "--plan", "pro"])).rejects.toThrow(`There is no project '${id}'.`);
    expect(run("keys", ["list", "--project", id])).rejects.toThrow(`There is no project '${id}'.`);
    expect(run("projects", ["delete", "default"])).rejects.toThrow("The default project cannot be deleted.");
  });

  test("a name of several projects is refused, with their ids", async () => {
    const draft = { ...ANOTHER, name: "twin" };
    const [first, second] = [await accounts.createProject(draft), await accounts.createProject(draft)];
    expect(run("projects", ["delete", "twin"])).rejects.toThrow(
      `"twin" is the name of 2 projects; use the id of one of them: ${second.id}, ${first.id}.`,
    );
    expect(await accounts.projects()).toContain(first.id);
  });

  test("names cannot control the terminal", async () => {
    await accounts.createProject({ ...ANOTHER, name: "evil\u001b[2J\n\u202e" });
    const text = await run("projects", ["list"]);
    expect(text).toContain("evil\\u{1b}[2J\\u{a}\\u{202e}");
  });

  test("the directory comes from the flag, the environment or mneme.toml, in this order", async () => {
    const { id } = await accounts.createProject({ ...ANOTHER, name: "here" });
    const elsewhere = { MNEME_DATA_DIR: join(folder, "nowhere") };
    expect(await run("projects", ["list", "--data-dir", dataDir], elsewhere)).toContain(id);
    const file = `settings-${directories}.toml`;
    writeFileSync(join(folder, file), `data_dir = ${JSON.stringify(dataDir)}`);
    expect(await run("projects", ["list", "--config", file], {})).toContain(id);
    expect(run("projects", ["list", "--config", file], elsewhere)).rejects.toThrow(elsewhere.MNEME_DATA_DIR);
  });

  test("a directory without data is refused, and not created", async () => {
    const missing = join(folder, "missing");
    const empty = join(folder, `empty-${directories}`);
    mkdirSync(empty);
    for (const directory of [missing, empty]) {
      const refused = run("keys", ["list", "--data-dir", directory]);
      expect(refused).rejects.toThrow(UsageError);
      expect(refused).rejects.toThrow(`${directory} holds no data of Mneme`);
    }
    expect(existsSync(missing)).toBe(false);
    expect(existsSync(join(empty, "mneme.sqlite"))).toBe(false);
  });
});

test("PostgreSQL is refused without --url, and the address is not repeated", async () => {
  const environment = { MNEME_DATA_DIR: dataDir, MNEME_STORE: "postgres://u:hidden@127.0.0.1:5432/n" };
  const refused = await run("keys", ["list"], environment).catch(String);
  expect(refused).toContain("With MNEME_STORE, keys needs a running server: give its address with --url.");
  expect(refused).not.toContain("hidden");
});

describe("through a server", () => {
  interface Asked {
    readonly method: string;
    readonly path: string;
    readonly key: string | null;
    readonly body: unknown;
  }
  const KEY = {
    id: "key_1",
    projectId: "prj_1",
    name: "ci",
    scopes: ["*"],
    userId: null,
    expires_at: null,
    last_used_at: "2026-11-21T14:00:00.123Z",
    last_client: null,
    created_at: "2026-11-21T14:00:00.000Z",
    redacted: "ctx_ab…wxyz",
  };
  const PROJECT = { id: "prj_1", name: "acme", plan: "free", created_at: "2026-11-21T14:00:00.000Z" };
  const SECRET = `ctx_${"s".repeat(43)}`;
  const page = (data: readonly object[], cursor: string | null = null) =>
    Response.json({ data, has_more: cursor !== null, cursor });

  let asked: Asked[];
  const through = async (answers: readonly Response[], command: AccountsCommand, ...argv: string[]) => {
    asked = [];
    const waiting = [...answers];
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const text = await request.text();
        asked.push({
          method: request.method,
          path: `${pathname}${search}`,
          key: request.headers.get("authorization"),
          body: text === "" ? null : JSON.parse(text),
        });
        return waiting.shift() ?? new Response(null, { status: 500 });
      },
    });
    return await run(command, [...argv, "--url", `${server.url.origin}/v1/`], { MNEME_API_KEY: "ctx_mine" });
  };

  test("keys list reads every page with the key of the environment", async () => {
    const second = { ...KEY, id: "key_2" };
    const text = await through([page([KEY], "c+/"), page([second])], "keys", "list");
    expect(asked.map(({ method, path, key }) => [method, path, key])).toEqual([
      ["GET", "/v1/keys?limit=100", "Bearer ctx_mine"],
      ["GET", "/v1/keys?limit=100&cursor=c%2B%2F", "Bearer ctx_mine"],
    ]);
    expect(linesOf(text)[1]?.split(/ {2,}/)).toEqual([
      ...["key_1", "ci", "*", "–", "–"],
      ...["2026-11-21T14:00:00Z", "2026-11-21T14:00:00Z", "ctx_ab…wxyz"],
    ]);
    expect(linesOf(text)).toHaveLength(3);
    const json = await through([page([KEY], "c"), page([second])], "keys", "list", "--json");
    expect(JSON.parse(json)).toEqual({ data: [KEY, second], has_more: false, cursor: null });
  });

  test("keys create sends the requested properties and prints the secret", async () => {
    const made = Response.json({ ...KEY, key: SECRET }, { status: 201 });
    const flags = ["--name", "ci", "--scopes", "*,admin", "--user", "ada", "--expires", "2030-01-31T12:00:00Z"];
    const text = await through([page([PROJECT]), made], "keys", "create", ...flags, "--project", "acme");
    expect(secretOf(text)).toBe(SECRET);
    expect(asked.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/projects?limit=100"],
      ["POST", "/v1/keys"],
    ]);
    expect(asked[1]?.body).toEqual({
      name: "ci",
      scopes: ["*", "admin"],
      userId: "ada",
      expires_at: "2030-01-31T12:00:00Z",
      projectId: "prj_1",
    });
  });

  test("keys rotate and revoke send the key in the path, and the project if one is named", async () => {
    const id = `prj_${"0".repeat(26)}`;
    const rotated = Response.json({ ...KEY, key: SECRET });
    expect(secretOf(await through([rotated], "keys", "rotate", "key_1", "--grace", "60"))).toBe(SECRET);
    expect(asked).toMatchObject([{ method: "POST", path: "/v1/keys/key_1/rotate", body: { grace_seconds: 60 } }]);
    const text = await through([new Response(null, { status: 204 })], "keys", "revoke", "a/b", "--project", id);
    expect(text).toBe("a/b is deleted and no longer works.\n");
    expect(asked).toMatchObject([{ method: "DELETE", path: `/v1/keys/a%2Fb?projectId=${id}`, body: null }]);
  });

  test("projects list, create, set-plan and delete", async () => {
    expect(linesOf(await through([page([PROJECT])], "projects", "list"))[1]?.split(/ {2,}/)).toEqual([
      "prj_1",
      "acme",
      "free",
      "2026-11-21T14:00:00Z",
    ]);
    const made = Response.json({ ...PROJECT, key: SECRET }, { status: 201 });
    expect(secretOf(await through([made], "projects", "create", "--name", "acme"))).toBe(SECRET);
    expect(asked).toMatchObject([{ method: "POST", path: "/v1/projects", body: { name: "acme" } }]);
    const changed = Response.json({ ...PROJECT, plan: "pro" });
    const text = await through([page([PROJECT]), changed], "projects", "set-plan", "acme", "--plan", "pro");
    expect(text).toBe("prj_1 (acme) is on plan pro.\n");
    expect(asked[1]).toMatchObject({ method: "PUT", path: "/v1/projects/prj_1", body: { plan: "pro" } });
    await through([page([PROJECT]), new Response(null, { status: 204 })], "projects", "delete", "acme");
    expect(asked[1]).toMatchObject({ method: "DELETE", path: "/v1/projects/prj_1", body: null });
  });

  test("an error of the server is printed with its message", async () => {
    const error = { code: "insufficient_scope", message: "This key lacks the scope admin.", status: 403 };
    const refused = through([Response.json({ error }, { status: 403 })], "projects", "list");
    expect(refused).rejects.toThrow("This key lacks the scope admin.");
  });

  test("a created key without its secret is an error", async () => {
    const refused = through([Response.json(KEY, { status: 201 })], "keys", "create", "--name", "k", "--scopes", "*");
    expect(refused).rejects.toThrow("the server returned no secret");
  });

  test("a request that must not run twice is not repeated if its response is lost, and is repeated if the server is busy", async () => {
    let requests = 0;
    const slept: number[] = [];
    const sleepless = { now: () => 0, sleep: async (ms: number) => void slept.push(ms) };
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => {
        requests += 1;
        const retryAfter = { "retry-after": "3" };
        return requests === 1 ? new Response(null, { status: 503, headers: retryAfter }) : Response.json({ requests });
      },
    });
    const client = new Client(server.url.origin, "ctx_k", sleepless);
    expect(await client.send("POST", "/", {}, { isRepeatable: false })).toEqual({ requests: 2 });
    expect(slept).toEqual([3000]);
    const { origin } = server.url;
    await server.stop(true);
    const lost = new Client(origin, "ctx_k", sleepless).send("DELETE", "/", undefined, { isRepeatable: false });
    expect(lost).rejects.toThrow(`No answer from ${origin}`);
    await lost.catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    expect(slept).toEqual([3000]);
  });
});

describe("an invalid command line", () => {
  const named = ["create", "--name", "k"];
  const cases: readonly (readonly [command: AccountsCommand, argv: readonly string[], why: string])[] = [
    ["keys", [], "Missing command for keys. Commands: list, create, rotate, revoke. Try mneme keys --help."],
    ["keys", ["--json"], "Missing command for keys."],
    ["keys", ["lsit"], "Unknown command keys lsit. Did you mean list? Try mneme keys --help."],
    ["projects", ["rename"], "Unknown command projects rename."],
    ["keys", ["list", "all"], 'Unexpected argument "all".'],
    ["keys", ["revoke"], "Missing KEY_ID. Usage: mneme keys revoke KEY_ID"],
    ["keys", ["revoke", "key_1", "key_2"], 'Unexpected argument "key_2".'],
    ["keys", ["list", "--projct", "x"], "Unknown flag --projct. Did you mean --project?"],
    ["keys", ["list", "--name", "x"], "Unknown flag --name."],
    ["keys", ["create", "--scopes", "*"], "Missing --name."],
    ["keys", named, "Missing --scopes."],
    ["keys", ["create", "--name", "", "--scopes", "*"], "--name must be 1 to 256 characters."],
    ["keys", ["create", "--name", "x".repeat(257), "--scopes", "*"], "--name must be 1 to 256 characters."],
    ["keys", [...named, "--scopes", "*", "--user", ""], "--user must be 1 to 256 characters."],
    [
      "keys",
      [...named, "--scopes", "memory:read"],
      'Unknown scope "memory:read" in --scopes. Did you mean memories:read?',
    ],
    ["keys", [...named, "--scopes", ""], 'Unknown scope "" in --scopes.'],
    ["keys", [...named, "--scopes", "query,"], 'Unknown scope "" in --scopes.'],
    ["keys", [...named, "--scopes", "*", "--expires", "tomorrow"], "must be an ISO 8601 time"],
    ["keys", [...named, "--scopes", "*", "--expires", "2030-02-30T00:00:00Z"], "must be an ISO 8601 time"],
    ["keys", [...named, "--scopes", "*", "--expires", "2020-01-01T00:00:00Z"], "is in the past"],
    [
      "keys",
      [...named, "--scopes", "*", "--project", "defualt"],
      'There is no project "defualt". Did you mean default?',
    ],
    ["keys", ["rotate", "key_1", "--grace", "-1"], "--grace must be an integer from 0 to 2592000"],
    ["keys", ["rotate", "key_1", "--grace", "2592001"], "--grace must be an integer from 0 to 2592000"],
    ["keys", ["rotate", "key_1"], "There is no key 'key_1'."],
    ["projects", ["create", "--plan", "pro"], "Missing --name."],
    [
      "projects",
      ["create", "--name", "x", "--plan", "por"],
      'Unknown plan "por". Plans: free, starter, pro, enterprise.',
    ],
    ["projects", ["set-plan", "default"], "Missing --plan. Plans: free, starter, pro, enterprise."],
    ["projects", ["delete"], "Missing PROJECT. Usage: mneme projects delete PROJECT"],
    ["keys", ["list", "--url", "localhost:1"], "--url must be an http or https address"],
    [
      "keys",
      ["list", "--url", "http://127.0.0.1:1", "--data-dir", "x"],
      "--url and --data-dir cannot be used together.",
    ],
    ["keys", ["list", "--url", "http://127.0.0.1:1", "--config", "x"], "--url and --config cannot be used together."],
    ["keys", ["list", "--url", "http://127.0.0.1:1"], "Missing API key: set MNEME_API_KEY to use keys with --url."],
  ];
  for (const [command, argv, why] of cases) {
    test(`${command} ${argv.join(" ").slice(0, 60)}: ${why}`, async () => {
      const refused = run(command, argv);
      expect(refused).rejects.toThrow(why);
      await refused.catch((error: unknown) => expect(String(error)).not.toContain("\n"));
      expect((await accounts.listKeys(await accounts.defaultProject(), { limit: 1 })).items).toEqual([]);
      expect(await accounts.projects()).toHaveLength(1);
    });
  }
});

describe("as a process", () => {
  test("a command prints its result and ends with 0", async () => {
    const created = runMneme(["keys", "create", "--name", "ci", "--scopes", "*", "--data-dir", dataDir], folder);
    expect({ ...created, stdout: "" }).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect((await accounts.authenticate(secretOf(created.stdout)))?.scopes).toEqual(["*"]);
  });

  test("a failed command prints the reason in one line and ends with 1", () => {
    expect(runMneme(["projects", "delete", "default", "--data-dir", dataDir], folder)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "mneme: The default project cannot be deleted.\n",
    });
    expect(runMneme(["keys", "lits"], folder)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "mneme: Unknown command keys lits. Did you mean list? Try mneme keys --help.\n",
    });
  });

  test("--help shows the commands and flags, and mneme help the commands", () => {
    for (const command of ["keys", "projects"] as const) {
      const { exitCode, stdout } = runMneme([command, "--help"], folder);
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${accountsHelp(command).join("\n")}\n` });
    }
    expect(accountsHelp("keys").join("\n")).toContain("--grace SECONDS");
    expect(accountsHelp("projects").join("\n")).not.toContain("--grace");
    const { stdout } = runMneme(["help"], folder);
    for (const usage of ["mneme keys rotate KEY_ID", "mneme projects set-plan PROJECT --plan PLAN"]) {
      expect(stdout).toContain(usage);
    }
  });
});
