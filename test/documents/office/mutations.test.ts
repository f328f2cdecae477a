// Reads randomly damaged Office documents: each reader returns a document or a failure within a bounded time.
// MNEME_TEST_MUTATIONS sets the number of mutations per document; MNEME_TEST_SEED sets the seed, to repeat a run.

import { expect, test } from "bun:test";
import { strToU8, unzipSync, zipSync } from "fflate";
import type { ReadDocument } from "../../../src/documents/document.ts";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { seeded } from "../../support/seeded.ts";
import { TEST_TIMEOUT_MS } from "../../support/until.ts";
import { docx, pptx, rowsOf, xlsx, xml } from "./office-file.ts";

const MUTATIONS = Number(process.env.MNEME_TEST_MUTATIONS ?? 60);
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
/** Time limit for one document, in milliseconds. */
const EACH_MS = 10_000;

const paragraph = (text: string, more = "") => `<w:p>${more}<w:r><w:rPr><w:b/></w:rPr><w:t>${text}</w:t></w:r></w:p>`;
const wordCell = (text: string) => `<w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge/></w:tcPr>${paragraph(text)}</w:tc>`;
const SAMPLES = {
  docx: docx(
    `${paragraph("Heading", '<w:pPr><w:pStyle w:val="H"/><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr>')}
     <w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:footnoteReference w:id="1"/></w:r><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den/></m:f></m:oMath><w:r><w:pict><w:txbxContent>${paragraph("box")}</w:txbxContent></w:pict></w:r></w:p>
     <w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid><w:tr>${wordCell("a")}${wordCell("b")}</w:tr><w:tr>${wordCell("1")}<w:tc><w:tbl><w:tr>${wordCell("in")}</w:tr></w:tbl></w:tc></w:tr></w:tbl>`,
    {
      "styles.xml": xml(
        "w:styles",
        '<w:style w:styleId="H"><w:name w:val="heading 1"/><w:basedOn w:val="H"/></w:style>',
      ),
      "numbering.xml": xml(
        "w:numbering",
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="1"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>',
      ),
      "footnotes.xml": xml("w:footnotes", `<w:footnote w:id="1">${paragraph("note")}</w:footnote>`),
    },
  ),
  xlsx: xlsx(
    [
      {
        name: "S",
        content: `${rowsOf(["a", "b", "c"], [1, 2, 3], [null, 4, null])}<mergeCells><mergeCell ref="A1:B2"/></mergeCells><autoFilter ref="A1:C3"/>`,
        related: [["c", "comments", "../comments1.xml"]],
      },
      { name: "T", content: '<sheetData><row r="9"><c r="B9" s="1"><f>A1</f><v>44197.5</v></c></row></sheetData>' },
    ],
    {
      "styles.xml": xml(
        "styleSheet",
        '<numFmts><numFmt numFmtId="170" formatCode="[$-F400]dd/mm/yy\\ h:mm;0.0%"/></numFmts><fonts><font><b/></font></fonts><cellXfs><xf/><xf numFmtId="170"/></cellXfs>',
      ),
      "comments1.xml": xml(
        "comments",
        '<authors><author>A</author></authors><commentList><comment ref="A1" authorId="0"><text><t>x</t></text></comment></commentList>',
      ),
    },
  ),
  pptx: pptx(
    [
      {
        content:
          '<p:sp><p:nvPr><p:ph type="title"/></p:nvPr><p:txBody><a:p><a:r><a:t>T</a:t></a:r></a:p></p:txBody></p:sp><a:tbl><a:tblPr firstRow="1"/><a:tr><a:tc gridSpan="3"><a:txBody><a:p><a:pPr lvl="3"><a:buAutoNum type="romanLcPeriod" startAt="9"/></a:pPr><a:r><a:t>c</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl><dgm:relIds r:dm="d"/>',
        related: [["d", "diagramData", "../data1.xml"]],
      },
    ],
    {
      "data1.xml": xml(
        "dgm:dataModel",
        '<dgm:pt modelId="1" type="doc"/><dgm:pt modelId="2"><dgm:t><a:p><a:r><a:t>d</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:cxn srcId="1" destId="2" srcOrd="0"/>',
      ),
    },
  ),
};
const READERS = { docx: readDocx, xlsx: readXlsx, pptx: readPptx };

for (const kind of ["docx", "xlsx", "pptx"] as const) {
  test(
    `a ${kind} file with damaged bytes is read or refused (${MUTATIONS} times, seed ${SEED})`,
    async () => {
      const random = seeded(SEED);
      for (let mutation = 0; mutation < MUTATIONS; mutation++) {
        const bytes = mutated(SAMPLES[kind], random);
        await expectAnswer(READERS[kind](bytes), `${kind}, bytes, mutation ${mutation}`);
      }
    },
    Math.max(TEST_TIMEOUT_MS, MUTATIONS * EACH_MS),
  );

  test(
    `a ${kind} file with a damaged part is read or refused (${MUTATIONS} times, seed ${SEED})`,
    async () => {
      const random = seeded(SEED + 1);
      const parts = unzipSync(SAMPLES[kind]);
      const names = Object.keys(parts);
      for (let mutation = 0; mutation < MUTATIONS; mutation++) {
        const name = names[Math.floor(random() * names.length)] ?? "";
        const broken = { ...parts, [name]: mutated(parts[name] ?? strToU8(""), random) };
        await expectAnswer(READERS[kind](zipSync(broken)), `${kind}, ${name}, mutation ${mutation}`);
      }
    },
    Math.max(TEST_TIMEOUT_MS, MUTATIONS * EACH_MS),
  );
}

async function expectAnswer(answer: Promise<ReadDocument | ReadFailure>, what: string): Promise<void> {
  const started = performance.now();
  let outcome: ReadDocument | ReadFailure;
  try {
    outcome = await answer;
  } catch (cause) {
    throw new Error(`${what}: the reader threw`, { cause });
  }
  if (performance.now() - started > EACH_MS) throw new Error(`${what}: took longer than ${EACH_MS} ms`);
  if (outcome instanceof ReadFailure) {
    expect(outcome.message).toMatch(/^The (?:file|part) .*\.$|^Reading the file .*\.$/s);
    return;
  }
  const text = outcome.pieces.join("");
  expect(text).toMatch(/\S/);
  expect(text.isWellFormed() && !text.includes("\0")).toBe(true);
  const places = outcome.marks.map(({ at }) => at);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places.every((at) => at < text.length)).toBe(true);
}

/** Mutates a file: truncates it, flips bits, copies or repeats a piece, or changes a number. */
function mutated(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = () => Math.floor(random() * bytes.length);
  const from = at();
  const piece = bytes.subarray(from, from + 1 + Math.floor(random() * 200));
  switch (Math.floor(random() * 5)) {
    case 0:
      return bytes.subarray(0, at());
    case 1: {
      const flipped = bytes.slice();
      for (let flips = 1 + Math.floor(random() * 8); flips > 0; flips--) {
        const place = at();
        flipped[place] = (flipped[place] ?? 0) ^ (1 << Math.floor(random() * 8));
      }
      return flipped;
    }
    case 2: {
      const to = at();
      return joined(bytes.subarray(0, to), piece, bytes.subarray(to));
    }
    case 3: {
      const times = Array.from({ length: 1 + Math.floor(random() * 300) }, () => piece);
      return joined(bytes.subarray(0, from), ...times, bytes.subarray(from));
    }
    default: {
      const digits = bytes.map((byte) => (byte >= 0x30 && byte <= 0x39 && random() < 0.2 ? 0x39 : byte));
      return random() < 0.5 ? digits : joined(digits.subarray(0, from), strToU8("99999999"), digits.subarray(from));
    }
  }
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
