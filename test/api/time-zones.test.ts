// Time zones: that of the request, else of the user, else of the project decides which days a question names, and where
// a date without a time begins.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
});
afterAll(() => mneme.stop());

/** 1:00 on Monday in Tokyo, Sunday afternoon in UTC. */
const AS_OF = "2026-11-29T16:00:00Z";

/** The span that "on Friday" names in a search. */
async function friday(body: object, asOf = AS_OF): Promise<string> {
  const search = { query: "what did I note on Friday", explain: true, asOf, ...body };
  return (await mneme.call("POST", "/v1/memories/search", search)).body.explain.time.from;
}

describe("the zone of a question", () => {
  beforeAll(async () => {
    await mneme.store({ content: "Saw a heron.", userId: "walker", occurred_at: "2026-11-27T12:00:00Z" });
    await mneme.store({ content: "Saw an owl.", occurred_at: "2026-11-27T12:00:00Z" });
  });

  test("is UTC without any other", async () => {
    expect(await friday({})).toBe("2026-11-27T00:00:00.000Z");
  });

  test("is that of the request, by POST and by GET, else the offset of asOf; Z is none", async () => {
    expect(await friday({ time_zone: "Asia/Tokyo" })).toBe("2026-11-26T15:00:00.000Z");
    expect(await friday({}, "2026-11-30T01:00:00+09:00")).toBe("2026-11-26T15:00:00.000Z");
    expect(await friday({ time_zone: "America/New_York" }, "2026-11-30T01:00:00+09:00")).toBe(
      "2026-11-27T05:00:00.000Z",
    );
    expect(await friday({ time_zone: null }, "2026-11-30T01:00:00+09:00")).toBe("2026-11-26T15:00:00.000Z");
    const query = "query=on%20Friday%20where&explain=true&time_zone=Asia%2FTokyo";
    const { body } = await mneme.call("GET", `/v1/memories/search?${query}&asOf=${encodeURIComponent(AS_OF)}`);
    expect(body.explain.time.from).toBe("2026-11-26T15:00:00.000Z");
  });

  test("is that of the user, else that of the project, and null clears both", async () => {
    const ofProject = await mneme.call("PUT", "/v1/project", { time_zone: "Pacific/Auckland" });
    expect(ofProject.body.time_zone).toBe("Pacific/Auckland");
    expect(await friday({ userId: "walker" })).toBe("2026-11-26T11:00:00.000Z");
    const ofUser = await mneme.call("POST", "/v1/users", { id: "walker", time_zone: "Asia/Tokyo" });
    expect(ofUser.body.time_zone).toBe("Asia/Tokyo");
    expect((await mneme.call("POST", "/v1/users", { id: "walker", name: "W" })).body.time_zone).toBe("Asia/Tokyo");
    expect(await friday({ userId: "walker" })).toBe("2026-11-26T15:00:00.000Z");
    expect(await friday({})).toBe("2026-11-26T11:00:00.000Z");
    expect(await friday({ userId: "walker" }, "2026-11-29T16:00:00+00:00")).toBe("2026-11-27T00:00:00.000Z");
    expect((await mneme.call("POST", "/v1/users", { id: "walker", time_zone: null })).body.time_zone).toBeNull();
    expect((await mneme.call("PUT", "/v1/project", { time_zone: null })).body.time_zone).toBeNull();
    expect(await friday({ userId: "walker" })).toBe("2026-11-27T00:00:00.000Z");
  });

  test("does not move a day that asOf gives without a time", async () => {
    expect(await friday({ time_zone: "America/New_York" }, "2026-11-30")).toBe("2026-11-27T05:00:00.000Z");
    expect(await friday({ time_zone: "Asia/Tokyo" }, "2026-11-30")).toBe("2026-11-26T15:00:00.000Z");
  });
});

describe("an unknown zone is refused, with its field", () => {
  const rows: readonly (readonly [method: string, path: string, body: object, param: string])[] = [
    ["POST", "/v1/memories/search", { query: "x", time_zone: "Mars/Olympus" }, "time_zone"],
    ["POST", "/v1/memories/query", { query: "x", time_zone: "+09:00" }, "time_zone"],
    ["POST", "/v1/users", { id: "u", time_zone: "here" }, "time_zone"],
    ["PUT", "/v1/project", { time_zone: "GMT plus one" }, "time_zone"],
    ["POST", "/v1/projects", { name: "p", time_zone: "x" }, "time_zone"],
    [
      "POST",
      "/v1/chat/completions",
      { model: "mneme", messages: [{ role: "user", content: "x" }], mneme: { time_zone: "x" } },
      "mneme.time_zone",
    ],
  ];
  for (const [method, path, body, param] of rows) {
    test(`${method} ${path}`, async () => {
      const answer = await mneme.call(method, path, body);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: "invalid_request", param });
    });
  }

  test("GET /v1/memories/search", async () => {
    const { status, body } = await mneme.call("GET", "/v1/memories/search?query=x&time_zone=nowhere");
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: "invalid_request", param: "time_zone" });
  });

  for (const path of ["messages", "messages/stream"]) {
    test(`POST /v1/chats/{id}/${path}`, async () => {
      const { body: chat } = await mneme.call("POST", "/v1/chats", {});
      const answer = await mneme.call("POST", `/v1/chats/${chat.id}/${path}`, { message: "x", time_zone: "nowhere" });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: "invalid_request", param: "time_zone" });
    });
  }
});

describe("occurred_at", () => {
  beforeAll(() => mneme.call("POST", "/v1/users", { id: "tokyo", time_zone: "Asia/Tokyo" }));

  const stored = async (body: object) => (await mneme.store({ content: "Saw a crane.", ...body })).body;

  test("is shown as it was sent, and a date begins at midnight in the zone of the user", async () => {
    expect(await stored({ userId: "tokyo", occurred_at: "2026-05-05" })).toMatchObject({
      occurred_at: "2026-05-04T15:00:00.000Z",
      occurred_at_given: "2026-05-05",
    });
    expect(await stored({ occurred_at: "2026-05-05" })).toMatchObject({
      occurred_at: "2026-05-05T00:00:00.000Z",
      occurred_at_given: "2026-05-05",
    });
    expect(await stored({ userId: "tokyo", occurred_at: "2026-05-05T01:00:00+02:00" })).toMatchObject({
      occurred_at: "2026-05-04T23:00:00.000Z",
      occurred_at_given: "2026-05-05T01:00:00+02:00",
    });
    expect(await stored({})).toMatchObject({ occurred_at: null, occurred_at_given: null });
  });

  test("changes and is cleared together with its text", async () => {
    const { id } = await stored({ userId: "tokyo", occurred_at: "2026-05-05" });
    const changed = await mneme.call("PUT", `/v1/memories/${id}`, { occurred_at: "2026-05-06" });
    expect(changed.body).toMatchObject({
      occurred_at: "2026-05-05T15:00:00.000Z",
      occurred_at_given: "2026-05-06",
    });
    const titled = await mneme.call("PUT", `/v1/memories/${id}`, { title: "Crane" });
    expect(titled.body.occurred_at_given).toBe("2026-05-06");
    const cleared = await mneme.call("PUT", `/v1/memories/${id}`, { occurred_at: null });
    expect(cleared.body).toMatchObject({ occurred_at: null, occurred_at_given: null });
  });

  test("of a date is that day in questions of every zone", async () => {
    const mine = { userId: "tokyo" };
    await stored({ ...mine, content: "The crane flew north.", occurred_at: "2026-06-01" });
    await stored({ ...mine, content: "The crane flew south.", occurred_at: "2026-05-31" });
    for (const time_zone of ["Asia/Tokyo", "America/New_York", "UTC"]) {
      const search = { query: "Where did the crane fly on 1 June 2026?", explain: true, ...mine, time_zone };
      const { body } = await mneme.call("POST", "/v1/memories/search", search);
      expect(body.results[0].content).toBe("The crane flew north.");
      expect(body.results[0].explain.signals.time).toEqual({ rank: 1, score: 1 });
    }
  });

  test("cannot be given as occurred_at_given", async () => {
    const { status } = await mneme.call("POST", "/v1/memories", { content: "x", occurred_at_given: "2026-05-05" });
    expect(status).toBe(400);
  });
});
