// Reads a ZIP archive of files: each file is a part, and the text of the archive is the list of their paths.

import { LIMITS } from "../../domain/limits.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, READING_LIMITS } from "../budget.ts";
import { ENCRYPTED, type ReadDocument } from "../document.ts";
import { onOneLine } from "../text-writer.ts";
import { Archive } from "../zip/archive.ts";
import type { ZipEntry } from "../zip/directory.ts";
import { ContainerRefusal, Parts } from "./parts.ts";

/** Files that operating systems add to archives. */
const OF_SYSTEM = /(?:^|\/)(?:__MACOSX\/|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\._[^/]*$)/i;
/** Bits of a file's mode that say its kind, and the kinds that are not refused (0: unknown). */
const KIND = 0xf000;
const FILES_AND_FOLDERS: readonly number[] = [0, 0x8000, 0x4000];

/**
 * Reads an archive. DEFLATE can pack a file to a thousandth of its size, so the size of the unpacked files is limited
 * and not the ratio.
 */
export async function readZip(bytes: Uint8Array, parts: Parts = new Parts()): Promise<ReadDocument | ReadFailure> {
  try {
    const budget = new Budget({ ...READING_LIMITS, inflatedBytes: Number.POSITIVE_INFINITY, ratio: 2_000 });
    const archive = new Archive(bytes, budget);
    const entries = [...archive.entries()].filter(({ name }) => !name.endsWith("/") && !OF_SYSTEM.test(name));
    const linked = [...archive.entries()].find((entry) => isLink(entry));
    if (linked !== undefined) {
      throw new ContainerRefusal(`The file is refused: its part ${onOneLine(linked.name)} is a link.`);
    }
    const paths = entries.map(({ name }) => parts.pathOf(name));
    for (const _ of entries) parts.addPart();
    const read: string[] = [];
    for (const [at, entry] of entries.entries()) {
      const path = paths[at] ?? "";
      read.push(path);
      if (entry.isEncrypted) parts.leaveOut(path, "it is encrypted");
      else await addEntry(archive, entry, path, parts);
    }
    if (entries.length > 0 && entries.every(({ isEncrypted }) => isEncrypted)) {
      return new ReadFailure("unreadable_document", ENCRYPTED);
    }
    if (entries.length === 0) return new ReadFailure("unreadable_document", "The file contains no files.");
    const list = read.map((path) => `- ${onOneLine(path)}`).join("\n");
    return { pieces: [list], title: null, marks: [], warnings: parts.warnings };
  } catch (error) {
    if (error instanceof ReadFailure) return error;
    throw error;
  }
}

async function addEntry(archive: Archive, entry: ZipEntry, path: string, parts: Parts): Promise<void> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (const piece of archive.contentsOf(entry)) {
      parts.addBytes(piece.byteLength);
      size += piece.byteLength;
      // a larger file becomes no memory, but is unpacked to the end to count it
      if (size <= LIMITS.uploadBytes) pieces.push(piece.slice());
      else pieces.length = 0;
    }
  } catch (error) {
    if (!(error instanceof ReadFailure) || error instanceof ContainerRefusal) throw error;
    parts.leaveOut(path, "it is damaged");
    return;
  }
  if (size > LIMITS.uploadBytes) parts.leaveOut(path, "it is larger than an upload may be");
  else await parts.add(path, Buffer.concat(pieces), { deeper: "refused" });
}

function isLink({ mode }: ZipEntry): boolean {
  return !FILES_AND_FOLDERS.includes(mode & KIND);
}
