// SHA-256 of a file.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** The SHA-256 of a file in hexadecimal digits. @throws Error of the operating system if the file cannot be read */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(piece);
  return hash.digest("hex");
}
