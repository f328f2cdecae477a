// Models that a real server computes: Infinity, with the interfaces of OpenAI and Jina. Its models are small and
// random.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { createRemoteModels } from "../../src/adapters/remote-models/remote-models.ts";
import type { AddedModel, RemoteApi, RemoteModel } from "../../src/domain/installed-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Metrics } from "../../src/metrics.ts";
import { checkModel, failedChecks } from "../../src/models/checks.ts";
import { messageOf } from "../contract/stores.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

/** Python with infinity-emb[server,torch]. */
const python = process.env.MNEME_TEST_INFINITY ?? null;
const WHY = "set MNEME_TEST_INFINITY to a Python with infinity-emb[server,torch]";
const INGEST = { purpose: "passage", priority: "ingest" } as const;

describe.skipIf(python === null)(`Infinity${python === null ? `, skipped: ${WHY}` : ""}`, () => {
  const folder = temporaryFolder();
  const remote = createRemoteModels({ clock: systemClock, metrics: new Metrics(), random: () => 0.5 });
  let server: Bun.Subprocess;
  let origin: string;

  beforeAll(async () => {
    const tokenizer = join(MODELS_DIR, ENGLISH, "tokenizer.json");
    await run([python ?? "", join(import.meta.dir, "tiny_models.py"), tokenizer, folder.path]);
    const port = await freePort();
    const models = ["tiny-embed", "tiny-rerank"].flatMap((name) => {
      const plain = ["--engine", "torch", "--device", "cpu", "--no-model-warmup", "--no-bettertransformer"];
      return ["--model-id", join(folder.path, name), "--served-model-name", name, ...plain];
    });
    const address = ["--host", "127.0.0.1", "--port", String(port), "--url-prefix", "/v1"];
    const command = [join(python ?? "", "../infinity_emb"), "v2", ...models, ...address];
    const environment = { ...process.env, DO_NOT_TRACK: "1", HF_HUB_OFFLINE: "1" };
    server = Bun.spawn(command, { stdout: "ignore", stderr: "ignore", env: environment });
    origin = `http://127.0.0.1:${port}`;
    await until("Infinity answers", () =>
      fetch(`${origin}/v1/models`).then(
        ({ ok }) => ok,
        () => false, // until it listens
      ),
    );
  });
  afterAll(async () => {
    server?.kill();
    await server?.exited;
    folder.remove();
  });

  const address = (api: RemoteApi, model: string): RemoteModel => {
    return { api, base_url: `${origin}/v1`, model, api_key: null };
  };
  async function opened(api: RemoteApi, model: string, task: AddedModel["task"]) {
    const at = address(api, model);
    const { probes, ...found } = await remote.examine(model, at, task);
    return remote.open({
      ...{ key: 1n, id: model, task, kind: "remote", source: null, sha256: null, languages: ["en"], licence: null },
      ...{ isCalibrated: false, manifestSha256: null, status: "ready", progress: null, error: null, tunings: {} },
      ...{ calibrationJob: null, createdAt: 0, ...found, remote: { ...at, ...(probes !== null && { probes }) } },
    });
  }

  test.each(["openai", "jina"] as const)("embeds texts of any kind by the interface of %s", async (api) => {
    const found = await opened(api, "tiny-embed", "embed");
    if (found.task !== "embed") throw new Error("it is no embedder");
    expect(failedChecks(await checkModel(found, systemClock))).toEqual([]);
    const texts = [
      ...Array.from({ length: 65 }, (_, at) => `text ${at} ${"word ".repeat(at)}`),
      "",
      "\u{1f600} 日本語",
    ];
    const vectors = await found.embedder.embed(texts, INGEST);
    expect(vectors).toHaveLength(texts.length * found.embedder.dimensions);
    const [alone] = [await found.embedder.embed(["text 7 word word word word word word word "], INGEST)];
    const row = vectors.subarray(7 * found.embedder.dimensions, 8 * found.embedder.dimensions);
    expect(alone.reduce((sum, value, at) => sum + value * (row[at] ?? 0), 0)).toBeGreaterThan(0.99);
  });

  test("reranks by the interface of Jina", async () => {
    const found = await opened("jina", "tiny-rerank", "rerank");
    if (found.task !== "rerank") throw new Error("it is no reranker");
    expect(failedChecks(await checkModel(found, systemClock))).toEqual([]);
    const scores = await found.reranker.score("Is the kettle red?", ["The kettle is red.", "x".repeat(3_000), ""]);
    expect([...scores].every(Number.isFinite)).toBe(true);
  });

  test("says in one sentence what is wrong with a name, a task or an address", async () => {
    const why = (model: string, base_url = `${origin}/v1`) =>
      messageOf(() => remote.examine(model, { ...address("jina", model), base_url }, "embed"));
    expect(await why("none")).toContain("check the API and the model's name");
    expect(await why("tiny-rerank")).toContain("check the API and the model's name");
    expect(await why("tiny-embed", origin)).toContain("check the address");
  });
});

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], { stdout: "ignore", stderr: "pipe" });
  const stderr = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(stderr);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
