// getMemoryFile: originals of uploaded files, from the upload until nothing of them is left.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ ports: WORD_PORTS });
});
afterAll(() => mneme.stop());

const PAGE = "<!doctype html><title>Pier</title><p>The ferry leaves from pier two.</p><script>alert(1)</script>";
let tenants = 0;

/** A new project, and its key. */
async function tenant(settings: object = { keep_files: true }) {
  const made = await mneme.call("POST", "/v1/projects", { name: `files ${tenants++}`, plan: "starter", ...settings });
  expect(made.status).toBe(201);
  const headers = { authorization: `Bearer ${made.body.key}` };
  const call = (method: string, path: string, body?: unknown, more = {}) =>
    mneme.call(method, path, body, { ...headers, ...more });
  const settled = (answer: Answered): Promise<Answered> =>
    until("the file is read", async () => {
      const now = await call("GET", `/v1/memories/${answer.body.id}`);
      return now.body.status === "processing" ? null : now;
    });
  const upload = async (name: string, content: string | Uint8Array, fields = {}): Promise<Answered> =>
    mneme.send(formRequest("http://mneme.test/v1/memories/upload", fileForm(name, content, fields), { headers }));
  const used = async () => (await call("GET", "/v1/usage")).body.storage_bytes.used;
  /** The answer to a request for the file of a memory, as bytes. */
  const file = async (id: string, more: Record<string, string> = {}, method = "GET") => {
    const request = new Request(`http://mneme.test/v1/memories/${id}/file`, {
      method,
      headers: { ...headers, ...more },
    });
    const response = await mneme.service.handle(request);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { id: made.body.id as string, headers, call, upload, settled, used, file };
}

const files = () =>
  readdirSync(join(mneme.dataDir, "uploads"), { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );

test("a file is not kept unless the project says so; null restores that", async () => {
  const { call, upload, settled, file } = await tenant({});
  expect((await call("GET", "/v1/project")).body.keep_files).toBe(false);
  const before = files().length;
  const sent = await settled(await upload("pier.html", PAGE));
  expect(sent.body.source).toEqual({
    ...{ filename: "pier.html", media_type: "text/html", bytes: PAGE.length, is_kept: false },
  });
  expect(files().length).toBe(before);
  const answer = await file(sent.body.id);
  expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([404, "file_not_found"]);
  expect(JSON.parse(answer.text).error.message).toContain("keep_files");
  expect((await call("PUT", "/v1/project", { keep_files: true })).body.keep_files).toBe(true);
  expect((await call("PUT", "/v1/project", { retention_days: 3 })).body.keep_files).toBe(true);
  expect((await call("PUT", "/v1/project", { keep_files: null })).body.keep_files).toBe(false);
  expect((await call("PUT", "/v1/project", { keep_files: "yes" })).status).toBe(400);
});

test("a kept file is returned from the 202 on, byte by byte, and a browser never runs it", async () => {
  const { upload, settled, file } = await tenant();
  const sent = await upload("Größe 5%.html", PAGE);
  expect([sent.status, sent.body.source.is_kept]).toEqual([202, true]);
  for (const when of ["at once", "after it was read"]) {
    const { status, headers, text } = await file(sent.body.id);
    expect([when, status, text]).toEqual([when, 200, PAGE]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/html",
      "content-length": String(PAGE.length),
      "accept-ranges": "bytes",
      etag: expect.stringMatching(/^"[!-~]+"$/),
      "content-disposition": `attachment; filename="Gr__e 5_.html"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%205%25.html`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox",
      "cache-control": "private, no-cache",
    });
    expect((await settled(sent)).body).toMatchObject({ status: "completed", source: { is_kept: true } });
  }
});

test("ranges, HEAD and entity tags are answered as HTTP says", async () => {
  const { upload, file } = await tenant();
  const { id } = (await upload("digits.txt", "0123456789")).body;
  const whole = await file(id);
  const etag = whole.headers.get("etag") ?? "";
  const shown = async (headers: Record<string, string>, method = "GET") => {
    const answer = await file(id, headers, method);
    const body = answer.status < 400 ? answer.text : JSON.parse(answer.text).error.code;
    return [answer.status, body, answer.headers.get("content-range"), answer.headers.get("content-length")];
  };
  expect(await shown({ range: "bytes=2-4" })).toEqual([206, "234", "bytes 2-4/10", "3"]);
  expect(await shown({ range: "bytes=-3" })).toEqual([206, "789", "bytes 7-9/10", "3"]);
  expect(await shown({ range: "bytes=7-" })).toEqual([206, "789", "bytes 7-9/10", "3"]);
  expect(await shown({ range: "bytes=0-0,2-2" })).toEqual([200, "0123456789", null, "10"]);
  expect(await shown({ range: "bytes=4-2" })).toEqual([200, "0123456789", null, "10"]);
  expect((await shown({ range: "bytes=10-" })).slice(0, 3)).toEqual([416, "range_not_satisfiable", "bytes */10"]);
  expect(await shown({ range: "bytes=2-4", "if-range": etag })).toEqual([206, "234", "bytes 2-4/10", "3"]);
  expect(await shown({ range: "bytes=2-4", "if-range": '"old"' })).toEqual([200, "0123456789", null, "10"]);
  expect((await shown({ "if-none-match": etag })).slice(0, 2)).toEqual([304, ""]);
  expect((await shown({ "if-none-match": etag }, "HEAD")).slice(0, 2)).toEqual([304, ""]);
  expect((await file(id, { "if-none-match": etag })).headers.get("etag")).toBe(etag);
  expect(await shown({ "if-none-match": '"old"' })).toEqual([200, "0123456789", null, "10"]);
  expect(await shown({}, "HEAD")).toEqual([200, "", null, "10"]);
  expect(await shown({ range: "bytes=2-4" }, "HEAD")).toEqual([200, "", null, "10"]);
  expect((await file("mem_00000000000000000000000000", {}, "HEAD")).status).toBe(404);
});

test("a memory without a file, and one that the caller may not see, have none", async () => {
  const { call, upload, settled, file } = await tenant();
  const { body: note } = await settled(await call("POST", "/v1/memories", { content: "A note.", userId: "ada" }));
  expect(note.source).toBeNull();
  const codeOf = ({ text }: { readonly text: string }) => JSON.parse(text).error.code;
  expect(codeOf(await file(note.id))).toBe("file_not_found");
  for (const id of ["mem_00000000000000000000000000", "mem_x", ".."]) {
    expect((await file(encodeURIComponent(id))).status).toBe(404);
  }
  const { body: mine } = await upload("ada.txt", "Of Ada.", { userId: "ada" });
  const other = await tenant();
  expect(codeOf(await other.file(mine.id))).toBe("memory_not_found");
  const confined = await call("POST", "/v1/keys", { name: "bob", scopes: ["memories:read"], userId: "bob" });
  const bearer = { authorization: `Bearer ${confined.body.key}` };
  expect(codeOf(await file(mine.id, bearer))).toBe("memory_not_found");
  const writes = await call("POST", "/v1/keys", { name: "w", scopes: ["memories:write"] });
  expect((await file(mine.id, { authorization: `Bearer ${writes.body.key}` })).status).toBe(403);
  expect((await file(mine.id)).text).toBe("Of Ada.");
});

test("kept files count as storage beside the text, and in the quota of the plan", async () => {
  const { id, call, upload, settled, used } = await tenant();
  const content = `${"A line of the report.\n".repeat(200)}`;
  const sent = await upload("report.txt", content);
  expect(await used()).toBe(content.length); // until it is read, there is only the file
  const { body } = await settled(sent);
  const text = Buffer.byteLength(body.content);
  expect(await used()).toBe(content.length + text);
  const again = await upload("report.txt", `${content}More.`, { externalId: "e" });
  await settled(again);
  expect(await used()).toBeGreaterThan(2 * content.length + text);
  await call("DELETE", `/v1/memories/${again.body.id}`);
  expect(await used()).toBe(content.length + text);
  // a new text takes the place of both
  await settled(await call("PUT", `/v1/memories/${body.id}`, { content: "Short." }));
  expect(await used()).toBe("Short.".length);
  const admin = { authorization: `Bearer ${TEST_KEY}` };
  expect((await mneme.call("PUT", `/v1/projects/${id}`, { plan: "free" }, admin)).status).toBe(200);
});

test("a kept file goes with its memory, with new content, and when it is purged", async () => {
  const { call, upload, settled, file } = await tenant({ keep_files: true, retention_days: 0 });
  const before = new Set(files());
  const added = () => files().filter((name) => !before.has(name));
  const { body: first } = await settled(await upload("a.txt", "First.", { externalId: "e" }));
  const [old] = added();
  expect(added()).toHaveLength(1);
  const { body: second } = await settled(await upload("a.txt", "Second.", { externalId: "e" }));
  expect(second.id).toBe(first.id);
  expect(added()).toHaveLength(1);
  expect(added()).not.toEqual([old ?? ""]);
  expect((await file(first.id)).text).toBe("Second.");
  const changed = await call("PUT", `/v1/memories/${first.id}`, { title: "Only the title" });
  expect(changed.body.source.is_kept).toBe(true);
  expect(
    (await settled(await call("PUT", `/v1/memories/${first.id}`, { content: "By hand." }))).body.source,
  ).toBeNull();
  expect((await file(first.id)).status).toBe(404);
  expect(added()).toEqual([]);

  const { body: third } = await settled(await upload("b.txt", "Third."));
  expect(added()).toHaveLength(1);
  expect((await call("DELETE", `/v1/memories/${third.id}?purge=true`)).status).toBe(204);
  expect((await file(third.id)).status).toBe(404);
  expect(added()).toEqual([]);

  const { body: fourth } = await settled(await upload("c.txt", "Fourth.", { userId: "ada" }));
  expect((await call("DELETE", "/v1/users/ada?cascade=true")).status).toBeLessThan(300);
  expect((await file(fourth.id)).status).toBe(404);
});

test("a file that is sent again is kept from then on, and one that fails to be read as well", async () => {
  const { call, upload, settled, used, file } = await tenant({});
  const fields = { externalId: "e" };
  const { body: first } = await settled(await upload("a.txt", "The same text.", fields));
  expect(first.source.is_kept).toBe(false);
  const text = await used();
  await call("PUT", "/v1/project", { keep_files: true });
  const again = await upload("a.txt", "The same text.", fields);
  expect([again.status, again.body.id, again.body.source.is_kept]).toEqual([200, first.id, true]);
  expect((await file(first.id)).text).toBe("The same text.");
  expect(await used()).toBe(text + "The same text.".length);
  const count = files().length;
  expect((await upload("a.txt", "The same text.", fields)).status).toBe(200);
  expect(files().length).toBe(count);

  const broken = `%PDF-1.4\n${"damaged ".repeat(9)}`;
  const { body: failed } = await settled(await upload("broken.pdf", broken));
  expect([failed.status, failed.source.is_kept]).toEqual(["failed", true]);
  expect((await file(failed.id)).text).toBe(broken);
  await call("POST", `/v1/memories/${failed.id}/retry`);
  expect((await settled(await call("GET", `/v1/memories/${failed.id}`))).body.source.is_kept).toBe(true);
});

test("the file of a container is kept with the container only, goes with it, and counts once", async () => {
  const { call, upload, settled, used, file } = await tenant({ keep_files: true, retention_days: 0 });
  const before = new Set(files());
  const added = () => files().filter((name) => !before.has(name));
  const text = (content: string) => strToU8(content);
  const inner = zipSync({ "deep.txt": text("Deep in the box.") });
  const archive = zipSync({ "a.txt": text("Alpha."), "b.txt": text("Beta."), "inner.zip": inner });
  const settledParts = async (id: string) => {
    const list = async (of: string): Promise<Answered["body"][]> =>
      (await call("GET", `/v1/memories?container=${of}&limit=100`)).body.data;
    return until("all parts are read", async () => {
      const parts = await list(id);
      for (const part of [...parts]) if (part.parts !== undefined) parts.push(...(await list(part.id)));
      return parts.length > 0 && parts.every(({ status }) => status !== "processing") ? parts : null;
    });
  };
  const { body: first } = await settled(await upload("box.zip", archive, { externalId: "box" }));
  const parts = await settledParts(first.id);
  expect(parts.map(({ source }) => [source.path, source.is_kept]).sort()).toEqual([
    ["a.txt", false],
    ["b.txt", false],
    ["deep.txt", false],
    ["inner.zip", false],
  ]);
  expect(first.source.is_kept).toBe(true);
  const whole = await file(first.id);
  expect([whole.status, whole.headers.get("content-type"), whole.headers.get("content-length")]).toEqual([
    200,
    "application/zip",
    String(archive.length),
  ]);
  expect((await file(first.id, { range: "bytes=0-1" })).text).toBe("PK");
  for (const { id, source } of parts) {
    const { status, text: body } = await file(id);
    expect([status, JSON.parse(body).error.code]).toEqual([404, "file_not_found"]);
    expect(JSON.parse(body).error.message).toContain(source.container);
  }
  expect(added()).toHaveLength(1);
  const texts = [first, ...parts].reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  expect(await used()).toBe(archive.length + texts);

  // new content takes the place of the file and of the parts
  const { body: second } = await settled(
    await upload("box.zip", zipSync({ "c.txt": text("Gamma.") }), { externalId: "box" }),
  );
  expect(second.id).toBe(first.id);
  expect((await settledParts(first.id)).map(({ source }) => source.path)).toEqual(["c.txt"]);
  expect(added()).toHaveLength(1);

  // a part that is deleted alone leaves the file of the container
  const [gamma] = await settledParts(first.id);
  expect((await call("DELETE", `/v1/memories/${gamma.id}?purge=true`)).status).toBe(204);
  expect((await file(first.id)).status).toBe(200);
  expect((await call("DELETE", `/v1/memories/${first.id}?purge=true`)).status).toBe(204);
  expect([(await file(first.id)).status, added(), await used()]).toEqual([404, [], 0]);
});

test("a container that is deleted before its new content is read takes the parts of the earlier one along", async () => {
  const { call, upload, settled } = await tenant();
  const box = zipSync({ "a.txt": strToU8("Alpha."), "b.txt": strToU8("Beta.") });
  const { body } = await settled(await upload("box.zip", box));
  await call("PUT", `/v1/memories/${body.id}`, { content: "By hand." });
  expect((await call("DELETE", `/v1/memories/${body.id}`)).status).toBe(204);
  expect((await call("GET", "/v1/memories")).body.data).toEqual([]);
});

test("a kept file that is lost or cut is an error of the server, which names the remedy", async () => {
  const { upload, settled, file } = await tenant();
  const before = new Set(files());
  const { body } = await settled(await upload("a.txt", "Soon lost."));
  const path = join(mneme.dataDir, "uploads", files().find((name) => !before.has(name)) ?? "");
  const failed = async () => {
    const { status, text } = await file(body.id);
    return [status, JSON.parse(text).error.code, JSON.parse(text).error.message];
  };
  const message = expect.stringContaining("mneme verify --repair");
  truncateSync(path, 3);
  expect(await failed()).toEqual([500, "internal_error", message]);
  rmSync(path);
  expect(await failed()).toEqual([500, "internal_error", message]);
});
