// Facts that must arrive from Office documents: for each kind of content, a document that is built here, what its text
// must contain, and what it must not contain. To add a kind, add a row to the table.

import { describe, expect, test } from "bun:test";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { partsOf, SCRIPT_CASES } from "../fixtures/scripts.ts";
import { docx, pptx, textOf, xlsx, xml } from "./office-file.ts";

/** A document with one kind of content. */
interface Kind {
  /** The document; its first bytes do not tell its format, the name of its builder does. */
  readonly text: () => Promise<string>;
  readonly facts: readonly string[];
  readonly absent?: readonly string[];
}

const word =
  (body: string, more = {}) =>
  async () =>
    textOf(await readDocx(docx(body, more)));
const slide = (content: string) => async () => textOf(await readPptx(pptx([{ content }])));
const sheet =
  (content: string, more = {}) =>
  async () =>
    textOf(await readXlsx(xlsx([{ name: "S", content }], more)));

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Paragraphs of Word with the cases of scripts. @param script run properties of a superscript and a subscript */
function scriptParagraphs(raised: string, lowered: string): string {
  return SCRIPT_CASES.map(([written]) => {
    const runs = partsOf(written).map(({ text, level }) => {
      const properties = level === 0 ? "" : `<w:rPr>${level > 0 ? raised : lowered}</w:rPr>`;
      return `<w:r>${properties}<w:t xml:space="preserve">${escaped(text)}</w:t></w:r>`;
    });
    return `<w:p>${runs.join("")}</w:p>`;
  }).join("");
}

const SCRIPT_FACTS = SCRIPT_CASES.map(([, read]) => read);

/** Shapes of a slide with the cases of scripts. */
const SCRIPT_SHAPES = SCRIPT_CASES.map(([written]) => {
  const runs = partsOf(written).map(({ text, level }) => {
    const baseline = level === 0 ? "" : `<a:rPr baseline="${level > 0 ? 30000 : -25000}"/>`;
    return `<a:r>${baseline}<a:t>${escaped(text)}</a:t></a:r>`;
  });
  return `<p:sp><p:txBody><a:p>${runs.join("")}</a:p></p:txBody></p:sp>`;
}).join("");

/** Rich texts of a workbook with the cases of scripts. */
const SCRIPT_TEXTS = SCRIPT_CASES.map(([written]) =>
  partsOf(written)
    .map(({ text, level }) => {
      const properties =
        level === 0 ? "" : `<rPr><vertAlign val="${level > 0 ? "superscript" : "subscript"}"/><sz val="11"/></rPr>`;
      return `<r>${properties}<t xml:space="preserve">${escaped(text)}</t></r>`;
    })
    .join(""),
);
const SHARED_CELLS = SCRIPT_TEXTS.map((_, at) => `<row r="${at + 1}"><c r="A${at + 1}" t="s"><v>${at}</v></c></row>`);
const INLINE_CELLS = SCRIPT_TEXTS.map(
  (text, at) => `<row r="${at + 1}"><c r="A${at + 1}" t="inlineStr"><is>${text}</is></c></row>`,
);

const SCRIPT_STYLES = xml(
  "w:styles",
  [
    '<w:style w:type="character" w:styleId="Hoch"><w:name w:val="Hochgestellt"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>',
    '<w:style w:type="character" w:styleId="Hoch2"><w:name w:val="H2"/><w:basedOn w:val="Hoch"/><w:rPr><w:b/></w:rPr></w:style>',
    '<w:style w:type="character" w:styleId="Tief"><w:name w:val="Tiefgestellt"/><w:rPr><w:position w:val="-6"/></w:rPr></w:style>',
    '<w:style w:type="character" w:styleId="Fnz"><w:name w:val="footnote reference"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>',
    '<w:style w:type="paragraph" w:styleId="Klein"><w:name w:val="Small"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>',
  ].join(""),
);
const run = (text: string, properties = "") =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;

const KINDS: Readonly<Record<string, Kind>> = {
  "superscripts and subscripts in a Word document (vertAlign)": {
    text: word(scriptParagraphs('<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>')),
    facts: SCRIPT_FACTS,
  },
  "superscripts and subscripts in a Word document (raised and lowered small text)": {
    text: word(
      scriptParagraphs('<w:position w:val="8"/><w:sz w:val="14"/>', '<w:position w:val="-6"/><w:sz w:val="14"/>'),
    ),
    facts: SCRIPT_FACTS,
  },
  "superscripts and subscripts in a Word document (styles)": {
    text: word(scriptParagraphs('<w:rStyle w:val="Hoch2"/>', '<w:rStyle w:val="Tief"/>'), {
      "styles.xml": SCRIPT_STYLES,
    }),
    facts: SCRIPT_FACTS,
  },
  "positions of text in a Word document that styles and runs set differently": {
    text: word(
      [
        `<w:p>${run("Split 10")}${run("1", '<w:vertAlign w:val="superscript"/>')}${run("2", '<w:b/><w:vertAlign w:val="superscript"/>')}${run(" cells")}</w:p>`,
        `<w:p>${run("Plain 10")}${run("6", '<w:rStyle w:val="Hoch"/><w:vertAlign w:val="baseline"/>')}${run(" cells")}</w:p>`,
        `<w:p>${run("Shift 10")}${run("6", '<w:vertAlign w:val="superscript"/><w:position w:val="0"/>')}${run(" cells")}</w:p>`,
        `<w:p>${run("Kerned 10")}${run("6", '<w:position w:val="1"/>')}${run(" cells")}</w:p>`,
        `<w:p><w:pPr><w:pStyle w:val="Klein"/></w:pPr>${run("All of 1997")}${run("12")}</w:p>`,
        `<w:p><w:pPr><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:pPr>${run("Mark of a paragraph 10")}${run("6")}</w:p>`,
        `<w:p>${run("Reference 2024")}${run("3", '<w:rStyle w:val="Fnz"/>')}${run(" ends")}</w:p>`,
        `<w:p>${run("Joined 2")}${run("10", '<w:vertAlign w:val="superscript"/>')}${run("5 values")}</w:p>`,
      ].join(""),
      { "styles.xml": SCRIPT_STYLES },
    ),
    facts: [
      "Split 10^12 cells",
      "Plain 106 cells",
      "Shift 10^6 cells",
      "Kerned 106 cells",
      "All of 199712",
      "Mark of a paragraph 106",
      "Reference 2024[3] ends",
    ],
    absent: ["105 values"],
  },
  "footnotes and endnotes of a Word document": {
    text: word(
      `<w:p>${run("Signed in 1997")}<w:r><w:footnoteReference w:id="5"/></w:r>${run(" and 1998")}<w:r><w:endnoteReference w:id="2"/></w:r>${run(".")}</w:p><w:p>${run("A star")}<w:r><w:footnoteReference w:customMarkFollows="1" w:id="6"/></w:r>${run("*", '<w:rStyle w:val="Fnz"/>')}${run(" too")}</w:p><w:p>${run("Last 7")}<w:r><w:footnoteReference w:id="7"/></w:r></w:p>`,
      {
        "styles.xml": SCRIPT_STYLES,
        "footnotes.xml": xml(
          "w:footnotes",
          `<w:footnote w:id="5"><w:p><w:r><w:footnoteRef/></w:r>${run(" The harbour treaty.")}</w:p></w:footnote><w:footnote w:id="6"><w:p>${run("Not in print.")}</w:p></w:footnote><w:footnote w:id="7"><w:p>${run("Seventh of 10")}${run("3", '<w:vertAlign w:val="superscript"/>')}</w:p></w:footnote>`,
        ),
        "endnotes.xml": xml("w:endnotes", `<w:endnote w:id="2"><w:p>${run("See the annex.")}</w:p></w:endnote>`),
      },
    ),
    facts: [
      "Signed in 1997[1] and 1998[i].",
      "[note 1: The harbour treaty.]",
      "[note i: See the annex.]",
      "A star[*] too [note: Not in print.]",
      "Last 7[2] [note 2: Seventh of 10^3]",
    ],
    absent: ["19971", "1998i", "Last 72"],
  },
  "superscripts and subscripts on slides": { text: slide(SCRIPT_SHAPES), facts: SCRIPT_FACTS },
  "superscripts and subscripts in shared texts of a workbook": {
    text: sheet(`<sheetData>${SHARED_CELLS.join("")}</sheetData>`, {
      "sharedStrings.xml": xml("sst", SCRIPT_TEXTS.map((text) => `<si>${text}</si>`).join("")),
    }),
    facts: SCRIPT_FACTS,
  },
  "superscripts and subscripts in texts of cells": {
    text: sheet(`<sheetData>${INLINE_CELLS.join("")}</sheetData>`),
    facts: SCRIPT_FACTS,
  },
};

describe("facts of Office documents", () => {
  for (const [kind, { text: read, facts, absent = [] }] of Object.entries(KINDS)) {
    test(`${kind}: ${facts.length + absent.length} facts`, async () => {
      const text = await read();
      expect(facts.filter((fact) => !text.includes(fact))).toEqual([]);
      expect(absent.filter((fact) => text.includes(fact))).toEqual([]);
    });
  }
});
