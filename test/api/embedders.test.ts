// /v1/embedders and /v1/project(s)/…/embedder: the installed models, and changing the one of a project.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { representatives } from "../support/extent.ts";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const NOWHERE = "prj_00000000000000000000000000";

let mneme: TestService;
let project: string;
beforeAll(async () => {
  mneme = await startService({ config: { embedder: ENGLISH } });
  project = (await mneme.call("GET", "/v1/project")).body.id;
});
afterAll(() => mneme.stop());

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const status = async (query = "") => (await mneme.call("GET", `/v1/project/embedder${query}`)).body;
const change = (model: unknown, id = project, headers?: Record<string, string>) =>
  mneme.call("PUT", `/v1/projects/${id}/embedder`, { model }, headers);
/** Creates a project with some memories, and waits until they are searchable. */
async function filledProject(memories: number): Promise<{ readonly id: string; readonly key: string }> {
  const { id, key } = (await mneme.call("POST", "/v1/projects", { name: "filled", plan: "enterprise" })).body;
  const body = { memories: Array.from({ length: memories }, (_, n) => ({ content: `Kettle ${n} is red.` })) };
  expect((await mneme.call("POST", "/v1/memories/batch", body, bearer(key))).status).toBe(202);
  await until("all are completed", async () => {
    const { body: list } = await mneme.call("GET", "/v1/memories?status=processing&limit=1", undefined, bearer(key));
    return list.data.length === 0;
  });
  return { id, key };
}
const ended = (id: string) =>
  until("the change has ended", async () => {
    const { change: current } = await status(`?projectId=${id}`);
    return current.state === "building" ? null : current;
  });

describe("listEmbedders", () => {
  test("200: the installed models, the default first", async () => {
    const { status: code, body } = await mneme.call("GET", "/v1/embedders");
    expect(code).toBe(200);
    expect(body.data[0]).toMatchObject({ id: ENGLISH, dimensions: 384, languages: ["en"], is_default: true });
    expect(body.data.map(({ id }: { id: string }) => id)).toContain(MULTILINGUAL);
    expect(body.data.filter(({ is_default }: { is_default: boolean }) => is_default)).toHaveLength(1);
    expect([body.has_more, body.cursor]).toEqual([false, null]);
  });
});

describe("the English model", () => {
  test("refuses questions that no memory answers, in each mode, and answers the others", async () => {
    const notes = [
      "Mom's birthday is on the 14th of March.",
      "My dentist is Dr Okafor in Pine Street.",
      "The spare key is under the blue flower pot.",
      "Lena is allergic to peanuts.",
    ];
    const { key } = (await mneme.call("POST", "/v1/projects", { name: "notes", plan: "enterprise" })).body;
    const memories = notes.map((content) => ({ content }));
    await mneme.call("POST", "/v1/memories/batch", { memories }, bearer(key));
    await until("all are completed", async () => {
      const { body } = await mneme.call("GET", "/v1/memories?status=completed", undefined, bearer(key));
      return body.data.length === notes.length;
    });
    const citations = async (query: string, mode: string) => {
      const { body } = await mneme.call("POST", "/v1/memories/query", { query, mode }, bearer(key));
      return body.sources.filter(({ cited }: { cited: boolean }) => cited);
    };
    for (const mode of MODE_NAMES) {
      expect(await citations("What is the capital of France?", mode), mode).toEqual([]);
      const [first] = await citations("When is mom's birthday?", mode);
      expect(first?.content, mode).toBe("Mom's birthday is on the 14th of March.");
    }
  });
});

describe("getProjectEmbedder", () => {
  test("200: the model, without a change", async () => {
    expect(await status()).toEqual({ projectId: project, model: ENGLISH, previous: null, change: null });
  });

  test("403 and 404: another project needs the scope admin, and must exist", async () => {
    const { id, key } = await filledProject(1);
    expect(await status(`?projectId=${id}`)).toMatchObject({ projectId: id });
    const foreign = await mneme.call("GET", `/v1/project/embedder?projectId=${project}`, undefined, bearer(key));
    expectFault(foreign, 403, "insufficient_scope", "projectId");
    const unknown = await mneme.call("GET", `/v1/project/embedder?projectId=${NOWHERE}`);
    expectFault(unknown, 404, "project_not_found", "projectId");
  });
});

describe("changeProjectEmbedder", () => {
  test("202: the change is done in the background, can be rolled back, and the kept vectors be given up", async () => {
    const { id, key } = await filledProject(5);
    const asked = await change(MULTILINGUAL, id);
    expect(asked.status).toBe(202);
    expect(asked.body).toMatchObject({ projectId: id, change: { model: MULTILINGUAL } });
    const done = await ended(id);
    expect(done).toMatchObject({ model: MULTILINGUAL, state: "done", error: null, chunks_done: 5, chunks_total: 5 });
    expect(Date.parse(done.ended_at)).toBeGreaterThanOrEqual(Date.parse(done.started_at));
    expect(await status(`?projectId=${id}`)).toMatchObject({ model: MULTILINGUAL, previous: ENGLISH });
    const search = { query: "Which kettle is red?", mode: "fast" };
    const found = await mneme.call("POST", "/v1/memories/search", search, bearer(key));
    expect(found.body.results).toHaveLength(5);

    expect((await change(ENGLISH, id)).status).toBe(202);
    await ended(id);
    expect(await status(`?projectId=${id}`)).toMatchObject({ model: ENGLISH, previous: MULTILINGUAL });
    const forget = () => mneme.call("DELETE", `/v1/projects/${id}/embedder/previous`);
    expect((await forget()).status).toBe(204);
    await until("they are gone", async () => (await status(`?projectId=${id}`)).previous === null);
    expectFault(await forget(), 409, "invalid_state");
  });

  test("400: a model that is not installed, or no name", async () => {
    expectFault(await change("gpt-nothing"), 400, "invalid_request", "model");
    for (const bad of ["", null, 7, "x".repeat(300)]) {
      expectFault(await change(bad), 400, "invalid_request", "model");
    }
    expect((await status()).change).toBeNull();
  });

  test("403 and 404: only an admin may, and the project must exist", async () => {
    const key = mneme.addKey(["*"]);
    expectFault(await change(MULTILINGUAL, project, bearer(key)), 403, "insufficient_scope");
    for (const path of ["embedder", "embedder/previous"]) {
      const remove = (id: string, headers?: Record<string, string>) =>
        mneme.call("DELETE", `/v1/projects/${id}/${path}`, undefined, headers);
      expectFault(await remove(project, bearer(key)), 403, "insufficient_scope");
      expectFault(await remove(NOWHERE), 404, "project_not_found", "id");
      expectFault(await remove(project), 409, "invalid_state");
    }
    expectFault(await change(MULTILINGUAL, NOWHERE), 404, "project_not_found");
  });
});

describe("a model whose folder is damaged", () => {
  /** A folder with the shipped models; `damage` changes the folder of the multilingual one. */
  function damagedModels(damage: (folder: string, manifest: Record<string, unknown>) => void) {
    const folder = temporaryFolder();
    for (const model of readdirSync(MODELS_DIR)) {
      if (!existsSync(join(MODELS_DIR, model, "model.json"))) continue;
      mkdirSync(join(folder.path, model));
      for (const file of readdirSync(join(MODELS_DIR, model))) {
        symlinkSync(join(MODELS_DIR, model, file), join(folder.path, model, file));
      }
    }
    const path = join(folder.path, MULTILINGUAL, "model.json");
    const manifest = JSON.parse(readFileSync(path, "utf8"));
    damage(join(folder.path, MULTILINGUAL), manifest);
    rmSync(path);
    writeFileSync(path, JSON.stringify(manifest));
    return folder;
  }

  const damages: readonly [what: string, change: (manifest: Record<string, unknown>) => void][] = [
    ["weights with another hash", (manifest) => Object.assign(manifest, { sha256: "0".repeat(64) })],
    [
      "other dimensions than its manifest says",
      (manifest) => Object.assign(manifest, { dimensions: 100, retrieval: undefined }),
    ],
  ];
  for (const [what, damage] of representatives(damages, () => "any")) {
    test(`${what}: the change fails in one sentence, and the old model stays`, async () => {
      const folder = damagedModels((_, manifest) => damage(manifest));
      const damaged = await startService({ config: { embedder: ENGLISH, modelsDir: folder.path } });
      try {
        await damaged.store({ content: "A red kettle." });
        const { body: own } = await damaged.call("GET", "/v1/project");
        expect((await damaged.call("PUT", `/v1/projects/${own.id}/embedder`, { model: MULTILINGUAL })).status).toBe(
          202,
        );
        const current = async () => (await damaged.call("GET", "/v1/project/embedder")).body;
        const failed = await until("the change has failed", async () => {
          const now = await current();
          return now.change.state === "building" ? null : now;
        });
        expect(failed).toMatchObject({ model: ENGLISH, previous: null, change: { state: "failed" } });
        expect(failed.change.error).toBe(
          `The model ${MULTILINGUAL} cannot be used, although others can: The model ${MULTILINGUAL} cannot be loaded. The server's log has the reason.`,
        );
        const found = await damaged.call("POST", "/v1/memories/search", { query: "kettle", mode: "fast" });
        expect(found.body.results).toHaveLength(1);
      } finally {
        await damaged.stop();
        folder.remove();
      }
    });
  }

  test("no tokeniser: it is not installed", async () => {
    const folder = damagedModels((path, manifest) => {
      const { file } = manifest.tokenizer as { readonly file: string };
      rmSync(join(path, file));
      Object.assign(manifest, { tokenizer: { ...(manifest.tokenizer as object), file: "" } });
    });
    const damaged = await startService({ config: { embedder: ENGLISH, modelsDir: folder.path } });
    try {
      const { body: own } = await damaged.call("GET", "/v1/project");
      const asked = await damaged.call("PUT", `/v1/projects/${own.id}/embedder`, { model: MULTILINGUAL });
      expectFault(asked, 400, "invalid_request", "model");
    } finally {
      await damaged.stop();
      folder.remove();
    }
  });
});

describe("cancelProjectEmbedder", () => {
  test("204: the old model stays, and the progress is in the metrics until then", async () => {
    const slow = await startService({ config: { embedder: ENGLISH, embedderChangeRate: 1 } });
    try {
      const { body: own } = await slow.call("GET", "/v1/project");
      for (let n = 0; n < 8; n++) await slow.store({ content: `Kettle ${n} is red.` });
      await slow.call("PUT", `/v1/projects/${own.id}/embedder`, { model: MULTILINGUAL });
      const current = async () => (await slow.call("GET", "/v1/project/embedder")).body;
      await until("the chunks are counted", async () => (await current()).change.chunks_total === 8);
      await until("the metrics have them", async () => {
        const metrics = await slow.service.handle(new Request("http://mneme.test/metrics"));
        return /^mneme_model_change_chunks\{project="prj_\w+",state="missing"\} \d+$/m.test(await metrics.text());
      });
      expect((await slow.call("DELETE", `/v1/projects/${own.id}/embedder`)).status).toBe(204);
      expect(await current()).toMatchObject({ model: ENGLISH, previous: null, change: { state: "cancelled" } });
      expectFault(await slow.call("DELETE", `/v1/projects/${own.id}/embedder`), 409, "invalid_state");
    } finally {
      await slow.stop();
    }
  });
});
