// GET /v1/memories/{id}/graph: entities, neighbours, access and errors.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
const ids: Record<string, string> = {};
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  const memories = [
    {
      title: "Mabel Thorne",
      content: "Mabel Thorne was a botanist. She was the daughter of Edmund Vale.",
      userId: "ada",
    },
    { title: "Edmund Vale", content: "Edmund Vale kept bees in Kirkwall.", userId: "ada" },
    { title: "Bees", content: "In Kirkwall the bees of Edmund Vale swarmed on 8 May 1903.", userId: "bob" },
    { title: "Jam", content: "plum jam keeps for years" },
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) {
    ids[memory.title] = memory.id;
    await mneme.settled(memory.id);
  }
});
afterAll(() => mneme.stop());

const graphOf = (title: string, query = "", key?: string) =>
  mneme.call(
    "GET",
    `/v1/memories/${ids[title]}/graph${query}`,
    undefined,
    key === undefined ? {} : { authorization: `Bearer ${key}` },
  );

interface Entity {
  readonly name: string;
}

describe("200", () => {
  test("entities, most distinctive first, and the memories that share them", async () => {
    const { status, body } = await graphOf("Mabel Thorne");
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["entities", "memory_id", "neighbours", "relations", "status"]);
    expect(body).toMatchObject({ memory_id: ids["Mabel Thorne"], status: "completed", relations: [] });
    const vale = body.entities.find(({ name }: Entity) => name === "Edmund Vale");
    expect(vale).toEqual({
      name: "Edmund Vale",
      kind: "name",
      mentions: 1,
      memories: 3,
      chunk_ids: [expect.stringMatching(/^chunk_/)],
    });
    expect(body.neighbours.map(({ title }: { title: string }) => title).sort()).toEqual(["Bees", "Edmund Vale"]);
    expect(body.neighbours[0]).toEqual({
      memory_id: expect.stringMatching(/^mem_/),
      title: expect.any(String),
      score: 1,
      entities: ["Edmund Vale"],
    });
  });

  test("a memory without entities has no neighbours", async () => {
    expect((await graphOf("Jam")).body).toMatchObject({ status: "completed", neighbours: [] });
  });

  test("limit bounds the neighbours", async () => {
    expect((await graphOf("Edmund Vale", "?limit=1")).body.neighbours).toHaveLength(1);
  });

  test("a confined key sees and counts neighbours of its user only", async () => {
    const key = mneme.addKey(["memories:read"], undefined, { userId: "ada" });
    const { body } = await graphOf("Mabel Thorne", "", key);
    expect(body.neighbours.map(({ title }: { title: string }) => title)).toEqual(["Edmund Vale"]);
    expect(body.entities.find(({ name }: Entity) => name === "Edmund Vale")?.memories).toBe(2);
    expectFault(await graphOf("Bees", "", key), 404, "memory_not_found", "id");
  });
});

describe("refused", () => {
  test("404: an unknown memory, or a malformed id", async () => {
    for (const id of ["mem_00000000000000000000000000", "nonsense"]) {
      expectFault(await mneme.call("GET", `/v1/memories/${id}/graph`), 404, "memory_not_found", "id");
    }
  });

  test("400: a limit outside of 1 to 100, and unknown parameters", async () => {
    for (const limit of ["0", "101", "x", "1.5"]) {
      expectFault(await graphOf("Jam", `?limit=${limit}`), 400, "invalid_request", "limit");
    }
    expectFault(await graphOf("Jam", "?depth=2"), 400, "invalid_request", "depth");
  });

  test("403 without the scope", async () => {
    expectFault(await graphOf("Jam", "", mneme.addKey(["query"])), 403, "insufficient_scope");
  });
});
