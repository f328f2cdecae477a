// GET and DELETE /v1/memories/{id}/history, and `knownAt` on GET /v1/memories and /v1/memories/{id}.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
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
async function rewrite(id: string, content: string): Promise<void> {
  await mneme.call("PUT", `/v1/memories/${id}`, { content });
  await mneme.settled(id);
}
const historyOf = (id: string, query = "") => mneme.call("GET", `/v1/memories/${id}/history${query}`);
const read = (id: string, knownAt: string) => mneme.call("GET", `/v1/memories/${id}?knownAt=${knownAt}`);
const now = (offsetMs = 0) => isoTime(systemClock.now() + offsetMs);
/** The time of the server, to the millisecond: all that follows is later. */
async function momentAfterAll(): Promise<string> {
  const moment = now();
  while (now() === moment) await new Promise(setImmediate);
  return moment;
}
const textsOf = ({ body }: { body: { data: { kind: string; content: string }[] } }) =>
  body.data.flatMap(({ kind, content }) => (kind === "text" ? [content] : []));

describe("the history of a memory", () => {
  test("has each text with its time and key, and each relation that was set and removed, in pages", async () => {
    const id = await stored("The kayak is in shed 3.", { userId: "ada" });
    const other = await stored("The kayak was sold.", { userId: "ada" });
    await rewrite(id, "The kayak is in shed 8.");
    await mneme.call("PUT", `/v1/memories/${id}/relations`, { memory_id: other, type: "superseded_by" });
    await mneme.call("DELETE", `/v1/memories/${id}/relations?memory_id=${other}`);
    const { status, body } = await historyOf(id);
    expect(status).toBe(200);
    const persons = body.data.filter(
      (entry: { kind: string; relation?: { by: string } }) => entry.kind === "text" || entry.relation?.by === "person",
    );
    const key = { kind: "key", id: expect.stringMatching(/^key_/) };
    const relation = expect.objectContaining({ type: "superseded_by", memory_id: other });
    const [, , second, first] = persons;
    expect(persons).toEqual([
      { kind: "relation", action: "removed", at: expect.any(String), relation, by: key },
      { kind: "relation", action: "set", at: expect.any(String), relation, by: key },
      { ...{ kind: "text", version: 2, content: "The kayak is in shed 8." }, from: first.until, until: null, by: key },
      {
        ...{ kind: "text", version: 1, content: "The kayak is in shed 3." },
        from: first.from,
        until: second.from,
        by: key,
      },
    ]);
    expect(body).toMatchObject({ has_more: false, cursor: null });

    const paged: unknown[] = [];
    for (let query = "?limit=1"; query !== ""; ) {
      const page = (await historyOf(id, query)).body;
      paged.push(...page.data);
      query = page.has_more ? `?limit=1&cursor=${page.cursor}` : "";
    }
    expect(paged).toEqual(body.data);
  });

  test("has the earlier text before the new one is processed, and no text of a deleted memory", async () => {
    const id = await stored("before");
    await mneme.call("PUT", `/v1/memories/${id}`, { content: "after" });
    expect(textsOf(await historyOf(id))).toEqual(["after", "before"]);
    await mneme.settled(id);
    expect(textsOf(await historyOf(id))).toEqual(["after", "before"]);
    await mneme.call("DELETE", `/v1/memories/${id}`);
    expectFault(await historyOf(id), 404, "memory_not_found", "id");
  });

  test("is erased for good by DELETE: the current text and entries of relations stay", async () => {
    const id = await stored("my password is hunter2");
    const then = await momentAfterAll();
    await rewrite(id, "my password is in the vault");
    await rewrite(id, "my password is in the safe");
    expect((await mneme.call("DELETE", `/v1/memories/${id}/history`)).status).toBe(204);
    expect(textsOf(await historyOf(id))).toEqual(["my password is in the safe"]);
    expectFault(await read(id, then), 404, "memory_not_found", "id");
    expect((await read(id, now())).body.content).toBe("my password is in the safe");
    expect((await mneme.call("DELETE", `/v1/memories/${id}/history`)).status).toBe(204);
  });

  test("is also erased while the text that replaced it waits", async () => {
    const id = await stored("my pin is 4711");
    await mneme.call("PUT", `/v1/memories/${id}`, { content: "my pin is secret" });
    await mneme.call("DELETE", `/v1/memories/${id}/history`);
    expect(textsOf(await historyOf(id))).toEqual(["my pin is secret"]);
    await mneme.settled(id);
    expect(textsOf(await historyOf(id))).toEqual(["my pin is secret"]);
  });
});

describe("knownAt", () => {
  test("reads a memory with its text and relations of then", async () => {
    const older = await stored("The market opens at six.", { userId: "bo" });
    const newer = await stored("Lanterns are sold at the market.", { userId: "bo" });
    const before = await momentAfterAll();
    await mneme.call("PUT", `/v1/memories/${newer}/relations`, { memory_id: older, type: "supersedes" });
    const between = await momentAfterAll();
    await rewrite(older, "The market opens at seven.");
    await mneme.call("DELETE", `/v1/memories/${newer}/relations?memory_id=${older}`);
    await mneme.call("PUT", `/v1/memories/${older}`, { title: "Market" });
    const ofThen = async (at: string) => {
      const { content, superseded_by, relations, title } = (await read(older, at)).body;
      const byPerson = relations.filter(({ by }: { by: string }) => by === "person");
      return { content, superseded_by, relations: byPerson.length, title };
    };
    const six = { content: "The market opens at six.", title: "Market" };
    expect(await ofThen(before)).toEqual({ ...six, superseded_by: null, relations: 0 });
    expect(await ofThen(between)).toEqual({ ...six, superseded_by: newer, relations: 1 });
    expect(await ofThen(await momentAfterAll())).toEqual({
      ...six,
      content: "The market opens at seven.",
      superseded_by: null,
      relations: 0,
    });

    const list = async (at: string, more = "") =>
      (await mneme.call("GET", `/v1/memories?userId=bo&knownAt=${at}${more}`)).body.data.map(
        ({ id, content }: { id: string; content: string }) => [id, content],
      );
    const lanterns = [newer, "Lanterns are sold at the market."];
    expect(await list(between)).toEqual([lanterns, [older, six.content]]);
    expect(await list(between, "&superseded=true")).toEqual([[older, six.content]]);
    expect(await list(between, "&superseded=false")).toEqual([lanterns]);
    expect(await list(before, "&superseded=true")).toEqual([]);
    await mneme.call("DELETE", `/v1/memories/${newer}`);
    expect(await list(between)).toEqual([[older, six.content]]);
    expect((await ofThen(between)).superseded_by).toBeNull();
  });

  test("shows no memory that was accepted later: 404", async () => {
    const before = await momentAfterAll();
    const id = await stored("later", { userId: "cy" });
    expectFault(await read(id, before), 404, "memory_not_found", "id");
    expect((await mneme.call("GET", `/v1/memories?userId=cy&knownAt=${before}`)).body.data).toEqual([]);
  });

  test("400 in the future, before the horizon, and for no time; the message names the span", async () => {
    const id = await stored("now");
    for (const at of [now(60_000), now(-400 * 86_400_000)]) {
      for (const target of [`/v1/memories/${id}?knownAt=${at}`, `/v1/memories?knownAt=${at}`]) {
        const answered = await mneme.call("GET", target);
        expectFault(answered, 400, "invalid_request", "knownAt");
        expect(answered.body.error.message).toMatch(/from \d{4}-\S+Z, .* to now, \d{4}-\S+Z/);
      }
    }
    expectFault(await read(id, "yesterday"), 400, "invalid_request", "knownAt");
  });
});

describe("errors", () => {
  test("404 for an unknown memory and for one of another user; 400 for a cursor of another memory", async () => {
    const id = await stored("one", { userId: "dora" });
    await rewrite(id, "two");
    const confined = mneme.addKey(["memories:read", "memories:write"], undefined, { userId: "eve" });
    for (const method of ["GET", "DELETE"] as const) {
      for (const unknown of [UNKNOWN, "no-id"]) {
        expectFault(await mneme.call(method, `/v1/memories/${unknown}/history`), 404, "memory_not_found", "id");
      }
      const headers = { authorization: `Bearer ${confined}` };
      const foreign = await mneme.call(method, `/v1/memories/${id}/history`, undefined, headers);
      expectFault(foreign, 404, "memory_not_found", "id");
    }
    expect(textsOf(await historyOf(id))).toEqual(["two", "one"]);
    const { cursor } = (await historyOf(id, "?limit=1")).body;
    expectFault(await historyOf(await stored("other"), `?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
  });
});
