// A complete service inside the test's own process: real stores in a temporary folder, real models or such that count
// words, no socket. With MNEME_TEST_STORE=postgres the rows and texts are in a PostgreSQL database, and all models
// count words, because only the store differs from the other run.

import { mock } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as commands from "../../src/children/command.ts";
import { compose, type PortOpeners, type Service } from "../../src/compose/service.ts";
import { type Config, parseConfig } from "../../src/config.ts";
import type { KeyScope } from "../../src/domain/scope.ts";
import { type Clock, systemClock } from "../../src/kit/clock.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { createLog } from "../../src/kit/log.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { emptyDatabase } from "../stores/open-postgres.ts";
import { besideTransactions } from "./beside-transactions.ts";
import { expectDocumented } from "./documented-answers.ts";
import { executeNow } from "./postgres.ts";
import { until } from "./until.ts";

/** Admin key of test services. */
export const TEST_KEY = "ctx_test_key_0123456789abcdef";

/** A response with its body. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of any shape, and fail if they differ
  readonly body: any;
}

/** Options of an additional key. */
export interface KeyOptions {
  /** User that the key is confined to. */
  readonly userId?: string;
  /** Time of expiry in Unix milliseconds. */
  readonly expiresAt?: number;
}

/** A running service, and functions to call it. They refuse answers that the OpenAPI document does not allow. */
export interface TestService {
  readonly service: Service;
  readonly dataDir: string;
  /** Address of the PostgreSQL database; null if the rows are in SQLite. */
  readonly database: string | null;
  /** Sends a request with the test key; `body` is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  /** Sends a request as it is, without adding a key. */
  send(request: Request): Promise<Answered>;
  /** Stores a memory and waits until it is no longer processing. */
  store(body: object): Promise<Answered>;
  /** Waits until a memory is no longer processing. */
  settled(id: string): Promise<Answered>;
  /**
   * Creates an additional key in the default project, or in the project with the id `project`, which is created if it
   * does not exist.
   */
  addKey(scopes: readonly KeyScope[], project?: string, options?: KeyOptions): string;
  stop(): Promise<void>;
}

/** The system clock, which a test can advance. `sleep` still takes real time. */
export class SettableClock implements Clock {
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  /** Moves the clock forward. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}

/** Options of a test service. */
export interface ServiceOptions {
  /** Data folder. Default: a temporary one, which `stop` removes. */
  readonly dataDir?: string;
  readonly config?: Partial<Config>;
  readonly clock?: Clock;
  /**
   * Whether the models count words: for tests that need no meaning. A process with real models (lane) costs as much
   * processor time as all else of a service. Models that `config` names are real, and so are those of a service with
   * threads.
   */
  readonly countsWords?: boolean;
  /** Implementations of ports in place of the embedded ones. `addKey` works with stores in `dataDir` only. */
  readonly ports?: PortOpeners;
  /** Whether `startService` waits until the models are ready. Default: yes. */
  readonly waitsForModels?: boolean;
}

// The children start from the bundles of a run of many files, as those of a test server do: a preparation process takes
// 0.43 s of processor time to start from the sources and 0.13 s from its bundle (2026-12-01, 2 cores).
if (process.env.MNEME_TEST_PROGRAM !== undefined) {
  const { childCommand } = await import("./bundled-commands.ts");
  mock.module("../../src/children/command.ts", () => ({ ...commands, childCommand }));
}

/** The program, which also runs as a thread. */
const THREAD_SCRIPT = join(import.meta.dir, "../../src/main.ts");

/** Sends a request to a server on this machine. */
async function sendTo(port: number, request: Request): Promise<Response> {
  const { method, headers, body, signal } = request;
  const { pathname, search } = new URL(request.url);
  const url = `http://127.0.0.1:${port}${pathname}${search}`;
  const response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
  for (const name of ["date", "transfer-encoding"]) response.headers.delete(name); // the HTTP server adds them
  return response;
}

/** Addresses of the databases of data folders, with MNEME_TEST_STORE=postgres. */
const databases = new Map<string, Awaited<ReturnType<typeof emptyDatabase>>>();

async function storeOf(dataDir: string): Promise<string | null> {
  if (process.env.MNEME_TEST_STORE !== "postgres") return null;
  const database = databases.get(dataDir) ?? (await emptyDatabase());
  databases.set(dataDir, database);
  return database.url;
}

/** Starts a service and waits until it is ready. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "mneme-test-"));
  const defaults = parseConfig(
    [],
    // tests send more requests per minute than the limits allow, and more searches at once than a busy machine answers
    // in time; and what they find must not depend on how busy it is. Tests of the limits set their own
    {
      ...{ MNEME_DATA_DIR: dataDir, MNEME_ADMIN_KEY: TEST_KEY },
      ...{ MNEME_RATE_LIMITS: "off", MNEME_SEARCH_PATIENCE: "120", MNEME_RERANK_DEADLINE: "off" },
      MNEME_HTTP_THREADS: "1",
    },
    {
      workingDirectory: dataDir,
      shippedModelsDirectory: () => join(import.meta.dir, "../../data/models"),
    },
  );
  const store = options.ports === undefined ? await storeOf(dataDir) : null;
  const namesModels = options.config?.embedder !== undefined || options.config?.modelsDir !== undefined;
  // threads have the clock of the system, and real ports
  const canHaveThreads = options.clock === undefined && options.ports === undefined && store === null;
  const httpThreads = canHaveThreads ? Number(process.env.MNEME_TEST_HTTP_THREADS ?? 1) : 1;
  const countsWords = (store !== null || (options.countsWords === true && httpThreads === 1)) && !namesModels;
  // one process with models (lane), because test files run in parallel
  const config = { ...defaults, lanes: 1, store, httpThreads, ...options.config };
  const composed = await compose(
    { config, log: createLog("error"), clock: options.clock ?? systemClock },
    { threadScript: THREAD_SCRIPT, ...(options.ports ?? (countsWords ? WORD_PORTS : {})) },
  );
  const threads = (await composed.threads?.listen("127.0.0.1", 0)) ?? null;
  /** Ends when all keys are stored that were added so far. Each request waits for it. */
  let keysAdded: Promise<void> = Promise.resolve();
  const service: Service = {
    ...composed,
    handle: async (...request) => {
      await keysAdded;
      return threads === null ? composed.handle(...request) : sendTo(threads.port, request[0]);
    },
  };
  if (options.waitsForModels ?? true) await service.ready;

  const send = async (request: Request): Promise<Answered> => {
    const response = await service.handle(request);
    const { status, headers } = response;
    const text = await response.text();
    expectDocumented(request, { status, headers, text });
    return { status, headers, body: text === "" ? null : parseJson(text) };
  };
  const call: TestService["call"] = (method, path, body, headers) =>
    send(
      new Request(`http://mneme.test${path}`, {
        method,
        headers: {
          authorization: `Bearer ${TEST_KEY}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    );
  const settled = (id: string) =>
    until(`${id} is no longer processing`, async () => {
      const found = await call("GET", `/v1/memories/${id}`);
      if (found.body?.status === "processing") return null;
      // relations come later; test/api/relations.test.ts looks at them
      delete found.body?.relations;
      return found;
    });
  return {
    service,
    dataDir,
    database: store,
    send,
    call,
    settled,
    store: async (body) => {
      const accepted = await call("POST", "/v1/memories", body);
      return accepted.status === 202 ? settled(accepted.body.id) : accepted;
    },
    addKey: (scopes, project, options) => {
      if (store !== null) return addKeyTo(store, scopes, project, options);
      const secret = newSecret();
      keysAdded = keysAdded.then(() => besideTransactions(() => addKey(dataDir, secret, scopes, project, options)));
      return secret;
    },
    stop: async () => {
      await keysAdded;
      await service.close();
      if (options.dataDir !== undefined) return;
      rmSync(dataDir, { recursive: true, force: true });
      await databases.get(dataDir)?.giveBack();
      databases.delete(dataDir);
    },
  };
}

// Opens its own database connection, like a command that runs while the server runs. That lets tests choose the id of a
// project.
function addKey(
  dataDir: string,
  secret: string,
  scopes: readonly KeyScope[],
  project?: string,
  { userId, expiresAt }: KeyOptions = {},
): void {
  const database = openDatabase(join(dataDir, "mneme.sqlite"));
  try {
    database.transaction(() => {
      if (project !== undefined) {
        database
          .prepare<never, { project: string }>(
            `INSERT OR IGNORE INTO projects (id, name, plan, secret, created_at)
               VALUES ($project, 'another', 'enterprise', randomblob(16), 0)`,
          )
          .run({ project });
      }
      database
        .prepare<never, Readonly<Record<string, string | number | null>>>(
          `INSERT INTO api_keys (id, project_key, name, scopes, user_id, redacted, expires_at, created_at)
             SELECT $id, project_key, 'a test''s', $scopes, $userId, 'ctx_…', $expiresAt, 0
             FROM projects WHERE id = $project OR ($project IS NULL AND is_default = 1)`,
        )
        .run({
          id: `key_${secret.slice(4, 30)}`,
          scopes: JSON.stringify(scopes),
          ...{ userId: userId ?? null, expiresAt: expiresAt ?? null, project: project ?? null },
        });
      database
        .prepare<never, { hash: Uint8Array }>(
          "INSERT INTO key_secrets (sha256, key_key) SELECT $hash, max(key_key) FROM api_keys",
        )
        .run({ hash: new Bun.CryptoHasher("sha256").update(secret).digest() });
    });
  } finally {
    database.close();
  }
}

function newSecret(): string {
  return `ctx_${crypto.randomUUID().replaceAll("-", "")}`;
}

// Like addKey, on PostgreSQL.
function addKeyTo(
  url: string,
  scopes: readonly KeyScope[],
  project?: string,
  { userId, expiresAt }: KeyOptions = {},
): string {
  const secret = newSecret();
  const hash = new Bun.CryptoHasher("sha256").update(secret).digest("hex");
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  const home = project === undefined ? "is_default = 1" : `id = ${text(project)}`;
  const create = `INSERT INTO projects (id, name, plan, settings, retention_days, secret, created_at)
    VALUES (${text(project ?? "")}, 'another', 'enterprise', '{}', 30, decode(md5(random()::text), 'hex'), 0)
    ON CONFLICT (id) DO NOTHING;
    INSERT INTO project_service (project_key) SELECT project_key FROM projects ON CONFLICT DO NOTHING;`;
  executeNow(
    url,
    `${project === undefined ? "" : create}
    WITH made AS (
      INSERT INTO api_keys (id, project_key, name, scopes, user_id, redacted, expires_at, created_at)
      SELECT ${text(`key_${secret.slice(4, 30)}`)}, project_key, 'a test''s', ${text(JSON.stringify(scopes))},
        ${userId === undefined ? "NULL" : text(userId)}, 'ctx_…', ${expiresAt ?? "NULL"}, 0
      FROM projects WHERE ${home} RETURNING key_key)
    INSERT INTO key_secrets (sha256, key_key) SELECT decode('${hash}', 'hex'), key_key FROM made`,
  );
  return secret;
}
