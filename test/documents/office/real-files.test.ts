// Reads real Office documents and checks that their text contains excerpts that other tools extracted.

import { describe, expect, test } from "bun:test";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { HAS_REAL_DOCUMENTS, realDocumentBytes, SKIP_REASON } from "../real-documents.ts";
import { failureOf, textOf } from "./office-file.ts";

const READERS = { docx: readDocx, xlsx: readXlsx, pptx: readPptx };

async function read(path: string) {
  const format = path.slice(path.lastIndexOf(".") + 1) as keyof typeof READERS;
  return READERS[format](realDocumentBytes(path));
}

/** Parts of the text of each file, in the order of the text. */
const EXPECTED_TEXTS: Readonly<Record<string, readonly string[]>> = {
  "normal/docling__Strict.docx": ["Some text"],
  "normal/docling__equations.docx": [
    "- The formula a^2+b^2=c^2 is the Pythagorean theorem.",
    "This is a word document and this is an inline equation: A=πr^2. If instead",
    "(x+a)^n=∑_(k=0)^n (n¦k)x^k a^(n-k)",
    "e^x=1+x/(1!)+(x^2)/(2!)+(x^3)/(3!)+…, -∞<x<∞",
    "Equations with the OMML group character object:",
  ],
  "normal/docling__word_sample.docx": [
    "Summer activities\n\n# Swimming in the lake",
    "# Let’s swim!\n\nTo get started with swimming, first lay down in a water and try not to drown:",
    "- You can relax and look around\n- Paddle about\n- Enjoy summer warmth",
    "1. Wear sunglasses\n2. Don’t forget to drink water\n3. Use sun cream",
    "## Let’s eat",
    "Berries | Food: Blueberry, Strawberry, Cranberry | Calories per portion: 150",
    "1. Leaves\n2. Berries\n3. Grain",
  ],
  "normal/mammoth.js__footnotes.docx": ["Ouch[1].[2] [note 1: A tachyon walks into a bar.] [note 2: Fin.]"],
  "normal/mammoth.js__tables.docx": ["Above\n\n", "Top left | Top right\nBottom left | Bottom right", "\n\nBelow"],
  "normal/mammoth.js__utf8-bom.docx": ["This XML has a byte order mark."],
  "normal/markitdown__test_with_comment.docx": [
    "# AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
    "# Abstract\n\nAutoGen is an open-source framework that allows developers",
    "[comment by Unknown Author: This is a test comment. 12df-321a]",
    "## d666f1f7-46cb-42bd-9a39-9a39cf2a509f",
    "Here is a random table for .docx parsing test purposes:",
    "49e168b7-d2ae-407f-a055-2167576f39a1",
    "Yet another comment in the doc. 55yiyi-asd09",
  ],
  "normal/unstructured__eng_spa_mult.docx": [
    "All human beings are born free and equal in dignity and rights.",
    '"Todos los seres humanos nacen libres e iguales en dignidad y derechos',
    "deben comportarse fraternalmente los unos con los otros.",
  ],
  "normal/unstructured__fake.docx": ["Lorem ipsum dolor sit amet."],
  "normal/calamine__date.xlsx": ["2021-01-01 | 15", "2021-01-02 | 16", "255:10:10 | 17"],
  "normal/calamine__merge_cells.xlsx": ["Row Merge | Not Merged", "Column Merge | Chunk Merged"],
  "normal/docling__xlsx_03_chartsheet.xlsx": [
    "## Duck Observations",
    "Year: 2019 | Freshwater Ducks: 120 | Saltwater Ducks: 80 | Ducks: 200",
    "Year: 2024 | Freshwater Ducks: 180 | Saltwater Ducks: 130 | Ducks: 310",
  ],
  "normal/markitdown__test.xlsx": [
    "Alpha: 89 | Beta: 82 | Gamma: 100 | Delta: 12",
    "Alpha: 58 | Beta: 6ff4173b-42a5-4784-9b19-f49caff4d93d | Gamma: 22 | Delta: 9",
    "## 09060124-b5e7-4717-9d07-3c046eb",
    "ColA: 13 | ColB: 14 | ColC: 15 | ColD: affc7dad-52dc-4b98-9b5d-51e65d8a8ad0",
  ],
  "normal/unstructured__2023-half-year-analyses-by-segment.xlsx": [
    "3. Analyses by segment",
    "In millions of CHF: Zone NA | Sales (a): 12,553 | Underlying Trading operating profit (b): 2,713",
    "In millions of CHF: Zone EUR | Sales (a): 9,467",
    "In millions of CHF: Powdered and Liquid Beverages | Sales: 12,339",
    "3.4 Reconciliation from Underlying Trading operating profit to profit before taxes, associates and joint ventures",
    "Trading operating profit as per Note 3.1 | January–June 2023: 7,351 | January–June 2022: 6,684",
  ],
  "normal/unstructured__vodafone.xlsx": [
    "Financial performance\nTopic | Period | Page",
    "Topic: Quarterly revenue | Period: Nine quarters to 30 June 2023 | Page: 1",
    "Operational metrics",
  ],
  "huge/unstructured__more-than-1k-cells.xlsx": ["## Sheet1\n\nx | x | x | x"],
  "normal/docling__powerpoint_sample.pptx": [
    "## Test Table Slide\n\nWith footnote",
    "R1 | Class1 A merged with B: True | Class1 A merged with B: False | Class2 A: False",
    "## Second slide title\n\nLet’s introduce a list\n\n- With foo\n- Bar\n- And baz things",
    "A rectangle shape with this text inside.",
    "[notes: Some notes on the second slide.]",
    "1. List item4\n2. List item5\n3. List item6\n- I1",
    "[notes: Final notes on the third slide.\nSecond line of notes.]",
  ],
  "normal/poi__smartart-simple.pptx": [
    "- abc\n- def\n- ghi",
    "This file contains a SmartArt diagram",
    "Gradient fill on shape (with 25% transparency set)",
  ],
  "normal/unstructured__fake-power-point-many-pages.pptx": ["## Page 1", "## Page 2"],
  "normal/unstructured__science-exploration-1p.pptx": [
    "- Code 600: Sciences and Exploration Directorate (SED)",
    "- Support offices\n  - Code 603: Administration and Resources Management Office",
    "Virtual Machine Environment Scorecard",
  ],
  "malformed/docling__powerpoint_bad_text.pptx": [
    "## X-Library The fully customisable and copyright-free standard content",
  ],
  "malformed/docling__powerpoint_malformed_pictures.pptx": [
    "Slide With Missing BlipFill",
    "Slide With Wrong Content Type",
  ],
  "malformed/poi__xlsx-corrupted.xlsx": ["test: second | DOCTYPE: row | XXE: data | injection: foo", "## Sheet2"],
  "malformed/unstructured__fake-power-point-malformed.pptx": ["## Test Slide"],
  "malformed/unstructured__grid_offset_error.docx": ["A", "Merged B1-B3", "C"],
};

const CUT_OFF = "The file is damaged: it is cut off, and the list of its parts is missing.";
const ENCRYPTED = "The file is encrypted. Upload it without a password.";
const DECLARES =
  "The file is damaged: its part xl/sharedStrings.xml declares a document type, as no Office document does.";
const REFUSED: Readonly<Record<string, string>> = {
  "bomb/poi__poc-xmlbomb.xlsx": DECLARES,
  "bomb/poi__poc-xmlbomb-empty.xlsx": DECLARES,
  "encoding/unstructured__empty.xlsx": "The file holds no text.",
  "encrypted/poi__protected_agile.docx": ENCRYPTED,
  "encrypted/poi__protected_sha512.xlsx": ENCRYPTED,
  "encrypted/tika__testWORD_protected_passtika.docx": ENCRYPTED,
  "encrypted/unstructured__password_protected.xlsx": ENCRYPTED,
  "malformed/poi__clusterfuzz-testcase-minimized-POIXSLFFuzzer-6254434927378432.pptx": CUT_OFF,
  "malformed/poi__clusterfuzz-testcase-minimized-XLSX2CSVFuzzer-5636439151607808.xlsx": CUT_OFF,
  "malformed/poi__crash-517626e815e0afa9decd0ebb6d1dee63fb9907dd.docx": CUT_OFF,
  "malformed/poi__invalid.xlsx": "The file is damaged: its part xl/workbook.xml is missing.",
  "malformed/poi__truncated62886.docx": CUT_OFF,
  "malformed/tika__testWORD_truncated.docx": CUT_OFF,
};

describe.skipIf(!HAS_REAL_DOCUMENTS)(`real Office documents${SKIP_REASON}`, () => {
  for (const [path, expected] of Object.entries(EXPECTED_TEXTS)) {
    test(`${path} has the expected text`, async () => {
      const text = textOf(await read(path));
      let from = 0;
      for (const each of expected) {
        const at = text.indexOf(each, from);
        if (at === -1) expect(text.slice(from)).toContain(each);
        from = at + each.length;
      }
    });
  }

  for (const [path, message] of Object.entries(REFUSED)) {
    test(`${path} is refused with a message`, async () => {
      expect(failureOf(await read(path))).toBe(message);
    });
  }
});
