// Requests with an Idempotency-Key: fingerprints of requests, the set of running requests, and whole requests on
// SQLite.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type Begun,
  checkIdempotencyKey,
  fingerprintOf,
  Idempotency,
  InFlight,
  type Once,
  type Outcome,
  subjectsOf,
} from "../../src/account/idempotency.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Json } from "../../src/domain/json.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { IdempotencySlot, IdempotencyStore } from "../../src/ports/idempotency-store.ts";
import { userSubject } from "../../src/ports/idempotency-store.ts";
import type { Transaction } from "../../src/ports/transactions.ts";
import type { UserStore } from "../../src/ports/user-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores, openStores, type SqliteStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { seeded } from "../support/seeded.ts";

const PIECE_UNITS = 64 * 1024;

describe("a fingerprint", () => {
  const hex = (value: unknown) => Buffer.from(fingerprintOf(value)).toString("hex");

  test("does not depend on the order of keys, the notation of numbers or absent members", () => {
    const [one, other] = [
      '{"a": 1.0, "b": {"x": [1, 2], "y": 1e2}, "c": -0, "__proto__": 1}',
      '{"__proto__":1,"c":0,"b":{"y":100,"x":[1,2]},"a":1}',
    ].map((text) => hex(JSON.parse(text)));
    expect(one).toBe(other as string);
    expect(hex({ a: undefined, b: 1 })).toBe(hex({ b: 1 }));
    expect(hex(Object.assign(Object.create(null), { a: 1 }))).toBe(hex({ a: 1 }));
  });

  test("differs for different values", () => {
    const values: readonly unknown[] = [
      null,
      true,
      false,
      0,
      1,
      -1,
      "",
      "0",
      "null",
      "a",
      "A",
      "é",
      "e\u0301",
      [],
      [[]],
      [null],
      [0],
      ["0"],
      [1, 2],
      [2, 1],
      [[1], 2],
      [12],
      ["a", "b"],
      ["ab"],
      ["a,b"],
      ['a",1:b'],
      ['"1:a'],
      {},
      { a: null },
      { a: {} },
      { a: [] },
      { a: "" },
      { "": "a" },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      { ab: 12 },
      { a: { b: 1 } },
      { a: 1.5 },
      JSON.parse('{"__proto__": 1}'),
      "x".repeat(PIECE_UNITS),
      "x".repeat(PIECE_UNITS + 1),
    ];
    expect(new Set(values.map(hex)).size).toBe(values.length);
  });

  test("depends on every character of a long text, also at the edge of a piece", () => {
    const fill = "x".repeat(PIECE_UNITS - 1);
    const texts = ["😀", "😁", "é", "xx"].flatMap((edge) => [`${fill}${edge}${fill}`, `${fill}x${edge}${fill}`]);
    expect(new Set([...texts, `${fill}😀${fill}x`].map(hex)).size).toBe(texts.length + 1);
    expect(hex(texts[0])).toBe(hex(`${fill}\u{1f600}${fill}`));
  });

  test("supports values as deep as a body may be", () => {
    const nested = (depth: number): Json =>
      depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) };
    expect(hex(nested(64))).toBe(hex(nested(64)));
    expect(hex(nested(64))).not.toBe(hex(nested(66)));
  });

  test("is refused for values that are not JSON", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1]) {
      expect(() => fingerprintOf({ value })).toThrow("this is a bug in Mneme");
    }
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_125);
  test(`is equal if and only if the values are, for random values with keys in any order (seed ${seed})`, () => {
    const random = seeded(seed);
    const integer = (below: number) => Math.floor(random() * below);
    const scalar = (): Json => [null, true, "", "a", "b", 0, 1][integer(7)] ?? null;
    const value = (depth: number): Json => {
      if (depth === 0 || integer(3) === 0) return scalar();
      if (integer(2) === 0) return Array.from({ length: integer(3) }, () => value(depth - 1));
      return Object.fromEntries(
        Array.from({ length: integer(3) }, () => [["a", "b", ""][integer(3)], value(depth - 1)]),
      );
    };
    const shuffled = (json: Json): Json => {
      if (typeof json !== "object" || json === null) return json;
      if (Array.isArray(json)) return json.map(shuffled);
      const members = Object.entries(json).map(([name, member]) => [name, shuffled(member)] as const);
      return Object.fromEntries(members.reverse());
    };
    const values = Array.from({ length: 300 }, () => value(3));
    for (const one of values) expect(hex(shuffled(one))).toBe(hex(one));
    const distinct = new Set<string>();
    const classes: Json[] = [];
    for (const one of values) {
      distinct.add(hex(one));
      if (!classes.some((other) => Bun.deepEquals(one, other, true))) classes.push(one);
    }
    expect(distinct.size).toBe(classes.length);
  });
});

describe("subjects", () => {
  const [mem, chunk, webhook] = ["mem", "chunk", "wh"].map((prefix) => `${prefix}_${"0".repeat(26)}`) as [
    string,
    string,
    string,
  ];

  test("are the ids and users in an answer, at any depth, without duplicates", () => {
    const body = {
      data: [
        { index: 0, memory: { id: mem, userId: "u", title: "id", metadata: null } },
        { index: 1, error: { code: "too_many_tags", status: 400 } },
      ],
      message: {
        id: `msg_${"0".repeat(26)}`,
        sources: [{ id: chunk, memory_id: mem, metadata: { _memory: { userId: "v" } } }],
      },
      delivery: { webhook_id: webhook },
    };
    expect([...subjectsOf(body)].sort()).toEqual(
      [mem, chunk, webhook, `msg_${"0".repeat(26)}`, "user:u", "user:v"].sort(),
    );
  });

  test("of a user is the user", () => {
    expect(subjectsOf({ id: "ada", name: "Ada" })).toEqual([userSubject("ada")]);
    expect(subjectsOf({ id: "mem_of mine" })).toEqual([userSubject("mem_of mine")]);
  });

  test("are empty for an answer without ids", () => {
    for (const body of [null, "id", 1, [], {}, { id: null, userId: null, memory_id: 3 }]) {
      expect(subjectsOf(body)).toEqual([]);
    }
  });
});

describe("an Idempotency-Key", () => {
  test("is 1 to 256 visible ASCII characters", () => {
    for (const key of ["a", "!", "~", "0b9f-{}\"'", "x".repeat(256)]) expect(checkIdempotencyKey(key)).toBe(key);
  });

  for (const key of ["", " ", "a b", "a\t", "a\n", "é", "\u007f", "\u00a0", "x".repeat(257)]) {
    test(`is refused as ${JSON.stringify(key.slice(0, 8))} of ${key.length} characters`, async () => {
      const fault = await thrownBy(() => checkIdempotencyKey(key));
      expect([fault.code, fault.param]).toEqual(["invalid_request", "Idempotency-Key"]);
    });
  }
});

test("a running request holds its key until it ends, and a second end does not release the next request's key", () => {
  const inFlight = new InFlight();
  const first = inFlight.begin("a");
  expect(inFlight.begin("a")).toBeNull();
  expect(inFlight.begin("b")).not.toBeNull();
  first?.end();
  const second = inFlight.begin("a");
  expect(second).not.toBeNull();
  first?.end();
  expect(inFlight.begin("a")).toBeNull();
});

describe("a request with an Idempotency-Key", () => {
  const project = "prj_00000000000000000000000001" as ProjectId;
  const slot: IdempotencySlot = { projectId: project, userId: null, route: "POST /v1/users", key: "k" };
  const [fingerprint, otherFingerprint] = [fingerprintOf({ body: 1 }), fingerprintOf({ body: 2 })];

  let folder: ReturnType<typeof temporaryFolder>;
  let clock: ManualClock;
  let database: SqliteDatabase;
  let stores: SqliteStores;
  let store: IdempotencyStore;
  let users: UserStore;
  let idempotency: Idempotency;

  const start = () => {
    const path = join(folder.path, "mneme.sqlite");
    stores = openStores({ path, clock, newWebhookSecret: () => "whsec_" });
    // a second connection to the same file, with which the test reads and changes rows
    database = openDatabase(path);
    ({ idempotency: store, users } = connectStores(database, database, { clock, newWebhookSecret }));
    idempotency = new Idempotency(stores.idempotency);
  };
  beforeEach(() => {
    folder = temporaryFolder();
    clock = new ManualClock();
    start();
    database
      .prepare<never, { id: string }>("INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'p', 'free', 0)")
      .run({ id: project });
  });
  afterEach(() => {
    stores.close();
    database.close();
    folder.remove();
  });

  const running = async (of = slot, print = fingerprint): Promise<Extract<Begun, { kind: "run" }>> => {
    const begun = await idempotency.begin(of, print);
    if (begun.kind === "replay") throw new Error(`replayed: ${begun.body}`);
    return begun;
  };
  /** Makes a change and remembers its answer, in one transaction. */
  const commit = <O extends Outcome>(begun: Once, work: (tx: Transaction) => O | Promise<O>): Promise<O> =>
    stores.transactions.run(async (tx) => {
      const outcome = await work(tx);
      await begun.remember(tx, outcome);
      return outcome;
    });
  /** Runs one request that adds an event for the user `u`. The number of events shows how often it ran. */
  const request = async (of = slot) => {
    const begun = await running(of);
    try {
      return await commit(begun, async (tx) => {
        const { id } = await tx.users.addEvent(of.projectId, "u", { type: "made", data: {} });
        return { status: 201, remembered: { id, userId: "u" }, secret: "shown once" };
      });
    } finally {
      begun.end();
    }
  };
  const changes = async () => (await users.events(project, "u", { limit: 100 })).items.length;
  const conflictOf = (of = slot, print = fingerprint) => thrownBy(() => idempotency.begin(of, print));

  test("runs once, and its repetition gets the remembered answer", async () => {
    const { remembered, secret } = await request();
    expect(secret).toBe("shown once");
    expect(await idempotency.begin(slot, fingerprint)).toEqual({
      kind: "replay",
      status: 201,
      body: JSON.stringify(remembered),
    });
    expect(await changes()).toBe(1);
  });

  test("is replayed after a restart", async () => {
    await request();
    database.close();
    start();
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("replay");
    expect((await conflictOf(slot, otherFingerprint)).code).toBe("idempotency_conflict");
  });

  test("is a conflict if the key was used for a different request", async () => {
    await request();
    const fault = await conflictOf(slot, otherFingerprint);
    expect([fault.code, fault.param]).toEqual(["idempotency_conflict", "Idempotency-Key"]);
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("replay");
  });

  test("is a conflict while another one with its key runs, whether equal or not, and is replayed once that one has committed", async () => {
    const first = await running();
    expect([await conflictOf(), await conflictOf(slot, otherFingerprint)].map(({ code }) => code)).toEqual([
      "idempotency_conflict",
      "idempotency_conflict",
    ]);
    await commit(first, () => ({ status: 201, remembered: {} }));
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("replay");
    first.end();
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("replay");
  });

  test("sent many times at once is run once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        try {
          const begun = await idempotency.begin(slot, fingerprint);
          if (begun.kind === "replay") return "replay";
          await Promise.resolve();
          await commit(begun, async (tx) => {
            await tx.users.addEvent(project, "u", { type: "made", data: {} });
            return { status: 201, remembered: {} };
          });
          begun.end();
          return "made";
        } catch (error) {
          return error instanceof Fault ? error.code : "another error";
        }
      }),
    );
    expect(answers.filter((answer) => answer === "made")).toHaveLength(1);
    expect(new Set(answers)).toEqual(new Set(["made", "idempotency_conflict"]));
    expect(await changes()).toBe(1);
  });

  test("that is refused while it runs leaves neither change nor answer, and can be repeated", async () => {
    const begun = await running();
    const refuse = () =>
      commit(begun, async (tx) => {
        await tx.users.addEvent(project, "u", { type: "made", data: {} });
        throw new Fault("document_quota_exceeded", "full");
      });
    expect((await thrownBy(refuse)).code).toBe("document_quota_exceeded");
    begun.end();
    expect(await changes()).toBe(0);
    expect((await request()).status).toBe(201);
  });

  test("that ends without a change is not remembered", async () => {
    (await running()).end();
    (await running(slot, otherFingerprint)).end();
    expect(await store.recall(slot)).toBeNull();
  });

  test("whose transaction is rolled back is not remembered", async () => {
    const begun = await running();
    const undone = commit(begun, (tx) => {
      tx.afterCommit(() => {
        throw new Error("never reached");
      });
      throw new Error("the disk is full");
    });
    await expect(undone).rejects.toThrow("the disk is full");
    begun.end();
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("run");
  });

  test("cannot be remembered after its end, because another one may run, nor twice", async () => {
    const begun = await running();
    begun.end();
    const late = async () => commit(begun, () => ({ status: 201, remembered: {} }));
    await expect(late()).rejects.toThrow("this is a bug in Mneme");
    const next = await running();
    begun.end();
    expect((await conflictOf()).code).toBe("idempotency_conflict");
    const change = () =>
      commit(next, async (tx) => ({
        status: 201,
        remembered: await tx.users.upsert(project, { id: "u", name: "Ada" }),
      }));
    await change();
    await users.forget(project, "u");
    await expect(change()).rejects.toThrow("repeat the request to get its response");
    expect(await users.get(project, "u")).toBeNull();
  });

  test("is remembered for 24 hours, and its key is free after that for any body", async () => {
    await request();
    clock.advance(LIMITS.idempotencyMs);
    expect((await idempotency.begin(slot, fingerprint)).kind).toBe("replay");
    clock.advance(1);
    const begun = await running(slot, otherFingerprint);
    await commit(begun, () => ({ status: 201, remembered: { second: true } }));
    begun.end();
    expect(await idempotency.begin(slot, otherFingerprint)).toMatchObject({ body: '{"second":true}' });
  });

  test("is separate from those of another project, route, key or confined user", async () => {
    const slots: readonly IdempotencySlot[] = [
      slot,
      { ...slot, userId: "u" },
      { ...slot, userId: "v" },
      { ...slot, userId: "null" },
      { ...slot, route: "POST /v1/chats" },
      { ...slot, key: "K" },
    ];
    const begun = await Promise.all(slots.map((one) => running(one)));
    for (const one of begun) one.end();
    for (const one of slots) await request(one);
    expect(await changes()).toBe(slots.length);
  });

  test("is a conflict after a subject of its answer, found in the body or listed explicitly, was erased", async () => {
    const slots = ["a", "b", "c"].map((key) => ({ ...slot, key }));
    const [byId, byUser, beside] = slots as [IdempotencySlot, IdempotencySlot, IdempotencySlot];
    const { remembered } = await request(byId);
    await store.forget(project, [remembered.id]);
    expect(await conflictOf(byId)).toMatchObject({ code: "idempotency_conflict" });
    await request(byUser);
    await store.forget(project, [userSubject("u")]);
    expect(await conflictOf(byUser)).toMatchObject({ code: "idempotency_conflict" });
    const begun = await running(beside);
    await commit(begun, () => ({ status: 201, remembered: { content: "x" }, subjects: ["chat_a"] }));
    begun.end();
    await store.forget(project, ["chat_b"]);
    expect((await idempotency.begin(beside, fingerprint)).kind).toBe("replay");
    await store.forget(project, ["chat_a"]);
    expect(await conflictOf(beside)).toMatchObject({ code: "idempotency_conflict" });
    expect(await changes()).toBe(2);
  });
});

async function thrownBy(work: () => unknown): Promise<Fault> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
