// Searches with a filter: no result is outside the filter, and none inside it is missing. The meaning of filters is
// tested in test/domain/filter.test.ts.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { type Filter, matchesFilter, parseFilter } from "../../src/domain/filter.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { MODE_NAMES, type Ranking } from "../../src/domain/ranking.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { seeded } from "../support/seeded.ts";
import { embedMarkedSimilarities, searchIn, storeIn, userScope } from "./search-fixtures.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const texts = ({ results }: Ranking) => results.map(({ text }) => text);
const filter = (of: unknown): Filter => parseFilter(of);

describe("in every mode", () => {
  test("all 10 memories inside the filter are found, although the 210 nearest are outside", async () => {
    embedMarkedSimilarities(harness);
    await storeIn(
      harness,
      ...Array.from({ length: 210 }, (_, at) => ({ content: `Red kite ${at}, near .9.`, type: "noise" })),
      ...Array.from({ length: 10 }, (_, at) => ({ content: `Far away ${at}.`, type: "note", tags: ["kept"] })),
    );
    for (const mode of MODE_NAMES) {
      for (const of of [{ type: "note" }, { tags: { $contains: "kept" } }, { $not: { type: { $in: ["noise"] } } }]) {
        const ranking = await searchIn(harness, { mode, filter: filter(of) });
        expect(ranking.admissible).toBe(10);
        expect(texts(ranking).sort()).toEqual(Array.from({ length: 10 }, (_, at) => `Far away ${at}.`));
      }
    }
  });

  test(`random filters return exactly the memories inside them (seed ${SEED})`, async () => {
    const random = seeded(SEED);
    const one = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
    const drafts = Array.from({ length: 80 }, (_, at): MemoryDraft => {
      const userId = one([undefined, "ada", "bob"]);
      return {
        content: `Kite number ${at}${one(["", ", a red one"])}.`,
        type: one(["note", "mail"]),
        metadata: { size: one<Json>([1, 2, 3, "3", null]), place: { city: one(["Bern", "Ulm"]) } },
        ...(userId !== undefined && { userId }),
      };
    });
    const accepted = await storeIn(harness, ...drafts);
    const stored = (await Promise.all(accepted.map(harness.read))) as Memory[];
    const leaf = () =>
      one([
        { type: one(["note", "mail"]) },
        { "metadata.size": one<Json>([1, "3", null, { $gte: 2 }, { $nin: [1, null] }, { $exists: true }]) },
        { "metadata.place.city": one(["Bern", "Ulm"]) },
        { userId: one(["ada", null]) },
      ]);
    for (let round = 0; round < 60; round++) {
      const asked = filter(one([leaf(), { $or: [leaf(), leaf()] }, { $and: [leaf(), { $not: leaf() }] }]));
      const userId = one([null, "ada"]);
      const scope = userId === null ? { projectId: harness.projectId, user: null } : await userScope(harness, userId);
      const expected = stored.filter(
        (memory) => (userId === null || memory.userId === userId) && matchesFilter(asked, memory),
      );
      const { results, admissible } = await searchIn(harness, {
        mode: one(MODE_NAMES),
        limit: 100,
        filter: asked,
        scope,
      });
      expect(admissible).toBe(expected.length);
      expect(results.map(({ memory }) => memory.id).sort()).toEqual(expected.map(({ id }) => id).sort());
    }
  });
});

describe("a filter", () => {
  test("cannot show memories of another user", async () => {
    await storeIn(harness, { content: "Ada's kite.", userId: "ada" }, { content: "Bob's kite.", userId: "bob" });
    for (const of of [{ userId: "bob" }, { $or: [{ userId: "bob" }, {}] }, { $not: { userId: "ada" } }]) {
      const found = texts(await searchIn(harness, { scope: await userScope(harness, "ada"), filter: filter(of) }));
      expect(found.filter((text) => text !== "Ada's kite.")).toEqual([]);
    }
    expect(texts(await searchIn(harness, { filter: filter({ userId: "bob" }) }))).toEqual(["Bob's kite."]);
  });

  test("that admits no memory gives an empty result even if embedding the query fails", async () => {
    await storeIn(harness, { content: "A red kite." });
    harness.embedder.before = () => {
      throw new Fault("model_unavailable", "No model.");
    };
    expect(await searchIn(harness, { filter: filter({ $or: [] }) })).toMatchObject({ results: [], admissible: 0 });
    expect(await searchIn(harness, { filter: filter({ type: "none such" }) })).toMatchObject({
      results: [],
      admissible: 0,
    });
    await expect(searchIn(harness, { filter: filter({ $not: { type: "none such" } }) })).rejects.toMatchObject({
      code: "model_unavailable",
    });
  });
});

describe("a change while a search runs", () => {
  test("hides a memory that left the filter or was given to another user", async () => {
    const [left, moved] = (await storeIn(
      harness,
      ...["left", "moved", "stays"].map((name) => ({ content: `The ${name} kite.`, type: "note", userId: "ada" })),
    )) as [Memory, Memory, Memory];
    harness.embedder.before = async () => {
      await harness.memories.change(harness.projectId, left.id, { type: "mail" });
      await harness.memories.change(harness.projectId, moved.id, { userId: "bob" });
    };
    for (const mode of MODE_NAMES) {
      const request = { mode, scope: await userScope(harness, "ada"), filter: filter({ type: "note" }) };
      expect(texts(await searchIn(harness, request))).toEqual(["The stays kite."]);
      await harness.memories.change(harness.projectId, left.id, { type: "note" });
      await harness.memories.change(harness.projectId, moved.id, { userId: "ada" });
    }
  });
});
