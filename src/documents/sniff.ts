// Which of the formats a file has: by its content first, by its name where the content leaves it open. How the text of each is
// read is read-file.ts's question; nothing here trusts the file, or reads more of it than a few megabytes, however it is made.

import { type FileHandle, open } from "node:fs/promises";
import { beginningOf, encodingOf } from "./encoding/encoding.ts";
import { type Format, formatOfName, isOfficeFormat, isTextFormat, MEDIA_TYPES } from "./formats.ts";

/** Bytes at a file's beginning that are looked at. */
const HEAD_BYTES = 64 * 1024;
/** Longest end record of a ZIP archive, its comment included (APPNOTE 4.3.16). */
const ZIP_END_BYTES = 22 + 65_535;
/** Of an archive's directory, at most this much is read: some 40,000 entries. */
const ZIP_DIRECTORY_BYTES = 4 * 1024 * 1024;
/** What is read at once of an OLE container. */
const OLE_STEP_BYTES = 1024 * 1024;
/** Units of a text in which it is looked for signs of a format. */
const TEXT_UNITS = 8 * 1024;
/** Where a PDF's sign has to stand at the latest (ISO 32000-1, implementation note 13 of its predecessor). */
const PDF_SIGN_WITHIN = 1024;

/**
 * The media type of a file by its content and name; null when it is none of `FORMATS_READ`. An Office document behind a
 * password has the type that its name speaks of.
 * @throws Error of the operating system when the file cannot be read
 */
export async function mediaTypeOf(path: string, filename: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const format = await formatOf(file, size, filename);
    if (format !== "encrypted") return format === null ? null : MEDIA_TYPES[format];
    const named = formatOfName(filename);
    return MEDIA_TYPES[named !== null && isOfficeFormat(named) ? named : format];
  } finally {
    await file.close();
  }
}

/** Whether a file begins as an OLE container: old Office documents, and new ones behind a password. */
export function isOleContainer(bytes: Uint8Array): boolean {
  return beginsWith(bytes, OLE);
}

async function formatOf(file: FileHandle, size: number, filename: string): Promise<Format | null> {
  const head = await readAt(file, 0, Math.min(size, HEAD_BYTES));
  const named = formatOfName(filename);
  if (beginsWith(head, ZIP_ENTRY) || beginsWith(head, ZIP_END)) return zipFormat(file, size, head, named);
  if (isOleContainer(head)) return (await holdsEncryptedPackage(file, size)) ? "encrypted" : null;
  if (isPdf(head, named)) return "pdf";
  const isWhole = head.byteLength === size;
  const encoding = encodingOf(head, isWhole);
  if (encoding !== null) {
    return textFormat(beginningOf(head, encoding).trimStart(), isWhole, named);
  }
  if (OTHER_BINARIES.some(({ bytes, at }) => beginsWith(head, bytes, at))) return null;
  // bytes that show nothing: a damaged document, if its name says that it was one
  return named === null || isTextFormat(named) ? null : named;
}

const ZIP_ENTRY = "PK\x03\x04";
const ZIP_END = "PK\x05\x06";
const ZIP_LISTED = "PK\x01\x02";
const OLE = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/** Beginnings of binary files that nobody could take for a damaged document, whatever their names are. */
const OTHER_BINARIES: readonly { readonly bytes: string; readonly at?: number }[] = [
  ...["\x89PNG", "\xff\xd8\xff", "GIF8", "BM", "II*\0", "MM\0*", "RIFF", "OggS", "ID3", "fLaC"],
  ...["\x1f\x8b", "BZh", "\xfd7zXZ", "7z\xbc\xaf", "Rar!", "\x28\xb5\x2f\xfd"],
  ...["\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "\0asm", "SQLite format 3\0", "wOFF", "\0\x01\0\0\0"],
]
  .map((bytes): { bytes: string; at?: number } => ({ bytes }))
  .concat({ bytes: "ftyp", at: 4 }, { bytes: "ustar", at: 257 });

/** Beginnings of texts that are formats of their own: RTF, PostScript, XML (with SVG). */
const OTHER_TEXTS = /^(?:\{\\rtf|%!PS|<\?xml|<svg[\s>])/i;

// Elsewhere than at the beginning the sign stands in texts about PDF as well.
function isPdf(head: Buffer, named: Format | null): boolean {
  const at = head.subarray(0, PDF_SIGN_WITHIN).indexOf("%PDF-", 0, "latin1");
  return at === 0 || (at > 0 && (named === "pdf" || head.includes(0)));
}

async function zipFormat(file: FileHandle, size: number, head: Buffer, named: Format | null): Promise<Format | null> {
  const listed = await listedNames(file, size);
  const names = listed ?? entryNames(head);
  const isOpenXml = names.includes("[Content_Types].xml");
  if (isOpenXml && names.some((name) => name.startsWith("word/"))) return "docx";
  // xl/workbook.bin: the binary format, which is another one
  if (isOpenXml && names.some((name) => name.startsWith("xl/")))
    return names.includes("xl/workbook.bin") ? null : "xlsx";
  if (isOpenXml && names.some((name) => name.startsWith("ppt/"))) return "pptx";
  // cut off, or empty: what is left says nothing against the name
  const isDamaged = listed === null || listed.length === 0;
  return isDamaged && (isOpenXml || names.length === 0) && named !== null && isOfficeFormat(named) ? named : null;
}

/** The names in an archive's directory; null when it has none that can be read. */
async function listedNames(file: FileHandle, size: number): Promise<readonly string[] | null> {
  const tailAt = Math.max(0, size - ZIP_END_BYTES);
  const tail = await readAt(file, tailAt, size - tailAt);
  const end = tail.lastIndexOf(ZIP_END, tail.byteLength, "latin1");
  if (end === -1 || tail.byteLength - end < 22) return null;
  const bytes = tail.readUInt32LE(end + 12);
  const start = tailAt + end - bytes;
  if (start < 0) return null;
  const directory = await readAt(file, start, Math.min(bytes, ZIP_DIRECTORY_BYTES));
  const names: string[] = [];
  for (let at = 0; at + 46 <= directory.byteLength && beginsWith(directory, ZIP_LISTED, at); ) {
    const [name, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
    names.push(directory.toString("latin1", at + 46, at + 46 + (name ?? 0)));
    at += 46 + (name ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return names.length === 0 && bytes > 0 ? null : names;
}

/** The names of an archive's first entries, one after the other as far as their sizes are told. */
function entryNames(head: Buffer): readonly string[] {
  const names: string[] = [];
  for (let at = 0; at + 30 <= head.byteLength && beginsWith(head, ZIP_ENTRY, at); ) {
    const [name, extra] = [head.readUInt16LE(at + 26), head.readUInt16LE(at + 28)];
    names.push(head.toString("latin1", at + 30, at + 30 + name));
    at += 30 + name + extra + head.readUInt32LE(at + 18);
  }
  return names;
}

/** Type of a stream, and where name, its length in bytes with its final zero, and type stand in an entry ([MS-CFB] 2.6.1). */
const OLE_ENTRY = { bytes: 128, nameBytes: 64, type: 66, stream: 2 } as const;
const ENCRYPTED_PACKAGE = Buffer.from("EncryptedPackage\0", "utf16le");

/**
 * Whether an OLE container lists a stream `EncryptedPackage`: entries of its directory stand at multiples of their size
 * wherever its sectors lie, so that a look at each place needs no trust in the tables that lead there.
 */
async function holdsEncryptedPackage(file: FileHandle, size: number): Promise<boolean> {
  for (let stepAt = 0; stepAt < size; stepAt += OLE_STEP_BYTES) {
    const step = await readAt(file, stepAt, Math.min(OLE_STEP_BYTES, size - stepAt));
    for (let at = step.indexOf(ENCRYPTED_PACKAGE); at !== -1; at = step.indexOf(ENCRYPTED_PACKAGE, at + 1)) {
      const isEntry =
        at % OLE_ENTRY.bytes === 0 &&
        at + OLE_ENTRY.bytes <= step.byteLength &&
        step.readUInt16LE(at + OLE_ENTRY.nameBytes) === ENCRYPTED_PACKAGE.byteLength &&
        step[at + OLE_ENTRY.type] === OLE_ENTRY.stream;
      if (isEntry) return true;
    }
  }
  return false;
}

// HTML and JSON show themselves. Between the others the name decides: a list of names can be all three of them.
function textFormat(text: string, isWhole: boolean, named: Format | null): Format | null {
  const beginning = text.slice(0, TEXT_UNITS);
  if (isHtml(beginning)) return "html";
  if (OTHER_TEXTS.test(beginning)) return null;
  if (isJson(text, isWhole)) return "json";
  if (named !== null) return isTextFormat(named) ? named : "text";
  if (isMarkdown(beginning)) return "markdown";
  return isTable(beginning) ? "csv" : "text";
}

const HTML_TAG = /^<(?:!doctype\s+html|html|head|body|title|meta)\b/i;

// Step by step: one expression for all of it would try every way to tell many comments apart.
function isHtml(beginning: string): boolean {
  let rest = beginning.replace(/^<\?xml[^>]*>/i, "").trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->");
    if (end === -1) return false;
    rest = rest.slice(end + "-->".length).trimStart();
  }
  return HTML_TAG.test(rest);
}

function isJson(text: string, isWhole: boolean): boolean {
  if (!/^[[{]/.test(text)) return false;
  // of a long one, how it begins: a page in Markdown may begin with a link
  if (!isWhole) return /^(?:\{\s*"|\[\s*[[{"\d-])/.test(text) && !/^\[[^\]\n]*\][(:[]/.test(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // no JSON, and so another kind of text
  }
}

function isMarkdown(text: string): boolean {
  return /^#{1,6} \S/m.test(text) || /^(?:```|~~~)/m.test(text) || /^\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+/m.test(text);
}

/** Lines that have the same number of separators: three at least, since two sentences may have a comma each. */
function isTable(text: string): boolean {
  const lines = text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(0, 20);
  if (lines.length < 3) return false;
  return [/\t/g, /;/g, /,/g].some((separator) => {
    const counts = lines.slice(0, -1).map((line) => line.replace(/"[^"]*"/g, "").match(separator)?.length ?? 0);
    return (counts[0] ?? 0) > 0 && counts.every((count) => count === counts[0]);
  });
}

function beginsWith(bytes: Uint8Array, sign: string, at = 0): boolean {
  for (let position = 0; position < sign.length; position++) {
    if (bytes[at + position] !== sign.charCodeAt(position)) return false;
  }
  return true;
}

/** Bytes from a place on; fewer where the file ends before. */
async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
