// Mixed requests to a server whose threads answer searches and questions. Each request has a connection of its own, so
// any thread answers it. An oracle outside of the server judges: nothing acknowledged is lost, nothing old or deleted
// is shown, no caller sees another project, and no limit is exceeded. MNEME_TEST_THREAD_REQUESTS sets their number.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { type Called, type Caller, callerOf } from "../crash/oracle/calls.ts";
import { Looks } from "../crash/oracle/looks.ts";
import { Oracle, describe as textOf } from "../crash/oracle/oracle.ts";
import { MIX, newWriters, WRITER_ENVIRONMENT } from "../crash/oracle/writers.ts";
import { rounds } from "../support/extent.ts";
import { startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";

const REQUESTS = rounds("MNEME_TEST_THREAD_REQUESTS", { all: 1_000, short: 200 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const THREADS = 4;
const WRITERS = 8;
/** Every n-th request, others look: the stranger, and the caller with a limit. */
const [STRANGER_EVERY, LIMITED_EVERY] = [5, 3];
/** Maximum number of questions of the limited caller in a minute. */
const [LIMIT, MINUTE_MS] = [50, 60_000];
const REQUEST_MS = 1_000;

/** A key that may read, of a project. */
async function readingKey(server: Caller, projectId?: string): Promise<string> {
  const body = { name: "reader", scopes: ["*"], ...(projectId && { projectId }) };
  return ((await server.call("POST", "/v1/keys", body)).body as { readonly key: string }).key;
}

/** The server, its strangers, and what was seen. */
class Watched implements Caller {
  readonly looks = new Looks();
  readonly leaked: string[] = [];
  /** When each question of the limited caller was sent and its admission answered. */
  readonly admitted: { readonly sentAt: number; readonly answeredAt: number }[] = [];
  requests = 0;
  refused = 0;
  readonly #server: Required<Caller>;

  constructor(
    server: Required<Caller>,
    private readonly strangersKey: string,
    private readonly limitedKey: string,
  ) {
    this.#server = server;
  }

  async call(method: string, path: string, body?: unknown): Promise<Called> {
    this.requests += 1;
    const at = this.requests;
    const answer = await this.#server.call(method, path, body);
    await this.looks.lookFor({ method, path, body }, answer, () => this.#server);
    if (at % STRANGER_EVERY === 0) await this.#searchAsStranger();
    if (at % LIMITED_EVERY === 0) await this.#askWithinLimit();
    return answer;
  }

  async #searchAsStranger(): Promise<void> {
    const search = { query: "shelf", mode: "fast", limit: 50 };
    const { status, body } = await this.#server.callAs(this.strangersKey, "POST", "/v1/memories/search", search);
    const found = status === 200 ? (body as { readonly results: readonly unknown[] }).results : [status];
    if (found.length > 0) this.leaked.push(JSON.stringify(found[0]));
  }

  async #askWithinLimit(): Promise<void> {
    const sentAt = performance.now();
    const question = { query: "Which shelf?", mode: "fast" };
    const { status } = await this.#server.callAs(this.limitedKey, "POST", "/v1/memories/query", question);
    if (status === 200) this.admitted.push({ sentAt, answeredAt: performance.now() });
    else if (status === 429) this.refused += 1;
    else this.leaked.push(`status ${status}`);
  }

  /** Questions that were admitted although as many as are permitted had been within the minute before. */
  get beyondLimit(): number {
    const bySending = this.admitted.toSorted((a, b) => a.sentAt - b.sentAt);
    const byAnswer = this.admitted.toSorted((a, b) => a.answeredAt - b.answeredAt);
    return byAnswer.filter(({ answeredAt }, at) => {
      const before = bySending[at - LIMIT];
      return before !== undefined && answeredAt - before.sentAt < MINUTE_MS;
    }).length;
  }
}

test(
  `of ${REQUESTS} mixed requests to ${THREADS} threads none is answered with something old, deleted or of others, and no limit is exceeded (MNEME_TEST_SEED=${SEED})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-thread-oracle-"));
    const limits = join(folder, "limits.json");
    const none = Object.fromEntries([...RATE_LIMITS.keys()].map((route) => [route, null]));
    writeFileSync(limits, JSON.stringify({ ...none, "POST /memories/query": LIMIT }));
    await using server = await startServer({
      environment: {
        ...WRITER_ENVIRONMENT,
        ...{ MNEME_HTTP_THREADS: String(THREADS), MNEME_RATE_LIMITS: limits, MNEME_EMBEDDER: ENGLISH },
      },
    });
    try {
      const own = callerOf(server);
      const { body: project } = await own.call("POST", "/v1/projects", { name: "other" });
      const strangersKey = await readingKey(own, (project as { readonly id: string }).id);
      const watched = new Watched(own, strangersKey, await readingKey(own));
      const oracle = new Oracle();
      const writers = newWriters(oracle, WRITERS, SEED, { ...MIX, upload: 0, storeLong: 0 });
      await Promise.all(writers.map((writer) => writer.write(watched, () => watched.requests >= REQUESTS)));
      expect(watched.looks.stale).toEqual([]);
      expect(watched.leaked).toEqual([]);
      expect(watched.beyondLimit).toBe(0);
      expect(textOf(await oracle.check(own, { samplesMax: 20 }))).toBe("");
      expect(watched.looks.count).toBeGreaterThan(REQUESTS / 4);
      const { requests, admitted, refused, looks } = watched;
      const others = `${admitted.length} admitted and ${refused} refused at the limit`;
      process.stdout.write(`${requests} requests, ${oracle.acknowledged} changes, ${looks.count} looks, ${others}\n`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  Math.max(TEST_TIMEOUT_MS, REQUEST_MS * REQUESTS),
);
