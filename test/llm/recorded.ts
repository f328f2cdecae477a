// Streams in the format that the services document: OpenAI; llama.cpp and Ollama, which put reasoning into the text;
// Azure with its content filters. Also an endpoint that cuts off a stream after any byte.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Receiver } from "../outbound/receiver.ts";
import { CHUNKED, HEAD, rawEndpoint } from "./client-helpers.ts";

/** A complete stream and its content. */
export interface Recorded {
  readonly name: string;
  readonly bytes: Buffer;
  readonly text: string;
  readonly usage: { readonly prompt: number; readonly completion: number };
}

/** The recorded streams. Each answer cites its first source once. */
export const STREAMS: readonly Recorded[] = [
  {
    name: "openai",
    bytes: recorded("openai"),
    text: "Die Brücke über die Weser 😀 hält – seit 1913 [1].",
    usage: { prompt: 41, completion: 17 },
  },
  {
    name: "llama",
    bytes: recorded("llama"),
    text: "橋は強い 😀、1913年から [1]。",
    usage: { prompt: 40, completion: 23 },
  },
  {
    name: "azure",
    // CRLF line ends are added here, because version control may change them in the file
    bytes: Buffer.from(recorded("azure").toString().replaceAll("\n", "\r\n")),
    text: "Мост крепок 🌉 [1].",
    usage: { prompt: 39, completion: 11 },
  },
];

/** How a connection ends after the bytes that were sent. */
const CUTS = {
  "closed like a complete body": (bytes: Buffer) => [HEAD, bytes, null] as const,
  reset: (bytes: Buffer) => [CHUNKED, chunk(bytes), "reset"] as const,
};
export type Cut = keyof typeof CUTS;
export const CUT_NAMES = Object.keys(CUTS) as readonly Cut[];

/**
 * Starts an endpoint that sends the beginning of a stream. The request's address selects the stream, how the connection
 * ends, and the number of bytes sent.
 */
export async function cuttingEndpoint(
  streams: readonly Buffer[],
): Promise<Receiver & { readonly baseUrl: (stream: number, cut: Cut, at: number) => string }> {
  const endpoint = await rawEndpoint((socket, head) => {
    const [, stream, cut, at] = /^POST \/v1\/(\d+)\/(\d)\/(\d+)\//.exec(head) ?? [];
    const name = CUT_NAMES[Number(cut)];
    const bytes = streams[Number(stream)]?.subarray(0, Number(at));
    if (name === undefined || bytes === undefined) throw new Error(`no such stream: ${head}`);
    const [before, body, end] = CUTS[name](bytes);
    socket.write(before);
    if (end === null) socket.end(body);
    else socket.write(body, () => socket.resetAndDestroy());
  });
  const baseUrl = (stream: number, cut: Cut, at: number) =>
    `${endpoint.baseUrl}/${stream}/${CUT_NAMES.indexOf(cut)}/${at}`;
  return { ...endpoint, baseUrl };
}

/**
 * Offset in bytes of the end of the event that reports why the answer ended. A stream that contains this event up to
 * its closing brace is complete.
 */
export function finishOf(bytes: Buffer): number {
  const from = bytes.indexOf('"finish_reason":"stop"');
  return bytes.indexOf("\n", from) - (bytes.includes("\r\n") ? 1 : 0);
}

/** Number of calls that `runConcurrently` makes at the same time. */
const CONCURRENCY = 32;

/**
 * Calls `work` for each number from 0 to `count` - 1, several calls at a time. The results are in the order in which
 * the calls ended.
 */
export async function runConcurrently<T>(count: number, work: (at: number) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) results.push(await work(at));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}

function chunk(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes; // an empty chunk would mark the end of the body
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

function recorded(name: string): Buffer {
  return readFileSync(join(import.meta.dir, "fixtures", `${name}.txt`));
}
