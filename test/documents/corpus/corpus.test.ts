// What becomes of each document of real programs that is uploaded: how it ends, with which message where it cannot be read, what
// its text says where it can, and on which page, slide or sheet.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { PlaceMark, ReadDocument } from "../../../src/documents/document.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { type Answered, startService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { documentBytes, documentPaths, HAS_DOCUMENTS, SKIPPED, upload, uploadName } from "./corpus.ts";
import { SAID } from "./said.ts";

/** For the largest, on a machine that is busy. */
const EACH_MS = 600_000;
/** Whether the longest texts, whole books, are embedded to their end too, which takes minutes. */
const IS_LONG_RUN = process.env.MNEME_TEST_DOCUMENTS === "all";

const ENCRYPTED = /^The file is encrypted\. Upload it without a password\.$/;
const CUT_OFF = /^The file is damaged: it is cut off, and the list of its parts is missing\.$/;
const DECLARES = /^The file is damaged: its part xl\/sharedStrings\.xml declares a document type/;
const NO_TEXT = /^The file holds no text\.$/;

/** Documents that are accepted and fail, and what is said of them. */
const FAILS: Readonly<Record<string, RegExp>> = {
  "bomb/poi__poc-xmlbomb-empty.xlsx": DECLARES,
  "bomb/poi__poc-xmlbomb.xlsx": DECLARES,
  "encoding/unstructured__empty.xlsx": NO_TEXT,
  "encrypted/docling__2206.01062_pg3.pdf": ENCRYPTED,
  "encrypted/poi__protected_agile.docx": ENCRYPTED,
  "encrypted/poi__protected_sha512.xlsx": ENCRYPTED,
  "encrypted/pypdf__r4-aes-user-password.pdf": ENCRYPTED,
  "encrypted/pypdf__r6-user-password.pdf": ENCRYPTED,
  "encrypted/tika__testUnicodePassword.pdf": ENCRYPTED,
  "encrypted/tika__testWORD_protected_passtika.docx": ENCRYPTED,
  "encrypted/unstructured__password.pdf": ENCRYPTED,
  "encrypted/unstructured__password_protected.xlsx": ENCRYPTED,
  "malformed/poi__clusterfuzz-testcase-minimized-POIXSLFFuzzer-6254434927378432.pptx": CUT_OFF,
  "malformed/poi__clusterfuzz-testcase-minimized-XLSX2CSVFuzzer-5636439151607808.xlsx": CUT_OFF,
  "malformed/poi__crash-517626e815e0afa9decd0ebb6d1dee63fb9907dd.docx": CUT_OFF,
  "malformed/poi__invalid.xlsx": /^The file is damaged: its part xl\/workbook\.xml is missing\.$/,
  "malformed/poi__truncated62886.docx": CUT_OFF,
  "malformed/tika__testPDF_malformedXFA.pdf": NO_TEXT,
  "malformed/tika__testWORD_truncated.docx": CUT_OFF,
  "normal/docling__ocr_test.pdf": /^The file holds no text; it seems to be a scan; text recognition is not built in\.$/,
};

/** Files of other formats: refused at once. */
const REFUSED = ["bomb/tika__quine.gz", "encrypted/tika__testZipEncrypted.zip"];

/** A sentence and the page, slide or sheet that it stands on, counted in a viewer or named in the workbook. */
const PLACES: readonly (readonly [path: string, sentence: string, place: Omit<PlaceMark, "at">])[] = [
  ["normal/docling__multi_page.pdf", "Specialized Word Processing Tools", { page: 3 }],
  ["normal/docling__multi_page.pdf", "What began as a tool to simply replace handwriting", { page: 5 }],
  ["normal/docling__redp5110_sampled.pdf", "resource security prevents data breaches", { page: 6 }],
  ["normal/docling__redp5110_sampled.pdf", "CURRENT_USER | Corresponding value:", { page: 11 }],
  ["normal/pdf.js__tracemonkey.pdf", "This is the LIR recorded for line 5 of the sample program", { page: 3 }],
  ["normal/pdf.js__tracemonkey.pdf", "Detailed trace recording statistics for the SunSpider", { page: 12 }],
  ["normal/unstructured__multi-column.pdf", "FAISS is an extremely efficient, open-source library", { page: 3 }],
  [
    "normal/unstructured__multi-column.pdf",
    "dense vector representations for retrieval has a long history",
    { page: 9 },
  ],
  ["normal/pdf.js__basicapi.pdf", "# Chapter 1", { page: 2 }],
  ["normal/markitdown__REPAIR-2022-INV-001_multipage.pdf", "Insured name | Bruce Wayne", { page: 2 }],
  ["normal/unstructured__reliance.pdf", "New jobs created", { page: 2 }],
  ["malformed/unstructured__failure-after-repair.pdf", "as effective as mastectomy for most women", { page: 30 }],
  ["huge/pdf.js__freeculture.pdf", "print—no less, of course, but also no more.", { page: 100 }],
  ["huge/pdf.js__freeculture.pdf", "# 3. Free Use Vs. Fair Use", { page: 300 }],
  ["normal/docling__powerpoint_sample.pptx", "R3 | Class1 A merged with B: False", { slide: 1 }],
  ["normal/docling__powerpoint_sample.pptx", "[notes: Some notes on the second slide.]", { slide: 2 }],
  ["normal/docling__powerpoint_sample.pptx", "Maybe a list?", { slide: 3 }],
  ["normal/unstructured__fake-power-point-many-pages.pptx", "Page 2", { slide: 2 }],
  ["normal/markitdown__test.xlsx", "Alpha: 49 | Beta: 93", { sheet: "Sheet1" }],
  ["normal/markitdown__test.xlsx", "ColA: 9 | ColB: 10", { sheet: "09060124-b5e7-4717-9d07-3c046eb" }],
  ["normal/docling__xlsx_03_chartsheet.xlsx", "Year: 2022", { sheet: "Duck Observations" }],
  ["malformed/poi__xlsx-corrupted.xlsx", "second | row | data", { sheet: "Sheet2" }],
  [
    "normal/unstructured__2023-half-year-analyses-by-segment.xlsx",
    "Trading operating profit as per Note 3.1",
    { sheet: "Reconciliation 30 06 2023" },
  ],
];

let service: TestService;
/** Answers to uploadMemory by path; all are sent at the start, so that each test waits for its own only. */
const accepted = new Map<string, Answered>();

beforeAll(async () => {
  if (!HAS_DOCUMENTS) return;
  service = await startService();
  // the longest texts last: the others need not wait for them
  const paths = documentPaths().toSorted(
    (one, other) => Number(one.startsWith("huge/")) - Number(other.startsWith("huge/")),
  );
  for (const path of paths) accepted.set(path, await upload(service, uploadName(path), documentBytes(path)));
}, EACH_MS);
afterAll(() => service?.stop(), EACH_MS);

/** Whether a memory is done, or of a whole book its text is read and cut into chunks. */
function isAtEnd(path: string, { status, progress }: Answered["body"]): boolean {
  if (status !== "processing") return true;
  return !IS_LONG_RUN && path.startsWith("huge/") && ["embedding", "publishing"].includes(progress.stage);
}

/** The memory of a document when it has come to its end. */
async function endOf(path: string): Promise<Answered> {
  const answer = accepted.get(path);
  expect(answer?.status).toBe(202);
  const id: string = answer?.body.id;
  return until(
    `${path} is no longer processing`,
    async () => {
      const found = await service.call("GET", `/v1/memories/${id}`);
      return isAtEnd(path, found.body) ? found : null;
    },
    EACH_MS,
  );
}

const READERS = { pdf: readPdf, pptx: readPptx, xlsx: readXlsx };
const documents = new Map<string, Promise<ReadDocument | ReadFailure>>();

/** A document as its reader hands it on, read at most once. */
async function documentOf(path: string): Promise<ReadDocument> {
  const format = path.slice(path.lastIndexOf(".") + 1) as keyof typeof READERS;
  const reading = documents.get(path) ?? READERS[format](documentBytes(path));
  documents.set(path, reading);
  const document = await reading;
  if (document instanceof ReadFailure) throw document;
  return document;
}

describe.skipIf(!HAS_DOCUMENTS)(`a document that is uploaded${SKIPPED}`, () => {
  for (const path of documentPaths()) {
    const message = FAILS[path];
    if (REFUSED.includes(path)) {
      test(`${path} is of no format that is read`, () => {
        const { status, body } = accepted.get(path) ?? {};
        expect([status, body?.error?.code]).toEqual([415, "unsupported_media_type"]);
        expect(body?.error?.message).toContain("PDF, DOCX, XLSX, PPTX");
      });
    } else if (message !== undefined) {
      test(
        `${path} fails and says why`,
        async () => {
          const { body } = await endOf(path);
          expect([body.status, body.error?.code]).toEqual(["failed", "unreadable_document"]);
          expect(body.error.message).toMatch(message);
        },
        EACH_MS,
      );
    } else {
      test(
        `${path} is completed and says what stands in it`,
        async () => {
          const { body } = await endOf(path);
          const isEmbedded = IS_LONG_RUN || !path.startsWith("huge/");
          expect(body.error ?? null).toBe(null);
          if (isEmbedded) expect(body.status).toBe("completed");
          const content: string = body.content;
          let from = 0;
          for (const each of SAID[path] ?? []) {
            const at = content.indexOf(each, from);
            if (at === -1) expect(content.slice(from)).toContain(each);
            from = at + each.length;
          }
        },
        EACH_MS,
      );
    }
  }

  test("every normal document in PDF, DOCX, XLSX or PPTX has expectations, and each names a document", () => {
    const paths = documentPaths();
    const readable = paths.filter((path) => /^normal\/.*\.(?:pdf|docx|xlsx|pptx)$/.test(path) && !(path in FAILS));
    expect(readable.filter((path) => !(path in SAID))).toEqual([]);
    const named = [...Object.keys(SAID), ...Object.keys(FAILS), ...REFUSED, ...PLACES.map(([path]) => path)];
    expect(named.filter((path) => !paths.includes(path))).toEqual([]);
  });
});

describe.skipIf(!HAS_DOCUMENTS)(`where something stands in a document${SKIPPED}`, () => {
  for (const [path, sentence, place] of PLACES) {
    const where = Object.entries(place).flat().join(" ");
    test(
      `'${sentence}' is on ${where} of ${path}`,
      async () => {
        const { pieces, marks } = await documentOf(path);
        const at = pieces.join("").indexOf(sentence);
        expect(at).toBeGreaterThan(-1);
        const { at: _, ...found } = marks.findLast((mark) => mark.at <= at) ?? { at: 0 };
        expect(found).toEqual(place);
      },
      EACH_MS,
    );
  }

  test(
    "a result of a search names it",
    async () => {
      await endOf("normal/docling__powerpoint_sample.pptx");
      const { body } = await service.call("POST", "/v1/memories/search", {
        query: "Some notes on the second slide",
        mode: "fast",
        limit: 20,
      });
      const found = body.results.find(({ content }: { content: string }) =>
        content.includes("Some notes on the second"),
      );
      expect(found?.metadata._chunk.slide).toBe(2);
    },
    EACH_MS,
  );
});
