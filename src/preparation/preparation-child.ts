// The preparation process: a child process that prepares texts with prepare.ts. adapters/preparation starts this
// process and handles texts that crash it. Files are read in processes of their own (documents/document-child.ts).

import { ChildRefusal, serveChild } from "../children/serve.ts";
import { invariant } from "../domain/fault.ts";
import type { Tokenizer } from "../kit/tokenizer.ts";
import { loadWordPiece } from "../kit/wordpiece.ts";
import { decodeInputs, encodeResults, TOKENIZER_VARIABLE } from "./preparation-protocol.ts";
import { prepareRanges } from "./prepare.ts";

/**
 * After a request with at least this many bytes of text, garbage is collected before the next request.
 */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;

/**
 * Loads the tokeniser named by `MNEME_PREPARATION_TOKENIZER` and prepares texts until the server closes the connection.
 * @throws ChildRefusal if the tokeniser cannot be loaded
 */
export async function runPreparationChild(socketPath: string): Promise<void> {
  const tokenizerPath = process.env[TOKENIZER_VARIABLE];
  invariant(tokenizerPath, `a preparation process was started without ${TOKENIZER_VARIABLE}`);
  const tokenizer = loadTokenizer(tokenizerPath);
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
      const answer = encodeResults(decodeInputs(header, payloads).map((input) => prepareRanges(input, models)));
      if (payloads.reduce((sum, each) => sum + each.byteLength, 0) >= COLLECT_AFTER_BYTES) Bun.gc(false);
      return answer;
    },
  });
}

function loadTokenizer(path: string): Tokenizer {
  try {
    return loadWordPiece(path);
  } catch (cause) {
    throw new ChildRefusal(`The tokeniser ${path} cannot be loaded: ${String(cause)}`, { cause });
  }
}
