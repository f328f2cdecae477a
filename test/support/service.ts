// A complete service inside the test's own process: real stores in a temporary folder, real models, no socket.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { compose, type PortParts, type Service } from "../../src/compose/service.ts";
import { type Config, parseConfig } from "../../src/config.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { KeyScope } from "../../src/domain/scope.ts";
import { type Clock, systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
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

/** A running service, and functions to call it. */
export interface TestService {
  readonly service: Service;
  readonly dataDir: string;
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
  /** Implementations of ports in place of the embedded ones. `addKey` works with the embedded ones only. */
  readonly ports?: PortParts;
  /** Whether `startService` waits until the models are ready. Default: yes. */
  readonly waitsForModels?: boolean;
}

/** Starts a service and waits until it is ready. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "mneme-test-"));
  const defaults = parseConfig(
    [],
    // tests send more requests per minute than the limits allow; tests of the limits set their own
    { MNEME_DATA_DIR: dataDir, MNEME_ADMIN_KEY: TEST_KEY, MNEME_RATE_LIMITS: "off" },
    {
      workingDirectory: dataDir,
      shippedModelsDirectory: () => join(import.meta.dir, "../../data/models"),
    },
  );
  // one lane, because test files run in parallel
  const config = { ...defaults, lanes: 1, ...options.config };
  const service = await compose(
    { config, log: createLog("error"), clock: options.clock ?? systemClock },
    options.ports,
  );
  if (options.waitsForModels ?? true) await service.ready;

  const send = async (request: Request): Promise<Answered> => {
    const response = await service.handle(request);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
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
      return found.body?.status === "processing" ? null : found;
    });
  return {
    service,
    dataDir,
    send,
    call,
    settled,
    store: async (body) => {
      const accepted = await call("POST", "/v1/memories", body);
      return accepted.status === 202 ? settled(accepted.body.id) : accepted;
    },
    addKey: (scopes, project, options) => addKey(dataDir, scopes, project, options),
    stop: async () => {
      await service.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

// Opens its own database connection, like a command that runs while the server runs. That lets tests choose the id of a
// project.
function addKey(
  dataDir: string,
  scopes: readonly KeyScope[],
  project?: string,
  { userId, expiresAt }: KeyOptions = {},
): string {
  const database = openDatabase(join(dataDir, "mneme.sqlite"));
  try {
    const accounts = new SqliteAccountStore({ database, clock: systemClock });
    const projectId = project === undefined ? accounts.defaultProject() : (project as ProjectId);
    if (!accounts.projects().includes(projectId)) {
      database
        .prepare<never, { id: string }>(
          `INSERT INTO projects (id, name, plan, secret, created_at)
             VALUES ($id, 'another', 'enterprise', randomblob(16), 0)`,
        )
        .run({ id: projectId });
    }
    return accounts.issueKey(projectId, {
      name: "a test's",
      scopes,
      userId: userId ?? null,
      expiresAt: expiresAt ?? null,
    }).secret;
  } finally {
    database.close();
  }
}
