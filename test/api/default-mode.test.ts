// A project's `default_mode`: the mode of searches, queries and chat messages that name none.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MODE_NAMES, type ModeName } from "../../src/domain/ranking.ts";
import { expectWholeAnswer, openStream } from "../support/event-stream.ts";
import { startService, type TestService } from "../support/service.ts";

const QUESTION = "Where does Ada keep the spare key?";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  const memories = [
    { content: "Ada keeps the spare key under the blue pot." },
    { content: "The spare wheel lies in the shed." },
    { content: "Nobody may open the chest." },
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const setDefault = async (mode: ModeName | null) => {
  expect((await mneme.call("PUT", "/v1/project", { default_mode: mode })).status).toBe(200);
};
const post = async (named: object) =>
  (await mneme.call("POST", "/v1/memories/search", { query: QUESTION, explain: true, ...named })).body.explain.mode;
const get = async (named: string) =>
  (await mneme.call("GET", `/v1/memories/search?query=key&explain=true${named}`)).body.explain.mode;
const newChat = async (): Promise<string> => (await mneme.call("POST", "/v1/chats", {})).body.id;

/** The ways to ask. Each returns the sources of the answer, whose scores differ between modes. */
const ways: Readonly<Record<string, (named: object) => Promise<readonly { readonly score: number }[]>>> = {
  query: async (named) => (await mneme.call("POST", "/v1/memories/query", { query: QUESTION, ...named })).body.sources,
  sendMessage: async (named) => {
    const path = `/v1/chats/${await newChat()}/messages`;
    return (await mneme.call("POST", path, { message: QUESTION, ...named })).body.message.sources;
  },
  streamMessage: async (named) => {
    const path = `/v1/chats/${await newChat()}/messages/stream`;
    const reader = await openStream(mneme, path, { message: QUESTION, ...named });
    return expectWholeAnswer(await reader.rest()).sources;
  },
};

describe("a search that names no mode", () => {
  test.each([...MODE_NAMES, null])("uses the default %p, by POST and by GET; an empty scope too", async (mode) => {
    await setDefault(mode);
    const expected = mode ?? "balanced";
    expect([await post({}), await post({ mode: null }), await get("")]).toEqual([expected, expected, expected]);
    expect(await post({ userId: "nobody" })).toBe(expected);
  });

  test("a mode in the request decides, whatever the default is", async () => {
    await setDefault("fast");
    for (const mode of MODE_NAMES) expect([await post({ mode }), await get(`&mode=${mode}`)]).toEqual([mode, mode]);
  });

  test("another project's default has no effect", async () => {
    await setDefault("hybrid");
    await mneme.call("POST", "/v1/projects", { name: "other", default_mode: "fast" });
    expect(await post({})).toBe("hybrid");
  });
});

describe("answers", () => {
  for (const [way, ask] of Object.entries(ways)) {
    test(`${way} uses the default if it names no mode`, async () => {
      const scores = async (body: object) => (await ask(body)).map(({ score }) => score);
      const named = new Map<ModeName, readonly number[]>();
      for (const mode of ["fast", "hybrid", "balanced"] as const) named.set(mode, await scores({ mode }));
      expect(new Set([...named.values()].map((each) => each.join())).size).toBe(named.size);
      for (const [mode, expected] of named) {
        await setDefault(mode);
        expect([await scores({}), await scores({ mode: null })]).toEqual([[...expected], [...expected]]);
      }
      await setDefault("fast");
      expect(await scores({ mode: "hybrid" })).toEqual([...(named.get("hybrid") ?? [])]);
    });
  }
});
