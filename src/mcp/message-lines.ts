// Reads lines of JSON-RPC from a client over stdin, and answers those that are not a single message. The package
// @modelcontextprotocol/server would drop them, and the client would wait. Runs on Bun and, in the .mcpb bundle, on
// Node 20.

import { Transform } from "node:stream";
import { parsedJson } from "../kit/record.ts";

/** Error codes of JSON-RPC. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** Maximum size of a line in bytes. It only limits memory: the server refuses messages of more than 1 MiB itself. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * A stream that passes on the lines that are messages.
 * @param refuse called with the answer, a line of JSON-RPC, to each line that is not a message
 */
export function messageLines(refuse: (answer: string) => void): Transform {
  const lines = new Lines((line) => stream.push(line), refuse);
  const stream = new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => {
      lines.read(chunk);
      done();
    },
  });
  return stream;
}

/** Cuts bytes into lines, and passes on or refuses each line. */
class Lines {
  readonly #push: (line: string) => void;
  readonly #refuse: (answer: string) => void;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(push: (line: string) => void, refuse: (answer: string) => void) {
    this.#push = push;
    this.#refuse = refuse;
  }

  read(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.byteLength;
    if (this.#bytes <= LINE_BYTES_MAX) this.#parts.push(part);
    else this.#parts = [];
  }

  #endLine(): void {
    const line = Buffer.concat(this.#parts).toString("utf8");
    const isTooLong = this.#bytes > LINE_BYTES_MAX;
    this.#parts = [];
    this.#bytes = 0;
    if (isTooLong) this.#answer(INVALID_REQUEST, `A message is at most ${LINE_BYTES_MAX} bytes.`);
    else if (line.trim() !== "") this.#pass(line);
  }

  #pass(line: string): void {
    const message = parsedJson(line);
    if (message === undefined) this.#answer(PARSE_ERROR, "This line is not JSON.");
    else if (Array.isArray(message)) this.#answer(INVALID_REQUEST, "Send one message per line, not a batch.");
    else if (isMessage(message)) this.#push(`${line}\n`);
    else this.#answer(INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.", idOf(message));
  }

  #answer(code: number, message: string, id: string | number | null = null): void {
    this.#refuse(`${JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id })}\n`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, method, result, error } = value as Fields;
  const isAnswer = typeof result === "object" || typeof error === "object";
  return jsonrpc === "2.0" && (typeof method === "string" || isAnswer);
}

function idOf(value: unknown): string | number | null {
  const id = typeof value === "object" && value !== null ? (value as Fields).id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
