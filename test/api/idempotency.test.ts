// Idempotency-Key on every operation that supports it: a repeated request gets the first answer and runs once; a
// different request with the same key is refused.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { EventReader, expectWholeAnswer } from "../support/event-stream.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { markFailed } from "../support/unfinished.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const PARAM = "Idempotency-Key";
const clock = new SettableClock();
// webhook deliveries do not arrive; the tests count those that were created
const config = { webhookAllow: AllowList.parse("127.0.0.1"), webhookRetriesMs: [3_600_000] };
let mneme: TestService;
/** A webhook with a delivery and two chats, for operations that need them. */
const things = { webhook: "", delivery: "", chat: "", chats: ["", ""] };
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock, config });
  const made = await mneme.call("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["memory.failed"] });
  things.webhook = made.body.id;
  things.delivery = (await mneme.call("POST", `/v1/webhooks/${things.webhook}/test`)).body.id;
  for (const at of [0, 1]) things.chats[at] = (await mneme.call("POST", "/v1/chats", { title: `chat ${at}` })).body.id;
  things.chat = things.chats[0] ?? "";
  await mneme.store({ content: "The spare key lies under the blue pot." });
});
afterAll(() => mneme.stop());

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
let keys = 0;
/** Creates headers with an idempotency key that no other test uses. */
const fresh = () => ({ "idempotency-key": `key-${keys++}` });
const isReplay = ({ headers }: Answered) => headers.get("idempotent-replayed");
const post = (path: string, body: unknown, headers: Record<string, string>) => mneme.call("POST", path, body, headers);

/** An operation that supports the header and takes a JSON body. */
interface Case {
  readonly path: () => string;
  /** Returns a body that creates a new resource; `mark` makes the bodies of different tests different. */
  readonly body: (mark: string) => Record<string, unknown>;
  readonly status: number;
  /** Fields that the first answer has and its repetitions lack. */
  readonly secrets?: readonly string[];
  /** Counts the existing resources that the operation created with this mark. */
  readonly count: (mark: string) => Promise<number>;
}

const countIn = async (path: string, field: string, mark: string) =>
  (await walk(mneme, path)).filter((item) => JSON.stringify(item[field] ?? null).includes(mark)).length;

const CASES: Readonly<Record<string, Case>> = {
  createMemory: {
    path: () => "/v1/memories",
    body: (mark) => ({ content: `Memory ${mark}.`, title: mark, metadata: { b: 1, a: [1, 2] } }),
    status: 202,
    count: (mark) => countIn("/v1/memories", "title", mark),
  },
  batchCreate: {
    path: () => "/v1/memories/batch",
    body: (mark) => ({ memories: [{ content: `Batched ${mark}.`, title: mark }, { content: " " }] }),
    status: 202,
    count: (mark) => countIn("/v1/memories", "title", mark),
  },
  createChat: {
    path: () => "/v1/chats",
    body: (mark) => ({ title: mark, userId: "ada" }),
    status: 201,
    count: (mark) => countIn("/v1/chats", "title", mark),
  },
  sendMessage: {
    path: () => `/v1/chats/${things.chat}/messages`,
    body: (mark) => ({ message: `Where is ${mark}?`, mode: "fast" }),
    status: 200,
    count: (mark) => countIn(`/v1/chats/${things.chat}/messages`, "content", `Where is ${mark}?`),
  },
  upsertUser: {
    path: () => "/v1/users",
    body: (mark) => ({ id: `user-${mark}`, name: mark, metadata: { a: 1, b: 2 } }),
    status: 200,
    count: (mark) => countIn("/v1/users", "id", `user-${mark}`),
  },
  createEvent: {
    path: () => "/v1/users/ada/events",
    body: (mark) => ({ type: mark, data: { x: 1, y: 2 } }),
    status: 201,
    count: (mark) => countIn("/v1/users/ada/events", "type", mark),
  },
  createKey: {
    path: () => "/v1/keys",
    body: (mark) => ({ name: mark, scopes: ["query"] }),
    status: 201,
    secrets: ["key"],
    count: (mark) => countIn("/v1/keys", "name", mark),
  },
  createProject: {
    path: () => "/v1/projects",
    body: (mark) => ({ name: mark, llm: { api_key: "sk-of-the-request", model: "m" } }),
    status: 201,
    secrets: ["key"],
    count: (mark) => countIn("/v1/projects", "name", mark),
  },
  createWebhook: {
    path: () => "/v1/webhooks",
    body: (mark) => ({ url: `http://127.0.0.1:9/${mark}`, events: ["memory.failed"], enabled: false }),
    status: 201,
    secrets: ["secret"],
    count: (mark) => countIn("/v1/webhooks", "url", `/${mark}`),
  },
};

/** Deletes webhooks, because a project can have only a few. */
async function dropWebhooks(): Promise<void> {
  for (const { id } of await walk(mneme, "/v1/webhooks")) {
    if (id !== things.webhook) await mneme.call("DELETE", `/v1/webhooks/${id}`);
  }
}

/** Returns the same value with the members of each object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  );
}

for (const [name, { path, body, status, secrets = [], count }] of Object.entries(CASES)) {
  describe(name, () => {
    const mark = (of: string) => `${name}-${of}-${keys}`;

    test("the same request again: the same answer without one-time secrets, and nothing is created twice", async () => {
      const marked = mark("same");
      const headers = fresh();
      const first = await post(path(), body(marked), headers);
      expect([first.status, isReplay(first)]).toEqual([status, null]);
      for (const secret of secrets) expect(first.body[secret]).toBeString();
      const shown = { ...first.body };
      for (const secret of secrets) delete shown[secret];
      for (let round = 0; round < 3; round++) {
        const again = await post(path(), body(marked), headers);
        expect([again.status, isReplay(again), again.body]).toEqual([status, "true", shown]);
      }
      expect(await count(marked)).toBe(1);
      await dropWebhooks();
    });

    test("bodies are compared by value: the order of fields and white space do not matter", async () => {
      const marked = mark("value");
      const headers = fresh();
      const first = await post(path(), body(marked), headers);
      const written = [JSON.stringify(reversed(body(marked))), JSON.stringify(body(marked), null, 4)];
      for (const text of written) {
        const again = await post(path(), text, headers);
        expect([again.status, isReplay(again)]).toEqual([first.status, "true"]);
      }
      expect(await count(marked)).toBe(1);
      await dropWebhooks();
    });

    test("409 for another body with the key, and nothing is created", async () => {
      const [one, two] = [mark("one"), mark("two")];
      const headers = fresh();
      expect((await post(path(), body(one), headers)).status).toBe(status);
      expectFault(await post(path(), body(two), headers), 409, "idempotency_conflict", PARAM);
      expect(await count(two)).toBe(0);
      expect(isReplay(await post(path(), body(one), headers))).toBe("true");
      await dropWebhooks();
    });

    test("a refused request is not remembered: the corrected one runs", async () => {
      const marked = mark("mended");
      const headers = fresh();
      const wrong = { ...body(marked), unknown: true };
      expectFault(await post(path(), wrong, headers), 400, "invalid_request", "unknown");
      const mended = await post(path(), body(marked), headers);
      expect([mended.status, isReplay(mended)]).toEqual([status, null]);
      await dropWebhooks();
    });

    test("without a key, or with another one, it runs each time", async () => {
      const marked = mark("each");
      const answers = [
        await post(path(), body(marked), {}),
        await post(path(), body(marked), {}),
        await post(path(), body(marked), fresh()),
        await post(path(), body(marked), fresh()),
      ];
      expect(answers.map(isReplay)).toEqual([null, null, null, null]);
      expect(answers.map((answer) => answer.status)).toEqual(Array(4).fill(status));
      expect(await count(marked)).toBe(name === "upsertUser" ? 1 : 4);
      await dropWebhooks();
    });
  });
}

describe("operations without a body", () => {
  const failed = async (): Promise<string> => {
    const { id } = (await mneme.call("POST", "/v1/memories", { content: "Fails at first." })).body;
    await markFailed(mneme, id);
    return id;
  };
  const cases: Readonly<Record<string, () => Promise<readonly [path: string, other: string]>>> = {
    retryMemory: async () => [`/v1/memories/${await failed()}/retry`, `/v1/memories/${await failed()}/retry`],
    testWebhook: async () => {
      const other = await post("/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["memory.failed"] }, {});
      return [`/v1/webhooks/${things.webhook}/test`, `/v1/webhooks/${other.body.id}/test`];
    },
    redeliver: async () => {
      const other = await post(`/v1/webhooks/${things.webhook}/test`, undefined, {});
      const deliveries = `/v1/webhooks/${things.webhook}/deliveries`;
      return [`${deliveries}/${things.delivery}/redeliver`, `${deliveries}/${other.body.id}/redeliver`];
    },
  };
  for (const [name, paths] of Object.entries(cases)) {
    test(`${name}: the same answer again, 409 for another resource with the key`, async () => {
      const [path, other] = await paths();
      const headers = fresh();
      const first = await post(path, undefined, headers);
      expect([first.status, isReplay(first)]).toEqual([202, null]);
      const again = await post(path, undefined, headers);
      expect([again.status, isReplay(again), again.body.id]).toEqual([202, "true", first.body.id]);
      expectFault(await post(other, undefined, headers), 409, "idempotency_conflict", PARAM);
      await dropWebhooks();
    });
  }

  test("testWebhook: a repetition creates no second delivery", async () => {
    const made = await post("/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["memory.failed"] }, {});
    const headers = fresh();
    for (let round = 0; round < 3; round++) await post(`/v1/webhooks/${made.body.id}/test`, undefined, headers);
    expect(await walk(mneme, `/v1/webhooks/${made.body.id}/deliveries`)).toHaveLength(1);
    await dropWebhooks();
  });
});

describe("uploadMemory", () => {
  const upload = (
    headers: Record<string, string>,
    fields: Record<string, string> = {},
    filename = "notes.txt",
    text = "Notes of the day.",
  ) =>
    mneme.send(
      formRequest("http://mneme.test/v1/memories/upload", fileForm(filename, text, fields), {
        headers: { ...bearer(TEST_KEY), ...headers },
      }),
    );

  test("the same fields and file again: the same answer, stored once", async () => {
    const headers = fresh();
    const first = await upload(headers, { title: "uploaded once" });
    expect([first.status, isReplay(first)]).toEqual([202, null]);
    const again = await upload(headers, { title: "uploaded once" });
    expect([again.status, isReplay(again), again.body.id]).toEqual([202, "true", first.body.id]);
    expect(await countIn("/v1/memories", "title", "uploaded once")).toBe(1);
  });

  test("409 for another field, another content and another file name", async () => {
    const headers = fresh();
    expect((await upload(headers, { title: "x" })).status).toBe(202);
    for (const other of [
      await upload(headers, { title: "y" }),
      await upload(headers, { title: "x" }, "notes.txt", "Notes of another day."),
      await upload(headers, { title: "x" }, "other.txt"),
      await upload(headers),
    ]) {
      expectFault(other, 409, "idempotency_conflict", PARAM);
    }
  });
});

describe("a request that is still running", () => {
  test("409 while a message is being answered, the same answer afterwards, answered once", async () => {
    const headers = fresh();
    const body = { message: "What lies under the blue pot?", mode: "balanced" };
    const path = `/v1/chats/${things.chats[1]}/messages`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(path, body, headers)));
    const done = answers.filter(({ status }) => status === 200);
    expect(done).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectFault(answer, 409, "idempotency_conflict", PARAM);
    }
    const again = await post(path, body, headers);
    expect([again.status, isReplay(again), again.body]).toEqual([200, "true", done[0]?.body]);
    expect(await countIn(path, "content", body.message)).toBe(1);
  });

  test("many parallel requests: created once; each gets the answer or 409", async () => {
    const headers = fresh();
    const body = { content: "Sent by fifty at once.", title: "fifty at once" };
    const answers = await Promise.all(Array.from({ length: 50 }, () => post("/v1/memories", body, headers)));
    expect(await countIn("/v1/memories", "title", "fifty at once")).toBe(1);
    const ids = new Set(answers.filter(({ status }) => status === 202).map((answer) => answer.body.id));
    expect(ids.size).toBe(1);
    expect(answers.filter((answer) => answer.status === 202 && isReplay(answer) === null)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 202)) {
      expectFault(answer, 409, "idempotency_conflict", PARAM);
    }
  });
});

describe("streamMessage", () => {
  const body = { message: "Where does the spare key lie?", mode: "fast" };
  const open = (chat: string, sent: object, headers: Record<string, string>, signal?: AbortSignal) =>
    mneme.service.handle(
      new Request(`http://mneme.test/v1/chats/${chat}/messages/stream`, {
        method: "POST",
        headers: { ...bearer(TEST_KEY), "content-type": "application/json", ...headers },
        body: JSON.stringify(sent),
        ...(signal !== undefined && { signal }),
      }),
    );
  const refusal = async (response: Response) => {
    const { error } = (await response.json()) as { readonly error: { readonly code: string } };
    return [response.status, error.code];
  };
  const newChat = async () => (await mneme.call("POST", "/v1/chats", {})).body.id as string;

  test("is replayed as the complete answer: the whole text, the same sources, answered once", async () => {
    const chat = await newChat();
    const headers = fresh();
    const first = await open(chat, body, headers);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const said = expectWholeAnswer(await new EventReader(first).rest());
    const again = await open(chat, body, headers);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    const events = await new EventReader(again).rest();
    expect(events.map(({ name }) => name)).toEqual(["text", "sources", "usage", "done"]);
    const repeated = expectWholeAnswer(events);
    expect([repeated.answer, repeated.sources]).toEqual([said.answer, said.sources]);
    expect((await mneme.call("GET", `/v1/chats/${chat}/messages`)).body.data).toHaveLength(2);
  });

  test("409 while the first stream is being read, and for another body", async () => {
    const chat = await newChat();
    const headers = fresh();
    const reader = new EventReader(await open(chat, body, headers));
    await reader.next();
    const meanwhile = await open(chat, body, headers);
    expect(await refusal(meanwhile)).toEqual([409, "idempotency_conflict"]);
    await reader.rest();
    const other = await open(chat, { ...body, message: "Another question?" }, headers);
    expect(await refusal(other)).toEqual([409, "idempotency_conflict"]);
    expect((await open(chat, body, headers)).headers.get("idempotent-replayed")).toBe("true");
  });

  test("the key of an abandoned stream can be used again", async () => {
    const chat = await newChat();
    const headers = fresh();
    const leaving = new AbortController();
    await new EventReader(await open(chat, body, headers, leaving.signal)).next();
    leaving.abort();
    const second = await until("the first has ended", async () => {
      const answer = await open(chat, body, headers);
      return answer.status === 409 ? null : answer;
    });
    expectWholeAnswer(await new EventReader(second).rest());
  });

  test("its keys are separate from those of sendMessage", async () => {
    const chat = await newChat();
    const headers = fresh();
    expectWholeAnswer(await new EventReader(await open(chat, body, headers)).rest());
    const sent = await post(`/v1/chats/${chat}/messages`, body, headers);
    expect([sent.status, isReplay(sent)]).toEqual([200, null]);
  });
});

describe("keys are separate", () => {
  const body = { title: "scoped" };

  test("per route: the same key on another operation is another request", async () => {
    const headers = fresh();
    expect(isReplay(await post("/v1/chats", body, headers))).toBeNull();
    expect(isReplay(await post("/v1/users", { id: "route" }, headers))).toBeNull();
    expect(isReplay(await post("/v1/users/route/events", { type: "x" }, headers))).toBeNull();
    expectFault(await post("/v1/users/other/events", { type: "x" }, headers), 409, "idempotency_conflict", PARAM);
    expect((await mneme.call("GET", "/v1/users/other")).status).toBe(404);
  });

  test("per project: shared by its API keys, and by no others", async () => {
    const headers = fresh();
    const [one, same] = [mneme.addKey(["*"], "prj_idem_one"), mneme.addKey(["chats:write"], "prj_idem_one")];
    const other = mneme.addKey(["*"], "prj_idem_two");
    const first = await post("/v1/chats", body, { ...headers, ...bearer(one) });
    const again = await post("/v1/chats", body, { ...headers, ...bearer(same) });
    expect([again.body.id, isReplay(again)]).toEqual([first.body.id, "true"]);
    const elsewhere = await post("/v1/chats", body, { ...headers, ...bearer(other) });
    expect(isReplay(elsewhere)).toBeNull();
    expect(elsewhere.body.id).not.toBe(first.body.id);
  });

  test("per confined user: neither another user's answer nor the project's is ever replayed", async () => {
    const headers = fresh();
    const project = "prj_idem_confined";
    const keysOf = {
      project: mneme.addKey(["*"], project),
      ada: mneme.addKey(["*"], project, { userId: "ada" }),
      bob: mneme.addKey(["*"], project, { userId: "bob" }),
      adaToo: mneme.addKey(["*"], project, { userId: "ada" }),
    };
    const send = (secret: string) => post("/v1/chats", body, { ...headers, ...bearer(secret) });
    const [all, ada, bob] = [await send(keysOf.project), await send(keysOf.ada), await send(keysOf.bob)];
    expect([all, ada, bob].map(isReplay)).toEqual([null, null, null]);
    expect([all, ada, bob].map((answer) => answer.body.userId)).toEqual([null, "ada", "bob"]);
    const again = await send(keysOf.adaToo);
    expect([again.body.id, isReplay(again)]).toEqual([ada.body.id, "true"]);
  });

  test("a repetition requires the scope, like the first request", async () => {
    const headers = fresh();
    const project = "prj_idem_scopes";
    await post("/v1/chats", body, { ...headers, ...bearer(mneme.addKey(["*"], project)) });
    const weak = bearer(mneme.addKey(["chats:read"], project));
    expectFault(await post("/v1/chats", body, { ...headers, ...weak }), 403, "insufficient_scope");
  });
});

describe("the header", () => {
  for (const key of ["a", "a".repeat(256), "5f7c2f1e-0d1c-4f8a-9a55-6b6f9f2d9c11", "!#$%&'*+-.^_`|~:/"]) {
    test(`${key.slice(0, 40)} is accepted`, async () => {
      const first = await post("/v1/chats", { title: "header" }, { "idempotency-key": key });
      expect(first.status).toBe(201);
      expect((await post("/v1/chats", { title: "header" }, { "idempotency-key": key })).body).toEqual(first.body);
    });
  }
  for (const key of ["", "a b", "a".repeat(257), "schlüssel", "a\tb"]) {
    test(`400: ${JSON.stringify(key.slice(0, 40))}`, async () => {
      const answer = await post("/v1/chats", { title: "header" }, { "idempotency-key": key });
      expectFault(answer, 400, "invalid_request", PARAM);
    });
  }

  test("operations that create nothing ignore it", async () => {
    const headers = fresh();
    const { id } = (await post("/v1/keys", { name: "rotated", scopes: ["query"] }, {})).body;
    const rotations = [
      await post(`/v1/keys/${id}/rotate`, undefined, headers),
      await post(`/v1/keys/${id}/rotate`, undefined, headers),
    ];
    expect(rotations.map(isReplay)).toEqual([null, null]);
    expect(rotations[0]?.body.key).not.toBe(rotations[1]?.body.key);
    for (const query of ["spare key", "blue pot"]) {
      expect((await post("/v1/memories/search", { query }, headers)).status).toBe(200);
    }
  });
});

describe("what is remembered", () => {
  test("nothing of a request that a quota refused: it runs when there is room", async () => {
    const { body: project } = await post("/v1/projects", { name: "small", plan: "free" }, {});
    const of = bearer(project.key);
    await post("/v1/memories/batch", { memories: Array.from({ length: 10 }, (_, n) => ({ content: `${n}` })) }, of);
    const headers = { ...of, ...fresh() };
    expectFault(await post("/v1/memories", { content: "late" }, headers), 429, "document_quota_exceeded");
    await mneme.call("PUT", `/v1/projects/${project.id}`, { plan: "starter" });
    const late = await post("/v1/memories", { content: "late" }, headers);
    expect([late.status, isReplay(late)]).toEqual([202, null]);
  });

  test("nothing of a 404", async () => {
    const headers = fresh();
    const path = `/v1/memories/mem_00000000000000000000000000/retry`;
    for (let round = 0; round < 2; round++) {
      expectFault(await post(path, undefined, headers), 404, "memory_not_found", "id");
    }
  });

  test("no text of a purged memory, and nothing of a user that was deleted with cascade", async () => {
    const purged = fresh();
    const content = { content: "Purged for good.", userId: "purged" };
    const first = await post("/v1/memories", content, purged);
    await mneme.call("DELETE", `/v1/memories/${first.body.id}?purge=true`);
    // repeating the request later does not restore the memory
    expectFault(await post("/v1/memories", content, purged), 409, "idempotency_conflict", "Idempotency-Key");
    expect((await mneme.call("GET", "/v1/memories?userId=purged")).body.data).toEqual([]);

    const cascaded = fresh();
    await post("/v1/users", { id: "cascaded", name: "Private" }, cascaded);
    await mneme.call("DELETE", "/v1/users/cascaded?cascade=true");
    const again = await post("/v1/users", { id: "cascaded", name: "Private" }, cascaded);
    expectFault(again, 409, "idempotency_conflict", "Idempotency-Key");
    expectFault(await mneme.call("GET", "/v1/users/cascaded"), 404, "user_not_found", "userId");
  });

  test("a repeated message does not show sources that were deleted since", async () => {
    const { body: memory } = await mneme.store({ content: "The heirloom ring is in the violin case." });
    const chat = (await mneme.call("POST", "/v1/chats", {})).body.id;
    const headers = fresh();
    const body = { message: "Where is the heirloom ring?", mode: "fast" };
    const first = await post(`/v1/chats/${chat}/messages`, body, headers);
    expect(JSON.stringify(first.body.message.sources)).toContain(memory.id);
    await mneme.call("DELETE", `/v1/memories/${memory.id}`);
    const again = await post(`/v1/chats/${chat}/messages`, body, headers);
    expect([again.body.message.id, isReplay(again)]).toEqual([first.body.message.id, "true"]);
    expect(JSON.stringify(again.body.message.sources)).not.toContain(memory.id);
  });

  test("for 24 hours: the first answer until then, a new request afterwards", async () => {
    const headers = fresh();
    const body = { title: "a day" };
    const first = await post("/v1/chats", body, headers);
    clock.advance(DAY_MS - 60_000);
    expect((await post("/v1/chats", body, headers)).body.id).toBe(first.body.id);
    clock.advance(61_000);
    const next = await post("/v1/chats", body, headers);
    expect([next.status, isReplay(next)]).toEqual([201, null]);
    expect(next.body.id).not.toBe(first.body.id);
    expect((await post("/v1/chats", body, headers)).body.id).toBe(next.body.id);
  });

  test("across a restart", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "mneme-idem-"));
    try {
      const headers = fresh();
      const before = await startService({ countsWords: true, dataDir, waitsForModels: false });
      const first = await before.call("POST", "/v1/chats", { title: "restarted" }, headers);
      await before.stop();
      const after = await startService({ countsWords: true, dataDir, waitsForModels: false });
      try {
        const again = await after.call("POST", "/v1/chats", { title: "restarted" }, headers);
        expect([again.status, again.body, isReplay(again)]).toEqual([201, first.body, "true"]);
        const other = await after.call("POST", "/v1/chats", { title: "another" }, headers);
        expectFault(other, 409, "idempotency_conflict", PARAM);
      } finally {
        await after.stop();
      }
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
