// The operations on /v1/graph: lists, surroundings, paths, names and merges, and what a confined key sees.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

interface Node {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly memories: number;
}

/** Names that lead from Greta to Rotterdam over four memories; Lisbon is apart. */
const MEMORIES = [
  ["ada", "Greta Vantongeren keeps the boiler of the Calder Vale Observatory."],
  ["ada", "The mirrors of the Calder Vale Observatory came from Brackwater Foundry."],
  ["ada", "Brackwater Foundry belongs to Tomas Lindqvist."],
  ["ada", "On weekends Tomas Lindqvist sails to Rotterdam."],
  ["ada", "In Rotterdam he met Zephyrine Okonkwo."],
  ["ben", "GRETA VANTONGEREN never visits Lisbon, says Inspector Moorhouse."],
  ["ben", "Inspector Moorhouse lives in Lisbon."],
] as const;

let mneme: TestService;
let confined: string;
let ids: string[];
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  const memories = MEMORIES.map(([userId, content]) => ({ userId, content }));
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  ids = body.data.map(({ memory }: { memory: { id: string } }) => memory.id);
  await until("all are completed", async () => {
    return (await mneme.call("GET", "/v1/memories/count?status=completed")).body.count === MEMORIES.length;
  });
  confined = (await mneme.call("POST", "/v1/keys", { name: "ben", scopes: ["*"], userId: "ben" })).body.key;
});
afterAll(() => mneme.stop());

const get = (path: string, key?: string) =>
  mneme.call("GET", `/v1/graph/${path}`, undefined, key === undefined ? {} : { authorization: `Bearer ${key}` });
const change = (id: string, body: object) => mneme.call("PUT", `/v1/graph/entities/${id}`, body);
/** All entities of a list, page by page. */
async function walk(query = "", key?: string): Promise<Node[]> {
  const found: Node[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof get>> = await get(
      `entities?limit=3&${query}${cursor === null ? "" : `&cursor=${cursor}`}`,
      key,
    );
    expect(page.status).toBe(200);
    found.push(...page.body.data);
    cursor = page.body.cursor;
  } while (cursor !== null);
  return found;
}
async function named(name: string, query = ""): Promise<Node> {
  const found = (await walk(`q=${encodeURIComponent(name)}&${query}`)).find(
    (each) => each.name.toLowerCase() === name.toLowerCase(),
  );
  if (found === undefined) throw new Error(`there is no entity ${name}`);
  return found;
}

describe("listEntities", () => {
  test("names what memories mention, once each, the most mentioned first", async () => {
    const all = await walk();
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.map(({ memories }) => memories)).toEqual(all.map(({ memories }) => memories).toSorted((a, b) => b - a));
    for (const name of ["Calder Vale Observatory", "Brackwater Foundry", "Tomas Lindqvist", "Rotterdam", "Lisbon"]) {
      expect(await named(name)).toMatchObject({ kind: "name", memories: 2, id: expect.stringMatching(/^ent_\w{26}$/) });
    }
    expect((await named("Zephyrine Okonkwo")).memories).toBe(1);
  });

  test("q, kind and userId limit it; an unknown user has none", async () => {
    expect((await walk("q=FOUNDRY")).map(({ name }) => name)).toEqual(["Brackwater Foundry"]);
    const names = await walk("kind=name");
    expect(names.length).toBeGreaterThan(5);
    expect(new Set(names.map(({ kind }) => kind))).toEqual(new Set(["name"]));
    expect((await walk("userId=ada")).map(({ name }) => name)).not.toContain("Lisbon");
    expect(await walk("userId=nobody")).toEqual([]);
    const { cursor } = (await get("entities?limit=1")).body;
    expectFault(await get(`entities?limit=1&q=o&cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await get("entities?kind=person"), 400, "invalid_request", "kind");
    expectFault(await get("entities?limit=101"), 400, "invalid_request", "limit");
  });
});

describe("getEntity", () => {
  test("has neighbours by weight, and passages, newest first", async () => {
    const { id } = await named("Tomas Lindqvist");
    const { body } = await get(`entities/${id}?limit=100`);
    expect(body).toMatchObject({ id, name: "Tomas Lindqvist", memories: 2 });
    const neighbours = body.neighbours.map(({ name }: Node) => name);
    expect(neighbours).toEqual(expect.arrayContaining(["Brackwater Foundry", "Rotterdam"]));
    const weights = body.neighbours.map(({ weight }: { weight: number }) => weight);
    expect([Math.max(...weights), weights[0]]).toEqual([1, 1]);
    const passages: readonly { readonly memory_id: string; readonly content: string }[] = body.passages;
    expect(passages.map((passage) => passage.memory_id).sort()).toEqual([ids[2] ?? "", ids[3] ?? ""].sort());
    const first = passages.find((passage) => passage.memory_id === ids[2]);
    expect(first?.content).toContain("belongs to Tomas Lindqvist");
    expect((await get(`entities/${id}?limit=1`)).body.neighbours).toHaveLength(1);
  });

  test("404: an unknown id, one of another project, and what the user's memories do not mention", async () => {
    const { id } = await named("Rotterdam");
    const elsewhere = mneme.addKey(["*"], "prj_graph_elsewhere");
    for (const key of [confined, elsewhere])
      expectFault(await get(`entities/${id}`, key), 404, "entity_not_found", "id");
    expectFault(await get(`entities/${id}?userId=ben`), 404, "entity_not_found", "id");
    for (const bad of ["ent_00000000000000000000000000", "ent_x", "mem_00000000000000000000000000"]) {
      expectFault(await get(`entities/${bad}`), 404, "entity_not_found", "id");
    }
    expectFault(await get(`entities/${id}?limit=101`), 400, "invalid_request", "limit");
  });
});

describe("findPath", () => {
  const path = async (from: string, to: string, query = "") => {
    const [first, last] = [await named(from, query), await named(to, query)];
    return (await get(`path?from=${first.id}&to=${last.id}&${query}`)).body;
  };

  test("is the shortest, of up to four links with their passages", async () => {
    const near = await path("Brackwater Foundry", "Rotterdam");
    expect(near.entities.map(({ name }: Node) => name)).toEqual(["Brackwater Foundry", "Tomas Lindqvist", "Rotterdam"]);
    expect(near.links.map((link: { memory_id: string }) => link.memory_id)).toEqual([ids[2], ids[3]]);
    expect((await path("Calder Vale Observatory", "Zephyrine Okonkwo")).links).toHaveLength(4);
    const self = await path("Rotterdam", "Rotterdam");
    expect([self.entities.length, self.links]).toEqual([1, []]);
  });

  test("both lists are empty if there is none, or only a longer one", async () => {
    const none = { entities: [], links: [] };
    expect(await path("Greta Vantongeren", "Zephyrine Okonkwo", "userId=ada")).toEqual(none);
    expect(await path("Lisbon", "Rotterdam")).toEqual(none);
  });

  test("404 names the end that is unknown", async () => {
    const { id } = await named("Rotterdam");
    const unknown = "ent_00000000000000000000000000";
    expectFault(await get(`path?from=${unknown}&to=${id}`), 404, "entity_not_found", "from");
    expectFault(await get(`path?from=${id}&to=${unknown}`), 404, "entity_not_found", "to");
    expectFault(await get(`path?from=${id}&to=${id}&userId=nobody`), 404, "entity_not_found", "from");
    expectFault(await get(`path?from=${id}`), 400, "invalid_request", "to");
  });
});

describe("updateEntity", () => {
  test("a name is shown everywhere and found by q, until null takes it back", async () => {
    const { id } = await named("Brackwater Foundry");
    const answer = await change(id, { name: "The Foundry" });
    expect([answer.status, answer.body]).toEqual([200, { id, name: "The Foundry", kind: "name", memories: 2 }]);
    expect((await walk("q=the%20found")).map((each) => each.id)).toEqual([id]);
    expect(await walk("q=brackwater")).toEqual([]);
    expect((await change(id, { name: null })).body.name).toBe("Brackwater Foundry");
  });

  test("a merged entity answers as its target, which has the memories of both, until null undoes it", async () => {
    const [tomas, foundry] = [await named("Tomas Lindqvist"), await named("Brackwater Foundry")];
    expect((await change(foundry.id, { merged_into: tomas.id })).body).toMatchObject({ id: tomas.id, memories: 3 });
    expect((await get(`entities/${foundry.id}`)).body).toMatchObject({ id: tomas.id, name: "Tomas Lindqvist" });
    expect((await walk("q=brackwater")).length).toBe(0);
    expectFault(await change(tomas.id, { merged_into: foundry.id }), 409, "invalid_state", "merged_into");
    expect((await change(foundry.id, { merged_into: null })).body).toEqual(foundry);
  });

  test("refuses what is unknown, itself, blank and too long names, and nothing to change", async () => {
    const { id } = await named("Lisbon");
    const unknown = "ent_00000000000000000000000000";
    expectFault(await change(unknown, { name: "x" }), 404, "entity_not_found", "id");
    expectFault(await change(id, { merged_into: unknown }), 404, "entity_not_found", "merged_into");
    expectFault(await change(id, { merged_into: id }), 400, "invalid_request", "merged_into");
    expectFault(await change(id, {}), 400, "invalid_request");
    expectFault(await change(id, { name: "  " }), 400, "invalid_request", "name");
    expectFault(await change(id, { name: "n".repeat(257) }), 400, "invalid_request", "name");
    expect((await change(id, { name: "n".repeat(256) })).status).toBe(200);
    expect((await change(id, { name: null })).body.name).toBe("Lisbon");
  });
});

test("a confined key sees what its user's memories mention, written as there, and changes nothing", async () => {
  const greta = await named("Greta Vantongeren");
  await change(greta.id, { name: "The secret caretaker" });
  const seen = await walk("", confined);
  expect(seen.find(({ id }) => id === greta.id)).toMatchObject({ name: "GRETA VANTONGEREN", memories: 1 });
  expect(seen.map(({ name }) => name)).not.toContain("Calder Vale Observatory");
  const own = (await get(`entities/${greta.id}`, confined)).body;
  expect(JSON.stringify(own)).not.toMatch(/secret|Calder|Greta/);
  const put = { method: "PUT", headers: { authorization: `Bearer ${confined}`, "content-type": "application/json" } };
  const url = `http://mneme.test/v1/graph/entities/${greta.id}`;
  expectFault(await mneme.send(new Request(url, { ...put, body: '{"name":"x"}' })), 403, "insufficient_scope");
  expectFault(await get("entities?userId=ada", confined), 403, "insufficient_scope", "userId");
  await change(greta.id, { name: null });
});
