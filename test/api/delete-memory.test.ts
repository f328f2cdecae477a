// DELETE /v1/memories/{id}: once it is answered, nothing shows the memory any more.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const remove = (id: string, headers?: Record<string, string>) =>
  mneme.call("DELETE", `/v1/memories/${id}`, undefined, headers);

describe("204", () => {
  test("has no body, and get, list and search show the memory no more from then on: thirty times", async () => {
    const memories = Array.from({ length: 30 }, (_, at) => ({
      content: `Parcel ${at} waits at the depot.`,
      userId: "d",
    }));
    const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
    const ids: string[] = body.data.map((item: { memory: { id: string } }) => item.memory.id);
    for (const id of ids) await mneme.settled(id);

    for (const [at, id] of ids.entries()) {
      const query = {
        query: `Parcel ${at} waits at the depot`,
        userId: "d",
        limit: 100,
        mode: at % 2 ? "fast" : "balanced",
      };
      const search = () => mneme.call("POST", "/v1/memories/search", query);
      const before: { memory_id: string }[] = (await search()).body.results;
      expect(before.map((result) => result.memory_id)).toContain(id);

      const deletion = await remove(id);
      expect([deletion.status, deletion.body]).toEqual([204, null]);
      expect(deletion.headers.has("content-type")).toBeFalse();

      const [get, list, found] = await Promise.all([
        mneme.call("GET", `/v1/memories/${id}`),
        mneme.call("GET", "/v1/memories?limit=100&userId=d"),
        search(),
      ]);
      expectFault(get, 404, "memory_not_found", "id");
      expect(list.body.data.map((memory: { id: string }) => memory.id)).not.toContain(id);
      const after: { memory_id: string }[] = found.body.results;
      expect(after.map((result) => result.memory_id)).not.toContain(id);
      expect(after).toHaveLength(ids.length - at - 1);
    }
  });

  test("a memory can be deleted while it is processing, and does not come back when its job ends", async () => {
    const { body } = await mneme.call("POST", "/v1/memories", { content: "Deleted before it was ready.", userId: "p" });
    expect((await remove(body.id)).status).toBe(204);
    // the next memory is done after the deleted one's job
    await mneme.store({ content: "The one after it.", userId: "p" });
    const found = await mneme.call("POST", "/v1/memories/search", { query: "deleted before ready", userId: "p" });
    expect(found.body.results.map((result: { content: string }) => result.content)).toEqual(["The one after it."]);
    expectFault(await mneme.call("GET", `/v1/memories/${body.id}`), 404, "memory_not_found", "id");
  });
});

describe("404", () => {
  test("a second deletion, an unknown id and no id at all", async () => {
    const { body } = await mneme.call("POST", "/v1/memories", { content: "Deleted twice." });
    expect((await remove(body.id)).status).toBe(204);
    for (const id of [body.id, "mem_00000000000000000000000000", "mem_", "%00"]) {
      expectFault(await remove(id), 404, "memory_not_found", "id");
    }
  });

  test("another project's key deletes nothing here", async () => {
    const { body } = await mneme.call("POST", "/v1/memories", { content: "Not yours." });
    const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    expectFault(await remove(body.id, { authorization }), 404, "memory_not_found", "id");
    expect((await mneme.call("GET", `/v1/memories/${body.id}`)).status).toBe(200);
  });
});

test("401 without a key, 403 for a key that cannot write; the memory stays", async () => {
  const { body } = await mneme.call("POST", "/v1/memories", { content: "Stays." });
  const unkeyed = new Request(`http://mneme.test/v1/memories/${body.id}`, { method: "DELETE" });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read"])}`;
  expectFault(await remove(body.id, { authorization }), 403, "insufficient_scope");
  expect((await mneme.call("GET", `/v1/memories/${body.id}`)).status).toBe(200);
});

test("400: query parameters are refused", async () => {
  expectFault(await remove("mem_00000000000000000000000000?force=true"), 400, "invalid_request", "force");
});
