// Models of other architectures than the shipped ones, as a model hub has them: each reproduces the vectors and scores
// of its reference implementation. fixtures/make-models.py makes them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLanes, type Lanes } from "../../src/adapters/inference/lanes.ts";
import { createModelFiles } from "../../src/adapters/installation/model-folder.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { JsonRecord } from "../../src/kit/record.ts";
import { checkModel } from "../../src/models/checks.ts";
import type { FoundModel } from "../../src/ports/models.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";

const FIXTURES = join(import.meta.dir, "fixtures/models");
const EMBEDDERS = ["bert-mean", "xlm-roberta-cls", "modernbert-last", "static"] as const;
const folder = mkdtempSync(join(tmpdir(), "mneme-added-"));
const installedDir = join(folder, "installed");
const files = createModelFiles({ installedDir, sourceDirs: null, hub: "http://127.0.0.1:1" });

let lanes: Lanes;
beforeAll(async () => {
  lanes = await createLanes({
    ...{ modelsDir: MODELS_DIR, installedDir, embedder: ENGLISH, lanes: 1, preloadsReranker: false },
    log: createLog("silent"),
  });
});
afterAll(async () => {
  await lanes.close();
  rmSync(folder, { recursive: true });
});

const install = (id: string, source = join(FIXTURES, id), manifest: JsonRecord = {}) =>
  files.install({ id, source, sha256: null, manifest }, () => undefined, new AbortController().signal);
async function added(...of: Parameters<typeof install>): Promise<FoundModel> {
  const { manifestSha256 } = await install(...of);
  return lanes.local.open({ id: of[0], manifestSha256 });
}
const referencesOf = (id: string) => JSON.parse(readFileSync(join(FIXTURES, id, "reference.json"), "utf8"));
/** A copy of a fixture with other files. */
function changed(id: string, name: string, content: string | null): string {
  const copy = mkdtempSync(join(folder, "changed-"));
  cpSync(join(FIXTURES, id), copy, { recursive: true });
  if (content === null) rmSync(join(copy, name), { recursive: true });
  else writeFileSync(join(copy, name), content);
  return copy;
}

describe("tokenisers", () => {
  test("one without special tokens makes the tokens of texts alone", () => {
    const description = JSON.parse(readFileSync(join(FIXTURES, "bert-mean", "tokenizer.json"), "utf8"));
    const bare = changed("bert-mean", "tokenizer.json", JSON.stringify({ ...description, post_processor: null }));
    const load = (of: string) => loadTokenizer({ kind: "huggingface", path: join(of, "tokenizer.json") });
    const [whole, plain] = [load(join(FIXTURES, "bert-mean")), load(bare)];
    const ids = [...plain.encode("the spare key", 64)];
    expect(ids).toEqual([...whole.encode("the spare key", 64)].slice(1, -1));
    const pair = plain.encodePair("the spare key", "the spare key", 64, 128);
    expect(pair).toEqual({ ids: Int32Array.from([...ids, ...ids]), firstLength: 2 * ids.length });
  });

  for (const id of EMBEDDERS) {
    test(`that of ${id} makes the tokens of the reference, truncated or not`, () => {
      const tokenizer = loadTokenizer({ kind: "huggingface", path: join(FIXTURES, id, "tokenizer.json") });
      const prefixes = id === "bert-mean" ? { query: "query: ", passage: "passage: " } : { query: "", passage: "" };
      for (const { text, purpose, token_ids } of referencesOf(id)) {
        const whole = prefixes[purpose as keyof typeof prefixes] + text;
        expect([...tokenizer.encode(whole, id === "static" ? 512 : 64)]).toEqual(token_ids);
      }
    });
  }

  test("pairs have the tokens and types of the reference, and are truncated at their limits", () => {
    const tokenizer = loadTokenizer({ kind: "huggingface", path: join(FIXTURES, "cross/tokenizer.json") });
    for (const { query, passage, token_ids, token_type_ids } of referencesOf("cross")) {
      const { ids, firstLength } = tokenizer.encodePair(query, passage, 64, 64);
      expect([[...ids], firstLength]).toEqual([token_ids, token_type_ids.indexOf(1)]);
      expect(tokenizer.encodePair(query, passage, 2, 9).ids).toHaveLength(9);
    }
  });

  test("a long text is counted in linear time, and an empty one has a token", () => {
    const path = join(FIXTURES, "static/tokenizer.json");
    const tokenizer = loadTokenizer({ kind: "huggingface", path });
    const count = tokenizer.count("the key ");
    expect(Math.abs(tokenizer.count("the key ".repeat(100_000)) - 100_000 * count)).toBeLessThan(200);
    expect(tokenizer.encode("", 8)).toHaveLength(1);
  });
});

describe("each architecture", () => {
  for (const id of [...EMBEDDERS, "cross"]) {
    test(`${id} passes all checks with what its folder says`, async () => {
      const { checks } = await checkModel(await added(id), systemClock);
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      expect(checks.at(-1)?.message).toMatch(/reproduces its \d+ references/);
    });
  }

  test("vectors are those of the reference to the fourth digit, alone and beside others", async () => {
    for (const id of EMBEDDERS) {
      const found = await added(id);
      if (found.task !== "embed") throw new Error("it is an embedder");
      const references = referencesOf(id).filter(({ purpose }: { purpose: string }) => purpose === "passage");
      const texts = references.map(({ text }: { text: string }) => text);
      const vectors = await found.embedder.embed(texts, { purpose: "passage", priority: "query" });
      for (const [row, { vector }] of references.entries()) {
        const computed = vectors.subarray(row * vector.length, (row + 1) * vector.length);
        expect(Math.hypot(...vector.map((value: number, at: number) => value - (computed[at] ?? 0)))).toBeLessThan(
          1e-3,
        );
      }
    }
  });

  test("a folder says licence, languages, lengths and prefixes", async () => {
    expect(await install("bert-mean")).toMatchObject({
      ...{ task: "embed", dimensions: 32, tokensMax: 64, languages: ["en", "de"], licence: "MIT", isCalibrated: false },
    });
    expect(await install("xlm-roberta-cls")).toMatchObject({ tokensMax: 64 });
    expect(await install("static")).toMatchObject({ dimensions: 48, languages: ["en"] });
    expect(await install("cross")).toMatchObject({ task: "rerank", dimensions: null, fingerprint: null });
  });

  test("a Matryoshka model stores the first components, with another fingerprint", async () => {
    const whole = await install("bert-mean");
    const cut = await install("bert-mean", join(FIXTURES, "bert-mean"), { stored_dimensions: 16 });
    expect(cut.dimensions).toBe(16);
    expect(cut.fingerprint).not.toBe(whole.fingerprint);
    const { checks } = await checkModel(lanes.local.open({ id: "bert-mean", ...cut }), systemClock);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  test("another pooling than that of the reference is noticed, and so is another length", async () => {
    const messageOf = async (manifest: JsonRecord) => {
      const { checks } = await checkModel(await added("bert-mean", join(FIXTURES, "bert-mean"), manifest), systemClock);
      return checks.find(({ ok }) => !ok)?.message ?? "";
    };
    expect(await messageOf({ pooling: "cls" })).toContain("away from its reference");
    expect(await messageOf({ dimensions: 48 })).toContain("32 numbers per text");
    expect(await messageOf({ pooling: "output" })).toContain("one vector per text");
  });
});

describe("a folder that is no model", () => {
  const problem = (source: string, manifest: JsonRecord = {}) =>
    install("broken", source, manifest).then(
      () => "none",
      (error: Error) => error.message,
    );

  test("says what is missing, and names no path of the server", async () => {
    const cases = [
      [changed("bert-mean", "onnx", null), "no ONNX model"],
      [changed("bert-mean", "tokenizer.json", null), "no tokenizer.json"],
      [changed("bert-mean", "1_Pooling", null), "--pooling"],
      [
        changed("static", "config.json", null),
        "does not say the pooling and the dimensions of the model: add --pooling (cls, mean, last, or output",
      ],
      [changed("bert-mean", "config.json", "{"), "config.json of the folder is not JSON"],
      [changed("bert-mean", "model.json", '{"colour":"red"}'), "no field colour"],
      [changed("static", "model.json", '{"file":"../../etc/passwd"}'), "file must be a file name"],
    ] as const;
    for (const [source, message] of cases) {
      const found = await problem(source);
      expect(found).toContain(message);
      expect(found).not.toContain(folder);
    }
  });

  test("a model.json with some fields counts more than other files, and flags count most", async () => {
    const source = changed("bert-mean", "model.json", '{"languages":["fr"],"max_tokens":32}');
    expect(await install("mine", source)).toMatchObject({ languages: ["fr"], tokensMax: 32 });
    expect(await install("mine", source, { max_tokens: 16 })).toMatchObject({ tokensMax: 16 });
  });
});
