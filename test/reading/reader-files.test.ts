// What the reader process promises of files: texts of any size arrive whole, and what a file does to the reader stays with
// that file.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReader, type Reader, type ReaderOptions } from "../../src/adapters/reading/reader-pool.ts";
import { createLog } from "../../src/kit/log.ts";
import { type DocumentFile, ReadFailure } from "../../src/ports/preparer.ts";
import { PART_BYTES_MAX } from "../../src/reading/reader-protocol.ts";
import { MODELS_DIR } from "./fixtures/models.ts";

const TIMEOUT_MS = 90_000;
const folder = mkdtempSync(join(tmpdir(), "mneme-files-"));
const opened: Reader[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((reader) => reader.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(options: Partial<ReaderOptions> = {}): Reader {
  const reader = createReader({ modelsDir: MODELS_DIR, log: createLog("silent"), ...options });
  opened.push(reader);
  return reader;
}

let written = 0;
function fileOf(content: string | Uint8Array, mediaType = "text/plain"): DocumentFile {
  const path = join(folder, String(written++));
  writeFileSync(path, content);
  return { path, bytes: Buffer.byteLength(content), filename: "a file.txt", mediaType };
}

const fragile = { command: [process.execPath, join(import.meta.dir, "fixtures/fragile-file-reader.ts")] };
const failureOf = (outcome: unknown) => {
  if (!(outcome instanceof ReadFailure)) throw new Error("it was read", { cause: outcome });
  return { code: outcome.code, message: outcome.message };
};

describe("the reader of files", () => {
  test(
    "gives a file's text and title, one file after the other",
    async () => {
      const reader = open();
      const outcomes = await Promise.all([
        reader.read(fileOf("Buy milk.\r\nCall Ada.")),
        reader.read(fileOf('{"a": "\ufeff🎉"}', "application/json")),
        reader.read(fileOf("<title>T</title><p>One<p>Two", "text/html")),
        reader.read(fileOf(" ")),
      ]);
      expect(outcomes.slice(0, 3)).toEqual([
        { content: "Buy milk.\nCall Ada.", title: null },
        { content: '{"a": "\ufeff🎉"}', title: "a file" },
        { content: "One\n\nTwo", title: "T" },
      ]);
      expect(failureOf(outcomes[3])).toEqual({ code: "unreadable_document", message: "The file holds no text." });
    },
    TIMEOUT_MS,
  );

  test(
    "a text larger than one frame arrives whole, one that grew in reading too",
    async () => {
      const line = "Grüße aus Köln an die Tagung.\n";
      const bytes = Buffer.from(line.repeat(Math.ceil((PART_BYTES_MAX * 1.05) / line.length)), "latin1");
      const outcome = await open().read(fileOf(bytes));
      if (outcome instanceof ReadFailure) throw outcome;
      expect(outcome.content.length).toBe(bytes.byteLength);
      expect(outcome.content.slice(-line.length)).toBe(line);
    },
    TIMEOUT_MS,
  );

  test(
    "one that kills the reader twice is unreadable, and the next one is read",
    async () => {
      const reader = open(fragile);
      const [deadly, next] = await Promise.all([reader.read(fileOf("A deadly file.")), reader.read(fileOf("Next."))]);
      expect(failureOf(deadly)).toEqual({
        code: "unreadable_document",
        message: "The file could not be read: it takes too much time or memory.",
      });
      expect(next).toEqual({ content: "Next.", title: null });
      expect(reader.restarts()).toBe(2);
    },
    TIMEOUT_MS,
  );

  test(
    "one that takes for ever is given up",
    async () => {
      const reader = open({ ...fragile, groupTimeoutMs: () => 1_000 });
      expect(failureOf(await reader.read(fileOf("An endless file."))).code).toBe("unreadable_document");
      expect(await reader.read(fileOf("Next."))).toEqual({ content: "Next.", title: null });
    },
    TIMEOUT_MS,
  );

  test(
    "one that breaks a parser is damaged; trouble with the disk is no fault of the file",
    async () => {
      const reader = open(fragile);
      expect(failureOf(await reader.read(fileOf("faulty"))).message).toContain("it is damaged");
      await expect(reader.read(fileOf("unavailable"))).rejects.toThrow("the disk does not answer");
      expect(await reader.read(fileOf("Next."))).toEqual({ content: "Next.", title: null });
      expect(reader.restarts()).toBe(0);
    },
    TIMEOUT_MS,
  );
});
