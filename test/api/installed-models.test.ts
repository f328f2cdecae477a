// /v1/installed-models and /v1/projects/:id/reranker: models that an operator adds to a running server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readModels } from "../../src/adapters/inference/model-files.ts";
import { createModelFiles } from "../../src/adapters/installation/model-folder.ts";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const RERANKER = "mneme-reranker-minilm-l6";
const READERS = [...readModels(MODELS_DIR).readers.keys()];

let mneme: TestService;
let project: string;
beforeAll(async () => {
  mneme = await startService({ config: { embedder: ENGLISH } });
  project = (await mneme.call("GET", "/v1/project")).body.id;
});
afterAll(() => mneme.stop());

/** Puts a copy of a shipped model below the folder of models of the server. */
function offer(name: string, shipped: string, change: (manifest: Record<string, unknown>) => void = () => undefined) {
  const folder = join(mneme.dataDir, "models", name);
  mkdirSync(join(folder, ".."), { recursive: true });
  cpSync(join(MODELS_DIR, shipped), folder, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(folder, "model.json"), "utf8"));
  change(manifest);
  writeFileSync(join(folder, "model.json"), JSON.stringify(manifest));
}
const add = (body: unknown) => mneme.call("POST", "/v1/installed-models", body);
const get = async (id: string) => (await mneme.call("GET", `/v1/installed-models/${id}`)).body;
const ended = (id: string) =>
  until("the model is ready or failed", async () => {
    const found = await get(id);
    return found.status === "ready" || found.status === "failed" ? found : null;
  });

describe("listInstalledModels", () => {
  test("200: the built-in models, page by page, and by task", async () => {
    const { body } = await mneme.call("GET", "/v1/installed-models");
    expect(body.data.map(({ id, kind }: { id: string; kind: string }) => [id, kind])).toEqual(
      [ENGLISH, MULTILINGUAL, RERANKER, ...READERS].map((id) => [id, "built_in"]),
    );
    expect(body.data[0]).toMatchObject({ task: "embed", dimensions: 384, status: "ready", calibration: "shipped" });
    const first = (await mneme.call("GET", "/v1/installed-models?limit=2")).body;
    expect([first.data.length, first.has_more]).toEqual([2, true]);
    const { body: rest } = await mneme.call("GET", `/v1/installed-models?limit=2&cursor=${first.cursor}`);
    expect(rest.data.map(({ id }: { id: string }) => id)).toEqual([RERANKER, ...READERS]);
    expectFault(
      await mneme.call("GET", `/v1/installed-models?task=embed&cursor=${first.cursor}`),
      400,
      "invalid_cursor",
      "cursor",
    );
    const { body: rerankers } = await mneme.call("GET", "/v1/installed-models?task=rerank");
    expect(rerankers.data.map(({ id }: { id: string }) => id)).toEqual([RERANKER]);
  });

  test("403: only keys that may administrate see models, confined ones never", async () => {
    for (const key of [mneme.addKey(["project"]), mneme.addKey(["admin"], undefined, { userId: "ada" })]) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", `/${ENGLISH}`],
        ["POST", `/${ENGLISH}/test`],
        ["DELETE", `/${ENGLISH}`],
      ] as const) {
        const answer = await mneme.call(method, `/v1/installed-models${path}`, undefined, {
          authorization: `Bearer ${key}`,
        });
        expectFault(answer, 403, "insufficient_scope");
      }
    }
  });
});

describe("addInstalledModel", () => {
  test("202: a folder becomes a model that projects can use, and that is deleted with its files", async () => {
    offer("second-english", ENGLISH, (manifest) => {
      manifest.name = "second English";
      manifest.reranker = null;
    });
    const { status, body } = await add({ source: "second-english", id: "second" });
    expect([status, body.kind, body.source]).toEqual([202, "installed", "second-english"]);
    expect(await ended("second")).toMatchObject({
      status: "ready",
      dimensions: 384,
      licence: "Apache-2.0",
      error: null,
    });
    expectFault(await add({ source: "second-english", id: "second" }), 409, "invalid_state", "id");

    expect((await mneme.call("POST", "/v1/installed-models/second/test")).body).toMatchObject({ ok: true });
    expect((await mneme.store({ content: "The spare key is under the blue flower pot." })).body.status).toBe(
      "completed",
    );
    expect((await mneme.call("PUT", `/v1/projects/${project}/embedder`, { model: "second" })).status).toBe(202);
    await until("the change has ended", async () => {
      const { change } = (await mneme.call("GET", "/v1/project/embedder")).body;
      return change.state === "building" ? null : change;
    });
    expect((await mneme.call("GET", "/v1/project/embedder")).body).toMatchObject({
      model: "second",
      previous: ENGLISH,
    });
    const found = await mneme.call("POST", "/v1/memories/search", { query: "Where is the spare key?" });
    expect(found.body.results[0].content).toContain("flower pot");

    expect((await get("second")).used_by).toEqual([project]);
    expectFault(await mneme.call("DELETE", "/v1/installed-models/second"), 409, "invalid_state");
    await mneme.call("PUT", `/v1/projects/${project}/embedder`, { model: ENGLISH });
    await until("the model before is used again", async () => {
      const { model, change } = (await mneme.call("GET", "/v1/project/embedder")).body;
      return model === ENGLISH && change.state === "done" ? true : null;
    });
    expectFault(await mneme.call("DELETE", "/v1/installed-models/second"), 409, "invalid_state");
    expect((await mneme.call("DELETE", `/v1/projects/${project}/embedder/previous`)).status).toBe(204);
    expect((await mneme.call("DELETE", "/v1/installed-models/second")).status).toBe(204);
    expectFault(await mneme.call("GET", "/v1/installed-models/second"), 404, "model_not_found", "id");
    await until("its files are gone", async () => (existsSync(join(mneme.dataDir, "models/second")) ? null : true));
    expect(existsSync(join(mneme.dataDir, "models/second-english"))).toBe(true);
  });

  test("a damaged model fails with the reason, keeps its folder, and leaves none", async () => {
    offer("damaged", ENGLISH, (manifest) => {
      manifest.sha256 = "0".repeat(64);
    });
    await add({ source: "damaged", id: "broken" });
    const { status, error } = await ended("broken");
    expect(status).toBe("failed");
    expect(error).toContain("does not match");
    expect(error).not.toContain(mneme.dataDir);
    expect(existsSync(join(mneme.dataDir, "models/broken"))).toBe(false);
    expect((await mneme.call("DELETE", "/v1/installed-models/broken")).status).toBe(204);
  });

  test("202: a model that failed is installed again, when its files are mended; no other model is", async () => {
    offer("mended", ENGLISH, (manifest) => {
      manifest.sha256 = "0".repeat(64);
    });
    await add({ source: "mended", id: "again" });
    expect((await ended("again")).status).toBe("failed");
    offer("mended", ENGLISH);
    const { status, body } = await mneme.call("POST", "/v1/installed-models/again/retry");
    expect([status, body.error]).toEqual([202, null]);
    expect((await ended("again")).status).toBe("ready");
    for (const id of ["again", ENGLISH]) {
      expectFault(await mneme.call("POST", `/v1/installed-models/${id}/retry`), 409, "invalid_state");
    }
    expectFault(await mneme.call("POST", "/v1/installed-models/nowhere/retry"), 404, "model_not_found", "id");
    expect((await mneme.call("DELETE", "/v1/installed-models/again")).status).toBe(204);
  });

  test("a folder in its place stays there when the model fails, or is deleted", async () => {
    const model = () => existsSync(join(mneme.dataDir, "models/in-place/model.onnx"));
    offer("in-place", ENGLISH, (manifest) => {
      manifest.sha256 = "0".repeat(64);
    });
    await add({ source: "in-place" });
    expect((await ended("in-place")).status).toBe("failed");
    expect((await mneme.call("DELETE", "/v1/installed-models/in-place")).status).toBe(204);
    expect(model()).toBe(true);
    offer("in-place", ENGLISH);
    await add({ source: "in-place" });
    expect((await ended("in-place")).status).toBe("ready");
    expect((await mneme.call("DELETE", "/v1/installed-models/in-place")).status).toBe(204);
    expect(model()).toBe(true);
    // a command, which takes other sources from its working directory
    const files = createModelFiles({ installedDir: join(mneme.dataDir, "models"), sourceDirs: null, hub: "" });
    await files.remove({ id: "in-place", source: "in-place" });
    expect(model()).toBe(true);
    await files.remove({ id: "in-place", source: "/elsewhere/in-place" });
    expect(model()).toBe(false);
  });

  test("400 and 409: folders elsewhere, names that are no ids, and ids of built-in models", async () => {
    offer("other", ENGLISH);
    for (const source of ["/etc", "../../etc", "nowhere", "..", "."]) {
      expectFault(await add({ source, id: "x" }), 400, "invalid_request", "source");
    }
    for (const id of ["Upper", "../x", "a/b", "-a", ".a"]) {
      expectFault(await add({ source: "other", id }), 400, "invalid_request", "id");
    }
    expectFault(await add({ source: "other", id: ENGLISH }), 409, "invalid_state", "id");
    expectFault(await add({ source: "other", sha256: "z".repeat(64) }), 400, "invalid_request", "sha256");
    expectFault(await mneme.call("DELETE", `/v1/installed-models/${ENGLISH}`), 409, "invalid_state");
    expectFault(await mneme.call("DELETE", "/v1/installed-models/none"), 404, "model_not_found", "id");
  });
});

describe("a model of another architecture", () => {
  test("takes the place of a built-in one while the project is searched and written to, and no request fails", async () => {
    const folder = join(mneme.dataDir, "models", "small");
    cpSync(join(import.meta.dir, "../inference/fixtures/models/bert-mean"), folder, { recursive: true });
    // a length of no round number goes through the whole index
    writeFileSync(join(folder, "model.json"), JSON.stringify({ stored_dimensions: 13 }));
    await add({ source: "small", id: "bert" });
    expect(await ended("bert")).toMatchObject({ status: "ready", dimensions: 13, calibration: "none" });
    const made = await mneme.call("POST", "/v1/projects", { name: "swapped", plan: "enterprise" });
    const headers = { authorization: `Bearer ${made.body.key}` };
    const memories = Array.from({ length: 90 }, (_, n) => ({ content: `Kettle ${n} stands in room ${n % 7}.` }));
    expect((await mneme.call("POST", "/v1/memories/batch", { memories }, headers)).status).toBe(202);
    const processed = () =>
      until("all memories are completed", async () => {
        const { body } = await mneme.call("GET", "/v1/memories?status=processing&limit=1", undefined, headers);
        return body.data.length === 0 ? true : null;
      });
    await processed();

    const path = `/v1/projects/${made.body.id}/embedder`;
    const models: string[] = [];
    for (const model of ["bert", ENGLISH, "bert"]) {
      expect((await mneme.call("PUT", path, { model })).status).toBe(202);
      for (let round = 0, isBuilding = true; isBuilding || round < 5; round++) {
        const query = `Where is kettle ${round % 90}?`;
        const [found, written, state] = await Promise.all([
          mneme.call("POST", "/v1/memories/search", { query, explain: true }, headers),
          mneme.call("POST", "/v1/memories", { content: `Kettle ${model} ${round} is new.` }, headers),
          mneme.call("GET", `/v1/project/embedder`, undefined, headers),
        ]);
        expect([found.status, written.status, state.status]).toEqual([200, 202, 200]);
        expect(found.body.results.length).toBeGreaterThan(0);
        isBuilding = state.body.change.state === "building";
      }
      models.push((await mneme.call("GET", "/v1/project/embedder", undefined, headers)).body.model);
    }
    expect(models).toEqual(["bert", ENGLISH, "bert"]);
    await processed();
    const { body } = await mneme.call("POST", "/v1/memories/search", { query: "kettle 5", explain: true }, headers);
    expect(body.explain.uncalibrated).toBe(true);
    const failed = await mneme.call("GET", "/v1/memories?status=failed", undefined, headers);
    expect(failed.body.data).toEqual([]);
    const own = await mneme.call("POST", "/v1/memories/search", { query: "key", explain: true });
    expect(own.body.explain).not.toHaveProperty("uncalibrated");
  });
});

describe("setProjectReranker", () => {
  test("200: the project names the reranker, which then counts as used; null takes it back", async () => {
    const set = (model: unknown) => mneme.call("PUT", `/v1/projects/${project}/reranker`, { model });
    expect((await set(RERANKER)).body).toMatchObject({ id: project, reranker: RERANKER });
    expect((await get(RERANKER)).used_by).toEqual([project]);
    expect((await set(null)).body.reranker).toBeNull();
    expect((await get(RERANKER)).used_by).toEqual([]);
    expectFault(await set(ENGLISH), 404, "model_not_found", "model");
    expectFault(await set("none"), 404, "model_not_found", "model");
  });
});

describe("calibrateInstalledModel", () => {
  const calibrate = (id: string, body: unknown = {}) =>
    mneme.call("POST", `/v1/installed-models/${id}/calibrate`, body);
  const cancel = (id: string) => mneme.call("DELETE", `/v1/installed-models/${id}/calibrate`);

  test("409, 404: what cannot be calibrated is refused with the reason", async () => {
    expectFault(await calibrate(ENGLISH), 409, "invalid_state");
    expectFault(await calibrate("none"), 404, "model_not_found", "id");
    expectFault(await cancel(ENGLISH), 409, "invalid_state");
    expectFault(await cancel("none"), 404, "model_not_found", "id");
  });

  test("202: a reranker that was chosen leaves scores uncalibrated until a calibration has ended", async () => {
    offer("second-reranker", RERANKER);
    await add({ source: "second-reranker" });
    expect((await ended("second-reranker")).status).toBe("ready");
    const set = (model: unknown) => mneme.call("PUT", `/v1/projects/${project}/reranker`, { model });
    const explain = async (mode: string) =>
      (await mneme.call("POST", "/v1/memories/search", { query: "spare key", mode, explain: true })).body.explain;
    expect(await explain("balanced")).toMatchObject({ calibration: "shipped" });
    const before = (await mneme.call("GET", "/v1/project")).body.min_evidence;
    expect((await set("second-reranker")).body.reranker).toBe("second-reranker");
    for (const mode of ["balanced", "precise"]) {
      expect(await explain(mode)).toMatchObject({ calibration: "none", uncalibrated: true });
    }
    expect(await explain("hybrid")).toMatchObject({ calibration: "shipped" });
    expect(await explain("hybrid")).not.toHaveProperty("uncalibrated");

    expectFault(
      await calibrate("second-reranker", { projectId: `prj_${"0".repeat(26)}` }),
      404,
      "project_not_found",
      "projectId",
    );
    const asked = await calibrate("second-reranker", { projectId: project });
    expect([asked.status, asked.body.calibration]).toEqual([202, "none"]);
    expect(asked.body.calibration_job).toMatchObject({ projectId: project, error: null });
    expect((await cancel("second-reranker")).status).toBe(204);
    expect((await get("second-reranker")).calibration_job).toBeNull();
    expectFault(await cancel("second-reranker"), 409, "invalid_state");

    await set(null);
    expect(await explain("balanced")).toMatchObject({ calibration: "shipped" });
    expect((await mneme.call("GET", "/v1/project")).body.min_evidence).toBe(before);
    expect((await mneme.call("DELETE", "/v1/installed-models/second-reranker")).status).toBe(204);
  });
});
