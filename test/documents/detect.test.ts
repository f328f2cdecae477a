// Tests format detection: which formats are detected by content, which by file name, and which files have no known
// format.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import { formatOfMediaType } from "../../src/documents/formats.ts";
import { seeded } from "../support/seeded.ts";
import { oleContainer, packageOf, zipOf } from "./fixtures/containers.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-detect-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let written = 0;
/** The first file name extension of the detected format; `encrypted` for the format that has no extensions. */
async function detected(content: string | Uint8Array, filename: string): Promise<string | null> {
  const path = join(folder, String(written++));
  writeFileSync(path, content);
  const mediaType = await mediaTypeOf(path, filename);
  return mediaType === null ? null : (formatOfMediaType(mediaType).extensions[0] ?? "encrypted");
}

const latin1 = (text: string) => Buffer.from(text, "latin1");
const docx = zipOf("[Content_Types].xml", "_rels/.rels", "word/document.xml");
const xlsx = zipOf("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml");
const pptx = zipOf("[Content_Types].xml", "ppt/presentation.xml");
const pdf = latin1("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n");

describe("the content decides, whatever the file name is", () => {
  const cases: readonly (readonly [string, string | Uint8Array, string | null])[] = [
    ["a PDF", pdf, "pdf"],
    ["a PDF behind bytes of a mail program", Buffer.concat([latin1("\0\0mail\r\n"), pdf]), "pdf"],
    ["a DOCX", docx, "docx"],
    ["an XLSX", xlsx, "xlsx"],
    ["a PPTX", pptx, "pptx"],
    ["a ZIP archive of documents", zipOf("letters/a.docx", "[Content_Types].xml.bak"), "zip"],
    ["a Java archive", zipOf("META-INF/MANIFEST.MF", "a.class"), null],
    ["a mailbox", "From a@b.c Tue May  5 14:00:00 2026\nFrom: a@b.c\n\nHi\n", "mbox"],
    ["a message of Outlook", oleContainer("__properties_version1.0"), "msg"],
    ["a binary workbook", zipOf("[Content_Types].xml", "xl/workbook.bin"), null],
    ["an EPUB", zipOf("mimetype", "META-INF/container.xml"), "epub"],
    ["an OpenDocument text", packageOf("application/vnd.oasis.opendocument.text"), "odt"],
    ["an OpenDocument spreadsheet", packageOf("application/vnd.oasis.opendocument.spreadsheet"), "ods"],
    ["an OpenDocument presentation", packageOf("application/vnd.oasis.opendocument.presentation"), "odp"],
    ["an OpenDocument drawing", packageOf("application/vnd.oasis.opendocument.graphics"), null],
    ["an old Word document", oleContainer("WordDocument"), "doc"],
    ["an old workbook", oleContainer("Workbook"), "xls"],
    ["an old presentation", oleContainer("PowerPoint Document"), "ppt"],
    ["another OLE container", oleContainer("VisioDocument"), null],
    ["SRT", "1\n00:00:01,000 --> 00:00:02,000\nHello\n", "srt"],
    ["VTT", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n", "vtt"],
    ["a calendar", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", "ics"],
    ["an address card", "BEGIN:VCARD\nFN:Ada\nEND:VCARD\n", "vcf"],
    ["HTML", "\n<!-- a -->\n<!DOCTYPE html>\n<p>Hi", "html"],
    ["HTML without a doctype", '<html lang="en"><body>Hi</body></html>', "html"],
    ["XHTML", '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "html"],
    ["JSON", ' {"name": "Ada"}\n', "json"],
    ["a JSON list", "[1, 2, 3]", "json"],
    ["long JSON", `[{"name": "${"x".repeat(100_000)}"}]`, "json"],
    ["SVG", '<svg xmlns="http://www.w3.org/2000/svg"/>', null],
    ["SVG behind a declaration", '<?xml version="1.0"?>\n<!-- x -->\n<svg xmlns="http://www.w3.org/2000/svg"/>', null],
    ["XML", '<?xml version="1.0"?><order/>', "xml"],
    ["RTF", "{\\rtf1\\ansi Hello}", "rtf"],
    ["PostScript", "%!PS-Adobe-3.0\n", null],
    ["PNG", latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "png"],
    ["GIF", latin1("GIF89a\x01\0\x01\0\xf0\0\0\x80\xff\xfe\x01\x02\x03\x04\0\0"), null],
    ["JPEG", latin1("\xff\xd8\xff\xe0\0\x10JFIF\0"), "jpg"],
    ["gzip", latin1("\x1f\x8b\x08\0\0\0\0\0\0\x03"), null],
    ["a program", latin1("\x7fELF\x02\x01\x01\0\0\0"), null],
    ["a Windows program", latin1("MZ\x90\0\x03\0\0\0"), null],
    ["an MP4 film", latin1("\0\0\0\x18ftypmp42\0\0"), null],
  ];
  for (const [what, content, format] of cases) {
    for (const filename of ["upload", "notes.txt", "report.pdf"]) {
      test(`${what} named ${filename} is ${format ?? "of no known format"}`, async () => {
        expect(await detected(content, filename)).toBe(format);
      });
    }
  }

  test("an encrypted Office document has the media type of its extension", async () => {
    const encrypted = oleContainer("EncryptedPackage");
    expect(await detected(encrypted, "plan.xlsx")).toBe("xlsx");
    expect(await detected(encrypted, "plan")).toBe("encrypted");
  });
});

describe("the file name decides between text formats", () => {
  const list = "name,age\nAda,36\nGrace,85\n";
  for (const [filename, format] of [
    ["a.txt", "txt"],
    ["a.CSV", "csv"],
    ["a.md", "md"],
    ["a.htm", "html"],
    ["a.json", "json"],
    ["a.docx", "txt"],
    ["a.dat", "csv"],
    ["a.yaml", "yaml"],
    ["a.srt", "srt"],
    ["a.ics", "ics"],
    ["a.py", "txt"],
    ["a.sql", "txt"],
    ["a.xml", "txt"],
    ["a.eml", "eml"],
  ] as const) {
    test(`a list named ${filename} is ${format}`, async () => expect(await detected(list, filename)).toBe(format));
  }

  test("without a known extension, the media type that the sender named decides, then the lines", async () => {
    const path = join(folder, "declared");
    writeFileSync(path, list);
    expect(await mediaTypeOf(path, "a.dat", "application/yaml; charset=utf-8")).toBe("application/yaml");
    expect(await mediaTypeOf(path, "a", "Text/YAML")).toBe("application/yaml");
    expect(await mediaTypeOf(path, "a.txt", "application/yaml")).toBe("text/plain");
    expect(await mediaTypeOf(path, "a.dat", "application/octet-stream")).toBe("text/csv");
    expect(await mediaTypeOf(path, "a.dat", "image/gif")).toBe("text/csv");
  });

  test("without both, the lines decide", async () => {
    expect(await detected("# Plan\n\nBuy milk.\n", "upload")).toBe("md");
    expect(await detected("Buy milk, eggs and bread.\nCall Ada.\n", "upload")).toBe("txt");
  });

  test("a page that begins with a link is no JSON", async () => {
    expect(await detected("[Mneme](https://example.org) remembers.", "README.md")).toBe("md");
    expect(await detected(`[Mneme](https://example.org) remembers. ${"On. ".repeat(30_000)}`, "a")).toBe("txt");
  });

  test("a text that mentions signatures of formats is a text", async () => {
    expect(await detected("A PDF begins with %PDF-1.7 and ends with %%EOF.", "a.txt")).toBe("txt");
    expect(await detected("MZ are the initials of Mark Zbikowski.", "a.txt")).toBe("txt");
    expect(await detected("BZh is how bzip2 begins, ID3 how tags do.", "a.txt")).toBe("txt");
  });
});

describe("texts are detected in every encoding", () => {
  const text = "Grüße aus Köln: naïve, déjà vu.\n";
  const utf16 = Buffer.from(text.repeat(20), "utf16le");
  const cases: readonly (readonly [string, Uint8Array])[] = [
    ["UTF-8", Buffer.from(text)],
    ["UTF-8 with a mark", Buffer.from(`\ufeff${text}`)],
    ["UTF-8 cut within a character at the end of what is looked at", Buffer.from(`a${"ü".repeat(70_000)}`)],
    ["UTF-16 with a mark", Buffer.from(`\ufeff${text}`, "utf16le")],
    ["UTF-16 without a mark", utf16],
    ["big-endian UTF-16 without a mark", Buffer.from(utf16).swap16()],
    ["windows-1252", latin1(text)],
    ["Shift_JIS", Buffer.from("96bc914f2c944e97ee0d0a", "hex")],
  ];
  for (const [what, bytes] of cases) {
    test(what, async () => expect(await detected(bytes, "a.txt")).toBe("txt"));
  }

  test("binary data has no format, unless it is named like a document", async () => {
    const random = seeded(7);
    const noise = Uint8Array.from({ length: 5_000 }, () => Math.floor(random() * 256));
    noise[0] = 0;
    expect(await detected(noise, "a.txt")).toBeNull();
    expect(await detected(noise, "a")).toBeNull();
    expect(await detected(noise, "a.pdf")).toBe("pdf");
  });
});

describe("a damaged file", () => {
  test("is detected by its remaining bytes", async () => {
    expect(await detected(docx.subarray(0, docx.byteLength - 30), "a")).toBe("docx");
    expect(await detected(docx.subarray(0, 60), "a.docx")).toBe("docx");
    expect(await detected(docx.subarray(0, 60), "a.zip")).toBeNull();
    expect(await detected(zipOf(), "a.xlsx")).toBe("xlsx");
  });

  test("never throws, whatever bytes are cut off or changed", async () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    for (const whole of [docx, oleContainer("EncryptedPackage"), pdf]) {
      for (let round = 0; round < 150; round++) {
        const bytes = Buffer.from(whole.subarray(0, Math.ceil(random() * whole.byteLength)));
        for (let change = 0; change < 4; change++) {
          bytes[Math.floor(random() * bytes.byteLength)] = Math.floor(random() * 256);
        }
        await detected(bytes, "a.docx").catch((cause: unknown) => {
          throw new Error(`seed ${seed}, round ${round}: ${bytes.toString("hex")}`, { cause });
        });
      }
    }
  });

  test("is detected in linear time: many comments before no element", async () => {
    const before = process.cpuUsage();
    expect(await detected("<!-- -->".repeat(100_000), "a.txt")).toBe("txt");
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});
