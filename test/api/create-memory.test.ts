// POST /v1/memories: accepted values, extraction, externalId, and each bound at its edge.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { markFailed } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const create = (body: unknown) => mneme.call("POST", "/v1/memories", body);
const read = (id: string) => mneme.call("GET", `/v1/memories/${id}`);

/** One character outside of the Basic Multilingual Plane: two UTF-16 code units, four UTF-8 bytes. */
const ASTRAL = "𝛂";

describe("202", () => {
  test("answers the memory as it was sent, processing, with an id that sorts by time", async () => {
    const given = {
      content: "The boiler was serviced in May.",
      title: "Boiler",
      type: "log",
      tags: ["home", "heating"],
      metadata: { room: "cellar", deep: { list: [1, 2.5, null, true, "x"] } },
      userId: "ada",
      agentId: "house assistant",
      sessionId: "2024-05-03",
      language: "en",
      externalId: "boiler-1",
      expires_at: "2999-01-31T12:00:00+02:00",
      occurred_at: "2024-05-03",
    };
    const { status, body } = await create(given);
    expect(status).toBe(202);
    const { id, created_at, updated_at, progress, ...rest } = body;
    const times = { expires_at: "2999-01-31T10:00:00.000Z", occurred_at: "2024-05-03T00:00:00.000Z" };
    const added = { source: null, occurred_at_given: given.occurred_at, superseded_by: null };
    expect(rest).toEqual({ ...given, status: "processing", ...added, ...times });
    expect(id).toMatch(/^mem_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(updated_at).toBe(created_at);
    expect(progress).toEqual({ stage: expect.any(String), chunks_done: 0, chunks_total: null });
    expect((await create({ content: "later" })).body.id > id).toBeTrue();
  });

  test("fills in title, type, tags and language when the caller gives none", async () => {
    const { body } = await mneme.store({
      content: "La chaudière a été révisée au mois de mai par le technicien. Le filtre de la chaudière est neuf.",
    });
    expect(body.status).toBe("completed");
    expect(body.language).toBe("fr");
    expect(body.title).toBeString();
    expect(body.type).toBeString();
    expect(body.tags.length).toBeGreaterThan(0);
    expect(body.chunk_count).toBe(1);
    expect(body.extraction).toBe("local");
    expect(body.progress).toBeUndefined();
  });

  test("one missing value is extracted, and extraction is 'caller' only if none was missing", async () => {
    const given = { title: "Given", type: "note", tags: ["given"], language: "nl" };
    const { body: whole } = await mneme.store({ content: "The cellar is damp in spring.", ...given });
    expect(whole).toMatchObject({ ...given, extraction: "caller" });
    for (const missing of ["title", "type", "tags", "language"] as const) {
      const { body } = await mneme.store({ content: "The cellar is damp in spring.", ...given, [missing]: null });
      expect(body).toMatchObject({ ...given, [missing]: body[missing], extraction: "local" });
      expect(body[missing]).not.toBeNull();
    }
  });

  test("keeps the given values, an empty list of tags included", async () => {
    const given = { title: "T", type: "recipe", tags: [], language: "pt-BR", metadata: { a: 1 } };
    const { body } = await mneme.store({ content: "Whisk the eggs, then fold in the flour and the butter.", ...given });
    expect(body).toMatchObject(given);
  });

  test("null counts as absent for every optional field", async () => {
    const { status, body } = await mneme.store({
      content: "Nulls are nothing.",
      ...{ title: null, type: null, tags: null, metadata: null, userId: null },
      ...{ language: null, externalId: null, expires_at: null, occurred_at: null },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ metadata: {}, userId: null, externalId: null, expires_at: null, occurred_at: null });
    expect(body.title).toBeString();
  });

  test("takes occurred_at in any zone, of the years 0001 to 9999; a date is its first instant in UTC", async () => {
    const times: [given: string, shown: string][] = [
      ["2024-05-03", "2024-05-03T00:00:00.000Z"],
      ["2024-05-03T01:30:00+02:00", "2024-05-02T23:30:00.000Z"],
      ["2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"],
      ["0001-01-01", "0001-01-01T00:00:00.000Z"],
      ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
      ["2999-01-01", "2999-01-01T00:00:00.000Z"],
    ];
    for (const [occurred_at, shown] of times) {
      const { status, body } = await create({ content: `It happened: ${occurred_at}.`, occurred_at });
      expect([occurred_at, status, body.occurred_at]).toEqual([occurred_at, 202, shown]);
    }
  });

  test("returns the content unchanged", async () => {
    const content = ` \t\r\n${ASTRAL} e\u0301 \u200d "\\ \u2028 ​ end\n\n `;
    const { body } = await create({ content });
    expect(body.content).toBe(content);
    expect((await read(body.id)).body.content).toBe(content);
    expect((await mneme.settled(body.id)).body.content).toBe(content);
  });

  test("writes a language tag in its canonical form", async () => {
    expect((await create({ content: "x", language: "EN-us" })).body.language).toBe("en-US");
  });
});

describe("an externalId", () => {
  const text = (what: string) => `The ${what} stands in the hall.`;

  test("identifies the memory: other content is 202, the same content 200, and it stays one memory", async () => {
    const first = await create({ content: text("clock"), externalId: "e1", title: "Clock", tags: ["old"] });
    const rewritten = await create({ content: text("mirror"), externalId: "e1", tags: ["new"] });
    expect([first.status, rewritten.status]).toEqual([202, 202]);
    expect(rewritten.body).toMatchObject({ id: first.body.id, status: "processing", title: "Clock", tags: ["new"] });
    expect(rewritten.body.created_at).toBe(first.body.created_at);
    await mneme.settled(first.body.id);

    const updated = await create({ content: text("mirror"), externalId: "e1", metadata: { n: 1 } });
    expect(updated.status).toBe(200);
    expect(updated.body).toMatchObject({
      ...{ id: first.body.id, status: "completed", title: "Clock", tags: ["new"], metadata: { n: 1 } },
    });
    expect((await read(first.body.id)).body.content).toBe(text("mirror"));
  });

  test("gives one memory for any number of parallel requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        create({ content: text(`bench ${at % 4}`), externalId: "e8", title: `${at}` }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const settled = (await mneme.settled(answers[0]?.body.id)).body;
    expect(settled.content).toBe(text(`bench ${Number(settled.title) % 4}`));
  });

  test("the same content while it is processing is 202, with the attributes updated", async () => {
    const body = { content: text("lamp"), externalId: "e2" };
    const first = await create(body);
    const again = await create({ ...body, title: "Lamp" });
    expect([again.status, again.body.id, again.body.title]).toEqual([202, first.body.id, "Lamp"]);
    expect((await mneme.settled(first.body.id)).body.title).toBe("Lamp");
  });

  test("new content extracts again all values that no caller gave", async () => {
    const first = await mneme.store({ content: "The clock in the hall is slow and loud.", externalId: "e3" });
    expect(first.body.language).toBe("en");
    const german = "Die Uhr in der Halle geht nach und schlägt sehr laut, besonders in der Nacht.";
    const second = await mneme.store({ content: german, externalId: "e3", title: "Uhr" });
    expect(second.body).toMatchObject({ id: first.body.id, language: "de", title: "Uhr" });
  });

  test("is separate per user: the same externalId of another user, or of none, is another memory", async () => {
    const ids = new Set<string>();
    for (const userId of ["u1", "u2", null]) {
      ids.add((await create({ content: text("vase"), externalId: "e4", userId })).body.id);
    }
    expect(ids.size).toBe(3);
  });

  test("can be reused after its memory was deleted", async () => {
    const first = await create({ content: text("rug"), externalId: "e5" });
    await mneme.call("DELETE", `/v1/memories/${first.body.id}`);
    const second = await create({ content: text("rug"), externalId: "e5" });
    expect(second.status).toBe(202);
    expect(second.body.id).not.toBe(first.body.id);
  });

  test("of a failed memory starts processing again, even with the same content", async () => {
    const { body } = await create({ content: text("stove"), externalId: "e6" });
    await markFailed(mneme, body.id);
    const again = await create({ content: text("stove"), externalId: "e6", title: "Stove" });
    expect([again.status, again.body.id, again.body.status]).toEqual([202, body.id, "processing"]);
    expect((await mneme.settled(body.id)).body).toMatchObject({ status: "completed", title: "Stove" });
  });

  test("can be reused after its memory has expired", async () => {
    const expires_at = new Date(clock.now() + 60_000).toISOString();
    const first = await create({ content: text("stool"), externalId: "e7", expires_at });
    clock.advance(60_000);
    const second = await create({ content: text("stool"), externalId: "e7" });
    expect([second.status, second.body.expires_at]).toEqual([202, null]);
    expect(second.body.id).not.toBe(first.body.id);
  });

  test("is compared byte for byte: composed and decomposed letters differ", async () => {
    const composed = await create({ content: text("cup"), externalId: "\u00e9" });
    const decomposed = await create({ content: text("cup"), externalId: "e\u0301" });
    expect(decomposed.body.id).not.toBe(composed.body.id);
  });
});

describe("400", () => {
  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["no content", {}, "invalid_request", "content"],
    ["content of null", { content: null }, "invalid_request", "content"],
    ["content of a number", { content: 7 }, "invalid_request", "content"],
    ["empty content", { content: "" }, "invalid_request", "content"],
    ["blank content", { content: " \t\n\u00a0\u3000" }, "invalid_request", "content"],
    ["a body that is null", null, "invalid_request", undefined],
    ["a body that is a list", [], "invalid_request", undefined],
    ["a body that is a text", '"content"', "invalid_request", undefined],
    ["a title that is a number", { content: "x", title: 1 }, "invalid_request", "title"],
    ["an empty title", { content: "x", title: "" }, "invalid_request", "title"],
    ["tags that are a text", { content: "x", tags: "a,b" }, "invalid_request", "tags"],
    ["a tag that is no text", { content: "x", tags: ["a", 1] }, "invalid_request", "tags[1]"],
    ["an empty tag", { content: "x", tags: [""] }, "invalid_request", "tags[0]"],
    ["metadata that is a list", { content: "x", metadata: [] }, "invalid_request", "metadata"],
    ["metadata that is a text", { content: "x", metadata: "{}" }, "invalid_request", "metadata"],
    ["a metadata key of ours", { content: "x", metadata: { _memory: 1 } }, "invalid_request", "metadata._memory"],
    ["a userId that is a number", { content: "x", userId: 7 }, "invalid_request", "userId"],
    ["an empty agentId", { content: "x", agentId: "" }, "invalid_request", "agentId"],
    ["a sessionId that is a number", { content: "x", sessionId: 7 }, "invalid_request", "sessionId"],
    ["an empty userId", { content: "x", userId: "" }, "invalid_request", "userId"],
    ["an empty externalId", { content: "x", externalId: "" }, "invalid_request", "externalId"],
    ["a language with an underscore", { content: "x", language: "en_US" }, "invalid_request", "language"],
    ["a language that is a word", { content: "x", language: "not a language" }, "invalid_request", "language"],
    ["an expiry in the past", { content: "x", expires_at: "2001-01-01T00:00:00Z" }, "invalid_request", "expires_at"],
    ["an expiry without a zone", { content: "x", expires_at: "2999-01-01T00:00:00" }, "invalid_request", "expires_at"],
    ["an expiry without a time", { content: "x", expires_at: "2999-01-01" }, "invalid_request", "expires_at"],
    ["an expiry on 31 February", { content: "x", expires_at: "2999-02-31T00:00:00Z" }, "invalid_request", "expires_at"],
    ["an expiry at 24:00", { content: "x", expires_at: "2999-01-01T24:00:00Z" }, "invalid_request", "expires_at"],
    ["an expiry that is a number", { content: "x", expires_at: 32503680000000 }, "invalid_request", "expires_at"],
    ["an occurrence yesterday", { content: "x", occurred_at: "yesterday" }, "invalid_request", "occurred_at"],
    ["an empty occurrence", { content: "x", occurred_at: "" }, "invalid_request", "occurred_at"],
    ["an occurrence in a month", { content: "x", occurred_at: "2024-05" }, "invalid_request", "occurred_at"],
    [
      "an occurrence without a zone",
      { content: "x", occurred_at: "2024-05-03T10:00" },
      "invalid_request",
      "occurred_at",
    ],
    ["an occurrence on 30 February", { content: "x", occurred_at: "2024-02-30" }, "invalid_request", "occurred_at"],
    ["an occurrence in the year 0", { content: "x", occurred_at: "0000-12-31" }, "invalid_request", "occurred_at"],
    [
      "an occurrence that lies before the year 1 in UTC",
      { content: "x", occurred_at: "0001-01-01T00:00:00+01:00" },
      ...(["invalid_request", "occurred_at"] as const),
    ],
    [
      "an occurrence that lies after the year 9999 in UTC",
      { content: "x", occurred_at: "9999-12-31T23:59:59-01:00" },
      ...(["invalid_request", "occurred_at"] as const),
    ],
    ["an occurrence that is a number", { content: "x", occurred_at: 1714694400000 }, "invalid_request", "occurred_at"],
    ["an unknown field", { content: "x", colour: "red" }, "invalid_request", "colour"],
    ["a field named __proto__", '{"content":"x","__proto__":{"userId":"ada"}}', "invalid_request", "__proto__"],
    ["a field named constructor", { content: "x", constructor: 1 }, "invalid_request", "constructor"],
    ["a number beyond a double", '{"content":"x","metadata":{"a":[1,1e999]}}', "invalid_request", "metadata.a[1]"],
  ];
  for (const [name, body, code, param] of refused) {
    test(`${name} is refused by name`, async () => expectFault(await create(body), 400, code, param));
  }

  test("the error for an unknown field suggests the nearest known one", async () => {
    const answer = await create({ content: "x", user_id: "ada" });
    expectFault(answer, 400, "invalid_request", "user_id");
    expect(answer.body.error.message).toContain("'userId'");
  });

  test("the error for a wrong value says what would be right", async () => {
    expect((await create({ content: "x", tags: [7] })).body.error.message).toBe(
      "'tags[0]' must be a string of 1 to 256 characters, found 7.",
    );
    expect((await create({ content: [{ speaker: "Ada", text: "x" }] })).body.error.message).toEndWith(
      "a string of at least 1 character, found an array of 1. JSON is stored as text: send it as one string.",
    );
  });

  test("query parameters are refused: this operation has none", async () => {
    const answer = await mneme.call("POST", "/v1/memories?userId=ada", { content: "x" });
    expectFault(answer, 400, "invalid_request", "userId");
  });

  test("a refused memory is not stored", async () => {
    const before = await mneme.call("GET", "/v1/memories?limit=1");
    await create({ content: "never stored", colour: "red" });
    const after = await mneme.call("GET", "/v1/memories?limit=1");
    expect(after.body.data[0].id).toBe(before.body.data[0].id);
  });
});

describe("bounds", () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `tag ${at}`);
  // {"a":"…"} adds 8 bytes to the text
  const metadataOf = (bytes: number) => ({ a: "x".repeat(bytes - 8) });
  const astralMetadata = (more: string) => ({ a: ASTRAL.repeat(2_558) + more });
  const edges: [what: string, field: string, good: unknown, bad: unknown, code: string][] = [
    ["50 tags", "tags", many(50), many(51), "too_many_tags"],
    ["10,240 bytes of metadata", "metadata", metadataOf(10_240), metadataOf(10_241), "metadata_too_large"],
    ["10,240 bytes of astral metadata", "metadata", astralMetadata(""), astralMetadata("x"), "metadata_too_large"],
    ["256 characters of userId", "userId", "u".repeat(256), "u".repeat(257), "invalid_request"],
    ["256 characters of agentId", "agentId", "u".repeat(256), "u".repeat(257), "invalid_request"],
    ["256 characters of sessionId", "sessionId", "u".repeat(256), "u".repeat(257), "invalid_request"],
    ["256 astral characters of userId", "userId", ASTRAL.repeat(256), ASTRAL.repeat(257), "invalid_request"],
    ["256 characters of externalId", "externalId", "e".repeat(256), "e".repeat(257), "invalid_request"],
    ["256 astral characters of externalId", "externalId", ASTRAL.repeat(256), ASTRAL.repeat(257), "invalid_request"],
    ["1,024 characters of title", "title", "t".repeat(1_024), "t".repeat(1_025), "invalid_request"],
    ["128 characters of type", "type", "t".repeat(128), "t".repeat(129), "invalid_request"],
  ];
  for (const [what, field, good, bad, code] of edges) {
    test(`${what} are accepted, one more is refused`, async () => {
      const accepted = await create({ content: "at the edge", [field]: good });
      expect(accepted.status).toBe(202);
      expect(accepted.body[field]).toEqual(good);
      expectFault(await create({ content: "past the edge", [field]: bad }), 400, code, field);
    });
  }

  test("256 characters of a tag are accepted, one more is refused", async () => {
    expect((await create({ content: "x", tags: ["t".repeat(256)] })).status).toBe(202);
    expectFault(await create({ content: "x", tags: ["t".repeat(257)] }), 400, "invalid_request", "tags[0]");
  });

  test("the size of metadata is that of compact JSON, however it was formatted", async () => {
    const spaced = JSON.stringify({ content: "x", metadata: { list: Array(4_000).fill(7) } }, null, 8);
    expect(spaced.length).toBeGreaterThan(50_000);
    expect((await create(spaced)).status).toBe(202);
  });

  test("a content of one megabyte is stored, cut into chunks, and returned complete", async () => {
    const content = Array.from(
      { length: 12_000 },
      (_, at) => `Line ${at} tells of the harbour and its ships, twice over.\n`,
    ).join("");
    const { body } = await create({ content });
    expect((await read(body.id)).body.content === content).toBeTrue();
    await mneme.call("DELETE", `/v1/memories/${body.id}`); // its 10,000 chunks need not be embedded
  });
});

describe("429", () => {
  test("the 11th memory of a free project is refused, an update of the tenth is not, and a deletion makes room", async () => {
    const project = await mneme.call("POST", "/v1/projects", { name: "small", plan: "free" });
    const headers = { authorization: `Bearer ${project.body.key}` };
    const post = (body: object) => mneme.call("POST", "/v1/memories", body, headers);
    for (let at = 1; at <= 9; at++) expect((await post({ content: `Note ${at}.` })).status).toBe(202);
    const tenth = await post({ content: "Note 10.", externalId: "tenth" });
    expect(tenth.status).toBe(202);

    const refused = await post({ content: "Note 11." });
    expectFault(refused, 429, "document_quota_exceeded");
    expect(refused.headers.has("retry-after")).toBeFalse();
    expect(refused.body.error.retry_after_seconds).toBeUndefined();

    expect((await post({ content: "Note 10, again.", externalId: "tenth" })).body.id).toBe(tenth.body.id);
    expect((await mneme.call("DELETE", `/v1/memories/${tenth.body.id}`, undefined, headers)).status).toBe(204);
    expect((await post({ content: "Note 11." })).status).toBe(202);
  });

  test("one byte more than the plan's storage is refused and not stored", async () => {
    const project = await mneme.call("POST", "/v1/projects", { name: "narrow", plan: "free" });
    const headers = { authorization: `Bearer ${project.body.key}` };
    const content = "x".repeat(50 * 1024 * 1024 + 1);
    const refused = await mneme.call("POST", "/v1/memories", { content }, headers);
    expectFault(refused, 429, "storage_quota_exceeded");
    expect(refused.headers.has("retry-after")).toBeFalse();
    expect((await mneme.call("GET", "/v1/memories", undefined, headers)).body.data).toEqual([]);
  });
});

describe("401 and 403", () => {
  test("no key is 401, a key without memories:write is 403", async () => {
    expectFault(
      await mneme.call("POST", "/v1/memories", { content: "x" }, { authorization: "" }),
      401,
      "invalid_api_key",
    );
    const reader = mneme.addKey(["memories:read"]);
    const answer = await mneme.call("POST", "/v1/memories", { content: "x" }, { authorization: `Bearer ${reader}` });
    expectFault(answer, 403, "insufficient_scope");
    expect(answer.body.error.message).toContain("memories:write");
  });
});
