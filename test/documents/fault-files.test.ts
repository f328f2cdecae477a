// Reads files with content that readers lose or change, and checks what stands in them. The files are not in the
// repository; the other tests of this folder generate small files of each kind.

import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readFileText } from "../../src/documents/read-file.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { ROOT } from "../support/sources.ts";
import { HAS_REAL_DOCUMENTS, REAL_DOCUMENTS, SKIP_REASON } from "./real-documents.ts";

const FAULTS = process.env.MNEME_TEST_FAULTS_DIR ?? join(ROOT, "../shared/data/faults");
const HAS_FAULTS = existsSync(FAULTS);
const FAULTS_SKIP_REASON = HAS_FAULTS ? "" : " (skipped: set MNEME_TEST_FAULTS_DIR to a folder with this file)";

const TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  html: "text/html",
  md: "text/markdown",
  pdf: "application/pdf",
};

/** Facts by file: texts that are read. */
const FAULT_FACTS: Readonly<Record<string, readonly string[]>> = {
  "sup.pdf": [
    "4.7 × 10^6 cells",
    "the limit is 10^3 cells",
    "measures 250 m^2 and holds CO2 at 12 mg",
    "signed in 1997[12] and",
    "renewed in 2008[13].",
  ],
  "form.pdf": ["Full name: Maren Oldstad", "Locker number: L-4471", "Vegetarian: ☑", "Plan: Family"],
  "py-pdf-google-doc-document.pdf": [
    "273.879.750[1]",
    "83,190,556[2]",
    "8,935,112[3]",
    "67,413,000",
    "[1] 2021 estimate",
    "[3] 2020 estimate",
  ],
  "prices.md": [
    "Article: Anchor standard | Price: 89 | Weight: 361 | Stock: 48 | Lead days: 12",
    "Article: Lanyard standard | Price: 66 | Weight: 229 | Stock: 9 | Lead days: 1",
    "Article: Lanyard heavy | Price: 65 | Weight: 193 | Stock: 14 | Lead days: 11",
  ],
  "semi_ragged.csv": [
    "name: Olsen, Kari | city: Bergen | fee: 12,50",
    "name: Berg, Nils | city: Oslo | fee: 9,00 | extra",
    "name: Dahl, Siri | city: Narvik | fee: 7,25",
  ],
  "small.csv": [
    "Article: Tiller light | Price: 10 | Weight: 100 | Stock: 20 | Lead days: 3",
    "Article: Shackle light | Price: 15 | Weight: 135 | Stock: 25 | Lead days: 8",
  ],
};
const DOCUMENT_FACTS: Readonly<Record<string, readonly string[]>> = {
  "normal/pdf.js__tracemonkey.pdf": [
    "3d-cube | Loops: 25 | Trees: 27 | Traces: 29 | Aborts: 3 | Flushes: 0 | Trees/Loop: 1.1",
    "crypto-aes | Loops: 50 | Trees: 72 | Traces: 78 | Aborts: 19 | Flushes: 0 | Trees/Loop: 1.4",
    "string-unpack-code | Loops: 4 | Trees: 4 | Traces: 37",
    "yields O(n^k ) traces",
  ],
  "normal/unstructured__layout-parser-paper-with-table.pdf": [
    "Dataset: PubLayNet [38] | Base Model[1]: F / M | Large Model: M | Notes: Layouts of modern scientific documents",
    "Dataset: TableBank [18] | Base Model[1]: F | Large Model: F",
    "Dataset: HJDataset [31] | Base Model[1]: F / M | Large Model: -",
  ],
  "normal/unstructured__multi-column.pdf": [
    "BM25+DPR | 39.0 | 57.0 | 35.2 | 28.0 | 36.7",
    "learning rate of 10^−5 using",
  ],
  "normal/docling__ending_with_table.md": ["Character: Dewey | Name in German: Trick | Name in French: Fifi"],
  "encoding/unstructured__example-steelJIS-datasheet-utf-16.html": ["N/mm^2", "J/cm^2"],
};

async function textOf(path: string): Promise<string> {
  const mediaType = TYPES[path.split(".").at(-1) ?? ""] ?? "text/plain";
  const document = await readFileText({
    path,
    filename: path.split("/").at(-1) ?? "",
    mediaType,
    bytes: statSync(path).size,
  });
  if (document instanceof ReadFailure) throw document;
  if (!("pieces" in document)) throw new Error(`${path} was not read`);
  return document.pieces.join("");
}

describe("facts", () => {
  for (const [name, facts] of Object.entries(FAULT_FACTS)) {
    test.skipIf(!HAS_FAULTS)(`of ${name} are read${FAULTS_SKIP_REASON}`, async () => {
      const text = await textOf(join(FAULTS, name));
      expect(facts.filter((fact) => !text.includes(fact))).toEqual([]);
    });
  }
  for (const [path, facts] of Object.entries(DOCUMENT_FACTS)) {
    test.skipIf(!HAS_REAL_DOCUMENTS)(`of ${path} are read${SKIP_REASON}`, async () => {
      const text = await textOf(join(REAL_DOCUMENTS, path));
      expect(facts.filter((fact) => !text.includes(fact))).toEqual([]);
    });
  }
});
