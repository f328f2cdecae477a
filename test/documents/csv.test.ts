// Tests tables in text files: separators, column names, quotes, rows of different lengths, and that no cell is lost.

import { describe, expect, test } from "bun:test";
import { csvText } from "../../src/documents/csv/csv.ts";
import { CELLS_MAX, QUOTED_UNITS_MAX, recordsOf, type Separator } from "../../src/documents/csv/csv-records.ts";
import { seeded } from "../support/seeded.ts";

const read = (...pieces: string[]) => [...csvText(pieces)].join("");
const cellsIn = (pieces: Iterable<string>, separator: Separator | null) =>
  [...recordsOf(pieces, separator)].map(({ cells }) => cells);

describe("a table", () => {
  for (const separator of [",", ";", "\t", "|"]) {
    test(`separated by ${JSON.stringify(separator)} has rows with column names`, () => {
      const rows = [
        ["id", "city", "rent"],
        ["1", "Oslo", "9.50"],
        ["2", "Turin", "07"],
      ];
      expect(read(rows.map((row) => row.join(separator)).join("\n"))).toBe(
        "id | city | rent\nid: 1 | city: Oslo | rent: 9.50\nid: 2 | city: Turin | rent: 07",
      );
    });
  }

  test("may declare its separator", () => {
    expect(read("sep=;\nname;a,b\nAda;1,5\n")).toBe("name | a,b\nname: Ada | a,b: 1,5");
  });

  test("with decimal commas is separated by semicolons", () => {
    expect(read("x;y\n1,5;2,5\n3,5;4,5\n")).toBe("x | y\nx: 1,5 | y: 2,5\nx: 3,5 | y: 4,5");
  });

  const ragged: readonly (readonly [what: string, text: string, read: string])[] = [
    [
      "semicolons, commas in names and amounts",
      "name;city;fee\nOlsen, Kari;Bergen;12,50\nBerg, Nils;Oslo;9,00;extra\nDahl, Siri;Narvik;7,25",
      "name: Berg, Nils | city: Oslo | fee: 9,00 | extra",
    ],
    [
      "commas, semicolons in texts",
      "id,note,qty\n1,red;blue;green,3\n2,one;two;three,4,late\n3,left;right;both,5",
      "id: 2 | note: one;two;three | qty: 4 | late",
    ],
    [
      "tabs, commas in names",
      "name\tcity\tfee\nOlsen, Kari\tOslo\t12,50\nBerg, Nils\tBergen\nDahl, Siri\tNarvik\t7,25",
      "name: Olsen, Kari | city: Oslo | fee: 12,50",
    ],
    [
      "bars, commas and semicolons in texts",
      "code|parts|price\nA1|bolt, nut; washer|1,20\nA2|gear, axle; pin|3,40|new\nA3|rope, hook; eye|0,90",
      "code: A2 | parts: gear, axle; pin | price: 3,40 | new",
    ],
    ["semicolons, decimal commas in all cells", "1,5;2,5;3,5\n1,6;2,6;3,6\n1,7;2,7;3,7", "1,6 | 2,6 | 3,6"],
    [
      "semicolons below a title with commas",
      "Fees, Bergen, 2026\nname;city;fee\nKari;Bergen;12,50\nNils;Oslo;9,00\nSiri;Narvik;7,25",
      "name: Siri | city: Narvik | fee: 7,25",
    ],
    [
      "commas, quoted semicolons and commas",
      'a,b,c\n"x;y;z","1,2",3\n"p;q;r","4,5",6\n"s;t;u","7,8"',
      "a: p;q;r | b: 4,5 | c: 6",
    ],
    [
      "commas, one row of one cell",
      "id,city,fee\n1,Oslo,2\n\nremark\n2,Rome,3\n3,Bern,4",
      "id: 3 | city: Bern | fee: 4",
    ],
    [
      "semicolons with a trailing one",
      "Name;Ort;Betrag;\nMeier, Anna;Köln;1.250,00;\nKurz, Jan;Bonn;99,90;\n",
      "Name: Meier, Anna | Ort: Köln | Betrag: 1.250,00",
    ],
  ];
  for (const [what, text, expected] of ragged)
    test(`with rows of different lengths is separated by ${what}`, () => expect(read(text)).toContain(expected));

  test("gives columns of the same name distinct names", () => {
    expect(read("name,phone,phone,phone\nAda,11,22,33\nBo,44,55,66")).toBe(
      "name | phone | phone (2) | phone (3)\nname: Ada | phone: 11 | phone (2): 22 | phone (3): 33\nname: Bo | phone: 44 | phone (2): 55 | phone (3): 66",
    );
    expect(read("a,a,a (2)\n1,2,3\n4,5,6")).toContain("a: 1 | a (3): 2 | a (2): 3");
    expect(read("氏名,電話,電話\n佐藤,03-1,03-2\n鈴木,06-1,06-2")).toContain(
      "氏名: 鈴木 | 電話: 06-1 | 電話 (2): 06-2",
    );
  });

  test("keeps separators, quotes and line breaks within quotes", () => {
    expect(read('n,remark,z\n1,"a, ""b""\nc",2\n')).toBe('n | remark | z\nn: 1 | remark: a, "b" c | z: 2');
  });

  test("omits empty cells and lines", () => {
    expect(read("a,b,c\n\n1,,3\n,,\n\n4,5,\n")).toBe("a | b | c\na: 1 | c: 3\na: 4 | b: 5");
  });

  test("with rows of different lengths loses nothing: cells without a column name stand alone", () => {
    expect(read("id,name\n1,Ada\n2\n3,Bo,extra\n4,Cy\n")).toBe(
      "id | name\nid: 1 | name: Ada\nid: 2\nid: 3 | name: Bo | extra\nid: 4 | name: Cy",
    );
  });

  test("below a title and remarks is found", () => {
    expect(read("# made by a program, 2026\nSales by region,,\nregion,units,net\nNorth,5,1.5\nSouth,7,2.5\n")).toBe(
      "# made by a program, 2026\nSales by region\n\nregion | units | net\nregion: North | units: 5 | net: 1.5\nregion: South | units: 7 | net: 2.5",
    );
  });

  test("may have its column names in a comment", () => {
    expect(read("#time,value\n1,2\n3,4\n")).toBe("time | value\ntime: 1 | value: 2\ntime: 3 | value: 4");
  });

  test("of one column is returned line by line", () => {
    expect(read("milk\neggs\nbread, white\nsalt\n")).toBe("milk\neggs\nbread, white\nsalt");
  });

  test("that is prose is returned unchanged", () => {
    const prose = "Dear Ada, thank you.\nWe met in May, in Rome, in the rain.\nYours\nBo";
    expect(read(prose)).toBe(prose);
  });

  test("without a visible character is empty", () => expect(read(",,\n ,\n")).toBe(""));
});

describe("the first row is a header", () => {
  const named = (text: string) => read(text).split("\n")[1]?.includes(": ") ?? false;
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["above numbers", "item,price\ntea,3\njam,4", true],
    ["above dates and addresses", "who,mail\nAda,ada@example.org\nBo,bo@example.org", true],
    ["of years", "land,2024,2025\nPeru,1.5,2.5\nMali,3.5,4.5", true],
    ["of three texts", "team,city,coach\nLions,Kent,Ada\nBears,York,Bo", true],
    ["but not if it is a row of numbers", "1,2,3\n4,5,6\n7,8,9", false],
    ["but not if its texts occur again", "tea,tea\njam,jam\nrye,rye", false],
    ["but not if it has a value of its column", "Kent,Ada,Lions\nYork,Bo,Bears\nKent,Cy,Cubs", false],
    ["of two Japanese texts", "名前,都市\n佐藤,東京\n鈴木,大阪", true],
    ["of two Japanese texts with other endings", "担当者名,所属部署\n田中太郎,営業部\n佐藤花子,経理部", true],
    ["of two Chinese texts", "姓名,城市\n王伟,北京\n李娜,上海", true],
    ["of two Korean texts", "이름,도시\n김철수,서울\n이영희,부산", true],
    ["of two Russian texts", "Имя,Город\nАнна,Москва\nИван,Казань", true],
    ["of two Arabic texts", "الاسم,المدينة\nليلى,القاهرة\nسمير,دمشق", true],
    ["of two Hindi texts", "नाम,शहर\nराम,दिल्ली\nसीता,मुंबई", true],
    ["of two Thai texts", "ชื่อ,เมือง\nสมชาย,กรุงเทพ\nมานี,เชียงใหม่", true],
    ["of two Greek texts", "Όνομα,Πόλη\nΜαρία,Αθήνα\nΓιώργος,Πάτρα", true],
    ["of two Hebrew texts", "שם,עיר\nדוד,חיפה\nרות,תל אביב", true],
    ["of two German texts", "Wort,Bedeutung\nHaus,Gebäude\nBaum,Pflanze", true],
    ["of two French texts", "Prénom;Ville\nLéa;Lyon\nPaul;Lille", true],
    ["of two Spanish texts", "Ciudad,País\nMadrid,España\nLima,Perú", true],
    ["of two English texts in title case", "First Name,Home Town\nAda,London\nBo,Oslo", true],
    ["of names in one case", "userName,homeTown\nada,London\nbo,Oslo", true],
    ["above another script", "りんご語,いみ\nりんご,apple\nみかん,orange\nもも,peach", true],
    ["above repeated values", "Halle,Farbton\nA,rot\nB,rot\nC,blau\nD,blau", true],
    ["but not two Japanese columns of values", "東京,日本\nパリ,フランス\nローマ,イタリア", false],
    ["but not a dictionary of such words", "name,Name\ncity,Stadt\nprice,Preis\ndate,Datum", false],
    ["but not rows that repeat their values", "Ada,Ada,Bo\nCy,Cy,Di\nEd,Ed,Fe", false],
    ["but not with two columns of similar texts", "Berlin,Germany\nParis,France\nRome,Italy", false],
  ];
  for (const [what, text, expected] of cases) test(what, () => expect(named(text)).toBe(expected));
});

describe("cells", () => {
  test("are all returned, whatever the separator, the quotes, and the borders of pieces", () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    for (let round = 0; round < 300; round++) {
      const separator = pick<Separator>([",", ";", "\t", "|"]);
      const rows = Array.from({ length: 1 + Math.floor(random() * 8) }, () =>
        Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
          Array.from({ length: Math.floor(random() * 8) }, () =>
            pick(["a", "ü", "🎉", '"', "\n", ",", ";", "\t", "|", " ", "'"]),
          ).join(""),
        ),
      ).filter((row) => row.length > 1 || row[0] !== "");
      const written = rows
        .map((row) =>
          row
            .map((cell) => (/["\n,;\t|]|^\s/.test(cell) || random() < 0.2 ? `"${cell.replaceAll('"', '""')}"` : cell))
            .join(separator),
        )
        .join("\n");
      const pieces: string[] = [];
      for (let at = 0; at < written.length; ) {
        const length = 1 + Math.floor(random() * 12);
        pieces.push(written.slice(at, at + length));
        at += length;
      }
      expect({ seed, round, cells: cellsIn(pieces, separator) }).toEqual({ seed, round, cells: rows });
    }
  });

  test("are in the line of their row, with column names", () => {
    const seed = 7;
    const random = seeded(seed);
    const word = () =>
      Array.from({ length: 3 + Math.floor(random() * 5) }, () => "abcdefghij"[Math.floor(random() * 10)]).join("");
    for (let round = 0; round < 50; round++) {
      const names = ["number", "first", "second", "third"];
      const rows = Array.from({ length: 20 }, (_, at) => [
        String(at + 1),
        `"${word()}, ${word()}"`,
        word(),
        `"${word()}"`,
      ]);
      const lines = read(
        [names, ...rows]
          .map((row) => row.join(","))
          .join("\r\n")
          .replaceAll("\r\n", "\n"),
      ).split("\n");
      const expected = rows.map((row) =>
        row.map((cell, at) => `${names[at]}: ${cell.replaceAll('"', "")}`).join(" | "),
      );
      expect({ seed, round, lines }).toEqual({ seed, round, lines: [names.join(" | "), ...expected] });
    }
  });

  test("in quotes extend to the closing quote, up to their limit", () => {
    const atLimit = `"${"x".repeat(QUOTED_UNITS_MAX - 1)}"`;
    expect(cellsIn([`${atLimit},b\n`], ",")[0]?.map(({ length }) => length)).toEqual([QUOTED_UNITS_MAX - 1, 1]);
    const beyond = `"${"x".repeat(QUOTED_UNITS_MAX)}"`;
    expect(cellsIn([`${beyond},b\n`], ",")[0]?.[0]).toBe(beyond);
  });

  test("after an unclosed quote are still separate cells", () => {
    expect(cellsIn(['a,"b\nc,d\n'], ",")).toEqual([
      ["a", '"b'],
      ["c", "d"],
    ]);
    expect(cellsIn(['5" pipe,12\n"x"y,1\n'], ",")).toEqual([
      ['5" pipe', "12"],
      ["xy", "1"],
    ]);
  });

  test("of a very long row come in parts with the right columns", () => {
    const records = [...recordsOf([Array.from({ length: CELLS_MAX + 2 }, (_, at) => at).join(",")], ",")];
    expect(records.map(({ firstColumn, cells }) => [firstColumn, cells.length, cells[0]])).toEqual([
      [0, CELLS_MAX, "0"],
      [CELLS_MAX, 2, String(CELLS_MAX)],
    ]);
  });
});

describe("hostile tables are read in linear time", () => {
  const size = 2_000_000;
  const cases: Readonly<Record<string, string>> = {
    "of quotes": '"'.repeat(size),
    "of pairs of quotes in cells": '"a""b""'.repeat(size / 8),
    "of cells that begin with a quote": ',"'.repeat(size / 2),
    "of lines that begin with a quote": '""a\n'.repeat(size / 4),
    "of separators": ",".repeat(size),
    "of one character": "x".repeat(size),
    "of empty lines": "\n".repeat(size),
    "of spaces": " ".repeat(size),
  };
  for (const [what, text] of Object.entries(cases)) {
    test(what, () => {
      const pieces = [text.slice(0, size / 3), text.slice(size / 3)];
      expect(read(...pieces).length).toBeLessThanOrEqual(2 * size);
    });
  }

  test("column names do not lengthen the text without limit", () => {
    const names = Array.from({ length: 100 }, (_, at) => `${"name".repeat(18)} ${at}`);
    const row = `${Array.from({ length: 100 }, () => "7").join(",")}\n`;
    let length = 0;
    for (const piece of csvText([`${names.join(",")}\n`, ...Array.from({ length: 20 }, () => row.repeat(1_000))])) {
      length += piece.length;
    }
    expect(length).toBeLessThan(90_000_000);
  });
});
