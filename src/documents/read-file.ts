// Reads an uploaded file: its text, title and place marks. detect.ts has found the format when the file was uploaded.

import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hashOfFile } from "../domain/file-hash.ts";
import { type DocumentFile, ReadFailure } from "../ports/document-reader.ts";
import { type PartFormats, Parts } from "./containers/parts.ts";
import { mediaTypeOfBytes } from "./detect.ts";
import { ENCRYPTED, type ReadDocument } from "./document.ts";
import { FileUnavailable } from "./document-protocol.ts";
import { formatOfMediaType } from "./formats.ts";
import { isOleContainer } from "./ole.ts";
import { pictureTextsOf } from "./recognition.ts";

/**
 * Reads a file. Keeps one copy of the file and one copy of its text in memory.
 * @param onPages called after each page of a PDF
 * @throws FileUnavailable if the operating system cannot read the file
 */
export async function readFileText(
  file: DocumentFile,
  onPages: (done: number, total: number) => void = () => undefined,
): Promise<ReadDocument | ReadFailure> {
  const bytes = await bytesOf(file.path);
  if (bytes === null) {
    return new ReadFailure("processing_error", "The file of this memory is no longer stored. Upload it again.");
  }
  if (isDamaged(file, bytes)) {
    return new ReadFailure("unreadable_document", "The stored file of this memory is damaged. Upload it again.");
  }
  const format = formatOfMediaType(file.mediaType);
  if (isOleContainer(bytes) && format.isOle !== true) return new ReadFailure("unreadable_document", ENCRYPTED);
  const pictures = await pictureTextsOf(file.recognition ?? { kind: "off" });
  if (file.partsPath === undefined) return format.read({ bytes, filename: file.filename, pictures }, onPages);
  const target = openSync(file.partsPath, "w");
  try {
    const write = (piece: Uint8Array) => writeAll(target, piece);
    const parts = new Parts({ isPart: file.isPart === true, formats: PART_FORMATS, write });
    const read = await format.read({ bytes, filename: file.filename, pictures }, onPages, parts);
    return read instanceof ReadFailure || parts.found.length === 0 ? read : { ...read, parts: parts.found };
  } finally {
    closeSync(target);
  }
}

const PART_FORMATS: PartFormats = {
  recognise: mediaTypeOfBytes,
  read: (part, parts) => formatOfMediaType(part.mediaType).read(part, () => undefined, parts),
};

function writeAll(target: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(target, bytes, at, bytes.byteLength - at);
}

/** Whether the bytes are not the ones that were received. */
function isDamaged({ mediaType, contentSha256 }: DocumentFile, bytes: Uint8Array): boolean {
  if (contentSha256 === undefined) return false;
  return hashOfFile(createHash("sha256").update(bytes).digest(), mediaType).toString("hex") !== contentSha256;
}

/** null if the file does not exist. */
async function bytesOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw new FileUnavailable("the file of an upload cannot be read", { cause });
  }
}
