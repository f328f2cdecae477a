// Tests which names the columns of tables on pages have: in several rows, above texts, and on the next page; and texts
// that stand side by side.

import { describe, expect, test } from "bun:test";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { buildPdf, type Drawn } from "./build-pdf.ts";

async function textOf(...pages: readonly (readonly Drawn[])[]): Promise<string> {
  const read = await readPdf(buildPdf({ pages }));
  if (read instanceof ReadFailure) throw read;
  return read.pieces.join("");
}

const STEP = 110;
/** A row of cells at equal distances. */
const row = (cells: readonly string[], y: number, font: Drawn["font"] = "text"): readonly Drawn[] =>
  cells.flatMap((text, at) => (text === "" ? [] : [{ text, x: 60 + at * STEP, y, font }]));
const rowsFrom = (y: number, pitch: number, rows: readonly (readonly string[])[]) =>
  rows.flatMap((cells, at) => row(cells, y + at * pitch));

describe("the names of columns", () => {
  test("may stand in two lines", async () => {
    const text = await textOf([
      ...row(["", "Mean water", "Ice"], 88),
      ...row(["Station", "temperature", "days", "Remarks"], 100),
      ...rowsFrom(120, 18, [
        ["Kiel", "11.4"],
        ["Rostock", "10.9", "3", "new buoy"],
        ["Hel", "", "7", "buoy lost"],
      ]),
    ]);
    expect(text.split("\n")).toEqual([
      "Station: Kiel | Mean water temperature: 11.4",
      "Station: Rostock | Mean water temperature: 10.9 | Ice days: 3 | Remarks: new buoy",
      "Station: Hel | Ice days: 7 | Remarks: buoy lost",
    ]);
  });

  test("may stand below names of groups, and may be years", async () => {
    const middle = (text: string, columns: number) => ({
      text,
      x: 60 + columns * STEP + 8 - text.length * 2.75,
      y: 84,
    });
    const text = await textOf([
      middle("Men", 1.5),
      middle("Women", 3.5),
      ...row(["Event", "2019", "2023", "2019", "2023"], 100),
      ...rowsFrom(116, 16, [
        ["Sprint", "10.4", "10.2", "11.6", "11.3"],
        ["Relay", "41.1", "40.8", "43.9", "43.1"],
      ]),
    ]);
    expect(text.split("\n")).toEqual([
      "Event: Sprint | Men 2019: 10.4 | Men 2023: 10.2 | Women 2019: 11.6 | Women 2023: 11.3",
      "Event: Relay | Men 2019: 41.1 | Men 2023: 40.8 | Women 2019: 43.9 | Women 2023: 43.1",
    ]);
  });

  test("may stand above longer texts", async () => {
    const text = await textOf(
      rowsFrom(100, 16, [
        ["Step", "Role", "Deadline"],
        ["Collect samples", "Technician", "Before nine"],
        ["Weigh residue", "Assistant", "Within a day"],
        ["Report results", "Head of office", "Fifth day"],
      ]),
    );
    expect(text.split("\n")[2]).toBe("Step: Report results | Role: Head of office | Deadline: Fifth day");
  });

  test("are not guessed among texts of the same length, nor if a name occurs below", async () => {
    const alike = [
      ["Porttown", "stone", "tidal"],
      ["Newquay", "wood", "locked"],
      ["Sandhaven", "brick", "open"],
    ];
    expect(await textOf(rowsFrom(100, 16, alike))).toBe(alike.map((cells) => cells.join(" | ")).join("\n"));
    const repeated = [
      ["Oak", "Elm", "Ash"],
      ["Oak", "planted long ago", "near the old gate"],
      ["Yew", "a younger tree", "behind the school"],
    ];
    expect(await textOf(rowsFrom(100, 16, repeated))).toStartWith("Oak | Elm | Ash\n");
  });
});

describe("a table that continues on the next page", () => {
  const HEAD = ["Nr", "Member", "Fee"];
  const members = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => [
      `${from + at}`,
      `Person ${"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[from + at]}`,
      `${30 + at}.50`,
    ]);
  const named = (from: number, count: number) =>
    members(from, count).map(([number, member, fee]) => `Nr: ${number} | Member: ${member} | Fee: ${fee}`);

  test("has its names there, too, also on a third page", async () => {
    const text = await textOf(
      [...row(HEAD, 60, "bold"), ...rowsFrom(76, 16, members(0, 6))],
      rowsFrom(60, 16, members(6, 6)),
      rowsFrom(60, 16, members(12, 3)),
    );
    expect(text.split(/\n+/)).toEqual([...named(0, 6), ...named(6, 6), ...named(12, 3)]);
  });

  test("has them if they are repeated at the top of each page", async () => {
    const page = (from: number) => [...row(HEAD, 60, "bold"), ...rowsFrom(76, 16, members(from, 6))];
    const text = await textOf(page(0), page(6), page(12));
    expect(text.split(/\n+/)).toEqual([...named(0, 6), ...named(6, 6), ...named(12, 6)]);
  });

  test("does not name other columns, other kinds of values, or a table behind a text", async () => {
    const first = [...row(HEAD, 60, "bold"), ...rowsFrom(76, 16, members(0, 6))];
    const wider = await textOf(
      first,
      rowsFrom(60, 16, [
        ["a", "b", "c", "d"],
        ["e", "f", "g", "h"],
      ]),
    );
    expect(wider).toEndWith("a | b | c | d\ne | f | g | h");
    const others = await textOf(
      first,
      rowsFrom(60, 16, [
        ["pine", "7", "tall"],
        ["oak", "9", "old"],
      ]),
    );
    expect(others).toEndWith("pine | 7 | tall\noak | 9 | old");
    const prose = Array.from({ length: 4 }, (_, at) => ({
      text: `The members met in the hall and spoke about many things, line ${at}.`,
      ...{ x: 60, y: 60 + 13 * at },
    }));
    const apart = await textOf(first, [...prose, ...rowsFrom(160, 16, members(6, 3))]);
    expect(apart).toEndWith(
      members(6, 3)
        .map((cells) => cells.join(" | "))
        .join("\n"),
    );
  });
});

describe("rows of a table", () => {
  test("have cells of several lines, below names that stand close together", async () => {
    const at = (y: number, texts: readonly [x: number, text: string][]) => texts.map(([x, text]) => ({ text, x, y }));
    const text = await textOf([
      ...at(100, [
        [60, "Dataset"],
        [150, "Base model"],
        [230, "Large"],
        [290, "Notes on the layouts"],
      ]),
      ...at(120, [
        [60, "PubNet"],
        [150, "F / M"],
        [230, "M"],
        [290, "Layouts of modern documents in"],
      ]),
      ...at(132, [[290, "several languages of the world"]]),
      ...at(152, [
        [60, "TableBank"],
        [150, "F"],
        [230, "F"],
        [290, "Regions of tables in reports"],
      ]),
      ...at(172, [
        [60, "HJ"],
        [150, "F / M"],
        [230, "-"],
        [290, "Layouts of historical books and"],
      ]),
      ...at(184, [[290, "newspapers of the time"]]),
    ]);
    expect(text.split("\n")).toEqual([
      "Dataset: PubNet | Base model: F / M | Large: M | Notes on the layouts: Layouts of modern documents in several languages of the world",
      "Dataset: TableBank | Base model: F | Large: F | Notes on the layouts: Regions of tables in reports",
      "Dataset: HJ | Base model: F / M | Large: - | Notes on the layouts: Layouts of historical books and newspapers of the time",
    ]);
    const close = await textOf([
      ...at(100, [
        [60, "Base Model"],
        [126, "Large Model"],
        [200, "Time"],
      ]),
      ...at(118, [
        [60, "F"],
        [126, "M"],
        [200, "3 h"],
      ]),
      ...at(136, [
        [60, "R"],
        [126, "X"],
        [200, "5 h"],
      ]),
    ]);
    expect(close.split("\n")).toEqual([
      "Base Model: F | Large Model: M | Time: 3 h",
      "Base Model: R | Large Model: X | Time: 5 h",
    ]);
  });

  test("end where another table begins, and texts below what introduces them are together", async () => {
    const text = await textOf([
      ...row(["Bill to:", "", "Ship to:"], 100),
      ...row(["Hansen AS", "", "Lager 4"], 114),
      ...row(["Kaivei 3", "", "Sjogata 12"], 128),
      ...row(["Article", "Count", "Price", "Sum"], 164),
      ...rowsFrom(178, 14, [
        ["Chain", "20", "12.50", "250.00"],
        ["Shackle", "4", "7.25", "29.00"],
      ]),
    ]);
    expect(text.split(/\n+/)).toEqual([
      "Bill to: Hansen AS, Kaivei 3",
      "Ship to: Lager 4, Sjogata 12",
      "Article: Chain | Count: 20 | Price: 12.50 | Sum: 250.00",
      "Article: Shackle | Count: 4 | Price: 7.25 | Sum: 29.00",
    ]);
  });
});

describe("texts side by side", () => {
  const box = (at: number, title: string, lines: readonly string[]): readonly Drawn[] => [
    { text: title, x: 50 + at * 180, y: 100, font: "bold" },
    ...lines.map((text, line): Drawn => ({ text, x: 50 + at * 180, y: 116 + 14 * line })),
  ];

  test("are read one after the other, each behind its title", async () => {
    const text = await textOf([
      ...box(0, "Staff", ["We employ 412 people in five", "countries, of whom 61 are", "trainees."]),
      ...box(1, "Energy", ["Consumption fell to 7.9 GWh,", "which is the lowest value", "since 2011."]),
      ...box(2, "Safety", ["There were nine accidents,", "none of them with lasting", "injuries."]),
    ]);
    const sentences = [
      "We employ 412 people in five countries, of whom 61 are trainees.",
      "Consumption fell to 7.9 GWh, which is the lowest value since 2011.",
      "There were nine accidents, none of them with lasting injuries.",
    ];
    const places = sentences.map((sentence) => text.indexOf(sentence));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(text.indexOf("Energy")).toBeLessThan(places[1] ?? -1);
  });

  test("are told from rows whose cells are texts", async () => {
    const text = await textOf([
      ...row(["Name", "Kind", "Use"], 100, "bold"),
      ...rowsFrom(116, 14, [
        ["capstan", "winch with a", "hauls the"],
        ["bollard", "post of iron", "holds a rope"],
        ["fender", "soft cushion", "keeps ships"],
      ]),
    ]);
    expect(text).toStartWith("Name: capstan | Kind: winch with a | Use: hauls the\n");
  });
});
