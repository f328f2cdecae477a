// Readers: models that say whether a passage answers a question, and with which words. They run in lanes beside the
// embedder whose words they share, in both encoders; where one cannot be used, its embedder has none.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toHalfPrecision } from "../../src/adapters/inference/gpu/half-graph.ts";
import { createLanes, type Lanes, type LanesOptions } from "../../src/adapters/inference/lanes.ts";
import { LoadedModels } from "../../src/adapters/inference/loaded-models.ts";
import { type ReaderDescription, readModels, verifyModelFiles } from "../../src/adapters/inference/model-files.ts";
import { openWithOnnxruntime } from "../../src/adapters/inference/onnxruntime-encoder.ts";
import { openEncoder } from "../../src/adapters/inference/open-encoder.ts";
import { wholeModel } from "../../src/adapters/inference/whole-model.ts";
import { isEncoderMadeForThisProcessor } from "../../src/adapters/native/model-encoder.ts";
import { invariant } from "../../src/domain/fault.ts";
import { createLog } from "../../src/kit/log.ts";
import { READING, READING_WIDTH, type Reader } from "../../src/ports/models.ts";
import { knowsPlaces, loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import type { ReadingTokenizer } from "../../src/tokenizers/tokenizer.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import {
  QUESTION_TOKENS_MAX,
  READ_PAIRS,
  READER_TOKENS_MAX,
  SMALL_READER,
  type SmallReaderChanges,
  smallReaderFolder,
} from "../support/small-reader.ts";
import { LOGIT_TOLERANCE } from "./references.ts";

const folders: string[] = [];
const opened: Lanes[] = [];
afterAll(async () => {
  await Promise.all(opened.map((lanes) => lanes.close()));
  for (const folder of folders) rmSync(folder, { recursive: true });
});

async function folderWith(changes: SmallReaderChanges = {}): Promise<string> {
  const folder = await smallReaderFolder(changes);
  folders.push(folder);
  return folder;
}

const modelsDir = await folderWith();

function readerIn(folder: string): ReaderDescription {
  const model = readModels(folder).readers.get(SMALL_READER);
  invariant(model, "the folder has the reader");
  return model;
}

async function lanesWith(options: Partial<LanesOptions> = {}): Promise<Lanes> {
  const lanes = await createLanes({
    modelsDir,
    embedder: MULTILINGUAL,
    lanes: 1,
    log: createLog("silent"),
    ...options,
  });
  opened.push(lanes);
  return lanes;
}

function readerOf(lanes: Lanes, embedder = MULTILINGUAL): Reader {
  const { reader } = lanes.embedders.get(embedder);
  invariant(reader, "the embedder has a reader");
  return reader;
}

interface Recorded {
  readonly query: string;
  readonly passage: string;
  readonly token_ids: readonly number[];
  readonly token_type_ids: readonly number[];
  readonly logits: readonly number[];
}

const recorded: readonly Recorded[] = JSON.parse(readFileSync(readerIn(modelsDir).referencePath, "utf8"));

describe("a reader", () => {
  test("has files of its own, and the words of its embedder", async () => {
    const model = readerIn(modelsDir);
    await verifyModelFiles(model);
    expect(model.words).toMatchObject({ id: MULTILINGUAL, path: join(modelsDir, MULTILINGUAL, "model.onnx") });
    expect(model.tokenizer.path).toBe(join(modelsDir, MULTILINGUAL, "unigram.bin"));
    expect(model).toMatchObject({ queryTokensMax: QUESTION_TOKENS_MAX, tokensMax: READER_TOKENS_MAX });
    expect(model.tuning.evidence).toEqual({
      ...{ scoreSlope: 1, codesSlope: 4, namesSlope: 1, answerSlope: 0.5, offset: 0.25 },
    });
  });

  test.each(["auto", "onnxruntime"] as const)(
    "computes its references in %s, alone and beside others",
    async (runtime) => {
      const model = readerIn(modelsDir);
      const encoder = await openEncoder(model, runtime);
      expect(encoder.provider).toBe(runtime === "auto" && isEncoderMadeForThisProcessor() ? "cpu-native" : "cpu");
      const tokenizer = loadTokenizer(model.tokenizer);
      invariant(encoder.read && knowsPlaces(tokenizer), "a reader reads");
      const pairs = recorded.map(({ query, passage }) =>
        tokenizer.encodeReading(query, passage, QUESTION_TOKENS_MAX, READER_TOKENS_MAX),
      );
      const together = await encoder.read(pairs);
      for (const [at, { token_ids, token_type_ids, logits }] of recorded.entries()) {
        const pair = pairs[at];
        invariant(pair, "each reference is read");
        expect([...pair.ids]).toEqual([...token_ids]);
        expect(pair.firstLength).toBe(token_type_ids.indexOf(1));
        expect(pair.secondEnd).toBe(token_type_ids.lastIndexOf(1) + 1);
        const [alone] = await encoder.read([pair]);
        expect(alone?.length).toBe(2 + 2 * token_ids.length);
        for (const [k, logit] of logits.entries()) {
          expect(Math.abs(logit - (alone?.[k] ?? Number.NaN))).toBeLessThan(LOGIT_TOLERANCE);
        }
        for (const [k, value] of (together[at] ?? []).entries()) {
          expect(value).toBeCloseTo(alone?.[k] ?? Number.NaN, 3);
        }
      }
      await encoder.close();
    },
  );

  test("reads in lanes: a row per passage, with words of the passage", async () => {
    const lanes = await lanesWith();
    const reader = readerOf(lanes);
    const [question = ""] = READ_PAIRS[0] ?? [];
    const passages = ["", "🎾🎾 Ana", ...READ_PAIRS.map(([, passage]) => passage), "a".repeat(20_000)];
    const readings = await reader.read(question, passages);
    expect(readings.length).toBe(passages.length * READING_WIDTH);
    for (const [row, passage] of passages.entries()) {
      const of = (name: keyof typeof READING) => readings[row * READING_WIDTH + READING[name]] ?? Number.NaN;
      expect(Number.isFinite(of("relevance")) && Number.isFinite(of("answer"))).toBe(true);
      if (passage === "") expect([of("begin"), of("end")]).toEqual([-1, -1]);
      else {
        const words = passage.slice(of("begin"), of("end"));
        expect(words.trim()).not.toBe("");
        expect(words.isWellFormed()).toBe(true);
      }
    }
    const first = await reader.read(question, [passages[2] ?? ""]);
    expect(first[READING.answer]).toBeCloseTo(readings[2 * READING_WIDTH + READING.answer] ?? Number.NaN, 3);
    expect((await reader.read(question, [])).length).toBe(0);
  });

  test("is not loaded before it is needed, and shares the tokeniser of its embedder", async () => {
    const models = new LoadedModels(modelsDir, null, { onCpu: (model) => openEncoder(model, "auto"), onGpu: null });
    const { tokenizer } = await models.embedder(MULTILINGUAL);
    expect(models.takeReports().loaded.map(({ id }) => id)).toEqual([MULTILINGUAL]);
    const reader = await models.reader(SMALL_READER);
    expect(models.takeReports().loaded.map(({ id }) => id)).toEqual([SMALL_READER]);
    expect(reader.tokenizer).toBe(tokenizer as ReadingTokenizer);
  });

  test("that is aborted or late ends as a reranker does", async () => {
    const reader = readerOf(await lanesWith());
    const aborted = reader.read("question", ["passage"], { signal: AbortSignal.abort(new Error("gone")) });
    expect(aborted).rejects.toThrow("gone");
    const late = await reader.read("question", ["one", "two"], { deadlineMs: 0 });
    expect(late.length).toBe(2 * READING_WIDTH);
    const isWhole = (row: number) => late.subarray(row * READING_WIDTH, (row + 1) * READING_WIDTH);
    for (const row of [0, 1]) {
      const values = [...isWhole(row)];
      expect(values.every(Number.isNaN) || values.every(Number.isFinite)).toBe(true);
    }
  });

  test("computes nearly the same in 16-bit floats, as on a GPU", async () => {
    const half = join(await folderWith(), "half.onnx");
    writeFileSync(half, toHalfPrecision(wholeModel(readerIn(modelsDir))));
    const encoder = await openWithOnnxruntime({ modelPath: half }, null);
    for (const { token_ids, token_type_ids, logits } of recorded) {
      const [firstLength, secondEnd] = [token_type_ids.indexOf(1), token_type_ids.lastIndexOf(1) + 1];
      const [values] = (await encoder.read?.([{ ids: Int32Array.from(token_ids), firstLength, secondEnd }])) ?? [];
      for (const [k, logit] of logits.entries()) {
        expect(Math.abs(logit - (values?.[k] ?? Number.NaN))).toBeLessThan(LOGIT_TOLERANCE);
      }
    }
    await encoder.close();
  });

  test("runs in onnxruntime where the native encoder computes something else", async () => {
    const folder = await folderWith({ referenceError: 5 });
    const encoder = await openEncoder(readerIn(folder), "auto");
    expect(encoder.provider).toBe("cpu");
    if (isEncoderMadeForThisProcessor()) expect(encoder.warning).toContain("differ from the model's reference.json");
    await encoder.close();
  });
});

describe("an embedder has no reader", () => {
  test("if it does not share words with one", async () => {
    const lanes = await lanesWith();
    expect(lanes.embedders.get(ENGLISH).reader ?? null).toBeNull();
    expect(lanes.embedders.get(MULTILINGUAL).reader).not.toBeNull();
  });

  test.each([
    [
      "is of another embedder",
      (manifest) => Object.assign(manifest, { words: { model: "none", sha256: "0".repeat(64) } }),
    ],
    [
      "has other words",
      (manifest) => Object.assign(manifest, { words: { model: MULTILINGUAL, sha256: "0".repeat(64) } }),
    ],
    ["has no words", (manifest) => Object.assign(manifest, { words: undefined })],
    ["has a tokeniser of its own", (manifest) => Object.assign(manifest, { tokenizer: {} })],
    ["has no curve", (manifest) => Object.assign(manifest, { evidence: undefined })],
    ["has a curve without the reader", (manifest) => Object.assign(manifest, { evidence: { offset: 0 } })],
    ["has a threshold above 1", (manifest) => Object.assign(manifest, { min_evidence: { fast: 2 } })],
    ["reads questions longer than pairs", (manifest) => Object.assign(manifest, { max_query_tokens: 1000 })],
  ] as readonly (readonly [string, (manifest: Record<string, unknown>) => void])[])(
    "if the reader %s; the models list says why",
    async (_, manifest) => {
      const folder = await folderWith({ manifest });
      const { embedders, readers, problems } = readModels(folder);
      expect([...embedders.keys()]).toEqual([ENGLISH, MULTILINGUAL]);
      expect([...readers.keys()]).toEqual([]);
      expect(problems.get(SMALL_READER)?.message).toContain(SMALL_READER);
      const lanes = await createLanes({
        modelsDir: folder,
        embedder: MULTILINGUAL,
        lanes: 1,
        log: createLog("silent"),
      });
      opened.push(lanes);
      expect(lanes.embedders.default.reader ?? null).toBeNull();
    },
  );

  test("if its file is missing", async () => {
    const folder = await folderWith();
    rmSync(join(folder, SMALL_READER, "model.onnx"));
    const lanes = await lanesWith({ modelsDir: folder });
    expect(lanes.embedders.default.reader ?? null).toBeNull();
  });

  test("that answers if its file is damaged; the embedder still does", async () => {
    const folder = await folderWith();
    writeFileSync(join(folder, SMALL_READER, "model.onnx"), "damaged");
    const lanes = await lanesWith({ modelsDir: folder });
    const failed = readerOf(lanes).read("question", ["passage"]);
    expect(failed).rejects.toMatchObject({ code: "model_unavailable" });
    const vectors = await lanes.embedders.default.embed(["a text"], { purpose: "query", priority: "query" });
    expect(vectors.length).toBe(384);
  });
});

describe("the shipped reader", () => {
  const shipped = [...readModels(MODELS_DIR).readers.values()].find(({ words }) => words?.id === MULTILINGUAL);

  test.each(["auto", "onnxruntime"] as const)("computes its references in %s", async (runtime) => {
    invariant(shipped, "the reader ships");
    await verifyModelFiles(shipped);
    const references: readonly Recorded[] = JSON.parse(readFileSync(shipped.referencePath, "utf8"));
    const encoder = await openEncoder(shipped, runtime);
    expect(encoder.provider).toBe(runtime === "auto" && isEncoderMadeForThisProcessor() ? "cpu-native" : "cpu");
    expect(references.length).toBeGreaterThan(8);
    for (const { token_ids, token_type_ids, logits } of references) {
      const [firstLength, secondEnd] = [token_type_ids.indexOf(1), token_type_ids.lastIndexOf(1) + 1];
      const [values] = (await encoder.read?.([{ ids: Int32Array.from(token_ids), firstLength, secondEnd }])) ?? [];
      for (const [k, logit] of logits.entries()) {
        expect(Math.abs(logit - (values?.[k] ?? Number.NaN))).toBeLessThan(2 * LOGIT_TOLERANCE);
      }
    }
    await encoder.close();
  });

  test("tells answers from notes on something else, and finds the words", async () => {
    const reader = readerOf(await lanesWith({ modelsDir: MODELS_DIR }));
    for (const [question, answer, other, words] of [
      ["Where is the spare key?", "The spare key is under the blue pot.", "The dentist is on Pine Street.", "blue pot"],
      ["Wie ist das WLAN-Passwort?", "Das WLAN-Passwort ist Reiher-58.", "Montag kommt der Klempner.", "Reiher-58"],
      ["¿A qué hora sale el tren?", "El tren sale a las 7:10.", "Ana compró una bicicleta azul.", "7:10"],
      ["Где лежит паспорт?", "Паспорт лежит в верхнем ящике.", "В среду приедет сестра.", "ящике"],
    ] as const) {
      const readings = await reader.read(question, [answer, other]);
      const [yes = 0, no = 0] = [readings[READING.answer], readings[READING_WIDTH + READING.answer]];
      expect(yes, question).toBeGreaterThan(no + 1);
      expect(answer.slice(readings[READING.begin], readings[READING.end]), question).toContain(words);
    }
  });
});
