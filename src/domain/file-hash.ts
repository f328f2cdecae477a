// The hash of an uploaded file. The row of a memory keeps it, to tell whether a file is new and whether it is damaged.

import { createHash } from "node:crypto";

/**
 * SHA-256 of the SHA-256 of a file's bytes and its media type. The media type is included, because the same bytes read
 * as another format give another text.
 */
export function hashOfFile(bytesSha256: Uint8Array, mediaType: string): Buffer {
  return createHash("sha256").update(bytesSha256).update(mediaType).digest();
}
