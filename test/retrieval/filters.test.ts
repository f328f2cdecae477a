// What a filter does to a search: nothing outside it is shown, nothing inside it is lost.
// What filters mean is test/domain/filter.test.ts.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { type Filter, matchesFilter, parseFilter } from "../../src/domain/filter.ts";
import type { Json, Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { MODE_NAMES, type Ranking } from "../../src/domain/ranking.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { seeded } from "../support/seeded.ts";
import { askIn, chooseNearness, ofUser, storeIn } from "./asking.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const texts = ({ results }: Ranking) => results.map(({ text }) => text);
const filter = (of: unknown): Filter => parseFilter(of);

describe("in every mode", () => {
  test("results do not fall short: 10 of 10, although the 210 nearest lie outside the filter", async () => {
    chooseNearness(harness);
    await storeIn(
      harness,
      ...Array.from({ length: 210 }, (_, at) => ({ content: `Red kite ${at}, near .9.`, type: "noise" })),
      ...Array.from({ length: 10 }, (_, at) => ({ content: `Far away ${at}.`, type: "note", tags: ["kept"] })),
    );
    for (const mode of MODE_NAMES) {
      for (const of of [{ type: "note" }, { tags: { $contains: "kept" } }, { $not: { type: { $in: ["noise"] } } }]) {
        const ranking = await askIn(harness, { mode, filter: filter(of) });
        expect(ranking.admissible).toBe(10);
        expect(texts(ranking).sort()).toEqual(Array.from({ length: 10 }, (_, at) => `Far away ${at}.`));
      }
    }
  });

  test(`a result never lies outside the filter, and nothing inside it is missing (seed ${SEED})`, async () => {
    const chance = seeded(SEED);
    const one = <Item>(items: readonly Item[]) => items[Math.floor(chance() * items.length)] as Item;
    const drafts = Array.from({ length: 80 }, (_, at): MemoryDraft => {
      const userId = one([undefined, "ada", "bob"]);
      return {
        content: `Kite number ${at}${one(["", ", a red one"])}.`,
        type: one(["note", "mail"]),
        metadata: { size: one<Json>([1, 2, 3, "3", null]), place: { city: one(["Bern", "Ulm"]) } },
        ...(userId !== undefined && { userId }),
      };
    });
    const stored = (await storeIn(harness, ...drafts)).map((memory) => harness.read(memory) as Memory);
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
      const scope = userId === null ? { projectId: harness.projectId, user: null } : ofUser(harness, userId);
      const expected = stored.filter(
        (memory) => (userId === null || memory.userId === userId) && matchesFilter(asked, memory),
      );
      const { results, admissible } = await askIn(harness, { mode: one(MODE_NAMES), limit: 100, filter: asked, scope });
      expect(admissible).toBe(expected.length);
      expect(results.map(({ memory }) => memory.id).sort()).toEqual(expected.map(({ id }) => id).sort());
    }
  });
});

describe("what a filter cannot do", () => {
  test("it shows nothing of another user, whatever it asks for", async () => {
    await storeIn(harness, { content: "Ada's kite.", userId: "ada" }, { content: "Bob's kite.", userId: "bob" });
    for (const of of [{ userId: "bob" }, { $or: [{ userId: "bob" }, {}] }, { $not: { userId: "ada" } }]) {
      const found = texts(await askIn(harness, { scope: ofUser(harness, "ada"), filter: filter(of) }));
      expect(found.filter((text) => text !== "Ada's kite.")).toEqual([]);
    }
    expect(texts(await askIn(harness, { filter: filter({ userId: "bob" }) }))).toEqual(["Bob's kite."]);
  });

  test("one that admits nothing is answered, whatever becomes of the question's embedding", async () => {
    await storeIn(harness, { content: "A red kite." });
    harness.embedder.before = () => {
      throw new Fault("model_unavailable", "No model.");
    };
    expect(await askIn(harness, { filter: filter({ $or: [] }) })).toMatchObject({ results: [], admissible: 0 });
    expect(await askIn(harness, { filter: filter({ type: "none such" }) })).toMatchObject({
      results: [],
      admissible: 0,
    });
    await expect(askIn(harness, { filter: filter({ $not: { type: "none such" } }) })).rejects.toMatchObject({
      code: "model_unavailable",
    });
  });
});

describe("what changes while a search runs", () => {
  test("a memory that left the filter, or went to another user, is not shown", async () => {
    const [left, moved] = (await storeIn(
      harness,
      ...["left", "moved", "stays"].map((name) => ({ content: `The ${name} kite.`, type: "note", userId: "ada" })),
    )) as [Memory, Memory, Memory];
    harness.embedder.before = () => {
      harness.memories.change(harness.projectId, left.id, { type: "mail" });
      harness.memories.change(harness.projectId, moved.id, { userId: "bob" });
    };
    for (const mode of MODE_NAMES) {
      const request = { mode, scope: ofUser(harness, "ada"), filter: filter({ type: "note" }) };
      expect(texts(await askIn(harness, request))).toEqual(["The stays kite."]);
      harness.memories.change(harness.projectId, left.id, { type: "note" });
      harness.memories.change(harness.projectId, moved.id, { userId: "ada" });
    }
  });
});
