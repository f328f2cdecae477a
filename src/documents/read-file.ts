// Reads an uploaded file: its text, title and place marks. detect.ts has found the format when the file was uploaded.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hashOfFile } from "../domain/file-hash.ts";
import { type DocumentFile, ReadFailure } from "../ports/document-reader.ts";
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
  return format.read({ bytes, filename: file.filename, pictures }, onPages);
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
