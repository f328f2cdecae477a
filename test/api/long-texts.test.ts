// Long texts of large bodies. They are kept in files, never as strings, until they are published. No caller notices.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { markFailed } from "../support/unfinished.ts";
import { until } from "../support/until.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
});
afterAll(() => mneme.stop());

const MiB = 1024 * 1024;
let texts = 0;
/** A text of 16 KB with escapes, and characters of one to four bytes. No two are equal. */
const longText = () => `${texts++}. "Käse" \\ costs 3 € 😀.\n\u0001`.padEnd(16_000, "The kettle boils.\n");
/**
 * A body that is long enough to be parsed outside of the JavaScript thread. All small letters are escapes, which makes
 * the texts long that are short enough to be published within a second.
 */
const large = (body: unknown) =>
  JSON.stringify(body).replace(/(\\.)|[a-z]/g, (letter, escaped) =>
    escaped === undefined ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter,
  ) + " ".repeat(MiB);

const send = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
  mneme.send(
    new Request(`http://mneme.test/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json", ...headers },
      body,
    }),
  );
const create = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
  send("POST", "/memories", large({ content, ...more }), headers);
const read = async (id: string) => (await mneme.call("GET", `/v1/memories/${id}`)).body;
const files = () =>
  readdirSync(join(mneme.dataDir, "uploads"), { withFileTypes: true }).filter((file) => file.isFile());
const kept = () => files().map(({ name }) => readFileSync(join(mneme.dataDir, "uploads", name), "utf8"));
const completed = (id: string) => until("it is completed", async () => (await read(id)).status === "completed");

describe("the text of a large body", () => {
  test("is answered, kept in a file, read before and after it is published, and its file is removed", async () => {
    const content = longText();
    const { status, headers, body } = await create(content, { title: "Long", metadata: { a: [1] } });
    expect([status, headers.get("content-type"), body.content]).toEqual([
      202,
      "application/json; charset=utf-8",
      content,
    ]);
    expect(body).toMatchObject({ title: "Long", metadata: { a: [1] }, source: null });
    const now = await read(body.id);
    expect(now.content).toBe(content);
    await completed(body.id);
    expect(await read(body.id)).toMatchObject({ content, source: null, title: "Long" });
    await until("the file is removed", () => !kept().includes(content));
  });

  test("counts its UTF-8 bytes towards the quota", async () => {
    const used = async () => (await mneme.call("GET", "/v1/usage")).body.storage_bytes.used;
    const before = await used();
    const content = longText();
    await create(content);
    expect((await used()) - before).toBe(Buffer.byteLength(content));
  });

  test("is answered again under its Idempotency-Key, and is not stored twice", async () => {
    const content = longText();
    const headers = { "idempotency-key": "long-1" };
    const first = await create(content, {}, headers);
    const again = await create(content, {}, headers);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    expect(kept().filter((text) => text === content).length).toBeLessThan(2);
    const other = await create(longText(), {}, headers);
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_conflict"]);
  });

  test("that is already stored under the externalId is not processed again, and leaves no file", async () => {
    const content = longText();
    const first = await create(content, { externalId: "long" });
    await completed(first.body.id);
    const again = await create(content, { externalId: "long", title: "New" });
    expect([again.status, again.body.content === content, again.body.title]).toEqual([200, true, "New"]);
    const short = await mneme.call("POST", "/v1/memories", { content, externalId: "long" });
    expect([short.status, short.body.id]).toEqual([200, first.body.id]);
    await until("no file is left", () => !kept().includes(content));
  });

  test("of blanks is refused, and so is a long text in another field", async () => {
    const blank = await create(" \n\ufeff".repeat(70_000));
    expect([blank.status, blank.body.error.param]).toEqual([400, "content"]);
    const title = await create("x", { title: longText() });
    expect([title.status, title.body.error.param]).toEqual([400, "title"]);
  });

  test("leaves no file if its memory is refused", async () => {
    const content = longText();
    const refused = await create(content, { expires_at: "2001-01-01T00:00:00Z" });
    expect(refused.status).toBe(400);
    const conflict = await send("PUT", "/memories/mem_absent", large({ content }));
    expect(conflict.status).toBe(404);
    const stored = await mneme.call("POST", "/v1/memories", { content: "Short." });
    await mneme.call("DELETE", `/v1/memories/${stored.body.id}`);
    expect((await send("PUT", `/memories/${stored.body.id}`, large({ content }))).status).toBe(404);
    expect(kept()).not.toContain(content);
  });

  test("replaces that of a memory", async () => {
    const [content, next] = [longText(), longText()];
    const { body } = await create(content);
    const changed = await send("PUT", `/memories/${body.id}`, large({ content: next, title: "Next" }));
    expect([changed.status, changed.body.content, changed.body.title]).toEqual([202, next, "Next"]);
    await until("the first file is removed", () => !kept().includes(content));
    await completed(body.id);
    expect((await read(body.id)).content).toBe(next);
    const short = await mneme.call("PUT", `/v1/memories/${body.id}`, { content: "Short again." });
    expect([short.status, short.body.content]).toEqual([202, "Short again."]);
    await completed(body.id);
    expect((await read(body.id)).content).toBe("Short again.");
  });

  test("is erased with its memory", async () => {
    const content = longText();
    const { body } = await create(content);
    expect((await mneme.call("DELETE", `/v1/memories/${body.id}?purge=true`)).status).toBe(204);
    await until("the file is removed", () => !kept().includes(content));
  });

  test("of a failed memory is read, and processed again", async () => {
    const content = longText();
    const { body } = await create(content);
    await markFailed(mneme, body.id);
    expect(await read(body.id)).toMatchObject({ status: "failed", content });
    const again = await mneme.call("POST", `/v1/memories/${body.id}/retry`);
    expect([again.status, again.body.content]).toEqual([202, content]);
    await completed(body.id);
    expect((await read(body.id)).content).toBe(content);
  });
});

test("a batch has short and long texts, in their order", async () => {
  const contents = [longText(), "Short.", longText(), " ", longText()];
  const body = large({ memories: contents.map((content, at) => ({ content, externalId: `b${at}` })) });
  const headers = { "idempotency-key": "long-batch" };
  const first = await send("POST", "/memories/batch", body, headers);
  expect([first.status, first.body.accepted, first.body.failed]).toEqual([202, 4, 1]);
  for (const { index, memory } of first.body.data) if (index !== 3) expect(memory.content).toBe(contents[index]);
  expect((await send("POST", "/memories/batch", body, headers)).body).toEqual(first.body);
  for (const { index, memory } of first.body.data) {
    if (memory !== undefined) expect((await read(memory.id)).content).toBe(contents[index]);
  }
});
