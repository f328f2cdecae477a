// The steps of a search on real stores and a real index. The models are fakes, so that a test controls similarities,
// reranker scores and failures.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { MODES, RERANKED_TOKENS_MAX } from "../../src/retrieval/modes.ts";
import type { SearchRequest } from "../../src/retrieval/request.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { searchText } from "../support/search-legs.ts";
import {
  DEADLINE_MS,
  embedMarkedSimilarities,
  neutralReranker,
  searchIn,
  storeIn,
  type TestReranker,
  userScope,
} from "./search-fixtures.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const ask = (request: Partial<SearchRequest> = {}, reranker: TestReranker | null = neutralReranker) =>
  searchIn(harness, request, reranker);
const store = (...drafts: readonly MemoryDraft[]) => storeIn(harness, ...drafts);
const stages = async (request: Partial<SearchRequest> = {}) => (await ask(request)).stages.map(({ name }) => name);

describe("the scope is applied first", () => {
  test("an empty project or an unknown user causes no embedding", async () => {
    let embedded = 0;
    harness.embedder.before = () => {
      embedded++;
    };
    expect(await ask()).toMatchObject({ results: [], admissible: 0 });
    await store({ content: "A red kite.", userId: "ada" });
    embedded = 0;
    expect(await ask({ scope: await userScope(harness, "nobody") })).toMatchObject({ results: [], admissible: 0 });
    expect(embedded).toBe(0);
  });

  test("a user's memory is found although other users have many nearer ones", async () => {
    await store(...Array.from({ length: 60 }, (_, at) => ({ content: `Red kite number ${at}.`, userId: "many" })), {
      content: "Unlike anything.",
      userId: "few",
    });
    for (const mode of MODE_NAMES) {
      const { results, admissible } = await ask({ mode, scope: await userScope(harness, "few") });
      expect([results.map(({ text }) => text), admissible]).toEqual([["Unlike anything."], 1]);
    }
  });
});

describe("the modes", () => {
  test("give each passage the score of full-text search, whichever search found it", async () => {
    await store(
      ...Array.from({ length: 6 }, (_, at) => ({ content: `A red kite over hill ${"and dale ".repeat(at)}.` })),
      ...Array.from({ length: 4 }, (_, at) => ({ content: `Unlike anything, number ${at}.` })),
    );
    const project = await harness.index.project(harness.projectId);
    const within = await project.admit(null, harness.clock.now());
    const found = await searchText(project, "the red kite", within, 20);
    expect(found.scores).toHaveLength(6);
    const passages = await project.passages(found.chunkKeys);
    const scoreOf = new Map(passages.map((passage, at) => [passage?.text, found.scores[at]]));
    const { results, stages: run } = await ask({ query: "the red kite", mode: "hybrid", limit: 20 });
    expect(results).toHaveLength(10);
    for (const { text, signals } of results) expect(signals.text?.score).toBe(scoreOf.get(text) ?? 0);
    const candidates = new Map(run.map(({ name, candidates: number }) => [name, number]));
    expect([candidates.get("text"), candidates.get("vector"), candidates.get("fuse")]).toEqual([6, 10, 10]);
  });

  test("begin to search before the query is embedded, and fail if that search fails", async () => {
    await store({ content: "A red kite." });
    const { promise: begun, resolve: markBegun } = Promise.withResolvers<void>();
    const project = await harness.index.project(harness.projectId);
    const embed = harness.embedder.embed.bind(harness.embedder);
    harness.embedder.embed = async (...asked) => {
      await begun; // if the index waited for the vector, the search would never end
      return embed(...asked);
    };
    harness.index.project = async () => ({
      ...project,
      recall: (...asked) => {
        markBegun();
        return project.recall(...asked);
      },
    });
    expect((await ask({ mode: "hybrid" })).results).toHaveLength(1);
    harness.index.project = async () => ({
      ...project,
      recall: () => Promise.reject(new Error("the index is broken")),
    });
    expect(ask({ mode: "hybrid" })).rejects.toThrow("the index is broken");
  });

  test("run their stages in order", async () => {
    await store({ content: "A red kite.", tags: ["public"] });
    expect(await stages({ mode: "fast" })).toEqual(["filter", "queue", "embed", "vector", "fuse", "hydrate"]);
    const filter = parseFilter({ tags: ["public"] });
    expect(await stages({ mode: "fast", filter })).toEqual(["filter", "queue", "embed", "vector", "fuse", "hydrate"]);
    // Both models have a queue; the times of both queues are summed up in one stage.
    const balanced = ["filter", "queue", "embed", "text", "vector", "graph", "fuse", "hydrate", "rerank"] as const;
    expect(await stages()).toEqual([...balanced]);
  });

  test("rank a passage first by full text although its vector is unrelated", async () => {
    await store(...Array.from({ length: 30 }, (_, at) => ({ content: `Filler ${at}.` })), { content: "The red kite." });
    const { results } = await ask({ limit: 1 });
    expect(results[0]?.text).toBe("The red kite.");
    expect(results[0]?.signals.text).toEqual({ rank: 1, score: expect.any(Number) });
  });

  test("rerank only the candidates with the best hybrid scores, and the reranker's favourite comes first", async () => {
    await store(...Array.from({ length: 30 }, (_, at) => ({ content: `Filler number ${at}.` })));
    const read: string[][] = [];
    const first = await ask({ limit: 30 });
    const favourite = first.results[5]?.text ?? "";
    const { results } = await ask(
      { limit: 30 },
      {
        score: async (_, passages) => {
          read.push([...passages]);
          return Float32Array.from(passages, (passage) => (passage.includes(favourite) ? 8 : -8));
        },
      },
    );
    expect(read.map((passages) => passages.length)).toEqual([MODES.balanced.rerankDepth]);
    expect(results[0]?.text).toBe(favourite);
    expect(results).toHaveLength(30);
    expect(results.filter(({ signals }) => signals.rerank !== undefined)).toHaveLength(MODES.balanced.rerankDepth);
  });

  for (const mode of ["balanced", "precise"] as const) {
    test(`rerank fewer passages if they are long, and the others stay behind them, in ${mode}`, async () => {
      const long = "and the wind carried it over the fields ".repeat(20);
      await store(...Array.from({ length: 40 }, (_, at) => ({ content: `Filler number ${at}, ${long}` })));
      const read: string[][] = [];
      const { results } = await ask(
        { mode, limit: 35 },
        {
          score: async (_, passages) => {
            read.push([...passages]);
            return new Float32Array(passages.length).fill(-8);
          },
        },
      );
      const fitting = MODES[mode].rerankTokensMax / RERANKED_TOKENS_MAX;
      expect(read.map((passages) => passages.length)).toEqual([fitting]);
      expect(results.map(({ signals }) => signals.rerank !== undefined)).toEqual(
        Array.from({ length: 35 }, (_, position) => position < fitting),
      );
    });
  }
});

describe("the reranker reads", () => {
  const textsRead = async () => {
    const read: string[] = [];
    await ask(
      {},
      {
        score: async (_, passages) => {
          read.push(...passages);
          return new Float32Array(passages.length);
        },
      },
    );
    return read;
  };

  test("a memory of one chunk with its title", async () => {
    await store({ title: "Kites", content: "A red one." });
    expect(await textsRead()).toEqual(["Kites. A red one."]);
  });

  test("only memories in its languages; the others stay where the hybrid score puts them", async () => {
    await store({ content: "A red kite." }, { content: "Ein roter Drachen.", language: "de" });
    expect(await textsRead()).toEqual(["A red kite."]);
    const { results } = await ask({}, neutralReranker);
    expect(results.map(({ text, signals }) => [text, signals.rerank !== undefined])).toEqual([
      ["A red kite.", true],
      ["Ein roter Drachen.", false],
    ]);
  });

  test("a chunk of a longer memory without title and headings, because it reads only half of a chunk", async () => {
    const paragraph = Array.from({ length: 30 }, (_, at) => `The red kite number ${at} is in the air.`).join(" ");
    await store({ title: "Kites", content: `# Red\n\n${paragraph}\n\n# Late\n\n${paragraph}` });
    const { results } = await ask();
    expect(results.length).toBeGreaterThan(2);
    expect(new Set(await textsRead())).toEqual(new Set(results.map(({ text }) => text)));
  });
});

describe("changes while a search runs", () => {
  test("a memory deleted after the admissible set was computed is not shown", async () => {
    const [doomed] = await store({ content: "A red kite." }, { content: "A blue kite." });
    harness.embedder.before = async () => {
      await harness.memories.remove(harness.projectId, (doomed as Memory).id);
    };
    const { results } = await ask();
    expect(results.map(({ text }) => text)).toEqual(["A blue kite."]);
  });

  const changesMeanwhile: Record<string, (doomed: Memory) => unknown> = {
    deleted: ({ id }) => harness.memories.remove(harness.projectId, id),
    "moved to another user": ({ id }) => harness.memories.change(harness.projectId, id, { userId: "eve" }),
    "moved out of the filter": ({ id }) => harness.memories.change(harness.projectId, id, { tags: ["private"] }),
    expired: () => harness.clock.advance(60_000),
    rewritten: ({ id }) => harness.memories.change(harness.projectId, id, { content: "A green kite." }),
    "rewritten and published again": async (doomed) => {
      await harness.memories.change(harness.projectId, doomed.id, { content: "A green kite." });
      harness.worker.wake();
      await harness.settled(doomed);
    },
  };
  const ofAdaAndPublic = async () => ({
    scope: await userScope(harness, "ada"),
    filter: parseFilter({ tags: ["public"] }),
  });
  const storeTwo = (expiresAt: number) => {
    const ofAda = { userId: "ada", tags: ["public"] };
    return store({ content: "A red kite.", expiresAt, ...ofAda }, { content: "A blue kite.", ...ofAda });
  };

  for (const [change, make] of Object.entries(changesMeanwhile)) {
    test(`a memory ${change} while the reranker works is not shown`, async () => {
      const [doomed] = await storeTwo(harness.clock.now() + 60_000);
      const texts: string[] = [];
      const { results } = await ask(await ofAdaAndPublic(), {
        score: async (_, passages) => {
          texts.push(...passages);
          await make(doomed as Memory);
          return new Float32Array(passages.length);
        },
      });
      expect(texts).toHaveLength(2);
      expect(results.map(({ text }) => text)).toEqual(["A blue kite."]);
    });

    test(`a memory ${change} while its passage is fetched is not shown, also in fast`, async () => {
      const [doomed] = await storeTwo(harness.clock.now() + 60_000);
      const project = await harness.index.project(harness.projectId);
      harness.index.project = async () => ({
        ...project,
        passages: async (keys) => {
          const passages = await project.passages(keys);
          await make(doomed as Memory);
          return passages;
        },
      });
      const { results } = await ask({ ...(await ofAdaAndPublic()), mode: "fast" });
      expect(results.map(({ text }) => text)).toEqual(["A blue kite."]);
    });
  }

  for (const mode of MODE_NAMES) {
    test(`memories deleted while passages are fetched are replaced by the next candidates, in ${mode}`, async () => {
      const count = 2 * MODES.precise.rerankDepth;
      await store(...Array.from({ length: count }, (_, at) => ({ content: `Red kite number ${at}.` })));
      const limit = MODES.precise.rerankDepth;
      const before = (await ask({ mode, limit })).results.map(({ memory }) => memory.id);
      const project = await harness.index.project(harness.projectId);
      const reads: number[] = [];
      harness.index.project = async () => ({
        ...project,
        passages: async (keys) => {
          reads.push(keys.length);
          const doomed = reads.length === 1 ? before.slice(0, 3) : before.slice(3, 4);
          for (const id of doomed) await harness.memories.remove(harness.projectId, id);
          return project.passages(keys);
        },
      });
      const { results } = await ask({ mode, limit });
      const shown = results.map(({ memory }) => memory.id);
      expect(reads.length).toBeGreaterThan(1);
      expect(shown).toHaveLength(limit);
      expect(shown.filter((id) => before.slice(0, 4).includes(id))).toEqual([]);
      expect(new Set(shown).size).toBe(limit);
    });
  }

  for (const mode of ["hybrid", "precise"] as const) {
    test(`if more memories are deleted while passages are fetched than are ranked at once, others follow, in ${mode}`, async () => {
      await store(...Array.from({ length: 130 }, (_, at) => ({ content: `Red kite number ${at}.` })));
      const best = (await ask({ mode, limit: 100 })).results.map(({ memory }) => memory.id);
      expect(best).toHaveLength(100);
      const project = await harness.index.project(harness.projectId);
      harness.index.project = async () => ({
        ...project,
        passages: async (keys) => {
          for (const id of best.splice(0)) await harness.memories.remove(harness.projectId, id);
          return project.passages(keys);
        },
      });
      const doomed = new Set(best);
      const { results } = await ask({ mode, limit: 20 });
      expect(results.filter(({ memory }) => doomed.has(memory.id))).toEqual([]);
      expect(new Set(results.map(({ memory }) => memory.id)).size).toBe(20);
    });
  }

  test("a title changed while the reranker works is shown with its new value", async () => {
    const [memory] = await store({ content: "A red kite.", title: "Kite" });
    const { results } = await ask(
      {},
      {
        score: async (_, passages) => {
          await harness.memories.change(harness.projectId, (memory as Memory).id, { title: "Bird" });
          return new Float32Array(passages.length);
        },
      },
    );
    expect(results.map(({ text, memory: { title } }) => [text, title])).toEqual([["A red kite.", "Bird"]]);
  });

  test("a reranker that misses its deadline is skipped: the order of hybrid scores stays, without the rerank signal", async () => {
    await store({ content: "A red kite." });
    const late: TestReranker = {
      score: async (_, passages, { deadlineMs } = {}) => {
        expect(deadlineMs).toBe(DEADLINE_MS);
        return new Float32Array(passages.length).fill(Number.NaN);
      },
    };
    const { results, stages } = await ask({}, late);
    expect(results[0]?.text).toBe("A red kite.");
    expect(results[0]?.signals.rerank).toBeUndefined();
    expect(stages).toContainEqual({ name: "rerank", ms: expect.any(Number), candidates: 0, skipped: 1 });
  });

  test("passages that were not read by the deadline get no rerank signal; explain counts them", async () => {
    await store({ content: "A red kite." }, { content: "Another red kite." }, { content: "A third red kite." });
    const half: TestReranker = {
      score: async (_, passages) => Float32Array.from(passages, (text) => (text.includes("third") ? 6 : Number.NaN)),
    };
    const { results, stages } = await ask({}, half);
    expect(results.length).toBe(3);
    for (const { text, signals } of results) expect(signals.rerank !== undefined).toBe(text.includes("third"));
    expect(stages).toContainEqual({ name: "rerank", ms: expect.any(Number), candidates: 1, skipped: 2 });
  });

  test("unavailable models cause an error, not a weaker ranking", async () => {
    await store({ content: "A red kite." });
    const gone: TestReranker = {
      score: async () => {
        throw new Fault("model_unavailable", "No reranker.");
      },
    };
    await expect(ask({}, gone)).rejects.toMatchObject({ code: "model_unavailable" });
    harness.embedder.before = () => {
      throw new Fault("overloaded", "Too much.");
    };
    await expect(ask()).rejects.toMatchObject({ code: "overloaded" });
  });

  test("an aborted request gets no partial ranking", async () => {
    await store({ content: "A red kite." });
    const hangUp = new AbortController();
    const late: TestReranker = {
      score: (_, __, { signal } = {}) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
          hangUp.abort();
        }),
    };
    await expect(ask({ signal: hangUp.signal }, late)).rejects.toThrow();
  });
});

describe("the models of a search", () => {
  const query = "Кто запускал красного змея?";
  const hasRerank = async (reranker: TestReranker | null, languages: readonly string[]) => {
    harness.embedder.languages = languages;
    const { results } = await ask({ query }, reranker);
    return results.some(({ signals }) => signals.rerank !== undefined);
  };

  test("the reranker reads only questions in its languages, the embedder may know more", async () => {
    await store({ content: "Красного змея запускала Ада." });
    expect(await hasRerank({ ...neutralReranker, languages: ["en", "ru"] }, ["en", "ru"])).toBeTrue();
    expect(await hasRerank({ ...neutralReranker, languages: ["en"] }, ["en", "ru"])).toBeFalse();
    expect(await hasRerank({ ...neutralReranker, languages: ["en", "ru"] }, ["en"])).toBeFalse();
  });

  test("without a reranker, balanced and precise rank by hybrid score", async () => {
    await store({ content: "A red kite." });
    for (const mode of ["balanced", "precise"] as const) {
      const { results, stages } = await ask({ mode }, null);
      expect(results[0]?.signals.rerank).toBeUndefined();
      expect(stages.map(({ name }) => name)).not.toContain("rerank");
    }
  });
});

describe("turns of a conversation", () => {
  test("of the named speaker are preferred where full text takes part, also behind the requested limit", async () => {
    embedMarkedSimilarities(harness); // the same similarity for all
    const others = Array.from({ length: 15 }, (_, at) => `Ben: The red kite number ${at} is mine.`);
    await store({ type: "conversation", content: [...others, "Ada: A kite can wait."].join("\n") });
    const query = "What did Ada think of the red kite?";
    for (const mode of MODE_NAMES) {
      const { results } = await ask({ query, mode, limit: 1 });
      expect(results.map(({ place }) => place.turn?.speaker)).toEqual([mode === "fast" ? "Ben" : "Ada"]);
    }
  });
});

describe("scores", () => {
  test("are in 0..1 and fall; scoreMin and limit shorten the list", async () => {
    await store(...Array.from({ length: 25 }, (_, at) => ({ content: `Kite ${"red ".repeat(at % 5)}${at}.` })));
    const { results } = await ask({ limit: 25 });
    const scores = results.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((left, right) => right - left));
    expect(scores.every((score) => score >= 0 && score <= 1)).toBeTrue();
    const bound = scores[9] ?? 0;
    expect((await ask({ limit: 25, scoreMin: bound })).results).toHaveLength(scores.filter((s) => s >= bound).length);
    expect((await ask({ limit: 3 })).results).toEqual(results.slice(0, 3));
  });
});
