// Reads real PDFs and checks that their text contains excerpts, which were extracted by another tool (pdftotext) or by
// eye.

import { describe, expect, test } from "bun:test";
import type { ReadDocument } from "../../../src/documents/document.ts";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { HAS_REAL_DOCUMENTS, realDocumentBytes, SKIP_REASON } from "../real-documents.ts";

/** Parts of the text of each file, in the order of the text. */
const EXPECTED_TEXTS: Readonly<Record<string, readonly string[]>> = {
  "normal/docling__multi_page.pdf": [
    "The concept of the word processor predates modern computers and has evolved through several technological milestones.",
    "# Pre-Digital Era (19th - Early 20th Century)\n",
    "- IBM MT/ST (Magnetic Tape/Selectric Typewriter): Introduced in 1964, this machine combined IBM's Selectric typewriter with magnetic tape storage.",
    "\n- Wang Laboratories: In the 1970s, Wang introduced dedicated word processing machines.",
    "1. Undo/Redo: Introduced in the 1980s, the ability to undo mistakes and redo actions made experimentation and error correction much easier.\n2. Spell Check",
  ],
  "normal/docling__redp5110_sampled.pdf": [
    "# Row and Column Access Control Support in IBM DB2 for i",
    "Trademarks … viii",
    "The following topics are covered in this chapter:\n\n- Security fundamentals\n- Current state of IBM i security\n- DB2 for i security controls",
    "\nColumn name: FUNCTION_ID | Data type: VARCHAR(30) | Description: ID of the function.\n",
    "Special register: SYSTEM_USER | Corresponding value: The authorization ID that initiated the connection.",
  ],
  "normal/docling__right_to_left_01.pdf": [
    "# تحسين الإنتاجية",
    "تعتبر البرمجة بلغة R و Python من",
    "ميزات فريدة تجعلها مثالية لتحليل البيانات، مما يسهل على المحللين والعلماء إجراء",
    "التطبيقات، من التحليل البياني إلى التعلم",
  ],
  "normal/markitdown__REPAIR-2022-INV-001_multipage.pdf": [
    "ZAVA AUTO REPAIR",
    "Insured name: Gabriel Diaz\n",
    "Policy #: POL-2022-555\n",
    "Year: 2022\n",
    "Model: Grand Cherokee\n",
    "GRAND TOTAL: 5,738\n",
    "This is a preliminary estimate for the visible damage of the vehicle. Additional damage / repairs / parts may be found after the vehicle has been disassembled and damaged parts have been removed.",
    "Insured name | Bruce Wayne | Year | 2025\n",
  ],
  "normal/markitdown__SPARSE-2024-INV-1234_borderless_table.pdf": [
    "# INVENTORY RECONCILIATION REPORT\n",
    "Report ID: SPARSE-2024-INV-1234\nWarehouse: Distribution Center East\n",
    "Product Code: SKU-8847 | Location: A-12 | Expected: 450\nLocation: B-07 | Actual: 289 | Variance: -23\n",
    "Product Code: SKU-4563 | Location: D-22 | Actual: 156 | Status: CRITICAL\n",
    "The primary variance driver is SKU-4563, which shows a -24 unit discrepancy requiring immediate investigation.",
    "Product Code: SKU-1123 | Category: Hardware | Unit Cost: $55.00 | Total Value: $27,500.00 | Last Audit: 2024-10-30 | Notes: Verified",
  ],
  "normal/markitdown__test.pdf": [
    "1 Introduction\n",
    "Our insight is to use multi-agent conversations to achieve it. There are at least three reasons confirming its general feasibility",
    "First, because chat-optimized LLMs (e.g., GPT-4) show the ability to incorporate feedback",
    "(1) How can we design individual agents that are capable, reusable, customizable, and effective in multi-agent collaboration?",
  ],
  "normal/pdf.js__ArabicCIDTrueType.pdf": ["انواع الخطوط العربية"],
  "normal/pdf.js__TAMReview.pdf": [
    "# Overview of the Technology Acceptance Model: Origins, Developments and Future Directions\n",
    "User acceptance of technology has been an important field of study for over two decades now. Although many models",
    "Keywords: Technology Acceptance, Information System Deployment, TAM, Information System Theory.",
    "[Pages 2 to ",
  ],
  "normal/pdf.js__basicapi.pdf": [
    "Table Of Content",
    "Chapter 1 … 2",
    "Paragraph 1.1",
    "Powered by TCPDF (www.tcpdf.org)",
  ],
  "normal/pdf.js__noembed-sjis.pdf": ["あいうえお"],
  "normal/pdf.js__tracemonkey.pdf": [
    "# Trace-based Just-in-Time Type Specialization for Dynamic Languages\n",
    "We present an alternative compilation technique for dynamically-typed languages that identifies frequently executed loop traces at run-time and then generates machine code on the fly",
    "## 1. Introduction\n\nDynamic languages such as JavaScript, Python, and Ruby, are popular since they are expressive, accessible to non-experts, and make deployment as easy as distributing a source file.",
    "In a naïve implementation, inner loops would become hot first",
    "- We explain an algorithm for dynamically forming trace trees to cover a program, representing nested loops as nested trace trees.\n- ",
  ],
  "normal/pypdf__crazyones.pdf": [
    "# The Crazy Ones\n",
    "Heres to the crazy ones. The misfits. The rebels. The troublemakers.\n\nThe round pegs in the square holes.\n\nThe ones who see things differently. Theyre not fond of rules. And they have no respect for the status quo.",
    "Because the people who are crazy enough to think they can change the world, are the ones who do.",
  ],
  "normal/unstructured__korean-text-with-tables.pdf": [
    "온라인쇼핑몰: 삼성카드 쇼핑, G마켓, 옥션, 11번가, 인터파크, 쿠팡, 티몬, 위메프",
    "- 전월 이용금액 40만원 이상 시 제공\n",
    "커피전문점: 스타벅스, 투썸플레이스, 카페베네, 탐앤탐스, 커피빈, 엔제리너스, 할리스커피, 파스쿠찌, 아티제, 폴 바셋\n",
    "편의점: CU, GS25, 세븐일레븐, 미니스톱",
  ],
  "normal/unstructured__layout-parser-paper-with-table.pdf": [
    "Dataset: PRImA [3] | ",
    " | Notes: Layouts of scanned modern magazines and scientific reports\n",
    "## 3.1 Layout Detection Models\n\nIn LayoutParser, a layout model takes a document image as an input and generates a list of rectangular boxes for the target content regions. Different from traditional methods, it relies on deep convolutional neural networks",
    "LayoutParser provides a wealth of pre-trained model weights using various datasets covering different languages, time periods, and document types.",
  ],
  "normal/unstructured__multi-column.pdf": [
    "# Dense Passage Retrieval for Open-Domain Question Answering\n",
    "## Abstract\n\nOpen-domain question answering relies on efficient passage retrieval to select candidate contexts",
    "Retrieval in open-domain QA is usually implemented using TF-IDF or BM25 (Robertson and Zaragoza, 2009), which matches keywords efficiently with an inverted index and can be seen as representing the question and context in high-dimensional, sparse vectors (with weighting).",
    "### 3.1 Overview\n\nOur dense passage retriever (DPR) uses a dense encoder",
    "Dataset: TriviaQA | Train: 78,785 | Train: 60,413 | Dev: 8,837 | Test: 11,313\n",
    "When training with multiple datasets, TREC, the smallest dataset of the five, benefits greatly from more training examples.",
  ],
  "normal/unstructured__reliance.pdf": [
    "Integrated Annual Report 2021-22",
    "Reliance Industries Limited (RIL) is a Fortune 500 company and the largest private sector corporation in India.",
    "With a strongly integrated energy business and the most expansive digital and retail footprint in the country, RIL is India’s largest corporate value creator and the highest valued company.",
    "RIL invites the participation of all shareholders to its 45th Annual General Meeting (AGM), to be held on 29th August, 2022.",
  ],
  "malformed/pdf.js__Pages-tree-refs.pdf": ["Testcase: ’Pages loop’", "[Page 2 is damaged and cannot be read.]"],
  "malformed/pdf.js__pdfjsbad1586.pdf": ["pdf.js test"],
  "malformed/unstructured__failure-after-repair.pdf": [
    "# Understanding Breast Cancer",
    "Understanding Breast Cancer is reviewed approximately every two years.",
    "Cancer Council Australia\n\nLevel 14, 477 Pitt Street, Sydney NSW 2000\nTelephone 02 8063 4100",
  ],
  "malformed/unstructured__pdf-bad-color-space.pdf": [
    "We aim to achieve net-zero emissions across all of our operations and value chain by 2030",
    "At Google, we’re working to accelerate the transition to a carbon-free future.",
    "In our third decade of climate action, we recognize that we can’t achieve our goals alone.",
  ],
  // encrypted with an empty user password, so it can be read
  "encrypted/pypdf__r2-empty-password.pdf": ["pdf encryption test password: asdfzxcv"],
  "encrypted/pypdf__r6-owner-password.pdf": ["pdf encryption test password: asdfzxcv"],
  // its picture would take gigabytes of memory, but pictures are not decoded
  "bomb/pdf.js__bomb_giant.pdf": ["GIANT JBIG2 BOMB"],
  "huge/pdf.js__freeculture.pdf": [
    "## “PIRACY”",
    "The Aibo is expensive and popular. Fans from around the world have set up clubs to trade stories.",
    "But Felten’s bravery was really tested in April 2001.",
    "##### 5. Fire Lots of Lawyers",
  ],
  "huge/unstructured__DA-619p.pdf": [
    "# Table of Contents\n\nMAIN GAME … 6\nCREATURES … 6\nAbomination … 6\n",
    "# MAIN GAME\n\n## CREATURES\n\n### Abomination\n",
  ],
};

const ENCRYPTED = "The file is encrypted. Upload it without a password.";
const REFUSED: Readonly<Record<string, string>> = {
  "normal/docling__ocr_test.pdf": "The file holds no text; it seems to be a scan, and text recognition is off.",
  "malformed/tika__testPDF_malformedXFA.pdf": "The file holds no text.",
  "encrypted/docling__2206.01062_pg3.pdf": ENCRYPTED,
  "encrypted/pypdf__r4-aes-user-password.pdf": ENCRYPTED,
  "encrypted/pypdf__r6-user-password.pdf": ENCRYPTED,
  "encrypted/tika__testUnicodePassword.pdf": ENCRYPTED,
  "encrypted/unstructured__password.pdf": ENCRYPTED,
};

const TITLES: Readonly<Record<string, string | null>> = {
  "huge/pdf.js__freeculture.pdf": "Free Culture",
  "normal/pdf.js__TAMReview.pdf": "Overview of the Technology Acceptance Model: Origins, Developments and Future…",
  "normal/markitdown__SPARSE-2024-INV-1234_borderless_table.pdf": null,
};

/** Results by path. Each file is read at most once: some take seconds. */
const documents = new Map<string, Promise<ReadDocument | ReadFailure>>();

function read(path: string): Promise<ReadDocument | ReadFailure> {
  const known = documents.get(path) ?? readPdf(realDocumentBytes(path));
  documents.set(path, known);
  return known;
}

async function documentOf(path: string): Promise<ReadDocument> {
  const document = await read(path);
  if (document instanceof ReadFailure) throw document;
  return document;
}

describe.skipIf(!HAS_REAL_DOCUMENTS)(`real PDFs${SKIP_REASON}`, () => {
  for (const [path, expected] of Object.entries(EXPECTED_TEXTS)) {
    test(`${path} has the expected text`, async () => {
      const text = (await documentOf(path)).pieces.join("");
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
      const failure = await read(path);
      expect(failure instanceof ReadFailure ? [failure.code, failure.message] : "read").toEqual([
        "unreadable_document",
        message,
      ]);
    });
  }

  for (const [path, title] of Object.entries(TITLES)) {
    test(`${path} has ${title === null ? "no title of its own" : "its own title"}`, async () => {
      expect((await documentOf(path)).title).toBe(title);
    });
  }

  test("a long document has page marks, and no line numbers, headers and footers", async () => {
    const { pieces, marks } = await documentOf("huge/pdf.js__freeculture.pdf");
    expect(pieces.join("")).not.toMatch(/PASS PAGES|\.qxd|\n1\n2\n3\n/);
    expect(new Set(marks.map(({ page }) => page)).size).toBeGreaterThan(330);
  });
});
