// Uploads documents to a service: one generated document per format, and the real documents if they have been
// downloaded. Checks the final status of each, its text or the message that explains why it cannot be read, and on
// which page, slide or sheet a text is. The models count words, because vectors of whole books would take minutes.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { PlaceMark, ReadDocument } from "../../../src/documents/document.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { placedChunks } from "../../../src/ingest/places.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { WORD_PORTS } from "../../in-memory/ports.ts";
import { representatives } from "../../support/extent.ts";
import { type Answered, startService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { SAMPLES } from "../fixtures/samples.ts";
import { HAS_REAL_DOCUMENTS, realDocumentBytes, realDocumentPaths, SKIP_REASON } from "../real-documents.ts";
import { EXPECTED_TEXTS } from "./expected-texts.ts";
import { upload, uploadName } from "./upload.ts";

/** Timeout of a test: enough for the largest document on a busy machine. */
const EACH_MS = 600_000;

const ENCRYPTED = /^The file is encrypted\. Upload it without a password\.$/;
const CUT_OFF = /^The file is damaged: it is cut off, and the list of its parts is missing\.$/;
const DECLARES = /^The file is damaged: its part xl\/sharedStrings\.xml declares a document type/;
const NO_TEXT = /^The file holds no text\.$/;

/** Documents that are accepted and then fail, with the messages of their failures. */
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
  "normal/docling__ocr_test.pdf": /^The file holds no text; it seems to be a scan, and text recognition is off\.$/,
};

/** Files in formats that Mneme does not read. They are refused at once. */
const REFUSED = ["bomb/tika__quine.gz"];

const SLIDES = "normal/docling__powerpoint_sample.pptx";

/** Sentences, each with its page, slide or cells, as a viewer counts it or the workbook names it. */
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
  ["normal/markitdown__test.xlsx", "Alpha: 49 | Beta: 93", { sheet: "Sheet1", cells: "A15:D15" }],
  ["normal/markitdown__test.xlsx", "ColA: 9 | ColB: 10", { sheet: "09060124-b5e7-4717-9d07-3c046eb", cells: "A4:D4" }],
  ["normal/docling__xlsx_03_chartsheet.xlsx", "Year: 2022", { sheet: "Duck Observations", cells: "A5:D5" }],
  ["malformed/poi__xlsx-corrupted.xlsx", "second | row | data", { sheet: "Sheet2", cells: "A2:C2" }],
  [
    "normal/unstructured__2023-half-year-analyses-by-segment.xlsx",
    "Trading operating profit as per Note 3.1",
    { sheet: "Reconciliation 30 06 2023", cells: "A8:C8" },
  ],
];

/** The documents of this run. A short one has some of each kind and format. */
const paths = representatives(realDocumentPaths(), (path) => path.replace(/\/.*\./, " "));
const uploaded = new Set(paths);

let service: TestService;
/** Responses of uploadMemory by path. All uploads start before the tests, so that each test waits for its own only. */
const accepted = new Map<string, Answered>();

beforeAll(async () => {
  service = await startService({ ports: WORD_PORTS });
  // so that the result does not depend on whether the models of text recognition are installed
  await service.call("PUT", "/v1/project", { ocr: "off" });
  // the longest texts are uploaded last, so that the others do not wait for them
  const smallFirst = paths.toSorted(
    (one, other) => Number(one.startsWith("huge/")) - Number(other.startsWith("huge/")),
  );
  for (const path of smallFirst) accepted.set(path, await upload(service, uploadName(path), realDocumentBytes(path)));
}, EACH_MS);
afterAll(() => service?.stop(), EACH_MS);

/** Waits until the memory of a document is finished, and returns it. */
async function endOf(path: string): Promise<Answered> {
  const answer = accepted.get(path);
  expect(answer?.status).toBe(202);
  return finishedMemory(answer?.body.id);
}

function finishedMemory(id: string): Promise<Answered> {
  return until(
    `${id} is finished`,
    async () => {
      const found = await service.call("GET", `/v1/memories/${id}`);
      return found.body.status === "processing" ? null : found;
    },
    EACH_MS,
  );
}

const READERS = { pdf: readPdf, pptx: readPptx, xlsx: readXlsx };
const documents = new Map<string, Promise<ReadDocument | ReadFailure>>();

/** The result of reading a document. Each document is read at most once. */
async function documentOf(path: string): Promise<ReadDocument> {
  const format = path.slice(path.lastIndexOf(".") + 1) as keyof typeof READERS;
  const reading = documents.get(path) ?? READERS[format](realDocumentBytes(path));
  documents.set(path, reading);
  const document = await reading;
  if (document instanceof ReadFailure) throw document;
  return document;
}

describe("a generated document that is uploaded", () => {
  for (const { filename, bytes, sentence, place } of SAMPLES) {
    test(
      `${filename} is completed, and a search finds its text${place === null ? "" : " with its place"}`,
      async () => {
        const { status, body: accepted } = await upload(service, filename, bytes);
        expect(status).toBe(202);
        const { body } = await finishedMemory(accepted.id);
        expect(body.error ?? null).toBe(null);
        expect(body.status).toBe("completed");
        expect(body.content).toContain(sentence);
        const { body: found } = await service.call("POST", "/v1/memories/search", {
          query: sentence,
          // most documents have the same sentence: fast would compare fewer passages
          mode: "hybrid",
          limit: 50,
        });
        const result = found.results.find((each: { memory_id: string }) => each.memory_id === accepted.id);
        expect(result?.content).toContain(sentence);
        if (place !== null) expect(result?.metadata._chunk).toMatchObject(inApi(place));
      },
      EACH_MS,
    );
  }
});

/** A place with the names of the API. */
function inApi({ fromSeconds, toSeconds, ...place }: Omit<PlaceMark, "at">) {
  return {
    ...place,
    ...(fromSeconds !== undefined && { from_seconds: fromSeconds }),
    ...(toSeconds !== undefined && { to_seconds: toSeconds }),
  };
}

describe.skipIf(!HAS_REAL_DOCUMENTS)(`a real document that is uploaded${SKIP_REASON}`, () => {
  for (const path of paths) {
    const message = FAILS[path];
    if (REFUSED.includes(path)) {
      test(`${path} is refused: Mneme does not read its format`, () => {
        const { status, body } = accepted.get(path) ?? {};
        expect([status, body?.error?.code]).toEqual([415, "unsupported_media_type"]);
        expect(body?.error?.message).toContain("PDF, DOCX, XLSX, PPTX");
      });
    } else if (message !== undefined) {
      test(
        `${path} fails with a message`,
        async () => {
          const { body } = await endOf(path);
          expect([body.status, body.error?.code]).toEqual(["failed", "unreadable_document"]);
          expect(body.error.message).toMatch(message);
        },
        EACH_MS,
      );
    } else {
      test(
        `${path} is completed and has the expected text`,
        async () => {
          const { body } = await endOf(path);
          expect(body.error ?? null).toBe(null);
          expect(body.status).toBe("completed");
          const content: string = body.content;
          let from = 0;
          for (const each of EXPECTED_TEXTS[path] ?? []) {
            const at = content.indexOf(each, from);
            if (at === -1) expect(content.slice(from)).toContain(each);
            from = at + each.length;
          }
        },
        EACH_MS,
      );
    }
  }

  test("every normal PDF, DOCX, XLSX and PPTX has an expected text, and every expectation names a document", () => {
    const all = realDocumentPaths();
    const readable = all.filter((path) => /^normal\/.*\.(?:pdf|docx|xlsx|pptx)$/.test(path) && !(path in FAILS));
    expect(readable.filter((path) => !(path in EXPECTED_TEXTS))).toEqual([]);
    const named = [...Object.keys(EXPECTED_TEXTS), ...Object.keys(FAILS), ...REFUSED, ...PLACES.map(([path]) => path)];
    expect(named.filter((path) => !all.includes(path))).toEqual([]);
  });
});

describe.skipIf(!HAS_REAL_DOCUMENTS)(`the place of a text in a real document${SKIP_REASON}`, () => {
  for (const [path, sentence, place] of PLACES.filter(([path]) => uploaded.has(path))) {
    const where = Object.entries(place).flat().join(" ");
    test(
      `'${sentence}' is on ${where} of ${path}`,
      async () => {
        const { pieces, marks } = await documentOf(path);
        const at = pieces.join("").indexOf(sentence);
        expect(at).toBeGreaterThan(-1);
        const chunk = { ordinal: 0, start: at, end: at + 1, tokens: 1, headings: [] };
        const placed = placedChunks(
          [chunk],
          marks.map(({ at: start, ...each }) => ({ at: start, place: each })),
          [],
        );
        expect(placed).toEqual([{ ...chunk, ...place }]);
      },
      EACH_MS,
    );
  }

  test.skipIf(!uploaded.has(SLIDES))(
    "is in the search result",
    async () => {
      await endOf(SLIDES);
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
