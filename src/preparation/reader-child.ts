// A reader: the child process that prepares texts. What a preparation is stands in prepare.ts; who starts readers and what happens when
// one dies over a text, in adapters/preparation. Files are read in processes of their own, document-child.ts.

import { ChildRefusal, serveChild } from "../children/serve.ts";
import { invariant } from "../domain/fault.ts";
import { loadWordPiece, type WordPiece } from "../kit/wordpiece.ts";
import { layOut } from "./prepare.ts";
import { decodeInputs, encodeLayouts, TOKENIZER_VARIABLE } from "./reader-protocol.ts";

/** From this many bytes of text on, what preparing them left behind is freed before the next request. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;

/**
 * Loads the tokeniser named by `MNEME_READER_TOKENIZER`, prepares texts until the server is gone.
 * @throws ChildRefusal when the tokeniser cannot be loaded
 */
export async function runReader(socketPath: string): Promise<void> {
  const tokenizerPath = process.env[TOKENIZER_VARIABLE];
  invariant(tokenizerPath, `a reader was started without ${TOKENIZER_VARIABLE}`);
  const tokenizer = load(tokenizerPath);
  const models = { countTokens: (text: string) => tokenizer.count(text) };
  let parts: Uint8Array[] = [];
  await serveChild(socketPath, {
    part: ({ payload }) => {
      parts.push(payload);
      return { header: {} };
    },
    prepare: ({ header, payload }) => {
      const payloads = [...parts, payload];
      parts = [];
      const answer = encodeLayouts(decodeInputs(header, payloads).map((input) => layOut(input, models)));
      if (payloads.reduce((sum, each) => sum + each.byteLength, 0) >= COLLECT_AFTER_BYTES) Bun.gc(false);
      return answer;
    },
  });
}

function load(path: string): WordPiece {
  try {
    return loadWordPiece(path);
  } catch (cause) {
    throw new ChildRefusal(`${path} cannot be used as tokeniser: ${String(cause)}`, { cause });
  }
}
