// A reader: the child process that reads files and prepares texts. How a file is read stands in read-file.ts, what a
// preparation is in prepare.ts; who starts readers and what happens when one dies over a text, in adapters/reading.

import { ChildRefusal, serveChild } from "../children/serve.ts";
import { invariant } from "../domain/fault.ts";
import { loadWordPiece, type WordPiece } from "../kit/wordpiece.ts";
import { layOut } from "./prepare.ts";
import { readFileText } from "./read-file.ts";
import { decodeFile, decodeInputs, encodeLayouts, encodeText, TOKENIZER_VARIABLE } from "./reader-protocol.ts";

/** From this many bytes of text on, what preparing them left behind is freed before the next request. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;

/**
 * Loads the tokeniser named by `MNEME_READER_TOKENIZER`, reads files and prepares texts until the server is gone.
 * @throws ChildRefusal when the tokeniser cannot be loaded
 */
export async function runReader(socketPath: string): Promise<void> {
  const tokenizerPath = process.env[TOKENIZER_VARIABLE];
  invariant(tokenizerPath, `a reader was started without ${TOKENIZER_VARIABLE}`);
  const tokenizer = load(tokenizerPath);
  const models = { countTokens: (text: string) => tokenizer.count(text) };
  let parts: Uint8Array[] = [];
  let texts: ReturnType<typeof encodeText> | null = null;
  await serveChild(socketPath, {
    part: ({ payload }) => {
      parts.push(payload);
      return { header: {} };
    },
    read: async ({ header }) => {
      const file = decodeFile(header);
      texts = encodeText(await readFileText(file));
      const answer = texts.next().value;
      if (file.bytes >= COLLECT_AFTER_BYTES) Bun.gc(false);
      return answer;
    },
    rest: () => {
      invariant(texts, "the rest of a text was asked for before the text");
      return texts.next().value;
    },
    prepare: ({ header, payload }) => {
      texts = null;
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
