// Reads the records of an export on disk: a file (plain, .gz or a ZIP archive) or a folder.

import { closeSync, createReadStream, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { errorMessage } from "../kit/error-message.ts";
import type { Importer, SourceRecord } from "./imported.ts";
import { readJsonItems } from "./json-items.ts";
import { archivedFiles } from "./zip-entries.ts";

const GZIP_SIGNATURE = Buffer.from([0x1f, 0x8b]);
const ZIP_SIGNATURE = Buffer.from("PK\x03\x04", "latin1");
const EMPTY_ZIP_SIGNATURE = Buffer.from("PK\x05\x06", "latin1");

/** Reports how far the reading is: a share, 0..1. */
export type ReportShare = (share: number) => void;

/** A file of an export. */
interface SourceFile {
  /** Put before the places of its records; empty if the export is this one file. */
  readonly label: string;
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/**
 * The records of an export on disk. A file that cannot be read to its end is reported in its place, and the next one is
 * read.
 * @throws Error if the path or archive cannot be read, or has no file of such an export
 */
export async function* recordsOfPath(
  path: string,
  importer: Importer,
  report: ReportShare,
): AsyncGenerator<SourceRecord> {
  for (const { label, bytes } of await filesOf(path, importer, report)) {
    const place = (record: SourceRecord): SourceRecord =>
      label === "" ? record : { ...record, place: `${label}: ${record.place}` };
    try {
      for await (const record of readJsonItems(bytes(), importer.lists)) yield place(record);
    } catch (error) {
      const why = errorMessage(error);
      yield { kind: "damaged", place: label === "" ? path : label, why: `cannot be read to its end: ${why}` };
    }
  }
}

async function filesOf(path: string, importer: Importer, report: ReportShare): Promise<readonly SourceFile[]> {
  const info = statSync(path);
  if (info.isDirectory()) {
    const names = readdirSync(path)
      .filter((name) => importer.files.test(name) && statSync(join(path, name)).isFile())
      .sort();
    if (names.length === 0) throw new Error(`${path} has no file of such an export. Expected: ${importer.expects}.`);
    return names.map((name, at) => ({
      label: name,
      bytes: () => plainBytes(join(path, name), (share) => report((at + share) / names.length)),
    }));
  }
  const head = headOf(path);
  if (head.equals(ZIP_SIGNATURE) || head.equals(EMPTY_ZIP_SIGNATURE)) {
    const files = await archivedFiles(path, importer.files);
    if (files.length === 0) {
      throw new Error(`The archive ${path} has no file of such an export. Expected: ${importer.expects}.`);
    }
    return files.map(({ name, bytes }) => ({ label: name, bytes }));
  }
  return [{ label: "", bytes: () => plainBytes(path, report) }];
}

async function* plainBytes(path: string, report: ReportShare): AsyncGenerator<Uint8Array> {
  const total = Math.max(1, statSync(path).size);
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const bytes = headOf(path).subarray(0, 2).equals(GZIP_SIGNATURE) ? file.pipe(createGunzip()) : file;
  if (bytes !== file) file.on("error", (error) => bytes.destroy(error));
  for await (const piece of bytes as AsyncIterable<Uint8Array>) {
    report(Math.min(1, file.bytesRead / total));
    yield piece;
  }
}

function headOf(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(ZIP_SIGNATURE.length);
    return head.subarray(0, readSync(file, head, 0, head.length, 0));
  } finally {
    closeSync(file);
  }
}
