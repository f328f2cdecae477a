// PUT and DELETE /v1/memories/{id}/relations, and where relations are shown: memories, results, lists, filters,
// webhooks.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
});
afterAll(() => mneme.stop());

const UNKNOWN = "mem_00000000000000000000000000";

async function stored(content: string, more: object = {}): Promise<string> {
  const { body } = await mneme.call("POST", "/v1/memories", { content, ...more });
  await mneme.settled(body.id);
  return body.id;
}
const relate = (id: string, memory_id: string, type = "supersedes") =>
  mneme.call("PUT", `/v1/memories/${id}/relations`, { memory_id, type });
const forget = (id: string, memory_id: string) =>
  mneme.call("DELETE", `/v1/memories/${id}/relations?memory_id=${memory_id}`);
const read = async (id: string) => (await mneme.call("GET", `/v1/memories/${id}`)).body;

describe("a relation that a person set", () => {
  test("is shown from both sides, marks the older memory everywhere, and is undone by DELETE or a deletion", async () => {
    const userId = "ada";
    const older = await stored("The kayak is in shed 3.", { userId });
    const newer = await stored("The kayak is in shed 8.", { userId });
    const { status, body } = await relate(newer, older);
    expect(status).toBe(200);
    const shown = {
      ...{ type: "supersedes", memory_id: older, state: "active", by: "person", confidence: null, evidence: null },
      created_at: expect.stringMatching(/^\d{4}-/),
    };
    expect(body).toEqual({ data: [shown] });
    expect(await read(newer)).toMatchObject({ superseded_by: null, relations: [shown] });
    expect(await read(older)).toMatchObject({
      ...{ superseded_by: newer, relations: [{ ...shown, type: "superseded_by", memory_id: newer }] },
    });

    const search = async (filters?: object) => {
      const query = { query: "kayak shed", userId, explain: true, ...(filters !== undefined && { filters }) };
      return (await mneme.call("POST", "/v1/memories/search", query)).body.results;
    };
    const found = (await search()).find(({ memory_id }: { memory_id: string }) => memory_id === older);
    expect(found).toMatchObject({ metadata: { _memory: { superseded_by: newer } }, explain: { superseded_by: newer } });
    expect(found.metadata._chunk.superseded_by).toBeUndefined();
    const idsOf = (items: { memory_id: string }[]) => items.map(({ memory_id }) => memory_id);
    expect(idsOf(await search({ superseded_by: null }))).toEqual([newer]);
    expect(idsOf(await search({ superseded_by: newer }))).toEqual([older]);
    const list = async (superseded: boolean) =>
      (await mneme.call("GET", `/v1/memories?userId=${userId}&superseded=${superseded}`)).body.data.map(
        ({ id }: { id: string }) => id,
      );
    expect([await list(true), await list(false)]).toEqual([[older], [newer]]);

    expect((await forget(older, newer)).status).toBe(204);
    expect((await read(older)).superseded_by).toBeNull();
    await relate(older, newer, "superseded_by");
    expect((await read(older)).superseded_by).toBe(newer);
    await mneme.call("DELETE", `/v1/memories/${newer}`);
    expect(await read(older)).toMatchObject({ superseded_by: null, relations: [] });
    expect(idsOf(await search({ superseded_by: null }))).toEqual([older]);
  });
});

describe("errors", () => {
  test("404 for a memory that is unknown, on either side, and for a relation that no person set", async () => {
    const id = await stored("one");
    expectFault(await relate(UNKNOWN, id), 404, "memory_not_found", "id");
    expectFault(await relate(id, UNKNOWN), 404, "memory_not_found", "memory_id");
    expectFault(await relate(id, "no id"), 404, "memory_not_found", "memory_id");
    expectFault(await forget(id, await stored("two")), 404, "relation_not_found", "memory_id");
  });

  test("400 for itself, another user or agent, and an unknown type", async () => {
    const id = await stored("mine", { userId: "ida" });
    expectFault(await relate(id, id), 400, "invalid_request", "memory_id");
    expectFault(await relate(id, await stored("hers", { userId: "eve" })), 400, "invalid_request", "memory_id");
    const ofAgent = await stored("its", { userId: "ida", agentId: "smith" });
    expectFault(await relate(id, ofAgent), 400, "invalid_request", "memory_id");
    expectFault(await relate(id, ofAgent, "likes"), 400, "invalid_request", "type");
  });

  test("409 for a circle of superseding", async () => {
    const [first, second, third] = [await stored("1st"), await stored("2nd"), await stored("3rd")];
    await relate(second, first);
    await relate(third, second);
    expectFault(await relate(first, third), 409, "invalid_state");
    expect((await relate(first, second)).status).toBe(200); // the reverse of what stands is no circle
    expect((await read(second)).superseded_by).toBe(third);
  });
});

test("the setting `superseding` is shown and changed; null restores the default", async () => {
  const change = async (superseding: unknown) => (await mneme.call("PUT", "/v1/project", { superseding })).body;
  expect((await mneme.call("GET", "/v1/project")).body.superseding).toBe("on");
  expect(await change("suggest")).toMatchObject({ superseding: "suggest" });
  expect(await change(null)).toMatchObject({ superseding: "on" });
  expectFault(await mneme.call("PUT", "/v1/project", { superseding: "maybe" }), 400, "invalid_request", "superseding");
});
