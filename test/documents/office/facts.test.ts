// Facts that must arrive from Office documents: for each kind of content, a document that is built here, what its text
// must contain, and what it must not contain. To add a kind, add a row to the table.

import { describe, expect, test } from "bun:test";
import { readDocx } from "../../../src/documents/office/docx.ts";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { readXlsx } from "../../../src/documents/office/xlsx.ts";
import { partsOf, SCRIPT_CASES } from "../fixtures/scripts.ts";
import { docx, type Parts, pptx, references, rowsOf, textOf, xlsx, xml } from "./office-file.ts";

type Row = readonly (string | number | null)[];
const inline = (place: string, text: string) => `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
type Relation = readonly [id: string, type: string, target: string];

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

const pointsOf = (kind: "str" | "num", values: readonly (string | number | null)[], format = "") => {
  const points = values.map((value, at) =>
    value === null ? "" : `<c:pt idx="${at}"><c:v>${escaped(String(value))}</c:v></c:pt>`,
  );
  const code = format === "" ? "" : `<c:formatCode>${format}</c:formatCode>`;
  return `<c:${kind}Ref><c:f>x</c:f><c:${kind}Cache>${code}<c:ptCount val="${values.length}"/>${points.join("")}</c:${kind}Cache></c:${kind}Ref>`;
};
const richTitle = (text: string) =>
  `<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:r><a:t>${text}</a:t></a:r></a:p></c:rich></c:tx></c:title>`;
const chartSpace = (title: string, plot: string) =>
  xml("c:chartSpace", `<c:chart>${title}<c:plotArea>${plot}</c:plotArea><c:legend/></c:chart>`);
const seriesOf = (name: string, content: string) =>
  `<c:ser><c:tx>${pointsOf("str", [name])}</c:tx><c:dLbls><c:txPr><a:p/></c:txPr></c:dLbls>${content}</c:ser>`;

/** Charts of all kinds, by the names of their parts. */
const CHARTS: Parts = {
  "charts/chart1.xml": chartSpace(
    richTitle("Harvest 2024"),
    `<c:barChart>${seriesOf("Barley", `<c:cat>${pointsOf("str", ["Ostmark", "Hedmark & Ås"])}</c:cat><c:val>${pointsOf("num", [412, 296.5], "#,##0.0")}</c:val>`)}${seriesOf("Oats", `<c:cat>${pointsOf("str", ["Ostmark", "Hedmark & Ås"])}</c:cat><c:val>${pointsOf("num", [null, 88], "General")}</c:val>`)}</c:barChart><c:catAx><c:axPos val="b"/>${richTitle("County")}</c:catAx><c:valAx><c:axPos val="l"/>${richTitle("Tonnes")}</c:valAx>`,
  ),
  "charts/chart2.xml": chartSpace(
    "",
    `<c:pieChart>${seriesOf("Market share", `<c:cat>${pointsOf("str", ["Us", "Others"])}</c:cat><c:val>${pointsOf("num", [0.375, 0.625], "0.0%")}</c:val>`)}</c:pieChart>`,
  ),
  "charts/chart3.xml": chartSpace(
    `<c:title><c:tx>${pointsOf("str", ["Yield from a cell"])}</c:tx></c:title>`,
    `<c:scatterChart>${seriesOf("Plot A", `<c:xVal>${pointsOf("num", [1.5, 2.5])}</c:xVal><c:yVal>${pointsOf("num", [10, 20])}</c:yVal>`)}${seriesOf("Plot B", `<c:xVal>${pointsOf("num", [7])}</c:xVal><c:yVal>${pointsOf("num", [70])}</c:yVal>`)}</c:scatterChart><c:valAx><c:axPos val="b"/>${richTitle("Depth (m)")}</c:valAx><c:valAx><c:axPos val="l"/>${richTitle("Yield (t)")}</c:valAx>`,
  ),
  "charts/chart4.xml": chartSpace(
    richTitle("Bubbles"),
    `<c:bubbleChart>${seriesOf("Shops", `<c:xVal>${pointsOf("num", [3])}</c:xVal><c:yVal>${pointsOf("num", [4])}</c:yVal><c:bubbleSize>${pointsOf("num", [55])}</c:bubbleSize>`)}</c:bubbleChart>`,
  ),
  "charts/chart5.xml": chartSpace(
    richTitle("Levels"),
    `<c:barChart>${seriesOf("Visits", `<c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:ptCount val="3"/><c:lvl><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt><c:pt idx="2"><c:v>Q1</c:v></c:pt></c:lvl><c:lvl><c:pt idx="0"><c:v>2023</c:v></c:pt><c:pt idx="2"><c:v>2024</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val>${pointsOf("num", [5, 6, 7])}</c:val>`)}</c:barChart>`,
  ),
  "charts/chart6.xml": chartSpace(
    richTitle("Openings"),
    `<c:lineChart>${seriesOf("Doors", `<c:cat>${pointsOf("num", [45292, 45323], "mmm\\-yy")}</c:cat><c:val>${pointsOf("num", [3, 5])}</c:val>`)}</c:lineChart><c:dateAx>${richTitle("Month")}</c:dateAx>`,
  ),
  "charts/chart7.xml": chartSpace(
    "",
    `<c:barChart><c:ser><c:tx><c:v>Literal</c:v></c:tx><c:cat><c:strLit><c:pt idx="0"><c:v>East</c:v></c:pt></c:strLit></c:cat><c:val><c:numLit><c:formatCode>0.00</c:formatCode><c:pt idx="0"><c:v>9.5</c:v></c:pt></c:numLit></c:val></c:ser></c:barChart>`,
  ),
  "charts/chartEx1.xml": xml(
    "cx:chartSpace",
    '<cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:f>S!A1</cx:f><cx:lvl ptCount="2"><cx:pt idx="0">Opening</cx:pt><cx:pt idx="1">Costs</cx:pt></cx:lvl></cx:strDim><cx:numDim type="val"><cx:lvl ptCount="2" formatCode="#,##0"><cx:pt idx="0">12000</cx:pt><cx:pt idx="1">-3500</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:rich><a:bodyPr/><a:p><a:r><a:t>Cash waterfall</a:t></a:r></a:p></cx:rich></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion><cx:series layoutId="waterfall"><cx:tx><cx:txData><cx:v>Euros</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion><cx:axis id="0"><cx:catScaling/></cx:axis><cx:axis id="1"><cx:valScaling/></cx:axis></cx:plotArea></cx:chart>',
  ),
};
/** A chart that refers to cells, as programs without a copy of the values write it. */
const PLAIN_CHART = chartSpace(
  richTitle("From cells"),
  "<c:barChart><c:ser><c:tx><c:strRef><c:f>'S'!$B$1</c:f></c:strRef></c:tx><c:cat><c:numRef><c:f>S!$A$2:$A$3</c:f></c:numRef></c:cat><c:val><c:numRef><c:f>'S'!$B$2:$B$3</c:f></c:numRef></c:val></c:ser></c:barChart>",
);
const CHART_NAMES = Object.keys(CHARTS);
/** Relationships to the charts from a folder beside theirs. */
const CHART_RELATIONS = CHART_NAMES.map((name, at) => [`c${at}`, "chart", `../${name}`] as const);
const CHART_FRAMES = CHART_NAMES.map((name, at) =>
  name.includes("Ex")
    ? `<mc:AlternateContent><mc:Choice Requires="cx1"><cx:chart r:id="c${at}"/></mc:Choice><mc:Fallback/></mc:AlternateContent>`
    : `<c:chart r:id="c${at}"/>`,
);
const CHART_FACTS = [
  "Chart: Harvest 2024 (Tonnes)",
  "County: Ostmark | Barley: 412.0",
  "County: Hedmark & Ås | Barley: 296.5 | Oats: 88",
  "Chart: Market share",
  "Us | Market share: 37.5%",
  "Others | Market share: 62.5%",
  "Chart: Yield from a cell (Yield (t))",
  "Depth (m): 1.5 | Plot A: 10",
  "Depth (m): 2.5 | Plot A: 20",
  "Depth (m): 7 | Plot B: 70",
  "Chart: Bubbles",
  "3 | Shops: 4 | Shops size: 55",
  "2023 Q1 | Visits: 5",
  "2023 Q2 | Visits: 6",
  "2024 Q1 | Visits: 7",
  "Month: 2024-01 (Jan-24) | Doors: 3",
  "Month: 2024-02 (Feb-24) | Doors: 5",
  "Chart: Literal",
  "East | Literal: 9.50",
  "Chart: Cash waterfall",
  "Opening | Euros: 12,000",
  "Costs | Euros: -3,500",
];
const anchored = (content: string) =>
  `<xdr:twoCellAnchor><xdr:from><xdr:col>4</xdr:col><xdr:row>1</xdr:row></xdr:from><xdr:to><xdr:col>7</xdr:col><xdr:row>6</xdr:row></xdr:to>${content}</xdr:twoCellAnchor>`;
const shape = (text: string) => `<xdr:sp><xdr:txBody><a:bodyPr/><a:p>${text}</a:p></xdr:txBody></xdr:sp>`;
/** A workbook with one sheet and a drawing on it. */
const drawnSheet =
  (content: string, drawing: string, related: readonly Relation[] = []) =>
  async () =>
    textOf(
      await readXlsx(
        xlsx([{ name: "S", content, related: [["d", "drawing", "../drawings/drawing1.xml"]] }], {
          "drawings/drawing1.xml": xml("xdr:wsDr", drawing),
          "drawings/_rels/drawing1.xml.rels": references(...related),
          "charts/plain.xml": PLAIN_CHART,
          ...CHARTS,
        }),
      ),
    );
const rows = (...list: readonly Row[]) => sheet(rowsOf(...list));
const numbers = (...list: readonly (readonly [code: string, value: number | string])[]) => {
  const formats = list.map(
    ([code], at) => `<numFmt numFmtId="${200 + at}" formatCode="${escaped(code).replaceAll('"', "&quot;")}"/>`,
  );
  const styles = list.map((_, at) => `<xf numFmtId="${200 + at}"/>`);
  const cells = list.map(
    ([, value], at) =>
      `<row r="${at + 1}"><c r="A${at + 1}" t="inlineStr"><is><t>row ${at + 1}</t></is></c><c r="B${at + 1}" s="${at}"><v>${value}</v></c></row>`,
  );
  return sheet(`<sheetData>${cells.join("")}</sheetData>`, {
    "styles.xml": xml("styleSheet", `<numFmts>${formats.join("")}</numFmts><cellXfs>${styles.join("")}</cellXfs>`),
  });
};

const margin = (kind: "hdr" | "ftr", ...paragraphs: readonly string[]) =>
  xml(`w:${kind}`, paragraphs.map((text) => `<w:p>${run(text)}</w:p>`).join(""));
const MARGINS: Parts = {
  "header1.xml": margin("hdr", "Reference HB-2291", "Page 3 of 12"),
  "header2.xml": margin("hdr", "Issued by the Harding company"),
  "header3.xml": margin("hdr", "Reference HB-2291", "Page 4 of 12"),
  "header4.xml": margin("hdr", "Second section: pumps"),
  "footer1.xml": margin("ftr", "Valid until 30 June 2027"),
  "footer2.xml": margin("ftr", "7"),
};
const marginsOf = (...list: readonly (readonly [kind: "header" | "footer", type: string, at: number])[]) =>
  `<w:sectPr>${list.map(([kind, type, at]) => `<w:${kind}Reference w:type="${type}" r:id="rel${at}"/>`).join("")}<w:titlePg/></w:sectPr>`;
/** A check box as a content control. */
const box = (checked: string, content = run("☐")) =>
  `<w:sdt><w:sdtPr><w:rPr><w:b/></w:rPr><w:alias w:val="x"/><w14:checkbox>${checked}<w14:checkedState w14:val="2612"/></w14:checkbox></w:sdtPr><w:sdtContent>${content}</w:sdtContent></w:sdt>`;
const control = (properties: string, content: string) =>
  `<w:sdt><w:sdtPr>${properties}</w:sdtPr><w:sdtContent>${content}</w:sdtContent></w:sdt>`;
const field = (data: string, code: string, result = "") =>
  `<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="f"/><w:enabled/>${data}</w:ffData></w:fldChar></w:r><w:r><w:instrText> ${code} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${result}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
const symbol = (font: string, char: string) => `<w:r><w:sym w:font="${font}" w:char="${char}"/></w:r>`;
const line = (...content: readonly string[]) => `<w:p>${content.join("")}</w:p>`;

const KINDS: Readonly<Record<string, Kind>> = {
  "headers and footers of sections": {
    text: word(
      `<w:p><w:pPr>${marginsOf(["header", "default", 0], ["header", "first", 1], ["footer", "default", 4])}</w:pPr>${run("First part.")}</w:p><w:p>${run("Second part.")}</w:p>${marginsOf(["header", "default", 3], ["header", "even", 2], ["header", "first", 0], ["footer", "default", 4], ["footer", "even", 5])}`,
      MARGINS,
    ),
    facts: [
      "First part.\n\nSecond part.",
      "[header: Reference HB-2291]",
      "[header: Issued by the Harding company]",
      "[header: Second section: pumps]",
      "[footer: Valid until 30 June 2027]",
    ],
    absent: ["Page 3", "[footer: 7]", "Reference HB-2291]\n[header: Reference HB-2291]"],
  },
  "a document with nothing but a header": {
    text: word(`<w:p/>${marginsOf(["header", "default", 0], ["footer", "default", 1])}`, {
      "header1.xml": margin("hdr", "Only here"),
      "footer1.xml": margin("ftr", ""),
    }),
    facts: ["[header: Only here]"],
  },
  "check boxes as content controls": {
    text: word(
      [
        line(box('<w14:checked w14:val="1"/>'), run(" Approved")),
        line(box('<w14:checked w14:val="0"/>', run("☒")), run(" Rejected")),
        line(box(""), run(" Not answered")),
        line(run("Paid: "), box('<w14:checked w14:val="true"/>', symbol("Wingdings 2", "F052")), run(" yes")),
        box('<w14:checked w14:val="1"/>', line(run("☒"))),
        `<w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid><w:tr><w:tc>${line(run("Insured"))}</w:tc><w:tc>${line(box('<w14:checked w14:val="1"/>'))}</w:tc></w:tr><w:tr><w:tc>${line(run("Pets"))}</w:tc><w:tc>${line(box('<w14:checked w14:val="0"/>'))}</w:tc></w:tr></w:tbl>`,
        line(run("plain end")),
      ].join(""),
    ),
    facts: [
      "☑ Approved",
      "☐ Rejected",
      "☐ Not answered",
      "Paid: ☑ yes",
      "\n\n☑\n\n",
      "Insured | ☑",
      "Pets | ☐",
      "plain end",
    ],
    absent: ["☒"],
  },
  "check boxes, lists and texts as form fields": {
    text: word(
      [
        line(
          field('<w:checkBox><w:sizeAuto/><w:default w:val="0"/></w:checkBox>', "FORMCHECKBOX"),
          run(" Dogs allowed"),
        ),
        line(
          field('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', "FORMCHECKBOX"),
          run(" Cats allowed"),
        ),
        line(
          field('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>', "FORMCHECKBOX"),
          run(" Birds allowed"),
        ),
        line(field('<w:checkBox><w:default w:val="1"/></w:checkBox>', "FORMCHECKBOX"), run(" Fish allowed")),
        line(
          run("Floor: "),
          field(
            '<w:ddList><w:result w:val="2"/><w:listEntry w:val="Ground"/><w:listEntry w:val="First"/><w:listEntry w:val="Attic"/></w:ddList>',
            "FORMDROPDOWN",
          ),
        ),
        line(
          run("Name: "),
          field('<w:textInput><w:default w:val="your name"/></w:textInput>', "FORMTEXT", run("Grace Hopper")),
        ),
        line(symbol("Wingdings", "F0FE"), run(" Keys returned "), symbol("Wingdings", "F0A8"), run(" Badge returned")),
      ].join(""),
    ),
    facts: [
      "☐ Dogs allowed",
      "☑ Cats allowed",
      "☐ Birds allowed",
      "☑ Fish allowed",
      "Floor: Attic",
      "Name: Grace Hopper",
      "☑ Keys returned ☐ Badge returned",
    ],
    absent: ["FORM", "your name", "Ground"],
  },
  "content controls and tracked changes": {
    text: word(
      [
        line(
          run("Size: "),
          control('<w:dropDownList><w:listItem w:value="s"/><w:listItem w:value="l"/></w:dropDownList>', run("Large")),
        ),
        line(
          run("Due: "),
          control(
            '<w:date w:fullDate="2027-06-30T00:00:00Z"><w:dateFormat w:val="d MMM yyyy"/></w:date>',
            run("30 Jun 2027"),
          ),
        ),
        control("<w:rPr><w:vanish/></w:rPr>", line(run("Outer "), control("<w:text/>", run("inner text")))),
        `<w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid>${control("<w:id w:val='1'/>", `<w:tr><w:tc>${line(run("Row in a control"))}</w:tc>${control("", `<w:tc>${line(run("Cell in a control"))}</w:tc>`)}</w:tr>`)}</w:tbl>`,
        line(
          run("Price 4"),
          `<w:del>${run("9").replaceAll("w:t", "w:delText")}</w:del>`,
          `<w:ins>${run("2")}</w:ins>`,
          run(" euros"),
        ),
      ].join(""),
    ),
    facts: [
      "Size: Large",
      "Due: 30 Jun 2027",
      "Outer inner text",
      "Row in a control | Cell in a control",
      "Price 42 euros",
    ],
    absent: ["492"],
  },
  "charts on slides": {
    text: async () =>
      textOf(
        await readPptx(
          pptx(
            [{ content: `<p:graphicFrame>${CHART_FRAMES.join("")}</p:graphicFrame>`, related: CHART_RELATIONS }],
            CHARTS,
          ),
        ),
      ),
    facts: CHART_FACTS,
  },
  "charts in a Word document": {
    text: async () =>
      textOf(
        await readDocx(
          docx(
            `<w:p><w:r><w:t>See:</w:t><w:drawing>${CHART_FRAMES.join("")}</w:drawing></w:r></w:p>`,
            {},
            {
              "word/_rels/document.xml.rels": references(
                ...CHART_NAMES.map((name, at) => [`c${at}`, "chart", name] as const),
              ),
              ...Object.fromEntries(Object.entries(CHARTS).map(([name, part]) => [`word/${name}`, part])),
            },
          ),
        ),
      ),
    facts: ["See:", ...CHART_FACTS],
  },
  "charts and shapes on a sheet": {
    text: drawnSheet(
      rowsOf(["Quarter", "Units"], ["Q1", 11], ["Q2", 14]),
      `${anchored(CHART_FRAMES.join(""))}${anchored(shape("<a:r><a:t>Assumption: the plant stays closed.</a:t></a:r>"))}${anchored(`<xdr:grpSp>${shape("<a:r><a:t>Box in a group: 10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>6</a:t></a:r>")}</xdr:grpSp>`)}`,
      CHART_RELATIONS,
    ),
    facts: ["Quarter: Q1 | Units: 11", ...CHART_FACTS, "Assumption: the plant stays closed.", "Box in a group: 10^6"],
  },
  "charts that keep no copy of their data": {
    text: drawnSheet(rowsOf(["Quarter", "Units"], ["Q1", 11], ["Q2", 14]), anchored('<c:chart r:id="c"/>'), [
      ["c", "chart", "../charts/plain.xml"],
    ]),
    facts: ["Quarter: Q1 | Units: 11", "Chart: From cells\nQ1 | Units: 11\nQ2 | Units: 14"],
  },
  "two tables with an empty row between them": {
    text: rows(
      ["Region", "Units"],
      ["North", 12],
      ["South", 15],
      [null],
      ["Person", "Age"],
      ["Ada", 36],
      ["Grace", 41],
    ),
    facts: [
      "Region: North | Units: 12",
      "Region: South | Units: 15",
      "Person: Ada | Age: 36",
      "Person: Grace | Age: 41",
    ],
    absent: ["Region: Ada", "Units: 36", "Region: Person"],
  },
  "a list of values below a table": {
    text: rows(
      ["Region", "Units"],
      ["North", 12],
      ["South", 15],
      [null],
      ["Owner", "Ada"],
      ["Budget", 5000],
      ["Status", "open"],
    ),
    facts: ["Region: South | Units: 15", "Owner | Ada", "Budget | 5000", "Status | open"],
    absent: ["Ada: 5000", "Owner: Budget", "Units: Ada"],
  },
  "a list of a name, a number and a day": {
    text: sheet(
      `<sheetData><row r="1">${inline("A1", "Customer")}${inline("B1", "Hansen AS")}</row><row r="2">${inline("A2", "Invoice")}<c r="B2"><v>417</v></c></row><row r="3">${inline("A3", "Due")}<c r="B3" s="1"><v>45323</v></c></row></sheetData>`,
      {
        "styles.xml": xml(
          "styleSheet",
          '<numFmts><numFmt numFmtId="170" formatCode="yyyy-mm-dd"/></numFmts><cellXfs><xf/><xf numFmtId="170"/></cellXfs>',
        ),
      },
    ),
    facts: ["Customer | Hansen AS", "Invoice | 417", "Due | 2024-02-01"],
    absent: ["Hansen AS: "],
  },
  "headers and footers of a printed sheet": {
    text: sheet(
      `${rowsOf(["a", "b"])}<headerFooter differentFirst="1"><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Draft 7 &amp;&amp; notes&amp;CConfidential&amp;R&amp;D</oddHeader><oddFooter>&amp;CPage &amp;P of &amp;N&amp;R&amp;K01+000For the board</oddFooter><firstHeader>&amp;CFirst page</firstHeader></headerFooter>`,
    ),
    facts: ["Draft 7 & notes", "Confidential", "For the board", "First page"],
    absent: ["Arial", "Page of", "01+000", "12Draft"],
  },
  "a table with a caption below another one": {
    text: rows(
      ["Sales"],
      ["Region", "Units"],
      ["North", 12],
      ["South", 15],
      ["Costs"],
      ["Item", "Amount"],
      ["Rent", 900],
      ["Power", 80],
    ),
    facts: ["Region: North | Units: 12", "Item: Rent | Amount: 900", "Item: Power | Amount: 80", "\nCosts\n"],
    absent: ["Region: Item", "Units: 900"],
  },
  "tables beside each other": {
    text: rows(
      ["Product", "Price", null, "Region", "Manager"],
      ["Apple", 5, null, "North", "Ada"],
      ["Pear", 7, null, "South", "Grace"],
      ["Plum", 9],
    ),
    facts: [
      "Product: Apple | Price: 5\n",
      "Product: Plum | Price: 9",
      "Region: North | Manager: Ada",
      "Region: South | Manager: Grace",
    ],
    absent: ["Price: 5 |"],
  },
  "a table beside another one that begins lower": {
    text: rows(
      ["Product", "Price"],
      ["Apple", 5, null, "Region", "Units"],
      ["Pear", 7, null, "North", 12],
      ["Plum", 9, null, "South", 15],
      ["Fig", 3],
    ),
    facts: [
      "Product: Apple | Price: 5\n",
      "Product: Fig | Price: 3",
      "Region: North | Units: 12",
      "Region: South | Units: 15",
    ],
    absent: ["Price: 5 | Region", "Price: 7 |"],
  },
  "a remark beside a table": {
    text: rows(["Quarter", "Units"], ["Q1", 11, null, "Plant closed until April"], ["Q2", 14], ["Q3", 9]),
    facts: ["Quarter: Q1 | Units: 11\n", "Quarter: Q3 | Units: 9", "Plant closed until April"],
  },
  "a table whose labels and values have an empty column between them": {
    text: rows(["Task", null, "2023", "2022"], ["Paint", null, 1, 2], ["Sand", null, 3, 4]),
    facts: ["Task: Paint | 2023: 1 | 2022: 2", "Task: Sand | 2023: 3 | 2022: 4"],
  },
  "a list of values, and a table with unknown values": {
    text: rows(
      ["Project", "Apollo"],
      ["Budget", 5000],
      ["Owner", "Ada"],
      [null],
      [null],
      ["Item", "Price"],
      ["Bolt", 5],
      ["Nut", "n/a"],
      ["Pin", 7],
    ),
    facts: [
      "Project | Apollo",
      "Budget | 5000",
      "Owner | Ada",
      "Item: Bolt | Price: 5",
      "Item: Nut | Price: n/a",
      "Item: Pin | Price: 7",
    ],
    absent: ["Apollo: 5000"],
  },
  "contacts without column names": {
    text: rows(["Contact", "Ada", "ada@example.org"], ["Backup", "Grace", "grace@example.org"]),
    facts: ["Contact | Ada | ada@example.org", "Backup | Grace | grace@example.org"],
    absent: ["Contact:"],
  },
  "codes and phone numbers in cells": {
    text: numbers(
      ["00000", 501],
      ['"PN-"000000', 417],
      ["(000) 000-0000", 5551230142],
      ["000-00-0000", 78051120],
      ["0000 0000 0000 0000", 4111111111111111],
      ['"INV"yyyy', 45356],
      ["+00 000 000000", 49301234567],
      ["0000-000", 1200123],
    ),
    facts: [
      "00501 (501)",
      "PN-000417 (417)",
      "(555) 123-0142 (5551230142)",
      "078-05-1120 (78051120)",
      "4111 1111 1111 1111",
      "INV2024",
      "+49 301 234567 (49301234567)",
      "1200-123 (1200123)",
    ],
  },
  "units, scales, fractions and signs in cells": {
    text: numbers(
      ['General" kg"', 75],
      ['0.0" °C"', 21.55],
      ["#,##0,", 1234567],
      ['0.0,,"M"', 1500000],
      ["# ?/?", 2.25],
      ["0.00E+00", 12345],
      ["0.00;[Red]0.00", -5],
      ["0.0%", 0.1234],
      ["[$€-407] #,##0.00", 1234.5],
      ["#,##0.00 [$zł-415]", 99],
      ['[>=100]"many";"few"', 250],
      ['"yes";;"no"', 0],
    ),
    facts: [
      "75 kg",
      "21.6 °C",
      "1,235 (1234567)",
      "1.5M (1500000)",
      "2 1/4 (2.25)",
      "1.23E+04 (12345)",
      "5.00 (-5)",
      "12.3%",
      "€ 1,234.50",
      "99.00 zł",
      "many (250)",
      "| no",
    ],
  },
  "dates and times in cells": {
    text: numbers(
      ["dd.mm.yyyy", 45356],
      ["m/d/yyyy", 45356],
      ["[$-407]d. mmmm yyyy", 45356],
      ["[$-40C]d mmmm yyyy", 45356],
      ["[$-C0A]dddd, d mmmm", 45356],
      ['yyyy"年"m"月"d"日"', 45356],
      ["yyyy-mm-dd hh:mm", 45356.5],
      ["h:mm AM/PM", 0.75],
      ["[h]:mm", 1.25],
      ["[mm]:ss", 0.1],
      ["mmm yy", 45356],
    ),
    facts: [
      "2024-03-05 (05.03.2024)",
      "2024-03-05 (3/5/2024)",
      "2024-03-05 (5. März 2024)",
      "2024-03-05 (5 mars 2024)",
      "2024-03-05 (martes, 5 marzo)",
      "2024-03-05 (2024年3月5日)",
      "2024-03-05 12:00",
      "18:00 (6:00 PM)",
      "30:00",
      "144:00",
      "2024-03 (Mar 24)",
    ],
  },
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
