// Tests reading in child processes: texts of any size are returned completely, and a hostile file does not affect other
// files.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClosableDocumentReader,
  createDocumentReader,
  type DocumentReaderOptions,
} from "../../src/adapters/documents/document-reader.ts";
import {
  type DocumentOutcome,
  decodePages,
  encodePages,
  encodeResponse,
  ResponseDecoder,
} from "../../src/documents/document-protocol.ts";
import { hashOfFile } from "../../src/domain/file-hash.ts";
import { createLog } from "../../src/kit/log.ts";
import { PiecedText } from "../../src/kit/pieced-text.ts";
import { type DocumentFile, ReadFailure } from "../../src/ports/document-reader.ts";
import { WAIT_MS } from "../support/until.ts";
import { buildPdf } from "./pdf/build-pdf.ts";

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "mneme-files-"));
const opened: ClosableDocumentReader[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((reader) => reader.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(options: Partial<DocumentReaderOptions> = {}): ClosableDocumentReader {
  const reader = createDocumentReader({ log: createLog("silent"), ...options });
  opened.push(reader);
  return reader;
}

let written = 0;
function fileOf(content: string | Uint8Array, mediaType = "text/plain"): DocumentFile {
  const path = join(folder, String(written++));
  writeFileSync(path, content);
  return { path, bytes: Buffer.byteLength(content), filename: "a file.txt", mediaType };
}

const fragile = { command: [process.execPath, join(import.meta.dir, "fixtures/fragile-document-child.ts")] };
const failureOf = (outcome: unknown) => {
  if (!(outcome instanceof ReadFailure)) throw new Error("it was read", { cause: outcome });
  return { code: outcome.code, message: outcome.message };
};

describe("reading files", () => {
  test("refuses a file with another hash than it had when it was received", async () => {
    const reader = open();
    const file = fileOf("Buy milk.");
    const contentSha256 = hashOfFile(createHash("sha256").update("Buy milk.").digest(), file.mediaType).toString("hex");
    expect(await reader.read({ ...file, contentSha256 })).toMatchObject({ content: "Buy milk." });
    for (const other of [
      { ...fileOf("Buy silk."), contentSha256 },
      { ...file, contentSha256, mediaType: "text/html" },
    ]) {
      expect(failureOf(await reader.read(other))).toEqual({
        code: "unreadable_document",
        message: "The stored file of this memory is damaged. Upload it again.",
      });
    }
  });

  test("returns text and title of each file", async () => {
    const reader = open();
    const outcomes = await Promise.all([
      reader.read(fileOf("Buy milk.\r\nCall Ada.")),
      reader.read(fileOf('{"a": "\ufeff🎉"}', "application/json")),
      reader.read(fileOf("<title>T</title><p>One<p>Two", "text/html")),
      reader.read(fileOf(" ")),
    ]);
    expect(outcomes.slice(0, 3)).toEqual([
      { content: "Buy milk.\nCall Ada.", title: null, marks: [{ at: 0, place: { line: 1 } }] },
      { content: "a: 🎉", title: "a file", marks: [] },
      { content: "One\n\nTwo", title: "T", marks: [] },
    ]);
    expect(failureOf(outcomes[3])).toEqual({ code: "unreadable_document", message: "The file holds no text." });
  });

  test("returns a large text completely, even if it is longer than its file", async () => {
    const line = "Grüße aus Köln an die Tagung.\n";
    const bytes = Buffer.from(line.repeat(Math.ceil((40 * MIB) / line.length)), "latin1");
    const outcome = await open().read(fileOf(bytes));
    if (outcome instanceof ReadFailure) throw outcome;
    expect(outcome.content.length).toBe(bytes.byteLength);
    expect(outcome.content.slice(outcome.content.length - line.length)).toBe(line);
  });

  test("a file that crashes its child process twice is unreadable, and the next file is read", async () => {
    const reader = open(fragile);
    const files = ["A deadly file.", "An response broken off.", "Next."].map((text) => reader.read(fileOf(text)));
    const [deadly, brokenOff, next] = await Promise.all(files);
    const failure = {
      code: "unreadable_document",
      message: "The file could not be read: the process that reads it ends unexpectedly.",
    } as const;
    expect([failureOf(deadly), failureOf(brokenOff)]).toEqual([failure, failure]);
    expect(next).toEqual({ content: "Next.", title: null, marks: [] });
  });

  test("a file whose child gets too little processor time is not refused but tried again later", async () => {
    let waitedMs = 0;
    const usage = { ranMs: () => 0, waitedMs: () => (waitedMs += 60_000) };
    const reading = open({ ...fragile, timeoutMs: () => 50, usage }).read(fileOf("asleep"));
    expect(await reading.catch((error: unknown) => error)).toMatchObject({ code: "overloaded" });
  });

  const excesses = [
    ["computes endlessly", "endless", { processorMsMax: 1_000 }, "it takes more than 1 s"],
    [
      "waits endlessly",
      "asleep",
      { timeoutMs: (bytes: number) => (bytes === "asleep".length ? 1_500 : WAIT_MS) },
      "it takes too much time",
    ],
    ["takes more and more memory", "greedy", { memoryBytesMax: 512 * MIB }, "it takes more than 512 MiB of memory"],
  ] as const;
  for (const [what, content, limits, why] of excesses) {
    test(`a file whose child ${what} is unreadable, and the next file is read`, async () => {
      const reader = open({ ...fragile, ...limits });
      const outcomes = [reader.read(fileOf(content)), reader.read(fileOf("Next."))];
      expect(failureOf(await outcomes[0])).toEqual({
        code: "unreadable_document",
        message: `The file could not be read: ${why}.`,
      });
      expect(await outcomes[1]).toEqual({ content: "Next.", title: null, marks: [] });
    });
  }

  test("a file on which a parser throws counts as damaged; a disk error rejects the call instead", async () => {
    const reader = open(fragile);
    expect(failureOf(await reader.read(fileOf("faulty"))).message).toContain("it is damaged");
    await expect(reader.read(fileOf("unavailable"))).rejects.toThrow("the disk does not answer");
    expect(await reader.read(fileOf("Next."))).toEqual({ content: "Next.", title: null, marks: [] });
  });

  test("closing rejects running and waiting calls", async () => {
    const reader = open(fragile);
    const calls = [reader.read(fileOf("asleep")), reader.read(fileOf("Next."))];
    const outcomes = Promise.allSettled(calls);
    await reader.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

test("reports how many pages of a PDF were read", async () => {
  const progress: unknown[] = [];
  const page = [{ text: "A page of words that can be found.", x: 50, y: 60, size: 10 }];
  const file = fileOf(buildPdf({ pages: [page, page] }), "application/pdf");
  const outcome = await open().read(file, (pages) => progress.push(pages));
  expect(outcome).toHaveProperty("content");
  expect(progress[0]).toEqual({ done: 1, total: 2 });
});

test("recognises lines of page progress among other lines", () => {
  expect(decodePages(encodePages({ done: 12, total: 5_000 }).trimEnd())).toEqual({ done: 12, total: 5_000 });
  for (const line of [
    "",
    "pages",
    "pages 1",
    "pages 1 2 3",
    "pages -1 2",
    "Warning: pages 1 2",
    `pages 1 ${"9".repeat(40)}`,
  ]) {
    expect(decodePages(line)).toBeNull();
  }
});

function decodeResponse(response: Uint8Array, stepBytes = response.byteLength): DocumentOutcome | null {
  const decoder = new ResponseDecoder();
  for (let at = 0; at < response.byteLength; at += stepBytes) decoder.push(response.subarray(at, at + stepBytes));
  return decoder.end();
}

test("a response returns text, title and marks, with marks in code points of the whole text", () => {
  const pieces = ["🎉 one\n", "", "two 🎉🎉", "\nthree"];
  const marks = [
    { at: 0, page: 1 },
    { at: 7, page: 2 },
    { at: 11, slide: 3 },
    { at: 16, sheet: "Äpfel" },
  ];
  const response = Buffer.concat([...encodeResponse({ pieces, title: "T", marks })].map((part) => Buffer.from(part)));
  const decoded = decodeResponse(response);
  expect(decoded).toEqual({
    kind: "text",
    text: {
      content: "🎉 one\ntwo 🎉🎉\nthree",
      title: "T",
      marks: [
        { at: 0, place: { page: 1 } },
        { at: 6, place: { page: 2 } },
        { at: 10, place: { slide: 3 } },
        { at: 13, place: { sheet: "Äpfel" } },
      ],
    },
  });
  for (const step of [1, 2, 3, 7]) expect(decodeResponse(response, step)).toEqual(decoded);
  for (let end = 0; end < response.byteLength; end++) expect(decodeResponse(response.subarray(0, end))).toBeNull();
});

test("a long text of a response stays in pieces, as it arrived", () => {
  const text = "🎉 äöü ".repeat(150_000);
  const response = Buffer.concat(
    [...encodeResponse({ pieces: [text], title: null, marks: [] })].map((part) => Buffer.from(part)),
  );
  const decoded = decodeResponse(response, 65_537);
  const content = decoded?.kind === "text" ? decoded.text.content : null;
  expect(content).toBeInstanceOf(PiecedText);
  expect(content?.slice(0)).toBe(text);
});
