// Reads a file as an upload is read: recognises its format and extracts the text, without a server.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mediaTypeOf } from "../../src/documents/detect.ts";
import type { ReadDocument } from "../../src/documents/document.ts";
import { formatOfMediaType } from "../../src/documents/formats.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";

/** What became of a file. */
export interface ReadText extends Omit<ReadDocument, "pieces"> {
  readonly mediaType: string;
  readonly text: string;
  readonly warnings: readonly string[];
}

/** Recognises and reads a file. @returns the failure if it cannot be read; null if it has no known format */
export async function readNamed(
  filename: string,
  content: string | Uint8Array,
): Promise<ReadText | ReadFailure | null> {
  const folder = mkdtempSync(join(tmpdir(), "mneme-read-"));
  try {
    const path = join(folder, "file");
    writeFileSync(path, content);
    const mediaType = await mediaTypeOf(path, filename);
    if (mediaType === null) return null;
    const bytes = new Uint8Array(Buffer.from(content));
    const read = await formatOfMediaType(mediaType).read({ bytes, filename }, () => undefined);
    if (read instanceof ReadFailure) return read;
    const { pieces, title, marks, warnings = [] } = read;
    return { mediaType, text: pieces.join(""), title, marks, warnings };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of a file that can be read. */
export async function textOf(filename: string, content: string | Uint8Array): Promise<ReadText> {
  const read = await readNamed(filename, content);
  if (read === null || read instanceof ReadFailure) throw new Error(`${filename} was not read: ${read?.message}`);
  return read;
}
