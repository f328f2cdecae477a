// Tests files that are pictures: which are accepted, which pages are listed, and what hostile ones cost.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import { formatOfMediaType } from "../../src/documents/formats.ts";
import { readPdf } from "../../src/documents/pdf/read-pdf.ts";
import { decodePicture, greyOfRgba } from "../../src/documents/pictures/decode.ts";
import { openTiff } from "../../src/documents/pictures/tiff.ts";
import { PictureTexts } from "../../src/documents/recognition.ts";
import type { RecognisedPicture } from "../../src/ocr/recognised.ts";
import { ReadFailure, UnreadPictures } from "../../src/ports/document-reader.ts";
import { epub, type OpenDocumentKind, openDocument } from "./fixtures/book.ts";

const FIXTURES = join(import.meta.dir, "../ocr/fixtures");
const bytesOf = async (name: string) => Bun.file(join(FIXTURES, name)).bytes();

/** A PNG that says that it has this size, and has one row of zeros. */
function pngOfSize(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const chunk = (kind: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    framed.set(body, 4);
    framed.writeUInt32BE(crc32(body), body.length + 4);
    return framed;
  };
  const data = Bun.deflateSync(new Uint8Array(100));
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header), chunk("IDAT", data)]);
}

/** A TIFF with pages of 8 by 1 pixels. `next` gives the offset of the next page, by default the one behind. */
function tiffOf(
  pages: number,
  { width = 8, next }: { width?: number; next?: (page: number) => number } = {},
): Uint8Array {
  const entries: readonly (readonly [tag: number, value: number])[] = [
    [256, width],
    [257, 1],
    [258, 1],
    [259, 1],
    [262, 1],
    [273, 8],
    [277, 1],
    [278, 1],
    [279, 1],
  ];
  const pageBytes = 2 + entries.length * 12 + 4;
  const tiff = Buffer.alloc(10 + pages * pageBytes);
  tiff.write("II*\0", "latin1");
  tiff.writeUInt32LE(10, 4);
  tiff[8] = 0b10110000;
  for (let page = 0; page < pages; page++) {
    const at = 10 + page * pageBytes;
    tiff.writeUInt16LE(entries.length, at);
    for (const [index, [tag, value]] of entries.entries()) {
      const entry = at + 2 + index * 12;
      tiff.writeUInt16LE(tag, entry);
      tiff.writeUInt16LE(4, entry + 2);
      tiff.writeUInt32LE(1, entry + 4);
      tiff.writeUInt32LE(value, entry + 8);
    }
    const last = page === pages - 1 ? 0 : at + pageBytes;
    tiff.writeUInt32LE(next?.(page) ?? last, at + pageBytes - 4);
  }
  return tiff;
}

async function refusal(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (error instanceof ReadFailure) return error.message;
    throw error;
  }
  throw new Error("it was read");
}

test("pictures are recognised by their content, whatever they are called; other pictures are not accepted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-pictures-"));
  try {
    const typeOf = (bytes: Uint8Array, name: string) => {
      writeFileSync(join(folder, "file"), bytes);
      return mediaTypeOf(join(folder, "file"), name);
    };
    const png = await bytesOf("note.png");
    const [jpeg, webp] = [await new Bun.Image(png).jpeg().bytes(), await new Bun.Image(png).webp().bytes()];
    expect(await typeOf(png, "scan")).toBe("image/png");
    expect(await typeOf(jpeg, "scan.png")).toBe("image/jpeg");
    expect(await typeOf(webp, "a.webp")).toBe("image/webp");
    expect(await typeOf(await bytesOf("note.tif"), "a.tiff")).toBe("image/tiff");
    const noise = Uint8Array.from({ length: 256 }, (_, at) => at);
    expect(await typeOf(Buffer.concat([Buffer.from("GIF89a"), noise]), "a.gif")).toBeNull();
    expect(await typeOf(Buffer.concat([Buffer.from("RIFF\x10\0\0\0WAVEfmt "), noise]), "a.webp")).toBeNull();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("decoding", () => {
  test("PNG, JPEG, WebP and TIFF with fax compression show the same picture", async () => {
    const png = await bytesOf("note.png");
    const black = ({ grey }: { grey: Uint8Array }) => grey.filter((value) => value < 128).length / grey.length;
    const expected = black(await decodePicture(png));
    expect(expected).toBeWithin(0.02, 0.2);
    for (const other of [
      await decodePicture(await new Bun.Image(png).jpeg().bytes()),
      await decodePicture(await new Bun.Image(png).webp().bytes()),
      await openTiff(await bytesOf("note.tif")).read(0),
    ]) {
      expect([other.width, other.height]).toEqual([900, 300]);
      expect(black(other)).toBeCloseTo(expected, 2);
    }
  });

  test("the page of a PDF with fax compression shows its picture where the page draws it", async () => {
    const open = formatOfMediaType("application/pdf").openPictures;
    const pictures = await open?.(await bytesOf("note.pdf"));
    const page = await pictures?.read("1");
    await pictures?.close?.();
    if (page === undefined) throw new Error("there is no picture");
    expect(page.width / page.height).toBeCloseTo(595 / 842, 2);
    const rows = Array.from({ length: page.height }, (_, y) =>
      page.grey.subarray(y * page.width, (y + 1) * page.width),
    );
    const inked = rows.flatMap((row, y) => (row.some((value) => value < 128) ? [y / page.height] : []));
    expect(inked[0]).toBeWithin(0.08, 0.16);
    expect(inked.at(-1)).toBeWithin(0.2, 0.3);
  });

  test("transparent parts are light behind dark writing, and dark behind light writing", () => {
    const rgba = (value: number) => Uint8Array.of(value, value, value, 255, 0, 0, 0, 0);
    expect([...greyOfRgba(rgba(20), 2, 1).grey]).toEqual([20, 255]);
    expect([...greyOfRgba(rgba(240), 2, 1).grey]).toEqual([240, 0]);
  });

  test.each([
    [
      "more pixels than are read",
      60_000,
      60_000,
      "The picture has 60,000 × 60,000 pixels; at most 64 million are read.",
    ],
    ["one very wide row", 100_000_000, 1, "at most 64 million are read."],
  ])("%s: refused before anything is decoded", async (_, width, height, message) => {
    expect(await refusal(decodePicture(pngOfSize(width, height)))).toContain(message);
  });

  test("cut-off and damaged pictures are refused", async () => {
    const png = await bytesOf("note.png");
    const tiff = await bytesOf("note.tif");
    for (const end of [9, 40, png.length / 2]) {
      expect(await refusal(decodePicture(png.subarray(0, end)))).toContain("damaged");
    }
    for (const end of [4, 9, tiff.length - 20]) {
      expect(await refusal(() => openTiff(tiff.subarray(0, end)).read(0))).toContain("damaged");
    }
    expect(await refusal(() => openTiff(tiffOf(2, { next: () => 10 })))).toContain("circle");
    expect(await refusal(openTiff(tiffOf(1, { width: 100_000_000 })).read(0))).toContain("at most 64 million");
  });

  test("a page of a TIFF of many is decoded alone", async () => {
    const tiff = openTiff(tiffOf(10_000));
    expect(tiff.count).toBe(10_000);
    expect([...(await tiff.read(9_999)).grey]).toEqual([255, 0, 255, 255, 0, 0, 0, 0]);
  });
});

describe("texts of pictures", () => {
  const wanted = () => new PictureTexts("wanted", new Map());
  const textOf = (id: string, text: string, more: Partial<RecognisedPicture> = {}): [string, RecognisedPicture] => [
    id,
    {
      ...{ id, width: 1_000, height: 1_400, confidence: 0.9, problem: null },
      // not at the same place on each page, where a page header would be
      lines: [{ text, left: 100, right: 700, top: 100 + (Number(id) % 29) * 40, bottom: 150 + (Number(id) % 29) * 40 }],
      ...more,
    },
  ];
  const read = async (bytes: Uint8Array, mediaType: string, pictures: PictureTexts) =>
    formatOfMediaType(mediaType).read({ bytes, filename: "f", pictures }, () => undefined);

  test("of an animated TIFF, 500 pages are read, and the text says how many are not", async () => {
    const listed = await read(tiffOf(10_000), "image/tiff", wanted());
    if (!(listed instanceof UnreadPictures)) throw new Error("no pages were listed");
    expect([listed.ids.length, listed.ids[0], listed.ids.at(-1)]).toEqual([500, "1", "500"]);
    const wordOf = (id: string) => id.replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "");
    const known = new Map(listed.ids.map((id) => textOf(id, `The frame ${wordOf(id)} is here.`)));
    const text = await read(tiffOf(10_000), "image/tiff", new PictureTexts("done", known));
    if (text instanceof ReadFailure) throw text;
    expect(text.warnings).toEqual([
      "Pages 501 to 10000 hold no text but pictures, which were not read: at most 500 pages of a file are recognised.",
    ]);
  });

  test("a scanned page of a PDF gets its text with page and confidence; problems are warnings", async () => {
    const bytes = await bytesOf("note.pdf");
    const listed = await read(bytes, "application/pdf", wanted());
    expect(listed instanceof UnreadPictures && listed.ids).toEqual(["1"]);
    const known = new Map([textOf("1", "The key is here.", { confidence: 0.7, problem: "is hard to read" })]);
    const text = await read(bytes, "application/pdf", new PictureTexts("done", known));
    if (text instanceof ReadFailure) throw text;
    expect(text.pieces.join("")).toBe("The key is here.");
    expect(text.marks).toEqual([{ at: 0, page: 1, ocrConfidence: 0.7 }]);
    expect(text.warnings).toEqual(["Page 1: is hard to read."]);
  });

  test.each([
    ["off", "The file is a picture, and text recognition is off."],
    ["missing", "The file is a picture, and text recognition is not installed (mneme models pull ocr)."],
  ] as const)("without recognition (%s), the failure says what to do", async (kind, message) => {
    const failure = await read(await bytesOf("note.png"), "image/png", new PictureTexts(kind, new Map()));
    expect(failure instanceof ReadFailure && failure.message).toBe(message);
  });

  test("a picture without legible text fails with the reason", async () => {
    const problem = "shows writing that cannot be read";
    const known = new Map([textOf("1", "", { lines: [], confidence: null, problem })]);
    const failure = await read(await bytesOf("note.png"), "image/png", new PictureTexts("done", known));
    expect(failure instanceof ReadFailure && failure.message).toBe(`The file is a picture. Page 1: ${problem}.`);
  });

  test("a PDF without pictures asks for none", async () => {
    const { buildPdf, lines } = await import("./pdf/build-pdf.ts");
    const text = await readPdf(buildPdf({ pages: [lines(["Hi"], 60, 100), []] }), { pictures: wanted() });
    expect(text instanceof ReadFailure ? text.message : text.pieces.join("")).toBe("Hi");
  });

  test("a picture in a Word document is read where it stands", async () => {
    const { zipSync, strToU8 } = await import("fflate/browser");
    const relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const names = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="${relationships}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"`;
    const paragraph = (content: string) => `<w:p><w:r>${content}</w:r></w:p>`;
    const said = (text: string) => paragraph(`<w:t>${text}</w:t>`);
    const bytes = zipSync({
      "[Content_Types].xml": strToU8("<Types/>"),
      "word/document.xml": strToU8(
        `<w:document ${names}><w:body>${said("Before.")}${paragraph('<w:drawing><a:blip r:embed="p1"/></w:drawing>')}${said("After.")}</w:body></w:document>`,
      ),
      "word/_rels/document.xml.rels": strToU8(
        `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="p1" Type="${relationships}/image" Target="media/a.png"/></Relationships>`,
      ),
      "word/media/a.png": await bytesOf("note.png"),
    });
    const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    const listed = await read(bytes, docx, wanted());
    expect(listed instanceof UnreadPictures && listed.ids).toEqual(["word/media/a.png"]);
    const pictures = await formatOfMediaType(docx).openPictures?.(bytes);
    expect((await pictures?.read("word/media/a.png"))?.width).toBe(900);
    const known = new Map([textOf("word/media/a.png", "The key is here.")]);
    const text = await read(bytes, docx, new PictureTexts("done", known));
    expect(text instanceof ReadFailure ? text.message : text.pieces.join("")).toBe(
      "Before.\n\n[picture: The key is here.]\n\nAfter.",
    );
    expect(text instanceof ReadFailure ? [] : text.marks).toEqual([{ at: 9, ocrConfidence: 0.9 }, { at: 38 }]);
    const without = await read(bytes, docx, new PictureTexts("missing", new Map()));
    expect(without instanceof ReadFailure ? [] : without.warnings).toEqual([
      "1 picture was not read: text recognition is not installed (mneme models pull ocr).",
    ]);
  });

  test("pictures in the chapters of a book are read where they stand, also the drawn ones of covers", async () => {
    const png = await bytesOf("note.png");
    const cover =
      '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="../images/cover.png"/></svg>';
    const bytes = epub(
      [
        cover,
        '<p>Before.</p><p><img src="../images/a%20b.png" alt="A plate"/></p><p>After.</p>',
        '<p>Last.</p><img src="https://example.org/images/cover.png"/><img src="../images/gone.png"/><img src="../a.gif"/>',
      ],
      {},
      { "OEBPS/images/cover.png": png, "OEBPS/images/a b.png": png, "OEBPS/a.gif": png },
    );
    const type = "application/epub+zip";
    const ids = ["OEBPS/images/cover.png", "OEBPS/images/a b.png"];
    const listed = await read(bytes, type, wanted());
    expect(listed instanceof UnreadPictures && listed.ids).toEqual(ids);
    const pictures = await formatOfMediaType(type).openPictures?.(bytes);
    for (const id of ids) expect((await pictures?.read(id))?.width).toBe(900);
    const known = new Map([textOf(ids[0] ?? "", "Tales of the sea"), textOf(ids[1] ?? "", "The key is here.")]);
    const text = await read(bytes, type, new PictureTexts("done", known));
    if (text instanceof ReadFailure) throw text;
    const whole = text.pieces.join("");
    expect(whole).toBe(
      "The Lighthouse (Ada Byron)\n\n[picture: Tales of the sea]\n\nBefore.\n\nA plate\n\n[picture: The key is here.]\n\nAfter.\n\nLast.",
    );
    expect(text.marks).toEqual([
      { at: whole.indexOf("[picture: Tales"), ocrConfidence: 0.9 },
      { at: whole.indexOf("Before.") },
      { at: whole.indexOf("[picture: The"), ocrConfidence: 0.9 },
      { at: whole.indexOf("After.") },
    ]);
    const without = await read(bytes, type, new PictureTexts("missing", new Map()));
    expect(without instanceof ReadFailure ? [] : without.warnings).toEqual([
      "2 pictures were not read: text recognition is not installed (mneme models pull ocr).",
    ]);
    const off = await read(bytes, type, new PictureTexts("off", new Map()));
    expect(off instanceof ReadFailure ? [] : (off.warnings ?? [])).toEqual([]);
    const scans = epub([cover], {}, { "OEBPS/images/cover.png": png });
    const failure = await read(scans, type, new PictureTexts("missing", new Map()));
    expect(failure instanceof ReadFailure && failure.message).toBe(
      "The file has only pictures, and text recognition is not installed (mneme models pull ocr).",
    );
  });

  test("pictures in OpenDocument texts, slides and sheets are read where they stand", async () => {
    const png = await bytesOf("note.png");
    const frame = (part = "Pictures/a.png") =>
      `<draw:frame><draw:image xlink:href="${part}"/><svg:title>A plate</svg:title></draw:frame>`;
    const place = "[picture: The key is here.]";
    const cases: [kind: OpenDocumentKind, body: string, expected: string][] = [
      [
        "text",
        `<text:p>Before.</text:p><text:p>With ${frame()} within.</text:p><text:p>After.</text:p>`,
        `Before.\n\nA plate\n\nWith within.\n\n${place}\n\nAfter.`,
      ],
      ["text", `${frame("./Pictures/a.png")}<text:p>After.</text:p>`, `${place}\n\nA plate\n\nAfter.`],
      [
        "presentation",
        `<draw:page draw:name="P"><draw:frame><draw:text-box><text:p>Said.</text:p></draw:text-box></draw:frame>${frame()}</draw:page>`,
        `## P\n\nSaid.\n\n${place}\n\nA plate`,
      ],
      [
        "spreadsheet",
        `<table:table table:name="S"><table:shapes>${frame()}</table:shapes><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>`,
        `## S\n\na | b\n\n${place}`,
      ],
    ];
    for (const [kind, body, expected] of cases) {
      const bytes = openDocument(kind, body, "", {}, { "Pictures/a.png": png });
      const type = `application/vnd.oasis.opendocument.${kind}`;
      const listed = await read(bytes, type, wanted());
      expect(listed instanceof UnreadPictures && listed.ids).toEqual(["Pictures/a.png"]);
      const pictures = await formatOfMediaType(type).openPictures?.(bytes);
      expect((await pictures?.read("Pictures/a.png"))?.width).toBe(900);
      const known = new Map([textOf("Pictures/a.png", "The key is here.")]);
      const text = await read(bytes, type, new PictureTexts("done", known));
      if (text instanceof ReadFailure) throw text;
      expect([kind, text.pieces.join("")]).toEqual([kind, expected]);
      expect(text.marks.some((mark) => "ocrConfidence" in mark && mark.ocrConfidence === 0.9)).toBe(true);
      expect(text.warnings ?? []).toEqual([]);
    }
    // drawings are named, and the pictures of charts are not: the charts are read
    const others = `<text:p>Text.</text:p>${frame("Pictures/a.svm")}${frame("ObjectReplacements/Object 1")}`;
    const text = await read(openDocument("text", others), "application/vnd.oasis.opendocument.text", wanted());
    expect(text instanceof ReadFailure ? [] : text.warnings).toEqual(["1 picture was not read."]);
  });

  test("a file without pictures is not said to have those of the file before it", async () => {
    const { readXlsx } = await import("../../src/documents/office/xlsx.ts");
    const { xlsx, xml, references, failureOf } = await import("./office/office-file.ts");
    const corner = "<xdr:from><xdr:col>0</xdr:col><xdr:row>0</xdr:row></xdr:from>";
    const picture = '<xdr:pic><xdr:blipFill><a:blip r:embed="p1"/></xdr:blipFill></xdr:pic>';
    const pictured = xlsx(
      [{ name: "S", content: "<sheetData/>", related: [["d1", "drawing", "../drawings/drawing1.xml"]] }],
      {
        "drawings/drawing1.xml": xml("xdr:wsDr", `<xdr:oneCellAnchor>${corner}${picture}</xdr:oneCellAnchor>`),
        "drawings/_rels/drawing1.xml.rels": references(["p1", "image", "../media/a.png"]),
        "media/a.png": await bytesOf("note.png"),
      },
    );
    const off = "The file has only pictures, and text recognition is off.";
    expect(failureOf(await readXlsx(pictured))).toBe(off);
    expect(failureOf(await readXlsx(xlsx([{ name: "S", content: "<sheetData/>" }])))).toBe("The file holds no text.");
  });

  test("a picture on a sheet is read, with the cells that it covers", async () => {
    const { xlsx, xml, rowsOf, references } = await import("./office/office-file.ts");
    const corner = (name: string, column: number, row: number) =>
      `<xdr:${name}><xdr:col>${column}</xdr:col><xdr:row>${row}</xdr:row></xdr:${name}>`;
    const anchor = `<xdr:twoCellAnchor>${corner("from", 1, 2)}${corner("to", 3, 8)}<xdr:pic><xdr:blipFill><a:blip r:embed="p1"/></xdr:blipFill></xdr:pic></xdr:twoCellAnchor>`;
    const bytes = xlsx(
      [{ name: "S", content: rowsOf(["a", "b"]), related: [["d1", "drawing", "../drawings/drawing1.xml"]] }],
      {
        "drawings/drawing1.xml": xml("xdr:wsDr", anchor),
        "drawings/_rels/drawing1.xml.rels": references(["p1", "image", "../media/a.png"]),
        "media/a.png": await bytesOf("note.png"),
      },
    );
    const type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    const listed = await read(bytes, type, wanted());
    expect(listed instanceof UnreadPictures && listed.ids).toEqual(["xl/media/a.png"]);
    const pictures = await formatOfMediaType(type).openPictures?.(bytes);
    expect((await pictures?.read("xl/media/a.png"))?.width).toBe(900);
    const known = new Map([textOf("xl/media/a.png", "The key is here.")]);
    const text = await read(bytes, type, new PictureTexts("done", known));
    if (text instanceof ReadFailure) throw text;
    expect(text.pieces.join("")).toBe("## S\n\na | b\n\n[picture: The key is here.]");
    expect(text.marks.at(-1)).toMatchObject({ cells: "B3:D9", ocrConfidence: 0.9 });
  });

  test("a picture that a page contains is read where it stands, and others are never fetched", async () => {
    const png = await bytesOf("note.png");
    const source = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
    const page = `<p>Before.<p><img src="${source}" alt="Plate"><p><img src="https://example.org/a.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><nav><img src='${source}'></nav><p>After.`;
    const bytes = new TextEncoder().encode(page);
    const listed = await read(bytes, "text/html", wanted());
    expect(listed instanceof UnreadPictures && listed.ids).toEqual(["1"]);
    const pictures = await formatOfMediaType("text/html").openPictures?.(bytes);
    expect((await pictures?.read("1"))?.width).toBe(900);
    expect(await refusal(() => pictures?.read("3"))).toContain("missing");
    const known = new Map([textOf("1", "The key is here."), textOf("2", "Menu")]);
    const text = await read(bytes, "text/html", new PictureTexts("done", known));
    if (text instanceof ReadFailure) throw text;
    expect(text.pieces.join("")).toBe("Before.\n\nPlate\n\n[picture: The key is here.]\n\nAfter.");
    expect(text.marks).toEqual([{ at: 16, ocrConfidence: 0.9 }, { at: 45 }]);
    const without = await read(bytes, "text/html", new PictureTexts("missing", new Map()));
    expect(without instanceof ReadFailure ? [] : without.warnings).toEqual([
      "1 picture was not read: text recognition is not installed (mneme models pull ocr).",
    ]);
    const off = await read(bytes, "text/html", new PictureTexts("off", new Map()));
    expect(off instanceof ReadFailure ? null : off.warnings).toBeUndefined();
  });
});
