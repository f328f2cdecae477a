// Tests Word documents: structure, lists, tables, notes, and what is left out.

import { describe, expect, test } from "bun:test";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { archiveOf, docx, references, textOf, xml } from "./office-file.ts";

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (text: string, properties = "") => `<w:p><w:pPr>${properties}</w:pPr>${run(text)}</w:p>`;
const styled = (text: string, style: string) => paragraph(text, `<w:pStyle w:val="${style}"/>`);
const item = (text: string, list: number, level = 0) =>
  paragraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
const cell = (content: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${content}</w:tc>`;
const row = (...cells: string[]) => `<w:tr>${cells.join("")}</w:tr>`;
const texts = (...list: string[]) => row(...list.map((text) => cell(paragraph(text))));
const table = (columns: number, ...rows: string[]) =>
  `<w:tbl><w:tblPr><w:tblLook w:val="04A0"/></w:tblPr><w:tblGrid>${"<w:gridCol/>".repeat(columns)}</w:tblGrid>${rows.join("")}</w:tbl>`;

const STYLES = xml(
  "w:styles",
  [
    '<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>',
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>',
    '<w:style w:type="paragraph" w:styleId="Eigene"><w:name w:val="Eigene"/><w:basedOn w:val="berschrift1"/></w:style>',
    '<w:style w:type="paragraph" w:styleId="B2"><w:name w:val="标题 2"/></w:style>',
    '<w:style w:type="paragraph" w:styleId="Tief"><w:name w:val="Tief"/><w:pPr><w:outlineLvl w:val="8"/></w:pPr></w:style>',
    '<w:style w:type="paragraph" w:styleId="Verz"><w:name w:val="toc 1"/></w:style>',
    '<w:style w:type="paragraph" w:styleId="Kreis"><w:name w:val="Kreis"/><w:basedOn w:val="Kreis"/></w:style>',
  ].join(""),
);
const level = (at: number, format: string, text: string) =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
const NUMBERING = xml(
  "w:numbering",
  [
    `<w:abstractNum w:abstractNumId="7">${level(0, "bullet", "")}${level(1, "bullet", "o")}</w:abstractNum>`,
    `<w:abstractNum w:abstractNumId="8">${level(0, "decimal", "%1.")}${level(1, "decimal", "%1.%2")}${level(2, "lowerRoman", "(%3)")}</w:abstractNum>`,
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>',
    '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>',
    '<w:num w:numId="3"><w:abstractNumId w:val="8"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>',
  ].join(""),
);

async function read(body: string, more = {}): Promise<string> {
  return textOf(await readDocx(docx(body, { "styles.xml": STYLES, "numbering.xml": NUMBERING, ...more })));
}

describe("a Word document", () => {
  test("has heading levels, whatever the language of its styles", async () => {
    const text = await read(
      styled("Eins", "berschrift1") +
        styled("Zwei", "Eigene") +
        styled("三", "B2") +
        styled("Vier", "Tief") +
        paragraph("Fünf", '<w:outlineLvl w:val="2"/>') +
        styled("Text", "Kreis"),
    );
    expect(text).toBe("# Eins\n\n# Zwei\n\n## 三\n\n###### Vier\n\n### Fünf\n\nText");
  });

  test("has list labels and levels as Word shows them", async () => {
    const text = await read(
      item("bullet", 1) +
        item("below", 1, 1) +
        paragraph("between") +
        item("one", 2) +
        item("two", 2) +
        item("two one", 2, 1) +
        item("deep", 2, 2) +
        item("three", 2) +
        item("again", 2, 1) +
        item("other", 3) +
        item("none", 0),
    );
    expect(text).toBe(
      "- bullet\n  - below\n\nbetween\n\n1. one\n2. two\n  - 2.1 two one\n    - (i) deep\n3. three\n  - 3.1 again\n5. other\n\nnone",
    );
  });

  test("has table rows with column names and the text of merged cells", async () => {
    const text = await read(
      table(
        3,
        texts("City", "Year", "People"),
        row(
          cell(paragraph("Bern"), '<w:vMerge w:val="restart"/>'),
          cell(paragraph("2020")),
          cell(paragraph("134,794")),
        ),
        row(cell(paragraph(""), "<w:vMerge/>"), cell(paragraph("2021")), cell(paragraph("134,591"))),
        row(cell(paragraph("Both"), '<w:gridSpan w:val="2"/>'), cell(paragraph("9"))),
      ),
    );
    expect(text).toBe(
      [
        "City | Year | People",
        "City: Bern | Year: 2020 | People: 134,794",
        "City: Bern | Year: 2021 | People: 134,591",
        "City, Year: Both | People: 9",
      ].join("\n"),
    );
  });

  test("combines two header rows if the first one spans columns", async () => {
    const text = await read(
      table(
        3,
        row(cell(paragraph("")), cell(paragraph("2023"), '<w:gridSpan w:val="2"/>')),
        texts("City", "Spring", "Autumn"),
        texts("Bern", "12", "14"),
      ),
    );
    expect(text).toBe("2023\nCity | Spring | Autumn\nCity: Bern | 2023 Spring: 12 | 2023 Autumn: 14");
  });

  test("writes cells with long content as blocks with the column name", async () => {
    const inner = table(2, texts("Part", "Price"), texts("Bolt", "3"));
    const text = await read(
      table(
        2,
        texts("Product", "Parts"),
        row(cell(styled("Nut", "berschrift1")), cell(item("5", 1))),
        row(cell(paragraph("Machine")), cell(inner + paragraph(""))),
      ),
    );
    expect(text).toBe(
      "Product | Parts\nProduct: Nut | Parts: 5\n\nProduct: Machine\n\nParts:\n\nPart | Price\nPart: Bolt | Price: 3",
    );
  });

  test("reads a table of one cell as a frame", async () => {
    expect(await read(table(1, row(cell(styled("In a box", "berschrift1") + paragraph("Text")))))).toBe(
      "# In a box\n\nText",
    );
  });

  test("has footnotes, endnotes and comments at the end of their paragraph", async () => {
    const text = await read(
      `<w:p>${run("Claim")}<w:r><w:footnoteReference w:id="2"/></w:r>${run(" and more")}<w:r><w:endnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>`,
      {
        "footnotes.xml": xml(
          "w:footnotes",
          `<w:footnote w:type="separator" w:id="0">${paragraph("-")}</w:footnote><w:footnote w:id="2">${paragraph("Source A.")}</w:footnote>`,
        ),
        "endnotes.xml": xml("w:endnotes", `<w:endnote w:id="2">${paragraph("Source B.")}</w:endnote>`),
        "comments.xml": xml(
          "w:comments",
          `<w:comment w:id="0" w:author="Ada L.">${paragraph("Really?")}${paragraph("Yes.")}</w:comment>`,
        ),
      },
    );
    expect(text).toBe("Claim[1] and more[i] [note 1: Source A.] [note i: Source B.] [comment by Ada L.: Really? Yes.]");
  });

  test("is read with all tracked changes accepted", async () => {
    const text = await read(
      `<w:p>${run("We ")}<w:del><w:r><w:delText>never </w:delText></w:r></w:del><w:ins>${run("always ")}</w:ins><w:moveFrom>${run("gone ")}</w:moveFrom><w:moveTo>${run("pay.")}</w:moveTo></w:p>` +
        `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>${run("One ")}</w:p>${paragraph("line.")}` +
        `<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr></w:pPrChange></w:pPr>${run("Plain.")}</w:p>` +
        table(2, `<w:tr><w:trPr><w:del/></w:trPr>${cell(paragraph("x"))}</w:tr>`, texts("a", "b")),
    );
    expect(text).toBe("We always pay.\n\nOne line.\n\nPlain.\n\na | b");
  });

  test("has the results of fields and links, not their codes, and no tables of contents", async () => {
    const field = (kind: string) => `<w:r><w:fldChar w:fldCharType="${kind}"/></w:r>`;
    const text = await read(
      styled("Chapter 1 … 3", "Verz") +
        `<w:p>${run("See ")}<w:hyperlink r:id="x">${run("our page")}</w:hyperlink> ${field("begin")}<w:r><w:instrText> IF </w:instrText></w:r>${field("begin")}<w:r><w:instrText>PAGE</w:instrText></w:r>${field("separate")}${run("hidden")}${field("end")}${field("separate")}${run(" on page 4")}${field("end")}.</w:p>` +
        `<w:p>${field("begin")}${run("code")}</w:p>` +
        paragraph("A field that never ends hides nothing."),
    );
    expect(text).toBe("See our page on page 4\n\nA field that never ends hides nothing.");
  });

  test("has text boxes once, after their paragraph", async () => {
    const box = `<w:txbxContent>${paragraph("Boxed")}${table(2, texts("k", "v"))}</w:txbxContent>`;
    const text = await read(
      `<w:p>${run("Anchor")}<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>${box}</w:drawing></mc:Choice><mc:Fallback><w:pict>${box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>${run(" goes on")}</w:p>`,
    );
    expect(text).toBe("Anchor goes on\n\nBoxed\n\nk | v");
  });

  test("has equations on one line, and readable characters", async () => {
    const power = (base: string, to: string) =>
      `<m:sSup><m:e><m:r><m:t>${base}</m:t></m:r></m:e><m:sup><m:r><m:t>${to}</m:t></m:r></m:sup></m:sSup>`;
    const text = await read(
      `<w:p>${run("Area ")}<m:oMath><m:r><w:rPr><w:b/></w:rPr><m:t>A=</m:t></m:r><m:f><m:num>${power("d", "2")}<m:r><m:t>π</m:t></m:r></m:num><m:den><m:r><m:t>4</m:t></m:r></m:den></m:f></m:oMath></w:p>` +
        '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Do</w:t><w:softHyphen/><w:t>nau\u00addampf</w:t><w:noBreakHyphen/><w:t>er</w:t><w:tab/><w:t>1</w:t><w:br/><w:t>next</w:t><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Symbol" w:char="F061"/></w:r></w:p>' +
        "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r><w:ruby><w:rt><w:r><w:t>かん</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:p>",
    );
    expect(text).toBe("Area A=(d^2 π)/4\n\nDonaudampf-er\t1\nnext✓α\n\n漢");
  });

  test("is read with other prefixes, strict namespaces, absolute targets and names in upper case", async () => {
    const strict = "http://purl.oclc.org/ooxml";
    const body = `<x:document xmlns:x="${strict}/wordprocessingml/main"><x:body><x:p><x:pPr><x:pStyle x:val="H"/></x:pPr><x:r><x:t>Strict</x:t></x:r></x:p></x:body></x:document>`;
    const styles = `<styles xmlns="${strict}/wordprocessingml/main" xmlns:q="${strict}/wordprocessingml/main"><style q:type="paragraph" q:styleId="H"><name q:val="heading 1"/></style></styles>`;
    const file = archiveOf({
      "_rels/.rels": references(["r1", "officeDocument", "/Word/Document2.xml"]),
      "word/document2.xml": body,
      "word/_rels/document2.xml.rels": references(["r1", "styles", "../STYLES.xml"]),
      "styles.XML": styles,
    });
    expect(textOf(await readDocx(file))).toBe("# Strict");
  });

  test("is read without optional parts, with its main part at the usual place", async () => {
    const file = archiveOf({
      "word/document.xml": xml("w:document", `<w:body>${styled("Kept", "Heading2")}${item("item", 4)}</w:body>`),
    });
    expect(textOf(await readDocx(file))).toBe("## Kept\n\nitem");
  });

  test("is read in UTF-16, and from ZIP64 archives", async () => {
    const main = Buffer.from(`\ufeff${xml("w:document", `<w:body>${paragraph("Grüße")}</w:body>`)}`, "utf16le");
    const file = archiveOf({ "word/document.xml": main });
    expect(textOf(await readDocx(file))).toBe("Grüße");
    expect(textOf(await readDocx(inZip64(file)))).toBe("Grüße");
  });

  test("has the title of its properties, unless it is a default of a program", async () => {
    const core = (title: string) => ({
      "word/document.xml": xml("w:document", `<w:body>${paragraph("x")}</w:body>`),
      "docProps/core.xml": `<c:coreProperties xmlns:c="c" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${title}</dc:title></c:coreProperties>`,
    });
    const titleOf = async (title: string) => {
      const outcome = await readDocx(archiveOf(core(title)));
      return "title" in outcome ? outcome.title : outcome.message;
    };
    expect(await titleOf("Annual  report &amp; plan\n2026")).toBe("Annual report & plan 2026");
    expect(await titleOf("Microsoft Word - report.doc")).toBeNull();
    expect(await titleOf(" ")).toBeNull();
  });

  test("fails with a message if it has no text", async () => {
    const outcome = await readDocx(docx("<w:p><w:r><w:drawing/></w:r></w:p>"));
    expect(outcome).toMatchObject({ code: "unreadable_document", message: "The file holds no text." });
  });
});

/** A ZIP64 archive of one part: sizes and offset are in the extra field (APPNOTE 4.5.3). */
function inZip64(file: Uint8Array): Uint8Array {
  const bytes = Buffer.from(file);
  const end = bytes.length - 22;
  const listAt = bytes.readUInt32LE(end + 16);
  const listed = Buffer.from(bytes.subarray(listAt, end));
  const extra = Buffer.alloc(28);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(24, 2);
  for (const [at, field] of [24, 20, 42].entries()) {
    extra.writeBigUInt64LE(BigInt(listed.readUInt32LE(field)), 4 + 8 * at);
    listed.writeUInt32LE(0xffff_ffff, field);
  }
  listed.writeUInt16LE(extra.length, 30);
  const tail = Buffer.from(bytes.subarray(end));
  tail.writeUInt32LE(listed.length + extra.length, 12);
  return new Uint8Array(Buffer.concat([bytes.subarray(0, listAt), listed, extra, tail]));
}
