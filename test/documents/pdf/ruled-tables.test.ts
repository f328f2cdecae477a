// Tests tables whose cells have borders: the borders decide which lines of text are one cell.

import { describe, expect, test } from "bun:test";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { buildPdf, type Drawn, lines } from "./build-pdf.ts";

async function textOf(page: readonly Drawn[], drawing: string): Promise<string> {
  const read = await readPdf(buildPdf({ pages: [page], drawing }));
  if (read instanceof ReadFailure) throw read;
  return read.pieces.join("");
}

/** Horizontal and vertical lines, measured from the left and upper edge of the page. */
const across = (y: number, from: number, to: number) => `${from} ${800 - y} m ${to} ${800 - y} l S`;
const down = (x: number, from: number, to: number) => `${x} ${800 - from} m ${x} ${800 - to} l S`;

/** Borders of all cells. */
function bordersOf(xs: readonly number[], ys: readonly number[]): string {
  const [left, right] = [xs[0] ?? 0, xs.at(-1) ?? 0];
  const [top, bottom] = [ys[0] ?? 0, ys.at(-1) ?? 0];
  return [...ys.map((y) => across(y, left, right)), ...xs.map((x) => down(x, top, bottom))].join("\n");
}

/** Texts of a row of cells; a text of several lines is one of the cell. */
const cells = (xs: readonly number[], y: number, texts: readonly string[]): readonly Drawn[] =>
  texts.flatMap((text, at) => (text === "" ? [] : lines(text.split("\n"), (xs[at] ?? 0) + 4, y)));

const XS = [60, 150, 230, 300, 480];
const LONG = "The harbour was rebuilt after the storm, and the council voted for a new mole in the same year.";

describe("a table with borders", () => {
  test("keeps lines of a cell together, wherever they stand in it", async () => {
    const text = await textOf(
      [
        ...cells(XS, 112, ["Dataset", "Base model of\nthe study", "Large", "Notes on the layouts"]),
        ...cells(XS, 142, ["", "", "", "Layouts of modern documents that\nwere collected on many pages of\nthe web"]),
        ...cells(XS, 154, ["PubNet", "F / M", "M"]),
        ...cells(XS, 192, ["HJ", "F", "-", "Layouts of old documents in the\nJapanese language"]),
        ...cells(XS, 222, ["Zine", "M", "F", "Layouts of small magazines"]),
      ],
      bordersOf(XS, [100, 130, 180, 210, 230]),
    );
    expect(text.split("\n")).toEqual([
      "Dataset: PubNet | Base model of the study: F / M | Large: M | Notes on the layouts: Layouts of modern documents that were collected on many pages of the web",
      "Dataset: HJ | Base model of the study: F | Large: - | Notes on the layouts: Layouts of old documents in the Japanese language",
      "Dataset: Zine | Base model of the study: M | Large: F | Notes on the layouts: Layouts of small magazines",
    ]);
  });

  test("has merged cells: names above groups of columns, and names of several rows", async () => {
    const xs = [60, 140, 200, 260, 320, 380];
    const borders = [
      ...[100, 140, 160, 180, 200].map((y) => across(y, 60, 380)),
      across(120, 200, 380),
      ...xs.map((x) => down(x, x === 260 ? 120 : 100, 200)),
    ];
    const text = await textOf(
      [
        ...cells(xs, 112, ["Region", "Crop", "2022", "", "2023"]),
        ...cells(xs, 132, ["", "", "Area", "Yield", "Area"]),
        ...cells(xs, 152, ["North", "Rye", "11", "4.4", "12"]),
        ...cells(xs, 172, ["North", "Oat", "7", "3.9", "8"]),
        ...cells(xs, 192, ["South", "Rye", "21", "5.0", "19"]),
      ],
      borders.join("\n"),
    );
    expect(text.split("\n")).toContain("Region: North | Crop: Oat | 2022 Area: 7 | 2022 Yield: 3.9 | 2023 Area: 8");
  });

  test("is read apart from another one beside it", async () => {
    const [left, right] = [
      [60, 130, 200],
      [260, 330, 420],
    ];
    const text = await textOf(
      [
        ...cells(left, 112, ["Fish", "Price"]),
        ...cells(right, 112, ["Tool", "Weight"]),
        ...["Cod 89", "Ling 64", "Trout 120"].flatMap((each, at) => cells(left, 132 + 20 * at, each.split(" "))),
        ...["Saw 12", "Axe 20", "Adze 11"].flatMap((each, at) => cells(right, 132 + 20 * at, each.split(" "))),
      ],
      `${bordersOf(left, [100, 120, 140, 160, 180])}\n${bordersOf(right, [100, 120, 140, 160, 180])}`,
    );
    expect(text.split(/\n+/)).toEqual([
      ...["Fish: Cod | Price: 89", "Fish: Ling | Price: 64", "Fish: Trout | Price: 120"],
      ...["Tool: Saw | Weight: 12", "Tool: Axe | Weight: 20", "Tool: Adze | Weight: 11"],
    ]);
  });

  test("stays in its column of text", async () => {
    const prose = (x: number, y: number, count: number) =>
      lines(
        Array.from({ length: count }, (_, at) => `${LONG.slice(0, 44)} ${at}`),
        x,
        y,
      );
    const xs = [60, 150, 250];
    const text = await textOf(
      [
        ...prose(60, 80, 8),
        ...["Harbour Berths", "Ostvik 120", "Nordhavn 88", "Grimstad 60"].flatMap((each, at) =>
          cells(xs, 192 + 20 * at, each.split(" ")),
        ),
        ...prose(60, 280, 10),
        ...prose(330, 80, 26),
      ],
      bordersOf(xs, [180, 200, 220, 240, 260]),
    );
    const rows = text.split("\n").filter((line) => line.includes("Harbour: "));
    expect(rows).toEqual([
      "Harbour: Ostvik | Berths: 120",
      "Harbour: Nordhavn | Berths: 88",
      "Harbour: Grimstad | Berths: 60",
    ]);
    expect(text.indexOf("Grimstad")).toBeLessThan(text.lastIndexOf("rebuilt"));
  });

  test("may have thin boxes as borders, and none at its sides", async () => {
    const boxes = [100, 120, 140, 160].map((y) => `60 ${800 - y} 400 0.5 re f`);
    const sides = [200, 330].map((x) => `${x} 640 0.7 60 re f`);
    const text = await textOf(
      ["Club Members Fee", "Rowing 41 12", "Chess 17 9"].flatMap((each, at) =>
        cells([60, 200, 330], 112 + 20 * at, each.split(" ")),
      ),
      [...boxes, ...sides].join("\n"),
    );
    expect(text.split("\n")).toEqual(["Club: Rowing | Members: 41 | Fee: 12", "Club: Chess | Members: 17 | Fee: 9"]);
  });
});

describe("lines are no table", () => {
  test("if several rows stand between two borders", async () => {
    const xs = [60, 200, 300, 400];
    const text = await textOf(
      [
        ...cells(xs, 112, ["Case", "Court", "Year"]),
        ...cells(xs, 132, ["Radio\nCable\nVideo", "none\nsome\nmost", "1908\n1976\n1984"]),
      ],
      bordersOf(xs, [100, 120, 175]),
    );
    expect(text).toContain("Cable");
    expect(text).not.toContain("Radio Cable");
  });

  test("if a box holds a text of the page", async () => {
    const text = await textOf(
      [...lines([LONG.slice(0, 60), LONG.slice(60)], 64, 112), { text: "Alone", x: 64, y: 160 }],
      bordersOf([60, 560], [100, 140, 180]),
    );
    expect(text).toContain("Alone");
    expect(text).not.toContain("|");
  });

  test("if a drawing has a grid with few texts", async () => {
    const grid = Array.from({ length: 8 }, (_, at) => 100 + at * 30);
    const text = await textOf(
      [
        { text: "Peak", x: 110, y: 115 },
        { text: "Low", x: 200, y: 205 },
      ],
      bordersOf(grid, grid),
    );
    expect(text).toContain("Peak");
    expect(text).not.toContain("|");
  });
});
