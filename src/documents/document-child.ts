// The child process that reads one file and then exits. So a hostile file can damage only this process. read-file.ts
// reads the file; the server starts and limits the child in adapters/documents/document-reader.ts.

import { writeSync } from "node:fs";
import { dieWithParent } from "../children/parent-death.ts";
import { ReadFailure } from "../ports/document-reader.ts";
import { decodeRequest, encodeFailure, encodePages, encodeResponse } from "./document-protocol.ts";
import { readFileText } from "./read-file.ts";

/** Minimum time between two reports of page progress, in milliseconds. */
const PROGRESS_EVERY_MS = 200;

/**
 * Reads the file of the request on standard input. Responds on standard output, and reports page progress on standard
 * error.
 */
export async function runDocumentChild(): Promise<void> {
  dieWithParent();
  const output = Bun.stdout.writer();
  for (const part of await response()) {
    output.write(part);
    await output.flush(); // part by part, so that the text is not copied
  }
  await output.end();
}

async function response(): Promise<Iterable<Uint8Array | string>> {
  try {
    const text = await readFileText(decodeRequest(await Bun.stdin.text()), progressReporter());
    if (text instanceof ReadFailure) return [encodeFailure(text)];
    return encodeResponse(text);
  } catch (error) {
    return [encodeFailure(error)];
  }
}

function progressReporter(): (done: number, total: number) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (done, total) => {
    if (performance.now() - reportedAt < PROGRESS_EVERY_MS) return;
    reportedAt = performance.now();
    try {
      writeSync(2, encodePages({ done, total }));
    } catch {
      return; // the pipe is closed or full; reading continues without progress
    }
  };
}
