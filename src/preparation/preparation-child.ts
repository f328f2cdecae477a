// The preparation process: a child process that prepares texts with prepare.ts. adapters/preparation starts this
// process and handles texts that crash it. Files are read in processes of their own (documents/document-child.ts).

import { ChildRefusal, serveChild } from "../children/serve.ts";
import { invariant } from "../domain/fault.ts";
import { loadTokenizer, type TokenizerFile } from "../tokenizers/load-tokenizer.ts";
import type { Tokenizer } from "../tokenizers/tokenizer.ts";
import { decodeInputs, encodeResults, TOKENS_VARIABLE, type TokenSettings } from "./preparation-protocol.ts";
import { prepareRanges } from "./prepare.ts";

/**
 * After a request with at least this many bytes of text, garbage is collected before the next request.
 */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;

/**
 * Loads the tokeniser named by `MNEME_PREPARATION_TOKENS` and prepares texts until the server closes the connection.
 * @throws ChildRefusal if the tokeniser cannot be loaded
 */
export async function runPreparationChild(socketPath: string): Promise<void> {
  const given = process.env[TOKENS_VARIABLE];
  invariant(given, `a preparation process was started without ${TOKENS_VARIABLE}`);
  const settings = JSON.parse(given) as TokenSettings;
  const tokenizer = open(settings.tokenizer);
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
      const answer = encodeResults(
        decodeInputs(header, payloads).map((input) => prepareRanges(input, models, settings.chunkTokens)),
      );
      if (payloads.reduce((sum, each) => sum + each.byteLength, 0) >= COLLECT_AFTER_BYTES) Bun.gc(false);
      return answer;
    },
  });
}

function open(file: TokenizerFile): Tokenizer {
  try {
    return loadTokenizer(file);
  } catch (cause) {
    throw new ChildRefusal(`The tokeniser ${file.path} cannot be loaded: ${String(cause)}`, { cause });
  }
}
