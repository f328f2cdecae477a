// /v1/project and /v1/projects: creating projects, who may change which setting, and deleting a project with everything
// in it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { SETTINGS } from "../../src/config.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { DEFAULT, MODELS_DIR } from "../support/shipped-models.ts";
import { storedRows } from "../support/stored-rows.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ config: { embedder: DEFAULT } });
});
afterAll(() => mneme.stop());

const NOWHERE = "prj_00000000000000000000000000";
const FIELDS = [
  ...["created_at", "default_mode", "id", "llm", "min_evidence", "name", "plan", "retention_days", "smart_ingestion"],
  "superseding",
  "ocr",
  "time_zone",
  "keep_files",
  "vector_index",
  "reranker",
].sort();
const CATALOGUE = readModels(MODELS_DIR);
/** The embedder of new projects. */
const DEFAULT_EMBEDDER = embedderOf(
  CATALOGUE,
  SETTINGS.embedder.defaultValue({ workingDirectory: "", shippedModelsDirectory: () => MODELS_DIR }),
);
/** Its reader, whose manifest has the default of `min_evidence`. */
const READER = [...CATALOGUE.readers.values()].find(({ words }) => words?.id === DEFAULT_EMBEDDER.id);
const DEFAULTS = {
  plan: "enterprise",
  llm: {
    ...{ provider: "openai", base_url: null, model: null, temperature: null, max_output_tokens: null },
    ...{ monthly_token_limit: null, vision: false, fallbacks: [] },
  },
  smart_ingestion: { enabled: true, daily_token_limit: null },
  retention_days: 30,
  min_evidence: (READER ?? DEFAULT_EMBEDDER).tuning.evidenceMin.balanced,
  default_mode: "balanced",
  superseding: "on",
  ocr: "auto",
  time_zone: null,
  keep_files: false,
  vector_index: "auto",
  reranker: null,
};

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const create = (body: unknown, headers?: Record<string, string>) => mneme.call("POST", "/v1/projects", body, headers);
const made = async (body: object = {}): Promise<{ id: string; key: string }> =>
  (await create({ name: "made", plan: "enterprise", ...body })).body;
const put = (path: string, body: unknown, headers?: Record<string, string>) => mneme.call("PUT", path, body, headers);
const own = (headers?: Record<string, string>) => mneme.call("GET", "/v1/project", undefined, headers);

describe("createProject", () => {
  test("without a plan, the project gets the plan that the operator set, and a plan in the request counts more", async () => {
    const service = await startService({
      countsWords: true,
      config: { defaultPlan: "starter" },
      waitsForModels: false,
    });
    const planOf = async (body: object) => (await service.call("POST", "/v1/projects", body)).body.plan;
    expect(await planOf({ name: "one" })).toBe("starter");
    expect(await planOf({ name: "two", plan: "pro" })).toBe("pro");
    expect((await service.call("GET", "/v1/project")).body.plan).toBe("enterprise");
    await service.stop();
  });

  test("201: the defaults, and the project's first key with the scopes *", async () => {
    const { status, body } = await create({ name: "Acme" });
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([...FIELDS, "key"].sort());
    expect(body).toMatchObject({ name: "Acme", ...DEFAULTS });
    expect(body.llm).toEqual(DEFAULTS.llm);
    expect(body.id).toMatch(/^prj_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.key).toMatch(/^ctx_[A-Za-z0-9_-]{43}$/);

    const seen = await own(bearer(body.key));
    const { key: _key, ...project } = body;
    expect(seen.body).toEqual(project);
    const keys = await walk(mneme, "/v1/keys", { headers: bearer(body.key) });
    expect(keys).toMatchObject([{ scopes: ["*"], userId: null, expires_at: null, projectId: body.id }]);
  });

  test("201: every setting comes back, except the language model's key", async () => {
    const settings = {
      name: "n".repeat(256),
      plan: "pro",
      llm: { base_url: "https://llm.example/v1", model: "m", temperature: 0.5, max_output_tokens: 512 },
      smart_ingestion: { enabled: false, daily_token_limit: 10_000 },
      retention_days: 7,
      min_evidence: 0.25,
      default_mode: "hybrid",
    };
    const { status, body } = await create({ ...settings, llm: { ...settings.llm, api_key: "sk-secret" } });
    expect(status).toBe(201);
    expect(body).toMatchObject(settings);
    expect(JSON.stringify(body)).not.toContain("sk-secret");
  });

  test("projects see nothing of each other", async () => {
    const [one, two] = [await made(), await made()];
    const memory = await mneme.call("POST", "/v1/memories", { content: "One's own." }, bearer(one.key));
    expect(memory.status).toBe(202);
    expectFault(
      await mneme.call("GET", `/v1/memories/${memory.body.id}`, undefined, bearer(two.key)),
      404,
      "memory_not_found",
      "id",
    );
    expect((await mneme.call("GET", "/v1/memories", undefined, bearer(two.key))).body.data).toEqual([]);
  });

  const edges: readonly (readonly [field: string, good: readonly object[], bad: readonly unknown[]])[] = [
    ["plan", [{ plan: "free" }, { plan: "enterprise" }], ["Free", "", null, 1]],
    ["retention_days", [{ retention_days: 0 }, { retention_days: 3_650 }], [-1, 3_651, 1.5, "30"]],
    ["min_evidence", [{ min_evidence: 0 }, { min_evidence: 1 }], [-0.01, 1.01, "0.5"]],
    ["default_mode", MODE_NAMES.map((mode) => ({ default_mode: mode })), ["Fast", "", "deep", 1, ["fast"]]],
    ["name", [{ name: "x" }], ["", "n".repeat(257), null, 7]],
  ];
  for (const [field, good, bad] of edges) {
    test(`${field}: each edge is accepted, one past it is 400`, async () => {
      for (const body of good) expect((await create({ name: "edge", ...body })).body).toMatchObject(body);
      for (const value of bad) {
        expectFault(await create({ name: "edge", [field]: value }), 400, "invalid_request", field);
      }
    });
  }

  const nested: readonly (readonly [param: string, body: object])[] = [
    ["llm.temperature", { llm: { temperature: 2.1 } }],
    ["llm.max_output_tokens", { llm: { max_output_tokens: 0 } }],
    ["llm.model", { llm: { model: "" } }],
    ["llm.url", { llm: { url: "https://llm.example" } }],
    ["smart_ingestion.enabled", { smart_ingestion: { enabled: "yes" } }],
    ["smart_ingestion.daily_token_limit", { smart_ingestion: { daily_token_limit: -1 } }],
    ["smart_ingestion.tokens", { smart_ingestion: { tokens: 1 } }],
  ];
  for (const [param, body] of nested) {
    test(`400 names ${param}`, async () => {
      expectFault(await create({ name: "nested", ...body }), 400, "invalid_request", param);
    });
  }

  test("400: no name, an id, an unknown field", async () => {
    expectFault(await create({ plan: "free" }), 400, "invalid_request", "name");
    expectFault(await create({ name: "x", id: NOWHERE }), 400, "invalid_request", "id");
    expectFault(await create({ name: "x", scopes: ["*"] }), 400, "invalid_request", "scopes");
  });

  test("403: * includes everything except admin", async () => {
    const star = bearer(mneme.addKey(["*"]));
    for (const answer of [
      await create({ name: "x" }, star),
      await mneme.call("GET", "/v1/projects", undefined, star),
      await mneme.call("GET", `/v1/projects/${NOWHERE}`, undefined, star),
      await put(`/v1/projects/${NOWHERE}`, { name: "x" }, star),
      await mneme.call("DELETE", `/v1/projects/${NOWHERE}`, undefined, star),
    ]) {
      expectFault(answer, 403, "insufficient_scope");
    }
  });
});

describe("getProject and listProjects", () => {
  test("200: a project by its id, the same as its own key sees it", async () => {
    const { id, key } = await made({ name: "read" });
    const { status, body } = await mneme.call("GET", `/v1/projects/${id}`);
    expect([status, Object.keys(body).sort()]).toEqual([200, FIELDS]);
    expect((await own(bearer(key))).body).toEqual(body);
    expect((await mneme.call("GET", `/v1/project?projectId=${id}`)).body).toEqual(body);
  });

  test("404: an unknown id, and a malformed one", async () => {
    for (const id of [NOWHERE, "x", "default", "key_00000000000000000000000000"]) {
      expectFault(await mneme.call("GET", `/v1/projects/${id}`), 404, "project_not_found", "id");
    }
  });

  test("200: the list has each project once, newest first, and the default one", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await made({ name: `listed ${n}` })).id);
    const listed = await walk(mneme, "/v1/projects", { limit: 2 });
    expect(listed.slice(0, 5).map(({ id }) => id)).toEqual(ids.reverse());
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    expect(listed.at(-1)).toMatchObject({ name: "default", plan: "enterprise" });
    const USE = ["documents", "last_used_at", "storage_bytes"];
    for (const project of listed) expect(Object.keys(project).sort()).toEqual([...FIELDS, ...USE].sort());
  });

  test("200: the list says how much each project has stored", async () => {
    const used = await made({ name: "used" });
    const idle = await made({ name: "idle" });
    const content = "Äpfel";
    const body = (await mneme.call("POST", "/v1/memories", { content }, bearer(used.key))).body;
    const listed = async (id: string) =>
      (await walk(mneme, "/v1/projects", { limit: 50 })).find((project) => project.id === id);
    expect(await listed(used.id)).toMatchObject({ documents: 1, storage_bytes: 6 });
    expect(await listed(idle.id)).toMatchObject({ documents: 0, storage_bytes: 0, last_used_at: null });
    await mneme.call("DELETE", `/v1/memories/${body.id}`, undefined, bearer(used.key));
    expect(await listed(used.id)).toMatchObject({ documents: 0, storage_bytes: 0 });
  });

  test("limits of 1 and 100 are accepted; 0, 101 and a foreign cursor are 400", async () => {
    for (const limit of [1, 100]) expect((await mneme.call("GET", `/v1/projects?limit=${limit}`)).status).toBe(200);
    for (const limit of [0, 101]) {
      expectFault(await mneme.call("GET", `/v1/projects?limit=${limit}`), 400, "invalid_request", "limit");
    }
    await mneme.call("POST", "/v1/keys", { name: "x", scopes: ["query"] });
    const { cursor } = (await mneme.call("GET", "/v1/keys?limit=1")).body;
    expectFault(await mneme.call("GET", `/v1/projects?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
  });
});

describe("updateProject", () => {
  test("200: absent fields stay, inside llm and smart_ingestion too; null clears", async () => {
    const { id } = await made({
      llm: { base_url: "https://llm.example/v1", model: "one", temperature: 0.1 },
      smart_ingestion: { enabled: false, daily_token_limit: 5 },
      min_evidence: 0.5,
    });
    const before = (await mneme.call("GET", `/v1/projects/${id}`)).body;
    const renamed = (await put(`/v1/projects/${id}`, { name: "other" })).body;
    expect(renamed).toEqual({ ...before, name: "other" });
    const changed = (
      await put(`/v1/projects/${id}`, { llm: { model: "two", temperature: null }, smart_ingestion: { enabled: true } })
    ).body;
    expect(changed).toEqual({
      ...renamed,
      llm: { ...before.llm, model: "two", temperature: null },
      smart_ingestion: { enabled: true, daily_token_limit: 5 },
    });
    const cleared = (await put(`/v1/projects/${id}`, { llm: null, smart_ingestion: { daily_token_limit: null } })).body;
    expect(cleared).toEqual({ ...changed, llm: DEFAULTS.llm, smart_ingestion: DEFAULTS.smart_ingestion });
    expect((await mneme.call("GET", `/v1/projects/${id}`)).body).toEqual(cleared);
  });

  test("default_mode: absent it stays, null restores balanced, anything but a mode is 400", async () => {
    const { id, key } = await made({ default_mode: "fast" });
    const modeAfter = async (change: object) => (await put(`/v1/projects/${id}`, change)).body.default_mode;
    expect(await modeAfter({ name: "renamed" })).toBe("fast");
    expect((await put("/v1/project", { default_mode: "precise" }, bearer(key))).body.default_mode).toBe("precise");
    expectFault(await put(`/v1/projects/${id}`, { default_mode: "deep" }), 400, "invalid_request", "default_mode");
    expect(await modeAfter({})).toBe("precise");
    expect(await modeAfter({ default_mode: null })).toBe("balanced");
    expect((await create({ name: "null", default_mode: null })).body.default_mode).toBe("balanced");
  });

  test("an admin sets any plan of any project, and it counts at once", async () => {
    const { id, key } = await made({ plan: "free" });
    for (const plan of ["starter", "pro", "enterprise", "free"]) {
      expect((await put(`/v1/projects/${id}`, { plan })).body.plan).toBe(plan);
      expect((await mneme.call("GET", "/v1/usage", undefined, bearer(key))).body.plan).toBe(plan);
    }
  });

  test("403: no other key sets a plan, not even its own project's; other settings are allowed", async () => {
    const { id, key } = await made({ plan: "free" });
    expectFault(await put("/v1/project", { plan: "enterprise" }, bearer(key)), 403, "insufficient_scope", "plan");
    expectFault(await put("/v1/project", { name: "x", plan: "pro" }, bearer(key)), 403, "insufficient_scope", "plan");
    expect((await own(bearer(key))).body).toMatchObject({ name: "made", plan: "free" });
    const { status, body } = await put("/v1/project", { name: "mine", min_evidence: 0.3 }, bearer(key));
    expect([status, body.id, body.name, body.min_evidence]).toEqual([200, id, "mine", 0.3]);
  });

  test("403: a key without the scope project, or naming another project; the operator may name any", async () => {
    const { id, key } = await made();
    const other = await made();
    const weak = await mneme.call("POST", "/v1/keys", { name: "x", scopes: ["usage"] }, bearer(key));
    expectFault(await own(bearer(weak.body.key)), 403, "insufficient_scope");
    expectFault(await put("/v1/project", { name: "x" }, bearer(weak.body.key)), 403, "insufficient_scope");
    for (const projectId of [other.id, NOWHERE]) {
      const path = `/v1/project?projectId=${projectId}`;
      expectFault(await mneme.call("GET", path, undefined, bearer(key)), 403, "insufficient_scope", "projectId");
      expectFault(await put(path, { name: "x" }, bearer(key)), 403, "insufficient_scope", "projectId");
    }
    expect((await put(`/v1/project?projectId=${id}`, { name: "by the operator" })).body.id).toBe(id);
    expectFault(await put(`/v1/project?projectId=${NOWHERE}`, { name: "x" }), 404, "project_not_found", "projectId");
    const confined = bearer(mneme.addKey(["*"], id, { userId: "ada" }));
    expectFault(await own(confined), 403, "insufficient_scope");
    expectFault(await put("/v1/project", { name: "x" }, confined), 403, "insufficient_scope");
  });

  test("400 and 404: an unknown field, a wrong type, an unknown project", async () => {
    const { id } = await made();
    expectFault(await put(`/v1/projects/${id}`, { title: "x" }), 400, "invalid_request", "title");
    expectFault(await put(`/v1/projects/${id}`, { name: null }), 400, "invalid_request", "name");
    expectFault(await put(`/v1/projects/${id}`, { retention_days: "7" }), 400, "invalid_request", "retention_days");
    expectFault(await put(`/v1/projects/${NOWHERE}`, { name: "x" }), 404, "project_not_found", "id");
  });

  test("min_evidence: null goes back to the model's default, and the project shows the number in force", async () => {
    const { id, key } = await made({ min_evidence: null });
    const shown = async () => [
      (await own(bearer(key))).body.min_evidence,
      (await mneme.call("GET", `/v1/projects/${id}`)).body.min_evidence,
      (await mneme.call("GET", "/v1/projects?limit=1")).body.data[0].min_evidence,
    ];
    expect(await shown()).toEqual(Array(3).fill(DEFAULTS.min_evidence));
    for (const [set, inForce] of [
      [0.3, 0.3],
      [0, 0],
      [1, 1],
      [null, DEFAULTS.min_evidence],
    ]) {
      expect((await put("/v1/project", { min_evidence: set }, bearer(key))).body.min_evidence).toBe(inForce);
      expect(await shown()).toEqual(Array(3).fill(inForce));
    }
    await put("/v1/project", { min_evidence: 0.3 }, bearer(key));
    expect((await put("/v1/project", { name: "x" }, bearer(key))).body.min_evidence).toBe(0.3);
  });

  test("min_evidence decides whether a question finds evidence", async () => {
    const { id, key } = await made({ name: "evidence" });
    const sent = await mneme.call("POST", "/v1/memories", { content: "The kettle is blue." }, bearer(key));
    await until("the memory is completed", async () => {
      const { body } = await mneme.call("GET", `/v1/memories/${sent.body.id}`, undefined, bearer(key));
      return body.status === "completed";
    });
    const ask = async () =>
      (await mneme.call("POST", "/v1/memories/query", { query: "What colour is the kettle?" }, bearer(key))).body;
    expect((await ask()).sources).toHaveLength(1);
    await put(`/v1/projects/${id}`, { min_evidence: 1 });
    const answer = await ask();
    expect([answer.sources, answer.usage]).toEqual([[], { tokens_used: 0 }]);
    expect(answer.answer).toBeString();
    await put(`/v1/projects/${id}`, { min_evidence: 0 });
    expect((await ask()).sources).toHaveLength(1);
  });
});

describe("the language model's settings", () => {
  test("api_key is accepted and appears in no answer", async () => {
    const { id, key } = await made({ llm: { api_key: "sk-made-with-it" } });
    const answers = [
      await put(`/v1/projects/${id}`, { llm: { api_key: "sk-set-later", model: "m" } }),
      await put("/v1/project", { llm: { api_key: "sk-set-by-itself" } }, bearer(key)),
      await own(bearer(key)),
      await mneme.call("GET", `/v1/projects/${id}`),
      await mneme.call("GET", "/v1/projects?limit=100"),
      await mneme.call("GET", `/v1/project?projectId=${id}`),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain("sk-");
      expect(JSON.stringify(body)).not.toContain("api_key");
    }
  });

  const unsafe = [
    ...["http://127.0.0.1:11434/v1", "http://localhost/v1", "http://10.0.0.1/", "http://169.254.169.254/latest"],
    ...["http://[::1]/", "http://0x7f000001/", "file:///etc/passwd", "ftp://93.184.216.34/", "not a url"],
    "http://user:pass@93.184.216.34/",
  ];
  for (const base_url of unsafe) {
    test(`400 unsafe_url: a project's own key sets ${base_url}`, async () => {
      const { key } = await made();
      const answer = await put("/v1/project", { llm: { base_url } }, bearer(key));
      expectFault(answer, 400, "unsafe_url", "llm.base_url");
      expect((await own(bearer(key))).body.llm.base_url).toBeNull();
    });
  }

  test("200: a project's own key sets a public address, and removes it", async () => {
    const { key } = await made();
    const base_url = "https://93.184.216.34/v1";
    expect((await put("/v1/project", { llm: { base_url } }, bearer(key))).body.llm.base_url).toBe(base_url);
    expect((await put("/v1/project", { llm: { base_url: null } }, bearer(key))).body.llm.base_url).toBeNull();
  });

  test("200: an admin sets any http or https address; anything else is unsafe_url for it too", async () => {
    const { id } = await made({ llm: { base_url: "http://127.0.0.1:11434/v1" } });
    const base_url = "http://localhost:8000/v1";
    expect((await put(`/v1/projects/${id}`, { llm: { base_url } })).body.llm.base_url).toBe(base_url);
    for (const bad of ["file:///etc/passwd", "localhost:8000", "gopher://x/"]) {
      expectFault(await put(`/v1/projects/${id}`, { llm: { base_url: bad } }), 400, "unsafe_url", "llm.base_url");
    }
  });
});

describe("deleteProject", () => {
  const rowsOf = (id: string): Record<string, number> => {
    const tables = storedRows(mneme);
    const project = tables.get("projects")?.find((row) => row.id === id)?.project_key;
    if (project === undefined) return {};
    const ofProjects = [...tables].filter(([, rows]) => rows.some((row) => "project_key" in row));
    return Object.fromEntries(
      ofProjects.map(([name, rows]) => [name, rows.filter((row) => row.project_key === project).length]),
    );
  };
  /** Counts the values of rows that contain this text. */
  const mentions = (text: string): number => {
    const values = [...storedRows(mneme).values()].flat().flatMap((row) => Object.values(row));
    return values.filter((value) => typeof value === "string" && value.includes(text)).length;
  };

  test("204: its keys are 401 at once, the project is 404, and all its data is removed from disk", async () => {
    const marker = "zanzibarmarker";
    const { id, key } = await made({ name: marker });
    const headers = bearer(key);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const sent = await mneme.call(
        "POST",
        "/v1/memories",
        { content: `The ${marker} number ${n} is stored.`, userId: marker, metadata: { marker } },
        { ...headers, "idempotency-key": `${marker}-${n}` },
      );
      ids.push(sent.body.id);
    }
    await until("all are completed", async () => {
      const { body } = await mneme.call("GET", "/v1/memories?status=completed", undefined, headers);
      return body.data.length === 3;
    });
    expect((await mneme.call("DELETE", `/v1/memories/${ids[0]}`, undefined, headers)).status).toBe(204);
    const chat = await mneme.call("POST", "/v1/chats", { userId: marker, title: marker }, headers);
    await mneme.call("POST", `/v1/chats/${chat.body.id}/messages`, { message: marker }, headers);
    await mneme.call("POST", `/v1/users/${marker}/events`, { type: marker }, headers);
    const hook = { url: `https://93.184.216.34/${marker}`, events: ["memory.deleted"], enabled: false };
    expect((await mneme.call("POST", "/v1/webhooks", hook, headers)).status).toBe(201);
    const more = await mneme.call("POST", "/v1/keys", { name: marker, scopes: ["memories:read"] }, headers);
    const folder = join(mneme.dataDir, "projects", id);
    expect(existsSync(folder)).toBe(true);
    expect(mentions(marker)).toBeGreaterThan(10);

    const answer = await mneme.call("DELETE", `/v1/projects/${id}`);
    expect([answer.status, answer.body]).toEqual([204, null]);
    for (const secret of [key, more.body.key]) {
      for (const path of ["/v1/memories", "/v1/project", "/v1/usage"]) {
        expectFault(await mneme.call("GET", path, undefined, bearer(secret)), 401, "invalid_api_key");
      }
    }
    expectFault(await mneme.call("GET", `/v1/projects/${id}`), 404, "project_not_found", "id");
    expectFault(await put(`/v1/projects/${id}`, { name: "x" }), 404, "project_not_found", "id");
    expectFault(await mneme.call("GET", `/v1/keys?projectId=${id}`), 404, "project_not_found", "projectId");
    expectFault(await mneme.call("DELETE", `/v1/projects/${id}`), 404, "project_not_found", "id");
    expect((await walk(mneme, "/v1/projects")).some((project) => project.id === id)).toBe(false);

    await until("its folder and its rows are gone", () => !existsSync(folder) && mentions(marker) === 0);
    expect(rowsOf(id)).toEqual({});
    expect(readdirSync(join(mneme.dataDir, "projects"))).not.toContain(id);
  });

  test("processing memories are removed too, and other projects continue", async () => {
    const [doomed, spared] = [await made(), await made()];
    const memories = Array.from({ length: 40 }, (_, n) => ({ content: `Hurried note ${n} of a doomed project.` }));
    await mneme.call("POST", "/v1/memories/batch", { memories }, bearer(doomed.key));
    const kept = await mneme.call("POST", "/v1/memories", { content: "Kept all the same." }, bearer(spared.key));
    expect((await mneme.call("DELETE", `/v1/projects/${doomed.id}`)).status).toBe(204);
    await until("the other project's memory is completed", async () => {
      const { body } = await mneme.call("GET", `/v1/memories/${kept.body.id}`, undefined, bearer(spared.key));
      return body.status === "completed";
    });
    await until("the rows are gone", () => mentions("of a doomed project") === 0);
    expect(existsSync(join(mneme.dataDir, "projects", doomed.id))).toBe(false);
    const found = await mneme.call("POST", "/v1/memories/search", { query: "kept" }, bearer(spared.key));
    expect(found.body.results).toHaveLength(1);
  });

  test("409 invalid_state: the default project, and the caller's own", async () => {
    const { body: standard } = await own();
    expectFault(await mneme.call("DELETE", `/v1/projects/${standard.id}`), 409, "invalid_state", "id");
    const { id, key } = await made();
    const admin: Answered = await mneme.call("POST", "/v1/keys", { name: "x", scopes: ["admin"], projectId: id });
    const headers = bearer(admin.body.key);
    expectFault(await mneme.call("DELETE", `/v1/projects/${id}`, undefined, headers), 409, "invalid_state", "id");
    const fromOutside = await mneme.call("DELETE", `/v1/projects/${standard.id}`, undefined, headers);
    expectFault(fromOutside, 409, "invalid_state", "id");
    expect((await own(bearer(key))).status).toBe(200);
    expect((await own(bearer(TEST_KEY))).status).toBe(200);
  });

  test("404 for an unknown project and for a malformed id", async () => {
    for (const id of [NOWHERE, "x"]) {
      expectFault(await mneme.call("DELETE", `/v1/projects/${id}`), 404, "project_not_found", "id");
    }
  });
});

describe("the scope admin", () => {
  test("allows projects and the keys of any project; no memories, users, chats, usage or webhooks", async () => {
    const admin = bearer(mneme.addKey(["admin"]));
    for (const path of ["/v1/projects", "/v1/project", "/v1/keys"]) {
      expect((await mneme.call("GET", path, undefined, admin)).status).toBe(200);
    }
    for (const path of ["/v1/memories", "/v1/users", "/v1/chats", "/v1/usage", "/v1/webhooks"]) {
      expectFault(await mneme.call("GET", path, undefined, admin), 403, "insufficient_scope");
    }
  });
});

describe("the language model's key", () => {
  test("belongs to its address: another address removes it, the same one keeps it", async () => {
    const stored = (id: string) => {
      const row = storedRows(mneme)
        .get("projects")
        ?.find((project) => project.id === id);
      return JSON.parse(String(row?.settings ?? "{}")).llm;
    };
    const llm = { base_url: "http://10.0.0.1/v1", api_key: "sk-secret" };
    const { id, key } = await made({ llm });
    const own = bearer(mneme.addKey(["project"], id));
    const same = await put("/v1/project", { llm: { base_url: llm.base_url, model: "m" } }, own);
    expect([same.status, stored(id)]).toMatchObject([200, { api_key: "sk-secret", is_address_trusted: true }]);
    const moved = await put("/v1/project", { llm: { base_url: "http://8.8.8.8/" } }, bearer(key));
    expect([moved.status, stored(id)]).toMatchObject([200, { api_key: null, is_address_trusted: false }]);
    expect(JSON.stringify(moved.body)).not.toContain("trusted");
  });
});
