// Reads which model the vectors of a project on disk have, without opening its index. For checks before an upgrade:
// earlier versions did not store it in the rows. native/src/vectors/ writes both files.

import { join } from "node:path";
import { readIfThere } from "../../kit/missing-files.ts";

const LOG_MAGIC = "MNEMEVEC";
/** Byte offset of the fingerprint's length, a 32-bit integer, in the header of a vector log. The text follows. */
const LENGTH_AT = 24;
/** No fingerprint is nearly as long as this. The log itself may have gigabytes. */
const HEADER_BYTES_MAX = 4_096;

/**
 * Fingerprint of the model of the live vectors in the folder of a project; null if there are none, or if the file
 * cannot be understood.
 */
export async function fingerprintOnDisk(folder: string): Promise<string | null> {
  const sets = readIfThere(join(folder, "vector-sets"))?.toString();
  if (sets !== undefined) return /^live \S+ \d+ (\S+)$/m.exec(sets)?.[1] ?? null;
  const log = Bun.file(join(folder, "vectors", "vectors.log"));
  if (!(await log.exists())) return null;
  const header = Buffer.from(await log.slice(0, HEADER_BYTES_MAX).arrayBuffer());
  const from = LENGTH_AT + 4;
  if (header.length < from || header.toString("latin1", 0, LOG_MAGIC.length) !== LOG_MAGIC) return null;
  const to = from + header.readUInt32LE(LENGTH_AT);
  return to <= header.length ? header.toString("utf8", from, to) : null;
}
