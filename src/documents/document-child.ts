// The child process that reads one file and ends: a file that makes a reader run wild costs one process. How a file is read stands in
// read-file.ts; who starts the child, and when it is too much, in adapters/documents/document-reader.ts.

import { writeSync } from "node:fs";
import { dieWithParent } from "../children/parent-death.ts";
import { ReadFailure } from "../ports/document-reader.ts";
import { decodeQuestion, encodeAnswer, encodePages, encodeRefusal } from "./document-protocol.ts";
import { readFileText } from "./read-file.ts";

/** How often it is told how many pages were read, at most. */
const PAGES_EVERY_MS = 200;

/** Reads the file that standard input names, and answers on standard output; how far it is, it says on standard error. */
export async function runDocumentChild(): Promise<void> {
  dieWithParent();
  const output = Bun.stdout.writer();
  for (const part of await answer()) {
    output.write(part);
    await output.flush(); // a part at a time: nothing of the text is held twice
  }
  await output.end();
}

async function answer(): Promise<Iterable<Uint8Array | string>> {
  try {
    const text = await readFileText(decodeQuestion(await Bun.stdin.text()), teller());
    if (text instanceof ReadFailure) return [encodeRefusal(text)];
    return encodeAnswer(text.pieces, text.title, text.marks);
  } catch (error) {
    return [encodeRefusal(error)];
  }
}

function teller(): (done: number, total: number) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (done, total) => {
    if (performance.now() - toldAt < PAGES_EVERY_MS) return;
    toldAt = performance.now();
    try {
      writeSync(2, encodePages({ done, total }));
    } catch {
      return; // nobody listens, or not fast enough: the file is read all the same
    }
  };
}
