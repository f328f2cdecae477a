// A stream that is cut off anywhere: what came is a beginning of the answer, and no short answer is taken for a whole one. The streams
// are written as the services document theirs: OpenAI, llama.cpp and Ollama (which think in the text), Azure with its filters.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Completion } from "../../src/adapters/llm/completion.ts";
import { LlmError } from "../../src/ports/language-model.ts";
import type { Receiver } from "../outbound/receiver.ts";
import { CHUNKED, HEAD, model, NEVER, PATIENT, rawEndpoint, request, type Streamed, streamed } from "./asking.ts";

interface Recorded {
  readonly name: string;
  readonly bytes: Buffer;
  readonly text: string;
  readonly usage: { readonly prompt: number; readonly completion: number };
}

const STREAMS: readonly Recorded[] = [
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
    // its lines end so; in the file they would be at the mercy of whoever checks it out
    bytes: Buffer.from(recorded("azure").toString().replaceAll("\n", "\r\n")),
    text: "Мост крепок 🌉 [1].",
    usage: { prompt: 39, completion: 11 },
  },
];
/** Calls at once. */
const ABREAST = 32;

/** How a connection ends after the bytes that were let through. */
const CUTS = {
  "closed as if the body were whole": (bytes: Buffer) => [HEAD, bytes, null] as const,
  reset: (bytes: Buffer) => [CHUNKED, chunk(bytes), "reset"] as const,
};
type Cut = keyof typeof CUTS;
const NAMES = Object.keys(CUTS) as readonly Cut[];

let endpoint: Receiver & { readonly baseUrl: string };
beforeAll(async () => {
  endpoint = await rawEndpoint((socket, head) => {
    const [, stream, cut, at] = /^POST \/v1\/(\d)\/(\d)\/(\d+)\//.exec(head) ?? [];
    const name = NAMES[Number(cut)];
    const bytes = STREAMS[Number(stream)]?.bytes.subarray(0, Number(at));
    if (name === undefined || bytes === undefined) throw new Error(`no such stream: ${head}`);
    const [before, body, end] = CUTS[name](bytes);
    socket.write(before);
    if (end === null) socket.end(body);
    else socket.write(body, () => socket.resetAndDestroy());
  });
});
afterAll(() => endpoint.close());

const client = model({ timeouts: PATIENT });

for (const [number, { name, bytes, text, usage }] of STREAMS.entries()) {
  describe(`the stream of ${name}`, () => {
    test("is understood", () => {
      expect(readInParts([bytes])).toEqual({ text, usage });
    });

    test("is understood in two parts, wherever it is cut, and byte by byte", () => {
      for (let at = 0; at <= bytes.length; at++) {
        expect(readInParts([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ text, usage });
      }
      expect(readInParts(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual({ text, usage });
    });

    for (const [cutNumber, cut] of NAMES.entries()) {
      test(`cut after each byte, ${cut}: a beginning of the text, and an end that is true`, async () => {
        const finishAt = finishOf(bytes);
        const look = async (at: number) => {
          const asked = request(`${endpoint.baseUrl}/${number}/${cutNumber}/${at}`);
          return { at, ...(await streamed(client.stream(asked, NEVER))) };
        };
        const problems = (await abreast(bytes.length + 1, look)).flatMap((came) => problemOf(came, text, finishAt));
        expect(problems).toEqual([]);
      }, 120_000); // some 2,000 connections
    }
  });
}

/** Where the event ends, in bytes, in which the model says that it has ended: its closing brace is the last that matters. */
function finishOf(bytes: Buffer): number {
  const from = bytes.indexOf('"finish_reason":"stop"');
  return bytes.indexOf("\n", from) - (bytes.includes("\r\n") ? 1 : 0);
}

function problemOf({ at, texts, end, failure }: Streamed & { at: number }, text: string, finishAt: number): string[] {
  const came = texts.join("");
  if (!text.startsWith(came) || !came.isWellFormed()) return [`${at}: ${came} is no beginning of the text`];
  if (end !== null) return at < finishAt || came !== text ? [`${at}: a short answer was taken for a whole one`] : [];
  return failure?.reason === "failed" || failure?.reason === "malformed" ? [] : [`${at}: ${failure?.message}`];
}

function readInParts(parts: readonly Uint8Array[]): object {
  const completion = new Completion(request("http://127.0.0.1"));
  const texts = parts.flatMap((part) => [...completion.take(part)]);
  if (!completion.isWhole) throw new LlmError("failed", "it is not whole");
  return { text: texts.join(""), usage: completion.usage };
}

async function abreast<T>(count: number, work: (at: number) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) results.push(await work(at));
  };
  await Promise.all(Array.from({ length: ABREAST }, worker));
  return results;
}

function chunk(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes; // an empty chunk would be the end of the body
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

function recorded(name: string): Buffer {
  return readFileSync(join(import.meta.dir, "fixtures", `${name}.txt`));
}
