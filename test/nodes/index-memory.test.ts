// MNEME_INDEX_MEMORY_MAX: a node closes the least recently used projects, never one in use, and opens them again with
// everything that was committed meanwhile.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { seeded } from "../support/seeded.ts";
import { type Answered, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const PROJECTS = 8;
const ROUNDS = 5;
const MODES = ["fast", "hybrid", "balanced", "precise"];

withPostgres("the memory of open indexes", () => {
  let database: EmptyDatabase;
  let folders: readonly ReturnType<typeof temporaryFolder>[];
  let nodes: TestService[];
  let keys: string[];

  beforeEach(async () => {
    database = await emptyDatabase();
    folders = [temporaryFolder(), temporaryFolder()];
    nodes = [];
    for (const [at, indexMemoryMax] of [1, null].entries()) {
      nodes.push(
        await startService({ dataDir: folders[at]?.path ?? "", config: { store: database.url, indexMemoryMax } }),
      );
    }
    keys = [];
    for (let at = 0; at < PROJECTS; at++) {
      const { body: project } = await node(0).call("POST", "/v1/projects", { name: `Project ${at}` });
      keys.push(project.key);
    }
  });
  afterEach(async () => {
    await Promise.all(nodes.map((each) => each.stop()));
    await database.giveBack();
    for (const folder of folders) folder.remove();
  });

  const node = (at: number): TestService => {
    const found = nodes[at];
    if (found === undefined) throw new Error(`there is no node ${at}`);
    return found;
  };
  const call = (at: number, project: number, method: string, path: string, body?: unknown): Promise<Answered> =>
    node(at).call(method, path, body, { authorization: `Bearer ${keys[project]}` });
  const store = async (at: number, project: number, content: string): Promise<string> => {
    const { status, body } = await call(at, project, "POST", "/v1/memories", { content });
    expect(status).toBe(202);
    await until("it is completed", async () => {
      return (await call(at, project, "GET", `/v1/memories/${body.id}`)).body.status === "completed";
    });
    return body.id;
  };
  const found = async (at: number, project: number, query: string, mode = "fast"): Promise<readonly string[]> => {
    const { status, body } = await call(at, project, "POST", "/v1/memories/search", { query, mode, limit: 10 });
    expect(status).toBe(200);
    return body.results.map(({ content }: { readonly content: string }) => content);
  };
  const gauge = async (at: number, name: string): Promise<number> => {
    const response = await node(at).service.handle(new Request("http://mneme.test/metrics"));
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await response.text())?.[1]);
  };
  const textOf = (project: number, at: number) => `The lamp ${at * 131} of house ${project} hangs in hall ${at}.`;

  test("parallel searches on many projects are right while projects are closed, and the memory goes back", async () => {
    const projects = Array.from({ length: PROJECTS }, (_, at) => at);
    await Promise.all(projects.map(async (at) => Promise.all([0, 1].map((each) => store(0, at, textOf(at, each))))));
    const random = seeded(7);
    const searches = Array.from({ length: ROUNDS * PROJECTS }, () => {
      return [Math.floor(random() * PROJECTS), Math.floor(random() * MODES.length)] as const;
    });
    const search = async ([project, mode]: (typeof searches)[number]) => {
      const expected = [0, 1].map((each) => textOf(project, each));
      expect([...(await found(0, project, `lamp house ${project}`, MODES[mode]))].sort()).toEqual(expected.sort());
    };
    for (let first = 0; first < searches.length; first += PROJECTS) {
      await Promise.all(searches.slice(first, first + PROJECTS).map(search));
    }
    expect(await gauge(0, "mneme_closed_projects")).toBeGreaterThan(PROJECTS);
    await until("one project is open", async () => (await gauge(0, "mneme_open_projects")) === 1);
    expect(await gauge(0, "mneme_index_memory_bytes")).toBeGreaterThan(0);
    expect(await gauge(1, "mneme_closed_projects")).toBe(0);
  });

  test("a project that was closed shows what another node changed meanwhile", async () => {
    const id = await store(0, 0, textOf(0, 0));
    await store(0, 1, textOf(1, 0)); // closes the first project on this node
    await until("it was closed", async () => (await gauge(0, "mneme_closed_projects")) > 0);
    await store(1, 0, textOf(0, 1));
    expect((await call(1, 0, "DELETE", `/v1/memories/${id}`)).status).toBe(204);
    expect(await found(0, 0, "lamp of house 0")).toEqual([textOf(0, 1)]);
  });

  test("writes to many projects at once are published while projects are closed", async () => {
    const ids = await Promise.all(keys.map((_, project) => store(0, project, textOf(project, 0))));
    await Promise.all(
      ids.map((id, project) => call(0, project, "PUT", `/v1/memories/${id}`, { content: textOf(project, 5) })),
    );
    for (const [project] of keys.entries()) {
      await until("the new text is found", async () => (await found(0, project, "lamp"))[0] === textOf(project, 5));
      expect(await found(1, project, "lamp")).toEqual([textOf(project, 5)]);
    }
  });
});
