// `mneme import`: parsing of lines, files and command lines. test/cli/serve.test.ts imports into a real server.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, RequestRefused } from "../../src/cli/client.ts";
import { memoryOfLine, parseImportOptions } from "../../src/cli/import.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a line", () => {
  test("with content is used unchanged as createMemory body", () => {
    const body = { content: "c", tags: ["t"], externalId: "7", metadata: { userId: "stays here" } };
    expect(memoryOfLine(JSON.stringify(body), null)).toEqual(body);
  });
  test("of a judged collection becomes a memory with the document's id as externalId", () => {
    const line = { _id: 12, title: "T", text: "body", metadata: { userId: "conv-1", session: 3 } };
    expect(memoryOfLine(JSON.stringify(line), null)).toEqual({
      content: "body",
      title: "T",
      externalId: "12",
      userId: "conv-1",
      metadata: { session: 3 },
    });
  });
  test("without an id becomes a memory without externalId; an id that is not a string or number is refused", () => {
    expect(memoryOfLine('{"_id":null,"text":"x"}', null)).toEqual({ content: "x" });
    expect(() => memoryOfLine('{"_id":{"$oid":"1"},"text":"x"}', null)).toThrow("_id");
    expect(memoryOfLine('{"content":"x","userId":null}', "ada")).toEqual({ content: "x", userId: "ada" });
  });
  test("omits empty fields, and uses the title as content if there is no text", () => {
    expect(memoryOfLine('{"_id":"a","title":"","text":"x","metadata":{}}', null)).toEqual({
      content: "x",
      externalId: "a",
    });
    expect(memoryOfLine('{"_id":"a","title":"only","text":""}', null)).toEqual({
      content: "only",
      title: "only",
      externalId: "a",
    });
  });
  test("without a user gets the user of the command line; a line with a user keeps it", () => {
    expect(memoryOfLine('{"content":"c"}', "ada")).toEqual({ content: "c", userId: "ada" });
    expect(memoryOfLine('{"content":"c","userId":"bob"}', "ada")).toEqual({ content: "c", userId: "bob" });
    expect(memoryOfLine('{"text":"c","metadata":{"userId":"bob"}}', "ada")).toEqual({ content: "c", userId: "bob" });
  });
  for (const [line, why] of [
    ["{", "is not valid JSON"],
    ["[]", "is not a JSON object"],
    ["null", "is not a JSON object"],
    ['{"_id":"471","title":"","text":""}', "has no text"],
    ['{"title":"t"}', "has neither `content` nor `text`"],
  ] as const) {
    test(`${line} ${why}`, () => expect(() => memoryOfLine(line, null)).toThrow(why));
  }
});

describe("a file", () => {
  const lines = async (path: string) => {
    const all: [number, string][] = [];
    for await (const { number, text } of readLines(path)) all.push([number, text]);
    return all;
  };
  test("is read line by line with any line ends; blank lines count but are skipped", async () => {
    const path = join(folder, "a.jsonl");
    writeFileSync(path, "one\r\n\n  \ntwö\nlast");
    expect(await lines(path)).toEqual([
      [1, "one"],
      [4, "twö"],
      [5, "last"],
    ]);
  });
  test("is decompressed if its name ends with .gz", async () => {
    const path = join(folder, "a.jsonl.gz");
    writeFileSync(path, Bun.gzipSync("one\ntwo\n"));
    expect(await lines(path)).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
  });
  test("larger than any buffer keeps its lines intact", async () => {
    const path = join(folder, "large.jsonl");
    const written = Array.from({ length: 300 }, (_, at) => `${at} ${"äé日".repeat(1000)}`);
    writeFileSync(path, written.join("\n"));
    expect((await lines(path)).map(([, text]) => text)).toEqual(written);
  });
  test("that is missing or damaged causes an error", async () => {
    expect(lines(join(folder, "missing.jsonl"))).rejects.toThrow("ENOENT");
    const path = join(folder, "damaged.jsonl.gz");
    writeFileSync(path, Bun.gzipSync("one\n".repeat(1000)).slice(0, 20));
    expect(lines(path)).rejects.toThrow();
  });
});

describe("a command line", () => {
  const key = { MNEME_API_KEY: "ctx_from-environment" };
  test("needs only a file and a key", () => {
    expect(parseImportOptions(["f.jsonl"], key)).toEqual({
      file: "f.jsonl",
      url: "http://127.0.0.1:8383",
      key: "ctx_from-environment",
      batch: 100,
      userId: null,
      waits: false,
    });
  });
  test("accepts an address with or without /v1", () => {
    expect(parseImportOptions(["f", "--url", "https://m.example/v1/"], key).url).toBe("https://m.example");
  });
  for (const [argv, why] of [
    [[], "Missing file. Usage: mneme import FILE.jsonl[.gz]"],
    [["a", "b"], "import takes one file"],
    [["a", "--batch", "101"], "--batch must be an integer from 1 to 100."],
    [["a", "--batch", "0"], "--batch must be an integer from 1 to 100."],
    [["a", "--url", "localhost:1"], "--url must be an http or https address"],
    [["a", "--wiat"], "Unknown flag --wiat. Did you mean --wait?"],
  ] as const) {
    test(why, () => {
      expect(() => parseImportOptions(argv, key)).toThrow(UsageError);
      expect(() => parseImportOptions(argv, key)).toThrow(why);
    });
  }
  test("without any key is refused", () => {
    expect(() => parseImportOptions(["f"], {})).toThrow("Missing API key");
  });
});

describe("a client", () => {
  // a simulated server, because a test cannot make a real server busy
  const busyServer = (answers: readonly Response[]) => {
    const waiting = [...answers];
    return Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => waiting.shift() ?? new Response(null, { status: 500 }),
    });
  };
  const sleepless = (slept: number[]) => ({ now: () => 0, sleep: async (ms: number) => void slept.push(ms) });

  test("waits as long as a busy server requests, and retries", async () => {
    const slept: number[] = [];
    using server = busyServer([
      Response.json({ error: { code: "rate_limit_exceeded" } }, { status: 429, headers: { "retry-after": "7" } }),
      Response.json({ error: { code: "overloaded", retry_after_seconds: 2 } }, { status: 503 }),
      new Response("a proxy's page", { status: 503 }),
      Response.json({ ok: true }),
    ]);
    const client = new Client(server.url.origin, "ctx_k", sleepless(slept));
    expect(await client.send("GET", "/")).toEqual({ ok: true });
    expect(slept).toEqual([7000, 2000, 1000]);
  });
  test("reports refusals with code and message", async () => {
    using server = busyServer([Response.json({ error: { code: "invalid_api_key", message: "No." } }, { status: 401 })]);
    const failed = new Client(server.url.origin, "ctx_k", sleepless([])).send("POST", "/", {});
    expect(failed).rejects.toThrow(new RequestRefused(401, "invalid_api_key", "No."));
  });
  test("gives up if nothing listens at the address", async () => {
    const server = busyServer([]);
    const { origin } = server.url;
    await server.stop(true);
    const slept: number[] = [];
    expect(new Client(origin, "ctx_k", sleepless(slept)).send("GET", "/")).rejects.toThrow(`No answer from ${origin}`);
  });
});
