// The manifests of models: the shipped ones, and one line that says what is wrong with any other.

import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelFilesError } from "../../src/adapters/inference/manifest-fields.ts";
import { embedderOf, fingerprintOf, readModels, verifyModelFiles } from "../../src/adapters/inference/model-files.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { ENGLISH, ENGLISH_TUNING, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";

const RERANKER = "mneme-reranker-minilm-l6";
const folder = mkdtempSync(join(tmpdir(), "mneme-manifests-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Manifest = Record<string, unknown> & { retrieval: Record<string, Record<string, unknown>> };

/** A folder of models with the shipped manifests (no other files), one of them changed. */
function modelsWith(id: string, change: (manifest: Manifest) => void): string {
  const models = mkdtempSync(join(folder, "models-"));
  for (const each of [ENGLISH, RERANKER]) {
    mkdirSync(join(models, each));
    cpSync(join(MODELS_DIR, each, "model.json"), join(models, each, "model.json"));
  }
  const path = join(models, id, "model.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
  return models;
}

/** Why the English embedder of this folder cannot be used. */
function problemOf(models: string): string {
  try {
    embedderOf(readModels(models), ENGLISH);
  } catch (error) {
    expect(error).toBeInstanceOf(ModelFilesError);
    return (error as Error).message;
  }
  throw new Error("the model can be used");
}

describe("what tells that a note is replaced", () => {
  const shipped = JSON.parse(readFileSync(join(MODELS_DIR, MULTILINGUAL, "model.json"), "utf8")).retrieval.replacement;
  const { network, ...others } = shipped;
  const [unit] = network.units;
  const slopes = { ...unit.weights, bias: -2 };
  const { is_replaced: _, ...earlierSlopes } = slopes;
  const { replaced_probe: __, ...earlier } = others;
  const read = (replacement: object) => {
    const models = modelsWith(ENGLISH, (manifest) => Object.assign(manifest.retrieval, { replacement }));
    return embedderOf(readModels(models), ENGLISH).tuning?.replacement;
  };

  test("is a network, or a regression as in manifests of earlier versions", () => {
    expect(read({ ...others, network })?.weights).toMatchObject({ bias: network.bias });
    const { weights, replacedProbe } = read({ ...earlier, slopes: earlierSlopes }) ?? {};
    expect(replacedProbe).toBeNull();
    expect(weights).toMatchObject({ slopes: { bias: -2, newerRank: slopes.newer_rank, isReplaced: 0 } });
  });

  test("is named in one line if it is wrong", () => {
    const { newer_rank: ___, ...weights } = unit.weights;
    const wrong = (units: readonly object[]) => () => read({ ...others, network: { ...network, units } });
    expect(wrong([{ ...unit, weights }])).toThrow("retrieval.replacement.network.units[0].weights.newer_rank");
    expect(wrong([unit, { ...unit, output: "1" }])).toThrow("retrieval.replacement.network.units[1].output");
    expect(() => read({ ...others, replaced_probe: { ...others.replaced_probe, weights: "AA==" }, network })).toThrow(
      "retrieval.replacement.replaced_probe.weights must be 384 bytes in base64",
    );
    expect(() => read(others)).toThrow("retrieval.replacement.slopes");
  });
});

describe("a reader", () => {
  const reader = JSON.parse(readFileSync(join(MODELS_DIR, "mneme-reader", "model.json"), "utf8"));
  const wordsOf = (words: Readonly<Record<string, string>>) => {
    const models = modelsWith(ENGLISH, () => undefined);
    for (const [id, model] of Object.entries(words)) {
      mkdirSync(join(models, id));
      const manifest = { ...reader, id, words: { ...reader.words, model } };
      writeFileSync(join(models, id, "model.json"), JSON.stringify(manifest));
    }
    return readModels(models);
  };

  test.each([
    ["itself", { one: "one" }],
    ["another one, which names it", { one: "two", two: "one" }],
    ["another one in a circle of three", { one: "two", two: "three", three: "one" }],
    ["another one, which names itself", { one: "two", two: "two" }],
    ["a reranker", { one: RERANKER }],
    ["a model that is not there", { one: "none" }],
  ])("whose words are those of %s cannot be used, and the others can", (_, words) => {
    const { readers, problems, embedders } = wordsOf(words);
    expect([readers.size, embedders.size]).toEqual([0, 1]);
    for (const [id, model] of Object.entries(words)) {
      expect(problems.get(id)?.message).toContain(`${id}/model.json: there is no embedder ${model} beside it`);
    }
  });
});

describe("the shipped models", () => {
  const { embedders, rerankers, readers, problems } = readModels(MODELS_DIR);

  test("are two embedders, their reranker, and the reader of one", () => {
    expect([...embedders.keys()]).toEqual([ENGLISH, MULTILINGUAL]);
    expect([...rerankers.keys()]).toEqual([RERANKER]);
    expect([...readers.values()].map(({ id, words }) => [id, words?.id])).toEqual([["mneme-reader", MULTILINGUAL]]);
    expect([...problems]).toEqual([]);
  });

  test("have the files of their manifests, with their checksums, and a card", async () => {
    for (const model of [...embedders.values(), ...rerankers.values(), ...readers.values()]) {
      await verifyModelFiles(model);
      expect(existsSync(model.referencePath)).toBe(true);
      expect(existsSync(join(MODELS_DIR, model.id, "MODEL_CARD.md"))).toBe(true);
    }
  });

  test("have other fingerprints; that of the English embedder is the one of version 0.1", () => {
    const fingerprints = [...embedders.values()].map(fingerprintOf);
    expect(fingerprints[0]).toBe("all-MiniLM-L6-v2/b3eea7808d9db04c/6681992d43e581b3/256");
    expect(new Set(fingerprints).size).toBe(2);
  });

  test("a changed prefix is another fingerprint", () => {
    const multilingual = embedderOf(readModels(MODELS_DIR), MULTILINGUAL);
    const changed = { ...multilingual, prefixes: { ...multilingual.prefixes, passage: "text: " } };
    expect(fingerprintOf(changed)).not.toBe(fingerprintOf(multilingual));
  });

  test("the English embedder ranks as version 0.1 did", () => {
    const words = { vectorWeight: 1, textWeight: 2.3, graphWeight: 1.5, rerankWeight: 0.4 };
    expect(ENGLISH_TUNING.weights).toMatchObject({
      fast: { vectorWeight: 1, textWeight: 0, graphWeight: 1.5, rerankWeight: 0 },
      balanced: words,
      precise: words,
    });
    expect(ENGLISH_TUNING).toMatchObject({
      unsupportedScript: { vectorWeight: 0.02, graphWeight: 0.5 },
      typicalCosine: 0.5,
    });
  });

  test("have curves fitted to stores of all sizes, and evidence thresholds in each mode", () => {
    for (const { id, tuning } of embedders.values()) {
      for (const [signals, { slope, gapSlope, sizeSlope }] of Object.entries(tuning.curves)) {
        expect(Math.min(slope, gapSlope, sizeSlope), `${id}: ${signals}`).toBeGreaterThan(0);
      }
      for (const mode of MODE_NAMES) {
        expect(tuning.evidenceMin[mode], `${id}: ${mode}`).toBeWithin(0.1, 0.5);
      }
    }
  });
});

describe("a manifest that is not valid gives one line with its path, the field and what would be right", () => {
  const cases: readonly (readonly [what: string, change: (manifest: Manifest) => void, problem: string])[] = [
    ["a missing field", (m) => delete m.dimensions, " has no field dimensions"],
    ["an unknown field", (m) => (m.colour = "red"), ": there is no field colour; remove it"],
    ["another id than its folder", (m) => (m.id = "x"), `: id must be "${ENGLISH}", not "x"`],
    ["an unknown kind", (m) => (m.kind = "poet"), ': kind must be "embedder" or "reranker" or "reader", not "poet"'],
    ["no tokeniser", (m) => delete m.tokenizer, " has no field tokenizer"],
    ["an old tokeniser", (m) => (m.tokenizer = "t.json"), ": tokenizer must be a JSON object"],
    [
      "an unknown kind of tokeniser",
      (m) => Object.assign(m.tokenizer as object, { kind: "bpe" }),
      ': tokenizer.kind must be "wordpiece" or "unigram" or "huggingface", not "bpe"',
    ],
    ["a path as a file", (m) => (m.file = "../model.onnx"), ': file must be a file name, not "../model.onnx"'],
    ["a short checksum", (m) => (m.sha256 = "12"), ': sha256 must be a SHA-256 of 64 digits, not "12"'],
    ["no dimensions", (m) => (m.dimensions = 0), ": dimensions must be an integer from 1 to 8192, not 0"],
    [
      "a text as dimensions",
      (m) => (m.dimensions = "384"),
      ': dimensions must be an integer from 1 to 8192, not "384"',
    ],
    [
      "chunks that it cannot read",
      (m) => (m.chunk_tokens = 257),
      ": chunk_tokens must be an integer from 1 to 256, not 257",
    ],
    [
      "a prefix that is no text",
      (m) => (m.prefixes = { query: 1, passage: "" }),
      ": prefixes.query must be a text, which may be empty, not 1",
    ],
    [
      "an unknown pooling",
      (m) => (m.pooling = "max"),
      ': pooling must be "in the graph" or "output" or "cls" or "mean" or "last", not "max"',
    ],
    [
      "more stored dimensions than computed ones",
      (m) => (m.stored_dimensions = 385),
      ": stored_dimensions must be an integer from 1 to 384, not 385",
    ],
    [
      "a language that is no tag",
      (m) => (m.languages = ["en", "e n"]),
      ': languages must be a list of BCP 47 tags, not ["en","e n"]',
    ],
    ["a missing mode", (m) => delete m.retrieval.modes?.precise, " has no field retrieval.modes.precise"],
    [
      "a negative weight",
      (m) => Object.assign(m.retrieval.modes?.fast as object, { text_weight: -1 }),
      ": retrieval.modes.fast.text_weight must be a number from 0, not -1",
    ],
    [
      "an unknown weight",
      (m) => Object.assign(m.retrieval.modes?.fast as object, { luck: 1 }),
      ": there is no field retrieval.modes.fast.luck; remove it",
    ],
    [
      "a missing curve",
      (m) => delete m.retrieval.curves?.["vector text"],
      " has no field retrieval.curves.vector text",
    ],
    [
      "a cosine above 1",
      (m) => Object.assign(m.retrieval, { typical_cosine: 1.1 }),
      ": retrieval.typical_cosine must be a number from -1 to 1, not 1.1",
    ],
    [
      "evidence above 1",
      (m) => Object.assign(m.retrieval, { min_evidence: { fast: 0, hybrid: 2, balanced: 0, precise: 0 } }),
      ": retrieval.min_evidence.hybrid must be a number from 0 to 1, not 2",
    ],
  ];
  for (const [what, change, problem] of cases) {
    test(what, () => {
      const models = modelsWith(ENGLISH, (manifest) => void change(manifest));
      expect(problemOf(models)).toBe(`${join(models, ENGLISH, "model.json")}${problem}`);
    });
  }

  test("a file that is not JSON, or no object", () => {
    for (const [content, problem] of [
      ["{", "cannot be read: SyntaxError"],
      ["[]", "the file must be a JSON object"],
    ] as const) {
      const models = modelsWith(ENGLISH, () => undefined);
      writeFileSync(join(models, ENGLISH, "model.json"), content);
      const line = problemOf(models);
      expect(line).toContain(problem);
      expect(line).not.toContain("\n");
    }
  });

  test("a reranker that is not there, or not valid", () => {
    const missing = modelsWith(ENGLISH, (manifest) => {
      manifest.reranker = "gone";
    });
    expect(problemOf(missing)).toContain(`names a reranker that cannot be used: ${missing} has no reranker "gone"`);
    const broken = modelsWith(RERANKER, (manifest) => {
      manifest.max_query_tokens = 129;
    });
    expect(problemOf(broken)).toContain("max_query_tokens must be an integer from 1 to 128, not 129");
  });

  test("an embedder that is not there: the line lists those that are", () => {
    const models = modelsWith(ENGLISH, () => undefined);
    expect(() => embedderOf(readModels(models), "e6")).toThrow(
      `there is no embedder "e6" in ${models}; there are: ${ENGLISH}`,
    );
    rmSync(join(models, ENGLISH), { recursive: true });
    expect(() => embedderOf(readModels(models), ENGLISH)).toThrow("; there are: none");
    expect(() => readModels(join(models, "nowhere"))).toThrow(`${join(models, "nowhere")} cannot be read`);
  });

  test("a folder without a manifest is no model", () => {
    const models = modelsWith(ENGLISH, () => undefined);
    mkdirSync(join(models, "recipe"));
    expect([...readModels(models).problems]).toEqual([]);
  });
});
