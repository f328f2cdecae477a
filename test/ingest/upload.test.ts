// What becomes of a file that was accepted: it is kept until its text is in the index, tried again as often as asked,
// and gone with the memory. Every upload ends as completed or failed.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import type { Memory, MemoryDraft, PageProgress, ReceivedFile } from "../../src/domain/memory.ts";
import { removeUnreferencedFiles } from "../../src/ingest/sweep.ts";
import { oleContainer, zipOf } from "../documents/fixtures/containers.ts";
import { archiveOf, references, xml } from "../documents/office/office-file.ts";
import { buildPdf } from "../documents/pdf/build-pdf.ts";
import { until } from "../support/until.ts";
import { Gate, openWorkshop, type Workshop } from "./workshop.ts";

let shop: Workshop;
beforeEach(async () => {
  shop = await openWorkshop();
});
afterEach(() => shop.close());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

/** A file as receiving leaves it. */
async function received(filename: string, content: string | Uint8Array): Promise<ReceivedFile> {
  const bytes = Buffer.from(content);
  const file = await shop.files.begin();
  await file.write(bytes);
  await file.end();
  const media_type = await mediaTypeOf(file.path, filename);
  if (media_type === null) throw new Error(`${filename} is none of the formats`);
  return {
    file: await shop.files.keep(file.path),
    sha256: sha256(bytes),
    source: { filename, media_type, bytes: bytes.byteLength },
  };
}

async function upload(filename: string, content: string | Uint8Array, more: Partial<MemoryDraft> = {}) {
  const [memory] = shop.accept({ content: "", upload: await received(filename, content), ...more });
  return memory;
}

const contentOf = async ({ key }: Memory) => (await shop.index.contents([key])).get(key);
const errorOf = (memory: Memory) => (memory.state.status === "failed" ? memory.state.error : null);
const used = () => {
  const row = shop.database
    .prepare<{ documents: bigint; storage_bytes: bigint }>("SELECT documents, storage_bytes FROM projects")
    .get({});
  return { documents: Number(row?.documents), bytes: Number(row?.storage_bytes) };
};
/** A gate before reading, so that a test sees a memory whose file waits. */
const holdReading = () => {
  const gate = new Gate();
  shop.documents.before = () => gate.pass();
  return gate;
};

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
    test(`${filename} is searchable by its text, and its file is gone`, async () => {
      const memory = await upload(filename, content);
      const done = await shop.settled(memory);
      expect(await contentOf(memory)).toBe(text);
      expect(done.title).toBe(title);
      expect(done.source?.filename).toBe(filename);
      expect(done.contentBytes).toBe(Buffer.byteLength(text));
      await until("the file is gone", async () => (await shop.files.names(0)).length === 0);
    });
  }

  test("counts with its own bytes until it is read, and with its text's then", async () => {
    const gate = holdReading();
    const page = `<!doctype html><body>${"<p>".repeat(1_000)}Short.`;
    const memory = await upload("page.html", page);
    await until("it is about to be read", () => gate.waiting > 0);
    expect(used()).toEqual({ documents: 1, bytes: Buffer.byteLength(page) });
    gate.open();
    await shop.settled(memory);
    expect(used()).toEqual({ documents: 1, bytes: "Short.".length });
  });

  test("keeps what the caller gave", async () => {
    const memory = await upload("a.csv", "city,sum\nKöln,3\n", { title: "Given", tags: ["mine"], type: "report" });
    expect(await shop.settled(memory)).toMatchObject({ title: "Given", tags: ["mine"], type: "report" });
  });

  test("keeps its pages and its title when its text is indexed again, and loses them with its text", async () => {
    const line = (page: string, at: number) => `The ${page} page speaks of ${page} things, in line ${at} of it.`;
    const page = (name: string) =>
      Array.from({ length: 30 }, (_, at) => ({ text: line(name, at), x: 50, y: 60 + at * 20, size: 10 }));
    const pdf = buildPdf({ title: "Metals of the town", pages: [page("copper"), page("silver")] });
    const pages = async () => (await shop.places()).map((place) => place?.page);

    const memory = await upload("metals.pdf", pdf);
    expect((await shop.settled(memory)).title).toBe("Metals of the town");
    const before = await pages();
    expect(new Set(before)).toEqual(new Set([1, 2]));

    shop.jobs.reopen([memory.key]);
    shop.worker.wake();
    expect((await shop.settled(memory)).title).toBe("Metals of the town");
    expect(await pages()).toEqual(before);

    shop.memories.change(shop.projectId, memory.id, { content: "Only this is left." });
    shop.worker.wake();
    expect((await shop.settled(memory)).title).toBe("Only this is left.");
    shop.jobs.reopen([memory.key]);
    shop.worker.wake();
    expect((await shop.settled(memory)).title).toBe("Only this is left.");
    expect(await pages()).toEqual([undefined]);
  });

  for (const [filename, isPassedOver] of [
    ["a.txt", true],
    ["a.pdf", false],
  ] as const) {
    test(`${filename} is ${isPassedOver ? "" : "not "}passed over where long texts are: ${isPassedOver ? "it is one" : "nobody knows yet"}`, async () => {
      await shop.worker.stop();
      const memory = await upload(filename, isPassedOver ? "Hello there." : buildPdf({ pages: [[]] }));
      const claimed = shop.jobs.claim({ jobs: 9, contentBytes: 9, leaseMs: 1_000, textBytesMax: 9 });
      expect(claimed.map((job) => job.memory.key)).toEqual(isPassedOver ? [] : [memory.key]);
    });
  }

  test("tells how many of its pages were read, while it is a PDF that is read", async () => {
    const told: (PageProgress | null)[] = [];
    let memory: Memory | null = null;
    shop.documents.onPages = () => told.push(memory === null ? null : shop.worker.progressOf(memory.key).pages);
    const gate = holdReading();
    const page = [{ text: "A page of words that can be found.", x: 50, y: 60, size: 10 }];
    memory = await upload("three.pdf", buildPdf({ pages: [page, page, page] }));
    await until("it is about to be read", () => gate.waiting > 0);
    expect(shop.worker.progressOf(memory.key).pages).toBeNull();
    gate.open();
    await shop.settled(memory);
    expect(told).toEqual([1, 2, 3].map((done) => ({ done, total: 3 })));
    expect(shop.worker.progressOf(memory.key).pages).toBeNull();
  });

  test("shows where it stands: it is being read", async () => {
    const gate = holdReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    expect(shop.worker.progressOf(memory.key).stage).toBe("reading");
    expect(shop.memories.waitingContents([memory.key]).get(memory.key)).toBe("");
    gate.open();
    await shop.settled(memory);
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
      const failed = await shop.settled(await upload(filename, content), "failed");
      expect(errorOf(failed)).toEqual({ code, message: expect.stringMatching(message) });
      expect(await shop.files.names(0)).toHaveLength(1);
      expect(await shop.searchable()).toEqual([]);
    });
  }

  test("can be tried again: its file is read anew", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await shop.settled(memory, "failed");
    let tries = 0;
    shop.documents.before = ({ path }) => {
      tries += 1;
      expect(readFileSync(path, "utf8")).toBe("%PDF-1.7\n");
    };
    expect(shop.memories.retry(shop.projectId, memory.id)?.state.status).toBe("processing");
    shop.worker.wake();
    await until("it was tried", () => tries === 1);
    await shop.settled(memory, "failed");
    expect(await shop.files.names(0)).toHaveLength(1);
  });

  test("whose file was taken away says so", async () => {
    const gate = holdReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    for (const name of await shop.files.names(0)) await shop.files.remove(name);
    await until("the file is gone", async () => (await shop.files.names(0)).length === 0);
    gate.open();
    expect(errorOf(await shop.settled(memory, "failed"))?.message).toContain("Upload it again");
  });

  test("for a passing reason is tried again until it succeeds", async () => {
    let left = 3;
    shop.documents.before = () => {
      left -= 1;
      if (left >= 0) throw new Error("the disk is slow today");
    };
    const memory = await upload("a.txt", "Read at the fourth try.");
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["Read at the fourth try."]);
  });

  test("does not hold up the texts of its claim", async () => {
    const gate = holdReading();
    const file = await upload("a.txt", "A file.");
    const [text] = shop.accept({ content: "A text." });
    await shop.settled(text);
    expect(shop.read(file)?.state.status).toBe("processing");
    gate.open();
    await shop.settled(file);
  });
});

describe("a known externalId", () => {
  const named = { externalId: "e" };

  test("with the same file is an update of attributes alone", async () => {
    const memory = await upload("a.txt", "Hello.", named);
    await shop.settled(memory);
    const again = await received("a.txt", "Hello.");
    const [result] = shop.memories.accept(shop.projectId, [{ content: "", upload: again, ...named, title: "New" }]);
    expect(result).toMatchObject({ outcome: "updated", memory: { id: memory.id, title: "New" } });
    // the service removes a file that no row refers to
    expect(await shop.files.names(0)).toEqual([again.file]);
    expect(shop.memories.unreferencedFiles([again.file])).toEqual([again.file]);
  });

  test("with another file takes its place, also while the first one is read", async () => {
    const gate = new Gate();
    shop.documents.before = (file) => (file.filename === "old.txt" ? gate.pass() : undefined);
    const memory = await upload("old.txt", "The old text.", named);
    await until("the old file is about to be read", () => gate.waiting > 0);
    expect((await upload("new.txt", "The new text.", named)).id).toBe(memory.id);
    gate.open();
    const done = await shop.settled(memory);
    expect(done.source?.filename).toBe("new.txt");
    expect(await contentOf(memory)).toBe("The new text.");
    expect(await shop.searchable()).toEqual(["The new text."]);
    await until("both files are gone", async () => (await shop.files.names(0)).length === 0);
  });

  test("with the same bytes under another format is new content", async () => {
    const bytes = "<p>Hello <b>there</b>.</p>";
    const memory = await upload("a.txt", bytes, named);
    await shop.settled(memory);
    expect(await contentOf(memory)).toBe(bytes);
    await upload("a.html", bytes, named);
    await shop.settled(memory);
    expect(await contentOf(memory)).toBe("Hello there.");
  });

  test("with a text takes the file's place: it came from no file then", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n", named);
    await shop.settled(memory, "failed");
    shop.accept({ content: "Typed by hand.", ...named });
    const done = await shop.settled(memory);
    expect(done.source).toBeNull();
    await until("the file is gone", async () => (await shop.files.names(0)).length === 0);
  });

  test("of a failed upload with the same file is tried again", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n", named);
    await shop.settled(memory, "failed");
    const names = await shop.files.names(0);
    const [result] = shop.memories.accept(shop.projectId, [
      { content: "", upload: await received("scan.pdf", "%PDF-1.7\n"), ...named },
    ]);
    const [before] = names;
    expect(result).toMatchObject({ outcome: "rewritten", releasedFile: before });
    shop.worker.wake();
    await shop.settled(memory, "failed");
    const kept = (await shop.files.names(0)).filter((name) => name !== before);
    expect(kept).toHaveLength(1);
    expect(shop.memories.unreferencedFiles(kept)).toEqual([]);
  });
});

describe("a deletion", () => {
  test("keeps the file as long as the row, and takes it along", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await shop.settled(memory, "failed");
    shop.memories.remove(shop.projectId, memory.id);
    expect(await removeUnreferencedFiles(shop.files, shop.memories, 0)).toBe(0);
    shop.memories.remove(shop.projectId, memory.id, { purges: true });
    expect(await shop.files.names(0)).toHaveLength(1);
  });

  test("that purges takes the file with the row", async () => {
    const memory = await upload("scan.pdf", "%PDF-1.7\n");
    await shop.settled(memory, "failed");
    shop.memories.remove(shop.projectId, memory.id, { purges: true });
    shop.retirement.markRetracted([memory.key]);
    for (const file of shop.retirement.erase([memory.key])) await shop.files.remove(file);
    await until("the file is gone", async () => (await shop.files.names(0)).length === 0);
  });

  test("while it is read leaves nothing behind", async () => {
    const gate = holdReading();
    const memory = await upload("a.txt", "Hello.");
    await until("it is about to be read", () => gate.waiting > 0);
    shop.memories.remove(shop.projectId, memory.id, { purges: true });
    gate.open();
    await until("the file is gone", async () => {
      shop.clock.advance(30_000);
      return (await shop.files.names(0)).length === 0;
    });
    expect(await shop.searchable()).toEqual([]);
  });
});

describe("an intake that is undone", () => {
  test("leaves no memory, and no file after the next look", async () => {
    const file = await received("a.txt", "Hello.");
    const undone = shop.transactions.run(async ({ memories }) => {
      await memories.accept(shop.projectId, [{ content: "", upload: file }]);
      throw new Error("the answer could not be remembered");
    });
    await expect(undone).rejects.toThrow("could not be remembered");
    expect(used()).toEqual({ documents: 0, bytes: 0 });
    expect(await removeUnreferencedFiles(shop.files, shop.memories, 0)).toBe(1);
    await until("the file is gone", async () => (await shop.files.names(0)).length === 0);
  });

  test("for a quota keeps nothing", async () => {
    shop.database.prepare("UPDATE projects SET plan = 'free'").run({});
    const source = { filename: "a.txt", media_type: "text/plain", bytes: 51 * 1024 * 1024 };
    const file = { ...(await received("a.txt", "Hello.")), source };
    const [refused] = shop.memories.accept(shop.projectId, [{ content: "", upload: file }]);
    expect(refused).toMatchObject({ code: "storage_quota_exceeded" });
    // the service removes a file that no row refers to
    expect(shop.memories.unreferencedFiles([file.file])).toEqual([file.file]);
  });
});
