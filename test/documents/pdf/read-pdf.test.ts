// Tests the text of PDFs: reading order, and structure as Markdown. The tests generate their files.

import { describe, expect, test } from "bun:test";
import type { ReadDocument } from "../../../src/documents/document.ts";
import { PDF_PAGES_MAX, type PdfOptions, readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { type Clock, systemClock } from "../../../src/kit/clock.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { buildPdf, type Drawn, lines, type PdfPlan } from "./build-pdf.ts";

async function read(plan: PdfPlan, options?: PdfOptions): Promise<ReadDocument> {
  const document = await readPdf(buildPdf(plan), options);
  if (document instanceof ReadFailure) throw document;
  return document;
}

async function textOf(...pages: readonly (readonly Drawn[])[]): Promise<string> {
  return (await read({ pages })).pieces.join("");
}

async function failureOf(bytes: Uint8Array, options?: PdfOptions): Promise<string> {
  const failure = await readPdf(bytes, options);
  if (!(failure instanceof ReadFailure)) throw new Error(`it was read: ${failure.pieces.join("").slice(0, 200)}`);
  expect(failure.code).toBe("unreadable_document");
  return failure.message;
}

const PROSE = [
  "The harbour was built in the spring of the year in which the",
  "river had carried away the second of the three old bridges. Its",
  "walls are of a grey stone that is broken in the hills and brought",
  "down on barges. Nobody has counted them, but the pilots say that",
  "there must be a hundred thousand, and each has a mark on it.",
];
const PROSE_TEXT = PROSE.join(" ");
/** Lines of a column. */
const NARROW = [
  "The harbour was built in the spring of a year in",
  "which the river carried away one of three bridges",
  "and the walls are of a grey stone that is broken in",
  "the hills and brought down on barges by the pilots.",
];

describe("paragraphs", () => {
  test("consecutive lines are a paragraph, and a wider gap begins the next one", async () => {
    const text = await textOf([...lines(PROSE, 60, 100), ...lines(PROSE, 60, 180)]);
    expect(text).toBe(`${PROSE_TEXT}\n\n${PROSE_TEXT}`);
  });

  test("an indent begins a paragraph without a gap", async () => {
    const [first = "", ...rest] = PROSE;
    const text = await textOf([
      ...lines(PROSE, 60, 100),
      { text: first.slice(0, -4), x: 80, y: 160 },
      ...lines(rest, 60, 172),
    ]);
    expect(text.split("\n\n")).toHaveLength(2);
  });

  test("a hyphenated word at the end of a line is rejoined; other hyphens stay", async () => {
    const text = await textOf(
      lines(
        [
          "A steam engine in a museum is not seen for its steam, but for the ma-",
          "chine: a well-known engine is seen by more people than a new one, and a well-",
          "known museum too, if less so in winter. There is rust on the iron, pre-",
          "and post-war iron in it, and a switch from 19-",
          "inch racks by Smith-",
          "Jones beside the older machine of the engine.",
        ],
        60,
        100,
      ),
    );
    for (const whole of ["for the machine: a", "a well-known museum", "pre- and post-war", "19-inch", "Smith-Jones"]) {
      expect(text).toContain(whole);
    }
  });

  test("short lines stay separate lines", async () => {
    const text = await textOf([
      ...lines(["Harbour Office", "12 Quay Street", "Porttown"], 60, 60),
      ...lines(PROSE, 60, 140),
    ]);
    expect(text).toStartWith("Harbour Office\n12 Quay Street\nPorttown\n\n");
  });

  test("a paragraph that continues on the next page after a footnote is joined, with the page mark inside", async () => {
    const document = await read({
      pages: [
        [
          ...lines([...PROSE, "And when the tide goes out the oldest of the marks are seen,"], 60, 640),
          ...lines(["1 The marks are listed by the harbour office."], 60, 740, 7),
        ],
        [...lines(["which are those of the men who drowned.", "There are nine."], 60, 60), ...lines(PROSE, 60, 120)],
      ],
    });
    const text = document.pieces.join("");
    expect(text).toContain("the marks are seen, which are those of the men who drowned.");
    expect(text).toContain("\n\n1 The marks are listed by the harbour office.\n\n");
    const at = document.marks.find(({ page }) => page === 2)?.at ?? 0;
    expect(text.slice(at)).toStartWith("which are those");
  });

  test("text that is drawn twice to look bold is read once", async () => {
    const text = await textOf([
      { text: "Harbour", x: 60, y: 100 },
      { text: "Harbour", x: 60.3, y: 100 },
    ]);
    expect(text).toBe("Harbour");
  });

  test("the mark of a note stays on its line", async () => {
    const text = await textOf([
      { text: "The harbour", x: 60, y: 100 },
      { text: "7", x: 113, y: 95, size: 6 },
      { text: "was built of grey stone.", x: 120, y: 100 },
      ...lines(PROSE, 60, 112),
    ]);
    expect(text).toStartWith("The harbour[7] was built");
  });

  test("lines that look like Markdown headings, tables or fences are escaped", async () => {
    const text = await textOf([...lines(["# of barges", "| open", "```"], 60, 100, 10), ...lines(PROSE, 60, 200)]);
    expect(text).toStartWith("\\# of barges\n\\| open\n\\```");
  });
});

describe("headings", () => {
  test("larger type is a heading, with a level per size", async () => {
    const text = await textOf([
      { text: "The harbour", x: 60, y: 60, size: 24 },
      { text: "Its walls", x: 60, y: 100, size: 16 },
      ...lines(PROSE, 60, 130),
      { text: "Its lights", x: 60, y: 220, size: 16 },
      ...lines(PROSE, 60, 250),
    ]);
    expect(text).toBe(`# The harbour\n\n## Its walls\n\n${PROSE_TEXT}\n\n## Its lights\n\n${PROSE_TEXT}`);
  });

  test("bold lines are headings below these; a section number determines the depth", async () => {
    const text = await textOf([
      { text: "The harbour", x: 60, y: 60, size: 24 },
      { text: "2 Its walls", x: 60, y: 100, font: "bold" },
      ...lines(PROSE, 60, 120),
      { text: "2.1 Their stones", x: 60, y: 200, font: "bold" },
      ...lines(PROSE, 60, 220),
    ]);
    expect(text).toContain("\n\n## 2 Its walls\n\n");
    expect(text).toContain("\n\n### 2.1 Their stones\n\n");
  });

  test("a line that is a bookmark is a heading", async () => {
    const page = [...lines(["Its walls"], 60, 60), ...lines(PROSE, 60, 100)];
    const { pieces } = await read({ pages: [page], bookmarks: ["1. Its walls"] });
    expect(pieces.join("")).toStartWith("# Its walls\n\n");
  });
});

describe("columns", () => {
  const left = PROSE.map((line) => line.slice(0, 40));
  const right = [
    "Fish is sold before sunrise at the gate",
    "by women who have walked from villages",
    "inland, with salt and with oil for what",
    "is left over, and they are gone at noon.",
  ];

  test("are read one after the other, after text across them", async () => {
    const text = await textOf([
      { text: "A title that stands across both of the columns", x: 120, y: 60, size: 18 },
      ...lines([...left, ...left], 60, 100),
      ...lines([...right, ...right], 320, 100),
    ]);
    expect(text.indexOf("A title")).toBe(2);
    expect(text.indexOf(left[4] ?? "")).toBeLessThan(text.indexOf(right[0] ?? ""));
    expect(text).toContain(right.join(" "));
  });

  test("may be three", async () => {
    const third = PROSE.map((line) => line.slice(0, 26));
    const columns = [60, 230, 400].map((x, at) =>
      lines(
        third.map((line) => `${at}${line}`),
        x,
        100 + at,
      ),
    );
    const text = await textOf(columns.flat());
    expect(text.match(/[012](?=\p{L})/gu)?.join("")).toBe("000001111122222");
  });

  test("are read separately above and below a line across them", async () => {
    const text = await textOf([
      ...lines(left, 60, 100),
      ...lines(right, 320, 100),
      {
        text: "Here a line goes across both of the columns, from the one edge to the other, at length",
        x: 60,
        y: 180,
        size: 12,
      },
      ...lines(
        left.map((line) => line.toUpperCase()),
        60,
        210,
      ),
      ...lines(
        right.map((line) => line.toUpperCase()),
        320,
        210,
      ),
    ]);
    const order = [left[0], right[0], "Here a line", left[0]?.toUpperCase(), right[0]?.toUpperCase()];
    const places = order.map((each) => text.indexOf(each ?? "?"));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });
});

describe("lists", () => {
  test("bullets and numbers are list items, with their further lines", async () => {
    const items = (["\u2022", "\uf0b7", "\u25aa"] as const).flatMap((bullet, at): Drawn[] => [
      { text: bullet, x: 60, y: 100 + at * 24, font: "unicode" },
      { text: "Barges bring the stone down from the hills in the north of", x: 75, y: 100 + at * 24 },
      { text: "the country.", x: 75, y: 112 + at * 24 },
    ]);
    const numbered = lines(["1. Count them.", "2. Mark them."], 60, 200);
    const item = "Barges bring the stone down from the hills in the north of the country.";
    expect(await textOf([...items, ...numbered])).toBe(
      `- ${item}\n- ${item}\n- ${item}\n1. Count them.\n2. Mark them.`,
    );
  });

  test("a single character of an undecodable font is a bullet on a decodable page", async () => {
    const text = await textOf([
      { text: "x", x: 60, y: 100, font: "symbols" },
      { text: "Security", x: 75, y: 100 },
      { text: "x", x: 60, y: 112, font: "symbols" },
      { text: "Harbours", x: 75, y: 112 },
    ]);
    expect(text).toBe("- Security\n- Harbours");
  });
});

describe("tables", () => {
  const row = (cells: readonly string[], y: number, font: Drawn["font"] = "text"): readonly Drawn[] =>
    cells.flatMap((text, at) => (text === "" ? [] : [{ text, x: 60 + at * 120, y, font }]));

  test("rows have column names", async () => {
    const text = await textOf([
      ...row(["Name", "Berths", "Depth"], 100, "bold"),
      ...row(["Porttown", "12", "7.5 m"], 116),
      ...row(["Newquay", "", "4 m"], 132),
    ]);
    expect(text).toBe("Name: Porttown | Berths: 12 | Depth: 7.5 m\nName: Newquay | Depth: 4 m");
  });

  test("names above figures are a header even without bold type", async () => {
    const text = await textOf([
      ...row(["Harbour", "Berths", "Depth"], 100),
      ...row(["Porttown", "12", "7"], 116),
      ...row(["Newquay", "9", "4"], 132),
    ]);
    expect(text).toStartWith("Harbour: Porttown | Berths: 12 | Depth: 7\n");
  });

  test("without a header values stand alone, and a row of two cells is a name and a value", async () => {
    const three = [...row(["Porttown", "stone", "tidal"], 100), ...row(["Newquay", "wood", "locked"], 116)];
    expect(await textOf(three)).toBe("Porttown | stone | tidal\nNewquay | wood | locked");
    const pairs = [...row(["Harbour master", "Ada Quay"], 100), ...row(["Telephone", "555 0100"], 116)];
    expect(await textOf(pairs)).toBe("Harbour master: Ada Quay\nTelephone: 555 0100");
  });

  test("lines of a cell are joined, and a title above belongs to no column", async () => {
    const text = await textOf([
      { text: "Table 1: Harbours of the coast", x: 100, y: 80 },
      ...row(["Name", "Remarks", "Berths"], 100, "bold"),
      ...row(["Porttown", "built of grey stone", "12"], 120),
      ...row(["", "that is marked", ""], 131),
      ...row(["Newquay", "locked", "9"], 151),
    ]);
    expect(text).toBe(
      "Table 1: Harbours of the coast\n\nName: Porttown | Remarks: built of grey stone that is marked | Berths: 12\nName: Newquay | Remarks: locked | Berths: 9",
    );
  });

  const cellsAt = (y: number, cells: readonly (readonly [x: number, text: string])[], font: Drawn["font"] = "text") =>
    cells.map(([x, text]): Drawn => ({ text, x, y, font }));

  test("of figures above two columns of text are read across", async () => {
    const xs = [60, 150, 210, 270, 330, 400, 470];
    const names = ["Program", "Loops", "Trees", "Traces", "Aborts", "Flushes", "Speedup"];
    const figures = (at: number) => [`prog-${at}`, `${at + 3}`, `${at + 4}`, "27", "-", "0", `${at}.2x`];
    const place = (y: number, texts: readonly string[]) =>
      cellsAt(
        y,
        texts.map((text, at) => [xs[at] ?? 0, text]),
      );
    const text = await textOf([
      ...place(80, names),
      ...Array.from({ length: 9 }, (_, at) => place(92 + 12 * at, figures(at))).flat(),
      ...lines([...NARROW, ...NARROW, ...NARROW], 60, 240),
      ...lines([...NARROW, ...NARROW, ...NARROW], 320, 240),
    ]);
    expect(text).toStartWith(
      "Program: prog-0 | Loops: 3 | Trees: 4 | Traces: 27 | Aborts: - | Flushes: 0 | Speedup: 0.2x\nProgram: prog-1 | Loops: 4",
    );
    expect(text).toContain(
      "Program: prog-8 | Loops: 11 | Trees: 12 | Traces: 27 | Aborts: - | Flushes: 0 | Speedup: 8.2x\n",
    );
  });

  test("may have names of columns so close together that only the columns separate them", async () => {
    const text = await textOf([
      ...cellsAt(
        100,
        [
          [60, "Dataset"],
          [290, "Notes"],
          [210, "Large Model"],
          [150, "Base Model"],
        ],
        "bold",
      ),
      ...cellsAt(114, [
        [60, "PubLayNet"],
        [165, "F / M"],
        [220, "M"],
        [290, "Layouts of modern documents"],
      ]),
      ...cellsAt(126, [
        [60, "PRImA"],
        [165, "M"],
        [220, "-"],
        [290, "Layouts of scanned magazines"],
      ]),
      ...cellsAt(138, [
        [60, "Newspaper"],
        [165, "F"],
        [220, "-"],
        [290, "Layouts of newspapers"],
      ]),
    ]);
    expect(text).toContain(
      "Dataset: PubLayNet | Base Model: F / M | Large Model: M | Notes: Layouts of modern documents",
    );
  });

  test("of short texts below prose of the full width are not torn into columns", async () => {
    const cells = (y: number, texts: readonly string[]) =>
      cellsAt(
        y,
        texts.map((text, at) => [60 + 85 * at, text]),
      );
    const text = await textOf([
      ...lines(PROSE, 60, 100),
      ...lines(PROSE.slice(0, 3), 60, 170),
      ...cells(260, ["Land", "Norway", "Chad", "Peru", "Japan"]),
      ...cells(280, ["Capital", "Oslo", "Ndjamena", "Lima", "Tokyo"]),
      ...cells(300, ["Money", "Krone", "Franc", "Sol", "Yen"]),
      ...cells(320, ["Tongue", "Norsk", "French", "Spanish", "Nihongo"]),
    ]);
    expect(text.split("\n").filter((line) => line.includes("Oslo") && line.includes("Tokyo"))).toHaveLength(1);
  });

  test("dot leaders in a table of contents are shortened", async () => {
    const text = await textOf(
      lines(["Walls . . . . . . . . . . . . . . . . 7", "Lights . . . . . . . . . . . . . . . 19"], 60, 100),
    );
    expect(text).toBe("Walls … 7\nLights … 19");
  });
});

describe("forms", () => {
  const field = (name: string, type: string, value: string) =>
    `/Subtype /Widget /T (${name}) /FT /${type} /V ${value} /F 4`;
  const button = (name: string, state: string, flags = 0) =>
    `/Subtype /Widget /T (${name}) /FT /Btn /Ff ${flags} /V /${state} /AS /${state} /F 4 /AP << /N << /Yes null /Off null >> >>`;

  test("have values behind their labels, whichever side these are on", async () => {
    const { pieces } = await read({
      pages: [
        [
          { text: "Full name:", x: 60, y: 100 },
          { text: "Locker no. ____________", x: 60, y: 130 },
          { text: "Delivery address", x: 60, y: 160 },
          { text: "Plan", x: 60, y: 210 },
        ],
      ],
      annotations: [
        { entries: field("n", "Tx", "(Maren Oldstad)"), x: 160, y: 104 },
        { entries: field("l", "Tx", "(L-4471)"), x: 115, y: 134 },
        { entries: field("a", "Tx", "(12 Elm Street)"), x: 60, y: 180 },
        { entries: `${field("p", "Ch", "(fam)")} /Ff 131072 /Opt [[(bas) (Basic)] [(fam) (Family)]]`, x: 160, y: 214 },
        { entries: field("e", "Tx", "()"), x: 160, y: 254 },
      ],
    });
    const text = pieces.join("");
    expect(text).toContain("Full name: Maren Oldstad\n");
    expect(text).toContain("Locker no.: L-4471\n");
    expect(text).toContain("Delivery address: 12 Elm Street\n");
    expect(text).toEndWith("Plan: Family");
  });

  test("have boxes before their labels, ticked or not", async () => {
    const { pieces } = await read({
      pages: [
        [
          { text: "Send the letter", x: 80, y: 100 },
          { text: "Wrap as a gift", x: 80, y: 130 },
          { text: "Vegetarian:", x: 60, y: 160 },
        ],
      ],
      annotations: [
        { entries: button("a", "Yes"), x: 62, y: 102, width: 12 },
        { entries: button("b", "Off"), x: 62, y: 132, width: 12 },
        { entries: button("c", "Yes"), x: 130, y: 162, width: 12 },
      ],
    });
    expect(pieces.join("").split(/\n+/)).toEqual(["☑ Send the letter", "☐ Wrap as a gift", "Vegetarian: ☑"]);
  });

  test("have the name of a field if there is no label, and nothing of hidden fields, passwords and push buttons", async () => {
    const { pieces } = await read({
      pages: [[{ text: "Order form of the harbour", x: 60, y: 100 }]],
      annotations: [
        { entries: field("page1.internalReference[0]", "Tx", "(REF-7)"), x: 60, y: 400 },
        { entries: `${field("x", "Tx", "(4711)")} /TU (Customer number:)`, x: 300, y: 500 },
        { entries: field("h", "Tx", "(hidden)").replace("/F 4", "/F 2"), x: 60, y: 600 },
        { entries: `${field("w", "Tx", "(secret)")} /Ff 8192`, x: 60, y: 640 },
        { entries: button("push", "Yes", 65_536), x: 60, y: 680 },
      ],
    });
    const text = pieces.join("");
    expect(text).toContain("internal Reference: REF-7");
    expect(text).toContain("Customer number: 4711");
    expect(text).not.toMatch(/hidden|secret|push/);
  });
});

describe("notes", () => {
  const note = (subtype: string, content: string, more = "") =>
    `/Subtype /${subtype} /Contents (${content}) /F 4 ${more}`;

  test("stand behind the paragraph beside which they are; links and hidden notes are left out", async () => {
    const { pieces, marks } = await read({
      pages: [[...lines(PROSE, 60, 100), ...lines(PROSE, 60, 300)], lines(PROSE, 60, 400)],
      annotations: [
        { entries: note("Text", "Ask Ida.", "/T (Jon)"), x: 500, y: 120, width: 20 },
        { entries: note("Highlight", "Which bridge?", "/QuadPoints [60 500 90 500 60 490 90 490]"), x: 60, y: 310 },
        { entries: note("Highlight", "", "/QuadPoints [60 500 90 500 60 490 90 490]"), x: 60, y: 310 },
        { entries: note("FreeText", "Draft of May", "/DA (/Helv 10 Tf)"), x: 300, y: 700 },
        { entries: note("Text", "hidden").replace("/F 4", "/F 2"), x: 60, y: 100 },
        { entries: note("Link", "linked", "/A << /S /URI /URI (https://example.org) >>"), x: 60, y: 100 },
      ],
    });
    expect(pieces.join("")).toBe(
      `${PROSE_TEXT}\n\n[comment by Jon: Ask Ida.]\n\n${PROSE_TEXT}\n\n[comment: Which bridge?]\n\nDraft of May\n\n${PROSE_TEXT}`,
    );
    expect(marks).toHaveLength(2);
  });

  test("alone are the text of a page", async () => {
    const { pieces } = await read({
      pages: [[]],
      annotations: [{ entries: note("Text", "Only a note of the reader."), x: 60, y: 100 }],
    });
    expect(pieces.join("")).toBe("[comment: Only a note of the reader.]");
  });
});

describe("headers, footers and stamps", () => {
  const page = (number: number): readonly Drawn[] => [
    { text: "The Harbours of the Coast", x: 200, y: 30, size: 8 },
    ...lines(
      PROSE.map((line) => `${line.slice(0, 50)} ${"abcdefg"[number]}.`),
      60,
      100,
    ),
    { text: `Page ${number} of 5`, x: 280, y: 780, size: 8 },
  ];

  test("running headers and page numbers are left out; the header of the first page stays", async () => {
    const text = await textOf(...[1, 2, 3, 4, 5].map(page));
    expect(text.match(/The Harbours of the Coast/g)).toHaveLength(1);
    expect(text).not.toContain("Page ");
    expect(text.match(/The harbour was built/g)).toHaveLength(5);
  });

  test("a lone number at the bottom is a page number", async () => {
    expect(await textOf([...lines(PROSE, 60, 100), { text: "17", x: 300, y: 770 }])).toBe(PROSE_TEXT);
  });

  test("figures at the same position on each page stay if they are not page numbers", async () => {
    const pages = [1, 2, 3, 4].map((number) => [
      ...lines(PROSE, 60, 100),
      { text: `Balance carried forward: ${number * 111}.20`, x: 60, y: 760 },
    ]);
    const text = await textOf(...pages);
    for (const number of [1, 2, 3, 4]) expect(text).toContain(`Balance carried forward: ${number * 111}.20`);
  });

  test("text along the edge is read after the other text, and is not a heading", async () => {
    const text = await textOf([
      { text: "arXiv:2004.04906v3", x: 30, y: 500, size: 20, degrees: 90 },
      ...lines(PROSE, 60, 100),
    ]);
    expect(text).toBe(`${PROSE_TEXT}\n\narXiv:2004.04906v3`);
  });
});

describe("scripts", () => {
  test("a rotated page is read as it is displayed", async () => {
    const turned = PROSE.map((text, at) => ({ text, x: 100 + at * 12, y: 700, degrees: 90 }));
    expect((await read({ pages: [turned], rotate: 90 })).pieces.join("")).toBe(PROSE_TEXT);
  });

  test("right-to-left text is read in logical order, including left-to-right words", async () => {
    const drawn = (text: string, x: number): Drawn => ({
      text: [...text].reverse().join(""),
      x,
      y: 100,
      font: "unicode",
    });
    const text = await textOf([
      drawn("\u05e9\u05dc\u05d5\u05dd", 300),
      { text: "Python", x: 264, y: 100, font: "unicode" },
      drawn("\u05e2\u05d5\u05dc\u05dd", 240),
    ]);
    expect(text).toBe("\u05e9\u05dc\u05d5\u05dd Python \u05e2\u05d5\u05dc\u05dd");
  });

  test("ligatures are letters, and so are Arabic letters in their positional forms", async () => {
    expect(await textOf([{ text: "\ufb01sh o\ufb03ce", x: 60, y: 100, font: "unicode" }])).toBe("fish office");
    const [text] = await Promise.all([
      textOf([{ text: "\ufe94\ufef4\ufe91\ufeae\ufecc\ufedf\ufe8d", x: 60, y: 100, font: "unicode" }]),
    ]);
    expect(text).toBe("\u0627\u0644\u0639\u0631\u0628\u064a\u0629");
  });

  test("predefined Japanese character maps are available, and lines join without spaces", async () => {
    const text = await textOf([
      { text: "82a082a282a482a682a8", x: 60, y: 100, font: "shift-jis" },
      { text: "8d60", x: 60, y: 112, font: "shift-jis" },
    ]);
    expect(text.replace("\n", "")).toBe("あいうえお港");
  });
});

describe("the title", () => {
  const page = lines(PROSE, 60, 100);

  test("is taken from the properties of the file", async () => {
    expect((await read({ pages: [page], title: "Harbours of the Coast" })).title).toBe("Harbours of the Coast");
  });

  test.each([
    "Microsoft Word - harbours-final2.doc",
    "harbours.indd",
    "untitled",
    "Document1",
    "PowerPoint Presentation",
    "C:\\\\temp\\\\x",
    "12 34",
    "",
  ])("is not %p, which a program has put there", async (title) => {
    expect((await read({ pages: [page], title })).title).toBeNull();
  });
});

describe("places", () => {
  test("each page with text has a mark, and progress is reported per page", async () => {
    const done: string[] = [];
    const plan = { pages: [lines(["First page."], 60, 100), [], lines(["Third page."], 60, 100)] };
    const { pieces, marks } = await read(plan, { onProgress: (pages, total) => done.push(`${pages}/${total}`) });
    expect(pieces.join("")).toBe("First page.\n\nThird page.");
    expect(marks).toEqual([
      { at: 0, page: 1 },
      { at: 13, page: 3 },
    ]);
    expect(done).toEqual(["1/3", "2/3", "3/3"]);
  });

  test("a long text is returned in pieces", async () => {
    const { pieces } = await read({
      pages: Array.from({ length: 40 }, (_, at) =>
        lines(
          Array.from({ length: 60 }, (_, line) => `${PROSE[0]} ${at * 60 + line}.`),
          60,
          40,
        ),
      ),
    });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("").match(/harbour/g)).toHaveLength(40 * 60);
  });

  test("the bytes stay unchanged, in a Buffer or not", async () => {
    const bytes = buildPdf({ pages: [lines(PROSE, 60, 100)] });
    const before = bytes.slice();
    for (const given of [bytes, Buffer.from(bytes.buffer)]) {
      expect(await readPdf(given)).not.toBeInstanceOf(ReadFailure);
      expect(bytes).toEqual(before);
    }
  });
});

describe("an unreadable file", () => {
  const page = lines(PROSE, 60, 100);

  test("is not a PDF", async () => {
    for (const bytes of [new Uint8Array(), Buffer.from("no PDF at all"), Buffer.from("%PDF-1.7\n")]) {
      expect(await failureOf(bytes)).toBe("The file is damaged: it cannot be opened as a PDF.");
    }
  });

  test("has a password", async () => {
    const locked = buildPdf({ pages: [page], isLocked: true });
    expect(await failureOf(locked)).toBe("The file is encrypted. Upload it without a password.");
  });

  test("has only pictures, or nothing at all", async () => {
    expect(await failureOf(buildPdf({ pages: [[]], hasPicture: true }))).toBe(
      "The file holds no text; it seems to be a scan, and text recognition is off.",
    );
    expect(await failureOf(buildPdf({ pages: [[], []] }))).toBe("The file holds no text.");
  });

  test("has fonts without a mapping to characters; if other pages are readable, a note in the text says so", async () => {
    const undecodable: readonly Drawn[] = [{ text: "a text of some length", x: 60, y: 100, font: "symbols" }];
    expect(await failureOf(buildPdf({ pages: [undecodable] }))).toBe(
      "The file's fonts do not say which letters they show.",
    );
    const text = await textOf(page, undecodable, undecodable, page);
    expect(text).toBe(
      `${PROSE_TEXT}\n\n[Pages 2 to 3 cannot be read: their fonts do not say which letters they show.]\n\n${PROSE_TEXT}`,
    );
  });

  test("lacks a page; if it has other pages, a note in the text says so", async () => {
    expect((await read({ pages: [page], isLastLost: true })).pieces.join("")).toBe(
      `${PROSE_TEXT}\n\n[Page 2 is damaged and cannot be read.]`,
    );
  });

  test("has more pages than the limit; a file with exactly the limit is read", async () => {
    const many = (copies: number) => buildPdf({ pages: [page], copies });
    expect(await failureOf(many(PDF_PAGES_MAX + 1))).toBe(
      "The file has 5,001 pages; at most 5,000 are read. Upload it in parts.",
    );
    let [pages, now] = [0, 0];
    const stopped = await readPdf(many(PDF_PAGES_MAX), {
      onProgress: (_, total) => {
        pages = total;
      },
      // the time is over after a few hundred pages
      clock: { now: () => (now += 100), sleep: systemClock.sleep },
    });
    expect(pages).toBe(PDF_PAGES_MAX);
    expect(stopped instanceof ReadFailure ? stopped.message : "").not.toContain("at most");
  });

  test("takes too long; the message names the page", async () => {
    let now = 0;
    const clock: Clock = { now: () => (now += 1_000), sleep: (ms, signal) => systemClock.sleep(ms, signal) };
    const bytes = buildPdf({ pages: Array.from({ length: 40 }, () => page) });
    expect(await failureOf(bytes, { clock })).toMatch(
      /^The file takes longer than 30 s to read \(page \d+ of 40\)\. Upload it in parts\.$/,
    );
  });
});
