// The change of a project's embedding model: the new vectors equal those of a fresh index, searches and writes go on
// meanwhile, a restart continues, and every change ends as done or with a reason.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { ModelChanger, type ModelChangerDependencies } from "../../src/ingest/model-change.ts";
import { VectorBuilder, type VectorBuilderDependencies } from "../../src/ingest/vector-builder.ts";
import { createLog } from "../../src/kit/log.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import type { ModelChange, ProjectModel } from "../../src/ports/project-model-store.ts";
import { searchIn, storeIn } from "../retrieval/search-fixtures.ts";
import { searchVectors } from "../support/search-legs.ts";
import { embeddersOf } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { Gate, HashEmbedder, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

const PLENTY = { diskBytes: 1e12, memoryBytes: 1e12 };
const BOOK = Array.from({ length: 300 }, (_, at) => `Kettle ${at} boils at noon, and pot ${at * 7} at night.`).join(
  " ",
);
const CONVERSATION = [
  "Ada: Where did you put the kite?",
  "Bob: In the red shed, beside the kettle.",
  "Ada: And the string?",
  "Bob: Carl has it.",
].join("\n");
/** Texts of all kinds: with and without a title, cut into chunks, under headings, and of a conversation. */
const DRAFTS: readonly MemoryDraft[] = [
  { content: "A red kite over the harbour." },
  { content: "The second note.", title: "A given title" },
  { content: `# Tea\n\n${BOOK}\n\n# Pots\n\nShort.`, title: "Kettles" },
  { content: BOOK },
  { content: CONVERSATION, metadata: { date: "2023-05-08" } },
];

let harness: IngestHarness;
let changers: ModelChanger[];
beforeEach(async () => {
  harness = await openIngestHarness();
  changers = [];
});
afterEach(async () => {
  for (const changer of changers) await changer.stop();
  await harness.close();
});

type Options = Partial<Pick<ModelChangerDependencies, "freeSpace" | "upgrades" | "absentModels" | "embedders">> &
  Partial<Pick<VectorBuilderDependencies, "chunksPerSecond">>;

function startChanger({ chunksPerSecond = null, ...options }: Options = {}): ModelChanger {
  const { projectModels: store, accounts, index, embedders, jobs, extractions, preparer, clock } = harness;
  const changer = new ModelChanger({
    ...{ store, accounts, index, embedders, clock, log: createLog("silent") },
    builder: new VectorBuilder({ index, jobs, extractions, preparer, clock, chunksPerSecond }),
    freeSpace: async () => PLENTY,
    upgrades: false,
    absentModels: () => [],
    ...options,
  });
  changer.start();
  changers.push(changer);
  return changer;
}

async function entry(): Promise<ProjectModel | null> {
  return harness.projectModels.get(harness.projectId);
}

/** Asks for a model, and waits until the change has ended. */
async function changed(model = "other"): Promise<ModelChange> {
  await harness.projectModels.ask(harness.projectId, model, true);
  return ended();
}

function ended(stepMs?: number): Promise<ModelChange> {
  const change = async () => ((await entry())?.change?.state === "building" ? null : (await entry())?.change);
  return soon("the change has ended", change, stepMs);
}

/** Waits for a condition, while the clock advances, so that the next look at the store and retries become due. */
function soon<Value>(
  what: string,
  condition: () => Value | false | null | undefined | Promise<Value | false | null | undefined>,
  stepMs = 2_000,
): Promise<Value> {
  return until(what, () => {
    harness.clock.advance(stepMs);
    return condition();
  });
}

/** Records the texts that an embedder reads. */
function textsOf(embedder: HashEmbedder): string[] {
  const texts: string[] = [];
  embedder.before = (given) => void texts.push(...given);
  return texts;
}

async function modelsOfIndex() {
  const { live, building, previous } = await (await harness.index.project(harness.projectId)).models();
  return [live, building, previous].map((model) => model?.fingerprint ?? null);
}

/** The first passage for the exact text of a chunk, which has the cosine similarity 1 to itself. */
async function firstFor(query: string): Promise<string | undefined> {
  return (await searchIn(harness, { query, mode: "fast", limit: 1 })).results[0]?.text;
}

describe("a change of the model", () => {
  test("gives the new model the texts that ingestion gives it, and swaps the vectors in", async () => {
    const ingested = textsOf(harness.embedder);
    await storeIn(harness, ...DRAFTS);
    const rebuilt = textsOf(harness.otherEmbedder);
    startChanger();
    const { state, chunksDone, chunksTotal, error } = await changed();
    expect([state, error]).toEqual(["done", null]);
    expect(rebuilt.toSorted()).toEqual(ingested.toSorted());
    expect([chunksDone, chunksTotal]).toEqual([ingested.length, ingested.length]);
    expect(await entry()).toMatchObject({ live: "other", previous: "hash", isChosen: true });
    expect(await modelsOfIndex()).toEqual(["other", null, "hash"]);
    expect(await firstFor("A red kite over the harbour.")).toBe("A red kite over the harbour.");
  });

  test("leads to the vectors of a fresh index", async () => {
    await storeIn(harness, ...DRAFTS);
    startChanger();
    await changed();
    const scoresOf = async (of: IngestHarness) => {
      const project = await of.index.project(of.projectId);
      const within = await project.admit(null, of.clock.now());
      const query = of.otherEmbedder.vectorOf("any question");
      const hits = await searchVectors(project, "other", query, within, 1_000);
      const texts = (await project.passages(hits.chunkKeys)).map((passage) => passage?.text ?? "");
      return texts.map((text, at) => [text, hits.scores[at]] as const);
    };
    const rebuilt = await scoresOf(harness);
    const fresh = await openIngestHarness();
    try {
      // A project that has no memories yet changes at once.
      const project = await fresh.index.project(fresh.projectId);
      await project.beginModel(fresh.otherEmbedder);
      expect(await project.swapModel()).toBe(true);
      await storeIn(fresh, ...DRAFTS);
      expect(rebuilt).toEqual([...(await scoresOf(fresh))]);
    } finally {
      await fresh.close();
    }
  });

  test("of a project without memories is done at once", async () => {
    startChanger();
    expect(await changed()).toMatchObject({ state: "done", chunksDone: 0, chunksTotal: 0 });
  });

  test("to the live model only ends a change that was under way", async () => {
    await storeIn(harness, ...DRAFTS.slice(0, 1));
    const gate = new Gate();
    harness.otherEmbedder.before = () => gate.pass();
    startChanger();
    await harness.projectModels.ask(harness.projectId, "other", true);
    await soon("vectors are computed", () => gate.waiting > 0);
    await harness.projectModels.ask(harness.projectId, "hash", true);
    gate.open();
    expect(await ended()).toMatchObject({ model: "hash", state: "done" });
    expect(await modelsOfIndex()).toEqual(["hash", null, null]);
  });

  test("keeps the chunks of memories that would be cut into other chunks today, with the same texts", async () => {
    const ingested = textsOf(harness.embedder);
    await storeIn(harness, ...DRAFTS);
    const rebuilt = textsOf(harness.otherEmbedder);
    harness.preparer.chunkTokens = 100;
    startChanger();
    expect((await changed()).state).toBe("done");
    expect(rebuilt.toSorted()).toEqual(ingested.toSorted());
  });

  test("uses the stored passages of memories that cannot be prepared again", async () => {
    await storeIn(harness, ...DRAFTS);
    const rebuilt = textsOf(harness.otherEmbedder);
    harness.preparer.refuse = () => new PrepareFailure("as if the rules had changed");
    startChanger();
    expect((await changed()).state).toBe("done");
    expect(rebuilt).toContain("A given title. The second note.");
    expect(rebuilt.some((text) => text.endsWith('Bob said: "Carl has it."'))).toBe(true);
    expect(await firstFor("A red kite over the harbour.")).toBe("A red kite over the harbour.");
  });
});

describe("while the model changes", () => {
  /** Starts a change whose first batch waits at a gate. */
  async function waitingChange(): Promise<Gate> {
    const gate = new Gate();
    harness.otherEmbedder.before = () => gate.pass();
    startChanger();
    await harness.projectModels.ask(harness.projectId, "other", true);
    await soon("vectors are computed", () => gate.waiting > 0);
    return gate;
  }

  test("searches use the old vectors, and writes are searchable before and after the swap", async () => {
    const [kept, rewritten, deleted] = await storeIn(
      harness,
      { content: "A kept kite." },
      { content: "An old kite." },
      { content: "A doomed kite." },
    );
    const gate = await waitingChange();
    expect(await firstFor("A kept kite.")).toBe("A kept kite.");
    harness.otherEmbedder.before = () => undefined; // only the batch that waits already is held up
    await storeIn(harness, { content: "A new kite." });
    await harness.memories.change(harness.projectId, (rewritten as Memory).id, { content: "A rewritten kite." });
    harness.worker.wake();
    await harness.settled(rewritten as Memory);
    await harness.memories.remove(harness.projectId, (deleted as Memory).id);
    expect(await modelsOfIndex()).toEqual(["hash", "other", null]);
    for (const text of ["A new kite.", "A rewritten kite."]) expect(await firstFor(text)).toBe(text);
    gate.open();
    expect((await ended()).state).toBe("done");
    for (const text of ["A kept kite.", "A new kite.", "A rewritten kite."]) expect(await firstFor(text)).toBe(text);
    const texts = (await searchIn(harness, { query: "kite", mode: "fast", limit: 10 })).results.map(({ text }) => text);
    expect(texts.toSorted()).toEqual(["A kept kite.", "A new kite.", "A rewritten kite."]);
    expect((await harness.read(kept as Memory))?.state.status).toBe("completed");
  });

  test("a search whose question was embedded before the swap is repeated with the new model", async () => {
    await storeIn(harness, { content: "A red kite." }, { content: "A blue kite." });
    const project = await harness.index.project(harness.projectId);
    startChanger();
    let asked = 0;
    harness.embedder.before = async () => {
      asked += 1;
      if (asked === 1) expect((await changed()).state).toBe("done");
    };
    expect(await firstFor("A blue kite.")).toBe("A blue kite.");
    expect(asked).toBe(1);
    expect((await project.models()).live.fingerprint).toBe("other");
  });

  test("a memory that was embedded before the swap is embedded again and published", async () => {
    await storeIn(harness, { content: "A red kite." });
    const gate = new Gate();
    harness.embedder.before = () => gate.pass();
    const [late] = await harness.accept({ content: "A late kite." });
    await until("the late memory is embedded", () => gate.waiting > 0);
    startChanger();
    expect((await changed()).state).toBe("done");
    gate.open();
    await harness.settled(late);
    expect(await firstFor("A late kite.")).toBe("A late kite.");
  });

  test("a stop ends it soon, and the next start goes on without computing vectors again", async () => {
    const drafts = Array.from({ length: 150 }, (_, at) => ({ content: `Kite number ${at}.` }));
    await storeIn(harness, ...drafts);
    const texts: string[] = [];
    const gate = new Gate();
    harness.otherEmbedder.before = (given) => {
      if (texts.length >= 64) return gate.pass();
      texts.push(...given);
    };
    const changer = startChanger();
    await harness.projectModels.ask(harness.projectId, "other", true);
    await soon("the second batch waits", () => gate.waiting > 0);
    expect((await entry())?.change).toMatchObject({ state: "building", chunksTotal: 150 });
    gate.open();
    await changer.stop();
    const done = (await entry())?.change?.chunksDone ?? 0;
    expect(done).toBeLessThan(150);

    const again = textsOf(harness.otherEmbedder);
    startChanger();
    expect(await ended()).toMatchObject({ state: "done", chunksDone: 150 });
    expect(again.length).toBeLessThan(150 - 32);
    expect(await firstFor("Kite number 77.")).toBe("Kite number 77.");
  });

  test("it writes its progress now and then, and not for each memory", async () => {
    await storeIn(harness, ...Array.from({ length: 80 }, (_, at) => ({ content: `Kettle ${at}.` })));
    const { progress } = harness.projectModels;
    let writes = 0;
    harness.projectModels.progress = (...given) => {
      writes += 1;
      return progress.apply(harness.projectModels, given);
    };
    await harness.projectModels.ask(harness.projectId, "other", true);
    startChanger();
    // the clock stands still
    const { chunksDone } = await until("the change has ended", async () => {
      const change = (await entry())?.change;
      return change?.state === "done" && change;
    });
    expect(chunksDone).toBe(80);
    expect(writes).toBeLessThan(10);
  });

  test("it keeps to the rate limit", async () => {
    await storeIn(harness, ...Array.from({ length: 40 }, (_, at) => ({ content: `Kite number ${at}.` })));
    startChanger({ chunksPerSecond: 2 });
    await harness.projectModels.ask(harness.projectId, "other", true);
    const from = harness.clock.now();
    await ended(500);
    expect(harness.clock.now() - from).toBeGreaterThanOrEqual(40 * 500);
  });

  test("it can be cancelled, and nothing of it is left", async () => {
    await storeIn(harness, ...DRAFTS.slice(0, 2));
    const gate = await waitingChange();
    expect(await harness.projectModels.cancel(harness.projectId)).toBe(true);
    gate.open();
    await soon("its vectors are gone", async () => (await modelsOfIndex())[1] === null);
    expect(await entry()).toMatchObject({ live: "hash", previous: null, change: { state: "cancelled" } });
    expect(await firstFor("A red kite over the harbour.")).toBe("A red kite over the harbour.");
  });

  test("a project that is removed ends it", async () => {
    const project = await harness.accounts.createProject({
      name: "doomed",
      plan: "enterprise",
      settings: (await harness.accounts.project(harness.projectId))?.settings ?? never(),
    });
    startChanger();
    await harness.projectModels.ask(project.id, "other", true);
    await harness.accounts.removeProject(project.id);
    await harness.index.drop(project.id);
    expect((await changed()).state).toBe("done");
    expect(await harness.projectModels.get(project.id)).toBeNull();
  });
});

describe("after a change", () => {
  test("a rollback computes only what changed since", async () => {
    await storeIn(harness, { content: "A red kite." }, { content: "A blue kite." });
    startChanger();
    await changed();
    await storeIn(harness, { content: "A new kite." });
    const texts = textsOf(harness.embedder);
    expect((await changed("hash")).state).toBe("done");
    expect(texts).toEqual(["A new kite."]);
    expect(await entry()).toMatchObject({ live: "hash", previous: "other" });
    for (const text of ["A red kite.", "A new kite."]) expect(await firstFor(text)).toBe(text);
  });

  test("the old vectors are kept until they are given up, also over a restart", async () => {
    await storeIn(harness, { content: "A red kite." });
    const changer = startChanger();
    await changed();
    await changer.stop();
    startChanger();
    await soon("the store was looked up", async () => (await entry())?.live === "other");
    expect(await modelsOfIndex()).toEqual(["other", null, "hash"]);
    expect(await harness.projectModels.forget(harness.projectId)).toBe(true);
    await soon("the old vectors are gone", async () => (await modelsOfIndex())[2] === null);
  });
});

describe("a change fails with a reason and leaves the live vectors alone", () => {
  const failing = async (options: Options = {}, model = "other") => {
    await storeIn(harness, ...DRAFTS.slice(0, 3));
    startChanger(options);
    const { state, error } = await changed(model);
    expect(state).toBe("failed");
    expect(await modelsOfIndex()).toEqual(["hash", null, null]);
    expect((await entry())?.live).toBe("hash");
    expect(await firstFor("A red kite over the harbour.")).toBe("A red kite over the harbour.");
    return error ?? "";
  };

  test("if the model is not installed", async () => {
    expect(await failing({}, "third")).toBe("The model third is not installed; installed: hash, other.");
  });

  test("if the disk has too little space: before anything is computed", async () => {
    const texts = textsOf(harness.otherEmbedder);
    const error = await failing({ freeSpace: async () => ({ ...PLENTY, diskBytes: 64 * 1024 * 1024 }) });
    expect(error).toMatch(/^The change to other needs 65 MiB of disk space for \d+ chunks, but 64 MiB are free: /);
    expect(texts).toEqual([]);
  });

  test("if there is too little memory", async () => {
    const error = await failing({ freeSpace: async () => ({ ...PLENTY, memoryBytes: 1024 }) });
    expect(error).toMatch(/^The change to other needs 129 MiB of memory for \d+ chunks, but 1 MiB are free: /);
  });

  test("if the model computes NaN", async () => {
    harness.otherEmbedder.vectorOf = () => new Float32Array(16).fill(Number.NaN);
    expect(await failing()).toBe(
      "The model other computes a vector of length NaN instead of 1: check the files in its folder.",
    );
  });

  test("if the model computes vectors of another length", async () => {
    const wrong = new HashEmbedder("other", 16);
    wrong.embed = async (texts) => new Float32Array(texts.length * 8);
    const error = await failing({ embedders: embeddersOf(harness.embedder, wrong) });
    expect(error).toContain("The model other computes");
  });

  test("if the disk becomes full", async () => {
    harness.otherEmbedder.before = () => {
      throw Object.assign(new Error("no space left"), { code: "no_space" });
    };
    expect(await failing()).toStartWith("The disk is full, so the vectors built so far were deleted");
  });

  test("if only this model cannot be used: after three attempts", async () => {
    let calls = 0;
    harness.otherEmbedder.before = () => {
      calls += 1;
      throw new Fault("model_unavailable", "The model other cannot be loaded.");
    };
    expect(await failing()).toBe(
      "The model other cannot be used, although others can: The model other cannot be loaded. The server's log has the reason.",
    );
    expect(calls).toBeGreaterThanOrEqual(3);
  });

  test("if no model can be used for half an hour", async () => {
    await storeIn(harness, ...DRAFTS.slice(0, 1));
    for (const embedder of [harness.embedder, harness.otherEmbedder]) {
      embedder.before = () => {
        throw new Fault("model_unavailable", "No model can answer.");
      };
    }
    startChanger();
    await harness.projectModels.ask(harness.projectId, "other", true);
    const from = harness.clock.now();
    const { state, error } = await ended(60_000);
    expect([state, error]).toEqual([
      "failed",
      "The model could not be used for 30 minutes (No model can answer.): see the server's log, then ask for the change again.",
    ]);
    expect(harness.clock.now() - from).toBeGreaterThan(30 * 60_000);
  });

  test("if it fails five times for an unknown reason; and then it can be asked for again", async () => {
    let calls = 0;
    harness.otherEmbedder.before = () => {
      calls += 1;
      throw new Error("broken");
    };
    expect(await failing()).toStartWith("The vectors could not be built; the server's log has the reason.");
    expect(calls).toBeGreaterThanOrEqual(5);
    harness.otherEmbedder.before = () => undefined;
    expect((await changed()).state).toBe("done");
  });
});

describe("at the start of a server", () => {
  const upgraded = () => ({ ...harness.embedders, default: harness.otherEmbedder });

  test("projects of another model than the default get the default in the background, if upgrades are on", async () => {
    await storeIn(harness, { content: "A red kite." });
    startChanger({ upgrades: true, embedders: upgraded() });
    await soon("the project is upgraded", async () => (await entry())?.live === "other");
    expect(await entry()).toMatchObject({ previous: "hash", isChosen: false, change: { state: "done" } });
    expect(await firstFor("A red kite.")).toBe("A red kite.");
  });

  test("they keep the vectors of a model that is absent, until a person asks for another one", async () => {
    await storeIn(harness, { content: "A red kite." });
    startChanger({ upgrades: true, absentModels: () => ["hash"], embedders: upgraded() });
    await until("the model is known", async () => (await entry())?.live === "hash");
    expect(await entry()).toMatchObject({ live: "hash", isChosen: false, change: null });
    await harness.projectModels.ask(harness.projectId, "other", true);
    await soon("the change is done", async () => (await entry())?.live === "other");
    expect(await firstFor("A red kite.")).toBe("A red kite.");
  });

  test("they keep their model if upgrades are off, or if a person chose it", async () => {
    await storeIn(harness, { content: "A red kite." });
    const first = startChanger({ embedders: upgraded() });
    await until("the model is known", async () => (await entry())?.live === "hash");
    expect((await entry())?.change).toBeNull();
    await changed("hash");
    await first.stop();
    startChanger({ upgrades: true, embedders: upgraded() });
    const other = await harness.accounts.createProject({
      name: "other",
      plan: "enterprise",
      settings: (await harness.accounts.project(harness.projectId))?.settings ?? never(),
    });
    await harness.projectModels.ask(other.id, "other", true);
    await soon(
      "another project's change is done",
      async () => (await harness.projectModels.get(other.id))?.live === "other",
    );
    expect(await entry()).toMatchObject({ live: "hash", change: { model: "hash" } });
  });
});

function never(): never {
  throw new Error("the default project exists");
}
