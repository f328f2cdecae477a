// PUT /v1/memories/{id}: which values change, which are extracted again, and when the memory can be found.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { DEFAULT } from "../support/shipped-models.ts";
import { markFailed, startWithoutModels } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ clock });
});
afterAll(() => mneme.stop());

const put = (id: string, body: unknown, headers?: Record<string, string>) =>
  mneme.call("PUT", `/v1/memories/${id}`, body, headers);
/** A memory without its relations, which come later and are in no other answer. */
const read = async (id: string) => {
  const { relations: _, ...memory } = (await mneme.call("GET", `/v1/memories/${id}`)).body;
  return memory;
};
const search = async (query: string, more: object): Promise<string[]> =>
  (await mneme.call("POST", "/v1/memories/search", { query, limit: 100, ...more })).body.results.map(
    (result: { content: string }) => result.content,
  );

const GIVEN = {
  content: "The tram stops at the harbour.",
  title: "Tram",
  type: "notice",
  tags: ["city", "traffic"],
  metadata: { line: 4, stops: { first: "Quay" } },
  userId: "ada",
  language: "en",
  expires_at: "2999-01-01T00:00:00.000Z",
  occurred_at: "2024-05-03T00:00:00.000Z",
};

describe("200: without new content", () => {
  test("each field alone replaces its value, and everything else stays", async () => {
    const changes = [
      { title: "Harbour tram" },
      { type: "timetable" },
      { tags: ["harbour"] },
      { tags: [] },
      { metadata: { other: true } },
      { userId: "bob" },
      { language: "pt-BR" },
      { expires_at: "2998-12-31T23:00:00.000Z" },
      { occurred_at: "0999-12-31T23:00:00.000Z" },
      { externalId: "tram-200" },
    ];
    for (const change of changes) {
      const { body: before } = await mneme.store({ ...GIVEN, externalId: `tram-${JSON.stringify(change).length}` });
      clock.advance(1_000);
      const answer = await put(before.id, change);
      expect(answer.status).toBe(200);
      const given = change.occurred_at === undefined ? {} : { occurred_at_given: change.occurred_at };
      expect(answer.body).toEqual({ ...before, ...change, ...given, updated_at: answer.body.updated_at });
      expect(answer.body.updated_at > before.updated_at).toBeTrue();
      expect(await read(before.id)).toEqual(answer.body);
      await mneme.call("DELETE", `/v1/memories/${before.id}`);
    }
  });

  test("null clears a value, and it is not extracted again while the content stays", async () => {
    const { body: before } = await mneme.store({ ...GIVEN, externalId: "cleared" });
    const cleared = {
      ...{ title: null, type: null, tags: null, language: null },
      ...{ userId: null, externalId: null, expires_at: null, occurred_at: null },
    };
    const { status, body } = await put(before.id, { ...cleared, metadata: null });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...cleared, metadata: {}, status: "completed", content: GIVEN.content });
    expect(await read(before.id)).toEqual(body);
    expect((await mneme.call("GET", "/v1/memories?userId=ada&q=tram")).body.data).toEqual([]);
  });

  test("metadata is replaced as a whole", async () => {
    const { body } = await mneme.store({ content: "x", metadata: { a: 1, b: { c: 2 } } });
    expect((await put(body.id, { metadata: { b: { d: 3 } } })).body.metadata).toEqual({ b: { d: 3 } });
    expect((await put(body.id, { metadata: {} })).body.metadata).toEqual({});
  });

  test("the memory stays searchable, and the change applies to lists, filters and scope at once", async () => {
    const { body } = await mneme.store({ content: "The kiosk sells maps.", userId: "old", type: "draft" });
    for (let round = 0; round < 10; round++) {
      const [owner, other] = round % 2 === 0 ? ["new", "old"] : ["old", "new"];
      await put(body.id, { userId: owner, type: `round-${round}`, metadata: { round }, title: `Round ${round}` });
      expect(await search("kiosk", { userId: owner, filters: { "metadata.round": round } })).toHaveLength(1);
      expect(await search("kiosk", { userId: other })).toEqual([]);
      expect(await search("kiosk", { filters: { type: `round-${round - 1}` } })).toEqual([]);
      const listed = (await mneme.call("GET", `/v1/memories?userId=${owner}&type=round-${round}`)).body.data;
      expect(listed.map((memory: { id: string }) => memory.id)).toEqual([body.id]);
    }
  });

  test("its current content does not count as new", async () => {
    const { body } = await mneme.store({ content: "The same text.", title: "Same" });
    const { status, body: again } = await put(body.id, { content: "The same text.", title: "Other" });
    expect([status, again.status, again.title]).toEqual([200, "completed", "Other"]);
  });

  test("an expiry can be set later", async () => {
    const { body } = await mneme.store({ content: "A late expiry.", userId: "late" });
    await put(body.id, { expires_at: new Date(clock.now() + 60_000).toISOString() });
    expect(await search("late expiry", { userId: "late" })).toHaveLength(1);
    clock.advance(60_000);
    expect(await search("late expiry", { userId: "late" })).toEqual([]);
    expectFault(await put(body.id, { expires_at: null }), 404, "memory_not_found", "id");
  });

  test("an expiry can be cleared in time", async () => {
    const { body } = await mneme.store({ content: "Kept after all.", expires_at: soon(60_000) });
    await put(body.id, { expires_at: null });
    clock.advance(120_000);
    expect((await read(body.id)).expires_at).toBeNull();
  });

  test("200 while it is processing, and processing continues", async () => {
    const bare = await startWithoutModels();
    try {
      const { body } = await bare.call("POST", "/v1/memories", { content: "Waits." });
      const changed = await bare.call("PUT", `/v1/memories/${body.id}`, { title: "Named meanwhile", tags: ["t"] });
      expect([changed.status, changed.body.status]).toEqual([200, "processing"]);
      expect(changed.body).toMatchObject({ title: "Named meanwhile", tags: ["t"], content: "Waits." });
    } finally {
      await bare.stop();
    }
  });

  test("a value given during processing is not overwritten by extraction", async () => {
    const { body } = await mneme.call("POST", "/v1/memories", { content: "Quick, before it is read." });
    await put(body.id, { title: "Mine", language: "fr" });
    expect((await mneme.settled(body.id)).body).toMatchObject({ title: "Mine", language: "fr" });
  });

  test("a failed memory stays failed, with its reason", async () => {
    const { body } = await mneme.call("POST", "/v1/memories", { content: "Failed, then named." });
    await markFailed(mneme, body.id);
    const { status, body: named } = await put(body.id, { title: "Named" });
    expect(status).toBe(200);
    expect(named).toMatchObject({ status: "failed", title: "Named", error: { code: "processing_error" } });
  });
});

describe("202: another day of a conversation", () => {
  const TURNS = "Ada: We sailed to the island.\nBen: It was windy.";
  const settle = async (id: string) => (await mneme.settled(id)).body;
  /** Days of the passages of a user, as a search shows them. */
  const days = async (userId: string): Promise<string[]> => {
    const question = { query: "sailing to the island in the wind", userId, limit: 100 };
    const { results } = (await mneme.call("POST", "/v1/memories/search", question)).body;
    return results.map(({ metadata }: { metadata: { _chunk: { date: string } } }) => metadata._chunk.date);
  };

  test("is the day of its turns when it is processed again; the same day and another title change none", async () => {
    const userId = "sailor";
    const { body: stored } = await mneme.store({ content: TURNS, type: "conversation", userId });
    const created = (await days(userId))[0] as string;
    for (const [change, day] of [
      [{ occurred_at: "2020-02-02" }, "2 February 2020"],
      [{ occurred_at: "2019-08-30T12:00:00Z" }, "30 August 2019"],
      [{ occurred_at: null }, created],
      [{ metadata: { date: "2018-03-04" } }, "4 March 2018"],
    ] as const) {
      const { status, body } = await put(stored.id, change);
      expect([status, body.status, body.content]).toEqual([202, "processing", TURNS]);
      expect(await settle(stored.id)).toMatchObject({ status: "completed", content: TURNS, chunk_count: 2 });
      expect(await days(userId)).toEqual([day, day]);
    }
    await put(stored.id, { occurred_at: "2019-08-30T12:00:00Z" });
    await settle(stored.id);
    for (const change of [{ occurred_at: "2019-08-30T23:59:00Z" }, { title: "Sailing" }, { tags: ["boat"] }]) {
      const { status, body } = await put(stored.id, change);
      expect([status, body.status]).toEqual([200, "completed"]);
    }
    const answer = await mneme.call("POST", "/v1/memories/query", { query: "When did we sail to the island?", userId });
    expect(answer.body.answer).toContain("(30 August 2019) Ada: We sailed to the island.");
  });

  test("also if the conversation is being processed at that time", async () => {
    for (let round = 0; round < 5; round++) {
      const userId = `early sailor ${round}`;
      const { body } = await mneme.call("POST", "/v1/memories", { content: TURNS, type: "conversation", userId });
      for (let turns = 0; turns < round; turns++) await new Promise(setImmediate); // at other points of the processing
      await put(body.id, { occurred_at: "2020-02-02" });
      await settle(body.id);
      expect(await days(userId)).toEqual(["2 February 2020", "2 February 2020"]);
    }
  });

  test("also by externalId, and turns with a day of their own keep it", async () => {
    const userId = "sailor by name";
    const draft = { content: `[8 May 2023]\n${TURNS}`, type: "conversation", userId, externalId: "trip" };
    const { body: stored } = await mneme.store(draft);
    expect(await days(userId)).toEqual(["8 May 2023", "8 May 2023"]);
    await put(stored.id, { occurred_at: "2020-02-02" });
    await settle(stored.id);
    expect(await days(userId)).toEqual(["8 May 2023", "8 May 2023"]);

    const undated = { content: TURNS, type: "conversation", userId: "u2", externalId: "trip" };
    const { body: other } = await mneme.store(undated);
    const again = await mneme.call("POST", "/v1/memories", { ...undated, occurred_at: "2021-06-05" });
    expect([again.status, again.body.id, again.body.status]).toEqual([202, other.id, "processing"]);
    await settle(other.id);
    expect(await days("u2")).toEqual(["5 June 2021", "5 June 2021"]);
    const same = await mneme.call("POST", "/v1/memories", { ...undated, occurred_at: "2021-06-05" });
    expect([same.status, same.body.status]).toEqual([200, "completed"]);
  });
});

describe("202: with new content", () => {
  test("the memory is processed again, keeps its identity, and shows the new text at once", async () => {
    const { body: before } = await mneme.store({ ...GIVEN, externalId: "again" });
    clock.advance(1_000);
    const content = "The tram stops at the museum now.";
    const { status, body } = await put(before.id, { content });
    expect(status).toBe(202);
    const { chunk_count: _, extraction: __, ...kept } = before;
    expect(body).toEqual({
      ...{ ...kept, content, status: "processing" },
      ...{ updated_at: expect.any(String), progress: expect.any(Object) },
    });
    expect(body.updated_at > before.updated_at).toBeTrue();
    const settled = (await mneme.settled(before.id)).body;
    expect(settled).toMatchObject({ ...GIVEN, content, status: "completed", created_at: before.created_at });
    await mneme.call("DELETE", `/v1/memories/${before.id}`);
  });

  test("it is not found until it is completed, and then by its new text only: ten times", async () => {
    const { body } = await mneme.store({ content: "Version 0 of the rule.", userId: "rules" });
    for (let round = 1; round <= 10; round++) {
      const changed = await put(body.id, { content: `Version ${round} of the rule.` });
      expect(changed.status).toBe(202);
      const [found, status] = [await search("rule", { userId: "rules" }), (await read(body.id)).status];
      if (status === "processing") expect(found).toEqual([]);
      expect(found).not.toContain(`Version ${round - 1} of the rule.`);
      await mneme.settled(body.id);
      expect(await search("rule", { userId: "rules" })).toEqual([`Version ${round} of the rule.`]);
    }
  });

  test("before it is processed it is in no search and no answer, but can be read and listed", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "mneme-test-"));
    const first = await startService({ dataDir, config: { embedder: DEFAULT } });
    const { body } = await first.store({ content: "The lamp is lit at six.", userId: "ada" });
    await first.stop();
    const bare = await startWithoutModels({ dataDir });
    try {
      const content = "The lamp is lit at seven.";
      expect((await bare.call("PUT", `/v1/memories/${body.id}`, { content })).status).toBe(202);
      for (const path of ["search", "query"]) {
        const answer = await bare.call("POST", `/v1/memories/${path}`, { query: "when is the lamp lit" });
        expect([answer.status, answer.body.results ?? answer.body.sources]).toEqual([200, []]);
      }
      expect((await bare.call("GET", `/v1/memories/${body.id}`)).body).toMatchObject({ content, status: "processing" });
      expect((await bare.call("GET", "/v1/memories?status=processing")).body.data).toHaveLength(1);
    } finally {
      await bare.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test("new content replaces the old during processing", async () => {
    const bare = await startWithoutModels();
    try {
      const { body } = await bare.call("POST", "/v1/memories", { content: "First thought.", title: "Thought" });
      const changed = await bare.call("PUT", `/v1/memories/${body.id}`, { content: "Second thought." });
      expect([changed.status, changed.body.status, changed.body.title]).toEqual([202, "processing", "Thought"]);
      expect((await bare.call("GET", `/v1/memories/${body.id}`)).body.content).toBe("Second thought.");
    } finally {
      await bare.stop();
    }
  });

  test("given values stay, the others are extracted again", async () => {
    const { body: first } = await mneme.store({
      content: "The clock in the hall is slow and loud, and everybody in the house complains about it.",
      title: "Mine",
      type: "complaint",
    });
    expect(first.language).toBe("en");
    const german = "Die Uhr in der Halle geht nach und schlägt sehr laut, besonders in der Nacht.";
    expect((await put(first.id, { content: german })).status).toBe(202);
    const second = (await mneme.settled(first.id)).body;
    expect(second).toMatchObject({ title: "Mine", type: "complaint", language: "de" });
    expect(second.tags).not.toEqual(first.tags);
  });

  test("cleared values are extracted again with the next content, values set in between stay", async () => {
    const { body } = await mneme.store({ ...GIVEN, content: "An English sentence about the weather and the sea." });
    await put(body.id, { title: null, language: null, type: "set later" });
    await put(body.id, { content: "Ein deutscher Satz über das Wetter und das Meer im Winter." });
    const settled = (await mneme.settled(body.id)).body;
    expect(settled).toMatchObject({ type: "set later", language: "de", tags: GIVEN.tags });
    expect(settled.title).toBeString();
    expect(settled.title).not.toBe(GIVEN.title);
  });

  test("a failed memory is processed again, also with its current content", async () => {
    for (const content of ["Another text.", "It failed."]) {
      const { body } = await mneme.call("POST", "/v1/memories", { content: "It failed." });
      await markFailed(mneme, body.id);
      const again = await put(body.id, { content });
      expect([again.status, again.body.status, again.body.error]).toEqual([202, "processing", undefined]);
      expect((await mneme.settled(body.id)).body).toMatchObject({ status: "completed", content });
    }
  });

  test("the last of many changes is what is stored and found", async () => {
    const { body } = await mneme.store({ content: "Race 0.", userId: "race" });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => put(body.id, { content: `Race ${at + 1}.`, title: `T${at + 1}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(202));
    const settled = (await mneme.settled(body.id)).body;
    expect(settled.title).toBe(`T${settled.content.slice(5, -1)}`);
    expect(await search("race", { userId: "race" })).toEqual([settled.content]);
  });
});

describe("400", () => {
  let id = "";
  beforeAll(async () => {
    id = (await mneme.store(GIVEN)).body.id;
  });

  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["nothing to change", {}, "invalid_request", undefined],
    ["a body that is null", null, "invalid_request", undefined],
    ["a body that is a list", [], "invalid_request", undefined],
    ["content of null", { content: null }, "invalid_request", "content"],
    ["empty content", { content: "" }, "invalid_request", "content"],
    ["blank content", { content: " \u3000\n" }, "invalid_request", "content"],
    ["a title of 1,025 characters", { title: "t".repeat(1_025) }, "invalid_request", "title"],
    ["an empty title", { title: "" }, "invalid_request", "title"],
    ["a type of 129 characters", { type: "t".repeat(129) }, "invalid_request", "type"],
    ["51 tags", { tags: Array(51).fill("t") }, "too_many_tags", "tags"],
    ["a tag of 257 characters", { tags: ["t".repeat(257)] }, "invalid_request", "tags[0]"],
    ["10,241 bytes of metadata", { metadata: { a: "x".repeat(10_233) } }, "metadata_too_large", "metadata"],
    ["a metadata key of ours", { metadata: { _chunk: {} } }, "invalid_request", "metadata._chunk"],
    ["an empty userId", { userId: "" }, "invalid_request", "userId"],
    ["257 characters of userId", { userId: "u".repeat(257) }, "invalid_request", "userId"],
    ["257 characters of externalId", { externalId: "e".repeat(257) }, "invalid_request", "externalId"],
    ["a language that is none", { language: "en_US" }, "invalid_request", "language"],
    ["a past expiry", { expires_at: "2001-01-01T00:00:00Z" }, "invalid_request", "expires_at"],
    ["an occurrence that is no date", { occurred_at: "last May" }, "invalid_request", "occurred_at"],
    ["an occurrence on 31 June", { occurred_at: "2024-06-31" }, "invalid_request", "occurred_at"],
    ["an id in the body", { id: "mem_1", title: "x" }, "invalid_request", "id"],
    ["a status", { status: "completed" }, "invalid_request", "status"],
    ["a created_at", { created_at: "2020-01-01T00:00:00Z" }, "invalid_request", "created_at"],
    ["a user_id", { user_id: "ada" }, "invalid_request", "user_id"],
  ];
  for (const [name, body, code, param] of refused) {
    test(`${name} is refused by name, and changes nothing`, async () => {
      const before = await read(id);
      expectFault(await put(id, body), 400, code, param);
      expect(await read(id)).toEqual(before);
    });
  }

  test("one invalid field refuses the whole change", async () => {
    const before = await read(id);
    expectFault(await put(id, { title: "Half", tags: [1] }), 400, "invalid_request", "tags[0]");
    expect(await read(id)).toEqual(before);
  });

  test("the bounds themselves are accepted", async () => {
    const { body } = await mneme.store({ content: "x" });
    const longest = {
      ...{ title: "t".repeat(1_024), type: "t".repeat(128), userId: "u".repeat(256), externalId: "e".repeat(256) },
      ...{ tags: Array.from({ length: 50 }, (_, at) => `${at}`.padEnd(256, "t")), metadata: { a: "x".repeat(10_232) } },
    };
    expect((await put(body.id, longest)).body).toMatchObject(longest);
  });

  test("query parameters are refused: this operation has none", async () => {
    expectFault(await put(`${id}?userId=ada`, { title: "x" }), 400, "invalid_request", "userId");
  });
});

describe("404", () => {
  test("an unknown, a deleted, an expired and another project's memory", async () => {
    const { body: deleted } = await mneme.store({ content: "Deleted." });
    await mneme.call("DELETE", `/v1/memories/${deleted.id}`);
    const { body: expired } = await mneme.store({ content: "Expired.", expires_at: soon(1_000) });
    clock.advance(1_000);
    for (const id of [deleted.id, expired.id, "mem_00000000000000000000000000", "x", "%00"]) {
      expectFault(await put(id, { title: "x" }), 404, "memory_not_found", "id");
    }
    const { body: ours } = await mneme.store({ content: "Ours.", title: "Ours" });
    const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    expectFault(await put(ours.id, { title: "Theirs" }, { authorization }), 404, "memory_not_found", "id");
    expect((await read(ours.id)).title).toBe("Ours");
  });
});

describe("409: an externalId in use", () => {
  const pair = async (at: string) => {
    const first = await mneme.store({ content: `First ${at}.`, externalId: `${at}-a`, userId: "ida" });
    const second = await mneme.store({ content: `Second ${at}.`, externalId: `${at}-b`, userId: "ida" });
    return [first.body, second.body] as const;
  };
  const expectConflict = async (id: string, change: object) => {
    const before = await read(id);
    expectFault(await put(id, change), 409, "external_id_conflict", "externalId");
    expect(await read(id)).toEqual(before);
  };

  test("of the same user is refused, and nothing changes", async () => {
    const [, second] = await pair("x");
    await expectConflict(second.id, { externalId: "x-a", title: "Never" });
    await expectConflict(second.id, { externalId: "x-a", content: "Never." });
  });

  test("a change of the user that leads to a conflict is refused, also to no user", async () => {
    const [first] = await pair("y");
    const { body: other } = await mneme.store({ content: "Bob's.", externalId: "y-a", userId: "bob" });
    const { body: nobodys } = await mneme.store({ content: "Nobody's.", externalId: "y-a" });
    await expectConflict(other.id, { userId: "ida" });
    await expectConflict(first.id, { userId: null });
    expect((await put(nobodys.id, { externalId: null })).status).toBe(200);
    expect((await put(first.id, { userId: null })).status).toBe(200);
  });

  test("its own externalId, another user's, and a freed one are no conflict", async () => {
    const [first, second] = await pair("z");
    expect((await put(first.id, { externalId: "z-a", userId: "ida" })).status).toBe(200);
    const { body: other } = await mneme.store({ content: "Bob's.", userId: "bob" });
    expect((await put(other.id, { externalId: "z-a" })).status).toBe(200);
    await mneme.call("DELETE", `/v1/memories/${first.id}`);
    expect((await put(second.id, { externalId: "z-a" })).body.externalId).toBe("z-a");
    const upserted = await mneme.call("POST", "/v1/memories", { content: "New.", externalId: "z-a", userId: "ida" });
    expect(upserted.body.id).toBe(second.id);
  });

  test("an expired memory no longer has it", async () => {
    const [first, second] = await pair("w");
    await put(first.id, { expires_at: soon(1_000) });
    clock.advance(1_000);
    expect((await put(second.id, { externalId: "w-a" })).status).toBe(200);
  });
});

test("429: a content that does not fit into the plan's storage changes nothing", async () => {
  const project = await mneme.call("POST", "/v1/projects", { name: "small", plan: "free" });
  const headers = { authorization: `Bearer ${project.body.key}` };
  const { body } = await mneme.call("POST", "/v1/memories", { content: "Small." }, headers);
  const refused = await put(body.id, { content: "x".repeat(50 * 1024 * 1024 + 1), title: "Large" }, headers);
  expectFault(refused, 429, "storage_quota_exceeded");
  expect(refused.headers.has("retry-after")).toBeFalse();
  const after: Answered = await mneme.call("GET", `/v1/memories/${body.id}`, undefined, headers);
  expect(after.body.content).toBe("Small.");
});

test("403: a confined key changes its user's memories, cannot give them away, and sees no others", async () => {
  const headers = { authorization: `Bearer ${mneme.addKey(["memories:write"], undefined, { userId: "ada" })}` };
  const { body: own } = await mneme.store({ content: "Ada's.", userId: "ada" });
  expect((await put(own.id, { title: "Changed", userId: "ada" }, headers)).status).toBe(200);
  for (const userId of ["bob", null]) {
    expectFault(await put(own.id, { title: "Given away", userId }, headers), 403, "insufficient_scope", "userId");
  }
  for (const userId of ["bob", null]) {
    const { body: other } = await mneme.store({ content: "Not Ada's.", userId });
    expectFault(await put(other.id, { title: "Taken" }, headers), 404, "memory_not_found", "id");
  }
  expect(await read(own.id)).toMatchObject({ title: "Changed", userId: "ada" });
});

test("401 without a key, 403 for a key that cannot write; the memory stays as it is", async () => {
  const { body } = await mneme.store({ content: "Stays.", title: "Stays" });
  const unkeyed = new Request(`http://mneme.test/v1/memories/${body.id}`, { method: "PUT", body: '{"title":"x"}' });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read", "query"])}`;
  expectFault(await put(body.id, { title: "x" }, { authorization }), 403, "insufficient_scope");
  expect((await read(body.id)).title).toBe("Stays");
});

function soon(ms: number): string {
  return new Date(clock.now() + ms).toISOString();
}
