// What lies beside a reranker for telling its logits early, and what is said of files that are of no use.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEarlyExitProbe } from "../../src/adapters/inference/early-exit-probe.ts";
import { describeReranker } from "../../src/adapters/inference/model-files.ts";
import { MODELS_DIR } from "./references.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-early-exit-"));
afterAll(() => rmSync(folder, { recursive: true }));
const shipped = describeReranker(MODELS_DIR);

/** A model in a folder with this file beside it. */
function beside(content: string | null) {
  rmSync(join(folder, "early-exit.json"), { force: true });
  if (content !== null) writeFileSync(join(folder, "early-exit.json"), content);
  return { ...shipped, modelPath: join(folder, "model.onnx") };
}

describe("early-exit.json", () => {
  test("the one that ships is for the reranker that ships", () => {
    expect(readEarlyExitProbe(shipped)).toMatchObject({
      probe: { layers: 2, numbers: { length: 3 * 384 + 1 } },
      references: { length: 4 },
    });
  });

  test("may be missing", () => expect(readEarlyExitProbe(beside(null))).toBeNull());

  test("has weights and a bias, in this order", () => {
    const references = [{ token_ids: [101, 7, 102, 8, 102], first_length: 3, logit_estimate: -0.5 }];
    const fields = { model_sha256: shipped.modelSha256, layers: 3, weights: [1, -0.5], bias: 0.25, references };
    expect(readEarlyExitProbe(beside(JSON.stringify(fields)))).toEqual({
      probe: { layers: 3, numbers: Float32Array.of(1, -0.5, 0.25) },
      references: [{ ids: Int32Array.of(101, 7, 102, 8, 102), firstLength: 3, logitEstimate: -0.5 }],
    });
  });

  const good = { model_sha256: shipped.modelSha256, layers: 2, weights: [1], bias: 0, references: [] };
  test.each([
    ["not JSON", "{", "cannot be read"],
    ["of another model", JSON.stringify({ ...good, model_sha256: "0".repeat(64) }), "was made for another model"],
    ["without layers", JSON.stringify({ ...good, layers: "2" }), 'has no "layers"'],
    ["without weights", JSON.stringify({ ...good, weights: [] }), "weights"],
    ["with weights that are no numbers", JSON.stringify({ ...good, weights: [null] }), "weights"],
    ["without a bias", JSON.stringify({ ...good, bias: undefined }), "bias"],
    ["with a bias beyond 32 bits", JSON.stringify({ ...good, bias: 1e39 }), "bias"],
    ["without references", JSON.stringify(good), "references"],
  ])("is refused when it is %s", (_, content, reason) => {
    expect(() => readEarlyExitProbe(beside(content))).toThrow(reason);
  });
});
