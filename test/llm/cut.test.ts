// A stream that is cut off at any byte: the received text is a prefix of the answer, and never reported as complete.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Completion } from "../../src/adapters/llm/completion.ts";
import { OPENAI } from "../../src/adapters/llm/openai.ts";
import { LlmError } from "../../src/ports/language-model.ts";
import { model, NEVER, PATIENT, request, type Streamed, streamed } from "./client-helpers.ts";
import { CUT_NAMES, cuttingEndpoint, finishOf, runConcurrently, STREAMS } from "./recorded.ts";

let endpoint: Awaited<ReturnType<typeof cuttingEndpoint>>;
beforeAll(async () => {
  endpoint = await cuttingEndpoint(STREAMS.map(({ bytes }) => bytes));
});
afterAll(() => endpoint.close());

const client = model({ timeouts: PATIENT });

for (const [number, { name, bytes, text, usage }] of STREAMS.entries()) {
  describe(`the stream of ${name}`, () => {
    test("is parsed", () => {
      expect(readInParts([bytes])).toEqual({ text, usage });
    });

    test("is parsed in two parts, wherever it is cut, and byte by byte", () => {
      for (let at = 0; at <= bytes.length; at++) {
        expect(readInParts([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ text, usage });
      }
      expect(readInParts(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual({ text, usage });
    });

    for (const cut of CUT_NAMES) {
      test(`cut after each byte, ${cut}: yields a prefix of the text and a correct end`, async () => {
        const finishAt = finishOf(bytes);
        const readCut = async (at: number) => {
          const asked = request(endpoint.baseUrl(number, cut, at));
          return { at, ...(await streamed(client.stream(asked, NEVER))) };
        };
        const problems = (await runConcurrently(bytes.length + 1, readCut)).flatMap((read) =>
          problemOf(read, text, finishAt),
        );
        expect(problems).toEqual([]);
      }); // some 2,000 connections
    }
  });
}

function problemOf({ at, texts, end, failure }: Streamed & { at: number }, text: string, finishAt: number): string[] {
  const received = texts.join("");
  if (!text.startsWith(received) || !received.isWellFormed()) return [`${at}: ${received} is no prefix of the text`];
  if (end !== null) return at < finishAt || received !== text ? [`${at}: a short answer was reported as complete`] : [];
  return failure?.reason === "failed" || failure?.reason === "malformed" ? [] : [`${at}: ${failure?.message}`];
}

function readInParts(parts: readonly Uint8Array[]): object {
  const completion = new Completion(request("http://127.0.0.1"), OPENAI);
  const texts = parts.flatMap((part) => [...completion.push(part)]);
  if (!completion.isComplete) throw new LlmError("failed", "it is not whole");
  return { text: texts.join(""), usage: completion.usage };
}
