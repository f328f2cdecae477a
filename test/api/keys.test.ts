// /v1/keys: which scopes a key may grant, when a secret is shown, and when a key becomes invalid.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { KEY_SCOPES, type KeyScope } from "../../src/domain/scope.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { storedRows } from "../support/stored-rows.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock, waitsForModels: false });
});
afterAll(() => mneme.stop());

const FIELDS = [
  ...[
    "created_at",
    "expires_at",
    "id",
    "last_client",
    "last_used_at",
    "name",
    "projectId",
    "redacted",
    "scopes",
    "userId",
  ],
].sort();
const SECRET = /^ctx_[A-Za-z0-9_-]{43}$/;
const NOBODY = "key_00000000000000000000000000";

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const create = (body: unknown, headers?: Record<string, string>) => mneme.call("POST", "/v1/keys", body, headers);
const patch = (id: string, body: unknown, headers?: Record<string, string>) =>
  mneme.call("PATCH", `/v1/keys/${id}`, body, headers);
const rotate = (id: string, body?: unknown, headers?: Record<string, string>) =>
  mneme.call("POST", `/v1/keys/${id}/rotate`, body, headers);
const remove = (id: string, headers?: Record<string, string>) =>
  mneme.call("DELETE", `/v1/keys/${id}`, undefined, headers);
const made = async (body: Record<string, unknown> = {}): Promise<{ id: string; key: string }> =>
  (await create({ name: "made", scopes: ["users:read"], ...body })).body;
/** Returns the status of a request with this secret. It is 200 if the key has the scope users:read. */
const opens = async (secret: string) => (await mneme.call("GET", "/v1/users", undefined, bearer(secret))).status;
const inMs = (ms: number) => new Date(clock.now() + ms).toISOString();
const projectOf = async (secret: string): Promise<string> => {
  const { body } = await mneme.call("GET", "/v1/project", undefined, bearer(secret));
  return body.id;
};

describe("createKey", () => {
  test("201: every field, and the secret of 32 random bytes under 'key'", async () => {
    const { status, body } = await create({ name: "reader", scopes: ["memories:read", "users:read"] });
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([...FIELDS, "key"].sort());
    expect(body).toMatchObject({
      name: "reader",
      scopes: ["memories:read", "users:read"],
      userId: null,
      expires_at: null,
      last_used_at: null,
      last_client: null,
    });
    expect(body.id).toMatch(/^key_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.key).toMatch(SECRET);
    expect(Buffer.from(body.key.slice(4), "base64url")).toHaveLength(32);
    expect(await opens(body.key)).toBe(200);
  });

  test("'redacted' identifies the key and cannot be used as one", async () => {
    const { body } = await create({ name: "x", scopes: ["users:read"] });
    expect(body.redacted).toStartWith("ctx_");
    expect(body.redacted.length).toBeLessThanOrEqual(16);
    expect(body.key).toStartWith(body.redacted.slice(0, 6));
    expect(body.key).toEndWith(body.redacted.slice(-4));
  });

  test("secrets and ids are unique", async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => made()));
    expect(new Set(all.map(({ key }) => key)).size).toBe(50);
    expect(new Set(all.map(({ id }) => id)).size).toBe(50);
  });

  test("the store holds the SHA-256 of a secret and never the secret", async () => {
    const { key } = await made();
    const hash = createHash("sha256").update(key).digest();
    let hasHash = false;
    for (const row of [...storedRows(mneme).values()].flat()) {
      for (const value of Object.values(row)) {
        if (typeof value === "string") expect(value).not.toContain(key);
        if (value instanceof Uint8Array) {
          expect(Buffer.from(value).includes(key)).toBe(false);
          hasHash ||= Buffer.from(value).equals(hash);
        }
      }
    }
    expect(hasHash).toBe(true);
  });

  const good: readonly (readonly [what: string, body: Record<string, unknown>])[] = [
    ["each scope there is", { name: "all", scopes: KEY_SCOPES }],
    ["a name of 256 characters", { name: "n".repeat(256), scopes: ["query"] }],
    ["a user", { name: "x", scopes: ["*"], userId: "ada" }],
    ["fields of null", { name: "x", scopes: ["*"], userId: null, expires_at: null, projectId: null }],
  ];
  for (const [what, body] of good) {
    test(`201: ${what}`, async () => {
      const answer = await create(body);
      expect(answer.status).toBe(201);
      const { projectId: _project, ...shown } = body;
      expect(answer.body).toMatchObject(shown);
    });
  }

  const bad: readonly (readonly [what: string, body: unknown, param: string | undefined])[] = [
    ["no name", { scopes: ["*"] }, "name"],
    ["an empty name", { name: "", scopes: ["*"] }, "name"],
    ["a name of 257 characters", { name: "n".repeat(257), scopes: ["*"] }, "name"],
    ["no scopes", { name: "x" }, "scopes"],
    ["an empty list of scopes", { name: "x", scopes: [] }, "scopes"],
    ["an unknown scope", { name: "x", scopes: ["memories"] }, "scopes[0]"],
    ["a scope twice", { name: "x", scopes: ["query", "query"] }, "scopes"],
    ["scopes as text", { name: "x", scopes: "*" }, "scopes"],
    ["an empty user", { name: "x", scopes: ["*"], userId: "" }, "userId"],
    ["a user of 257 characters", { name: "x", scopes: ["*"], userId: "u".repeat(257) }, "userId"],
    ["an expiry that is no time", { name: "x", scopes: ["*"], expires_at: "tomorrow" }, "expires_at"],
    ["an expiry on a day that is none", { name: "x", scopes: ["*"], expires_at: "2999-02-30T00:00:00Z" }, "expires_at"],
    ["an expiry in the past", { name: "x", scopes: ["*"], expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
    ["a secret of the caller's own", { name: "x", scopes: ["*"], key: "ctx_mine" }, "key"],
    ["an unknown field", { name: "x", scopes: ["*"], expiresAt: null }, "expiresAt"],
  ];
  for (const [what, body, param] of bad) {
    test(`400: ${what}`, async () => expectFault(await create(body), 400, "invalid_request", param));
  }

  test("the message names the nearest known field", async () => {
    const { body } = await create({ name: "x", scopes: ["*"], user_id: "ada" });
    expect(body.error.message).toContain("userId");
  });

  test("401 without a key", async () => {
    expectFault(await mneme.send(new Request("http://mneme.test/v1/keys", { method: "POST" })), 401, "missing_api_key");
  });
});

describe("a key grants only scopes that it has", () => {
  const holders: readonly (readonly [held: readonly KeyScope[], grantable: readonly KeyScope[]])[] = [
    [["keys"], ["keys"]],
    [
      ["keys", "memories:read"],
      ["keys", "memories:read"],
    ],
    [
      ["keys", "query", "usage"],
      ["keys", "query", "usage"],
    ],
    [["*"], KEY_SCOPES.filter((scope) => scope !== "admin")],
    [["admin"], KEY_SCOPES],
    [["*", "admin"], KEY_SCOPES],
  ];
  for (const [held, grantable] of holders) {
    test(`a key with ${held.join(", ")} grants ${grantable.join(", ")} and nothing else`, async () => {
      const headers = bearer(mneme.addKey(held));
      for (const scope of KEY_SCOPES) {
        const answer = await create({ name: "granted", scopes: [scope] }, headers);
        if (grantable.includes(scope)) expect([scope, answer.status]).toEqual([scope, 201]);
        else expectFault(answer, 403, "insufficient_scope", "scopes");
      }
    });
  }

  test("one scope too many refuses the request, and no key is created", async () => {
    const secret = mneme.addKey(["keys", "query"], "prj_keys_greedy");
    const before = (await walk(mneme, "/v1/keys", { headers: bearer(secret) })).length;
    const answer = await create({ name: "greedy", scopes: ["query", "memories:read"] }, bearer(secret));
    expectFault(answer, 403, "insufficient_scope", "scopes");
    expect(answer.body.error.message).toContain("memories:read");
    expect((await walk(mneme, "/v1/keys", { headers: bearer(secret) })).length).toBe(before);
  });

  test("all single scopes together are not *", async () => {
    const singles = KEY_SCOPES.filter((scope) => scope !== "*" && scope !== "admin");
    const headers = bearer(mneme.addKey(singles));
    expectFault(await create({ name: "x", scopes: ["*"] }, headers), 403, "insufficient_scope", "scopes");
  });

  test("a change grants scopes too: more than one's own are refused, fewer are not", async () => {
    const weak = bearer(mneme.addKey(["keys", "users:read"]));
    const { id } = (await create({ name: "x", scopes: ["users:read", "keys"] }, weak)).body;
    expectFault(await patch(id, { scopes: ["users:write"] }, weak), 403, "insufficient_scope", "scopes");
    expect((await patch(id, { scopes: ["users:read"] }, weak)).body.scopes).toEqual(["users:read"]);
  });

  test("a weaker key cannot rotate, change or revoke a stronger one", async () => {
    const weak = bearer(mneme.addKey(["keys", "users:read"]));
    const strong = await made({ scopes: ["*"] });
    expectFault(await rotate(strong.id, undefined, weak), 403, "insufficient_scope", "scopes");
    expectFault(await patch(strong.id, { name: "mine" }, weak), 403, "insufficient_scope", "scopes");
    expectFault(await remove(strong.id, weak), 403, "insufficient_scope", "scopes");
    expect(await opens(strong.key)).toBe(200);
    const star = bearer(mneme.addKey(["*"]));
    const admin = await made({ scopes: ["admin"] });
    expectFault(await rotate(admin.id, undefined, star), 403, "insufficient_scope", "scopes");
  });

  test("403 without the scope keys", async () => {
    const without = bearer(mneme.addKey(KEY_SCOPES.filter((scope) => !["*", "admin", "keys"].includes(scope))));
    const { id } = await made();
    const attempts = [
      () => create({ name: "x", scopes: ["query"] }, without),
      () => mneme.call("GET", "/v1/keys", undefined, without),
      () => patch(id, { name: "x" }, without),
      () => rotate(id, undefined, without),
      () => remove(id, without),
    ];
    for (const attempt of attempts) expectFault(await attempt(), 403, "insufficient_scope");
  });
});

describe("confined keys", () => {
  test("are created by project-wide keys, act for their user, and may not manage keys", async () => {
    const { body } = await create({ name: "app", scopes: ["*"], userId: "ada" });
    expect(body.userId).toBe("ada");
    const own = bearer(body.key);
    const memory = await mneme.call("POST", "/v1/memories", { content: "Implied." }, own);
    expect(memory.body.userId).toBe("ada");
    const another = await mneme.call("POST", "/v1/memories", { content: "Named.", userId: "bob" }, own);
    expectFault(another, 403, "insufficient_scope", "userId");
    for (const answer of [
      await create({ name: "x", scopes: ["query"] }, own),
      await create({ name: "x", scopes: ["query"], userId: "ada" }, own),
      await mneme.call("GET", "/v1/keys", undefined, own),
      await patch(body.id, { name: "x" }, own),
      await rotate(body.id, undefined, own),
      await remove(body.id, own),
    ]) {
      expectFault(answer, 403, "insufficient_scope");
    }
  });

  test("with the scope admin may not manage keys either", async () => {
    const own = bearer(mneme.addKey(["*", "admin"], undefined, { userId: "ada" }));
    expectFault(await create({ name: "x", scopes: ["query"] }, own), 403, "insufficient_scope");
    expectFault(await mneme.call("GET", "/v1/projects", undefined, own), 403, "insufficient_scope");
  });
});

describe("expiry", () => {
  test("a key is valid until its expiry", async () => {
    const { body } = await create({ name: "short", scopes: ["users:read"], expires_at: inMs(60_000) });
    clock.advance(59_000);
    expect(await opens(body.key)).toBe(200);
    clock.advance(2_000);
    const answer = await mneme.call("GET", "/v1/users", undefined, bearer(body.key));
    expectFault(answer, 401, "invalid_api_key");
  });

  test("an expiry is shown in UTC with milliseconds, however it was written", async () => {
    const { body } = await create({ name: "x", scopes: ["query"], expires_at: "2999-06-01T12:00+02:00" });
    expect(body.expires_at).toBe("2999-06-01T10:00:00.000Z");
  });

  test("an expired key is still listed, and valid again when its expiry is removed or moved", async () => {
    const { id, key } = await made({ expires_at: inMs(1_000) });
    clock.advance(2_000);
    expect(await opens(key)).toBe(401);
    expect((await walk(mneme, "/v1/keys")).some((shown) => shown.id === id)).toBe(true);
    expect((await patch(id, { expires_at: inMs(60_000) })).status).toBe(200);
    expect(await opens(key)).toBe(200);
    expect((await patch(id, { expires_at: null })).body.expires_at).toBeNull();
    clock.advance(120_000);
    expect(await opens(key)).toBe(200);
  });

  test("400: an expiry in the past", async () => {
    const { id } = await made();
    expectFault(await patch(id, { expires_at: inMs(-1_000) }), 400, "invalid_request", "expires_at");
    expectFault(await patch(id, { expires_at: inMs(0) }), 400, "invalid_request", "expires_at");
  });
});

describe("updateKey", () => {
  test("200: name, scopes and expiry, each alone; absent fields stay unchanged", async () => {
    const { id, key } = await made();
    const before = (await patch(id, { name: "renamed" })).body;
    expect(before).toMatchObject({ name: "renamed", scopes: ["users:read"], expires_at: null });
    expect(Object.keys(before).sort()).toEqual(FIELDS);
    const scoped = (await patch(id, { scopes: ["query"] })).body;
    expect(scoped).toEqual({ ...before, scopes: ["query"] });
    expect(await opens(key)).toBe(403);
    const dated = (await patch(id, { expires_at: "2999-01-01T00:00:00Z" })).body;
    expect(dated).toMatchObject({ name: "renamed", scopes: ["query"], expires_at: "2999-01-01T00:00:00.000Z" });
  });

  const bad: readonly (readonly [what: string, body: unknown, param: string | undefined])[] = [
    ["nothing", {}, undefined],
    ["a name of null", { name: null }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["scopes of null", { scopes: null }, "scopes"],
    ["no scopes", { scopes: [] }, "scopes"],
    ["a user", { userId: "bob" }, "userId"],
    ["a secret", { key: "ctx_mine" }, "key"],
  ];
  for (const [what, body, param] of bad) {
    test(`400: ${what}`, async () => {
      const { id } = await made();
      expectFault(await patch(id, body), 400, "invalid_request", param);
    });
  }

  test("404: an unknown id, a malformed one, and another project's", async () => {
    const { id } = await made();
    for (const unknown of [NOBODY, "x", "mem_00000000000000000000000000"]) {
      expectFault(await patch(unknown, { name: "x" }), 404, "key_not_found", "id");
    }
    const other = bearer(mneme.addKey(["*"], "prj_keys_other"));
    expectFault(await patch(id, { name: "x" }, other), 404, "key_not_found", "id");
    expectFault(await rotate(id, undefined, other), 404, "key_not_found", "id");
    expectFault(await remove(id, other), 404, "key_not_found", "id");
  });
});

describe("rotateKey", () => {
  test("200: a new secret for the same id; the old one is invalid at once", async () => {
    const { id, key } = await made();
    const { status, body } = await rotate(id);
    expect([status, body.id]).toEqual([200, id]);
    expect(body.key).toMatch(SECRET);
    expect(body.key).not.toBe(key);
    expect(Object.keys(body).sort()).toEqual([...FIELDS, "key"].sort());
    expect([await opens(key), await opens(body.key)]).toEqual([401, 200]);
  });

  test("grace_seconds keeps the old secret valid for exactly that long", async () => {
    const { id, key } = await made();
    const { body } = await rotate(id, { grace_seconds: 60 });
    expect([await opens(key), await opens(body.key)]).toEqual([200, 200]);
    clock.advance(59_000);
    expect(await opens(key)).toBe(200);
    clock.advance(2_000);
    expect([await opens(key), await opens(body.key)]).toEqual([401, 200]);
  });

  test("a second rotation without grace ends all earlier secrets", async () => {
    const { id, key } = await made();
    const second = (await rotate(id, { grace_seconds: 600 })).body.key;
    const third = (await rotate(id, { grace_seconds: 0 })).body.key;
    expect([await opens(key), await opens(second), await opens(third)]).toEqual([401, 401, 200]);
  });

  test("a later rotation never extends an earlier grace period", async () => {
    const { id, key } = await made();
    await rotate(id, { grace_seconds: 10 });
    await rotate(id, { grace_seconds: 600 });
    clock.advance(11_000);
    expect(await opens(key)).toBe(401);
  });

  test("a grace period ends with the key's expiry or revocation", async () => {
    const short = await made({ expires_at: inMs(30_000) });
    await rotate(short.id, { grace_seconds: 600 });
    clock.advance(31_000);
    expect(await opens(short.key)).toBe(401);
    const ended = await made();
    const rotated = (await rotate(ended.id, { grace_seconds: 600 })).body.key;
    await remove(ended.id);
    expect([await opens(ended.key), await opens(rotated)]).toEqual([401, 401]);
  });

  test("the redacted secret changes with it", async () => {
    const { id } = await made();
    const { body } = await rotate(id);
    const { body: shown } = await patch(id, { name: "after" });
    expect(shown.redacted).toBe(body.redacted);
    expect(body.key).toEndWith(body.redacted.slice(-4));
  });

  test("a key may rotate itself", async () => {
    const { id, key } = await made({ scopes: ["keys", "users:read"] });
    const { status, body } = await rotate(id, {}, bearer(key));
    expect([status, await opens(key), await opens(body.key)]).toEqual([200, 401, 200]);
  });

  for (const grace of [-1, 1.5, "60", true]) {
    test(`400: grace_seconds of ${JSON.stringify(grace)}`, async () => {
      const { id, key } = await made();
      expectFault(await rotate(id, { grace_seconds: grace }), 400, "invalid_request", "grace_seconds");
      expect(await opens(key)).toBe(200);
    });
  }
  test("200: no body, an empty object and grace_seconds of null or 0 are the same", async () => {
    for (const body of [undefined, {}, { grace_seconds: null }, { grace_seconds: 0 }]) {
      const { id, key } = await made();
      expect((await rotate(id, body)).status).toBe(200);
      expect(await opens(key)).toBe(401);
    }
  });
  test("404 for an unknown key", async () => expectFault(await rotate(NOBODY), 404, "key_not_found", "id"));
});

describe("deleteKey", () => {
  test("204, and from then on 401; a second time 404", async () => {
    const { id, key } = await made();
    const answer = await remove(id);
    expect([answer.status, answer.body]).toEqual([204, null]);
    expectFault(await mneme.call("GET", "/v1/users", undefined, bearer(key)), 401, "invalid_api_key");
    expectFault(await remove(id), 404, "key_not_found", "id");
    expect((await walk(mneme, "/v1/keys")).some((shown) => shown.id === id)).toBe(false);
  });
});

describe("listKeys", () => {
  test("200: newest first over all pages, each with every field and no secret", async () => {
    const headers = bearer(mneme.addKey(["*"], "prj_keys_listed"));
    const made: Answered[] = [];
    for (let n = 0; n < 24; n++) {
      clock.advance(2);
      made.push(await create({ name: `key ${n}`, scopes: ["query"] }, headers));
    }
    expect((await mneme.call("GET", "/v1/keys", undefined, headers)).body.data).toHaveLength(20);
    const listed = await walk(mneme, "/v1/keys", { limit: 7, headers });
    expect(listed.slice(0, 24).map(({ id }) => id)).toEqual(made.map(({ body }) => body.id).reverse());
    expect(listed).toHaveLength(25);
    for (const key of listed) expect(Object.keys(key).sort()).toEqual(FIELDS);
    const text = JSON.stringify(listed);
    for (const { body } of made) expect(text).not.toContain(body.key);
  });

  test("last_used_at: null before the first use, then its time", async () => {
    const { id, key } = await made();
    const shown = async () => (await walk(mneme, "/v1/keys")).find((found) => found.id === id);
    expect((await shown())?.last_used_at).toBeNull();
    clock.advance(90_000);
    const before = clock.now();
    expect(await opens(key)).toBe(200);
    const used = Date.parse(String((await shown())?.last_used_at));
    expect(used).toBeGreaterThanOrEqual(before);
    expect(used).toBeLessThanOrEqual(clock.now());
  });

  test("last_client: the first product of the last User-Agent that was sent", async () => {
    const { id, key } = await made();
    const shown = async () => (await walk(mneme, "/v1/keys")).find((found) => found.id === id)?.last_client;
    expect(await shown()).toBeNull();
    const long = "a".repeat(70);
    const clients: readonly (readonly [string | null, string | null])[] = [
      [null, null],
      ["(no product)", null],
      ["mneme-python/0.3.0 httpx/0.28", "mneme-python/0.3.0"],
      [null, "mneme-python/0.3.0"],
      ["Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0", "Mozilla/5.0"],
      ["curl", "curl"],
      ["curl/ x", "curl"],
      ["claude-code/2.1.0;rm -rf", "claude-code/2.1.0"],
      [`${long}/1`, long.slice(0, 64)],
    ];
    for (const [agent, expected] of clients) {
      const headers = { ...bearer(key), ...(agent !== null && { "user-agent": agent }) };
      await mneme.call("GET", "/v1/memories", undefined, headers);
      expect([agent, await shown()]).toEqual([agent, expected]);
    }
  });

  for (const query of ["?limit=0", "?limit=101", "?limit=x"]) {
    test(`400: ${query}`, async () => {
      expectFault(await mneme.call("GET", `/v1/keys${query}`), 400, "invalid_request", "limit");
    });
  }
  test("200 for limits of 1 and 100; 400 for a foreign cursor and an unknown parameter", async () => {
    await made();
    for (const limit of [1, 100]) expect((await mneme.call("GET", `/v1/keys?limit=${limit}`)).status).toBe(200);
    const other = bearer(mneme.addKey(["*"], "prj_keys_cursor"));
    const { cursor } = (await mneme.call("GET", "/v1/keys?limit=1")).body;
    expectFault(
      await mneme.call("GET", `/v1/keys?cursor=${cursor}`, undefined, other),
      400,
      "invalid_cursor",
      "cursor",
    );
    expectFault(await mneme.call("GET", "/v1/keys?scopes=query"), 400, "invalid_request", "scopes");
  });
});

describe("getCurrentKey", () => {
  const current = (key: string) => mneme.call("GET", "/v1/keys/current", undefined, bearer(key));

  test("200: the key of the request with its project, and no secret", async () => {
    const { id, key } = await made({ name: "own", scopes: ["query"], expires_at: inMs(60_000) });
    const { status, body } = await current(key);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([...FIELDS, "allowed_scopes", "project"].sort());
    const { body: project } = await mneme.call("GET", "/v1/project");
    expect(body).toMatchObject({ id, name: "own", scopes: ["query"], allowed_scopes: ["query"], userId: null });
    expect(body.project).toEqual({ id: project.id, name: project.name, plan: project.plan });
    expect(Date.parse(body.expires_at)).toBeGreaterThan(clock.now());
    expect(JSON.stringify(body)).not.toContain(key);
  });

  test("allowed_scopes: what scopes include counts", async () => {
    const all = KEY_SCOPES.filter((scope) => scope !== "*" && scope !== "admin");
    for (const [scopes, allowed] of [
      [["memories:read"], ["memories:read"]],
      [["*"], all],
      [["admin"], ["keys", "project", "admin"]],
      [
        ["*", "admin"],
        [...all, "admin"],
      ],
      [
        ["usage", "query"],
        ["query", "usage"],
      ],
    ] as const) {
      const { key } = await made({ scopes });
      expect([scopes, (await current(key)).body.allowed_scopes]).toEqual([scopes, allowed]);
    }
  });

  test("a key with any one scope may ask, also a confined one, and sees itself only", async () => {
    for (const scope of KEY_SCOPES) {
      for (const userId of [null, "ada"]) {
        const { id, key } = await made({ scopes: [scope], userId });
        const { status, body } = await current(key);
        expect([scope, status, body.id, body.userId]).toEqual([scope, 200, id, userId]);
      }
    }
  });

  test("it counts as a use; after a change it says what holds now, and 401 once the key is revoked", async () => {
    const { id, key } = await made();
    clock.advance(90_000);
    const before = clock.now();
    expect((await current(key)).status).toBe(200);
    expect(Date.parse((await current(key)).body.last_used_at)).toBeGreaterThanOrEqual(before);
    await patch(id, { name: "renamed", scopes: ["query", "usage"] });
    expect((await current(key)).body).toMatchObject({ name: "renamed", allowed_scopes: ["query", "usage"] });
    await remove(id);
    expectFault(await current(key), 401, "invalid_api_key");
    const unkeyed = new Request("http://mneme.test/v1/keys/current");
    expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  });

  test("the key in another project names that project; unknown parameters are refused", async () => {
    const inside = mneme.addKey(["users:read"], "prj_00000000000000000000000k03");
    expect((await current(inside)).body.project.id).toBe("prj_00000000000000000000000k03");
    const asked = await mneme.call("GET", "/v1/keys/current?projectId=prj_x");
    expectFault(asked, 400, "invalid_request", "projectId");
  });
});

describe("projectId", () => {
  test("an admin creates, lists, changes, rotates and revokes keys of any project", async () => {
    const inside = mneme.addKey(["*"], "prj_00000000000000000000000k01");
    const project = await projectOf(inside);
    const { status, body } = await create({ name: "sent in", scopes: ["users:read"], projectId: project });
    expect([status, body.projectId]).toEqual([201, project]);
    await mneme.call("POST", "/v1/users", { id: "inhabitant" }, bearer(inside));
    const seen = await mneme.call("GET", "/v1/users", undefined, bearer(body.key));
    expect(seen.body.data.map(({ id }: { id: string }) => id)).toEqual(["inhabitant"]);

    const listed = await walk(mneme, `/v1/keys?projectId=${project}`);
    expect(listed.map(({ id }) => id)).toContain(body.id);
    expect((await walk(mneme, "/v1/keys")).map(({ id }) => id)).not.toContain(body.id);
    expectFault(await patch(body.id, { name: "x" }), 404, "key_not_found", "id");
    expect((await patch(`${body.id}?projectId=${project}`, { name: "renamed" })).body.name).toBe("renamed");
    expectFault(await rotate(body.id), 404, "key_not_found", "id");
    const second = await mneme.call("POST", `/v1/keys/${body.id}/rotate?projectId=${project}`);
    expect([second.status, await opens(body.key), await opens(second.body.key)]).toEqual([200, 401, 200]);
    expect((await remove(`${body.id}?projectId=${project}`)).status).toBe(204);
    expect(await opens(second.body.key)).toBe(401);
  });

  test("403 for every other key, even for unknown projects; its own project is allowed", async () => {
    const star = bearer(mneme.addKey(["*"]));
    const own = await projectOf(mneme.addKey(["*"]));
    const project = await projectOf(mneme.addKey(["*"], "prj_00000000000000000000000k02"));
    const body = { name: "x", scopes: ["query"] };
    expectFault(await create({ ...body, projectId: project }, star), 403, "insufficient_scope", "projectId");
    const unknown = "prj_00000000000000000000000000";
    expectFault(await create({ ...body, projectId: unknown }, star), 403, "insufficient_scope", "projectId");
    const listed = await mneme.call("GET", `/v1/keys?projectId=${project}`, undefined, star);
    expectFault(listed, 403, "insufficient_scope", "projectId");
    expect((await create({ ...body, projectId: own }, star)).status).toBe(201);
  });

  test("404 project_not_found for an admin with an unknown or malformed id", async () => {
    for (const projectId of ["prj_00000000000000000000000000", "x", "default"]) {
      expectFault(await create({ name: "x", scopes: ["*"], projectId }), 404, "project_not_found", "projectId");
      expectFault(await mneme.call("GET", `/v1/keys?projectId=${projectId}`), 404, "project_not_found", "projectId");
    }
  });
});

describe("secrets are shown once", () => {
  test("in no later answer of any operation", async () => {
    const created = await create({ name: "secret", scopes: ["keys", "users:read"] }, { "idempotency-key": "once" });
    const { id, key } = created.body;
    const replayed = await create({ name: "secret", scopes: ["keys", "users:read"] }, { "idempotency-key": "once" });
    expect(replayed.status).toBe(201);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.body).toEqual({ ...created.body, key: undefined });
    const answers = [
      replayed,
      await mneme.call("GET", "/v1/keys?limit=100"),
      await patch(id, { name: "still secret" }),
      await mneme.call("GET", "/v1/users", undefined, bearer(key)),
      await mneme.call("GET", "/v1/nothing", undefined, bearer(key)),
      await create({ name: "x", scopes: ["query"] }, bearer(key)),
    ];
    for (const { body, headers } of answers) {
      expect(JSON.stringify(body)).not.toContain(key);
      expect(JSON.stringify([...headers])).not.toContain(key);
    }
    expect(await opens(key)).toBe(200);
  });

  test("the operator's own key is listed like any other, without its secret", async () => {
    const text = JSON.stringify(await walk(mneme, "/v1/keys"));
    expect(text).not.toContain(TEST_KEY);
    expect(text).toContain('"admin"');
  });
});
