// The file `mneme.sqlite-commits`: the number of the last commit that mneme.sqlite has acknowledged, and the id of the
// data directory. It is written after each commit and is never synced by itself. So it may lag behind mneme.sqlite,
// which is harmless, but it can only be ahead of it if mneme.sqlite has lost commits.
//
// Format: two records, 512 bytes apart, used in turn, so that a torn write destroys at most one. A record is a magic,
// the id, the number and the CRC-32 of these.

import { closeSync, openSync, writeSync } from "node:fs";
import { readIfThere } from "../../kit/missing-files.ts";

const MAGIC = "MNEMECN1";
const ID_BYTES = 32;
const SUM_OFFSET = MAGIC.length + ID_BYTES + 8;
const RECORD_BYTES = SUM_OFFSET + 4;
const SLOT_BYTES = 512;

/** The content of the file. The states `missing` and `damaged` have none. */
export type Witnessed =
  | { readonly state: "read"; readonly storeId: string; readonly commits: number }
  | { readonly state: "missing" | "damaged" };

/** Reads the newest valid record. */
export function readWitness(path: string): Witnessed {
  const content = readIfThere(path);
  if (content === null) return { state: "missing" };
  let newest: Witnessed = { state: "damaged" };
  for (const start of [0, SLOT_BYTES]) {
    const record = content.subarray(start, start + RECORD_BYTES);
    if (record.length < RECORD_BYTES || record.toString("latin1", 0, MAGIC.length) !== MAGIC) continue;
    if (record.readUInt32LE(SUM_OFFSET) !== Bun.hash.crc32(record.subarray(0, SUM_OFFSET))) continue;
    const storeId = record.toString("latin1", MAGIC.length, MAGIC.length + ID_BYTES);
    const commits = Number(record.readBigUInt64LE(MAGIC.length + ID_BYTES));
    if (newest.state !== "read" || commits > newest.commits) newest = { state: "read", storeId, commits };
  }
  return newest;
}

/** Writes the file. Several processes may do so at the same time. */
export class CommitWitness {
  readonly #file: number;
  readonly #record = Buffer.alloc(RECORD_BYTES);

  /** @param storeId 32 hexadecimal digits */
  constructor(path: string, storeId: string) {
    closeSync(openSync(path, "a", 0o600));
    this.#file = openSync(path, "r+");
    this.#record.write(MAGIC, 0, "latin1");
    this.#record.write(storeId, MAGIC.length, ID_BYTES, "latin1");
  }

  /** Records the number of a commit that is durable. */
  committed(commits: number): void {
    this.#record.writeBigUInt64LE(BigInt(commits), MAGIC.length + ID_BYTES);
    this.#record.writeUInt32LE(Bun.hash.crc32(this.#record.subarray(0, SUM_OFFSET)), SUM_OFFSET);
    writeSync(this.#file, this.#record, 0, RECORD_BYTES, (commits % 2) * SLOT_BYTES);
  }

  close(): void {
    closeSync(this.#file);
  }
}
