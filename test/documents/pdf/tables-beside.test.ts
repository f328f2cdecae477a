// Tests that the rows of tables without borders that stand beside each other are not joined, and that one table, two
// columns of prose and lists are read as they were.

import { describe, expect, test } from "bun:test";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { buildPdf, type Drawn, lines } from "./build-pdf.ts";

async function linesOf(...drawn: readonly (readonly Drawn[])[]): Promise<readonly string[]> {
  const read = await readPdf(buildPdf({ pages: [drawn.flat()] }));
  if (read instanceof ReadFailure) throw read;
  return read.pieces.join("").split(/\n+/);
}

interface Placed {
  readonly at: readonly number[];
  readonly y: number;
  readonly pitch?: number;
  readonly rows: readonly (readonly string[])[];
}

/** The rows of a table, whose columns begin at `at`. */
const rowsOf = ({ at, y, pitch = 16, rows }: Placed): readonly (readonly Drawn[])[] =>
  rows.map((cells, row) =>
    cells.flatMap((text, column) => (text === "" ? [] : [{ text, x: at[column] ?? 0, y: y + row * pitch }])),
  );
/** A table that is drawn row by row. */
const table = (placed: Placed): readonly Drawn[] => rowsOf(placed).flat();
/** Tables of which the first rows are drawn, then the second ones. */
const acrossTables = (...tables: readonly Placed[]): readonly Drawn[] => {
  const drawn = tables.map(rowsOf);
  return Array.from({ length: Math.max(...drawn.map((rows) => rows.length)) }, (_, row) =>
    drawn.flatMap((rows) => rows[row] ?? []),
  ).flat();
};

const PORTS = [
  ["Harbour", "Berths", "Fee"],
  ["Ostvik", "120", "310"],
  ["Lillesand", "45", "250"],
  ["Grimstad", "60", "275"],
];
const SHIPS = [
  ["Ship", "Tons"],
  ["Fram", "402"],
  ["Gjoa", "47"],
  ["Maud", "380"],
];
const ported = [
  "Harbour: Ostvik | Berths: 120 | Fee: 310",
  "Harbour: Lillesand | Berths: 45 | Fee: 250",
  "Harbour: Grimstad | Berths: 60 | Fee: 275",
];
const shipped = ["Ship: Fram | Tons: 402", "Ship: Gjoa | Tons: 47", "Ship: Maud | Tons: 380"];
const LEFT = [60, 140, 200];
const RIGHT = [340, 420];
const left: Placed = { at: LEFT, y: 200, rows: PORTS };
const right: Placed = { at: RIGHT, y: 200, rows: SHIPS };

const STORY = "The harbour was rebuilt after the great storm and the council voted for a mole that shelters boats.";
const prose = (x: number, y: number, count: number, words = 8): readonly Drawn[] => {
  const all = Array.from({ length: count * 2 }, () => STORY).join(" ");
  const pieces = all.match(new RegExp(`(?:\\S+ ){${words}}`, "g")) ?? [];
  return lines(
    pieces.slice(0, count).map((line, at) => (at === count - 1 ? `${line.trim()}.` : line.trim())),
    x,
    y,
  );
};

describe("tables beside each other that were drawn one after the other", () => {
  test("are read one after the other", async () => {
    expect(await linesOf(table(left), table(right))).toEqual([...ported, ...shipped]);
    expect(await linesOf(table(right), table(left))).toEqual([...ported, ...shipped]);
  });

  test("may have no names of columns", async () => {
    const [, ...ports] = PORTS;
    const [, ...ships] = SHIPS;
    expect(await linesOf(table({ ...left, rows: ports }), table({ ...right, rows: ships }))).toEqual([
      ...ports.map((cells) => cells.join(" | ")),
      ...ships.map((cells) => cells.join(": ")),
    ]);
  });

  test("may be closer together than their columns", async () => {
    expect(await linesOf(table(left), table({ ...right, at: [235, 340] }))).toEqual([...ported, ...shipped]);
  });

  test("may begin and end at other heights, and have rows on other lines", async () => {
    expect(await linesOf(table(left), table({ ...right, y: 224, pitch: 13 }))).toEqual([...ported, ...shipped]);
    expect(await linesOf(table({ ...left, y: 228 }), table({ ...right, pitch: 22 }))).toEqual([...ported, ...shipped]);
  });

  test("may be three", async () => {
    const crew = [
      ["Name", "Age"],
      ["Ann", "41"],
      ["Bo", "29"],
      ["Cy", "35"],
    ];
    const three = await linesOf(
      table({ at: [50, 120], y: 100, rows: SHIPS }),
      table({ at: [220, 280, 330], y: 100, rows: PORTS }),
      table({ at: [420, 490], y: 100, rows: crew }),
    );
    expect(three).toEqual([...shipped, ...ported, "Name: Ann | Age: 41", "Name: Bo | Age: 29", "Name: Cy | Age: 35"]);
  });

  test("may hold only figures", async () => {
    const sums = (from: number) => [
      ["Year", "Sum"],
      ...[0, 1, 2].map((at) => [`${from + at}`, `${(from % 7) * 100 + at}`]),
    ];
    const text = await linesOf(
      table({ at: [60, 120], y: 100, rows: sums(2001) }),
      table({ at: [300, 360], y: 100, rows: sums(2011) }),
    );
    expect(text.map((line) => /\d{4}/.exec(line)?.[0])).toEqual(["2001", "2002", "2003", "2011", "2012", "2013"]);
  });

  test("may have titles, and stand between paragraphs", async () => {
    const text = await linesOf(
      prose(60, 80, 4, 14),
      [{ text: "Table 1: Harbours", x: 60, y: 180 }],
      table(left),
      [{ text: "Table 2: Ships", x: 340, y: 180 }],
      table(right),
      prose(60, 300, 4, 14),
    );
    const from = text.indexOf("Table 1: Harbours");
    expect(text.slice(from, from + 8)).toEqual(["Table 1: Harbours", ...ported, "Table 2: Ships", ...shipped]);
    expect(text.at(-1)).toContain("The harbour was rebuilt");
  });

  test("may stand in two columns of prose", async () => {
    const text = await linesOf(
      prose(60, 60, 9),
      table(left),
      prose(60, 290, 12),
      prose(330, 60, 9),
      table(right),
      prose(330, 290, 12),
    );
    expect(text.filter((line) => line.includes(": "))).toEqual([...ported, ...shipped]);
    expect(text.findIndex((line) => line.startsWith("Ship:"))).toBeGreaterThan(4);
  });

  test("may stand above others", async () => {
    const read = await linesOf(
      table(left),
      table(right),
      table({ ...right, at: LEFT, y: 300 }),
      table({ ...left, at: [340, 420, 480], y: 300 }),
    );
    expect(read).toEqual([...ported, ...shipped, ...shipped, ...ported]);
  });

  test("may be one table beside a few lines of a text", async () => {
    const texts = [
      "The board met in May and decided on the budget of 4.5",
      "million for the pier. The board met again in June and",
      "approved it.",
    ];
    const above = prose(60, 80, 4, 14);
    const read = await linesOf(above, table(left), lines(texts, 300, 206));
    expect(read.slice(1)).toEqual([...ported, texts.join(" ")]);
  });

  test("may be one table beside prose", async () => {
    const text = await linesOf(table(left), prose(300, 200, 5));
    expect(text.slice(0, 3)).toEqual(ported);
    expect(text[3]).toStartWith("The harbour was rebuilt after the great storm");
  });
});

describe("tables beside each other that were drawn row by row", () => {
  test("are told by the same names of columns", async () => {
    const more = [
      ["Ship", "Tons"],
      ["Belem", "406"],
      ["Statsraad", "516"],
      ["Sedov", "3556"],
    ];
    const [one, other] = [
      shipped,
      ["Ship: Belem | Tons: 406", "Ship: Statsraad | Tons: 516", "Ship: Sedov | Tons: 3556"],
    ];
    const two = acrossTables({ at: [60, 130], y: 100, rows: SHIPS }, { at: [240, 310], y: 100, rows: more });
    expect(await linesOf(two)).toEqual([...one, ...other]);
    const three = acrossTables(
      { at: [60, 130], y: 100, rows: SHIPS },
      { at: [220, 290], y: 100, rows: more },
      { at: [380, 450], y: 100, rows: SHIPS },
    );
    expect(await linesOf(three)).toEqual([...one, ...other, ...one]);
  });

  test("are told by their titles", async () => {
    const text = await linesOf(
      acrossTables(
        { ...left, rows: [["Harbours of the coast"], ...PORTS] },
        { ...right, rows: [["Ships of the fleet"], ...SHIPS] },
      ),
    );
    expect(text).toEqual(["Harbours of the coast", ...ported, "Ships of the fleet", ...shipped]);
  });

  test("are told by rows that only one of them has, if they are far apart", async () => {
    const longer = [...SHIPS, ["Roald", "16"], ["Gann", "712"]];
    expect(await linesOf(acrossTables(left, { ...right, rows: longer }))).toEqual([
      ...ported,
      ...shipped,
      "Ship: Roald | Tons: 16",
      "Ship: Gann | Tons: 712",
    ]);
  });

  test("are told by pairs of a label and a figure without names", async () => {
    const [, ...ships] = SHIPS;
    const ports = PORTS.slice(1).map(([port = "", berths = ""]) => [port, berths]);
    const text = await linesOf(
      acrossTables({ at: [60, 120], y: 100, rows: ships }, { at: [300, 370], y: 100, rows: ports }),
    );
    expect(text).toEqual([...ships, ...ports].map((cells) => cells.join(": ")));
  });
});

describe("what is no tables beside each other", () => {
  const joined = PORTS.map((cells, at) => [...cells, ...(SHIPS[at] ?? [])]);
  const whole = [
    "Harbour: Ostvik | Berths: 120 | Fee: 310 | Ship: Fram | Tons: 402",
    "Harbour: Lillesand | Berths: 45 | Fee: 250 | Ship: Gjoa | Tons: 47",
    "Harbour: Grimstad | Berths: 60 | Fee: 275 | Ship: Maud | Tons: 380",
  ];

  test("is one table with a wide gap", async () => {
    expect(await linesOf(table({ at: [...LEFT, ...RIGHT], y: 200, rows: joined }))).toEqual(whole);
  });

  test("is one table that was drawn column by column", async () => {
    const byColumn = [...LEFT, ...RIGHT].map((x, column) =>
      lines(
        joined.map((cells) => cells[column] ?? ""),
        x,
        200,
      ),
    );
    expect(await linesOf(...byColumn)).toEqual(whole);
  });

  test("is one table with a last row of sums, or with cells that are empty", async () => {
    const sums = [...joined, ["Sum", "225", "835"]];
    const drawn = table({ at: [...LEFT, ...RIGHT], y: 200, rows: sums });
    expect(await linesOf(drawn)).toEqual([...whole, "Harbour: Sum | Berths: 225 | Fee: 835"]);
  });

  test("is one table below names of groups", async () => {
    const text = await linesOf(
      [
        { text: "Men", x: 205, y: 84 },
        { text: "Women", x: 398, y: 84 },
      ],
      table({
        at: [60, 170, 250, 370, 450],
        y: 100,
        rows: [
          ["Event", "2019", "2023", "2019", "2023"],
          ["Sprint", "10.4", "10.2", "11.6", "11.3"],
          ["Relay", "41.1", "40.8", "43.9", "43.1"],
        ],
      }),
    );
    expect(text[0]).toBe("Event: Sprint | Men 2019: 10.4 | Men 2023: 10.2 | Women 2019: 11.6 | Women 2023: 11.3");
  });

  test("is a list of names and values", async () => {
    const keys = [
      ["Invoice number", "2026-118"],
      ["Customer", "Hansen AS"],
      ["Due", "4 May 2026"],
    ];
    const read = ["Invoice number: 2026-118", "Customer: Hansen AS", "Due: 4 May 2026"];
    expect(await linesOf(table({ at: [60, 220], y: 100, rows: keys }))).toEqual(read);
    // first all names, then all values
    const values = [0, 1].map((column) =>
      lines(
        keys.map((pair) => pair[column] ?? ""),
        column === 0 ? 60 : 220,
        100,
      ),
    );
    expect(await linesOf(...values)).toEqual(read);
  });

  test("is a drawing of thousands of figures, which is read within the limit of time", async () => {
    const page = Array.from({ length: 100 }, (_, row) =>
      Array.from({ length: 100 - (row % 3) }, (_, column) => ({
        text: `${(row * column) % 10}`,
        ...{ x: 20 + column * 5.6, y: 20 + row * 7.6, size: 2 },
      })),
    ).flat();
    // the limit is checked before each page
    expect(await readPdf(buildPdf({ pages: [page, page] }))).not.toBeInstanceOf(ReadFailure);
  });

  test("is two columns of prose", async () => {
    const text = await linesOf(prose(60, 60, 12), prose(330, 60, 12));
    expect(text.join(" ").match(/The harbour was rebuilt after the great storm/g)?.length).toBeGreaterThan(7);
  });
});
