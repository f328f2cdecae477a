// Reads files of a ZIP archive on disk as streams; only the archive's list of files is in memory as a whole. Such an
// archive, for example a data export of ChatGPT, can have many gigabytes of pictures that are not read.

import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { crc32, createInflateRaw } from "node:zlib";
import {
  contentsOffset,
  ENTRY_BYTES,
  findZipDirectory,
  isKnownMethod,
  ZIP_METHOD,
  ZIP_TAIL_BYTES,
  type ZipEntry,
  zipEntries,
} from "../documents/zip/directory.ts";

/** Maximum size of an archive's list of files: about a million of them. */
const DIRECTORY_BYTES_MAX = 128 * 1024 * 1024;

/** A file in an archive. */
export interface ArchivedFile {
  readonly name: string;
  /** The decompressed bytes. @throws Error if the file is encrypted, damaged, or compressed by an unknown method */
  readonly bytes: () => AsyncGenerator<Uint8Array>;
}

/**
 * The files of an archive whose names, without their folders, match.
 * @throws Error if the archive is cut off or damaged, or lists too many files
 */
export async function archivedFiles(path: string, names: RegExp): Promise<readonly ArchivedFile[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const entries = await listedEntries(path, file, size);
    return entries
      .filter(({ name }) => names.test(name.split("/").at(-1) ?? ""))
      .map((entry) => ({ name: entry.name, bytes: () => bytesOf(path, entry, size) }));
  } finally {
    await file.close();
  }
}

async function listedEntries(path: string, file: FileHandle, size: number): Promise<readonly ZipEntry[]> {
  const tailAt = Math.max(0, size - ZIP_TAIL_BYTES);
  const directory = findZipDirectory(await read(file, tailAt, size - tailAt), tailAt);
  if (directory === null) throw new Error(`${path} is cut off: the list at the end of the ZIP archive is missing.`);
  const { start, end, entryCount } = directory;
  if (end - start > DIRECTORY_BYTES_MAX) throw new Error(`${path} lists too many files.`);
  const entries = [...zipEntries(await read(file, start, end - start))];
  if (entryCount !== null && entries.length !== entryCount) {
    throw new Error(`${path} is damaged: the list of its files is broken.`);
  }
  return entries;
}

async function* bytesOf(path: string, entry: ZipEntry, size: number): AsyncGenerator<Uint8Array> {
  const damaged = (what: string) => new Error(`${entry.name} in ${path} ${what}.`);
  if (entry.isEncrypted) throw damaged("is encrypted");
  if (!isKnownMethod(entry.method)) {
    throw damaged(`is compressed by method ${entry.method}, which is not known`);
  }
  const file = await open(path);
  let offset: number | null;
  try {
    offset = contentsOffset(await read(file, entry.headerAt, ENTRY_BYTES));
  } finally {
    await file.close();
  }
  if (offset === null) throw damaged("is not where the list of files says");
  const start = entry.headerAt + offset;
  const end = start + entry.compressedBytes;
  if (end > size) throw damaged("is cut off");
  if (entry.compressedBytes === 0) return;
  let crc = 0;
  const compressed = createReadStream(path, { start, end: end - 1, highWaterMark: 256 * 1024 });
  const inflated = entry.method === ZIP_METHOD.stored ? compressed : compressed.pipe(createInflateRaw());
  if (inflated !== compressed) compressed.on("error", (error) => inflated.destroy(error));
  try {
    for await (const piece of inflated as AsyncIterable<Uint8Array>) {
      crc = crc32(piece, crc);
      yield piece;
    }
  } catch (cause) {
    throw new Error(`${entry.name} in ${path} cannot be decompressed: it is damaged.`, { cause });
  }
  if (crc !== entry.crc) throw damaged("does not agree with its checksum: it is damaged");
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
