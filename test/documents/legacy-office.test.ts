// Tests XLS, DOC and PPT, the binary formats of old Office programs: facts that their texts must have, and damaged
// files.

import { describe, expect, test } from "bun:test";
import { READING_LIMITS } from "../../src/documents/budget.ts";
import { readXls } from "../../src/documents/legacy-office/read-xls.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { seeded } from "../support/seeded.ts";
import { compoundFile, type DocParagraph, type DocRun, doc, docField, ppt, xls } from "./fixtures/compound-file.ts";
import { SAMPLES } from "./fixtures/samples.ts";
import { partsOf, SCRIPT_CASES } from "./fixtures/scripts.ts";
import { readNamed, textOf } from "./reading.ts";

describe("a workbook of Excel 97", () => {
  test("has sheets, formats, superscripts, comments and text boxes", async () => {
    const bytes = xls([
      {
        name: "Lager",
        rows: [
          ["Part", "Code", "Price", "Since"],
          ["Filter 10{^6}", [417, '"PN-"000000'], [12.5, "#,##0.00"], [38_051, "dd.mm.yyyy"]],
          ["Harbour 1997{^12}", [2035, "00000"], -3, [38_052, "yyyy-mm-dd"]],
          [],
          ["Device", "Serial", "Ports"],
          ["Beamer", "BX-55", 4],
        ],
        comments: [[5, 2, "Bo", "One is broken"]],
        boxes: ["Key at the desk\nRoom 204"],
      },
      {
        name: "日本",
        rows: [
          ["都市", "人口"],
          ["札幌", 1_970_000],
        ],
      },
    ]);
    const { text, marks } = await textOf("a.xls", bytes);
    expect(text).toBe(
      [
        "## Lager\n",
        "Part | Code | Price | Since",
        "Part: Filter 10^6 | Code: PN-000417 (417) | Price: 12.50 | Since: 2004-03-05 (05.03.2004)",
        "Part: Harbour 1997[12] | Code: 02035 (2035) | Price: -3 | Since: 2004-03-06\n",
        "Device | Serial | Ports",
        "Device: Beamer | Serial: BX-55 | Ports: 4 [comment by Bo: One is broken]\n",
        "Key at the desk\nRoom 204\n",
        "## 日本\n",
        "都市 | 人口",
        "都市: 札幌 | 人口: 1970000",
      ].join("\n"),
    );
    expect(marks.flatMap(({ sheet, cells }) => sheet ?? cells ?? [])).toContain("A6:C6");
  });

  test("keeps texts that continue in further records", async () => {
    const rows = Array.from({ length: 600 }, (_, at) => [`Row ${at} ${"ж".repeat(at % 97)}`, at]);
    const { text } = await textOf("a.xls", xls([{ name: "S", rows: [["Name", "Number"], ...rows] }]));
    for (const [name, number] of rows) expect(text).toContain(`Name: ${String(name).trim()} | Number: ${number}`);
  });

  test("with too many cells is refused", () => {
    const rows = Array.from({ length: 20 }, () => [1, 2, 3]);
    const read = readXls(xls([{ name: "S", rows }]), { ...READING_LIMITS, cells: 59 });
    expect(read).toBeInstanceOf(ReadFailure);
    expect((read as ReadFailure).message).toContain("more than 59 cells");
    expect(readXls(xls([{ name: "S", rows }]), { ...READING_LIMITS, cells: 60 })).not.toBeInstanceOf(ReadFailure);
  });

  test("that is encrypted is named so", async () => {
    const record = (type: number) => Buffer.from([type & 255, type >> 8, 2, 0, 0, 6]);
    const bytes = compoundFile({ Workbook: Buffer.concat([record(0x809), record(0x2f)]) });
    expect(((await readNamed("a.xls", bytes)) as ReadFailure).message).toContain("encrypted");
  });
});

describe("a document of Word 97", () => {
  const CELL = { properties: [[0x2416, 1]], end: "\x07" } as const;
  const ROW_END: DocParagraph = {
    runs: [],
    properties: [
      [0x2416, 1],
      [0x2417, 1],
    ],
    end: "\x07",
  };
  const row = (...cells: readonly string[]): DocParagraph[] => [
    ...cells.map((cell) => ({ runs: [[cell]] as DocRun[], ...CELL })),
    ROW_END,
  ];
  const plain = (text: string): DocParagraph => ({ runs: [[text]] });

  for (const isCompressed of [false, true]) {
    test(`has headings, lists, tables, notes and headers (${isCompressed ? "one byte" : "two bytes"} per letter)`, async () => {
      const bytes = doc(
        [
          { runs: [["Plan für 2004"]], style: 1 },
          {
            runs: [
              ["It says "],
              ["secret", [0x083c, 1]],
              ["42"],
              ["\x02"],
              [", see \x13 HYPERLINK x \x14this page\x15."],
            ],
          },
          { runs: [["First"]], properties: [[0x460b, 1]] },
          { runs: [["Second"]], properties: [[0x460b, 1]] },
          ...row("Port", "Depth"),
          ...row("Newquay", "9"),
          ...row("Sète", "12"),
          plain("End."),
        ],
        { footnotes: [plain("\x02 Town archive, box 12")], headers: [plain("Draft"), plain("Draft"), plain("3")] },
        { isCompressed },
      );
      const { text } = await textOf("a.doc", bytes);
      expect(text).toBe(
        [
          "# Plan für 2004\n",
          "It says 42[1], see this page.\n",
          "- First\n- Second\n",
          "Port | Depth\nPort: Newquay | Depth: 9\nPort: Sète | Depth: 12\n",
          "End.\n",
          "[note 1: Town archive, box 12]\n",
          "[header: Draft]",
        ].join("\n"),
      );
    });
  }

  test("has superscripts and subscripts as all formats", async () => {
    const written = SCRIPT_CASES.slice(0, 12).map(([text]) => ({
      runs: partsOf(text).map(
        ({ text: part, level }): DocRun => (level === 0 ? [part] : [part, level > 0 ? [0x2a48, 1] : [0x4845, -6]]),
      ),
    }));
    const { text } = await textOf("a.doc", doc(written));
    expect(
      SCRIPT_CASES.slice(0, 12)
        .map(([, read]) => read)
        .filter((read) => !text.includes(read)),
    ).toEqual([]);
  });

  test("shows check boxes and lists of forms as they are", async () => {
    const fields = [docField(true), docField(false), docField({ entries: ["Nord", "Süd", "West"], chosen: 1 })];
    const at = (index: number) => Buffer.concat(fields.slice(0, index)).length;
    const field = (code: string, place: number): DocRun[] => [
      [`\x13 ${code} `],
      ["\x01", [0x6a03, place]],
      ["\x14\x15"],
    ];
    const bytes = doc(
      [
        { runs: [["Insured: "], ...field("FORMCHECKBOX", at(0))] },
        { runs: [["Smoker: "], ...field("FORMCHECKBOX", at(1))] },
        { runs: [["Pier: "], ...field("FORMDROPDOWN", at(2))] },
        { runs: [["Damaged: "], ...field("FORMCHECKBOX", at(3) - 3), [" and so on"]] },
        { runs: [["No field: "], ["\x01", [0x6a03, at(0)]], ["x"]] },
      ],
      {},
      { data: Buffer.concat(fields) },
    );
    const { text } = await textOf("a.doc", bytes);
    expect(text.split("\n\n")).toEqual([
      "Insured: ☑",
      "Smoker: ☐",
      "Pier: Süd",
      expect.stringMatching(/^Damaged: +and so on$/),
      "No field: x",
    ]);
  });

  test("says how many objects of other programs were not read", async () => {
    const read = async (folders: readonly string[]) =>
      (await textOf("a.doc", doc([plain("x")], {}, { folders }))).warnings;
    expect(await read(["ObjectPool", "_1094"])).toEqual([
      "1 embedded object was not read, such as a chart or a sheet.",
    ]);
    expect(await read(["ObjectPool", "_1094", "_1095"])).toEqual([
      "2 embedded objects were not read, such as a chart or a sheet.",
    ]);
    expect(await read(["Macros"])).toEqual([]);
  });

  test("that is encrypted, or of Word 95, is named so", async () => {
    const encrypted = await readNamed("a.doc", doc([plain("x")], {}, { flags: 0x0100 }));
    expect((encrypted as ReadFailure).message).toContain("encrypted");
    const old = Buffer.alloc(4096);
    old.writeUInt16LE(0xa5ec);
    old.writeUInt16LE(0x68, 2);
    const read = await readNamed("a.doc", compoundFile({ WordDocument: old, "0Table": Buffer.alloc(8) }));
    expect((read as ReadFailure).message).toContain("Word 95");
  });
});

describe("a presentation of PowerPoint 97", () => {
  const SLIDES = [
    {
      texts: [
        { kind: 0, text: "Häfen 日本", isOutline: true },
        { kind: 1, text: "Deep water\rBuilt in 1997{^12} for 10{^6} tonnes", isOutline: true },
        { kind: 4, text: "A box beside it" },
      ],
      notes: "Speak slowly.\rThen stop.",
    },
    { texts: [{ kind: 4, text: "No title here" }] },
  ];

  test("has titles, texts, superscripts and notes with their slides", async () => {
    const { text, marks } = await textOf("a.ppt", ppt(SLIDES));
    expect(text).toBe(
      [
        "## Häfen 日本\n",
        "Deep water\nBuilt in 1997[12] for 10^6 tonnes\n",
        "A box beside it\n",
        "[notes: Speak slowly.\nThen stop.]\n",
        "No title here",
      ].join("\n"),
    );
    expect(marks.map(({ slide }) => slide)).toEqual([1, 2]);
  });

  test("does not show slides of a former save that the file still contains", async () => {
    const former = [{ texts: [{ kind: 0, text: "Secret draft" }] }, ...SLIDES, ...SLIDES];
    const { text } = await textOf("a.ppt", ppt(SLIDES, former));
    expect(text).toBe((await textOf("a.ppt", ppt(SLIDES))).text);
  });

  test("that is encrypted is named so", async () => {
    const read = await readNamed("a.ppt", ppt(SLIDES, [], { isEncrypted: true }));
    expect((read as ReadFailure).message).toContain("encrypted");
  });

  test("says how many objects of other programs were not read", async () => {
    expect((await textOf("a.ppt", ppt(SLIDES, [], { embedded: 2 }))).warnings).toEqual([
      "2 embedded objects were not read, such as a chart or a sheet.",
    ]);
    expect((await textOf("a.ppt", ppt(SLIDES))).warnings).toEqual([]);
  });
});

test("a message whose sectors or folders lead back to themselves is refused before it is read", async () => {
  const whole = Buffer.from(SAMPLES.find(({ filename }) => filename.endsWith(".msg"))?.bytes ?? []);
  expect((await textOf("a.msg", whole)).text).toContain("harbour");
  const sector = 2 ** whole.readUInt16LE(30);
  const tableAt = (whole.readUInt32LE(76) + 1) * sector;
  const directoryAt = (whole.readUInt32LE(48) + 1) * sector;
  const directorySector = whole.readUInt32LE(48);
  const changes: readonly (readonly [what: string, at: number, value: number])[] = [
    ["the directory continues in itself", tableAt + 4 * directorySector, directorySector],
    ["a folder contains itself", directoryAt + 128 + 76, 1],
    ["an entry stands beside the root", directoryAt + 128 + 68, 0],
  ];
  for (const [what, at, value] of changes) {
    const circular = Buffer.from(whole);
    circular.writeUInt32LE(value, at);
    const read = await readNamed("a.msg", circular);
    expect([what, read instanceof ReadFailure && read.code]).toEqual([what, "unreadable_document"]);
  }
});

test("damaged files are read or refused, and never throw", async () => {
  const random = seeded(97);
  const whole = [
    [
      "a.xls",
      xls([
        {
          name: "S",
          rows: [
            ["Name", "Number"],
            ["x{^2}", [1, "000"]],
          ],
          boxes: ["box"],
        },
      ]),
    ],
    [
      "a.ppt",
      ppt([
        {
          texts: [
            { kind: 0, text: "T", isOutline: true },
            { kind: 4, text: "x{^2} y" },
          ],
          notes: "n",
        },
      ]),
    ],
    ["a.doc", doc([{ runs: [["One"]], style: 1 }, { runs: [["Two\x02"]] }], { footnotes: [{ runs: [["\x02 n"]] }] })],
  ] as const;
  for (const [name, bytes] of whole) {
    for (let turn = 0; turn < 150; turn++) {
      const damaged = Buffer.from(
        bytes.subarray(0, turn % 5 === 0 ? Math.floor(random() * bytes.length) : bytes.length),
      );
      for (let change = 0; change < 1 + (turn % 8); change++) {
        const at = Math.floor(random() * damaged.length);
        if (damaged.length > 8) damaged[Math.max(8, at)] = Math.floor(random() * 256);
      }
      const read = await readNamed(name, damaged);
      if (read instanceof ReadFailure) expect(read.code).toBe("unreadable_document");
    }
  }
});
