// `knownAt` of searches and questions: results have the texts and relations of then, and nothing else than a search at
// that time could have found.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

/** A text, the one that replaced it, and a question for the first one. */
const REWRITTEN = [
  ["The spare key hangs under the blue boat.", "The fence was painted green.", "Where is the spare key?"],
  ["Der Ersatzschlüssel liegt beim Bäcker.", "Der Zaun ist jetzt grün.", "Wo liegt der Ersatzschlüssel?"],
  ["Le code du portail est 4417.", "La clôture est verte.", "Quel est le code du portail ?"],
  ["La reunión con Inés es en la sala 12.", "La valla es verde.", "¿Dónde es la reunión con Inés?"],
  ["会議は木曜日の午後に三階で行います。", "柵は緑色です。", "会議はどこで行いますか"],
  ["Встреча с Ольгой в музее.", "Забор зелёный.", "Где встреча с Ольгой?"],
  ["Rezervasyon numarası KX-8817.", "Çit yeşil.", "Rezervasyon numarası nedir?"],
] as const;

let mneme: TestService;
let then: string;
const ids: string[] = [];
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  for (const [before] of REWRITTEN) ids.push(await stored(before, { userId: "ada", tags: ["old"] }));
  await stored("Bread is baked on Tuesdays.", { userId: "ada" });
  const foreign = await stored("Eve hides her spare key in the barn.", { userId: "eve" });
  const deleted = await stored("A second spare key is in the well.", { userId: "ada" });
  then = await momentAfterAll();
  for (const [at, [, after]] of REWRITTEN.entries()) await rewrite(ids[at] ?? "", after);
  await rewrite(foreign, "The barn burnt down.");
  await rewrite(deleted, "There is no second one.");
  await mneme.call("DELETE", `/v1/memories/${deleted}`);
  await stored("The spare key was lost at sea, later.", { userId: "ada" });
});
afterAll(() => mneme.stop());

const now = (offsetMs = 0) => isoTime(systemClock.now() + offsetMs);
async function momentAfterAll(): Promise<string> {
  const moment = now();
  while (now() === moment) await new Promise(setImmediate);
  return moment;
}
async function stored(content: string, more: object = {}): Promise<string> {
  return (await mneme.store({ content, ...more })).body.id;
}
async function rewrite(id: string, content: string): Promise<void> {
  await mneme.call("PUT", `/v1/memories/${id}`, { content });
  await mneme.settled(id);
}
interface Found {
  readonly content: string;
  readonly memory_id: string;
  readonly score: number;
  readonly metadata: { readonly _chunk: object };
}
const search = async (query: string, more: object = {}): Promise<readonly Found[]> => {
  const { body } = await mneme.call("POST", "/v1/memories/search", { query, userId: "ada", limit: 20, ...more });
  return body.results;
};
const contentsOf = (results: readonly Found[]) => results.map(({ content }) => content);

describe("a search with knownAt", () => {
  for (const [mode, includeGraph] of [
    ["fast", false],
    ["hybrid", false],
    ["hybrid", true],
    ["balanced", false],
    ["balanced", true],
    ["precise", true],
  ] as const) {
    const how = includeGraph ? `${mode}, with the graph` : mode;
    test(`finds each text of then, and no text that came later (${how})`, async () => {
      for (const [at, [before, after, question]] of REWRITTEN.entries()) {
        const found = await search(question, { mode, knownAt: then, includeGraph });
        const own = found.find(({ memory_id }) => memory_id === ids[at]);
        expect(own).toMatchObject({
          ...{ content: before, id: expect.stringMatching(/^chunk_/) },
          metadata: { _chunk: { ordinal: 0, start: 0, end: [...before].length } },
        });
        expect(contentsOf(found).slice(0, 3)).toContain(before);
        expect(contentsOf(found).filter((content) => REWRITTEN.some(([, late]) => late === content))).toEqual([]);
        expect(contentsOf(found)).not.toContain("The spare key was lost at sea, later.");
        const scores = found.map(({ score }) => score);
        expect(scores).toEqual(scores.toSorted((one, other) => other - one));
        // today's search is not changed
        const today = contentsOf(await search(question, { mode, includeGraph }));
        expect([today.includes(after), today.includes(before)]).toEqual([true, false]);
      }
    });
  }

  test("finds what has not changed since", async () => {
    const question = "When is bread baked?";
    expect((await search(question, { knownAt: then }))[0]?.content).toBe("Bread is baked on Tuesdays.");
    expect((await search(question, { knownAt: now() }))[0]?.content).toBe("Bread is baked on Tuesdays.");
  });

  test("keeps to user, filters, limit and min_score, and shows no deleted memory", async () => {
    const [[before, , question]] = REWRITTEN;
    const found = await search(question, { knownAt: then });
    const all = contentsOf(found);
    expect(all).not.toContain("Eve hides her spare key in the barn.");
    expect(all).not.toContain("A second spare key is in the well.");
    expect(contentsOf(await search(question, { knownAt: then, userId: "eve" }))).toEqual([
      "Eve hides her spare key in the barn.",
    ]);
    const tagged = await search(question, { knownAt: then, filters: { tags: "old" } });
    expect(contentsOf(tagged).toSorted()).toEqual(REWRITTEN.map(([text]) => text).toSorted());
    expect(await search(question, { knownAt: then, filters: { tags: "new" } })).toEqual([]);
    expect(contentsOf(await search(question, { knownAt: then, limit: 1 }))).toEqual([before]);
    expect(contentsOf(await search(question, { knownAt: then, min_score: found[0]?.score ?? 0 }))).toEqual([before]);
    const byUrl = await mneme.call(
      "GET",
      `/v1/memories/search?query=${encodeURIComponent(question)}&userId=ada&limit=1&knownAt=${then}`,
    );
    expect(contentsOf(byUrl.body.results)).toEqual([before]);
  });

  test("refuses a filter on what supersedes memories today: 400", async () => {
    for (const filters of [{ superseded_by: null }, { $not: { $or: [{ tags: "old" }, { superseded_by: "mem_x" }] } }]) {
      const body = { query: "key", filters, knownAt: then };
      for (const [target, more] of [
        ["search", {}],
        ["query", { stream: true }],
      ] as const) {
        const answered = await mneme.call("POST", `/v1/memories/${target}`, { ...body, ...more });
        expectFault(answered, 400, "invalid_filter", "filters");
      }
    }
  });

  test("knows which passage was current then", async () => {
    const scope = { userId: "bo" };
    const older = await stored("The rowing club meets in hall A.", scope);
    const newer = await stored("The rowing club meets in hall F.", scope);
    const moment = async (type: string) => {
      await mneme.call("PUT", `/v1/memories/${newer}/relations`, { memory_id: older, type });
      return momentAfterAll();
    };
    const [one, other] = [await moment("supersedes"), await moment("superseded_by")];
    await rewrite(older, "The club was closed.");
    const order = async (knownAt: string) =>
      (await search("In which hall does the rowing club meet?", { ...scope, knownAt })).map(
        ({ memory_id }) => memory_id,
      );
    expect(await order(one)).toEqual([newer, older]);
    expect(await order(other)).toEqual([older, newer]);
  });

  test("finds no text that was erased from the history, and does not show the current one in its place", async () => {
    const id = await stored("The vault opens with 9-13-77.", { userId: "cy" });
    const moment = await momentAfterAll();
    await rewrite(id, "The vault opens with a key.");
    await mneme.call("DELETE", `/v1/memories/${id}/history`);
    expect(await search("How does the vault open?", { userId: "cy", knownAt: moment })).toEqual([]);
  });
});

describe("a question with knownAt", () => {
  test("is answered with the text of then, which is its source", async () => {
    const [[before, , question]] = REWRITTEN;
    const { body } = await mneme.call("POST", "/v1/memories/query", { query: question, userId: "ada", knownAt: then });
    expect(body.answer).toContain("blue boat");
    expect(body.sources[0]).toMatchObject({ content: before, memory_id: ids[0], cited: true });
    const today = await mneme.call("POST", "/v1/memories/query", { query: question, userId: "ada" });
    expect(today.body.answer).not.toContain("blue boat");
  });

  test("400 outside of the span, also for a stream, and for no time", async () => {
    for (const knownAt of [now(60_000), now(-400 * 86_400_000), "then"]) {
      const body = { query: "Where is the key?", knownAt };
      for (const target of ["search", "query"]) {
        for (const more of target === "query" ? [{}, { stream: true }] : [{}]) {
          const answered = await mneme.call("POST", `/v1/memories/${target}`, { ...body, ...more });
          expectFault(answered, 400, "invalid_request", "knownAt");
        }
      }
    }
  });
});
