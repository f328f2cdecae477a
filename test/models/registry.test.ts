// Which curves hold: those that shipped, those that were fitted, or none, by embedder and chosen reranker.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { NEUTRAL_TUNING, UNCALIBRATED_EVIDENCE_MIN } from "../../src/domain/neutral-tuning.ts";
import type { RetrievalTuning } from "../../src/domain/retrieval-tuning.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { ModelRegistry } from "../../src/models/registry.ts";
import type { NewModel } from "../../src/ports/installed-model-store.ts";
import type { FoundModel, Reranker } from "../../src/ports/models.ts";
import { tuningOf } from "../../src/retrieval/modes.ts";
import { type OpenedStores, openEmpty } from "../contract/stores.ts";
import { WordModels } from "../in-memory/models.ts";
import { openSqlite } from "../stores/open-sqlite.ts";
import { ENGLISH_TUNING, localModelsOf } from "../support/shipped-models.ts";

const builtIn = new WordModels({ id: "built-in" });
const own: Reranker = { languages: ["en"], score: (...call) => builtIn.score(...call) };
const fitted = (typicalCosine: number): RetrievalTuning => ({
  ...NEUTRAL_TUNING,
  ...{ calibration: "fitted", typicalCosine },
});
const row = (id: string, task: NewModel["task"]): NewModel => ({
  ...{ id, task, kind: "installed", source: "folder", sha256: null, remote: null, dimensions: 64, tokensMax: 512 },
  ...{ languages: ["en"], licence: "MIT", fingerprint: `${id}/1`, isCalibrated: false, manifestSha256: null },
  ...{ status: "ready", progress: null, error: null },
});
/** Opens any added model, as one without curves. */
function open({ id }: { readonly id: string }): FoundModel {
  const words = new WordModels({ id });
  if (id.startsWith("ranks")) return { task: "rerank", reranker: words, references: [] };
  const embedder = {
    ...{ id, fingerprint: words.fingerprint, dimensions: words.dimensions, tokensMax: 256, languages: ["en"] },
    ...{ tuning: NEUTRAL_TUNING, embed: words.embed.bind(words), countTokens: words.countTokens.bind(words) },
  };
  return { task: "embed", embedder, reranker: null, references: [] };
}

let stores: OpenedStores;
let registry: ModelRegistry;
let project: ProjectId;
let changes = 0;
const newRegistry = (onChange: () => void) =>
  new ModelRegistry({
    ...{ store: stores.installedModels, projectModels: stores.projectModels },
    builtIn: { embedders: builtIn.embedders, rerankers: { for: ({ id }) => (id === builtIn.id ? own : null) } },
    local: { ...localModelsOf(builtIn), open },
    ...{ onChange, remote: { open }, clock: systemClock, log: createLog("silent") },
  });
beforeEach(async () => {
  stores = await openEmpty(openSqlite, systemClock);
  project = await stores.accounts.defaultProject();
  changes = 0;
  registry = newRegistry(() => {
    changes++;
  });
  for (const [id, task] of [
    ["one", "embed"],
    ["ranks-a", "rerank"],
    ["ranks-b", "rerank"],
  ] as const) {
    await stores.installedModels.add(row(id, task));
  }
  await stores.projectModels.observe(project, builtIn.id, null);
  await registry.refresh();
});
afterEach(() => stores.close());

async function fit(id: string, tunings: Record<string, RetrievalTuning>): Promise<void> {
  await stores.installedModels.askCalibration(id, null);
  const { key = 0n, calibrationJob } = (await stores.installedModels.get(id)) ?? {};
  await stores.installedModels.finishCalibration(key, calibrationJob?.number ?? 0, tunings);
  await registry.refresh();
}
async function choose(reranker: string | null): Promise<void> {
  await stores.projectModels.setReranker(project, reranker);
  await registry.refresh();
}
const used = (mode: "hybrid" | "balanced" | "precise", id = builtIn.id) => {
  const embedder = registry.embedders.get(id);
  return tuningOf(mode, embedder, registry.rerankers.for(embedder, project));
};

test("shipped curves hold without a chosen reranker, and in modes that use none", async () => {
  expect(used("balanced")).toEqual(ENGLISH_TUNING);
  await choose("ranks-a");
  expect(used("hybrid")).toEqual(ENGLISH_TUNING);
});

test("a chosen reranker leaves scores uncalibrated, with a safe default of min_evidence", async () => {
  await choose("ranks-a");
  for (const mode of ["balanced", "precise"] as const) {
    expect(used(mode)).toMatchObject({ calibration: "none", weights: ENGLISH_TUNING.weights });
    expect(used(mode).evidenceMin[mode]).toBe(UNCALIBRATED_EVIDENCE_MIN);
  }
  await choose(null);
  expect(used("balanced")).toEqual(ENGLISH_TUNING);
});

test("curves of a reranker hold with the embedder that they were fitted for, and no other", async () => {
  await choose("ranks-a");
  await fit("ranks-a", { [builtIn.id]: fitted(0.31) });
  expect(used("balanced")).toEqual(fitted(0.31));
  expect(used("hybrid")).toEqual(ENGLISH_TUNING);
  expect(used("balanced", "one").calibration).toBe("none");
  await choose("ranks-b");
  expect(used("balanced").calibration).toBe("none");
});

test("curves of an embedder hold for it alone, and those for a chosen reranker with that one", async () => {
  await fit("one", { "-": fitted(0.32), "ranks-b": fitted(0.33) });
  expect(used("hybrid", "one")).toEqual(fitted(0.32));
  await choose("ranks-b");
  expect(used("balanced", "one")).toEqual(fitted(0.33));
  expect(used("hybrid", "one")).toEqual(fitted(0.32));
  await choose("ranks-a");
  expect(used("balanced", "one")).toMatchObject({ calibration: "none", typicalCosine: 0.32 });
  expect(registry.embedders.withFingerprint("one/1")?.tuning).toEqual(fitted(0.32));
});

test("each calibration is a change, and equal rerankers stay the same object until then", async () => {
  await choose("ranks-a");
  const before = changes;
  const reranker = registry.rerankers.for(builtIn, project);
  await registry.refresh();
  expect(registry.rerankers.for(builtIn, project)).toBe(reranker);
  expect(changes).toBe(before);
  await fit("ranks-a", { [builtIn.id]: fitted(0.31) });
  expect(changes).toBe(before + 1);
  expect(registry.rerankers.for(builtIn, project)).not.toBe(reranker);
});

test("curves that were fitted on one node hold on another one, which says that something changed", async () => {
  let changesThere = 0;
  const other = newRegistry(() => {
    changesThere++;
  });
  await other.refresh();
  const before = changesThere;
  const there = (mode: "hybrid" | "balanced") => {
    const embedder = other.embedders.get("one");
    return tuningOf(mode, embedder, other.rerankers.for(embedder, project));
  };
  expect(there("hybrid").calibration).toBe("none");
  await fit("one", { "-": fitted(0.32), "ranks-b": fitted(0.33) });
  await choose("ranks-b");
  await other.refresh();
  expect([there("hybrid"), there("balanced")]).toEqual([fitted(0.32), fitted(0.33)]);
  expect(changesThere).toBe(before + 1);
});
