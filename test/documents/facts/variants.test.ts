// Further variants of what files of other programs contain: each arrives with its meaning. The files are built here.

import { describe, expect, test } from "bun:test";
import { formatOfMediaType } from "../../../src/documents/formats.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { openDocument } from "../fixtures/book.ts";
import { docx, pptx, xlsx, xml } from "../office/office-file.ts";
import { buildPdf, lines } from "../pdf/build-pdf.ts";
import { textOf } from "../reading.ts";

const OPEN_XML = "application/vnd.openxmlformats-officedocument";
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  docx: `${OPEN_XML}.wordprocessingml.document`,
  pptx: `${OPEN_XML}.presentationml.presentation`,
  xlsx: `${OPEN_XML}.spreadsheetml.sheet`,
};

/** The text of a file. Office files are built without the list by which their format is recognised. */
async function read(name: string, content: string | Uint8Array): Promise<string> {
  const mediaType = MEDIA_TYPES[name.split(".").at(-1) ?? ""];
  if (mediaType === undefined) return (await textOf(name, content)).text;
  const bytes = new Uint8Array(Buffer.from(content));
  const outcome = await formatOfMediaType(mediaType).read({ bytes, filename: name }, () => undefined);
  if (outcome instanceof ReadFailure) throw outcome;
  return outcome.pieces.join("");
}

type Case = readonly [
  what: string,
  name: string,
  content: string | Uint8Array,
  has: readonly string[],
  not?: readonly string[],
];

const run = (text: string, properties = "") =>
  `<w:r>${properties === "" ? "" : `<w:rPr>${properties}</w:rPr>`}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const raised = (text: string) => run(text, '<w:vertAlign w:val="superscript"/>');
const lowered = (text: string) => run(text, '<w:vertAlign w:val="subscript"/>');
const moved = (text: string, halfPoints: number) => run(text, `<w:position w:val="${halfPoints}"/><w:sz w:val="14"/>`);
const row = (...cells: readonly string[]) =>
  `<w:tr>${cells.map((cell) => `<w:tc><w:p>${cell}</w:p></w:tc>`).join("")}</w:tr>`;
const textBox = `<w:txbxContent><w:p>${run("Boxed deadline 4 May")}</w:p></w:txbxContent>`;
const vml = `<w:pict><v:textbox xmlns:v="urn:schemas-microsoft-com:vml">${textBox}</v:textbox></w:pict>`;
const slideRun = (text: string, properties = "") => `<a:r><a:rPr${properties}/><a:t>${text}</a:t></a:r>`;

/** A sheet with values below each other in these formats. */
function formatted(cells: readonly (readonly [code: string, value: number])[]): Uint8Array {
  const formats = cells.map(([code], at) => `<numFmt numFmtId="${170 + at}" formatCode="${code}"/>`).join("");
  const uses = cells.map((_, at) => `<xf numFmtId="${170 + at}"/>`).join("");
  const rows = cells.map(
    ([, value], at) => `<row r="${at + 1}"><c r="A${at + 1}" s="${at + 1}"><v>${value}</v></c></row>`,
  );
  const styles = `<numFmts>${formats}</numFmts><cellXfs><xf numFmtId="0"/>${uses}</cellXfs>`;
  return xlsx([{ name: "S", content: `<sheetData>${rows.join("")}</sheetData>` }], {
    "styles.xml": xml("styleSheet", styles),
  });
}

/** A row of cells on a page. */
const rowAt =
  (xs: readonly number[]) =>
  (y: number, ...texts: readonly string[]) =>
    texts.flatMap((text, at) => (text === "" ? [] : lines([text], xs[at] ?? 0, y)));
const row3 = rowAt([60, 150, 400]);
const wide3 = rowAt([60, 200, 340]);
/** A check box of a form. */
const box = (name: string, state: string) =>
  `/Subtype /Widget /FT /Btn /F 4 /T (${name}) /V ${state} /AS ${state} /AP << /N << /Yes << >> /Off << >> >> >>`;

const half =
  "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>";
/** The embedded document of a chart. */
const openChart = ([head = [], ...rows]: readonly (readonly string[])[]) => {
  const row = (texts: readonly string[]) =>
    `<table:table-row>${texts.map((text) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`).join("")}</table:table-row>`;
  return `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"><office:body><office:chart><chart:chart><chart:title><text:p>River level</text:p></chart:title><table:table table:name="local-table"><table:table-header-rows>${row(head)}</table:table-header-rows><table:table-rows>${rows.map(row).join("")}</table:table-rows></table:table></chart:chart></office:chart></office:body></office:document-content>`;
};
const power = (base: string, exponent: string) => `<math><msup><mn>${base}</mn><mn>${exponent}</mn></msup></math>`;

const CASES: Readonly<Record<string, readonly Case[]>> = {
  formulas: [
    [
      "of MathML",
      "a.html",
      `<main><p>Use <math><mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math> cups of ${power("10", "6")} cells.</p><p><math><mi>x</mi><mo>=</mo><msqrt><mrow><msup><mi>b</mi><mn>2</mn></msup><mo>−</mo><mn>4</mn></mrow></msqrt></math> and <math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub></math></p></main>`,
      ["Use 1 1/2 cups of 10^6 cells", "x=√(b^2−4)", "∑_(i=1)^n x_i"],
    ],
    [
      "of MathML beside numbers",
      "a.html",
      `<main><p>Use 1<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> cups, then 5${power("10", "3")}7 and (${power("2", "8")}).</p></main>`,
      ["Use 1 1/2 cups, then 5 10^3 7 and (2^8)."],
    ],
    [
      "of MathML that are cut off, or repeated in TeX and for the eye",
      "a.html",
      '<main><p>Rate <math><semantics><msup><mn>10</mn><mn>6</mn></msup><annotation encoding="application/x-tex">10^{6}</annotation></semantics></math><span aria-hidden="true">106</span> now.</p><p>Cut <math><mfrac><mn>7</mn><p>Next line.</p></main>',
      ["Rate 10^6 now.", "Cut 7", "Next line."],
      ["106", "10^{6}"],
    ],
    [
      "of Word beside numbers",
      "a.docx",
      docx(`<w:p>${run("Use 1")}${half}${run("cups")}</w:p><w:p>${run("Take (")}${half}${run(")")}</w:p>`),
      ["Use 1 1/2 cups", "Take (1/2)"],
    ],
    [
      "of OpenDocument, in the text and alone",
      "a.odt",
      openDocument(
        "text",
        '<text:p>Use 1<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="./ObjectReplacements/Object 1"/></draw:frame> cups.</text:p>',
        "",
        {
          "Object 1/content.xml":
            '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mfrac><mn>1</mn><mn>2</mn></mfrac><annotation encoding="StarMath 5.0">1 over 2</annotation></semantics></math>',
        },
      ),
      ["Use 1 1/2 cups."],
      ["over"],
    ],
    [
      "and scripts of articles in XML",
      "a.xml",
      '<article xmlns:mml="http://www.w3.org/1998/Math/MathML"><p>It grew 10<sup>6</sup> fold in 1997<xref ref-type="bibr"><sup>12</sup></xref>, CO<sub>2</sub> and x<sub>i</sub>; half is <mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:mfrac></mml:math>.</p><p>Rate 10<hi rend="superscript">-3</hi>, 2<superscript>10</superscript>=1024, <b>bold</b>face.</p></article>',
      ["10^6 fold in 1997[12], CO2 and x_i; half is 1/2.", "Rate 10^-3, 2^10=1024, boldface."],
    ],
    [
      "of Word with a mixed number",
      "a.docx",
      docx(`<w:p>${half.replace("<m:oMath>", "<m:oMath><m:r><m:t>3</m:t></m:r>")}</w:p>`),
      ["3 1/2"],
    ],
  ],
  charts: [
    [
      "of OpenDocument, of one series and of two",
      "a.odp",
      openDocument(
        "presentation",
        '<draw:page draw:name="p1"><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page>',
        "",
        {
          "Object 1/content.xml": openChart([
            ["", "Dresden"],
            ["April", "2.31"],
          ]),
        },
      ),
      ["River level", "April | Dresden: 2.31"],
    ],
    [
      "of OpenDocument in a text",
      "a.odt",
      openDocument(
        "text",
        '<text:p>Report</text:p><text:p><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>',
        "",
        {
          "Object 1/content.xml": openChart([
            ["", "North", "South"],
            ["May", "4", "6"],
          ]),
        },
      ),
      ["May | North: 4 | South: 6"],
    ],
  ],
  notes: [
    [
      "whose marks are links, by role, class and address",
      "a.html",
      '<p>In 1997<a role="doc-noteref" href="#a">12</a>, 2003<sup><a role="doc-noteref" href="#b">4</a></sup> and 30<a class="footnote-ref" href="#c">9</a>, later 8<a href="#fn3">3</a> and 5<a href="#_ftn4">[4]</a>. See <a href="#note-3">note 3</a> and <a href="#x">7</a>.</p><aside role="doc-footnote">Note A 55.</aside><aside>An advertisement</aside><section role="doc-endnotes"><p>Note B 66.</p></section>',
      ["1997[12], 2003[4] and 30[9], later 8[3] and 5[4]. See note 3 and 7.", "Note A 55.", "Note B 66."],
      ["advertisement"],
    ],
  ],
  scripts: [
    [
      "in a table",
      "a.docx",
      docx(
        `<w:tbl>${row(run("Area"), run("42 km") + raised("2"))}${row(run("Gas"), run("CO") + lowered("2") + run(" 415 ppm"))}</w:tbl><w:p>${run("10") + raised("-9") + run(" m and a note") + raised("3")}</w:p>`,
      ),
      ["42 km^2", "CO2 415 ppm", "10^-9", "note[3]"],
    ],
    [
      "by a style and a style based on it",
      "a.docx",
      docx(
        `<w:p>${run("Peak 4.7 × 10") + run("6", '<w:rStyle w:val="Up"/>') + run(" units, see source") + run("12", '<w:rStyle w:val="Up2"/>')}</w:p>`,
        {
          "styles.xml": xml(
            "w:styles",
            '<w:style w:type="character" w:styleId="Up"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style><w:style w:type="character" w:styleId="Up2"><w:basedOn w:val="Up"/></w:style>',
          ),
        },
      ),
      ["10^6", "source[12]"],
    ],
    [
      "by their position",
      "a.docx",
      docx(`<w:p>${run("Volume 12 m") + moved("3", 8) + run(" and log") + moved("10", -4) + run(" x")}</w:p>`),
      ["m^3", "log_10"],
    ],
    [
      "in rich text of a sheet",
      "a.xlsx",
      xlsx(
        [
          {
            name: "S",
            content:
              '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Value</t></is></c></row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><v>5</v></c></row></sheetData>',
          },
        ],
        {
          "sharedStrings.xml": xml(
            "sst",
            '<si><r><t>Area (m</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>2</t></r><r><t>)</t></r></si><si><r><t>Yield</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>1</t></r></si>',
          ),
        },
      ),
      ["m^2", "Yield[1]"],
    ],
    [
      "on a slide",
      "a.pptx",
      pptx([
        {
          content: `<p:sp><p:txBody><a:p>${slideRun("Speed 3 × 10") + slideRun("8", ' baseline="30000"') + slideRun(" m/s, H") + slideRun("2", ' baseline="-25000"') + slideRun("O")}</a:p></p:txBody></p:sp>`,
        },
      ]),
      ["10^8 m/s", "H2O"],
    ],
    [
      "drawn smaller and higher on a page",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(["The flux was 6.0 x 10"], 60, 700),
            { text: "14", x: 155.5, y: 696, size: 6 },
            ...lines(["per second."], 164, 700),
            ...lines(["Sales rose in 2019"], 60, 670),
            { text: "3", x: 143.2, y: 666, size: 6 },
            ...lines(["and fell later."], 150, 670),
          ],
        ],
      }),
      ["10^14", "2019[3]"],
    ],
    [
      "in RTF",
      "a.rtf",
      String.raw`{\rtf1\ansi E = mc{\super 2} and H{\sub 2}O. Rate 10{\super -3}.}`,
      ["mc^2", "H2O", "10^-3"],
    ],
    [
      "in cells of a page",
      "a.html",
      "<main><table><tr><th>Isotope<th>Half-life</tr><tr><td><sup>14</sup>C<td>5,730 years<sup>[1]</sup></tr></table></main>",
      ["5,730 years[1]"],
      ["years1"],
    ],
  ],
  "controls of Word": [
    [
      "that are check boxes in a table, below the names of their columns",
      "a.docx",
      docx(
        `<w:tbl>${row(run("Question"), run("Yes"), run("No"))}${row(run("Brakes tested"), run("☑"), run("☐"))}${row(run("Lights tested"), run("☐"), run("☑"))}</w:tbl><w:tbl>${row(run("☑"), run("Fire"))}${row(run("☐"), run("Flood"))}</w:tbl>`,
      ),
      ["Question: Lights tested | Yes: ☐ | No: ☑", "☑ | Fire\n☐ | Flood"],
    ],
    [
      "in which nothing was entered",
      "a.docx",
      docx(
        `<w:p>${run("Name: ")}<w:sdt><w:sdtPr><w:showingPlcHdr/><w:text/></w:sdtPr><w:sdtContent>${run("Hier klicken", '<w:rStyle w:val="Platzhaltertext"/>')}</w:sdtContent></w:sdt></w:p><w:p>${run("City: ")}<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>${run("Oslo")}</w:sdtContent></w:sdt></w:p><w:p>${run("Grey hint", '<w:rStyle w:val="Platzhaltertext"/>')}</w:p>`,
        {
          "styles.xml": xml(
            "w:styles",
            '<w:style w:type="character" w:styleId="Platzhaltertext"><w:name w:val="Placeholder Text"/></w:style>',
          ),
        },
      ),
      ["Name:", "City: Oslo", "Grey hint"],
      ["Hier klicken"],
    ],
  ],
  "names and values": [
    [
      "in two columns, of which no row is a header",
      "a.docx",
      docx(
        `<w:tbl>${row(run("Name"), run("Ann Berg"))}${row(run("Phone"), run("+47 22 33"))}${row(run("City"), run("Oslo"))}</w:tbl>`,
      ),
      ["Name | Ann Berg", "Phone | +47 22 33", "City | Oslo"],
      ["Ann Berg:"],
    ],
    [
      "in two columns below names",
      "a.docx",
      docx(
        `<w:tbl>${row(run("Fruit"), run("Price"))}${row(run("Apple"), run("12"))}${row(run("Pear"), run("9"))}</w:tbl><w:p>${run("Bold")}</w:p><w:tbl>${row(run("City", "<w:b/>"), run("Mayor", "<w:b/>"))}${row(run("Oslo"), run("Anne"))}</w:tbl>`,
      ),
      ["Fruit: Pear | Price: 9", "City: Oslo | Mayor: Anne"],
    ],
  ],
  "struck text": [
    [
      "of Word",
      "a.docx",
      docx(
        `<w:p>${run("Now ")}${run("49 €", "<w:strike/>")}${run(" 39 €, ")}${run("10", "<w:dstrike/>")}${run(" to ", "<w:strike/>")}${run("12", '<w:strike w:val="0"/>')}</w:p>`,
      ),
      ["Now ~~49 €~~ 39 €, ~~10 to~~ 12"],
    ],
    [
      "of a slide",
      "a.pptx",
      pptx([
        {
          content: `<p:sp><p:txBody><a:p>${slideRun("Now ")}${slideRun("49 €", ' strike="sngStrike"')}${slideRun(" 39 €", ' strike="noStrike"')}</a:p></p:txBody></p:sp>`,
        },
      ]),
      ["Now ~~49 €~~ 39 €"],
    ],
    [
      "of cells and of parts of their texts",
      "a.xlsx",
      xlsx(
        [
          {
            name: "S",
            content:
              '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Item</t></is></c><c r="B1" t="inlineStr"><is><t>Price</t></is></c></row><row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" s="1"><v>49</v></c></row><row r="3"><c r="A3" t="inlineStr"><is><t>Axe</t></is></c><c r="B3"><v>39</v></c></row></sheetData>',
          },
        ],
        {
          "sharedStrings.xml": xml(
            "sst",
            "<si><r><t>Rope, </t></r><r><rPr><strike/></rPr><t>12</t></r><r><t> 9 m</t></r></si>",
          ),
          "styles.xml": xml(
            "styleSheet",
            '<fonts><font/><font><strike/></font></fonts><cellXfs><xf/><xf fontId="1"/></cellXfs>',
          ),
        },
      ),
      ["Item: Rope, ~~12~~ 9 m | Price: ~~49~~", "Item: Axe | Price: 39"],
    ],
    [
      "of OpenDocument",
      "a.odt",
      openDocument(
        "text",
        '<text:p>Now <text:span text:style-name="S">49 €</text:span> 39 €.</text:p>',
        '<style:style style:name="S" style:family="text"><style:text-properties style:text-line-through-style="solid"/></style:style>',
      ),
      ["Now ~~49 €~~ 39 €."],
    ],
    [
      "of RTF",
      "a.rtf",
      String.raw`{\rtf1\ansi Now \strike 49 kr\strike0  39 kr, {\striked1 10} 12.}`,
      ["Now ~~49 kr~~ 39 kr, ~~10~~ 12."],
    ],
  ],
  "scripts of pages": [
    [
      "that are cents of prices, but not marks of notes behind them",
      "a.html",
      '<main><p>Now <span class="price">€<span>12</span><sup>99</sup></span> or 7<sup>50</sup> €, before $1,499<sup>00</sup>.</p><p>In 1999 it cost $25<sup><a href="#n12">12</a></sup>, 40<sup>12</sup> people and $3<sup>2</sup> say.</p></main>',
      ["€12.99 or 7,50 €", "$1,499.00", "$25[12], 40[12] people", "$3[2]"],
    ],
    [
      "before a unit, in contrast to fractions",
      "a.html",
      "<main><p>With 5 × 10<sup>6</sup>/ml and 10<sup>3</sup>/l flow 10 m<sup>3</sup>/s, but 2<sup>1</sup>/<sub>2</sub> cups, <sup>3</sup>/<sub>4</sub> mile and 1<sup>1</sup>/2.</p></main>",
      ["5 × 10^6/ml and 10^3/l flow 10 m^3/s, but 2 1/2 cups, 3/4 mile and 1 1/2."],
    ],
    [
      "that are whole fractions",
      "a.html",
      "<main><p>A board of 7<sup>3/4</sup> in by 5'9<sup>1/2</sup>\", and <sup>1/2</sup> cup.</p></main>",
      ["7 3/4 in by 5'9 1/2\", and 1/2 cup."],
    ],
    [
      "that are whole fractions of Word",
      "a.docx",
      docx(`<w:p>${run("A board of 7")}${raised("3/4")}${run(" in")}</w:p>`),
      ["7 3/4 in"],
    ],
    [
      "that are mass numbers",
      "a.html",
      "<main><p>Dating by <sup>14</sup>C (<sup>14</sup>C), of <sup>238</sup>U, Ca<sup>2+</sup>.</p></main>",
      ["Dating by ^14C (^14C), of ^238U, Ca^2+."],
    ],
    [
      "behind an index",
      "a.html",
      "<main><p>So x<sub>1</sub><sup>2</sup> + y<sub>i+1</sub><sup>3</sup> = 9.</p></main>",
      ["x_1^2 + y_(i+1)^3 = 9"],
    ],
  ],
  "numbers and tables": [
    [
      "number formats",
      "a.xlsx",
      formatted([
        ["0000\\-00\\-00", 20260504],
        ["0.0%", 0.075],
        ["[h]:mm", 1.5],
        ["#,##0,\\ &quot;k&quot;", 45600],
        ["&quot;+&quot;0;&quot;−&quot;0", -7],
        ["# ?/?", 2.5],
        ["000\\.000", 12345],
      ]),
      ["2026-05-04", "7.5%", "36:00", "46 k", "−7", "2 1/2", "012.345"],
    ],
    [
      "number formats with a percent sign in quotation marks, which multiplies nothing",
      "a.xlsx",
      formatted([
        ["0.0&quot;%&quot;", 12.5],
        ["0.0\\%", 7.25],
        ["0%&quot; full&quot;", 0.62],
        ["0000&quot;%&quot;", 45],
      ]),
      ["12.5%", "7.3%", "62% full", "0045% (45)"],
      ["1250", "725", "4500"],
    ],
    [
      "a list of names and values below a table, and one with a title beside another",
      "a.xlsx",
      xlsx([
        {
          name: "S",
          content: `<sheetData>${[
            [1, "A:Ship", "B:Captain", "C:Tons"],
            [2, "A:Elsa", "B:Jansen", "C:1200"],
            [3, "A:Ilse", "B:Petersen", "C:950"],
            [6, "A:Contact", "B:Ms Lorenz"],
            [7, "A:Phone", "B:0431 88-12"],
            [10, "A:Day", "B:In", "C:Hours", "E:Rates"],
            [11, "A:Mon", "B:early", "C:8", "E:Basic", "F:21"],
            [12, "A:Tue", "B:late", "C:6", "E:Overtime", "F:31"],
          ]
            .map(([row, ...cells]) => {
              const written = cells.map((cell) => {
                const [column, text = ""] = String(cell).split(":");
                return /^\d+$/.test(text)
                  ? `<c r="${column}${row}"><v>${text}</v></c>`
                  : `<c r="${column}${row}" t="inlineStr"><is><t>${text}</t></is></c>`;
              });
              return `<row r="${row}">${written.join("")}</row>`;
            })
            .join("")}</sheetData>`,
        },
      ]),
      [
        "Ship: Ilse | Captain: Petersen | Tons: 950",
        "\nContact | Ms Lorenz\nPhone | 0431 88-12",
        "Day: Tue | In: late | Hours: 6\n",
        "Rates\nBasic | 21\nOvertime | 31",
      ],
      ["Ship: Contact"],
    ],
    [
      "dates in eras of Japan and Taiwan",
      "a.xlsx",
      formatted([
        ["[$-411]ggge&quot;年&quot;m&quot;月&quot;d&quot;日&quot;", 45415],
        ["[$-ja-JP-x-gannen]ggge&quot;年&quot;m&quot;月&quot;", 43586],
        ["ggge&quot;年&quot;", 32515],
        ["[$-411]gee.m.d", 45415],
        ["[$-404]e/m/d", 45415],
        ["e&quot;年&quot;", 45415],
        ["aaaa", 45415],
      ]),
      [
        "2024-05-03 (令和6年5月3日)",
        "2019-05 (令和元年5月)",
        "1989 (昭和64年)",
        "2024-05-03 (R06.5.3)",
        "2024-05-03 (113/5/3)",
        "2024年",
        "2024-05-03 (Friday)",
      ],
    ],
    [
      "CSV below the lines of an account",
      "a.csv",
      "Konto;Giro 12\nSaldo;1.234,56 EUR\n\nDatum;Text;Betrag\n03.01.2026;Miete;-900,00\n04.01.2026;Lohn;2.500,00\n",
      ["Saldo; 1.234,56 EUR", "Datum: 04.01.2026 | Text: Lohn | Betrag: 2.500,00"],
    ],
    [
      "CSV below lines that have as many separators as the rows",
      "a.csv",
      "Statement;;;\nIBAN;NO93 8601;;\nPeriod;2026-01;;\n\nDate;Text;In;Out\n03.01.2026;Salary;30000,00;\n04.01.2026;Rent;;12000,00\n",
      ["IBAN; NO93 8601", "Date: 04.01.2026 | Text: Rent | Out: 12000,00"],
    ],
    [
      "CSV without a name above its first column",
      "a.csv",
      ",Q1,Q2\nNorth,10,20\nSouth,30,40\n",
      ["North | Q1: 10 | Q2: 20"],
    ],
    [
      "CSV whose first line names the separator",
      "a.csv",
      'sep=;\nName;Preis;Menge\n"Schraube; lang";3,50;10\n"Mutter\nM8";0,20;200\n',
      ["Preis: 3,50", "Menge: 200"],
    ],
    [
      "CSV with decimal commas and ragged rows",
      "a.csv",
      "a;b;c\n1,5;2,5;3,5\n4,5;5,5\n7,5;8,5;9,5;1\n",
      ["b: 2,5", "b: 8,5"],
    ],
    [
      "CSV of an old Mac in Danish",
      "a.csv",
      Buffer.from("Navn;By;St\xbfrrelse\nS\xbfren;\x81rhus;42\n\x81se;Troms\xbf;38\n", "latin1"),
      ["Navn: Søren | By: Århus | Størrelse: 42"],
    ],
    [
      "CSV with bars",
      "a.csv",
      "id|name|price, net\n1|Ann, B.|3,20\n2|Bo, C.|4,10\n",
      ["name: Ann, B.", "price, net: 4,10"],
    ],
    [
      "Markdown tables without outer bars, in lists and quotations",
      "a.md",
      "Part | Price\n:--|--:\nA\\|1 | 4,50 €\n\n- Item\n\n  | Port | Depth |\n  |---|---|\n  | Looe | 3 m |\n\n> | Q | A |\n> |---|---|\n> | Who | Ada |\n",
      ["4,50 €", "Looe", "Ada"],
    ],
    [
      "columns of a page without borders",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(["Port", "Par", "Looe", "Fowey"], 60, 100),
            ...lines(["Depth", "7 m", "3 m", "11 m"], 200, 100),
            ...lines(["Fee", "12", "9", "30"], 320, 100),
          ],
        ],
      }),
      ["Port: Looe | Depth: 3 m | Fee: 9"],
    ],
    [
      "two names of columns of two words",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(["Base Model"], 200, 100),
            ...lines(["Large Model"], 320, 100),
            ...lines(["Layers", "Heads", "Width"], 60, 112),
            ...lines(["12", "8", "512"], 200, 112),
            ...lines(["24", "16", "1024"], 320, 112),
          ],
        ],
      }),
      ["Base Model: 8", "Large Model: 16"],
    ],
  ],
  "tables of pages": [
    [
      "with quarters as names, with borders and without",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(["Branch", "Ulm", "Jena"], 60, 100),
            ...lines(["Q1", "12", "7"], 200, 100),
            ...lines(["KW 13", "14", "8"], 300, 100),
            ...lines(["2025 H1", "9", "11"], 400, 100),
            ...lines(["Kiel", "Rome", "Bari"], 60, 300),
            ...lines(["B7", "B9", "B3"], 200, 300),
            ...lines(["12", "14", "18"], 300, 300),
          ],
        ],
      }),
      ["Branch: Jena | Q1: 7 | KW 13: 8 | 2025 H1: 11", "Kiel | B7 | 12"],
    ],
    [
      "whose long cells reach up from the row of their neighbours",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...row3(100, "Tool", "Purpose of the tool", "Owner"),
            ...row3(120, "", "Measures the thickness of plates", ""),
            ...row3(132, "Caliper", "and the diameter of tubes", "Ines"),
            ...row3(152, "", "Cuts steel up to 40 mm; needs a", ""),
            ...row3(164, "Torch", "permit of the yard", "Olaf"),
          ],
        ],
      }),
      [
        "Purpose of the tool: Measures the thickness of plates and the diameter of tubes | Owner: Ines",
        "Tool: Torch | Purpose of the tool: Cuts steel up to 40 mm; needs a permit of the yard",
      ],
    ],
    [
      "whose short cells stand in the middle of long ones",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...row3(100, "Course", "Content of the course", "Price"),
            ...row3(118, "", "Knots, rules of the road and two", ""),
            ...row3(130, "Sailing I", "trips with the boat of the", "240"),
            ...row3(142, "", "school", ""),
            ...row3(160, "", "Tacking, gybing and mooring under", ""),
            ...row3(166, "Sailing II", "", "310"),
            ...row3(172, "", "sail in various winds", ""),
          ],
        ],
      }),
      [
        "Course: Sailing I | Content of the course: Knots, rules of the road and two trips with the boat of the school | Price: 240",
        "Content of the course: Tacking, gybing and mooring under sail in various winds | Price: 310",
      ],
    ],
    [
      "whose first cell of the last row has a further line, in contrast to text below",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...wide3(100, "Task", "Person", "Cost"),
            ...wide3(118, "Change the pump in the", "Ms Dahl", "1,200"),
            ...lines(["cellar and test the pipes"], 60, 130),
            ...wide3(148, "New paint", "Mr Voss", "300"),
            ...wide3(166, "Repair of the crane as", "Lang & Co", "4,500"),
            ...lines(["soon as parts arrive"], 60, 178),
            ...lines(["The list is provisional, as prices of the yard change often."], 60, 208),
          ],
        ],
      }),
      ["Task: Repair of the crane as soon as parts arrive | Person: Lang & Co | Cost: 4,500", "\n\nThe list is"],
    ],
    [
      "with borders, whose rows have times as names",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(["8-10", "10-12"], 64, 132, 20),
            ...["Mon", "Tue", "Wed"].map((text, at) => ({ text, x: 134 + 60 * at, y: 114 })),
            ...["Maths", "Art", "-"].map((text, at) => ({ text, x: 134 + 60 * at, y: 132 })),
            ...["Latin", "Sport", "Music"].map((text, at) => ({ text, x: 134 + 60 * at, y: 156 })),
          ],
        ],
        drawing: [
          ...[100, 120, 140, 160].map((y) => `60 ${800 - y} m 310 ${800 - y} l S`),
          ...[60, 130, 190, 250, 310].map((x) => `${x} 700 m ${x} 640 l S`),
        ].join("\n"),
      }),
      ["10-12 | Mon: Latin | Tue: Sport | Wed: Music"],
    ],
    [
      "centred below their headings, which stay above them",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...["Turnover", "Models", "Costs"].flatMap((heading, at) => [
              { text: heading, x: 60, y: 100 + 120 * at },
              ...lines(
                [
                  "Name of the region",
                  "Northern coast and isles",
                  "Southern coast and isles",
                  "Western coast and isles",
                ],
                200,
                124 + 120 * at,
              ),
              ...lines(["Year 2021", "11,400", "13,900", "17,250"], 330, 124 + 120 * at),
              ...lines(["Year 2022", "12,100", "14,700", "18,050"], 400, 124 + 120 * at),
            ]),
          ],
        ],
      }),
      [
        "Turnover\n\nName of the region: Northern coast and isles | Year 2021: 11,400",
        "Costs\n\nName of the region: Northern coast and isles | Year 2021: 11,400",
      ],
    ],
    [
      "of a form: several check boxes with labels on a line",
      "a.pdf",
      buildPdf({
        pages: [[...lines(["Swimmer:", "Diver:"], 60, 100), ...lines(["Vegetarian:", "Vegan:"], 220, 100)]],
        annotations: [
          { entries: box("a", "/Yes"), x: 130, y: 100, width: 12 },
          { entries: box("b", "/Off"), x: 300, y: 100, width: 12 },
          { entries: box("c", "/Off"), x: 130, y: 112, width: 12 },
          { entries: box("d", "/Yes"), x: 300, y: 112, width: 12 },
        ],
      }),
      ["Swimmer: ☑ | Vegetarian: ☐", "Diver: ☐ | Vegan: ☑"],
    ],
  ],
  layout: [
    [
      "boxes with borders beside each other, of as many lines",
      "a.pdf",
      buildPdf({
        pages: [
          [
            { text: "Visitor information of the museum", x: 60, y: 60 },
            ...lines(["Hours", "Tuesday to Sunday", "10 am to 5 pm", "Closed on Mondays"], 60, 100),
            ...lines(["Tickets", "Adults 9 pounds", "Children 4 pounds", "Families 20 pounds"], 230, 100),
            ...lines(["Getting here", "Bus 12 to harbour", "then ferry every", "30 minutes"], 400, 100),
            { text: "Dogs are welcome in the garden.", x: 60, y: 200 },
          ],
        ],
        drawing: "50 655 150 60 re 220 655 150 60 re 390 655 150 60 re S",
      }),
      ["Tuesday to Sunday 10 am to 5 pm Closed on Mondays", "Bus 12 to harbour then ferry every 30 minutes"],
      ["Hours: ", "Sunday | "],
    ],
    [
      "texts that were added to a page: formatted ones, and those of attached files",
      "a.pdf",
      buildPdf({
        pages: [lines(["The rent is due on the first of the month."], 60, 100)],
        annotations: [
          {
            entries:
              '/Subtype /FreeText /F 4 /DA (/Helv 10 Tf) /RC (<body xmlns="http://www.w3.org/1999/xhtml"><p>Rich <b>deadline</b> 9 July</p></body>)',
            x: 60,
            y: 300,
          },
          { entries: "/Subtype /FileAttachment /F 4 /Contents (Invoice 55 attached)", x: 60, y: 400 },
        ],
      }),
      ["Rich deadline 9 July", "[comment: Invoice 55 attached]"],
    ],
    [
      "boxes beside each other",
      "a.pdf",
      buildPdf({
        pages: [
          [
            ...lines(
              ["Opening hours", "Monday to Friday", "nine to five", "closed on holidays", "and in August"],
              60,
              700,
            ),
            ...lines(["Contact", "Call the desk", "at extension 48", "or write a note", "to the keeper"], 330, 700),
          ],
        ],
      }),
      ["Monday to Friday"],
      ["Opening hours Contact", "nine to five at"],
    ],
    [
      "a text box and its fallback count once",
      "a.docx",
      docx(
        `<w:p><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="wps"><w:drawing><wps:txbx xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">${textBox}</wps:txbx></w:drawing></mc:Choice><mc:Fallback>${vml}</mc:Fallback></mc:AlternateContent></w:r></w:p>`,
      ),
      ["Boxed deadline 4 May"],
      ["4 May\n\nBoxed"],
    ],
    [
      "check boxes and choices of old forms",
      "a.docx",
      docx(
        `<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:instrText>FORMCHECKBOX</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>${run(" Vegetarian")}</w:p><w:p><w:sdt><w:sdtPr><w:dropDownList/></w:sdtPr><w:sdtContent>${run("Ferry")}</w:sdtContent></w:sdt></w:p>`,
      ),
      ["☑ Vegetarian", "Ferry"],
    ],
    [
      "lines of a log",
      "a.txt",
      "2026-05-04 12:00:01 worker-7 finished job 4411 in 3.2 seconds\n2026-05-04 12:00:09 worker-2 failed job 4412 after 9.9 seconds\n",
      ["3.2 seconds\n2026"],
    ],
  ],
  pages: [
    [
      "meters and progress bars, which are written unless a text says the same",
      "a.html",
      '<main><p>Battery <progress value="70" max="100"></progress>, seats <meter min="0" max="50" value="7"></meter>, tank <meter value="0.07"></meter>, heat <meter min="10" max="40" value="22.5"></meter>, disk <meter value="6" max="10">6 of 10</meter>, load <progress></progress></p><div role="progressbar" aria-valuenow="66" aria-valuemax="100"></div><div role="progressbar" aria-valuenow="40"><div>40 % done</div></div><p>Next <span role="meter" aria-valuetext="Step 2 of 6"></span></p></main>',
      [
        "Battery 70%, seats 7/50, tank 7%, heat 22.5 (10 to 40), disk 6 of 10, load\n",
        "\n\n66%\n\n40 % done\n\nNext Step 2 of 6",
      ],
      ["6/10", "40%"],
    ],
    [
      "deleted and struck text, collapsed parts, tabs",
      "a.html",
      "<main><p>Fee: <s>€ 12</s> <b>€ 9</b> <span style='text-decoration:line-through'>€ 15</span></p><details><summary>Returns</summary><p>Within 30 days.</p></details><ul role=tablist><li role=tab aria-controls=p2>Shipping</ul><div id=p2 role=tabpanel hidden><p>Ships in 3 days.</p></div></main>",
      ["€ 9", "Within 30 days.", "Shipping", "Ships in 3 days."],
      ["€ 12", "€ 15"],
    ],
    [
      "panels of tabs by a library",
      "a.html",
      "<main><div role=tablist><button role=tab data-bs-target='#specs'>Specs</button><button role=tab data-bs-target='#care'>Care</button></div><div class=tab-pane id=specs style='display:none'><p>Weight 4 kg</p></div><div class='tab-pane fade' id=care aria-hidden=true><p>Wash cold</p></div></main>",
      ["Specs", "Care", "Weight 4 kg", "Wash cold"],
    ],
    [
      "choices whose tags have no end",
      "a.html",
      "<main><p>A</p><label>Plan <select><optgroup label=x><option>Basic<option selected>Gold<optgroup label=y><option>Silver</select></label><p>Next.</p></main>",
      ["Gold", "Next."],
      ["Basic", "Silver"],
    ],
    [
      "labels and boxes",
      "a.html",
      "<main><label><input type=checkbox checked>Gift wrap</label><label><input type=radio name=s>Small</label><label><input type=radio name=s checked>Large</label></main>",
      ["☑ Gift wrap"],
      ["SmallLarge"],
    ],
  ],
};

describe.each(Object.entries(CASES))("%s", (_, cases) => {
  test.each(cases.map((each) => [each[0], each] as const))("%s", async (_what, [, name, content, has, not = []]) => {
    const text = (await read(name, content)).replace(/[ \u00a0\u202f]+/g, " ");
    for (const fact of has) expect(text).toContain(fact);
    for (const wrong of not) expect(text).not.toContain(wrong);
  });
});
