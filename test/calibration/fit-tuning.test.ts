// Weights and curves that are fitted to the judged samples: scores become probabilities, and models that cannot be
// fitted are refused with a sentence.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { queryLanguage } from "../../src/adapters/preparation/query-language.ts";
import { askingsOf, OWN_TEXTS } from "../../src/calibration/askings.ts";
import { type FitDependencies, fitTuning } from "../../src/calibration/fit-tuning.ts";
import { judgedSamples } from "../../src/calibration/judged-samples.ts";
import { SampleStore } from "../../src/calibration/sample-store.ts";
import { preparerFor } from "../../src/compose/models.ts";
import { scratchIndexes } from "../../src/compose/scratch-index.ts";
import type { RetrievalTuning } from "../../src/domain/retrieval-tuning.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Embedder, Reranker } from "../../src/ports/models.ts";
import { codeOf } from "../contract/stores.ts";
import { WordModels } from "../in-memory/models.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { testOfAll } from "../support/extent.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";

const clock = systemClock;
const log = createLog("silent");
const words = new WordModels({ dimensions: 256, delays: { next: () => Promise.resolve() } });
const embedder: Embedder = {
  ...{ id: words.id, fingerprint: words.fingerprint, dimensions: 256, tokensMax: 256, languages: ["en"] },
  tuning: words.tuning,
  embed: (texts, options) => words.embed(texts, options),
  countTokens: (texts, options) => words.countTokens(texts, options),
};
const reranker: Reranker = { languages: ["en"], score: (query, passages) => words.score(query, passages) };
const preparer = preparerFor(embedderOf(readModels(MODELS_DIR), ENGLISH), log);
const folder = temporaryFolder();
let open: ReturnType<typeof scratchIndexes>;

beforeAll(() => {
  open = scratchIndexes({ dataDir: folder.path, log, clock });
});
afterAll(async () => {
  await preparer.close();
  folder.remove();
});

async function fit(more: Partial<FitDependencies> = {}): Promise<RetrievalTuning> {
  const index = await open(more.embedder ?? embedder);
  try {
    return await fitTuning({
      ...{ index, embedder, reranker: null, preparer, languageOf: queryLanguage, clock, texts: [] },
      ...{ onProgress: () => undefined, signal: new AbortController().signal, ...more },
    });
  } finally {
    await index.close();
  }
}

testOfAll(
  "scores with fitted curves are as often right as they say, and answerable questions pass the threshold",
  async () => {
    const progress: (readonly [number, number])[] = [];
    const own = { id: "own/0", owner: OWN_TEXTS, part: OWN_TEXTS, title: null, language: null, createdAt: null };
    const tuning = await fit({
      reranker,
      texts: [{ ...own, content: "A text of a project, which no question asks for." }],
      onProgress: (done, total) => void progress.push([done, total]),
    });
    expect(readdirSync(folder.path)).toEqual([]);
    expect(tuning.calibration).toBe("fitted");
    expect(progress.at(-1)?.[0]).toBe(progress.at(-1)?.[1] ?? -1);
    for (const evidenceMin of Object.values(tuning.evidenceMin)) {
      expect(evidenceMin).toBeGreaterThan(0.02);
      expect(evidenceMin).toBeLessThan(0.6);
    }

    const samples = judgedSamples(["en"]);
    await using scratch = await opened();
    const store = new SampleStore({
      ...{ index: scratch.index, embedder, reranker },
      preparer,
      languageOf: queryLanguage,
      clock,
    });
    await store.store(samples.texts, new AbortController().signal);
    for (const mode of ["fast", "hybrid", "balanced"] as const) {
      const tops: { readonly score: number; readonly isRight: boolean }[] = [];
      for (const { question, scope, relevant } of askingsOf(samples).filter(({ store: of }) => of === "all texts")) {
        const { text, asOf } = question;
        const { results } = await store.search({ text, asOf, scope, mode, changes: {}, tuning });
        const [top] = results;
        if (top !== undefined) tops.push({ score: top.score, isRight: relevant.has(top.memory.externalId ?? "") });
      }
      const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
      const [low, high] = [tops.filter(({ score }) => score < 0.5), tops.filter(({ score }) => score >= 0.5)];
      expect(
        Math.abs(mean(tops.map(({ score }) => score)) - mean(tops.map((top) => Number(top.isRight)))),
      ).toBeLessThan(0.12);
      expect(mean(high.map((top) => Number(top.isRight)))).toBeGreaterThan(
        mean(low.map((top) => Number(top.isRight))) + 0.2,
      );
    }
  },
);

async function opened() {
  const scratch = await open(embedder);
  return { index: scratch, [Symbol.asyncDispose]: () => scratch.close() };
}

test("a model of a language without samples is refused before it computes anything", async () => {
  const refuse = () => Promise.reject(new Error("the model was asked"));
  const foreign = { ...embedder, languages: ["xx"], embed: refuse };
  expect(await codeOf(() => fit({ embedder: foreign }))).toBe("invalid_state");
});

testOfAll("a model with the same vector for all texts is refused", async () => {
  const embed: Embedder["embed"] = async (texts) => {
    const vectors = new Float32Array(texts.length * 256);
    for (let at = 0; at < texts.length; at++) vectors[at * 256] = 1;
    return vectors;
  };
  expect(await codeOf(() => fit({ embedder: { ...embedder, embed } }))).toBe("invalid_state");
  expect(readdirSync(folder.path)).toEqual([]);
});

test("an abort ends it, and leaves no files", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const onProgress = (done: number) => {
    if (done === 3) abort.abort(reason);
  };
  await expect(fit({ onProgress, signal: abort.signal })).rejects.toBe(reason);
  expect(readdirSync(folder.path)).toEqual([]);
});
