// The lanes, with the real models in real processes. models-contract.test.ts tests them as Embedder and Reranker.

import { afterAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLanes, type Lanes, type LanesOptions } from "../../src/adapters/inference/lanes.ts";
import { ModelFilesError } from "../../src/adapters/inference/manifest-fields.ts";
import { isEncoderMadeForThisProcessor } from "../../src/adapters/native/model-encoder.ts";
import { type Fault, invariant } from "../../src/domain/fault.ts";
import { createLog, type Log } from "../../src/kit/log.ts";
import type { EarlyExit, Priority } from "../../src/ports/models.ts";
import { seeded } from "../support/seeded.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import {
  EMBEDDER_REFERENCE,
  LOGIT_TOLERANCE,
  MULTILINGUAL_REFERENCE,
  RERANKER_REFERENCE,
  VECTOR_TOLERANCE,
} from "./references.ts";

const silent = createLog("silent");
const RERANKER = "mneme-reranker-minilm-l6";
const opened: Lanes[] = [];
const folders: string[] = [];
afterAll(async () => {
  await Promise.all(opened.map((lanes) => lanes.close()));
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Lanes with short calls of their default models. */
type TestLanes = Awaited<ReturnType<typeof start>>;

async function start(options: Partial<LanesOptions> = {}) {
  const lanes = await createLanes({ modelsDir: MODELS_DIR, embedder: ENGLISH, log: silent, ...options });
  opened.push(lanes);
  const { embedders, rerankers } = lanes;
  const { dimensions, fingerprint, tokensMax } = embedders.default;
  const reranker = rerankers.for(embedders.default);
  invariant(reranker, "the default embedder has a reranker");
  return {
    ...{ embedders, rerankers, dimensions, fingerprint, tokensMax },
    embed: (texts: readonly string[], priority: Priority, signal?: AbortSignal) =>
      embedders.default.embed(texts, { purpose: "passage", priority, signal }),
    score: reranker.score,
    ready: () => lanes.ready(),
    status: () => lanes.status(),
    close: () => lanes.close(),
  };
}

const shared = await start();
/** The provider (see /ready) that runs the models on this machine with default options. */
const OWN_PROVIDER = isEncoderMadeForThisProcessor() ? "cpu-native" : "cpu";
const TEXTS = EMBEDDER_REFERENCE.map(({ text }) => text);
const LONG = "Retrieval finds what was stored, and memory keeps what was found. ".repeat(40);

/** Returns row `index` of a matrix with one vector per row. */
function row(vectors: Float32Array, index: number): Float32Array {
  return vectors.subarray(index * shared.dimensions, (index + 1) * shared.dimensions);
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = a.length === b.length ? 0 : Number.POSITIVE_INFINITY;
  for (let at = 0; at < a.length; at += 1) largest = Math.max(largest, Math.abs((a[at] ?? 0) - (b[at] ?? 0)));
  return largest;
}

function shuffled(count: number, seed: number): readonly number[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) => ({ index, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ index }) => index);
}

/** Returns the error that a promise was rejected with. */
async function refusalOf(promise: Promise<unknown>): Promise<Fault> {
  return promise.then(
    () => {
      throw new Error("the call was answered instead of refused");
    },
    (error: Fault) => error,
  );
}

describe("the embedder", () => {
  test("gives single texts their reference vectors", async () => {
    for (const { text, vector } of EMBEDDER_REFERENCE) {
      expect(largestDifference(await shared.embed([text], "query"), vector), text).toBeLessThan(VECTOR_TOLERANCE);
    }
  });

  test.each([1, 2, 3])("gives batches of texts, in any order, their reference vectors (seed %d)", async (seed) => {
    const order = shuffled(TEXTS.length, seed);
    const vectors = await shared.embed(
      order.map((index) => TEXTS[index] ?? ""),
      "ingest",
    );
    order.forEach((index, place) => {
      const expected = EMBEDDER_REFERENCE[index]?.vector ?? [];
      expect(largestDifference(row(vectors, place), expected), TEXTS[index] ?? "").toBeLessThan(VECTOR_TOLERANCE);
    });
  });

  test("accepts no texts, empty texts and malformed texts", async () => {
    expect(await shared.embed([], "query")).toHaveLength(0);
    const vectors = await shared.embed(["", "\ud800", "漢字", "\u0000"], "query");
    expect(vectors).toHaveLength(4 * shared.dimensions);
    expect(largestDifference(row(vectors, 0), row(vectors, 1))).toBeLessThan(1e-6);
  });

  test("has a fingerprint with the checksum of its file", () => {
    const { sha256 } = JSON.parse(readFileSync(join(MODELS_DIR, ENGLISH, "model.json"), "utf8"));
    expect(shared.fingerprint).toContain(sha256.slice(0, 16));
    expect([shared.dimensions, shared.tokensMax]).toEqual([384, 256]);
  });
});

describe("the reranker", () => {
  test("gives single pairs their reference logits", async () => {
    for (const { query, passage, logit } of RERANKER_REFERENCE) {
      expect(largestDifference(await shared.score(query, [passage]), [logit]), query).toBeLessThan(LOGIT_TOLERANCE);
    }
  });

  test("gives a passage the same logit whatever the other passages and their order", async () => {
    const { query = "" } = RERANKER_REFERENCE[0] ?? {};
    const passages = [...RERANKER_REFERENCE.map(({ passage }) => passage), "", LONG];
    const singly: number[] = [];
    for (const passage of passages) singly.push((await shared.score(query, [passage]))[0] ?? Number.NaN);
    for (const seed of [1, 2]) {
      const order = shuffled(passages.length, seed);
      const logits = await shared.score(
        query,
        order.map((index) => passages[index] ?? ""),
      );
      expect(
        largestDifference(
          logits,
          order.map((index) => singly[index] ?? Number.NaN),
        ),
      ).toBeLessThan(1e-3);
    }
    expect(await shared.score(query, [])).toHaveLength(0);
  });
});

describe("early exit", () => {
  const passages = RERANKER_REFERENCE.slice(0, 10).map(({ passage }) => passage);
  const query = RERANKER_REFERENCE[0]?.query ?? "";
  const earlyExit = { priorScores: passages.map((_, index) => (index % 4 < 2 ? 100 : -100)), fullTokensMax: 500 };
  const score = (lanes: TestLanes, earlyExit?: EarlyExit) => lanes.score(query, passages, { earlyExit });

  test("runs the likeliest passages through all layers and estimates the others, if the lanes support it", async () => {
    const full = await score(shared);
    const logits = await score(shared, earlyExit);
    const isFull = passages.map((_, index) => logits[index] === full[index]);
    if (OWN_PROVIDER === "cpu") return expect(isFull).not.toContain(false);
    const fullCount = isFull.filter(Boolean).length;
    expect(fullCount).toBeGreaterThanOrEqual(2);
    expect(fullCount).toBeLessThan(passages.length);
    // Each of the two lanes gets passages with high and with low prior scores. Those with low prior scores must not
    // pass through all layers while there is one with a high score.
    expect(isFull.filter((_, index) => index % 4 >= 2)).not.toContain(true);
    for (const logit of logits) expect(Math.abs(logit)).toBeLessThan(20);
  });

  test("changes nothing if all tokens fit into the limit", async () => {
    expect(await score(shared, { ...earlyExit, fullTokensMax: 10 * 128 })).toEqual(await score(shared));
  });

  test("changes nothing with three lanes", async () => {
    const lanes = await start({ lanes: 3 });
    const areUp = () => lanes.status().lanes.every(({ status }) => status === "up") || null;
    await until("all lanes are up", async () => areUp());
    expect(await score(lanes, earlyExit)).toEqual(await score(lanes));
  });

  test("changes nothing with onnxruntime", async () => {
    const lanes = await start({ runtime: "onnxruntime" });
    await lanes.ready();
    expect(largestDifference(await score(lanes, earlyExit), await score(lanes))).toBeLessThan(1e-4);
  });

  const shipped = JSON.parse(readFileSync(join(MODELS_DIR, RERANKER, "early-exit.json"), "utf8"));
  test.each([
    ["for another model", { ...shipped, model_sha256: "of another" }, "was made for another model"],
    ["of another width", { ...shipped, weights: [1] }, "the early-exit probe was not made for this model"],
    [
      "with the texts' weights swapped",
      { ...shipped, weights: swapped(shipped.weights) },
      "its estimates differ from the references",
    ],
    ["for other layers", { ...shipped, layers: 3 }, "its estimates differ from the references"],
  ])("changes nothing with a probe %s, and logs a warning", async (_, probe, why) => {
    const modelsDir = copyOfModels();
    writeFileSync(join(modelsDir, RERANKER, "early-exit.json"), JSON.stringify(probe));
    const warnings: string[] = [];
    const lanes = await start({
      lanes: 1,
      modelsDir,
      log: { ...silent, warn: collecting(warnings), child: () => silent },
    });
    expect(largestDifference(await score(lanes, earlyExit), await score(lanes))).toBeLessThan(1e-4);
    expect(warnings).toEqual(OWN_PROVIDER === "cpu" ? [] : [expect.stringContaining(why)]);
  });
});

/**
 * Returns the probe's weights with its second and third part exchanged: those of the query's mean vector and of the
 * passage's.
 */
function swapped(weights: readonly number[]): readonly number[] {
  const width = weights.length / 3;
  return [...weights.slice(0, width), ...weights.slice(2 * width), ...weights.slice(width, 2 * width)];
}

describe("the runtime", () => {
  test("is onnxruntime if that is set, with the same outputs", async () => {
    const lanes = await start({ lanes: 1, runtime: "onnxruntime" });
    await lanes.ready();
    expect(lanes.status().lanes.map(({ provider }) => provider)).toEqual(["cpu"]);
    const vectors = await lanes.embed([...TEXTS, LONG], "ingest");
    EMBEDDER_REFERENCE.forEach(({ vector }, index) => {
      expect(largestDifference(row(vectors, index), vector)).toBeLessThan(VECTOR_TOLERANCE);
    });
    for (const { query, passage, logit } of RERANKER_REFERENCE.slice(0, 10)) {
      expect(
        largestDifference(await lanes.score(query, [passage, LONG]).then((logits) => [logits[0] ?? 0]), [logit]),
        query,
      ).toBeLessThan(LOGIT_TOLERANCE);
    }
    expect(
      largestDifference(await shared.score("retrieval", [LONG]), await lanes.score("retrieval", [LONG])),
    ).toBeLessThan(LOGIT_TOLERANCE);
  });

  test("does not start the telemetry of onnxruntime, which would write files into the temporary folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-telemetry-"));
    folders.push(folder);
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    try {
      const lanes = await start({ lanes: 1, runtime: "onnxruntime" });
      await lanes.ready();
      await lanes.embed(TEXTS.slice(0, 1), "query");
      expect(readdirSync(folder).filter((name) => !name.startsWith("mneme-"))).toEqual([]);
      await lanes.close();
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    }
  });

  test.each([
    ["missing", null],
    ["not readable", "{"],
    ["empty", "[]"],
    [
      "those of another model",
      JSON.stringify([{ token_ids: Array(20).fill(101), vector: Array(384).fill(0.05), logit: 9 }]),
    ],
    ["too short", JSON.stringify(EMBEDDER_REFERENCE.filter(({ token_ids }) => token_ids.length < 13))],
  ])("is onnxruntime if the references are %s", async (_, references) => {
    const modelsDir = copyOfModels();
    for (const model of [ENGLISH, RERANKER]) {
      rmSync(join(modelsDir, model, "reference.json"));
      if (references !== null) writeFileSync(join(modelsDir, model, "reference.json"), references);
    }
    const warnings: string[] = [];
    const lanes = await start({
      lanes: 1,
      modelsDir,
      log: { ...silent, warn: collecting(warnings), child: () => silent },
    });
    await lanes.ready();
    expect(lanes.status().lanes.map(({ provider }) => provider)).toEqual(["cpu"]);
    const warning = expect.stringContaining("runs in onnxruntime, not in the faster native encoder");
    expect(warnings).toEqual(isEncoderMadeForThisProcessor() ? [warning, warning] : []);
    const [{ text, vector } = { text: "", vector: [] }] = EMBEDDER_REFERENCE;
    expect(largestDifference(await lanes.embed([text], "query"), vector)).toBeLessThan(VECTOR_TOLERANCE);
  });
});

describe("several models", () => {
  const passage = (text: string) => [[text], { purpose: "passage", priority: "query" }] as const;

  test("the multilingual embedder gives its references, with the prefix for each purpose", async () => {
    const lanes = await start({ lanes: 1, embedder: MULTILINGUAL });
    for (const { text, purpose, vector } of MULTILINGUAL_REFERENCE) {
      const found = await lanes.embedders.default.embed([text], { purpose, priority: "query" });
      expect(largestDifference(found, vector), text).toBeLessThan(VECTOR_TOLERANCE);
    }
    const [query, stored] = await Promise.all(
      (["query", "passage"] as const).map((purpose) =>
        lanes.embedders.default.embed(["the spare key"], { purpose, priority: "query" }),
      ),
    );
    expect(largestDifference(query ?? [], stored ?? [])).toBeGreaterThan(0.01);
  });

  test("a model that is not the default is loaded at its first call, and calls for both can alternate", async () => {
    const lanes = await start({ lanes: 1 });
    await lanes.ready();
    const multilingual = lanes.embedders.get(MULTILINGUAL);
    const [{ text, vector } = { text: "", vector: [] }] = EMBEDDER_REFERENCE;
    const other = MULTILINGUAL_REFERENCE.find(({ purpose }) => purpose === "passage");
    const calls = [0, 1, 2].flatMap(() => [
      lanes.embed([text], "ingest").then((found) => largestDifference(found, vector)),
      multilingual
        .embed([other?.text ?? ""], { purpose: "passage", priority: "ingest" })
        .then((found) => largestDifference(found, other?.vector ?? [])),
    ]);
    for (const difference of await Promise.all(calls)) expect(difference).toBeLessThan(VECTOR_TOLERANCE);
    expect(lanes.status().lanes[0]?.restarts).toBe(0);
  });

  test("models that were not used for the longest time are unloaded, and loaded again", async () => {
    const modelsDir = copyOfModels();
    const ids = [1, 2, 3, 4].map((number) => withCopy(modelsDir, `copy-${number}`, () => undefined));
    const lanes = await start({ lanes: 1, modelsDir });
    await lanes.ready();
    const expected = await lanes.embed(["retrieval"], "query");
    for (const id of [...ids, ENGLISH, ...ids]) {
      const found = await lanes.embedders.get(id).embed(...passage("retrieval"));
      expect(largestDifference(found, expected), id).toBeLessThan(1e-6);
    }
    expect(await lanes.score("retrieval", ["retrieval"])).toHaveLength(1);
    expect(lanes.status().lanes[0]?.restarts).toBe(0);
  });

  test("a model that cannot be loaded fails its calls with the reason; other models still answer", async () => {
    const modelsDir = copyOfModels();
    const wrongHash = withCopy(modelsDir, "wrong-hash", (manifest) => {
      manifest.sha256 = "0".repeat(64);
    });
    const wrongSize = withCopy(modelsDir, "wrong-size", (manifest) => {
      manifest.dimensions = 383;
    });
    const gone = withCopy(modelsDir, "without-tokenizer", () => undefined);
    rmSync(join(modelsDir, gone, "tokenizer.json"));
    const noModel = withCopy(modelsDir, "no-model", (manifest) => {
      writeFileSync(join(modelsDir, "no-model/other.onnx"), "no model");
      manifest.file = "other.onnx";
      manifest.sha256 = new Bun.CryptoHasher("sha256").update("no model").digest("hex");
    });
    const lanes = await start({ lanes: 1, modelsDir });
    for (const [id, reason] of [
      [wrongHash, "does not match its model.json"],
      [wrongSize, "computes 384 numbers per text; model.json says 383"],
      [gone, "tokenizer.json is missing, but its model.json names it"],
      [noModel, "cannot be loaded"],
    ] as const) {
      const fault = await refusalOf(lanes.embedders.get(id).embed(...passage("x")));
      expect(fault).toMatchObject({
        code: "model_unavailable",
        message: `The model ${id} cannot be loaded.`,
        cause: expect.stringContaining(reason),
      });
      expect(String(fault.cause)).not.toContain("\n");
      expect(await lanes.embed(["x"], "query")).toHaveLength(384);
    }
    expect(lanes.status().lanes.map(({ status, restarts }) => [status, restarts])).toEqual([["up", 0]]);
  });

  test("a folder that is no valid model is left out, and logged", async () => {
    const modelsDir = copyOfModels();
    withCopy(modelsDir, "unknown-field", (manifest) => {
      manifest.colour = "red";
    });
    const warnings: string[] = [];
    const lanes = await start({
      lanes: 1,
      modelsDir,
      log: { ...silent, warn: collecting(warnings), child: () => silent },
    });
    expect(lanes.embedders.ids).toEqual([ENGLISH]);
    expect(warnings[0]).toBe("a model cannot be used");
  });

  test("an unknown default is an error at once that lists the embedders", () => {
    const lanes = createLanes({ modelsDir: MODELS_DIR, embedder: "nothing", log: silent });
    expect(lanes).rejects.toThrow(
      `there is no embedder "nothing" in ${MODELS_DIR}; there are: ${ENGLISH}, ${MULTILINGUAL}`,
    );
  });

  test("each embedder has the reranker that its manifest names", async () => {
    const modelsDir = copyOfModels();
    const without = withCopy(modelsDir, "without-reranker", (manifest) => {
      manifest.reranker = null;
    });
    const { embedders, rerankers } = await start({ lanes: 1, modelsDir });
    expect(rerankers.for(embedders.get(without))).toBeNull();
    expect(rerankers.for(embedders.default)?.languages).toEqual(["en"]);
    expect(rerankers.for({ id: "nothing" })).toBeNull();
  });
});

describe("order", () => {
  test("a query overtakes an ingest backlog", async () => {
    const lanes = await start({ lanes: 1 });
    await lanes.ready();
    const answered: string[] = [];
    const note = (name: string) => () => answered.push(name);
    const backlog = Array.from({ length: 20 }, (_, n) => lanes.embed([LONG], "ingest").then(note(`ingest ${n}`)));
    await lanes.embed(["a question"], "query").then(note("query"));
    await Promise.all(backlog);
    // The lane was already computing the first piece of ingest work when the query arrived.
    expect(answered.indexOf("query")).toBe(1);
  });

  test("the query lane takes ingest work again when no more queries arrive", async () => {
    const lanes = await start();
    await until("both lanes", () => lanes.status().lanes.every((lane) => lane.status === "up"));
    await lanes.embed(["a question"], "query");
    const abort = new AbortController();
    const backlog = refusalOf(lanes.embed(Array<string>(500).fill(LONG), "ingest", abort.signal));
    expect(lanes.status().lanes.map((lane) => lane.inFlight)).toEqual([0, 2]);
    await until("the query lane to help", () => lanes.status().lanes[0]?.inFlight === 1);
    abort.abort();
    await backlog;
  });

  test("a rerank ends at its deadline with the logits that are there, and the rest is not computed", async () => {
    const lanes = await start({ lanes: 1 });
    await lanes.ready();
    const passages = Array<string>(200).fill(LONG);
    const [whole] = await lanes.score("tide", passages.slice(0, 1));
    // How much is ready by a deadline depends on the machine, so the deadline grows until something is.
    for (let deadlineMs = 4; ; deadlineMs *= 1.5) {
      const logits = await lanes.score("tide", passages, { deadlineMs });
      const scored = logits.filter((logit) => !Number.isNaN(logit));
      if (scored.length === 0) continue;
      expect(scored.length).toBeLessThan(passages.length);
      for (const logit of scored) expect(logit).toBeCloseTo(whole ?? 0, 3);
      break;
    }
    await until("the lane to end the piece in progress", () => lanes.status().lanes[0]?.inFlight === 0);
    expect(lanes.status().queryCalls).toBe(0);
  });

  test("an aborted call ends with its reason and is not computed", async () => {
    const lanes = await start({ lanes: 1 });
    await lanes.ready();
    const abort = new AbortController();
    const call = lanes.embed(Array<string>(500).fill(LONG), "ingest", abort.signal);
    abort.abort(new Error("the caller left"));
    expect((await refusalOf(call)).message).toBe("the caller left");
    expect(lanes.status().ingestTokens).toBe(0);
    expect((await refusalOf(lanes.embed(["x"], "query", abort.signal))).message).toBe("the caller left");
    expect(await lanes.embed(["still there"], "query")).toHaveLength(384);
  });
});

describe("limits", () => {
  test("one query call more than the limit is refused; after an answer there is room again", async () => {
    const lanes = await start({ queryCallsMax: 2 });
    const waiting = [lanes.embed(["a"], "query"), lanes.score("b", ["c"])];
    expect(await refusalOf(lanes.embed(["d"], "query"))).toMatchObject({ code: "overloaded", retryAfterSeconds: 2 });
    await Promise.all(waiting);
    expect(await lanes.embed(["d"], "query")).toHaveLength(384);
    expect(lanes.status().queryCalls).toBe(0);
  });

  test("ingest beyond its token limit is refused, queries are not", async () => {
    const lanes = await start({ ingestTokensMax: 1000 });
    const waiting = [lanes.embed(Array<string>(4).fill(LONG), "ingest"), lanes.embed(["query"], "query")];
    expect(await refusalOf(lanes.embed(["one more"], "ingest"))).toMatchObject({ code: "overloaded" });
    await Promise.all(waiting);
    expect(await lanes.embed(["one more"], "ingest")).toHaveLength(384);
  });

  test("a call that has a turn is never refused, whatever waits", async () => {
    const lanes = await start({ ingestTokensMax: 1000, queryCallsMax: 1 });
    const waiting = [lanes.embed(Array<string>(4).fill(LONG), "ingest"), lanes.embed(["query"], "query")];
    const embedder = lanes.embedders.default;
    for (const priority of ["ingest", "query"] as const) {
      const options = { purpose: "passage", priority, hasTurn: true } as const;
      expect(await embedder.embed(["one more"], options)).toHaveLength(384);
      expect(await embedder.countTokens(["one more"], options)).toHaveLength(1);
    }
    await Promise.all(waiting);
  });

  test("a lane over its memory limit is replaced while calls continue", async () => {
    const lanes = await start({ memoryBytesMax: 1 });
    const expected = await lanes.embed([LONG], "ingest");
    await until("a replaced lane", async () => {
      expect(largestDifference(await lanes.embed([LONG], "ingest"), expected)).toBeLessThan(1e-6);
      return lanes.status().lanes.some((lane) => lane.restarts > 0);
    });
  });
});

describe("failures", () => {
  test("calls are answered although their lane is killed meanwhile", async () => {
    const lanes = await start({ lanes: 1 });
    await lanes.ready();
    const call = lanes.embed([...TEXTS, ...Array<string>(30).fill(LONG)], "ingest");
    const query = lanes.score("what is killed", [LONG, "x"]);
    const [lane] = lanes.status().lanes;
    expect(lane?.inFlight).toBe(1);
    process.kill(lane?.pid ?? 0, "SIGKILL");
    const vectors = await call;
    EMBEDDER_REFERENCE.forEach(({ vector }, index) => {
      expect(largestDifference(row(vectors, index), vector)).toBeLessThan(VECTOR_TOLERANCE);
    });
    expect(await query).toHaveLength(2);
    expect(lanes.status().lanes[0]?.restarts).toBe(1);
  });

  test("a lane ignores a terminal's interrupt; its server handles it", async () => {
    await shared.ready();
    for (const { pid } of shared.status().lanes) process.kill(pid ?? 0, "SIGINT");
    expect(await shared.embed(["still here"], "query")).toHaveLength(384);
    expect(shared.status().lanes.map((lane) => lane.restarts)).toEqual([0, 0]);
  });

  test("a call fails with a fault after two lanes died while computing it", async () => {
    const lanes = await start({ lanes: 1, log: killingLog() });
    const fault = await refusalOf(lanes.embed(["poison"], "query"));
    expect(fault).toMatchObject({ name: "Fault", code: "internal_error" });
  });

  test("calls do not wait for lanes that die repeatedly", async () => {
    const lanes = await start({ lanes: 1, log: killingLog() });
    await until("three failures", () => (lanes.status().lanes[0]?.restarts ?? 0) >= 3);
    expect(await refusalOf(lanes.embed(["anything"], "ingest"))).toMatchObject({ code: "model_unavailable" });
  });

  test.each([`${ENGLISH}/model.onnx`, `${RERANKER}/tokenizer.json`])(
    "%s with other content is refused",
    async (file) => {
      const modelsDir = copyOfModels();
      rmSync(join(modelsDir, file));
      writeFileSync(join(modelsDir, file), "{}");
      const lanes = await start({ modelsDir });
      const fault = await refusalOf(lanes.ready());
      const line = `${join(modelsDir, file)} does not match its model.json: expected sha256 `;
      expect(fault).toMatchObject({ code: "model_unavailable", cause: expect.stringContaining(line) });
      expect(fault.message).not.toContain(modelsDir);
      const { lanes: states } = lanes.status();
      expect(states.map((lane) => [lane.status, lane.restarts])).toEqual([
        ["refused", 0],
        ["refused", 0],
      ]);
      expect(await refusalOf(lanes.embed(["x"], "query"))).toMatchObject({ code: "model_unavailable" });
    },
  );

  test("a missing model.json is an error at once", () => {
    expect(createLanes({ modelsDir: "/nowhere", embedder: ENGLISH, log: silent })).rejects.toThrow(ModelFilesError);
  });

  test("closing fails waiting calls, ends the lanes and refuses new calls", async () => {
    const lanes = await start();
    await lanes.ready();
    const call = refusalOf(lanes.embed(Array<string>(200).fill(LONG), "ingest"));
    const pids = lanes.status().lanes.flatMap(({ pid }) => (pid === null ? [] : [pid]));
    await lanes.close();
    expect(await call).toMatchObject({ code: "model_unavailable" });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(await refusalOf(lanes.embed(["x"], "query"))).toMatchObject({ code: "model_unavailable" });
  });

  test("lanes end when their server is killed", async () => {
    const server = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/server.ts")], { stdout: "pipe" });
    const { value } = await server.stdout.getReader().read();
    const pids = JSON.parse(new TextDecoder().decode(value)) as number[];
    expect(pids.map(isRunning)).toEqual([true, true]);
    server.kill("SIGKILL");
    await until("both lanes to end", () => !pids.some(isRunning));
  });
});

test("the status shows process, memory and provider of each lane", async () => {
  const { lanes } = await until("both lanes", () => {
    const status = shared.status();
    return status.lanes.every((lane) => lane.status === "up" && lane.rssBytes > 0) && status;
  });
  expect(lanes.map(({ name, provider, restarts }) => [name, provider, restarts])).toEqual([
    ["lane-0-query", OWN_PROVIDER, 0],
    ["lane-1-ingest", OWN_PROVIDER, 0],
  ]);
  for (const { pid } of lanes) expect(isRunning(pid ?? 0)).toBe(true);
});

/** Creates a log function that collects messages. */
function collecting(messages: string[]): Log["warn"] {
  return (_fields: unknown, message?: string) => {
    if (message !== undefined) messages.push(message);
  };
}

/** Creates a log that kills each lane as soon as the lane is logged as up, before it gets work. */
function killingLog(): Log {
  const log: Log = {
    info: silent.info.bind(silent),
    debug: (fields: unknown) => {
      const pid = (fields as { readonly pid?: number }).pid;
      if (pid !== undefined) process.kill(pid, "SIGKILL");
    },
    warn: silent.warn.bind(silent),
    error: silent.error.bind(silent),
    child: () => log,
  };
  return log;
}

/** Adds a copy of the English embedder with a changed manifest to a folder of models. Returns its id. */
function withCopy(modelsDir: string, id: string, change: (manifest: Record<string, unknown>) => void): string {
  cpSync(join(modelsDir, ENGLISH), join(modelsDir, id), { recursive: true, verbatimSymlinks: true });
  const path = join(modelsDir, id, "model.json");
  const manifest = { ...JSON.parse(readFileSync(path, "utf8")), id };
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
  return id;
}

/** Creates a copy of the models folder, with links instead of the large files. */
function copyOfModels(): string {
  const folder = mkdtempSync(join(tmpdir(), "mneme-models-"));
  folders.push(folder);
  for (const model of [ENGLISH, RERANKER]) {
    cpSync(join(MODELS_DIR, model, "model.json"), join(folder, model, "model.json"));
    for (const file of ["model.onnx", "tokenizer.json", "reference.json"])
      symlinkSync(join(MODELS_DIR, model, file), join(folder, model, file));
  }
  return folder;
}

/**
 * Whether a process runs. Zombies count as ended: they have exited, and the machine's first process removes them later.
 */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}
