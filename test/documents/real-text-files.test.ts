// Reads real text files (CSV, JSON, Markdown, plain text) and checks that their text contains expected excerpts.

import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import { readFileText } from "../../src/documents/read-file.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { HAS_REAL_DOCUMENTS, REAL_DOCUMENTS, realDocumentPaths, SKIP_REASON } from "./real-documents.ts";

const CUSTOMER =
  "Index: 2 | Customer Id: 1Ef7b82A4CAAD10 | First Name: Preston | Last Name: Lozano, Dr | Company: Vega-Gentry | City: East Jimmychester | Country: Djibouti | Phone 1: 5153435776 | Phone 2: 686-620-1820x944 | Email: vmata@colon.com | Subscription Date: 2021-04-23 | Website: http://www.hobbs.com/";
const CUPS = [
  "Stanley Cups\n\nTeam | Location | Stanley Cups",
  "Team: Blues | Location: STL | Stanley Cups: 1",
  "Team: Maple Leafs | Location: TOR | Stanley Cups: 13",
];

/** Parts of the text of each file, in the order of the text. */
const EXPECTED_TEXTS: Readonly<Record<string, readonly string[]>> = {
  "normal/docling__csv-comma.csv": [
    "Index | Customer Id | First Name",
    CUSTOMER,
    "Company: Dominguez, Mcmillan and Donovan | City: Bensonview",
    "Country: Slovakia (Slovak Republic) | Phone 1: 001-234-203-0635x76146",
  ],
  "normal/docling__csv-semicolon.csv": [
    "Last Name: Lozano | Company: Vega-Gentry | City: East Jimmychester",
    "Company: Dominguez;Mcmillan and Donovan | City: Bensonview",
    "Subscription Date: 2021-04-17 | Website: https://goodwin-ingram.com/",
  ],
  "normal/docling__csv-tab.csv": [
    "Index: 3 | Customer Id: 6F94879bDAfE5a6 | First Name: Roy",
    "Company: Dominguez Mcmillan and Donovan | City: Bensonview",
    "Email: stanleyblackwell@benson.org | Subscription Date: 2020-06-02",
  ],
  "normal/unstructured__stanley-cups.csv": CUPS,
  "normal/unstructured__spring-weather.html.json": [
    "[0].type: Title\n[0].element_id: fb902c5b26b38e2d35a70a55d43a5de6\n[0].text: News Around NOAA",
    "[2].text: Are You Weather-Ready for the Spring?",
    "[2].metadata.data_source.version: 162215905222974206637545574128436022861",
    "metadata.data_source.date_created: 1678441216.0",
  ],
  "normal/docling__ending_with_table.md": [
    "Character | Name in German | Name in French | Name in Italian",
    "Character: Scrooge McDuck | Name in German: Dagobert Duck | Name in French: Balthazar Picsou",
    "Character: Louie | Name in German: Track | Name in French: Loulou | Name in Italian: Qua",
  ],
  "normal/docling__mixed.md": ["# Title\n\nSome text", "## Famous ducks", "<td>Dagobert Duck</td>"],
  "normal/docling__nested.md": ["A list featuring nesting:", "\t- def1234：", "* changing symbol"],
  "normal/docling__wiki.md": [
    "# IBM\n\nInternational Business Machines Corporation (using the trademark IBM), nicknamed Big Blue",
    "IBM was founded in 1911 as the Computing-Tabulating-Recording Company (CTR)",
    "IBM Personal Computer, — its DOS software provided by Microsoft, — which became",
  ],
  "encoding/markitdown__test_mskanji.csv": [
    "名前 | 年齢 | 住所",
    "名前: 佐藤太郎 | 年齢: 30 | 住所: 東京",
    "名前: 三木英子 | 年齢: 25 | 住所: 大阪",
    "名前: 髙橋淳 | 年齢: 35 | 住所: 名古屋",
  ],
  "encoding/unstructured__stanley-cups-utf-16.csv": CUPS,
  "encoding/unstructured__fake-text-utf-16-be.txt": [
    "This is a test document to use for unit tests.\n\nDoylestown, PA 18901\n\nImportant points:",
    "   - Hamburgers are delicious\n   - Dogs are the best",
    "   - I love fuzzy blankets",
  ],
  "malformed/docling__csv-inconsistent-header.csv": ["1 | 2 | 3\na | b | c | d\na | b | c | d"],
  "malformed/docling__csv-too-few-columns.csv": ["1 | 2 | 3 | 4\na | 'b' | c | d\na | b | c\na | b | c | d"],
  "malformed/docling__csv-too-many-columns.csv": ["1 | 2 | 3 | 4\na | b | c | d\na | b | c | d | e\na | b | c | d"],
  "huge/test_files__large_strings.xlsx.2.csv": [
    "abandonment | abandonment\nabberations | abberations\nAbbevillian | Abbevillian",
    "abranchiate | abranchiate",
    "bewilderment | bewilderment",
  ],
};

async function textOf(path: string): Promise<string> {
  const file = join(REAL_DOCUMENTS, path);
  const filename = basename(path);
  const mediaType = await mediaTypeOf(file, filename);
  if (mediaType === null) throw new Error(`${path} has no known format`);
  const read = await readFileText({ path: file, bytes: statSync(file).size, filename, mediaType });
  if (read instanceof ReadFailure) throw read;
  return read.pieces.join("");
}

describe.skipIf(!HAS_REAL_DOCUMENTS)(`real text files${SKIP_REASON}`, () => {
  for (const [path, sentences] of Object.entries(EXPECTED_TEXTS)) {
    test(path, async () => {
      let rest = await textOf(path);
      expect(rest).not.toMatch(/[\0\r\ufeff\ufffd]/);
      for (const sentence of sentences) {
        const at = rest.indexOf(sentence);
        expect({ sentence, isThere: at !== -1 }).toEqual({ sentence, isThere: true });
        rest = rest.slice(at + sentence.length);
      }
    });
  }

  test("every text file has an expected text", () => {
    const textFiles = realDocumentPaths().filter((path) => /\.(?:csv|json|md|txt)$/.test(path));
    expect(textFiles.toSorted()).toEqual(Object.keys(EXPECTED_TEXTS).sort());
  });
});
