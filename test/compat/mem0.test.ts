// The interface for mem0's clients: who may do what, refusals, and random requests. The real clients are in
// test/clients/.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mem0Endpoints } from "../../src/compat/mem0/endpoints.ts";
import type { KeyScope } from "../../src/domain/scope.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { AWKWARD_TEXTS, BROKEN_TEXTS, Chance } from "../support/generate.ts";
import { seeded } from "../support/seeded.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const CALLS = Number(process.env.MNEME_TEST_FUZZ ?? 400);
/** Time for all random requests of a run, in milliseconds. */
const FUZZ_TIMEOUT_MS = Math.max(TEST_TIMEOUT_MS, CALLS * 100);
/** What an answer never shows: stacks, files, SQL. */
const INSIDES = /\bat \S+ \(|\.ts:\d|node_modules|\/src\/|SQLITE|SELECT |mneme-test-|this is a bug/;
const BASE = "http://127.0.0.1:8383/compat/mem0";
const NOWHERE = "mem_00000000000000000000000000";

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of any shape, and fail if they differ
  readonly body: any;
}

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

async function send(method: string, path: string, body?: unknown, authorization = `Token ${TEST_KEY}`): Promise<Sent> {
  const response = await mneme.service.handle(
    new Request(BASE + path, {
      method,
      headers: {
        ...(authorization !== "" && { authorization }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === "" ? null : JSON.parse(text) };
}

describe("authorisation", () => {
  const OWNERS = ["ada", "ben", null] as const;
  type Owner = (typeof OWNERS)[number];
  const markers = new Map<Owner, string>();
  const ids = new Map<Owner, string>();
  const KINDS: readonly {
    readonly name: string;
    readonly scopes: readonly KeyScope[];
    readonly userId?: string;
    readonly project?: string;
    readonly sees: readonly Owner[];
  }[] = [
    { name: "all scopes", scopes: ["*"], sees: OWNERS },
    { name: "read-only", scopes: ["memories:read"], sees: OWNERS },
    { name: "write-only", scopes: ["memories:write"], sees: [] },
    { name: "users only", scopes: ["users:read", "users:write"], sees: [] },
    { name: "other scopes", scopes: ["chats:write", "webhooks", "keys", "query"], sees: [] },
    { name: "admin only", scopes: ["admin"], sees: [] },
    { name: "confined to ada", scopes: ["*"], userId: "ada", sees: ["ada"] },
    { name: "confined to a stranger", scopes: ["*"], userId: "eve", sees: [] },
    { name: "of another project", scopes: ["*"], project: "prj_00000000000000000000000009", sees: [] },
  ];

  beforeAll(async () => {
    const next = seeded(65);
    for (const owner of OWNERS) {
      const marker = `marker${Math.floor(next() * 1e12)}x`;
      const content = `The harbour lantern of Port Ellery is kept by Maud Greenwood, says ${marker}.`;
      const { body } = await mneme.store({
        content,
        agentId: "guide",
        sessionId: "s",
        ...(owner !== null && { userId: owner }),
      });
      markers.set(owner, marker);
      ids.set(owner, body.id);
    }
  });

  /** Requests that only read, aimed at the memory of `owner`. */
  const readsOf = (owner: Owner): readonly (readonly [string, string, unknown?])[] => [
    ["GET", "/v1/ping/"],
    ["POST", "/v3/memories/search/", { query: "harbour lantern", filters: { user_id: owner } }],
    [
      "POST",
      "/v3/memories/search/",
      { query: "harbour lantern", filters: { OR: [{ user_id: "*" }, { NOT: { user_id: "*" } }] }, top_k: 100 },
    ],
    ["POST", "/v3/memories/search/", { query: "harbour lantern", filters: { memory_ids: [ids.get(owner)] } }],
    ["POST", "/v3/memories/", { filters: { agent_id: "guide" } }],
    ["POST", "/v3/memories/?page=1&page_size=1000", { filters: { NOT: { user_id: "nobody" } } }],
    ["GET", `/v1/memories/${ids.get(owner)}/`],
    ["GET", `/v1/memories/${ids.get(owner)}/history/`],
    ["GET", "/v1/entities/"],
  ];
  /** Requests that change the memory of `owner`. */
  const changesOf = (owner: Owner): readonly (readonly [string, string, unknown?])[] => [
    ["PUT", `/v1/memories/${ids.get(owner)}/`, { text: "stolen" }],
    ["PUT", "/v1/batch/", { memories: [{ memory_id: ids.get(owner), text: "stolen" }] }],
    ["DELETE", "/v1/batch/", { memories: [{ memory_id: ids.get(owner) }] }],
    ["DELETE", `/v1/memories/${ids.get(owner)}/`],
    ["DELETE", `/v1/memories/?user_id=${owner ?? "*"}`],
    ["DELETE", "/v1/memories/?agent_id=guide"],
    ["DELETE", `/v2/entities/user/${owner ?? "nobody"}/`],
    ["DELETE", "/v2/entities/agent/guide/"],
    ["DELETE", "/v1/entities/run/s/"],
  ];

  for (const { name, scopes, userId, project, sees } of KINDS) {
    test(`a key of kind ${name} sees and changes what it may, and nothing else`, async () => {
      const key = mneme.addKey(scopes, project, { ...(userId !== undefined && { userId }) });
      for (const owner of OWNERS) {
        for (const [method, path, body] of readsOf(owner)) {
          const { status, text } = await send(method, path, body, `Token ${key}`);
          for (const [other, marker] of markers) {
            if (!sees.includes(other)) expect([path, text]).toEqual([path, expect.not.stringContaining(marker)]);
          }
          expect(status, path).toBeOneOf([200, 403, 404]);
          if (path.startsWith("/v1/memories/mem_"))
            expect([path, status === 200]).toEqual([path, sees.includes(owner)]);
        }
        const isOfOthers = project !== undefined || (userId !== undefined && !sees.includes(owner));
        const mayChange = !isOfOthers && (scopes.includes("*") || scopes.includes("memories:write"));
        const changes = mayChange ? [] : changesOf(owner);
        for (const [method, path, body] of changes) {
          // what the key may delete of its own is tested with the clients
          if (scopes.includes("users:write") && path.includes("/user/")) continue;
          if (userId === "ada" && /agent|run|user_id=\*/.test(path)) continue;
          const { status } = await send(method, path, body, `Token ${key}`);
          expect(status, path).toBeOneOf([200, 403, 404]);
        }
      }
      for (const [owner, id] of ids) {
        const { status, body } = await mneme.call("GET", `/v1/memories/${id}`);
        expect([status, body.content]).toEqual([200, expect.stringContaining(markers.get(owner) ?? "")]);
      }
    });
  }

  test("a key comes as Token or Bearer; Token is accepted only here", async () => {
    for (const scheme of ["Token", "token", "Bearer"]) {
      expect((await send("GET", "/v1/ping/", undefined, `${scheme} ${TEST_KEY}`)).status).toBe(200);
    }
    for (const authorization of ["", "Token", "Token m0-key", `Basic ${TEST_KEY}`, "Token ctx_unknown"]) {
      for (const path of ["/v1/ping/", "/v1/feedback/", "/"]) {
        const { status, headers, body } = await send("GET", path, undefined, authorization);
        expect([authorization, status]).toEqual([authorization, 401]);
        expect(headers.get("www-authenticate")).toBe("Bearer");
        expect(body).toMatchObject({ detail: expect.any(String), code: expect.stringMatching(/_api_key$/) });
      }
    }
    const request = new Request("http://127.0.0.1:8383/v1/memories", {
      headers: { authorization: `Token ${TEST_KEY}` },
    });
    expect((await mneme.service.handle(request)).status).toBe(401);
  });
});

describe("refusals have mem0's form and say what is wrong:", () => {
  const message = [{ role: "user", content: "x" }];
  for (const [method, path, body, status, detail] of [
    ["GET", "/v1/feedback/", undefined, 404, "There is no route GET /compat/mem0/v1/feedback/"],
    ["PATCH", "/v1/ping/", undefined, 405, "supports GET, HEAD, not PATCH"],
    ["GET", "/v1/ping/?who=me", undefined, 400, "Unknown or unsupported field 'who'"],
    ["POST", "/v3/memories/add/", "{", 400, "JSON"],
    ["POST", "/v3/memories/add/", [], 400, "must be a JSON object"],
    ["POST", "/v3/memories/add/", { user_id: "u" }, 400, "'messages' must be a list of 1 to 100 messages"],
    ["POST", "/v3/memories/add/", { messages: Array(101).fill(message[0]), user_id: "u" }, 400, "1 to 100"],
    ["POST", "/v3/memories/add/", { messages: message }, 400, "At least one of user_id, agent_id, run_id, app_id"],
    ["POST", "/v3/memories/add/", { messages: message, userid: "u" }, 400, "Did you mean 'user_id'?"],
    ["POST", "/v3/memories/add/", { messages: message, user_id: 7 }, 400, "'user_id' must be a string"],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "u".repeat(257) }, 400, "256"],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "a", filters: { user_id: "b" } }, 400, "given twice"],
    [
      "POST",
      "/v3/memories/add/",
      { messages: message, user_id: "u", infer: "no" },
      400,
      "'infer' must be true or false",
    ],
    [
      "POST",
      "/v3/memories/add/",
      { messages: message, user_id: "u", metadata: { mem0: {} } },
      400,
      "a name that Mneme uses",
    ],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "u", metadata: { _x: 1 } }, 400, "_x"],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "u", expiration_date: "soon" }, 400, "a date"],
    [
      "POST",
      "/v3/memories/add/",
      { messages: message, user_id: "u", expiration_date: "2001-01-01" },
      400,
      "in the past",
    ],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "u", timestamp: 1e99 }, 400, "a Unix time"],
    ["POST", "/v3/memories/add/", { messages: message, user_id: "u", structured_data_schema: {} }, 400, "unsupported"],
    ["POST", "/v3/memories/add/", { messages: [{ role: "user", content: " " }], user_id: "u" }, 400, "not blank"],
    ["POST", "/v3/memories/search/", { query: "x" }, 400, "'filters' is required"],
    ["POST", "/v3/memories/search/", { query: " ", filters: { user_id: "u" } }, 400, "query"],
    ["POST", "/v3/memories/search/", { query: "x", filters: { user: "u" } }, 400, "'filters.user' is not known"],
    ["POST", "/v3/memories/search/", { query: "x", filters: { user_id: { like: "u" } } }, 400, "is no operator"],
    [
      "POST",
      "/v3/memories/search/",
      { query: "x", filters: { metadata: { "mem0.app_id": "a" } } },
      400,
      "a name that Mneme uses",
    ],
    ["POST", "/v3/memories/search/", { query: "x", filters: { AND: {} } }, 400, "'filters.AND' must be a list"],
    [
      "POST",
      "/v3/memories/search/",
      { query: "x", filters: { user_id: "u" }, top_k: 101 },
      400,
      "'top_k' must be an integer from 1 to 100",
    ],
    ["POST", "/v3/memories/search/", { query: "x", filters: { user_id: "u" }, top_k: 0 }, 400, "from 1 to 100"],
    ["POST", "/v3/memories/search/", { query: "x", filters: { user_id: "u" }, threshold: 1.1 }, 400, "from 0 to 1"],
    [
      "POST",
      "/v3/memories/search/",
      { query: "x", filters: { user_id: "u" }, show_expired: true },
      400,
      "cannot be true",
    ],
    ["POST", "/v3/memories/", {}, 400, "'filters' is required"],
    ["POST", "/v3/memories/?page=0", { filters: { user_id: "u" } }, 400, "'page' must be a positive integer"],
    ["POST", "/v3/memories/?page_size=1001", { filters: { user_id: "u" } }, 400, "from 1 to 1000"],
    ["POST", "/v3/memories/", { filters: { created_at: { gte: "yesterday" } } }, 400, "created_at"],
    ["GET", `/v1/memories/${NOWHERE}/`, undefined, 404, "There is no memory"],
    ["PUT", `/v1/memories/${NOWHERE}/`, { text: "x" }, 404, "There is no memory"],
    ["PUT", `/v1/memories/${NOWHERE}/`, { txt: "x" }, 400, "Did you mean 'text'?"],
    ["DELETE", `/v1/memories/${NOWHERE}/`, undefined, 404, "There is no memory"],
    ["GET", "/v1/memories/x%2F..%2F..%2Fkeys/", undefined, 404, "There is no memory"],
    ["DELETE", "/v1/memories/", undefined, 400, "At least one of"],
    ["DELETE", "/v1/memories/?filters=%7B%7D", undefined, 400, "'filters'"],
    ["PUT", "/v1/batch/", { memories: [] }, 400, "a list of 1 to 100 memories"],
    ["DELETE", "/v1/batch/", { memories: [{ id: "x" }] }, 400, "Unknown or unsupported field 'id'"],
    ["DELETE", "/v2/entities/team/x/", undefined, 400, "'type' must be user, agent, app or run"],
    ["DELETE", "/v2/entities/user/nobody-known/", undefined, 404, "nobody-known"],
    ["DELETE", "/v2/entities/run/none/", undefined, 404, "No memory belongs to this run"],
  ] as const) {
    test(`${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`, async () => {
      const sent = await send(method, path, body);
      expect([sent.status, sent.body.detail]).toEqual([status, expect.stringContaining(detail)]);
      expect(sent.body).toMatchObject({ code: expect.any(String), request_id: sent.headers.get("x-request-id") });
    });
  }

  test("a batch with an unknown memory changes nothing", async () => {
    const { body } = await mneme.store({ content: "stays as it is" });
    for (const [method, more] of [
      ["PUT", { text: "changed" }],
      ["DELETE", {}],
    ] as const) {
      const memories = [body.id, NOWHERE].map((memory_id) => ({ memory_id, ...more }));
      expect((await send(method, "/v1/batch/", { memories })).status).toBe(404);
    }
    expect((await mneme.call("GET", `/v1/memories/${body.id}`)).body.content).toBe("stays as it is");
  });
});

test("the routes of earlier clients answer with lists, and with an envelope for a page", async () => {
  const added = await send("POST", "/v1/memories/", {
    messages: [{ role: "user", content: "Quince jam is on the upper shelf." }],
    user_id: "early",
    run_id: "r",
    version: "v2",
    output_format: "v1.1",
    org_id: "mneme",
  });
  expect(added.body).toMatchObject([{ event: "ADD", memory: "Quince jam is on the upper shelf." }]);
  const [{ id }] = added.body;
  await send("POST", "/v1/memories/", { messages: "Another jam.", user_id: "late" });
  for (const [method, path, body] of [
    ["POST", "/v1/memories/search/", { query: "jam", user_id: "early", limit: 5 }],
    ["POST", "/v2/memories/search/", { query: "jam", filters: { AND: [{ user_id: "early" }] }, top_k: 5 }],
    ["POST", "/v2/memories/search/", { query: "jam", filters: { run_id: "r" }, user_id: "early", version: "v2" }],
    ["GET", "/v1/memories/?user_id=early&org_id=mneme&project_id=p", undefined],
    ["POST", "/v2/memories/", { filters: { user_id: "early" }, org_id: "mneme" }],
  ] as const) {
    const { status, body: found } = await send(method, path, body);
    expect([path, status, found.map((memory: { id: string }) => memory.id)]).toEqual([path, 200, [id]]);
  }
  for (const [method, path, body] of [
    ["GET", "/v1/memories/?user_id=early&page=1&page_size=5", undefined],
    ["POST", "/v2/memories/?page=1&page_size=5", { filters: { user_id: "early" } }],
  ] as const) {
    expect((await send(method, path, body)).body).toMatchObject({ count: 1, next: null, results: [{ id }] });
  }
  for (const [method, path, body] of [
    ["POST", "/v1/memories/search/", { query: "jam" }],
    ["GET", "/v1/memories/", undefined],
    ["GET", "/v1/memories/?usr_id=early", undefined],
    ["GET", "/v1/memories/?user_id=early&user_id=late", undefined],
    ["DELETE", "/v1/memories/?user_id=early&user_id=late", undefined],
    ["POST", "/v2/memories/", { filters: { user_id: "early" }, user_id: 7 }],
  ] as const) {
    expect([path, (await send(method, path, body)).status]).toEqual([path, 400]);
  }
});

test("messages beyond a quota are named beside those that were stored", async () => {
  const { body: project } = await mneme.call("POST", "/v1/projects", { name: "small", plan: "free" });
  const messages = Array.from({ length: 12 }, (_, at) => ({ role: "user", content: `Note ${at}.` }));
  const sent = await send(
    "POST",
    "/v3/memories/add/",
    { messages, user_id: "u", infer: false },
    `Token ${project.key}`,
  );
  expect(sent.body.results).toHaveLength(10);
  expect(sent.body.errors).toMatchObject([
    { index: 10, code: "document_quota_exceeded" },
    { index: 11, code: "document_quota_exceeded" },
  ]);
});

test("many memories are deleted with one request, and nobody else's", async () => {
  const keep = await mneme.store({ content: "stays", userId: "bulk", agentId: "other" });
  for (let batch = 0; batch < 3; batch++) {
    const memories = Array.from({ length: 100 }, (_, at) => ({
      content: `Bulk ${batch} ${at}.`,
      userId: "bulk",
      agentId: "bulk",
    }));
    expect((await mneme.call("POST", "/v1/memories/batch", { memories })).body.accepted).toBe(100);
  }
  const { status, body } = await send("DELETE", "/v1/memories/?user_id=bulk&agent_id=bulk");
  expect([status, body]).toEqual([200, { message: "Memories deleted successfully!" }]);
  const left = await send("POST", "/v3/memories/", { filters: { user_id: "bulk" } });
  expect(left.body.results.map(({ id }: { id: string }) => id)).toEqual([keep.body.id]);
});

test("rate limits of the operations hold, and show in the answer", async () => {
  const limited = await startService({
    config: {
      rateLimits: new Map([
        ["POST /memories/search", 2],
        ["GET *", 300],
        ["POST *", 100],
        ["DELETE *", 100],
        ["PUT *", 100],
        ["PATCH *", 100],
        ["* *", 100],
      ]),
    },
  });
  try {
    const answers = [];
    for (let at = 0; at < 3; at++) {
      const response = await limited.service.handle(
        new Request(`${BASE}/v3/memories/search/`, {
          method: "POST",
          headers: { authorization: `Token ${TEST_KEY}`, "content-type": "application/json" },
          body: JSON.stringify({ query: "x", filters: { user_id: "u" } }),
        }),
      );
      answers.push([response.status, response.headers.get("retry-after") !== null]);
    }
    expect(answers).toEqual([
      [200, false],
      [200, false],
      [429, true],
    ]);
  } finally {
    await limited.stop();
  }
});

test(
  `${CALLS} random requests get an answer that is no server error and shows no insides`,
  async () => {
    process.stdout.write(`mem0 fuzz: MNEME_TEST_SEED=${SEED} MNEME_TEST_FUZZ=${CALLS}\n`);
    const chance = new Chance(SEED);
    const { body: kept } = await mneme.store({
      content: "Something to find: the lamp of the harbour.",
      userId: "fuzz",
    });
    const routes = mem0Endpoints({ settled: async () => null, clock: systemClock });
    const names = [
      ...["messages", "user_id", "agent_id", "run_id", "app_id", "filters", "metadata", "infer", "timestamp", "query"],
      ...["expiration_date", "categories", "top_k", "threshold", "rerank", "fields", "text", "memories", "memory_id"],
      ...[
        "start_date",
        "end_date",
        "reference_date",
        "AND",
        "OR",
        "NOT",
        "in",
        "gte",
        "ne",
        "contains",
        "__proto__",
        "x",
      ],
    ];
    const scalar = (): unknown =>
      chance.pick<unknown>([
        ...[null, true, false, 0, 1, -1, 0.5, 1e308, "*", "fuzz", "2026-01-01", "2999-12-31", "ADD", kept.id, NOWHERE],
        chance.pick(AWKWARD_TEXTS),
        chance.pick(BROKEN_TEXTS),
      ]);
    const value = (depth: number): unknown => {
      if (depth === 0 || chance.often(0.4)) return scalar();
      const count = chance.below(4);
      if (chance.often(0.4)) return Array.from({ length: count }, () => value(depth - 1));
      return Object.fromEntries(Array.from({ length: count }, () => [chance.pick(names), value(depth - 1)]));
    };
    const sound: Record<string, unknown> = {
      messages: [{ role: "user", content: "hello" }],
      query: "lamp",
      filters: { user_id: "fuzz" },
      memories: [{ memory_id: NOWHERE, text: "x" }],
      user_id: "fuzz",
      text: "x",
    };
    const outcomes = { done: 0, refused: 0 };
    for (let at = 0; at < CALLS; at++) {
      const { method, path, takesBody } = chance.pick(routes);
      const part = () =>
        encodeURIComponent(chance.pick([kept.id, NOWHERE, "user", "agent", "fuzz", ...AWKWARD_TEXTS]) || "x");
      const query = chance.often(0.3) ? `?${chance.pick(names)}=${part()}` : "";
      const fields = chance.often(0.7)
        ? Object.fromEntries(
            Object.entries(sound).filter(([name]) =>
              path.includes("search")
                ? name === "query" || name === "filters"
                : path.includes("add")
                  ? name === "messages" || name === "user_id"
                  : path.endsWith("/v3/memories/")
                    ? name === "filters"
                    : path.includes("batch")
                      ? name === "memories"
                      : name === "text",
            ),
          )
        : {};
      const spoilt = chance.often(0.6) ? { ...fields, [chance.pick(names)]: value(3) } : fields;
      const body = !takesBody
        ? undefined
        : chance.often(0.05)
          ? value(3)
          : chance.often(0.03)
            ? '{"messages": ['
            : spoilt;
      const target = path.slice("/compat/mem0".length).replace(/:\w+/g, part) + query;
      const { status, text } = await send(method, target, body === undefined && takesBody ? null : body);
      const shown = JSON.stringify({ method, target, body, status, text: text.slice(0, 400) });
      expect(status, shown).toBeLessThan(500);
      if (status >= 400) {
        expect(text, shown).not.toMatch(INSIDES);
        outcomes.refused += 1;
      } else outcomes.done += 1;
    }
    process.stdout.write(`mem0 fuzz: ${JSON.stringify(outcomes)}\n`);
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.refused).toBeGreaterThan(0);
  },
  FUZZ_TIMEOUT_MS,
);
