// Tests the formats besides the first nine: facts that the text of a file must have, places, titles, warnings, and what
// becomes of damaged and hostile files.

import { describe, expect, test } from "bun:test";
import { zipSync } from "fflate";
import { subtitleText } from "../../src/documents/subtitles/read-subtitles.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { seeded } from "../support/seeded.ts";
import { epub, openDocument, openDocumentPart } from "./fixtures/book.ts";
import { oleContainer } from "./fixtures/containers.ts";
import { SAMPLES } from "./fixtures/samples.ts";
import { partsOf, SCRIPT_CASES } from "./fixtures/scripts.ts";
import { readNamed, textOf } from "./reading.ts";

const rtf = (body: string) =>
  `{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Arial;}{\\f1\\fcharset204 Arial Cyr;}{\\f2\\fcharset128 MS Gothic;}}{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}{\\s2\\outlinelevel1 Abschnitt;}}${body}}`;
const row = (...cells: readonly string[]) =>
  `\\trowd${cells.map((cell) => `\\pard\\intbl ${cell}\\cell`).join("")}\\row`;
const sheetRow = (...cells: readonly string[]) =>
  `<table:table-row>${cells.map((cell) => `<table:table-cell><text:p>${cell}</text:p></table:table-cell>`).join("")}</table:table-row>`;
const event = (lines: string) =>
  `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\n${lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;
const card = (lines: string, version = "3.0") => `BEGIN:VCARD\r\nVERSION:${version}\r\n${lines}\r\nEND:VCARD\r\n`;
const notebook = (...cells: readonly object[]) =>
  JSON.stringify({ cells, metadata: { kernelspec: { language: "python" } }, nbformat: 4 });

/** Files, each with parts of the text that must be found in it. */
const FACTS: readonly (readonly [filename: string, content: string | Uint8Array, facts: readonly string[]])[] = [
  [
    "report.rtf",
    rtf(
      `{\\info{\\title Plan}}\\pard\\s1 Introduction\\par\\pard\\s2 Depths\\par\\pard\\plain Energy is 4.7 \\'d7 10{\\super 6} J in 1997{\\super 12}. H{\\sub 2}O. Gr\\'fc\\'dfe, 5 \\u8364?.\\par {\\f1\\'cf\\'f0\\'e8\\'e2\\'e5\\'f2}\\par{\\f2\\'93\\'fa\\'96\\'7b}\\par \\u-10179?\\u-8640? \\lquote so\\rquote  \\emdash  now\\par`,
    ),
    [
      "# Introduction",
      "## Depths",
      "4.7 × 10^6 J",
      "1997[12]",
      "H2O",
      "Grüße, 5 €",
      "Привет",
      "日本",
      "🙀",
      "‘so’ — now",
    ],
  ],
  [
    "parts.rtf",
    rtf(
      `${row("Port", "Depth")}${row("Newquay", "9 m")}\\pard\\par A note{\\super\\chftn}{\\footnote\\pard{\\super\\chftn} It says 42.} here.\\par{\\field{\\*\\fldinst{HYPERLINK "https://example.org/x"}}{\\fldrslt a link}}\\par{\\pntext\\f3\\'b7\\tab}First item\\par{\\listtext 2.\\tab}Second item\\par{\\v hidden words}\\par{\\header\\pard Confidential draft\\par}{\\*\\atnauthor Bo}{\\*\\annotation\\pard Check this.}\\par{\\shp{\\*\\shpinst{\\sp{\\sn wzName}{\\sv secret}}{\\shptxt Text in a box\\par}}}`,
    ),
    [
      "Port: Newquay | Depth: 9 m",
      "A note[1] here.",
      "[1] It says 42.",
      "a link",
      "- First item",
      "2. Second item",
      "Confidential draft",
      "Comment (Bo): Check this.",
      "Text in a box",
    ],
  ],
  [
    "report.odt",
    openDocument(
      "text",
      `<text:h text:outline-level="2">Depths</text:h><text:p>Energy 10<text:span text:style-name="S">6</text:span> J, H<text:span text:style-name="L">2</text:span>O.<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note></text:p><text:list text:style-name="N"><text:list-item><text:p>First</text:p></text:list-item><text:list-item><text:p>Second</text:p><text:list><text:list-item><text:p>Inner</text:p></text:list-item></text:list></text:list-item></text:list><table:table><table:table-header-rows>${sheetRow("Port", "Depth")}</table:table-header-rows>${sheetRow("Newquay", "9 m")}</table:table><text:p>one<text:tab/>two<text:s text:c="3"/>three<office:annotation><dc:creator>Bo</dc:creator><dc:date>2026-01-01</dc:date><text:p>Check.</text:p></office:annotation></text:p><text:tracked-changes><text:p>deleted words</text:p></text:tracked-changes><text:p><draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame></text:p>`,
      `<style:style style:name="S"><style:text-properties style:text-position="super 58%"/></style:style><style:style style:name="L"><style:text-properties style:text-position="-33% 58%"/></style:style><text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/></text:list-style>`,
      {
        "styles.xml": openDocumentPart(
          "document-styles",
          '<office:master-styles><style:master-page style:name="M"><style:header><text:p>Confidential draft</text:p></style:header></style:master-page></office:master-styles>',
        ),
        "meta.xml": openDocumentPart("document-meta", "<office:meta><dc:title>Harbour plan</dc:title></office:meta>"),
      },
    ),
    [
      "## Depths",
      "Energy 10^6 J, H2O.[1]",
      "[1] A note.",
      "1. First",
      "2. Second",
      "  - Inner",
      "Port: Newquay | Depth: 9 m",
      "one two three",
      "[Comment (Bo): Check.]",
      "In a box",
      "Confidential draft",
    ],
  ],
  [
    "stock.ods",
    openDocument(
      "spreadsheet",
      `<table:table table:name="Prices">${sheetRow("Part", "Price")}<table:table-row><table:table-cell><text:p>PN-000417</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="75"><text:p>75 kg</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table><table:table table:name="Ports">${sheetRow("Port", "Built")}${sheetRow("Newquay", "1822")}</table:table>`,
    ),
    ["## Prices", "Part: PN-000417 | Price: 75 kg", "## Ports", "Port: Newquay | Built: 1822"],
  ],
  [
    "talk.odp",
    openDocument(
      "presentation",
      `<draw:page draw:name="page1"><draw:frame presentation:class="title"><draw:text-box><text:p>Harbours</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:list><text:list-item><text:p>Deep water</text:p></text:list-item></text:list></draw:text-box></draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>Speak slowly.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page><draw:page draw:name="page2"><draw:frame><draw:text-box><text:p>Thanks</text:p></draw:text-box></draw:frame></draw:page>`,
    ),
    ["## Harbours", "- Deep water", "Notes: Speak slowly.", "## Slide 2", "Thanks"],
  ],
  [
    "book.epub",
    epub([
      "<h1>Chapter one</h1><p>The keeper lit the lamp at 6 pm.</p>",
      "<h1>Chapter two</h1><p>She rowed 3 miles.</p><table><tr><th>Port</th><th>Depth</th></tr><tr><td>Newquay</td><td>9</td></tr></table>",
    ]),
    [
      "The Lighthouse (Ada Byron)",
      "# Chapter one",
      "The keeper lit the lamp at 6 pm.",
      "# Chapter two",
      "She rowed 3 miles.",
      "Port: Newquay | Depth: 9",
    ],
  ],
  [
    "orders.xml",
    '<?xml version="1.0" encoding="ISO-8859-1"?><o:orders xmlns:o="urn:x"><o:order id="007"><customer>Ada &amp; Bo</customer><item sku="A1" qty="2">Pencil</item><item sku="B2" qty="1">Pen</item><price>1.10</price></o:order><note>Köln <b>is</b> far</note></o:orders>'.replace(
      "ö",
      "\xf6",
    ),
    [
      "orders.order.id: 007",
      "orders.order.customer: Ada & Bo",
      "orders.order.item[0].sku: A1",
      "orders.order.item[0].text: Pencil",
      "orders.order.price: 1.10",
      "orders.note: Köln is far",
    ],
  ],
  [
    "feed.rss",
    '<rss version="2.0"><channel><title>Harbour news</title><item><title>Dredging</title><description>&lt;p&gt;Depth is &lt;b&gt;9 m&lt;/b&gt; now.&lt;/p&gt;</description></item><item><title>Tour</title></item></channel></rss>',
    [
      "rss.channel.title: Harbour news",
      "rss.channel.item[0].title: Dredging",
      "Depth is 9 m now.",
      "rss.channel.item[1].title: Tour",
    ],
  ],
  [
    "book with notes.epub",
    epub(
      [
        '<p>It burned in 1904<a epub:type="noteref" href="#f1">1</a>.</p><aside epub:type="footnote" id="f1"><p>So says the log, p. 55.</p></aside>',
      ],
      {
        "META-INF/container.xml":
          '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/%62ook.opf"/></rootfiles></container>',
      },
    ),
    ["It burned in 1904[1].", "So says the log, p. 55."],
  ],
  [
    "compose.yaml",
    "# keep in step\nversion: 1.10\nbase: &base\n  image: nginx:1.25 # pinned\n  on: no\nservices:\n  web:\n    <<: *base\n    ports: [0443, 80]\n    note: |\n      two\n      lines\n  db:\n    date: 2026-05-05\n---\nsecond: document\n",
    [
      "version: 1.10",
      "keep in step",
      "base.image: nginx:1.25 (# pinned)",
      "base.on: no",
      "services.web.image: nginx:1.25",
      "services.web.ports: 0443, 80",
      "two\nlines",
      "services.db.date: 2026-05-05",
      "second: document",
    ],
  ],
  [
    "tour.srt",
    "1\n00:00:01,000 --> 00:00:03,500\nANNA: Welcome to the\nharbour tour.\n\n2\n00:00:04,000 --> 00:00:06,000\n<i>We start at nine.</i>\n\n3\n00:00:10,000 --> 00:00:12,000\n{\\an8}BOB: How deep is it?\n\n4\n01:01:10,000 --> 01:01:12,000\n- Nine metres.\n- Really?\n",
    [
      "[0:00:01] ANNA: Welcome to the harbour tour. We start at nine.",
      "[0:00:10] BOB: How deep is it?",
      "[1:01:10] Speaker: Nine metres.\n[1:01:10] Speaker: Really?",
    ],
  ],
  [
    "talk.vtt",
    "WEBVTT - a talk\n\nNOTE not spoken\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:04.000 align:start\n<v.loud Roger Bingham>We are in <b>New York</b></v>\n\n00:05.000 --> 00:06.000\n<v Neil>Yes &amp; no.\n",
    ["[0:00:01] Roger Bingham: We are in New York", "[0:00:05] Neil: Yes & no."],
  ],
  [
    "team.ics",
    event(
      'DTSTART;TZID=Europe/Berlin:20260505T140000\r\nDTEND;TZID=Europe/Berlin:20260505T153000\r\nSUMMARY:Budget meeting\\, Q2\r\nLOCATION:Room 220\\; east\r\nDESCRIPTION:Bring the\\nnum\r\n bers.\r\nORGANIZER;CN="Ada: L":mailto:ada@example.org\r\nATTENDEE;CN=Bo;PARTSTAT=DECLINED:mailto:bo@example.org\r\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,-1FR;COUNT=10\r\nEXDATE:20260519T120000Z\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM',
    ).replace(
      "END:VCALENDAR",
      "BEGIN:VTODO\r\nSUMMARY:Pay the fee\r\nDUE;VALUE=DATE:20260601\r\nEND:VTODO\r\nEND:VCALENDAR",
    ),
    [
      "## Budget meeting, Q2",
      "Start: 2026-05-05 14:00 (Europe/Berlin)",
      "End: 2026-05-05 15:30 (Europe/Berlin)",
      "Location: Room 220; east",
      "Bring the\nnumbers.",
      "Organizer: Ada: L <ada@example.org>",
      "Bo <bo@example.org> (declined)",
      "every 2 weeks on Tuesday, the last Friday, 10 times",
      "Not on: 2026-05-19 12:00 (UTC)",
      "Reminder: 15 minutes before",
      "## Pay the fee",
      "Due: 2026-06-01",
    ],
  ],
  [
    "people.vcf",
    card(
      "N:Lovelace;Ada;;Countess;\r\nFN:Ada Lovelace\r\nORG:Analytical;Engines\r\nTEL;TYPE=WORK,VOICE:+44 20 7946 0000\r\nitem1.EMAIL;TYPE=INTERNET:ada@example.org\r\nitem1.X-ABLabel:_$!<Private>!$_\r\nADR;TYPE=HOME:;;12 St James;London;;SW1;UK\r\nBDAY:18151210\r\nNOTE:Likes\\, numbers\r\nPHOTO;ENCODING=b:AAAA",
    ) +
      card("N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BC=\r\nller;J=C3=B6rg\r\nTEL;CELL:0171 5550142", "2.1") +
      card("FN:Grace Hopper\r\nTEL;VALUE=uri;TYPE=cell:tel:+1-555-0142\r\nBDAY:--1209", "4.0"),
    [
      "## Ada Lovelace",
      "Name: Countess Ada Lovelace",
      "Organization: Analytical, Engines",
      "Phone (work): +44 20 7946 0000",
      "Email (Private): ada@example.org",
      "Address (home): 12 St James, London, SW1, UK",
      "Birthday: 1815-12-10",
      "Note: Likes, numbers",
      "## Jörg Müller",
      "Phone (cell): 0171 5550142",
      "## Grace Hopper",
      "Phone (cell): +1-555-0142",
      "Birthday: 12-09",
    ],
  ],
  [
    "study.ipynb",
    notebook(
      { cell_type: "markdown", source: ["# Depths\n", "Measured ![map](data:image/png;base64,AAAA) in 1903."] },
      {
        cell_type: "code",
        source: ["x = 4.70\n", "print(x)"],
        outputs: [
          { output_type: "stream", text: ["4.70\n"] },
          {
            output_type: "execute_result",
            data: {
              "text/html": "<table><tr><th>Port</th><th>Depth</th></tr><tr><td>Newquay</td><td>9</td></tr></table>",
              "text/plain": "x",
            },
          },
          { output_type: "display_data", data: { "image/png": "AAAA", "text/plain": "<Figure size 640x480>" } },
          { output_type: "error", ename: "ValueError", evalue: "bad depth", traceback: [] },
        ],
      },
    ),
    [
      "# Depths",
      "Measured map in 1903.",
      "```python\nx = 4.70\nprint(x)\n```",
      "```\n4.70\n```",
      "Port: Newquay | Depth: 9",
      "Error: ValueError: bad depth",
    ],
  ],
];

describe("the text of a file has its facts", () => {
  for (const [filename, content, facts] of FACTS) {
    for (const fact of facts) {
      test(`${filename}: ${JSON.stringify(fact)}`, async () => {
        const bytes =
          typeof content === "string" && filename.endsWith(".xml") ? Buffer.from(content, "latin1") : content;
        expect((await textOf(filename, bytes)).text).toContain(fact);
      });
    }
  }

  test("what is hidden, deleted or no text is not in it", async () => {
    for (const [filename, content, absent] of [
      ["parts.rtf", FACTS[1]?.[1], ["hidden words", "secret", "HYPERLINK"]],
      ["report.odt", FACTS[2]?.[1], ["deleted words", "2026-01-01"]],
      ["talk.vtt", FACTS[10]?.[1], ["not spoken", "color"]],
      ["people.vcf", FACTS[12]?.[1], ["AAAA"]],
      ["study.ipynb", FACTS[13]?.[1], ["AAAA", "Figure size"]],
    ] as const) {
      const { text } = await textOf(filename, content ?? "");
      for (const part of absent) expect(text).not.toContain(part);
    }
  });

  test("titles come from the file, else from its name where the text has none", async () => {
    const titles = await Promise.all(FACTS.map(async ([filename, content]) => (await textOf(filename, content)).title));
    expect(titles.slice(0, 8)).toEqual(["Plan", null, "Harbour plan", null, null, "The Lighthouse", "orders", "feed"]);
    expect((await textOf("store.py", "x = 1\n")).title).toBe("store.py");
    expect((await textOf("a.vcf", card("FN:Ada"))).title).toBe("Ada");
  });
});

describe("superscripts and subscripts are written as in all formats", () => {
  test("RTF", async () => {
    const written = SCRIPT_CASES.map(([text]) =>
      partsOf(text)
        .map(({ text: part, level }) => {
          const plain = [...part].map((sign) => (sign < "\u0080" ? sign : `\\u${sign.charCodeAt(0)}?`)).join("");
          return level === 0 ? plain : `{\\${level > 0 ? "super" : "sub"} ${plain}}`;
        })
        .join(""),
    );
    const { text } = await textOf("a.rtf", rtf(written.map((each) => `\\pard ${each}\\par`).join("\n")));
    expect(SCRIPT_CASES.map(([, read]) => read).filter((read) => !text.includes(read))).toEqual([]);
  });

  test("ODT", async () => {
    const style = (name: string, position: string) =>
      `<style:style style:name="${name}" style:family="text"><style:text-properties style:text-position="${position}"/></style:style>`;
    const paragraphs = SCRIPT_CASES.map(([text]) => {
      const spans = partsOf(text).map(({ text: part, level }) =>
        level === 0 ? part : `<text:span text:style-name="${level > 0 ? "Up" : "Down"}">${part}</text:span>`,
      );
      return `<text:p>${spans.join("")}</text:p>`;
    });
    const styles = style("Up", "33% 58%") + style("Down", "sub 58%");
    const { text } = await textOf("a.odt", openDocument("text", paragraphs.join(""), styles));
    expect(SCRIPT_CASES.map(([, read]) => read).filter((read) => !text.includes(read))).toEqual([]);
  });
});

describe("a sheet of an OpenDocument", () => {
  const cell = (text: string, value = "") => `<table:table-cell ${value}><text:p>${text}</text:p></table:table-cell>`;
  const number = (value: number, shown: string) => cell(shown, `office:value-type="float" office:value="${value}"`);
  const rowOf = (...cells: readonly string[]) => `<table:table-row>${cells.join("")}</table:table-row>`;
  const sheetOf = (...rows: readonly string[]) =>
    openDocument("spreadsheet", `<table:table table:name="S">${rows.join("")}</table:table>`);
  const read = async (...rows: readonly string[]) => (await textOf("a.ods", sheetOf(...rows))).text;

  test("shows numbers as they are shown, and their value if that cannot be read from it", async () => {
    const shown = [
      [2035, "02035", "02035 (2035)"],
      [5_551_230_142, "(555) 123-0142", "(555) 123-0142 (5551230142)"],
      [1234.5, "1.234,50 €", "1.234,50 €"],
      [1234.5, "1,234.50", "1,234.50"],
      [1_234_567, "1 234 567", "1 234 567"],
      [0.1834, "18,3 %", "18,3 %"],
      [75, "75 kg", "75 kg"],
      [1_500_000, "1,5M", "1,5M (1500000)"],
      [-5, "5,00", "5,00 (-5)"],
      [-350, "(350)", "(350)"],
      [0, "none", "none"],
      [2.75, "2 3/4", "2 3/4 (2.75)"],
    ] as const;
    const text = await read(
      rowOf(cell("Name"), cell("Code"), cell("Unit")),
      ...shown.map(([value, written]) => rowOf(cell("x"), number(value, written), cell("u"))),
    );
    expect(text.split("\n").slice(3)).toEqual(shown.map(([, , expected]) => `Name: x | Code: ${expected} | Unit: u`));
  });

  test("shows dates in ISO 8601 first", async () => {
    const date = (value: string, shown: string) => cell(shown, `office:value-type="date" office:date-value="${value}"`);
    const text = await read(
      rowOf(
        date("2024-03-05", "05.03.24"),
        date("2024-03-05T14:30:00", "5/3/24 14:30"),
        date("2024-03-05", "2024-03-05"),
      ),
    );
    expect(text).toContain("2024-03-05 (05.03.24) | 2024-03-05 14:30 (5/3/24 14:30) | 2024-03-05");
  });

  test("has several tables, also beside each other, with comments and merged cells", async () => {
    const gap = "<table:table-cell/>";
    const text = await read(
      rowOf(cell("Room"), cell("Seats"), gap, cell("Person"), cell("Phone")),
      rowOf(
        cell("Oak"),
        `<table:table-cell office:value-type="float" office:value="24"><office:annotation><dc:creator>Bo</dc:creator><text:p>Broken lamp</text:p></office:annotation><text:p>24</text:p></table:table-cell>`,
        ...[gap, cell("Malin"), number(47, "47")],
      ),
      rowOf(cell("Ash"), number(12, "12")),
      `<table:table-row table:number-rows-repeated="3"><table:table-cell/></table:table-row>`,
      rowOf(cell("Device"), cell("Price"), cell("Place")),
      rowOf(
        `<table:table-cell table:number-rows-spanned="2"><text:p>Lamp</text:p></table:table-cell>`,
        ...[number(8, "8"), cell("hall")],
      ),
      rowOf("<table:covered-table-cell/>", number(9, "9"), cell("stairs")),
    );
    for (const line of [
      "Room: Oak | Seats: 24 [comment by Bo: Broken lamp]",
      "Room: Ash | Seats: 12",
      "Person: Malin | Phone: 47",
      "Device: Lamp | Price: 8 | Place: hall",
      "Device: Lamp | Price: 9 | Place: stairs",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });
});

describe("places", () => {
  test("sheets and slides of OpenDocument files begin at their headings", async () => {
    const sheets = await textOf("a.ods", FACTS[3]?.[1] ?? "");
    expect(sheets.marks.map(({ sheet, cells }) => sheet ?? cells)).toEqual([
      ...["Prices", "A1:B1", "A2:B2"],
      ...["Ports", "A1:B1", "A2:B2"],
    ]);
    const slides = await textOf("a.odp", FACTS[4]?.[1] ?? "");
    expect(slides.marks.map(({ at, slide }) => [slides.text.slice(at, at + 6), slide])).toEqual([
      ["## Har", 1],
      ["## Sli", 2],
    ]);
  });

  test("subtitles have seconds; those of one sentence are one turn, those behind a pause are not", () => {
    const cue = (n: number, from: string, to: string, text: string) => `${n}\n${from} --> ${to}\n${text}\n\n`;
    const { pieces, marks } = subtitleText(
      cue(1, "00:00:01,000", "00:00:03,500", "The lighthouse was painted red in") +
        cue(2, "00:00:03,600", "00:00:06,000", "nineteen sixty-two by volunteers.") +
        cue(3, "00:02:03,600", "00:02:06,250", "The next tour starts at noon."),
    );
    expect(pieces.join("")).toBe(
      "[0:00:01] Speaker: The lighthouse was painted red in nineteen sixty-two by volunteers.\n[0:02:03] Speaker: The next tour starts at noon.",
    );
    expect(marks.map(({ fromSeconds, toSeconds }) => [fromSeconds, toSeconds])).toEqual([
      [1, 6],
      [123.6, 126.25],
    ]);
    expect(pieces.join("").slice(marks[1]?.at).startsWith("[0:02:03]")).toBe(true);
  });

  const SYMBOLS: readonly (readonly [filename: string, code: string, symbols: readonly (string | undefined)[]])[] = [
    [
      "a.py",
      'import os\n\n# Adds.\n@cache\ndef add(a):\n    return a\n\n\nclass Store:\n    async def get(self):\n        """def no():"""\n        return 1\n\nprint(1)\n',
      ["add", "Store", "Store.get", undefined],
    ],
    [
      "a.ts",
      "export async function add<T>(a: T) {\n  return call(a);\n}\n\nexport class Store<T> {\n  get(key: string): T | null {\n    if (key) {\n      return null;\n    }\n  }\n}\n\nexport const run = async (x: number) => {\n};\n",
      ["add", "Store", "Store.get", "run"],
    ],
    [
      "a.go",
      "package main\n\nfunc (s *Store) Get(k string) int {\n\treturn 1\n}\n\ntype Store struct {\n}\n",
      ["Get", "Store"],
    ],
    [
      "a.rs",
      "impl<T> Display for Store<T> {\n    pub(crate) fn get(&self) {}\n}\n\nstruct Point { x: i32 }\n",
      ["Store", "Store.get", "Point"],
    ],
    [
      "A.java",
      "public class Main {\n    private int x = foo(1);\n\n    public static void main(String[] args) throws Exception {\n        foo();\n    }\n}\n",
      ["Main", "Main.main"],
    ],
    ["a.c", "static int add(int a, int b)\n{\n    if (a) {\n        foo(b);\n    }\n}\n", ["add"]],
    ["a.rb", "module Port\n  def self.open?(x)\n    x\n  end\nend\n", ["Port", "Port.self.open?"]],
    ["a.sql", "CREATE TABLE IF NOT EXISTS public.ports (\n  id int\n);\n", ["public.ports"]],
    ["a.sh", "deploy() {\n  echo 1\n}\n", ["deploy"]],
    ["a.php", "<?php\nfinal class A {\n  public function run() {\n  }\n}\n", ["A", "A.run"]],
  ];
  for (const [filename, code, symbols] of SYMBOLS) {
    test(`definitions of ${filename}`, async () => {
      const { text, marks: allMarks } = await textOf(filename, code);
      const [ofLines, ...marks] = allMarks;
      expect(text).toBe(code);
      expect(ofLines).toEqual({ at: 0, line: 1 });
      expect(marks.map(({ symbol }) => symbol)).toEqual([...symbols]);
    });
  }

  test("a definition begins with the comment above it", async () => {
    const { text, marks: allMarks } = await textOf("a.ts", "let x = 1;\n\n/** Adds. */\nfunction add() {\n}\n");
    expect(text.slice(allMarks[1]?.at)).toStartWith("/** Adds.");
  });
});

describe("what was not read is said", () => {
  const WARNED: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ["a.rtf", rtf("Text\\par{\\pict\\pngblip 89504e47}"), /1 picture was not read/],
    ["a.rtf", "{\\rtf1 Text\\par more", /cut off/],
    [
      "a.odt",
      openDocument("text", '<text:p>Text<draw:frame><draw:image xlink:href="a"/></draw:frame></text:p>'),
      /1 picture was/,
    ],
    ["a.yaml", "a: [1, 2\nb: :\n  - x\n z", /no valid YAML/],
    ["a.xml", '<?xml version="1.0"?><!DOCTYPE o [<!ENTITY x "y">]><o>a</o>', /Entities/],
    ["a.xml", "<o><p>a</p>", /cut off/],
    ["a.ics", event("SUMMARY:x\r\nno colon here"), /1 line was not read/],
    [
      "a.ipynb",
      notebook({
        cell_type: "code",
        source: "x",
        outputs: [{ output_type: "display_data", data: { "image/png": "A" } }],
      }),
      /1 picture of outputs was/,
    ],
    [
      "a.ipynb",
      notebook({ cell_type: "code", source: "x", outputs: [{ output_type: "stream", text: "y".repeat(30_000) }] }),
      /only in part/,
    ],
    [
      "a.epub",
      epub(["<p>One</p>"], {
        "OEBPS/book.opf":
          '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="text/c%200.xhtml"/><item id="b" href="gone.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
      }),
      /gone.xhtml is missing/,
    ],
  ];
  for (const [filename, content, warning] of WARNED) {
    test(`${filename}: ${warning}`, async () =>
      expect((await textOf(filename, content)).warnings.join("\n")).toMatch(warning));
  }

  test("nothing is said of a file that was read completely", async () => {
    for (const [filename, content] of FACTS) {
      if (filename !== "study.ipynb")
        expect([filename, (await textOf(filename, content)).warnings]).toEqual([filename, []]);
    }
  });
});

describe("a file that cannot be read fails with a reason", () => {
  const UNREADABLE: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ["a.doc", oleContainer("WordDocument"), /damaged/],
    ["a.xls", oleContainer("Workbook"), /damaged/],
    ["a.ppt", oleContainer("PowerPoint Document"), /damaged/],
    ["a.rtf", "{\\rtf1 }", /no text/],
    ["a.rtf", `{\\rtf1 ${"{".repeat(10_000)}`, /nested deeper/],
    ["a.odt", openDocument("text", "<text:p/>"), /no text/],
    ["a.odt", openDocument("text", "x", "", { "content.xml": "no xml" }), /damaged/],
    [
      "a.odt",
      openDocument("text", "x", "", {
        "META-INF/manifest.xml": openDocumentPart(
          "manifest",
          "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>",
        ),
      }),
      /encrypted/,
    ],
    [
      "a.ods",
      openDocument(
        "spreadsheet",
        `<table:table><table:table-row table:number-rows-repeated="9999999"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>`,
      ),
      /cells/,
    ],
    ["a.epub", epub([]), /no text/],
    ["a.epub", epub(["<p>x</p>"], { "META-INF/container.xml": "<x/>" }), /chapters is missing/],
    [
      "a.epub",
      epub(["<p>x</p>"], {
        "META-INF/encryption.xml":
          '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><CipherReference xmlns="http://www.w3.org/2001/04/xmlenc#" URI="OEBPS/text/c 0.xhtml"/></encryption>',
      }),
      /encrypted/,
    ],
    ["a.xml", "<a>", /no text/],
    ["a.xml", `${"<a>".repeat(600)}`, /nested deeper/],
    ["a.yaml", "   \n", /no text/],
    ["a.srt", "\n\n", /no text/],
    ["a.ics", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", /no text/],
  ];
  for (const [filename, content, message] of UNREADABLE) {
    test(`${filename}: ${message}`, async () => {
      const read = await readNamed(filename, content);
      expect(read).toBeInstanceOf(ReadFailure);
      expect((read as ReadFailure).message).toMatch(message);
    });
  }
});

describe("hostile files", () => {
  test("entities and aliases that multiply are not expanded", async () => {
    const xml = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">${"bcdefghij".replace(/./g, (name, at: number) => `<!ENTITY ${name} "${`&${"abcdefghi"[at]};`.repeat(10)}">`)}]><l>&j;</l>`;
    expect((await textOf("a.xml", xml)).text.length).toBeLessThan(200);
    const external = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a; x</l>';
    expect((await textOf("a.xml", external)).text).not.toContain("root:");
    const names = "abcdefghij".split("");
    const yaml = names
      .map((name, at) => `${name}: &${name} ${at === 0 ? "[lol, lol]" : `[${`*${names[at - 1]},`.repeat(9)}]`}`)
      .join("\n");
    const read = await textOf("a.yaml", yaml);
    expect(read.text.length).toBeLessThan(2_000_000);
  });

  test("deep nesting, endless lines and many small parts end in linear time", async () => {
    const before = process.cpuUsage();
    const files: readonly (readonly [string, string | Uint8Array])[] = [
      ["a.yaml", "[".repeat(100_000)],
      ["b.yaml", `${"- ".repeat(50_000)}x`],
      ["a.ics", `BEGIN:VCALENDAR\r\n${"BEGIN:X\r\n".repeat(100_000)}`],
      ["b.ics", event(`SUMMARY:${"\\;".repeat(300_000)}`)],
      ["a.vcf", card(`NOTE;ENCODING=QUOTED-PRINTABLE:${"=41=\r\n".repeat(50_000)}`, "2.1")],
      ["a.srt", "1\n00:00:01,000 --> 00:00:02,000\n".repeat(50_000)],
      ["b.srt", `1\n00:00:01,000 --> 00:00:02,000\n${"<v ".repeat(200_000)}`],
      ["a.py", `${"    ".repeat(100_000)}\n${"def a():\n ".repeat(50_000)}`],
      ["a.js", `${"x(".repeat(100_000)}\n${"public static ".repeat(20_000)}`],
      ["a.xml", `<a ${"b='c' ".repeat(50_000)}>${"<!-- -->".repeat(50_000)}x</a>`],
      ["a.rtf", `{\\rtf1 ${"{\\b a}".repeat(100_000)}${"\\'e4".repeat(100_000)}}`],
      ["a.ipynb", `{"cells":${"[".repeat(100_000)}`],
    ];
    for (const [filename, content] of files) {
      const read = await readNamed(filename, content);
      expect([filename, read === null]).toEqual([filename, false]);
    }
    expect(process.cpuUsage(before).user / 1_000_000).toBeLessThan(60);
  });

  test("a package that is a bomb is refused", async () => {
    const bomb = zipSync({
      mimetype: [Buffer.from("application/vnd.oasis.opendocument.text"), { level: 0 }],
      "content.xml": new Uint8Array(30_000_000).fill(32),
    });
    expect(((await readNamed("a.odt", bomb)) as ReadFailure).message).toContain("compressed to less than");
  });

  test("damaged files of every format are read or refused, and never throw", async () => {
    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_129);
    const random = seeded(seed);
    for (const { filename, bytes } of SAMPLES) {
      for (let round = 0; round < 40; round++) {
        const damaged = Buffer.from(bytes.subarray(0, Math.ceil((0.3 + random()) * bytes.byteLength)));
        for (let change = 0; change < 6; change++) {
          damaged[Math.floor(random() * damaged.byteLength)] = Math.floor(random() * 256);
        }
        const read = await readNamed(filename, damaged).catch((cause: unknown) => {
          throw new Error(`${filename}, seed ${seed}, round ${round}: ${damaged.toString("hex").slice(0, 4_000)}`, {
            cause,
          });
        });
        if (read !== null && !(read instanceof ReadFailure)) {
          expect(read.text.trim()).not.toBe("");
          expect(read.text.isWellFormed() && !read.text.includes("\0")).toBe(true);
        }
      }
    }
  });
});
