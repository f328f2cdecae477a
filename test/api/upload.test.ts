// uploadMemory: valid and invalid forms, every status with its code, and that refused files are removed from disk.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileFormats } from "../../src/adapters/documents/formats.ts";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { createUploads } from "../../src/api/upload.ts";
import { FORMAT_NAMES } from "../../src/documents/formats.ts";
import { Fault } from "../../src/domain/fault.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { buildPdf } from "../documents/pdf/build-pdf.ts";
import { NO_MOUNT, smallDisk } from "../stores/temporary-folder.ts";
import { type FormOptions, fileForm, formRequest, lines, type Part } from "../support/forms.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const URL = "http://mneme.test/v1/memories/upload";
const GIF = Buffer.from("GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0", "latin1");
const file = fileForm("a.txt", "Hello.");

describe("receiving", () => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-receiving-"));
  const uploads = createUploads({
    files: openSpool(folder, { clock: systemClock, log: createLog("silent") }),
    formats: fileFormats,
  });
  const incoming = () => readdirSync(join(folder, "incoming"));
  const receive = (parts: readonly Part[], options?: FormOptions) => uploads.receive(formRequest(URL, parts, options));
  const refusal = async (parts: readonly Part[], options?: FormOptions): Promise<Fault> => {
    try {
      await receive(parts, options);
    } catch (error) {
      if (error instanceof Fault) return error;
      throw error;
    }
    throw new Error("it was received");
  };
  afterEach(() => expect(incoming()).toEqual([]));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  for (const pieceBytes of [1, 7, 64 * 1024]) {
    test(`returns fields, name and bytes unchanged, in pieces of ${pieceBytes}`, async () => {
      const content = Buffer.from(`--\r\n\r\n----mneme\r\n${"x".repeat(500)}\0`);
      const fields = { title: "Grüße ", tags: "[]", userId: "\ufeffu" };
      const upload = await receive(fileForm("Plan für 'alle'.md", content, fields), {
        pieceBytes,
      });
      expect({ ...upload.fields }).toEqual(fields);
      expect(upload.sha256).toBe(new Bun.CryptoHasher("sha256").update(content).digest("hex"));
      expect(upload.file.filename).toBe("Plan für 'alle'.md");
      expect(upload.file.bytes).toBe(content.byteLength);
      expect(statSync(upload.file.path).mode & 0o777).toBe(0o600);
      expect(Buffer.from(await Bun.file(upload.file.path).arrayBuffer())).toEqual(content);
      await upload.discard();
      await upload.discard(); // a second one does nothing
    });
  }

  test("accepts forms from fetch", async () => {
    const body = new FormData();
    body.append("title", "T");
    body.append("file", new File(["Hello."], "a.txt"));
    const upload = await uploads.receive(new Request(URL, { method: "POST", body }));
    expect({ ...upload.fields }).toEqual({ title: "T" });
    await upload.discard();
  });

  test("a filename is cut to 255 characters, without folders and control characters", async () => {
    for (const [sent, shown] of [
      ["../../etc/passwd", "passwd"],
      ["C:\\\\Users\\\\ada\\\\plan.txt", "plan.txt"],
      ["a\u0007b.txt", "ab.txt"],
      [`${"ü".repeat(300)}.md`, "ü".repeat(255)],
    ] as const) {
      const upload = await receive(fileForm(sent, "# Hello"));
      expect(upload.file.filename).toBe(shown);
      if (sent.endsWith(".md")) expect(upload.file.mediaType).toBe("text/markdown");
      await upload.discard();
    }
  });

  const text = (name: string, content: Part["content"]): Part => ({ name, content });
  const wrong: readonly (readonly [string, readonly Part[], FormOptions, string, string])[] = [
    ["no file", [text("title", "x")], {}, "invalid_request", "file"],
    ["no part at all", [], {}, "invalid_request", "file"],
    ["two files", [...file, ...file], {}, "invalid_request", "file"],
    ["an empty file", fileForm("a.txt", ""), {}, "invalid_request", "file"],
    ["a file without a name", [text("file", "x")], {}, "invalid_request", "file"],
    ["a file with an empty name", fileForm("", "x"), {}, "invalid_request", "file"],
    ["a file whose name is a folder", fileForm("plans/", "x"), {}, "invalid_request", "file"],
    [
      "a file under another name",
      [{ name: "document", filename: "a", content: "x" }],
      {},
      "invalid_request",
      "document",
    ],
    ["a field twice", [text("title", "x"), text("title", "x"), ...file], {}, "invalid_request", "title"],
    ["a field too long", [text("tags", "x".repeat(256 * 1024 + 1)), ...file], {}, "invalid_request", "tags"],
    ["no UTF-8", [text("userId", new Uint8Array([0x75, 0xff])), ...file], {}, "invalid_request", "userId"],
    ["a NUL", [text("userId", "u\0"), ...file], {}, "invalid_request", "userId"],
    [
      "too many parts",
      [...Array.from({ length: 16 }, (_, n) => text(`f${n}`, "x")), ...file],
      {},
      "invalid_request",
      "file",
    ],
    [
      "an encoded part",
      [{ ...text("title", "eA=="), headers: ["Content-Transfer-Encoding: base64"] }, ...file],
      {},
      "invalid_request",
      "title",
    ],
    ["no boundary", file, { contentType: "multipart/form-data" }, "invalid_request", "Content-Type"],
    ["another boundary", file, { contentType: "multipart/form-data; boundary=other" }, "invalid_request", "file"],
    ["JSON", file, { contentType: "application/json" }, "unsupported_media_type", "Content-Type"],
    [
      "a form without files",
      file,
      { contentType: "application/x-www-form-urlencoded" },
      "unsupported_media_type",
      "Content-Type",
    ],
    ["a picture", fileForm("a.txt", GIF), {}, "unsupported_media_type", "file"],
    ["far too long", file, { contentLength: LIMITS.uploadBytes * 2 }, "payload_too_large", "file"],
  ];
  for (const [what, parts, options, code, param] of wrong) {
    test(`refuses ${what}`, async () => expect(await refusal(parts, options)).toMatchObject({ code, param }));
  }

  test("lists the supported formats if a format is not supported", async () => {
    expect((await refusal(fileForm("a.gif", GIF))).message).toContain(`Supported: ${FORMAT_NAMES}.`);
  });

  test("refuses a form that was cut off at any point", async () => {
    const whole = await formRequest(URL, fileForm("a.txt", "Hello.", { title: "T" })).arrayBuffer();
    for (let cutAt = 0; cutAt < whole.byteLength - 2; cutAt++) {
      const fault = await refusal(fileForm("a.txt", "Hello.", { title: "T" }), { cutAt, pieceBytes: 16 });
      expect([cutAt, fault.code, fault.param]).toEqual([cutAt, "invalid_request", "file"]);
    }
  });

  test("keeps nothing of a caller who hangs up", async () => {
    const hangUp = new AbortController();
    const slow = async function* () {
      yield Buffer.from("The first words.");
      await until("the file is begun", () => incoming().length === 1);
      hangUp.abort();
      yield* lines(1_000_000);
    };
    const fault = await refusal([{ name: "file", filename: "a.txt", content: slow() }], { signal: hangUp.signal });
    expect(fault.code).toBe("invalid_request");
  });

  test("accepts 100 MB, and not a byte more", async () => {
    const large = (bytes: number) => [{ name: "file", filename: "a.txt", content: lines(bytes) }];
    const upload = await receive(large(LIMITS.uploadBytes));
    expect(upload.file.bytes).toBe(104_857_600);
    await upload.discard();
    expect((await refusal(large(LIMITS.uploadBytes + 1))).code).toBe("payload_too_large");
  });

  const disk = smallDisk(4);
  afterAll(() => disk?.remove());
  test.skipIf(disk === null)(`says that the disk is full (${NO_MOUNT})`, async () => {
    const onDisk = createUploads({
      files: openSpool(join(disk?.path ?? "", "uploads"), { clock: systemClock, log: createLog("silent") }),
      formats: fileFormats,
    });
    const large = formRequest(URL, [{ name: "file", filename: "a.txt", content: lines(5_000_000) }]);
    await expect(onDisk.receive(large)).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 60 });
    expect(readdirSync(join(disk?.path ?? "", "uploads/incoming"))).toEqual([]);
    await (await onDisk.receive(formRequest(URL, file))).discard();
  });
});

describe("uploadMemory", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ countsWords: true });
  });
  afterAll(() => service.stop());
  const incoming = () => readdirSync(join(service.dataDir, "uploads/incoming"));
  const kept = () => readdirSync(join(service.dataDir, "uploads")).filter((name) => name !== "incoming");
  afterEach(() => expect(incoming()).toEqual([]));

  const send = (parts: readonly Part[], headers: Record<string, string> = {}, key = TEST_KEY) =>
    service.send(formRequest(URL, parts, { headers: { authorization: `Bearer ${key}`, ...headers } }));

  test("202: a processing memory, which is completed and found after its text was read", async () => {
    const accepted = await send(fileForm("Harbour plan.md", "# The harbour\n\nThe lighthouse is painted in May."));
    expect(accepted.status).toBe(202);
    expect(accepted.body).toMatchObject({
      status: "processing",
      content: "",
      source: { filename: "Harbour plan.md", media_type: "text/markdown", bytes: 48 },
      progress: { stage: "queued" },
    });
    const { body } = await service.settled(accepted.body.id);
    expect(body).toMatchObject({
      status: "completed",
      content: "# The harbour\n\nThe lighthouse is painted in May.",
      title: "The harbour",
      chunk_count: 1,
      source: accepted.body.source,
    });
    const found = await service.call("POST", "/v1/memories/search", { query: "when is the lighthouse painted?" });
    expect(found.body.results[0].memory_id).toBe(accepted.body.id);
    const filtered = { query: "lighthouse", filters: { "source.media_type": "text/markdown" } };
    expect((await service.call("POST", "/v1/memories/search", filtered)).body.total_results).toBe(1);
  });

  test("results from a file name their page", async () => {
    const line = (page: string, at: number) => `The ${page} page speaks of ${page} things, in line ${at} of it.`;
    const page = (name: string) =>
      Array.from({ length: 30 }, (_, at) => ({ text: line(name, at), x: 50, y: 60 + at * 20, size: 10 }));
    const pdf = buildPdf({ pages: [page("copper"), page("silver"), page("golden")] });
    const { body: taken } = await send(fileForm("three pages.pdf", pdf, { userId: "pages" }));
    expect((await service.settled(taken.id)).body.status).toBe("completed");
    for (const [name, number] of [["copper", 1] as const, ["golden", 3] as const]) {
      const search = { query: `what does the ${name} page speak of?`, userId: "pages", mode: "fast", limit: 1 };
      const { body } = await service.call("POST", "/v1/memories/search", search);
      expect(body.results[0].content).toContain(name);
      expect(body.results[0].metadata._chunk).toMatchObject({ page: number, start: expect.any(Number) });
    }
  });

  test.each([
    ["a log", "server.log", (line: string) => line],
    ["source code", "tool.py", (line: string) => `def f():\n    """${line}"""`],
    ["Markdown behind a table", "list.md", (line: string) => `| a | b |\n|---|---|\n| 1 | 2 |\n\n${line}\n`],
  ])("results from %s name their lines in the file", async (_, filename, around) => {
    const words = ["copper", "silver", "golden", "wooden", "marble", "velvet"];
    const text = words.map((word) => around(`${`The ${word} gate. `.repeat(120).trim()}`)).join("\n");
    const { body: taken } = await send(fileForm(filename, text, { userId: filename }));
    expect((await service.settled(taken.id)).body.chunk_count).toBeGreaterThan(3);
    const lines = text.split("\n");
    for (const word of words) {
      const search = { query: `the ${word} gate`, userId: filename, mode: "hybrid", limit: 1 };
      const [found] = (await service.call("POST", "/v1/memories/search", search)).body.results;
      const { line, line_end: end } = found.metadata._chunk;
      expect(end).toBeGreaterThanOrEqual(line);
      const last = String(found.content.split("\n").at(-1));
      expect(lines[end - 1]).toContain(last);
    }
    const { body } = await service.call("GET", `/v1/memories/${taken.id}`);
    expect(body.source.filename).toBe(filename);
  });

  test("every field of a form, with tags and metadata as JSON", async () => {
    const { status, body } = await send(
      fileForm("a.txt", "Fields.", {
        title: "T",
        type: "report",
        tags: '["a", "b"]',
        metadata: '{"year": 2024, "deep": {"list": [1, null]}}',
        userId: "ada",
        language: "de-de",
        externalId: "fields",
        expires_at: "2999-01-01T00:00:00Z",
        occurred_at: "2024-05-03T12:00:00+02:00",
      }),
    );
    expect(status).toBe(202);
    expect(body).toMatchObject({
      title: "T",
      type: "report",
      tags: ["a", "b"],
      metadata: { year: 2024, deep: { list: [1, null] } },
      userId: "ada",
      language: "de-DE",
      externalId: "fields",
      expires_at: "2999-01-01T00:00:00.000Z",
      occurred_at: "2024-05-03T10:00:00.000Z",
    });
  });

  test("empty fields, as web pages send them, count as absent", async () => {
    const { status, body } = await send(
      fileForm("a.txt", "Empty fields.", { title: "", tags: "", metadata: "", type: "", occurred_at: "" }),
    );
    expect(status).toBe(202);
    expect(body).toMatchObject({ title: null, type: null, tags: null, metadata: {}, occurred_at: null });
  });

  describe("400", () => {
    const deep = `{"a":${"[".repeat(70)}${"]".repeat(70)}}`;
    const cases: readonly (readonly [string, Record<string, string>, string, string])[] = [
      ["an unknown field", { user_id: "u" }, "invalid_request", "user_id"],
      ["an empty userId", { userId: "" }, "invalid_request", "userId"],
      ["a userId too long", { userId: "u".repeat(257) }, "invalid_request", "userId"],
      ["a title too long", { title: "t".repeat(1_025) }, "invalid_request", "title"],
      ["tags that are no JSON", { tags: "a, b" }, "invalid_request", "tags"],
      ["tags that are no list", { tags: '"a"' }, "invalid_request", "tags"],
      ["a tag that is no text", { tags: '["a", 1]' }, "invalid_request", "tags[1]"],
      ["a tag with a NUL", { tags: '["a\\u0000"]' }, "invalid_request", "tags[0]"],
      ["51 tags", { tags: JSON.stringify(Array.from({ length: 51 }, (_, n) => `t${n}`)) }, "too_many_tags", "tags"],
      ["metadata that are no object", { metadata: "[]" }, "invalid_request", "metadata"],
      ["metadata with half a character", { metadata: '{"a": "\\ud800"}' }, "invalid_request", "metadata.a"],
      ["metadata with a number too large", { metadata: '{"a": 1e999}' }, "invalid_request", "metadata.a"],
      ["metadata nested too deep", { metadata: deep }, "invalid_request", "metadata"],
      [
        "metadata of more than 10 KB",
        { metadata: JSON.stringify({ a: "x".repeat(10_240) }) },
        "metadata_too_large",
        "metadata",
      ],
      ["a reserved name in metadata", { metadata: '{"_memory": 1}' }, "invalid_request", "metadata._memory"],
      ["no language", { language: "english!" }, "invalid_request", "language"],
      ["an occurrence that is no date", { occurred_at: "3 May 2024" }, "invalid_request", "occurred_at"],
      ["a time that has passed", { expires_at: "2001-01-01T00:00:00Z" }, "invalid_request", "expires_at"],
    ];
    for (const [what, fields, code, param] of cases) {
      test(what, async () => {
        const { status, body } = await send(fileForm("a.txt", "Never stored.", fields));
        expect(status).toBe(400);
        expect(body.error).toMatchObject({ code, param, status: 400 });
      });
    }

    const members = `{${Array.from({ length: 10_001 }, (_, at) => `"k${at}":1`)}}`;
    const hostile: readonly (readonly [what: string, fields: Record<string, string>, message: string])[] = [
      ["250 KB of [", { metadata: "[".repeat(250_000) }, "'metadata' is nested deeper than 64 levels."],
      ["too many values", { tags: `[${"0,".repeat(20_000)}0]` }, "'tags' has more than 20000 JSON values."],
      ["too many members", { metadata: members }, "'metadata' has more than 10000 JSON members."],
    ];
    for (const [what, fields, message] of hostile) {
      test(`a field of ${what}, before it is parsed`, async () => {
        const { status, body } = await send(fileForm("a.txt", "Never stored.", fields));
        expect([status, body.error.code, body.error.message]).toEqual([400, "invalid_request", message]);
        expect(body.error.param).toBe(Object.keys(fields)[0]);
      });
    }

    test("names the nearest known field", async () => {
      const { body } = await send(fileForm("a.txt", "x", { user_id: "u" }));
      expect(body.error.message).toContain("Did you mean 'userId'?");
    });
  });

  test("401 without a key, 403 without the scope", async () => {
    expect((await service.send(formRequest(URL, file))).status).toBe(401);
    const reader = service.addKey(["memories:read"]);
    expect((await send(file, {}, reader)).body.error.code).toBe("insufficient_scope");
  });

  test("413 and 415 with their codes", async () => {
    const length = { "content-length": String(LIMITS.uploadBytes * 2) };
    expect((await send(file, length)).body.error).toMatchObject({ code: "payload_too_large", status: 413 });
    expect((await send(fileForm("a.gif", GIF))).body.error).toMatchObject({
      code: "unsupported_media_type",
      status: 415,
    });
    const json = await service.call("POST", "/v1/memories/upload", { content: "x" });
    expect(json.body.error).toMatchObject({ code: "unsupported_media_type", status: 415 });
  });

  describe("a key confined to a user", () => {
    test("uploads for that user, and for nobody else", async () => {
      const key = service.addKey(["memories:write", "memories:read"], undefined, { userId: "grace" });
      const implied = await send(fileForm("a.txt", "Confined."), {}, key);
      expect(implied.body.userId).toBe("grace");
      const other = await send(fileForm("a.txt", "Confined.", { userId: "ada" }), {}, key);
      expect(other.body.error).toMatchObject({ status: 403, code: "insufficient_scope", param: "userId" });
    });
  });

  describe("an Idempotency-Key", () => {
    const key = { "idempotency-key": "upload-1" };
    const form = (filename: string, content: string, title: string) => fileForm(filename, content, { title });

    test("gives the first answer again for the same fields, name and bytes only", async () => {
      const first = await send(form("a.txt", "Once.", "T"), key);
      await service.settled(first.body.id);
      const again = await send(form("a.txt", "Once.", "T"), key);
      expect(again.status).toBe(202);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(again.body).toEqual(first.body);
      for (const other of [form("b.txt", "Once.", "T"), form("a.txt", "Twice.", "T"), form("a.txt", "Once.", "U")]) {
        expect((await send(other, key)).body.error).toMatchObject({ status: 409, code: "idempotency_conflict" });
      }
    });

    test("does not remember errors", async () => {
      const other = { "idempotency-key": "upload-2" };
      expect((await send(fileForm("a.txt", "Later.", { tags: "no JSON" }), other)).status).toBe(400);
      expect((await send(fileForm("a.txt", "Later."), other)).status).toBe(202);
    });
  });

  test("an existing externalId: 200 with the text for the same file, 202 for another", async () => {
    const known = { externalId: "plan", userId: "ada" };
    const first = await send(fileForm("plan.txt", "The first plan.", known));
    await service.settled(first.body.id);
    const same = await send(fileForm("plan.txt", "The first plan.", { ...known, title: "Plan" }));
    expect(same.status).toBe(200);
    expect(same.body).toMatchObject({
      id: first.body.id,
      content: "The first plan.",
      title: "Plan",
      status: "completed",
    });
    const other = await send(fileForm("plan.txt", "The second plan.", known));
    expect(other.status).toBe(202);
    expect(other.body).toMatchObject({ id: first.body.id, content: "", status: "processing" });
    expect((await service.settled(first.body.id)).body.content).toBe("The second plan.");
  });

  test("an unreadable file fails with a reason, can be retried, and can be purged", async () => {
    const others = new Set(kept());
    const { body } = await send(fileForm("scan.pdf", "%PDF-1.7\n"));
    const failed = await service.settled(body.id);
    expect(failed.body).toMatchObject({ status: "failed", error: { code: "unreadable_document" }, content: "" });
    expect(failed.body.error.message).toContain("damaged");
    const mine = () => kept().filter((name) => !others.has(name));
    expect(mine()).toHaveLength(1);
    const retried = await service.call("POST", `/v1/memories/${body.id}/retry`);
    expect(retried.status).toBe(202);
    expect((await service.settled(body.id)).body.status).toBe("failed");
    expect((await service.call("DELETE", `/v1/memories/${body.id}?purge=true`)).status).toBe(204);
    await until("its file is gone", () => mine().length === 0);
  });

  test("429 if the plan is full: the eleventh document, and too many bytes", async () => {
    const project = await service.call("POST", "/v1/projects", { name: "Small", plan: "free" });
    const { key } = project.body;
    const large = [{ name: "file", filename: "a.pdf", content: pdfOf(LIMITS.uploadBytes / 2 + 1) }];
    expect((await send(large, {}, key)).body.error).toMatchObject({ status: 429, code: "storage_quota_exceeded" });
    for (let n = 0; n < 10; n++) expect((await send(fileForm("a.txt", `Note ${n}.`), {}, key)).status).toBe(202);
    const eleventh = await send(fileForm("a.txt", "One too many."), {}, key);
    expect(eleventh.body.error).toMatchObject({ status: 429, code: "document_quota_exceeded" });
    expect(eleventh.headers.get("retry-after")).toBeNull();
  });
});

async function* pdfOf(bytes: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from("%PDF-1.7\n");
  yield* lines(bytes - 9);
}
