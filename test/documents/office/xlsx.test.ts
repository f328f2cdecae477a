// Tests workbooks: sheets, formatted values, rows with column names, comments.

import { describe, expect, test } from "bun:test";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { numberFormat } from "../../../src/documents/office/xlsx-numbers.ts";
import { archiveOf, references, rowsOf, textOf, xlsx, xml } from "./office-file.ts";

const sheet = (content: string) => xlsx([{ name: "S", content }]);
const textOfSheet = async (content: string) => textOf(await readXlsx(sheet(content))).replace("## S\n\n", "");

const STYLES = xml(
  "styleSheet",
  [
    '<numFmts><numFmt numFmtId="170" formatCode="dd\\.mm\\.yyyy"/><numFmt numFmtId="171" formatCode="[$€-407]#,##0.00"/></numFmts>',
    "<fonts><font/><font><b/></font></fonts>",
    "<cellXfs>",
    '<xf numFmtId="0" fontId="0"/><xf numFmtId="170" fontId="0"/><xf numFmtId="10" fontId="0"/><xf numFmtId="171" fontId="0"/><xf numFmtId="0" fontId="1"/>',
    "</cellXfs>",
  ].join(""),
);

describe("a workbook", () => {
  test("has sheets in order with name and mark, including hidden ones, without empty ones and charts", async () => {
    const outcome = await readXlsx(
      archiveOf({
        "_rels/.rels": references(["r1", "officeDocument", "xl/workbook.xml"]),
        "xl/workbook.xml": xml(
          "workbook",
          '<sheets><sheet name="B &amp; C" r:id="b"/><sheet name="Chart" r:id="c"/><sheet name="Empty" r:id="e"/><sheet name="A" state="veryHidden" r:id="a"/></sheets>',
        ),
        "xl/_rels/workbook.xml.rels": references(
          ["a", "worksheet", "worksheets/first.xml"],
          ["b", "worksheet", "worksheets/second.xml"],
          ["c", "chartsheet", "chartsheets/sheet1.xml"],
          ["e", "worksheet", "worksheets/empty.xml"],
        ),
        "xl/worksheets/first.xml": xml("worksheet", rowsOf(["one"])),
        "xl/worksheets/second.xml": xml("worksheet", rowsOf(["two 🎉"])),
        "xl/worksheets/empty.xml": xml("worksheet", "<sheetData/>"),
      }),
    );
    const text = textOf(outcome);
    expect(text).toBe("## B & C\n\ntwo 🎉\n\n## A (hidden)\n\none");
    expect(outcome).toMatchObject({
      marks: [
        { at: 0, sheet: "B & C" },
        { at: text.indexOf("two"), cells: "A1" },
        { at: text.indexOf("## A"), sheet: "A" },
        { at: text.indexOf("one"), cells: "A1" },
      ],
    });
  });

  test("has values as the sheet shows them", async () => {
    const file = xlsx(
      [
        {
          name: "S",
          content: `<sheetData><row r="1">
            <c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="b"><v>1</v></c><c r="D1" t="e"><v>#DIV/0!</v></c>
            <c r="E1" t="str"><f>A1&amp;"x"</f><v>shown</v></c><c r="F1"><f>SUM(A1:A2)</f></c><c r="G1"><v>0.30000000000000004</v></c>
            <c r="H1" s="1"><v>44197</v></c><c r="I1" s="2"><v>0.125</v></c><c r="J1" s="3"><v>1234.5</v></c><c r="K1" t="s"><v>99</v></c>
          </row></sheetData>`,
        },
      ],
      {
        "sharedStrings.xml": xml(
          "sst",
          "<si><t>plain</t></si><si><r><t>ri</t></r><r><t>ch_x0041_\r\ntext</t></r><rPh><t>リッチ</t></rPh></si>",
        ),
        "styles.xml": STYLES,
      },
    );
    expect(textOf(await readXlsx(file))).toBe(
      "## S\n\nplain | richA text | TRUE | #DIV/0! | shown | =SUM(A1:A2) | 0.3 | 2021-01-01 (01.01.2021) | 12.50% | €1,234.50",
    );
  });

  test("counts days from 1904 if the workbook does", async () => {
    const content = '<sheetData><row r="1"><c r="A1" s="1"><v>0</v></c></row></sheetData>';
    const file = xlsx([{ name: "S", content }], { "styles.xml": STYLES }, '<workbookPr date1904="1"/>');
    expect(textOf(await readXlsx(file))).toBe("## S\n\n1904-01-01 (01.01.1904)");
  });

  test("does not count durations from a day", async () => {
    const styles = xml(
      "styleSheet",
      '<numFmts><numFmt numFmtId="170" formatCode="[h]:mm"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>',
    );
    const content = '<sheetData><row r="1"><c r="A1" s="1"><v>1.0625</v></c></row></sheetData>';
    for (const start of ["", '<workbookPr date1904="1"/>']) {
      const file = xlsx([{ name: "S", content }], { "styles.xml": styles }, start);
      expect(textOf(await readXlsx(file))).toBe("## S\n\n25:30");
    }
  });

  test("has column names in each row, but not in a caption", async () => {
    const text = await textOfSheet(
      rowsOf(
        ["Sales of the year", null, null],
        ["Region", "Units", "Note"],
        ["North", 12, null],
        ["South", null, "late"],
        [null, null, null],
        ["Total", 12, null],
        [null, null, null],
        ["Name:", "Ada"],
        ["Age:", 36],
      ),
    );
    expect(text).toBe(
      [
        "Sales of the year\nRegion | Units | Note\nRegion: North | Units: 12\nRegion: South | Note: late",
        "Region: Total | Units: 12",
        "Name: | Ada\nAge: | 36",
      ].join("\n\n"),
    );
  });

  test("recognises headers by bold type, filters and tables, and years above numbers", async () => {
    const bold = (name: string, text: string) => `<c r="${name}" s="4" t="inlineStr"><is><t>${text}</t></is></c>`;
    const plain = (name: string, text: string) => `<c r="${name}" t="inlineStr"><is><t>${text}</t></is></c>`;
    const file = xlsx(
      [
        {
          name: "S",
          content: `<sheetData>
            <row r="1">${bold("A1", "Term")}${bold("B1", "Meaning")}</row><row r="2">${plain("A2", "lease")}${plain("B2", "a time")}</row>
            <row r="4">${plain("A4", "k")}${plain("B4", "v")}</row><row r="5">${plain("A5", "a")}${plain("B5", "b")}</row>
            <row r="7">${plain("A7", "x")}${plain("B7", "y")}</row><row r="8">${plain("A8", "c")}${plain("B8", "d")}</row>
            <row r="10"><c r="B10"><v>2022</v></c><c r="C10"><v>2023</v></c></row><row r="11">${plain("A11", "Bern")}<c r="B11"><v>5</v></c><c r="C11"><v>6</v></c></row>
          </sheetData><autoFilter ref="A4:B5"/>`,
          related: [["t", "table", "../tables/table1.xml"]],
        },
      ],
      { "styles.xml": STYLES, "tables/table1.xml": xml("table", "").replace("<table ", '<table ref="A7:B8" ') },
    );
    expect(
      textOf(await readXlsx(file))
        .split("\n\n")
        .slice(1),
    ).toEqual([
      "Term | Meaning\nTerm: lease | Meaning: a time",
      "k | v\nk: a | v: b",
      "x | y\nx: c | y: d",
      "2022 | 2023\nBern | 2022: 5 | 2023: 6",
    ]);
  });

  test("repeats merged labels in their rows, and merged names over their columns", async () => {
    const text = await textOfSheet(
      `${rowsOf(
        ["City", "2023", null],
        [null, "Spring", "Autumn"],
        ["Bern", 1, 2],
        [null, 3, 4],
      )}<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A1:A2"/><mergeCell ref="A3:A4"/></mergeCells>`,
    );
    expect(text).toBe(
      "City | 2023\nCity | Spring | Autumn\nCity: Bern | 2023 Spring: 1 | 2023 Autumn: 2\nCity: Bern | 2023 Spring: 3 | 2023 Autumn: 4",
    );
  });

  test("reads distant cells without memory for the cells between", async () => {
    const text = await textOfSheet(
      '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
    );
    expect(text).toBe("1\n\n1 | 2");
  });

  test("reads cells without a reference", async () => {
    const text = await textOfSheet(
      '<sheetData><row><c><v>1</v></c><c/><c t="inlineStr"><is><t>a</t></is></c></row><row><c><v>2</v></c></row></sheetData>',
    );
    expect(text).toBe("1 | a\n2");
  });

  test("has comments at the end of the row, and threads only once", async () => {
    const file = xlsx(
      [
        {
          name: "S",
          content: rowsOf(["a", "b"]),
          related: [
            ["c", "comments", "../comments1.xml"],
            ["t", "threadedComment", "../threadedComments/threadedComment1.xml"],
          ],
        },
      ],
      {
        "person.xml": xml("tc:personList", '<tc:person id="{1}" displayName="Grace H."/>'),
        "comments1.xml": xml(
          "comments",
          '<authors><author>Ada</author><author>tc={9}</author></authors><commentList><comment ref="B1" authorId="0"><text><r><t>Ada:</t></r><r><t> check</t></r></text></comment><comment ref="A1" authorId="1"><text><t>[Threaded comment] copy</t></text></comment><comment ref="Z9" authorId="0"><text><t>on nothing</t></text></comment></commentList>',
        ),
        "threadedComments/threadedComment1.xml": xml(
          "tc:ThreadedComments",
          '<tc:threadedComment ref="A1" personId="{1}"><tc:text>Why?</tc:text></tc:threadedComment>',
        ),
      },
    );
    expect(textOf(await readXlsx(file))).toBe(
      "## S\n\na | b [comment by Grace H.: Why?] [comment by Ada: check]\n\n[comment by Ada: on nothing]",
    );
  });
});

describe("a number format", () => {
  const shown: readonly (readonly [code: string, value: number, text: string])[] = [
    ["General", 1234.5, "1234.5"],
    ["General", 1e21, "1e+21"],
    ["General", 123456789012, "123456789012"],
    ["[$-409]General", 5, "5"],
    ['General" kg"', 75, "75 kg"],
    ["0.00", 2.005, "2.01"],
    ["0.00", -3, "-3.00"],
    ["0", 0.004, "0 (0.004)"],
    ["#,##0.##", 1234567.5, "1,234,567.5"],
    ["#,##0.##", 12, "12"],
    ["#,##0,", 1234567, "1,235 (1234567)"],
    ['0.0,,"M"', 1_500_000, "1.5M (1500000)"],
    ["0%", 0.256, "26%"],
    ["0%", 0.00012, "0% (0.012%)"],
    ["#,##0;(#,##0)", -12, "(12)"],
    ["0.00;[Red]0.00", -5, "5.00 (-5)"],
    ["[Red]-0;[Blue]0;0", 5, "-5"],
    ['_(* #,##0_);_(* \\(#,##0\\);_(* "-"_)', 0, "-"],
    ['"CHF" 0.00', 5, "CHF 5.00"],
    ["[$€-407] #,##0.00", 1234.5, "€ 1,234.50"],
    ["#,##0.00 [$kr-414]", 99, "99.00 kr"],
    ["[$¥-411]#,##0", 1980, "¥1,980"],
    ["_-* #,##0.00\\ _€_-", 1234.5, "1,234.50"],
    ["# ?/?", 0.5, "1/2 (0.5)"],
    ["# ?/?", 2, "2"],
    ["# ?/8", 3.375, "3 3/8 (3.375)"],
    ["0.00E+00", 12345, "1.23E+04 (12345)"],
    ["##0.0E+0", 0.00012, "120.0E-6 (0.00012)"],
    ["@", 7, "7"],
    [";;;", 7, "7"],
    ["00000", 2035, "02035 (2035)"],
    ["00000", 90210, "90210"],
    ['"PN-"000000', 417, "PN-000417 (417)"],
    ["(000) 000-0000", 5551230142, "(555) 123-0142 (5551230142)"],
    ["[<=9999999]###-####;(###) ###-####", 5551234, "555-1234 (5551234)"],
    ["000-00-0000", 78051120, "078-05-1120 (78051120)"],
    ["00\\.000\\.000", 12345678, "12.345.678 (12345678)"],
    ["[<=99]0;General", 7, "7"],
    ['[>=1000000]0.0,,"M";[>=1000]0.0,"k";0', 2500, "2.5k (2500)"],
    ['[>=100]"many";[>=10]"some";"few"', 42, "some (42)"],
    ['"yes";;"no"', 1, "yes"],
    ['"yes";;"no"', 0, "no"],
    ['0.0" °C"', 21.55, "21.6 °C"],
    ['0" m²"', 54, "54 m²"],
    ["\\#0000", 12, "#0012 (12)"],
    ["0*-", 5, "5"],
    ["yyyy-mm-dd", 61, "1900-03-01"],
    ["yyyy-mm-dd", 59, "1900-02-28"],
    ["dd\\.mm\\.yyyy", 45356, "2024-03-05 (05.03.2024)"],
    ["m/d/yyyy", 45356, "2024-03-05 (3/5/2024)"],
    ["[$-407]d. mmmm yyyy", 45356, "2024-03-05 (5. März 2024)"],
    ["[$-40C]dddd d mmmm yyyy;@", 45356, "2024-03-05 (mardi 5 mars 2024)"],
    ['yyyy"年"m"月"d"日"', 45356, "2024-03-05 (2024年3月5日)"],
    ["d/m/yy h:mm", 45292.75, "2024-01-01 18:00 (1/1/24 18:00)"],
    ["yyyy-mm-dd hh:mm:ss", 45292.75, "2024-01-01 18:00:00"],
    ["mmm-yy", 45292, "2024-01 (Jan-24)"],
    ["yyyy", 45292, "2024"],
    ["h:mm", 0.375, "9:00"],
    ["[$-F400]h:mm:ss\\ AM/PM", 0.5, "12:00:00 PM"],
    ["h:mm AM/PM", 0.75, "18:00 (6:00 PM)"],
    ["mm:ss", 0.001, "01:26"],
    ["mm:ss.0", 0.001, "01:26.4"],
    ["[h]:mm:ss", 1.5, "36:00:00"],
    ["[h]:mm", 1.25, "30:00"],
    ["[mm]:ss", 0.1, "144:00"],
    ["[ss]", 0.01, "864"],
    ["yyyy-mm-dd", -1, "-1"],
    ["yyyy-mm-dd", 3e6, "3000000"],
    ["broken\"'[", 5, "5"],
    [`0${"#".repeat(300)}`, 5, "5"],
  ];
  for (const [code, value, text] of shown) {
    test(`${code.slice(0, 60)} shows ${value} as ${text}`, () => {
      expect(numberFormat(code, false).number(value)).toBe(text);
    });
  }

  test("of texts puts them between its literals, and leaves them as they are if it would hide them", () => {
    expect(numberFormat('0;0;0;@" Ltd"', false).text("Alder")).toBe("Alder Ltd");
    expect(numberFormat('"Dr. "@', false).text("Birch")).toBe("Dr. Birch");
    expect(numberFormat(";;;", false).text("hidden")).toBe("hidden");
    expect(numberFormat("00000", false).text("n/a")).toBe("n/a");
  });
});
