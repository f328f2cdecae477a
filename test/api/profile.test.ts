// GET /v1/users/{userId}/profile.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { estimatedTokens } from "../../src/domain/language-model.ts";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const LISTS = ["facts", "preferences", "people", "events"] as const;
const profile = (userId: string, query = "", headers?: Record<string, string>) =>
  mneme.call("GET", `/v1/users/${encodeURIComponent(userId)}/profile${query}`, undefined, headers);
const texts = (entries: readonly { text: string }[]) => entries.map(({ text }) => text);
const store = async (content: string, more: object = {}): Promise<string> => {
  clock.advance(60_000);
  return (await mneme.store({ content, ...more })).body.id;
};

describe("a user with notes", () => {
  const userId = "ada";
  const contents = new Map<string, string>();
  beforeAll(async () => {
    for (const [content, more] of [
      ["🏠 I live in Bergen. My sister Greta lives in Oslo."],
      ["I prefer window seats."],
      ["The workshop is in room 220."],
      ["The dentist pulled a tooth on 12 May 2026.", { occurred_at: "2026-05-12T23:30:00Z" }],
      ["Where do I live?"],
      ["I live in Bergen."],
      ["Der Schlüssel hängt im Flur.", { agentId: "smith", language: "de" }],
      ["The badge is at the desk.", { sessionId: "one" }],
    ] as const) {
      contents.set(await store(content, { userId, ...more }), content);
    }
    await store("Eve lives elsewhere.", { userId: "eve" });
  });

  test("200: each statement once, in one list, newest first, with its place", async () => {
    const { status, body } = await profile(userId);
    expect(status).toBe(200);
    expect(body).toMatchObject({ userId, omitted: 0 });
    expect(texts(body.facts)).toEqual([
      ...["The badge is at the desk.", "Der Schlüssel hängt im Flur.", "I live in Bergen."],
      "The workshop is in room 220.",
    ]);
    expect(texts(body.preferences)).toEqual(["I prefer window seats."]);
    expect(body.people).toMatchObject([{ name: "Greta", text: "My sister Greta lives in Oslo.", start: 20, end: 50 }]);
    expect(body.events).toMatchObject([{ occurred_at: "2026-05-12T23:30:00.000Z" }]);
    for (const list of LISTS) {
      for (const { text, memory_id, start, end } of body[list]) {
        expect([...(contents.get(memory_id) ?? "")].slice(start, end).join("")).toBe(text);
      }
    }
    expect(Math.abs(Date.parse(body.generated_at) - clock.now())).toBeLessThan(60_000);
    expect(body.tokens).toBe(estimatedTokens(body.text));
  });

  test("`text` says the same as Markdown, with days in `time_zone`", async () => {
    const { body } = await profile(userId);
    expect(body.text).toContain("## Facts\n\n- The badge is at the desk.\n- Der Schlüssel hängt im Flur.\n");
    expect(body.text).toContain("\n\n## People\n\n- My sister Greta lives in Oslo.\n\n## Events\n\n");
    expect(body.text).toEndWith("- The dentist pulled a tooth on 12 May 2026. (2026-05-12)");
    expect((await profile(userId, "?time_zone=Europe/Zurich")).body.text).toEndWith("(2026-05-13)");
  });

  test("is limited to an agent and a session", async () => {
    expect(texts((await profile(userId, "?agentId=smith")).body.facts)).toEqual(["Der Schlüssel hängt im Flur."]);
    expect(texts((await profile(userId, "?sessionId=one")).body.facts)).toEqual(["The badge is at the desk."]);
    const { body } = await profile(userId, "?agentId=nobody");
    expect([...LISTS.map((list) => body[list]), body.text, body.tokens, body.omitted]).toEqual([
      [],
      [],
      [],
      [],
      "",
      0,
      0,
    ]);
  });

  test("a confined key reads its own user only", async () => {
    const own = { authorization: `Bearer ${mneme.addKey(["memories:read"], undefined, { userId })}` };
    expect((await profile(userId, "", own)).status).toBe(200);
    expectFault(await profile("eve", "", own), 403, "insufficient_scope", "userId");
    const writer = { authorization: `Bearer ${mneme.addKey(["memories:write"])}` };
    expectFault(await profile(userId, "", writer), 403, "insufficient_scope");
  });
});

test("what is superseded or deleted is left out", async () => {
  const userId = "moved";
  const older = await store("The kayak is kept in shed three.", { userId });
  const newer = await store("The kayak now hangs in the boathouse.", { userId });
  await mneme.call("PUT", `/v1/memories/${newer}/relations`, { memory_id: older, type: "supersedes" });
  expect(texts((await profile(userId)).body.facts)).toEqual(["The kayak now hangs in the boathouse."]);
  await mneme.call("DELETE", `/v1/memories/${newer}`);
  expect(texts((await profile(userId)).body.facts)).toEqual(["The kayak is kept in shed three."]);
});

test("of conversations, only what the user says of themselves counts", async () => {
  const userId = "talker";
  const content =
    "User: Hello there!\nAssistant: I live in a computer. How are you?\nUser: I work night shifts at the harbour.";
  await store(content, { userId, type: "conversation" });
  const { body } = await profile(userId);
  expect(texts(body.facts)).toEqual(["I work night shifts at the harbour."]);
  expect([...content].slice(body.facts[0].start, body.facts[0].end).join("")).toBe(body.facts[0].text);
});

test("`max_tokens` cuts the lists in turns, and `omitted` counts what is left out; a list has at most 50", async () => {
  const userId = "many";
  await mneme.call("PUT", "/v1/project", { superseding: "off" }); // none of these corrects another
  for (let at = 0; at < 30; at++) {
    await mneme.call("POST", "/v1/memories/batch", {
      memories: [
        { content: `Locker ${at} holds the number ${at * 7} brush.`, userId },
        { content: `I prefer the cafe at corner ${at}.`, userId },
      ],
    });
  }
  const last = await store("Shelf one holds the paint. Shelf two holds the glue.", { userId });
  const list = async () => (await mneme.call("GET", `/v1/memories?userId=${userId}&status=processing`)).body.data;
  while ((await list()).length > 0) await mneme.settled((await list())[0]?.id ?? last);
  const all = (await profile(userId, "?max_tokens=8000")).body;
  expect([all.facts.length, all.preferences.length, all.omitted]).toEqual([32, 30, 0]);
  for (const max of [100, 250, 500]) {
    const { body } = await profile(userId, `?max_tokens=${max}`);
    expect(body.tokens).toBeLessThanOrEqual(max);
    expect(body.facts.length + body.preferences.length + body.omitted).toBe(62);
    expect(Math.abs(body.facts.length - body.preferences.length)).toBeLessThanOrEqual(1);
    expect(body.facts).toEqual(all.facts.slice(0, body.facts.length));
  }
  await store(Array.from({ length: 25 }, (_, at) => `Box ${at} has ${at + 3} cups.`).join(" "), { userId });
  const { facts, omitted } = (await profile(userId, "?max_tokens=8000")).body;
  expect([facts.length, omitted]).toEqual([50, 7]);
  await mneme.call("PUT", "/v1/project", { superseding: null });
});

describe("errors", () => {
  test("404 for an unknown user; empty lists for a known one without memories", async () => {
    expectFault(await profile("nobody"), 404, "user_not_found", "userId");
    await mneme.call("POST", "/v1/users", { id: "bare" });
    const { status, body } = await profile("bare");
    expect([status, ...LISTS.map((list) => body[list])]).toEqual([200, [], [], [], []]);
  });

  test.each([
    ["?max_tokens=99", "max_tokens"],
    ["?max_tokens=8001", "max_tokens"],
    ["?max_tokens=many", "max_tokens"],
    ["?time_zone=Mars/Base", "time_zone"],
    ["?agentId=", "agentId"],
    ["?userId=eve", "userId"],
  ])("400 for %s", async (query, param) => {
    await mneme.call("POST", "/v1/users", { id: "bare" });
    expectFault(await profile("bare", query), 400, "invalid_request", param);
  });
});
