// Tests the ZIP directory parser: archives of which only a part is given, archives with other bytes before them, ZIP64
// archives, and damaged archives.

import { expect, test } from "bun:test";
import { findZipDirectory, localEntryNames, ZIP_TAIL_BYTES, zipEntries } from "../../src/documents/zip/directory.ts";
import { seeded } from "../support/seeded.ts";
import { zipOf } from "./fixtures/containers.ts";

const NAMES = ["[Content_Types].xml", "word/document.xml"];
const archive = zipOf(...NAMES);

function namesIn(bytes: Buffer, tailAt = 0): readonly string[] | null {
  const directory = findZipDirectory(bytes.subarray(tailAt), tailAt);
  if (directory === null) return null;
  return [...zipEntries(bytes.subarray(directory.start, directory.end))].map(({ name }) => name);
}

/**
 * Inserts a ZIP64 end record and its locator before the end record. The values in the end record itself are marked as
 * unknown.
 */
function withZip64End(bytes: Buffer): Buffer {
  const endAt = bytes.length - 22;
  const listAt = bytes.readUInt32LE(endAt + 16);
  const record = Buffer.alloc(56);
  record.write("PK\x06\x06", "latin1");
  record.writeBigUInt64LE(BigInt(bytes.readUInt16LE(endAt + 10)), 32);
  record.writeBigUInt64LE(BigInt(endAt - listAt), 40);
  record.writeBigUInt64LE(BigInt(listAt), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07", "latin1");
  locator.writeBigUInt64LE(BigInt(endAt), 8);
  const end = Buffer.from(bytes.subarray(endAt));
  end.writeUInt16LE(0xffff, 10);
  end.writeUInt32LE(0xffff_ffff, 12);
  end.writeUInt32LE(0xffff_ffff, 16);
  return Buffer.concat([bytes.subarray(0, endAt), record, locator, end]);
}

test("lists the entries with the offsets of their headers", () => {
  const directory = findZipDirectory(archive);
  expect(directory?.entryCount).toBe(2);
  const entries = [...zipEntries(archive.subarray(directory?.start, directory?.end))];
  expect(entries.map(({ name, method, isEncrypted }) => ({ name, method, isEncrypted }))).toEqual(
    NAMES.map((name) => ({ name, method: 0, isEncrypted: false })),
  );
  for (const { headerAt } of entries) expect(archive.toString("latin1", headerAt, headerAt + 4)).toBe("PK\x03\x04");
});

test("needs only the tail of an archive, comment included", () => {
  const many = zipOf(...Array.from({ length: 5_000 }, (_, at) => `part ${at}.xml`));
  const comment = Buffer.alloc(65_535, 0x20);
  many.writeUInt16LE(comment.length, many.length - 2);
  const bytes = Buffer.concat([many, comment]);
  const tailAt = bytes.length - ZIP_TAIL_BYTES;
  expect(findZipDirectory(bytes.subarray(tailAt), tailAt)).toEqual(findZipDirectory(bytes));
  expect(namesIn(bytes, tailAt)).toHaveLength(5_000);
});

test("finds the directory behind bytes that precede the archive", () => {
  expect(namesIn(Buffer.concat([Buffer.from("#!/bin/sh\n"), archive]))).toEqual(NAMES);
});

test("reads the ZIP64 end record, in the whole archive and in its tail", () => {
  const bytes = withZip64End(archive);
  expect(findZipDirectory(bytes)?.entryCount).toBe(2);
  expect(namesIn(bytes)).toEqual(NAMES);
  const tailAt = bytes.length - 22 - 20 - 56;
  expect(namesIn(bytes, tailAt)).toEqual(NAMES);
});

test("without an end record there is no directory, and local headers have the names", () => {
  const cut = archive.subarray(0, archive.length - 1);
  expect(findZipDirectory(cut)).toBeNull();
  expect(localEntryNames(cut)).toEqual(NAMES);
});

test("stays within the bytes, whatever they hold", () => {
  const seed = 20_261_123;
  const random = seeded(seed);
  for (const whole of [archive, withZip64End(archive)]) {
    for (let round = 0; round < 500; round++) {
      const bytes = Buffer.from(whole);
      for (let change = 0; change < 6; change++) {
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      }
      const directory = findZipDirectory(bytes);
      const isWithin = directory === null || (directory.start >= 0 && directory.end <= bytes.length);
      expect({ seed, round, isWithin }).toEqual({ seed, round, isWithin: true });
      namesIn(bytes);
      localEntryNames(bytes);
    }
  }
});
