// Reading early-exit.json: the shipped file, a minimal file, and the errors for unusable files.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEarlyExitProbe } from "../../src/adapters/inference/early-exit-probe.ts";
import { type RerankerDescription, readModels } from "../../src/adapters/inference/model-files.ts";
import { invariant } from "../../src/domain/fault.ts";
import { MODELS_DIR } from "../support/shipped-models.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-early-exit-"));
afterAll(() => rmSync(folder, { recursive: true }));
const shipped = shippedReranker();

function shippedReranker(): RerankerDescription {
  const found = readModels(MODELS_DIR).rerankers.get("mneme-reranker-minilm-l6");
  invariant(found, "the reranker ships with Mneme");
  return found;
}

/**
 * Returns the reranker's description for a folder whose early-exit.json has this content, or that has no such file if
 * `content` is null.
 */
function modelWith(content: string | null) {
  rmSync(join(folder, "early-exit.json"), { force: true });
  if (content !== null) writeFileSync(join(folder, "early-exit.json"), content);
  return { ...shipped, modelPath: join(folder, "model.onnx") };
}

describe("early-exit.json", () => {
  test("the shipped file fits the shipped reranker", () => {
    expect(readEarlyExitProbe(shipped)).toMatchObject({
      probe: { layers: 2, numbers: { length: 3 * 384 + 1 } },
      references: { length: 4 },
    });
  });

  test("is optional", () => expect(readEarlyExitProbe(modelWith(null))).toBeNull());

  test("becomes weights followed by the bias", () => {
    const references = [{ token_ids: [101, 7, 102, 8, 102], first_length: 3, logit_estimate: -0.5 }];
    const fields = { model_sha256: shipped.modelSha256, layers: 3, weights: [1, -0.5], bias: 0.25, references };
    expect(readEarlyExitProbe(modelWith(JSON.stringify(fields)))).toEqual({
      probe: { layers: 3, numbers: Float32Array.of(1, -0.5, 0.25) },
      references: [{ ids: Int32Array.of(101, 7, 102, 8, 102), firstLength: 3, logitEstimate: -0.5 }],
    });
  });

  const good = { model_sha256: shipped.modelSha256, layers: 2, weights: [1], bias: 0, references: [] };
  test.each([
    ["not JSON", "{", "cannot be read"],
    ["made for another model", JSON.stringify({ ...good, model_sha256: "0".repeat(64) }), "was made for another model"],
    ["without layers", JSON.stringify({ ...good, layers: "2" }), 'has no "layers"'],
    ["without weights", JSON.stringify({ ...good, weights: [] }), "weights"],
    ["with weights that are not numbers", JSON.stringify({ ...good, weights: [null] }), "weights"],
    ["without a bias", JSON.stringify({ ...good, bias: undefined }), "bias"],
    ["with a bias beyond 32 bits", JSON.stringify({ ...good, bias: 1e39 }), "bias"],
    ["without references", JSON.stringify(good), "references"],
  ])("is refused when it is %s", (_, content, reason) => {
    expect(() => readEarlyExitProbe(modelWith(content))).toThrow(reason);
  });
});
