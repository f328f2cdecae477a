// DELETE /v1/memories/{id}: after the answer, the memory appears nowhere.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { storedRows } from "../support/stored-rows.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const remove = (id: string, headers?: Record<string, string>) =>
  mneme.call("DELETE", `/v1/memories/${id}`, undefined, headers);

describe("204", () => {
  test("has no body, and get, list and search no longer show the memory: thirty times", async () => {
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
    // the next memory is processed after the job of the deleted memory
    await mneme.store({ content: "The one after it.", userId: "p" });
    const found = await mneme.call("POST", "/v1/memories/search", { query: "deleted before ready", userId: "p" });
    expect(found.body.results.map((result: { content: string }) => result.content)).toEqual(["The one after it."]);
    expectFault(await mneme.call("GET", `/v1/memories/${body.id}`), 404, "memory_not_found", "id");
  });
});

/** Returns the names of the tables in which a value contains `marker`. */
function tablesWith(marker: string): readonly string[] {
  return [...storedRows(mneme)]
    .filter(([, rows]) => rows.some((row) => Object.values(row).some((value) => String(value).includes(marker))))
    .map(([name]) => name);
}

describe("purge", () => {
  const marked = (marker: string) => ({
    content: `The ${marker} was found in the attic.`,
    title: `Title ${marker}`,
    tags: [`tag-${marker}`],
    metadata: { [`key-${marker}`]: `value-${marker}` },
    externalId: `id-${marker}`,
  });

  test("false or absent: the row is kept for the retention period, and nothing shows it", async () => {
    for (const query of ["", "?purge=false"]) {
      const marker = `kept${query.length}`;
      const { body } = await mneme.store(marked(marker));
      expect((await remove(`${body.id}${query}`)).status).toBe(204);
      expect(tablesWith(`Title ${marker}`)).toEqual(["memories"]);
      expectFault(await mneme.call("GET", `/v1/memories/${body.id}`), 404, "memory_not_found", "id");
      expectFault(await remove(`${body.id}?purge=true`), 404, "memory_not_found", "id");
    }
  });

  test("true: no table contains anything of the memory, chats and remembered answers included", async () => {
    const marker = "lantern-7c1";
    const key = { "idempotency-key": "purged-1" };
    const created = await mneme.call("POST", "/v1/memories", marked(marker), key);
    await mneme.settled(created.body.id);
    const chat = (await mneme.call("POST", "/v1/chats", { title: "Attic" })).body.id;
    const asked = await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: "What was found in the attic?" });
    expect(asked.body.message.sources.map((source: { memory_id: string }) => source.memory_id)).toContain(
      created.body.id,
    );
    expect(tablesWith(marker).length).toBeGreaterThan(1);

    expect((await remove(`${created.body.id}?purge=true`)).status).toBe(204);
    // the table of messages may contain it: the text that the assistant wrote belongs to the chat
    expect(tablesWith(marker).filter((table) => table !== "messages")).toEqual([]);
    expect((await mneme.call("DELETE", `/v1/chats/${chat}`)).status).toBe(204);
    expect(tablesWith(marker)).toEqual([]);
    expect(tablesWith(created.body.id)).toEqual([]);

    const found = await mneme.call("POST", "/v1/memories/search", { query: `${marker} attic`, limit: 100 });
    expect(JSON.stringify(found.body)).not.toContain(marker);
    expectFault(await remove(created.body.id), 404, "memory_not_found", "id");
    const again = await mneme.call("POST", "/v1/memories", marked(marker));
    expect([again.status, again.body.id === created.body.id]).toEqual([202, false]);
  });

  test("true, while the memory is processing: its job leaves nothing behind", async () => {
    const created = await Promise.all(
      Array.from({ length: 10 }, (_, at) => mneme.call("POST", "/v1/memories", marked(`hurried-${at}`))),
    );
    const deletions = await Promise.all(created.map(({ body }) => remove(`${body.id}?purge=true`)));
    expect(deletions.map(({ status }) => status)).toEqual(Array(10).fill(204));
    await mneme.store({ content: "The next one, done after their jobs." });
    expect(tablesWith("hurried")).toEqual([]);
    const found = await mneme.call("POST", "/v1/memories/search", { query: "hurried attic", limit: 100 });
    expect(JSON.stringify(found.body)).not.toContain("hurried");
  });

  for (const value of ["yes", "1", "TRUE", ""]) {
    test(`'${value}' is refused by name`, async () => {
      expectFault(await remove(`mem_00000000000000000000000000?purge=${value}`), 400, "invalid_request", "purge");
    });
  }
});

describe("the sources of stored chat messages", () => {
  const sourcesOf = async (chat: string): Promise<string[]> => {
    const [history, page] = [
      (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages,
      (await mneme.call("GET", `/v1/chats/${chat}/messages`)).body.data,
    ];
    expect(page).toEqual(history);
    return history[1].sources.map((source: { memory_id: string }) => source.memory_id);
  };
  const ways: [name: string, leave: (id: string) => Promise<unknown>][] = [
    ["deleted", (id) => remove(id)],
    ["purged", (id) => remove(`${id}?purge=true`)],
    ["expired", async () => clock.advance(60_000)],
  ];
  for (const [name, leave] of ways) {
    test(`a ${name} memory is in none of them, the others stay in their order`, async () => {
      const userId = `reader-${name}`;
      const ids: string[] = [];
      for (const at of [1, 2, 3]) {
        const expires_at = new Date(clock.now() + (at === 2 && name === "expired" ? 60_000 : 9e9)).toISOString();
        ids.push((await mneme.store({ content: `The heron was seen at pond ${at}.`, userId, expires_at })).body.id);
      }
      const { id } = (await mneme.call("POST", "/v1/chats", { userId })).body;
      const asked = { message: "Where was the heron seen?" };
      await mneme.call("POST", `/v1/chats/${id}/messages`, asked);
      const before = await sourcesOf(id);
      expect([...before].sort()).toEqual([...ids].sort());
      await leave(ids[1] ?? "");
      expect(await sourcesOf(id)).toEqual(before.filter((source) => source !== ids[1]));
    });
  }
});

describe("expiry", () => {
  test("frees the place in the plan and the externalId, and is final", async () => {
    const project = await mneme.call("POST", "/v1/projects", { name: "small", plan: "free" });
    const headers = { authorization: `Bearer ${project.body.key}` };
    const post = (body: object) => mneme.call("POST", "/v1/memories", body, headers);
    const expires_at = new Date(clock.now() + 60_000).toISOString();
    for (let at = 0; at < 10; at++) await post({ content: `Passing ${at}.`, externalId: `p${at}`, expires_at });
    expectFault(await post({ content: "One too many." }), 429, "document_quota_exceeded");
    clock.advance(60_000);
    expect((await post({ content: "Now there is room." })).status).toBe(202);
    expect((await post({ content: "Passing 0, again.", externalId: "p0" })).status).toBe(202);
    expect((await mneme.call("GET", "/v1/memories", undefined, headers)).body.data).toHaveLength(2);
    expect((await mneme.call("GET", "/v1/usage", undefined, headers)).body.documents.used).toBe(2);
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
