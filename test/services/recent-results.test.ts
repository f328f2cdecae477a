// What the models computed for recent questions: the same numbers as theirs, bounded in bytes and time, apart for each
// project.

import { describe, expect, onTestFinished, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Embedder, Embedders, Reranker } from "../../src/ports/models.ts";
import { RecentResults } from "../../src/services/recent-results.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { startService } from "../support/service.ts";

const ADA = "prj_ada" as ProjectId;
const BEN = "prj_ben" as ProjectId;
const KIB = 1024;

/** Models that count their calls. The numbers of a text are its length and the number of the call. */
function counted(dimensions = 2) {
  const calls: string[] = [];
  const embedder = {
    ...{ id: "e", dimensions, fingerprint: "e/1", tokensMax: 512, languages: ["en"] },
    embed: async (texts: readonly string[]) => {
      calls.push(texts.join("|"));
      return new Float32Array(dimensions).fill(calls.length);
    },
  } as unknown as Embedder;
  const reranker: Reranker = {
    languages: ["en"],
    score: async (query, passages) => {
      calls.push(`${query}?${passages.join("|")}`);
      return Float32Array.from(passages, ({ length }) => (length === 0 ? Number.NaN : length));
    },
  };
  const embedders = {
    default: embedder,
    ids: ["e"],
    get: () => embedder,
    withFingerprint: () => embedder,
  } as Embedders;
  return { calls, models: { embedders, rerankers: { for: () => reranker } } };
}

const clockAt = (now: { ms: number }) => ({ now: () => now.ms }) as Clock;
const query = { purpose: "query", priority: "query" } as const;

function recentWith(models: ReturnType<typeof counted>["models"], bytesMax = 64 * KIB, now = { ms: 0 }) {
  const outcomes: string[] = [];
  const recent = new RecentResults({ bytesMax, clock: clockAt(now), count: (outcome) => outcomes.push(outcome) });
  const of = (project: ProjectId) => recent.of(project, models);
  const embedder = (project = ADA) => of(project).embedders.withFingerprint("e/1") as Embedder;
  const embed = (text: string, project = ADA) => embedder(project).embed([text], query);
  const score = (text: string, passages: readonly string[], project = ADA) =>
    of(project).rerankers.for({ id: "e" })?.score(text, passages);
  return { recent, of, embedder, embed, score, outcomes };
}

describe("a question that is asked again", () => {
  test("gets the same numbers without a model", async () => {
    const { calls, models } = counted();
    const { embed, score, outcomes } = recentWith(models);
    expect(await embed("where is the key?")).toEqual(await embed("where is the key?"));
    expect(await score("where?", ["pot", "door"])).toEqual(await score("where?", ["pot", "door"]));
    expect(calls).toEqual(["where is the key?", "where??pot|door"]);
    expect(outcomes).toEqual(["computed", "known", "computed", "known"]);
  });

  test("is not confused with one whose texts are cut elsewhere, in another order, or for another purpose", async () => {
    const { calls, models } = counted();
    const { embedder, score } = recentWith(models);
    for (const passages of [["ab", "c"], ["a", "bc"], ["c", "ab"], ["abc"]]) await score("q", passages);
    await score("qa", ["b", "c"]);
    for (const purpose of ["query", "passage"] as const) {
      await embedder().embed(["q"], { purpose, priority: "query" });
    }
    expect(calls).toHaveLength(7);
  });

  test("by another project, or for a batch job, is computed", async () => {
    const { calls, models } = counted();
    const { embedder, embed } = recentWith(models);
    await embed("where?");
    await embed("where?", BEN);
    const ingest = { purpose: "query", priority: "ingest" } as const;
    for (let call = 0; call < 2; call++) await embedder().embed(["where?"], ingest);
    expect(calls).toHaveLength(4);
  });

  test("is computed again after ten minutes", async () => {
    const { calls, models } = counted();
    const now = { ms: 0 };
    const { embed } = recentWith(models, 64 * KIB, now);
    await embed("where?");
    now.ms = 10 * 60_000 - 1;
    await embed("where?");
    expect(calls).toHaveLength(1);
    now.ms += 1;
    await embed("where?");
    expect(calls).toHaveLength(2);
  });

  test("is computed again if the reranker had not read everything before its deadline", async () => {
    const { calls, models } = counted();
    const { score } = recentWith(models);
    for (let call = 0; call < 2; call++) await score("where?", ["pot", ""]);
    expect(calls).toHaveLength(2);
  });

  test("ends with the abort reason of a caller who has left", async () => {
    const { models } = counted();
    const { embedder, embed } = recentWith(models);
    await embed("where?");
    const signal = AbortSignal.abort(new Error("left"));
    expect(embedder().embed(["where?"], { ...query, signal })).rejects.toThrow("left");
  });

  test("begins at once for those who measure how long it waited", async () => {
    const { models } = counted();
    const { embedder, embed } = recentWith(models);
    await embed("where?");
    let begun = 0;
    await embedder().embed(["where?"], { ...query, onBegin: () => begun++ });
    expect(begun).toBe(1);
  });
});

test("what a caller does with its numbers does not change those of the next one", async () => {
  const { models } = counted();
  const { embed } = recentWith(models);
  (await embed("where?")).fill(9);
  (await embed("where?")).fill(9);
  expect(await embed("where?")).toEqual(Float32Array.of(1, 1));
});

test("the bytes of all results stay below the limit, and those used last are kept", async () => {
  const { calls, models } = counted(64);
  const { recent, embed } = recentWith(models, 16 * KIB);
  for (let question = 0; question < 100; question++) {
    await embed("asked all the time");
    await embed(`question ${question}`);
    expect(recent.bytes).toBeLessThanOrEqual(16 * KIB);
  }
  expect(calls.filter((text) => text === "asked all the time")).toHaveLength(1);
  await embed("question 0");
  expect(calls.filter((text) => text === "question 0")).toHaveLength(2);
});

test("without memory for it, the models themselves answer", async () => {
  const { models } = counted();
  const { recent, of } = recentWith(models, 0);
  expect(of(ADA)).toEqual(models);
  expect(recent.bytes).toBe(0);
});

test("real searches are the same with and without it", async () => {
  const service = await startService({ ports: WORD_PORTS });
  onTestFinished(() => service.stop());
  for (const content of ["The spare key is under the blue pot.", "The ferry leaves at nine."]) {
    const { body } = await service.call("POST", "/v1/memories", { content });
    await service.settled(body.id);
  }
  const ask = async () => (await service.call("POST", "/v1/memories/search", { query: "spare key?" })).body.results;
  const first = await ask();
  expect(first).toHaveLength(2);
  expect(await ask()).toEqual(first);
  const metrics = await (await service.service.handle(new Request("http://mneme.test/metrics"))).text();
  expect(metrics).toMatch(/^mneme_query_cache_calls_total\{outcome="known"\} [1-9]/m);
  await service.call("DELETE", `/v1/memories/${first[0].memory_id}`);
  expect((await ask()).map(({ id }: { id: string }) => id)).toEqual([first[1].id]);
});
