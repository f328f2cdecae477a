// Several threads answer requests. The system divides new connections between them, so many requests on connections of
// their own reach all threads.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMneme } from "../support/command.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const THREADS = 4;
/** Number of requests of which practically every thread gets one: a thread gets none of them once in 10⁹ times. */
const ENOUGH = 72;
/** Maximum number of searches per key and minute. */
const LIMIT = 100;

const folder = mkdtempSync(join(tmpdir(), "mneme-threads-"));
const limits = join(folder, "limits.json");
writeFileSync(
  limits,
  JSON.stringify({
    "GET *": null,
    "POST *": null,
    "DELETE *": null,
    "POST /memories/search": LIMIT,
    "POST /memories/query": null,
    "PUT *": LIMIT,
  }),
);
const environment = { MNEME_HTTP_THREADS: String(THREADS), MNEME_RATE_LIMITS: limits };
/** The program, in which a request can make its thread fail. */
const command = [process.execPath, join(import.meta.dir, "failing-program.ts")];

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ environment, command, dataDir: join(folder, "data") });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request on a connection of its own. */
async function send(method: string, path: string, { key = server.key, body, headers }: Sent = {}) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    keepalive: false,
    headers: {
      ...{ authorization: `Bearer ${key}`, connection: "close", ...headers },
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of any shape, and fail if they differ
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as any };
}

const times = <Result>(count: number, work: (at: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));

async function stored(body: object, key = server.key): Promise<string> {
  const { status, body: memory } = await send("POST", "/v1/memories", { key, body });
  expect(status).toBe(202);
  await until("it is completed", async () => {
    const found = await send("GET", `/v1/memories/${memory.id}`, { key });
    return found.body.status === "completed";
  });
  return memory.id;
}

/** A new key, which has limits of its own. */
async function newKey(scopes: readonly string[] = ["memories:read"], projectId?: string) {
  const { body } = await send("POST", "/v1/keys", { body: { name: "test", scopes, ...(projectId && { projectId }) } });
  return body as { readonly id: string; readonly key: string };
}

const search = (key: string, query: string, scope: { readonly userId?: string } = {}) =>
  send("POST", "/v1/memories/search", { key, body: { query, mode: "fast", ...scope } });

/** Searches so often that every thread answers. */
async function searchEverywhere(query: string) {
  const { key } = await newKey();
  return times(ENOUGH, () => search(key, query));
}

const statusesOf = (answers: readonly { readonly status: number }[]) => [
  ...new Set(answers.map(({ status }) => status)),
];

async function metric(line: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length) ?? 0,
  );
}

describe("several threads", () => {
  test("are listed by /ready, and what they count is added up", async () => {
    const { body } = await send("GET", "/ready");
    expect(body.threads).toEqual(Array.from({ length: THREADS }, (_, at) => ({ id: String(at + 1), state: "up" })));

    const counted = 'mneme_http_requests_total{operation="searchMemories",status="200"}';
    const before = await metric(counted);
    expect(statusesOf(await searchEverywhere("lantern"))).toEqual([200]);
    expect(await metric(counted)).toBe(before + ENOUGH);
    expect(await metric('mneme_http_request_duration_seconds_count{operation="searchMemories"}')).toBe(before + ENOUGH);
  });

  test("a second server on their port is refused with one line", () => {
    const { port } = new URL(server.url);
    for (const threads of ["1", "2"]) {
      const flags = ["--port", port, "--data-dir", join(folder, `second-${threads}`), "--log-level", "silent"];
      const { exitCode, stderr } = runMneme(["serve", ...flags, "--http-threads", threads], folder);
      expect(exitCode).toBe(1);
      expect(stderr).toBe(
        `mneme: Cannot listen on 127.0.0.1:${port}: another program is using this port. Choose another address with --port or --host.\n`,
      );
    }
  });

  test(`admit exactly ${LIMIT} of ${2 * LIMIT} parallel requests at a limit of ${LIMIT}`, async () => {
    const admitted = async (send: (at: number) => ReturnType<typeof search>) => {
      const statuses = (await times(2 * LIMIT, send)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 429)).toHaveLength(LIMIT);
    };
    const { key } = await newKey(["memories:read", "memories:write"]);
    await admitted(() => search(key, "lantern")); // the threads answer these themselves
    await admitted((at) => send("PUT", `/v1/memories/mem_${at}`, { key, body: { title: "none" } })); // not these
  });

  test("all refuse a key as soon as it is revoked", async () => {
    const { id, key } = await newKey();
    expect(statusesOf(await times(ENOUGH, () => search(key, "lantern")))).toEqual([200]);
    expect((await send("DELETE", `/v1/keys/${id}`)).status).toBe(204);
    const refused = await times(ENOUGH, () => search(key, "lantern"));
    // after too many failures, the address is refused
    expect(statusesOf(refused).sort()).toEqual([401, 429]);
    expect(refused.filter(({ status }) => status === 401)).toHaveLength(30);
  });

  test("none finds a memory that was deleted, or the earlier text of one that was changed", async () => {
    const [gone, changed] = await Promise.all([
      stored({ content: "The red lantern hangs in the boathouse." }),
      stored({ content: "The old anchor lies in the boathouse." }),
    ]);
    const finds = async (query: string) => {
      const answers = await searchEverywhere(query);
      return answers.map(({ body }) => body.results.map(({ content }: { readonly content: string }) => content));
    };
    for (const found of await finds("red lantern")) expect(found).toContain("The red lantern hangs in the boathouse.");
    expect((await send("DELETE", `/v1/memories/${gone}`)).status).toBe(204);
    for (const found of await finds("red lantern"))
      expect(found).not.toContain("The red lantern hangs in the boathouse.");

    const content = "The old anchor lies in the harbour.";
    expect((await send("PUT", `/v1/memories/${changed}`, { body: { content } })).status).toBeLessThan(300);
    for (const found of await finds("old anchor")) expect(found).not.toContain("The old anchor lies in the boathouse.");
  });

  test("none shows what belongs to another user or project", async () => {
    const { body: project } = await send("POST", "/v1/projects", { body: { name: "other" } });
    const [own, other] = await Promise.all([
      newKey(["memories:read", "memories:write"]),
      newKey(["memories:read", "memories:write"], project.id),
    ]);
    await Promise.all([
      stored({ content: "Ada's compass points north.", userId: "ada" }),
      stored({ content: "Bob's compass points south.", userId: "bob" }),
      stored({ content: "The other compass points east.", userId: "ada" }, other.key),
    ]);
    const callers = [
      [own.key, "ada", "Ada's compass points north."],
      [own.key, "bob", "Bob's compass points south."],
      [other.key, undefined, "The other compass points east."],
    ] as const;
    await times(2 * LIMIT, async (at) => {
      const [key, userId, visible] = callers[at % 2 === 0 ? 2 : Math.floor(at / 2) % 2] ?? callers[0];
      const { body } = await search(key, "compass", userId === undefined ? {} : { userId });
      const contents: readonly string[] = body.results.map(({ content }: { readonly content: string }) => content);
      expect(contents.filter((content) => content.includes("compass"))).toEqual([visible]);
    });
  });

  test("count each question once", async () => {
    const { key } = await newKey(["*"]);
    const counted = async () => (await send("GET", "/v1/usage", { key })).body.queries.used;
    await stored({ content: "The lighthouse keeper is called Maren." });
    const before = await counted();
    const answers = await times(ENOUGH, () =>
      send("POST", "/v1/memories/query", { key, body: { query: "Who is the lighthouse keeper?", mode: "fast" } }),
    );
    expect(statusesOf(answers)).toEqual([200]);
    for (const { body } of answers) expect(body.answer).toContain("Maren");
    expect(await counted()).toBe(before + ENOUGH);
  });

  test("keep nothing of callers who hang up", async () => {
    const { key } = await newKey();
    const hangUps = Array.from({ length: LIMIT }, async () => {
      const hangUp = new AbortController();
      const sending = fetch(`${server.url}/v1/memories/search`, {
        ...{ method: "POST", keepalive: false, signal: hangUp.signal },
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ query: "Which lantern hangs where?", mode: "precise" }),
      });
      await metric("mneme_searches_in_progress"); // meanwhile, some searches begin and others wait
      hangUp.abort();
      await Promise.allSettled([sending]);
    });
    await Promise.all(hangUps);
    await until("no search is left", async () => {
      const [inProgress, waiting] = [
        await metric("mneme_searches_in_progress"),
        await metric("mneme_searches_waiting"),
      ];
      return inProgress === 0 && waiting === 0;
    });
    expect(statusesOf(await searchEverywhere("lantern"))).toEqual([200]);
  });

  test("an error that nothing catches ends the requests of its thread only, and the thread is replaced", async () => {
    const { key } = await newKey();
    const others = Promise.allSettled(Array.from({ length: ENOUGH }, () => search(key, "lantern")));
    await Promise.allSettled([send("GET", "/health", { headers: { "x-test-failure": "yes" } })]);
    const answered = (await others).flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(statusesOf(answered)).toEqual([200]);

    await until("the error is logged", () => server.stderr().includes("this error was asked for"));
    await until("the thread is replaced", async () => {
      const [asked] = await Promise.allSettled([send("GET", "/ready")]); // the failed thread may have got it
      const threads = asked.status === "fulfilled" ? asked.value.body.threads : [];
      return threads.length === THREADS && threads.every(({ state }: { readonly state: string }) => state === "up");
    });
    expect(statusesOf(await searchEverywhere("lantern"))).toEqual([200]);
  });

  test("everything acknowledged is there after the process was killed", async () => {
    const acknowledged: string[] = [];
    const isStored = async (at: number) => {
      const { status, body } = await send("POST", "/v1/memories", { body: { content: `Sail ${at} is mended.` } });
      if (status === 202) acknowledged.push(body.id);
    };
    const storing = Promise.allSettled(Array.from({ length: 60 }, (_, at) => isStored(at)));
    await until("some are acknowledged", () => acknowledged.length >= 10);
    await server.kill();
    await storing;

    server = await startServer({ environment, command, dataDir: server.dataDir });
    const found = await times(acknowledged.length, (at) => send("GET", `/v1/memories/${acknowledged[at]}`));
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
