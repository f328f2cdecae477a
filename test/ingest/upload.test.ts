// Processing of uploaded files: a file is kept until its text is in the index, can be retried, and is removed with its
// memory. Every upload ends as completed or failed.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import type { Memory, MemoryDraft, PageProgress, ReceivedFile } from "../../src/domain/memory.ts";
import { removeUnreferencedFiles } from "../../src/erasure/erasure.ts";
import type { Job } from "../../src/ports/job-store.ts";
import { oleContainer, zipOf } from "../documents/fixtures/containers.ts";
import { archiveOf, references, xml } from "../documents/office/office-file.ts";
import { buildPdf } from "../documents/pdf/build-pdf.ts";
import { until } from "../support/until.ts";
import { Gate, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

/** Receives a file, so that it can be accepted with a draft. */
async function received(filename: string, content: string | Uint8Array): Promise<ReceivedFile> {
  const bytes = Buffer.from(content);
  const file = await harness.files.begin();
  await file.write(bytes);
  await file.end();
  const media_type = await mediaTypeOf(file.path, filename);
  if (media_type === null) throw new Error(`${filename} has no supported format`);
  return {
    file: await harness.files.keep(file.path),
    bytes: bytes.byteLength,
    sha256: sha256(bytes),
    source: { filename, media_type, bytes: bytes.byteLength },
  };
}

async function upload(filename: string, content: string | Uint8Array, more: Partial<MemoryDraft> = {}) {
  const [memory] = await harness.accept({ content: "", upload: await received(filename, content), ...more });
  return memory;
}

const contentOf = async ({ key }: Memory) => (await harness.index.contents([key])).get(key)?.content;
const errorOf = (memory: Memory) => (memory.state.status === "failed" ? memory.state.error : null);
const used = () => {
  const row = harness.database
    .prepare<{ documents: bigint; storage_bytes: bigint }>("SELECT documents, storage_bytes FROM projects")
    .get({});
  return { documents: Number(row?.documents), bytes: Number(row?.storage_bytes) };
};
/** Makes the reading of files wait until the test opens the returned gate. */
const delayReading = () => {
  const gate = new Gate();
  harness.documents.before = () => gate.pass();
  return gate;
};

test("a file is kept until its memory is completed, even if its job lost the lease to a later one", async () => {
  let later: readonly Job[] = [];
  harness.index.before = async () => {
    harness.index.before = () => undefined;
    await harness.jobs.voidLeases(); // as if the lease had expired while the machine was suspended
    later = await harness.jobs.claim({ jobs: 1, contentBytes: 1, leaseMs: 60_000 });
  };
  const memory = await upload("plan.txt", "Buy milk.");
  const { promise: published, resolve: onPublished } = Promise.withResolvers<void>();
  harness.index.after = () => onPublished();
  await published;
  await harness.worker.stop();
  expect((await harness.read(memory))?.state.status).toBe("processing"); // its completion was refused
  harness.index.after = () => undefined;
  for (const job of later) await harness.jobs.retryLater(job, 0);
  harness.startWorker();
  const done = await harness.settled(memory);
  expect(await contentOf(done)).toBe("Buy milk.");
  await until("the file is removed", async () => (await harness.files.names(0)).length === 0);
});

describe("a file that can be read", () => {
  const formats: readonly (readonly [filename: string, content: string | Uint8Array, text: string, title: string])[] = [
    ["plan.txt", "Buy milk on Tuesday.\r\nCall Ada.", "Buy milk on Tuesday.\nCall Ada.", "Buy milk on Tuesday."],
    ["plan.md", "# The plan\n\nBuy milk.", "# The plan\n\nBuy milk.", "The plan"],
    ["Spring sales.csv", "city,sum\nKöln,3\n", "city | sum\ncity: Köln | sum: 3", "Spring sales"],
    ["people.json", '{"name": "Ada"}', "name: Ada", "people"],
    ["old.txt", Buffer.from("Grüße", "latin1"), "Grüße", "Grüße"],
    [
      "letter.docx",
      archiveOf({
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": references(["r1", "officeDocument", "word/document.xml"]),
        "word/document.xml": xml(
          "w:document",
          "<w:body><w:p><w:r><w:t>Buy milk on Tuesday.</w:t></w:r></w:p></w:body>",
        ),
      }),
      "Buy milk on Tuesday.",
      "Buy milk on Tuesday.",
    ],
    ["wide.txt", Buffer.from("\ufeffGrüße", "utf16le"), "Grüße", "Grüße"],
    [
      "page.html",
      "<!doctype html><title>The  page</title><style>p{}</style><h1>Milk</h1><p>Buy &amp; <b>drink</b> it.<script>x()</script>",
      "# Milk\n\nBuy & drink it.",
      "The page",
    ],
  ];
  for (const [filename, content, text, title] of formats) {
    test(`${filename} becomes searchable, and its file is removed`, async () => {
      const memory = await upload(filename, content);
      const done = await harness.settled(memory);
      expect(await contentOf(memory)).toBe(text);
      expect(done.title).toBe(title);
      expect(done.source?.filename).toBe(filename);
      expect(done.contentBytes).toBe(Buffer.byteLength(text));
      await until("the file is gone", async () => (await harness.files.names(0)).length === 0);
    });
  }

  test("counts with its own size until it is read, and with its text's size after that", async () => {
    const gate = delayReading();
    const page = `<!doctype html><body>${"<p>".repeat(1_000)}Short.`;
    const memory = await upload("page.html", page);
    await until("it is about to be read", () => gate.waiting > 0);
    expect(used()).toEqual({ documents: 1, bytes: Buffer.byteLength(page) });
    gate.open();
    await harness.settled(memory);
    expect(used()).toEqual({ documents: 1, bytes: "Short.".length });
  });

  test("keeps the attributes that the caller gave", async () => {
    const memory = await upload("a.csv", "city,sum\nKöln,3\n", { title: "Given", tags: ["mine"], type: "report" });
    expect(await harness.settled(memory)).toMatchObject({ title: "Given", tags: ["mine"], type: "report" });
  });

  test("keeps its pages and its title when its text is indexed again, and loses them when its text is replaced", async () => {
    const line = (page: string, at: number) => `The ${page} page speaks of ${page} things, in line ${at} of it.`;
    const page = (name: string) =>
      Array.from({ length: 30 }, (_, at) => ({ text: line(name, at), x: 50, y: 60 + at * 20, size: 10 }));
    const pdf = buildPdf({ title: "Metals of the town", pages: [page("copper"), page("silver")] });
    const pages = async () => (await harness.places()).map((place) => place?.page);

    const memory = await upload("metals.pdf", pdf);
    expect((await harness.settled(memory)).title).toBe("Metals of the town");
    const before = await pages();
    expect(new Set(before)).toEqual(new Set([1, 2]));

    await harness.jobs.reopen([memory.key]);
    harness.worker.wake();
    expect((await harness.settled(memory)).title).toBe("Metals of the town");
    expect(await pages()).toEqual(before);

    await harness.memories.change(harness.projectId, memory.id, { content: "Only this is left." });
    harness.worker.wake();
    expect((await harness.settled(memory)).title).toBe("Only this is left.");
    await harness.jobs.reopen([memory.key]);
    harness.worker.wake();
    expect((await harness.settled(memory)).title).toBe("Only this is left.");
    expect(await pages()).toEqual([undefined]);
  });

  for (const [filename, isSkipped] of [
    ["a.txt", true],
    ["a.pdf", false],
  ] as const) {
    test(`${filename} is ${isSkipped ? "skipped by a claim without long texts" : "claimed, because the length of its text is not known"}`, async () => {
      await harness.worker.stop();
      const memory = await upload(filename, isSkipped ? "Hello there." : buildPdf({ pages: [[]] }));
      const claimed = await harness.jobs.claim({ jobs: 9, contentBytes: 9, leaseMs: 1_000, textBytesMax: 9 });
      expect(claimed.map((job) => job.memory.key)).toEqual(isSkipped ? [] : [memory.key]);
    });
  }

  test("shows the number of pages read while it is a PDF that is being read", async () => {
    const reported: (PageProgress | null)[] = [];
    let memory: Memory | null = null;
    harness.documents.onPages = () =>
      reported.push(memory === null ? null : harness.worker.progressOf(memory.key).pages);
    const gate = delayReading();
    const page = [{ text: "A page of words that can be found.", x: 50, y: 60, size: 10 }];
    memory = await upload("three.pdf", buildPdf({ pages: [page, page, page] }));
    await until("it is about to be read", () => gate.waiting > 0);
    expect(harness.worker.progressOf(memory.key).pages).toBeNull();
    gate.open();
    await harness.settled(memory);
    expect(reported).toEqual([1, 2, 3].map((done) => ({ done, total: 3 })));
    expect(harness.worker.progressOf(memory.key).pages).toBeNull();
  });

  test("has the stage `reading` while it is being read", async () => {
    const gate = delayReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    expect(harness.worker.progressOf(memory.key).stage).toBe("reading");
    expect((await harness.memories.waitingContents([memory.key])).get(memory.key)).toBe("");
    gate.open();
    await harness.settled(memory);
  });
});

describe("a file that cannot be read", () => {
  const cases: readonly (readonly [string, string | Uint8Array, "unreadable_document" | "processing_error", RegExp])[] =
    [
      ["scan.pdf", "%PDF-1.7\n", "unreadable_document", /damaged/],
      ["letter.docx", zipOf("[Content_Types].xml", "word/document.xml"), "unreadable_document", /damaged/],
      ["sums.xlsx", zipOf("[Content_Types].xml", "xl/workbook.xml"), "unreadable_document", /damaged/],
      ["talk.pptx", zipOf("[Content_Types].xml", "ppt/a.xml"), "unreadable_document", /damaged/],
      ["secret.docx", oleContainer("EncryptedPackage"), "unreadable_document", /encrypted/],
      ["blank.txt", " \n\t\n", "unreadable_document", /no text/],
      ["blank.html", "<!doctype html><script>x()</script>", "unreadable_document", /no text/],
      ["late.txt", Buffer.concat([Buffer.alloc(100_000, "a"), Buffer.alloc(9_000)]), "unreadable_document", /damaged/],
    ];
  for (const [filename, content, code, message] of cases) {
    test(`${filename} fails with ${code} and keeps its file`, async () => {
      const failed = await harness.settled(await upload(filename, content), "failed");
      expect(errorOf(failed)).toEqual({ code, message: expect.stringMatching(message) });
      expect(await harness.files.names(0)).toHaveLength(1);
      expect(await harness.searchable()).toEqual([]);
    });
  }

  test("can be retried, which reads its file again", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await harness.settled(memory, "failed");
    let tries = 0;
    harness.documents.before = ({ path }) => {
      tries += 1;
      expect(readFileSync(path, "utf8")).toBe("%PDF-1.7\n");
    };
    expect((await harness.memories.retry(harness.projectId, memory.id))?.state.status).toBe("processing");
    harness.worker.wake();
    await until("it was read again", () => tries === 1);
    await harness.settled(memory, "failed");
    expect(await harness.files.names(0)).toHaveLength(1);
  });

  test("because it is missing fails with a message that says so", async () => {
    const gate = delayReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    for (const name of await harness.files.names(0)) await harness.files.remove(name);
    await until("the file is gone", async () => (await harness.files.names(0)).length === 0);
    gate.open();
    expect(errorOf(await harness.settled(memory, "failed"))?.message).toContain("Upload it again");
  });

  const damages: readonly (readonly [string, (bytes: Buffer) => Uint8Array])[] = [
    ["has a flipped bit", (bytes) => bytes.map((byte, at) => (at === 3 ? byte ^ 1 : byte))],
    ["is cut", (bytes) => bytes.subarray(0, -1)],
    ["is empty", () => new Uint8Array()],
    ["is longer", (bytes) => Buffer.concat([bytes, Buffer.from("!")])],
  ];
  for (const [damage, apply] of damages) {
    test(`because the stored file ${damage} fails with a message that says so, and can be uploaded again`, async () => {
      const gate = delayReading();
      const named = { externalId: "e" };
      const memory = await upload("a.txt", "Hello there.", named);
      await until("it is about to be read", () => gate.waiting > 0);
      const [name = ""] = await harness.files.names(0);
      const path = harness.files.pathOf(name);
      writeFileSync(path, apply(readFileSync(path)));
      gate.open();
      expect(errorOf(await harness.settled(memory, "failed"))).toEqual({
        code: "unreadable_document",
        message: "The stored file of this memory is damaged. Upload it again.",
      });
      expect(await harness.searchable()).toEqual([]);
      expect((await upload("a.txt", "Hello there.", named)).id).toBe(memory.id);
      await harness.settled(memory);
      expect(await harness.searchable()).toEqual(["Hello there."]);
    });
  }

  test("because of a transient failure is retried until it succeeds", async () => {
    let left = 3;
    harness.documents.before = () => {
      left -= 1;
      if (left >= 0) throw new Error("the disk is slow today");
    };
    const memory = await upload("a.txt", "Read at the fourth try.");
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["Read at the fourth try."]);
  });

  test("does not delay the texts of its claim", async () => {
    const gate = delayReading();
    const file = await upload("a.txt", "A file.");
    const [text] = await harness.accept({ content: "A text." });
    await harness.settled(text);
    expect((await harness.read(file))?.state.status).toBe("processing");
    gate.open();
    await harness.settled(file);
  });
});

describe("a known externalId", () => {
  const named = { externalId: "e" };

  test("with the same file updates only attributes", async () => {
    const memory = await upload("a.txt", "Hello.", named);
    await harness.settled(memory);
    const again = await received("a.txt", "Hello.");
    const [result] = await harness.memories.accept(harness.projectId, [
      { content: "", upload: again, ...named, title: "New" },
    ]);
    expect(result).toMatchObject({ outcome: "updated", memory: { id: memory.id, title: "New" } });
    // This test calls the store directly. The memory service would remove the file, because no row refers to it.
    expect(await harness.files.names(0)).toEqual([again.file]);
    expect(await harness.memories.unreferencedFiles([again.file])).toEqual([again.file]);
  });

  test("with another file replaces the first one, even while that is being read", async () => {
    const gate = new Gate();
    harness.documents.before = (file) => (file.filename === "old.txt" ? gate.pass() : undefined);
    const memory = await upload("old.txt", "The old text.", named);
    await until("the old file is about to be read", () => gate.waiting > 0);
    expect((await upload("new.txt", "The new text.", named)).id).toBe(memory.id);
    gate.open();
    const done = await harness.settled(memory);
    expect(done.source?.filename).toBe("new.txt");
    expect(await contentOf(memory)).toBe("The new text.");
    expect(await harness.searchable()).toEqual(["The new text."]);
    await until("both files are gone", async () => (await harness.files.names(0)).length === 0);
  });

  test("with the same bytes under another format is new content", async () => {
    const bytes = "<p>Hello <b>there</b>.</p>";
    const memory = await upload("a.txt", bytes, named);
    await harness.settled(memory);
    expect(await contentOf(memory)).toBe(bytes);
    await upload("a.html", bytes, named);
    await harness.settled(memory);
    expect(await contentOf(memory)).toBe("Hello there.");
  });

  test("with a text replaces the file, and the memory has no source any more", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n", named);
    await harness.settled(memory, "failed");
    await harness.accept({ content: "Typed by hand.", ...named });
    const done = await harness.settled(memory);
    expect(done.source).toBeNull();
    await until("the file is gone", async () => (await harness.files.names(0)).length === 0);
  });

  test("of a failed upload with the same file retries it", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n", named);
    await harness.settled(memory, "failed");
    const names = await harness.files.names(0);
    const [result] = await harness.memories.accept(harness.projectId, [
      { content: "", upload: await received("scan.pdf", "%PDF-1.7\n"), ...named },
    ]);
    const [before] = names;
    expect(result).toMatchObject({ outcome: "rewritten", releasedFile: before });
    harness.worker.wake();
    await harness.settled(memory, "failed");
    const kept = (await harness.files.names(0)).filter((name) => name !== before);
    expect(kept).toHaveLength(1);
    expect(await harness.memories.unreferencedFiles(kept)).toEqual([]);
  });
});

describe("a deletion", () => {
  test("keeps the file as long as the row", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await harness.settled(memory, "failed");
    await harness.memories.remove(harness.projectId, memory.id);
    expect(await removeUnreferencedFiles(harness.files, harness.memories, 0)).toBe(0);
    await harness.memories.remove(harness.projectId, memory.id, { purges: true });
    expect(await harness.files.names(0)).toHaveLength(1);
  });

  test("with a purge removes the file with the row", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await harness.settled(memory, "failed");
    await harness.memories.remove(harness.projectId, memory.id, { purges: true });
    await harness.retirement.markRetracted([memory.key]);
    for (const file of await harness.retirement.erase([memory.key])) await harness.files.remove(file);
    await until("the file is gone", async () => (await harness.files.names(0)).length === 0);
  });

  test("while the file is being read leaves nothing behind", async () => {
    const gate = delayReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    await harness.memories.remove(harness.projectId, memory.id, { purges: true });
    gate.open();
    await until("the file is gone", async () => {
      harness.clock.advance(30_000);
      return (await harness.files.names(0)).length === 0;
    });
    expect(await harness.searchable()).toEqual([]);
  });
});

describe("an upload that is rolled back", () => {
  test("leaves no memory, and no file after the next check for unreferenced files", async () => {
    const file = await received("a.txt", "Hello.");
    const rolledBack = harness.transactions.run(async ({ memories }) => {
      await memories.accept(harness.projectId, [{ content: "", upload: file }]);
      throw new Error("the answer could not be remembered");
    });
    await expect(rolledBack).rejects.toThrow("could not be remembered");
    expect(used()).toEqual({ documents: 0, bytes: 0 });
    expect(await removeUnreferencedFiles(harness.files, harness.memories, 0)).toBe(1);
    await until("the file is gone", async () => (await harness.files.names(0)).length === 0);
  });

  test("because of a quota leaves no memory and no referenced file", async () => {
    harness.database.prepare("UPDATE projects SET plan = 'free'").run({});
    const source = { filename: "a.txt", media_type: "text/plain", bytes: 51 * 1024 * 1024 };
    const file = { ...(await received("a.txt", "Hello.")), bytes: source.bytes, source };
    const [refused] = await harness.memories.accept(harness.projectId, [{ content: "", upload: file }]);
    expect(refused).toMatchObject({ code: "storage_quota_exceeded" });
    // This test calls the store directly. The memory service would remove the file, because no row refers to it.
    expect(await harness.memories.unreferencedFiles([file.file])).toEqual([file.file]);
  });
});
