// /v1/webhooks: managing webhooks, access, and allowed URLs. deliveries.test.ts tests deliveries.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  const config = { webhookAllow: AllowList.parse("10.1.2.0/24"), webhookRetriesMs: [3_600_000] };
  mneme = await startService({ countsWords: true, clock, config, waitsForModels: false });
});
afterAll(() => mneme.stop());

const EVENTS = ["memory.completed", "memory.failed", "memory.updated", "memory.deleted", "webhook.test"];
const FIELDS = ["created_at", "description", "enabled", "events", "id", "url"];
const NOWHERE = "wh_00000000000000000000000000";
/** A public URL that is never called, because no subscribed event happens in these tests. */
const URL_OK = "https://93.184.216.34/hook";
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
let projects = 0;
/**
 * Returns headers with a key of a new project. Tests use several projects, because a project can have only ten
 * webhooks.
 */
const elsewhere = () => bearer(mneme.addKey(["*"], `prj_webhooks_${projects++}`));
const create = (body: unknown, headers: Record<string, string> = elsewhere()) =>
  mneme.call("POST", "/v1/webhooks", body, headers);
const hook = (more: object = {}) => ({ url: URL_OK, events: ["memory.completed"], ...more });
const at = (method: string, id: string, headers: Record<string, string>, body?: unknown) =>
  mneme.call(method, `/v1/webhooks/${id}`, body, headers);

describe("createWebhook", () => {
  test("201: every field, and the secret under 'secret'", async () => {
    const given = { url: URL_OK, events: ["memory.failed", "memory.completed"], description: "Ops", enabled: false };
    const { status, body } = await create(given);
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([...FIELDS, "secret"].sort());
    expect(body).toMatchObject(given);
    expect(body.id).toMatch(/^wh_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.secret).toMatch(SECRET);
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("201: without description and enabled: null and true", async () => {
    for (const more of [{}, { description: null, enabled: null }]) {
      expect((await create(hook(more))).body).toMatchObject({ description: null, enabled: true });
    }
  });

  const good: readonly (readonly [what: string, more: object])[] = [
    ["every event there is", { events: EVENTS }],
    ["a description of 1,024 characters", { description: "d".repeat(1_024) }],
    ["an empty description", { description: "" }],
    ["http", { url: "http://93.184.216.34/" }],
    ["a port and a query", { url: "https://93.184.216.34:8443/a?b=c" }],
    ["a public IPv6 address", { url: "https://[2606:2800:220:1::1]/" }],
    ["an address that the operator allows", { url: "http://10.1.2.3/hook" }],
    ["2,048 characters", { url: `https://93.184.216.34/${"a".repeat(2_048 - 22)}` }],
  ];
  for (const [what, more] of good) {
    test(`201: ${what}`, async () => {
      const { status, body } = await create(hook(more));
      expect(status).toBe(201);
      expect(body).toMatchObject(more);
    });
  }

  const bad: readonly (readonly [what: string, body: unknown, param: string | undefined])[] = [
    ["no url", { events: EVENTS }, "url"],
    ["a url that is a number", hook({ url: 7 }), "url"],
    ["an empty url", hook({ url: "" }), "url"],
    ["no events", { url: URL_OK }, "events"],
    ["an empty list of events", hook({ events: [] }), "events"],
    ["an unknown event", hook({ events: ["memory.created"] }), "events[0]"],
    ["an event twice", hook({ events: ["memory.failed", "memory.failed"] }), "events"],
    ["events as text", hook({ events: "memory.failed" }), "events"],
    ["a description of 1,025 characters", hook({ description: "d".repeat(1_025) }), "description"],
    ["enabled as text", hook({ enabled: "yes" }), "enabled"],
    ["a secret of the caller's own", hook({ secret: "whsec_mine" }), "secret"],
    ["an unknown field", hook({ headers: {} }), "headers"],
  ];
  for (const [what, body, param] of bad) {
    test(`400: ${what}`, async () => expectFault(await create(body), 400, "invalid_request", param));
  }

  const unsafe = [
    ...["http://127.0.0.1/", "http://localhost/", "http://127.1/", "http://0x7f.1/", "http://2130706433/"],
    ...["http://10.1.3.1/", "http://192.168.0.1/", "http://172.16.0.1/", "http://100.64.0.1/", "http://0.0.0.0/"],
    ...["http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[fd00::1]/"],
    ...["http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://224.0.0.1/", "http://255.255.255.255/"],
    ...["ftp://93.184.216.34/", "file:///etc/passwd", "javascript:alert(1)", "//93.184.216.34/", "93.184.216.34"],
    ...["https://", "https:///hook", "https://user:pass@93.184.216.34/", "http://no-such-name.invalid/", "hook"],
    ...["http://93.184.216.34:0/", "http://93.184.216.34\\@127.0.0.1/", "http:// 93.184.216.34/"],
  ];
  for (const url of unsafe) {
    test(`400 unsafe_url: ${url}`, async () => {
      const headers = elsewhere();
      const answer = await create(hook({ url }), headers);
      expectFault(answer, 400, "unsafe_url", "url");
      expect((await mneme.call("GET", "/v1/webhooks", undefined, headers)).body.data).toEqual([]);
    });
  }

  test("the tenth is accepted, the eleventh is 400 webhook_limit_reached, and deleting one makes room", async () => {
    const headers = elsewhere();
    const made = [];
    for (let n = 0; n < 10; n++) made.push(await create(hook({ description: `number ${n}` }), headers));
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expectFault(await create(hook(), headers), 400, "webhook_limit_reached");
    expect((await walk(mneme, "/v1/webhooks", { headers })).length).toBe(10);
    expect((await create(hook())).status).toBe(201);
    expect((await at("DELETE", made[3]?.body.id, headers)).status).toBe(204);
    expect((await create(hook(), headers)).status).toBe(201);
    expectFault(await create(hook(), headers), 400, "webhook_limit_reached");
  });

  test("fifty at once: exactly ten are accepted", async () => {
    const headers = elsewhere();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(hook(), headers)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ body }) => body.error?.code === "webhook_limit_reached")).toHaveLength(40);
    expect((await walk(mneme, "/v1/webhooks", { headers })).length).toBe(10);
  });
});

describe("getWebhook and listWebhooks", () => {
  test("200: as created, without its secret, alone and in the list", async () => {
    const headers = elsewhere();
    const { secret, ...webhook } = (await create(hook({ description: "seen" }), headers)).body;
    const one = await at("GET", webhook.id, headers);
    expect([one.status, one.body]).toEqual([200, webhook]);
    const list = await mneme.call("GET", "/v1/webhooks", undefined, headers);
    expect(list.body).toEqual({ data: [webhook], has_more: false, cursor: null });
    expect(JSON.stringify([one.body, list.body])).not.toContain(secret);
  });

  test("200: newest first over all pages", async () => {
    const headers = elsewhere();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) {
      clock.advance(2);
      ids.push((await create(hook(), headers)).body.id);
    }
    const listed = await walk(mneme, "/v1/webhooks", { limit: 3, headers });
    expect(listed.map(({ id }) => id)).toEqual(ids.reverse());
  });

  test("limits of 1 and 100 are accepted; 0, 101, foreign cursors and unknown parameters are 400", async () => {
    const headers = elsewhere();
    for (let n = 0; n < 2; n++) await create(hook(), headers);
    const list = (query: string, of = headers) => mneme.call("GET", `/v1/webhooks${query}`, undefined, of);
    for (const limit of [1, 100]) expect((await list(`?limit=${limit}`)).status).toBe(200);
    for (const limit of [0, 101]) expectFault(await list(`?limit=${limit}`), 400, "invalid_request", "limit");
    const { cursor } = (await list("?limit=1")).body;
    expectFault(await list(`?cursor=${cursor}`, elsewhere()), 400, "invalid_cursor", "cursor");
    expectFault(await list("?enabled=true"), 400, "invalid_request", "enabled");
  });
});

describe("updateWebhook", () => {
  test("200: each field alone; absent fields stay; a description of null is cleared", async () => {
    const headers = elsewhere();
    const { secret: _, ...before } = (await create(hook({ description: "first" }), headers)).body;
    const changes = [
      { url: "https://93.184.216.34/other" },
      { events: ["memory.deleted", "webhook.test"] },
      { description: "second" },
      { enabled: false },
      { description: null },
      { enabled: true, events: ["memory.failed"] },
    ];
    let expected = before;
    for (const change of changes) {
      expected = { ...expected, ...change };
      const { status, body } = await at("PUT", before.id, headers, change);
      expect([status, body]).toEqual([200, expected]);
    }
    expect((await at("GET", before.id, headers)).body).toEqual(expected);
  });

  const bad: readonly (readonly [what: string, body: unknown, code: string, param: string | undefined])[] = [
    ["nothing", {}, "invalid_request", undefined],
    ["a url of null", { url: null }, "invalid_request", "url"],
    ["an unsafe url", { url: "http://127.0.0.1/" }, "unsafe_url", "url"],
    ["another scheme", { url: "gopher://93.184.216.34/" }, "unsafe_url", "url"],
    ["no events", { events: [] }, "invalid_request", "events"],
    ["enabled of null", { enabled: null }, "invalid_request", "enabled"],
    ["a secret", { secret: "whsec_x" }, "invalid_request", "secret"],
  ];
  for (const [what, body, code, param] of bad) {
    test(`400: ${what}, and the webhook stays as it was`, async () => {
      const headers = elsewhere();
      const { secret: _, ...before } = (await create(hook(), headers)).body;
      expectFault(await at("PUT", before.id, headers, body), 400, code, param);
      expect((await at("GET", before.id, headers)).body).toEqual(before);
    });
  }
});

describe("rotateWebhookSecret", () => {
  test("200: a new secret, shown only once; the rest stays", async () => {
    const headers = elsewhere();
    const { secret, ...webhook } = (await create(hook(), headers)).body;
    const { status, body } = await at("POST", `${webhook.id}/rotate-secret`, headers);
    expect(status).toBe(200);
    expect(body).toEqual({ ...webhook, secret: body.secret });
    expect(body.secret).toMatch(SECRET);
    expect(body.secret).not.toBe(secret);
    expect((await at("GET", webhook.id, headers)).body).toEqual(webhook);
  });
});

describe("deleteWebhook", () => {
  test("204, then 404", async () => {
    const headers = elsewhere();
    const { id } = (await create(hook(), headers)).body;
    const answer = await at("DELETE", id, headers);
    expect([answer.status, answer.body]).toEqual([204, null]);
    expectFault(await at("GET", id, headers), 404, "webhook_not_found", "id");
    expectFault(await at("DELETE", id, headers), 404, "webhook_not_found", "id");
    expect((await mneme.call("GET", "/v1/webhooks", undefined, headers)).body.data).toEqual([]);
  });
});

describe("access", () => {
  const each = (id: string): readonly (readonly [method: string, path: string, body?: object])[] => [
    ["GET", `/v1/webhooks/${id}`],
    ["PUT", `/v1/webhooks/${id}`, { enabled: false }],
    ["POST", `/v1/webhooks/${id}/test`],
    ["POST", `/v1/webhooks/${id}/rotate-secret`],
    ["GET", `/v1/webhooks/${id}/deliveries`],
    ["POST", `/v1/webhooks/${id}/deliveries/dlv_00000000000000000000000000/redeliver`],
    ["DELETE", `/v1/webhooks/${id}`],
  ];

  test("404 webhook_not_found: an unknown id, a malformed one, and another project's", async () => {
    const { id } = (await create(hook())).body;
    const headers = elsewhere();
    for (const unknown of [NOWHERE, "x", "mem_00000000000000000000000000", id]) {
      for (const [method, path, body] of each(unknown)) {
        expectFault(await mneme.call(method, path, body, headers), 404, "webhook_not_found", "id");
      }
    }
  });

  test("403: a key without the scope, and a confined key with any scopes", async () => {
    const project = "prj_webhooks_guarded";
    const { id } = (await create(hook(), bearer(mneme.addKey(["*"], project)))).body;
    const keys = [
      mneme.addKey(["memories:read", "memories:write", "keys", "project", "admin"], project),
      mneme.addKey(["*"], project, { userId: "ada" }),
    ];
    for (const secret of keys) {
      const collection = [["GET", "/v1/webhooks"] as const, ["POST", "/v1/webhooks", hook()] as const];
      for (const [method, path, body] of [...collection, ...each(id)]) {
        expectFault(await mneme.call(method, path, body, bearer(secret)), 403, "insufficient_scope");
      }
    }
    const only = bearer(mneme.addKey(["webhooks"], project));
    expect((await at("GET", id, only)).status).toBe(200);
  });
});

test("a secret is only in the answer that creates it, not even in a repeated one", async () => {
  const headers = { ...elsewhere(), "idempotency-key": "webhook-once" };
  const { secret, ...webhook } = (await create(hook(), headers)).body;
  const again = await create(hook(), headers);
  expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([201, webhook, "true"]);
  const answers = [
    await at("GET", webhook.id, headers),
    await at("PUT", webhook.id, headers, { description: "x" }),
    await at("POST", `${webhook.id}/rotate-secret`, headers),
    await mneme.call("GET", "/v1/webhooks", undefined, headers),
    await mneme.call("GET", `/v1/webhooks/${webhook.id}/deliveries`, undefined, headers),
  ];
  for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(secret);
});
