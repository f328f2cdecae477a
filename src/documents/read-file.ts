// What the file of an upload says: its text, and the title that it has beside it. Which format it has was found before
// (sniff.ts); what is made of the text is prepare.ts.

import { readFile } from "node:fs/promises";
import { shortTitle } from "../domain/title.ts";
import { type DocumentFile, ReadFailure } from "../ports/document-reader.ts";
import { csvText } from "./csv/csv.ts";
import type { ReadDocument } from "./document.ts";
import { FileUnavailable } from "./document-protocol.ts";
import { decoded, encodingNamed, encodingOf } from "./encoding/encoding.ts";
import { formatOfMediaType, stemOf, type TextFormat } from "./formats.ts";
import { readHtml } from "./html/read-html.ts";
import { jsonText } from "./json/json-text.ts";
import { isOleContainer } from "./sniff.ts";

/** Bytes at a page's beginning in which it names its encoding (HTML, 13.2.3.2 looks at 1,024; some pages name it later). */
const CHARSET_WITHIN = 4_096;

/**
 * Reads a file. Holds it once and its text once in memory.
 * @param onPages called after each page of a PDF
 * @throws FileUnavailable when the operating system does not hand it out
 */
export async function readFileText(
  file: DocumentFile,
  onPages: (done: number, total: number) => void = () => undefined,
): Promise<ReadDocument | ReadFailure> {
  const bytes = await bytesOf(file.path);
  if (bytes === null) {
    return new ReadFailure("processing_error", "The file of this memory is no longer stored. Upload it again.");
  }
  const format = formatOfMediaType(file.mediaType);
  if (format === "encrypted" || isOleContainer(bytes)) {
    return new ReadFailure("unreadable_document", "The file is encrypted. Upload it without a password.");
  }
  if (format === "docx") return (await import("./office/docx.ts")).readDocx(bytes);
  if (format === "xlsx") return (await import("./office/xlsx.ts")).readXlsx(bytes);
  if (format === "pptx") return (await import("./office/pptx.ts")).readPptx(bytes);
  if (format === "pdf") return (await import("./pdf/read-pdf.ts")).readPdf(bytes, { onProgress: onPages });
  const text = textOf(bytes, format, file.filename);
  if (text === null)
    return new ReadFailure("unreadable_document", "The file is damaged: it holds bytes that are no text.");
  if (text instanceof ReadFailure) return text;
  const isBlank = text.pieces.every((piece) => piece.trim() === "");
  return isBlank ? new ReadFailure("unreadable_document", "The file holds no text.") : text;
}

/** null: it is not there. */
async function bytesOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw new FileUnavailable("the file of an upload cannot be read", { cause });
  }
}

/** null: the bytes are no text. */
function textOf(bytes: Uint8Array, format: TextFormat, filename: string): ReadDocument | ReadFailure | null {
  const encoding = encodingOf(bytes, true);
  if (encoding === null) return null;
  if (format === "html") {
    // what a page says of itself is better than a guess
    const label = encoding.startsWith("utf-") ? encoding : (namedEncoding(bytes) ?? encoding);
    return readHtml(decoded(bytes, label));
  }
  if (format !== "csv" && format !== "json") return { pieces: [...decoded(bytes, encoding)], title: null, marks: [] };
  // data has no line that could be its title
  const title = shortTitle(stemOf(filename));
  const text = decoded(bytes, encoding);
  return { pieces: format === "csv" ? [...csvText(text)] : jsonText(text), title, marks: [] };
}

/** The encoding that a page names, as far as it is known. */
function namedEncoding(bytes: Uint8Array): string | null {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, CHARSET_WITHIN));
  const label = /<meta\b[^>]{0,512}?\bcharset\s*=\s*["']?([\w.:-]{1,32})/i.exec(head)?.[1];
  return label === undefined ? null : encodingNamed(label);
}
