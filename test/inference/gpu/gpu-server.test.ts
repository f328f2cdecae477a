// A server that should use a GPU and cannot: it serves on the CPU, and /ready, the metrics and the log say why.

import { expect, test } from "bun:test";
import { startServer } from "../../support/server.ts";
import { ENGLISH } from "../../support/shipped-models.ts";

const WARNING = "the GPU cannot be used, so the CPU computes: MNEME_ONNXRUNTIME_DIR is not set";

test("a GPU that was asked for and is missing is a warning, and searches work", async () => {
  await using server = await startServer({
    environment: { MNEME_EMBEDDER: ENGLISH, MNEME_MODEL_PROVIDER: "cuda:0", MNEME_LANES: "1" },
  });
  const ready = await server.call("GET", "/ready");
  expect(ready).toMatchObject({ status: 200, body: { status: "ready", warnings: [WARNING] } });
  expect((await server.call("GET", "/v1/system")).body).toMatchObject({ warnings: [WARNING] });
  expect(server.stderr()).toContain(WARNING);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('mneme_lane_gpu_fallback{lane="lane-0-only"} 1\n');
  expect(metrics).toContain('mneme_lane_gpu_failures{lane="lane-0-only"} 0\n');
  const search = await server.call("POST", "/v1/memories/search", { query: "anything", mode: "precise" });
  expect(search.status).toBe(200);
});

test("without a GPU, auto says nothing", async () => {
  await using server = await startServer({ environment: { MNEME_EMBEDDER: ENGLISH, MNEME_LANES: "1" } });
  expect((await server.call("GET", "/ready")).body).not.toHaveProperty("warnings");
  expect((await server.call("GET", "/v1/system")).body).toMatchObject({ warnings: [] });
  expect(server.stderr()).not.toContain("GPU");
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('mneme_lane_gpu_fallback{lane="lane-0-only"} 0\n');
});
