// Tests what the Office readers refuse: damaged and encrypted files, and files beyond a limit. Checks each limit with a
// file that just reaches it and a file that just exceeds it.

import { describe, expect, test } from "bun:test";
import { strToU8 } from "fflate";
import { READING_LIMITS, type ReadingLimits } from "../../../src/documents/budget.ts";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { archiveOf, docx, failureOf, pptx, references, rowsOf, textOf, xlsx, xml } from "./office-file.ts";

const limited = (limits: Partial<ReadingLimits>): ReadingLimits => ({ ...READING_LIMITS, ...limits });
const word = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe("limits", () => {
  test("parts of the archive", async () => {
    const file = docx(word("x"));
    expect(textOf(await readDocx(file, limited({ entries: 3 })))).toBe("x");
    expect(failureOf(await readDocx(file, limited({ entries: 2 })))).toBe(
      "The file's archive holds more than 2 parts, the limit for a file.",
    );
  });

  test("decompressed bytes of all parts that are read", async () => {
    const main = xml("w:document", `<w:body>${word("x".repeat(2_000_000))}</w:body>`);
    const file = archiveOf({ "word/document.xml": main });
    const bytes = strToU8(main).byteLength;
    const ratio = 10_000;
    expect(textOf(await readDocx(file, limited({ inflatedBytes: bytes, ratio })))).toHaveLength(2_000_000);
    expect(failureOf(await readDocx(file, limited({ inflatedBytes: bytes - 1, ratio })))).toBe(
      "The file is decompressed to more than 2 MB, the limit for a file.",
    );
  });

  test("compression ratio, from the minimum size on", async () => {
    const file = archiveOf({
      "word/document.xml": xml("w:document", `<w:body>${word("x".repeat(5_000_000))}</w:body>`),
    });
    expect(failureOf(await readDocx(file))).toBe(
      "The file is compressed to less than 1/200 of its size, the limit for a file.",
    );
    const small = archiveOf({
      "word/document.xml": xml("w:document", `<w:body>${word("x".repeat(500_000))}</w:body>`),
    });
    expect(textOf(await readDocx(small))).toHaveLength(500_000);
  });

  test("characters of text, including repeated notes and cells", async () => {
    const file = docx(word("12345") + word("678"));
    expect(textOf(await readDocx(file, limited({ textUnits: 8 })))).toBe("12345\n\n678");
    expect(failureOf(await readDocx(file, limited({ textUnits: 7 })))).toBe(
      "The file holds more than 7 characters of text, the limit for a file.",
    );
    const notes = docx(`<w:p>${'<w:r><w:footnoteReference w:id="1"/></w:r>'.repeat(20_000)}</w:p>`, {
      "footnotes.xml": xml("w:footnotes", `<w:footnote w:id="1">${word("note ".repeat(1_000))}</w:footnote>`),
    });
    expect(failureOf(await readDocx(notes))).toBe(
      "The file holds more than 50,000,000 characters of text, the limit for a file.",
    );
    const cells = '<c t="s"><v>0</v></c>'.repeat(20_000);
    const strings = xml("sst", `<si><t>${"word ".repeat(1_000)}</t></si>`);
    const sheet = xlsx([{ name: "S", content: `<sheetData><row>${cells}</row></sheetData>` }], {
      "sharedStrings.xml": strings,
    });
    expect(failureOf(await readXlsx(sheet))).toBe(
      "The file holds more than 50,000,000 characters of text, the limit for a file.",
    );
  });

  test("cells of all sheets", async () => {
    const sheet = { name: "S", content: rowsOf([1, 2], [3]) };
    const file = xlsx([sheet, sheet]);
    expect(textOf(await readXlsx(file, limited({ cells: 6 })))).toContain("1 | 2");
    expect(failureOf(await readXlsx(file, limited({ cells: 5 })))).toBe(
      "The file holds more than 5 cells, the limit for a file.",
    );
  });

  test("slides", async () => {
    const slide = { content: `<p:sp><p:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>` };
    expect(textOf(await readPptx(pptx([slide, slide]), limited({ slides: 2 })))).toContain("## Slide 2");
    expect(failureOf(await readPptx(pptx([slide, slide]), limited({ slides: 1 })))).toBe(
      "The file holds 2 slides; at most 1 are read.",
    );
  });

  test("nested elements", async () => {
    const nested = (depth: number) => docx(`${"<w:sdt>".repeat(depth)}${word("deep")}${"</w:sdt>".repeat(depth)}`);
    // five elements are around the nested ones: document, body, paragraph, run and text
    expect(textOf(await readDocx(nested(READING_LIMITS.depth - 5)))).toBe("deep");
    expect(failureOf(await readDocx(nested(READING_LIMITS.depth - 4)))).toBe(
      "The part word/document.xml of the file is nested deeper than 512 levels, the limit for a file.",
    );
  });

  test("time", async () => {
    expect(failureOf(await readDocx(docx(word("x")), limited({ ms: 0 })))).toBe(
      "Reading the file takes longer than 0 seconds, the limit for a file.",
    );
  });
});

describe("an unreadable file", () => {
  const good = docx(word("Hello"));

  test("is cut off, or no Office document", async () => {
    const message = "The file is damaged: it is cut off, and the list of its parts is missing.";
    expect(failureOf(await readDocx(good.subarray(0, good.length - 30)))).toBe(message);
    for (const bytes of [new Uint8Array(), strToU8("<html>"), new Uint8Array(100)]) {
      expect(failureOf(await readXlsx(bytes))).toBe(
        "The file is damaged: it is no ZIP archive, as every Office document is.",
      );
    }
  });

  test("has no main part", async () => {
    const empty = archiveOf({ "a.txt": "x" });
    expect(failureOf(await readDocx(empty))).toBe("The file is damaged: its part word/document.xml is missing.");
    expect(failureOf(await readXlsx(empty))).toBe("The file is damaged: its part xl/workbook.xml is missing.");
    expect(failureOf(await readPptx(empty))).toBe("The file is damaged: its part ppt/presentation.xml is missing.");
    expect(failureOf(await readDocx(xlsx([{ name: "S", content: rowsOf([1]) }])))).toBe(
      "The file is damaged: its part xl/workbook.xml is no Word document.",
    );
  });

  test("lacks a sheet or slide", async () => {
    const workbook = archiveOf({
      "xl/workbook.xml": xml("workbook", '<sheets><sheet name="Costs" r:id="s"/></sheets>'),
    });
    expect(failureOf(await readXlsx(workbook))).toBe('The file is damaged: its sheet "Costs" is missing.');
    const presentation = archiveOf({
      "ppt/presentation.xml": xml("p:presentation", '<p:sldIdLst><p:sldId r:id="s"/></p:sldIdLst>'),
      "ppt/_rels/presentation.xml.rels": references(["s", "slide", "slides/slide1.xml"]),
    });
    expect(failureOf(await readPptx(presentation))).toBe("The file is damaged: its slide 1 is missing.");
  });

  test("lacks its shared strings", async () => {
    const content = '<sheetData><row><c t="s"><v>0</v></c></row></sheetData>';
    expect(failureOf(await readXlsx(xlsx([{ name: "S", content }])))).toBe(
      "The file is damaged: the part that holds the texts of its cells is missing.",
    );
  });

  test("has a part whose bytes were changed", async () => {
    const stored = docx(word("Hello"));
    // changes the first compressed byte to an invalid block type
    const broken = stored.slice();
    const name = Buffer.from(broken).indexOf("word/document.xml");
    broken[name + "word/document.xml".length] = 0xff;
    expect(failureOf(await readDocx(broken))).toBe(
      "The file is damaged: its part word/document.xml cannot be decompressed.",
    );
    const other = stored.slice();
    const listed = Buffer.from(other).lastIndexOf("word/document.xml") - 46;
    other[listed + 16] = (other[listed + 16] ?? 0) ^ 1;
    expect(failureOf(await readDocx(other))).toBe(
      "The file is damaged: its part word/document.xml does not agree with its checksum.",
    );
  });

  test("has a part that is cut off, is no XML, or declares entities", async () => {
    const main = (content: string) => readDocx(archiveOf({ "word/document.xml": content }));
    expect(failureOf(await main(xml("w:document", `<w:body>${word("x")}`).slice(0, -20)))).toBe(
      "The file is damaged: its part word/document.xml is cut off.",
    );
    expect(failureOf(await main("no XML at all"))).toBe("The file is damaged: its part word/document.xml is no XML.");
    expect(failureOf(await main(`<!DOCTYPE x [<!ENTITY a "b">]>${xml("w:document", "<w:body>&a;</w:body>")}`))).toBe(
      "The file is damaged: its part word/document.xml declares a document type, as no Office document does.",
    );
  });

  test("is encrypted completely or in parts", async () => {
    const message = "The file is encrypted. Upload it without a password.";
    const ole = new Uint8Array(2_048);
    ole.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    for (const read of [readDocx, readXlsx, readPptx]) expect(failureOf(await read(ole))).toBe(message);
    const marked = good.slice();
    marked[Buffer.from(marked).lastIndexOf("_rels/.rels") - 46 + 8] = 1;
    expect(failureOf(await readDocx(marked))).toBe(message);
  });

  test("has external or circular relationships, and nothing is fetched", async () => {
    const file = archiveOf({
      "_rels/.rels":
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="x/officeDocument" Target="http://localhost:1/evil.xml" TargetMode="External"/><Relationship Id="b" Type="x/officeDocument" Target="../../../../etc/passwd"/></Relationships>',
      "word/document.xml": xml("w:document", `<w:body>${word("inside")}</w:body>`),
      "word/_rels/document.xml.rels": references(["d", "comments", "document.xml"], ["f", "footnotes", "document.xml"]),
    });
    expect(textOf(await readDocx(file))).toBe("inside");
  });
});
