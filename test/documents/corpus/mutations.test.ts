// What files do that were damaged at random, from the upload to the end: no answer is an error of the server, every memory
// that was accepted ends, and one that failed says why in a sentence for its owner. MNEME_TEST_MUTATIONS sets how many files,
// MNEME_TEST_SEED replays a run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { seeded } from "../../support/seeded.ts";
import { type Answered, startService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { DOCUMENTS, documentBytes, documentPaths, HAS_DOCUMENTS, SKIPPED, upload, uploadName } from "./corpus.ts";

const MUTATIONS = Number(process.env.MNEME_TEST_MUTATIONS ?? 40);
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
/** What one file may take from its upload to its end: a whole book is embedded for minutes where the machine is busy. */
const EACH_MS = 900_000;
/** Files in work at once. */
const SENDERS = 4;
/** Larger documents take part a tenth as often: their texts, where they can still be read, take minutes to embed. */
const SMALL_BYTES = 120_000;
const LARGE_SHARE = 0.1;

type Random = () => number;
type Mutation = (bytes: Uint8Array, other: () => Uint8Array, random: Random) => Uint8Array;

const below = (limit: number, random: Random) => Math.floor(random() * limit);

/** Ways to damage a file; `other` gives the bytes of a further document. */
const MUTATE: Readonly<Record<string, Mutation>> = {
  truncate: (bytes, _, random) => bytes.slice(0, below(bytes.length, random)),
  flip: (bytes, _, random) => {
    const flipped = bytes.slice();
    for (let flips = 1 + below(16, random); flips > 0; flips--) {
      const place = below(bytes.length, random);
      flipped[place] = (flipped[place] ?? 0) ^ (1 << below(8, random));
    }
    return flipped;
  },
  splice: (bytes, other, random) => {
    const further = other();
    const piece = further.subarray(below(further.length, random)).subarray(0, 1 + below(20_000, random));
    const from = below(bytes.length, random);
    // over what stands there, or between
    const to = random() < 0.5 ? from + piece.length : from;
    return joined(bytes.subarray(0, from), piece, bytes.subarray(to));
  },
  repeat: (bytes, _, random) => {
    const from = below(bytes.length, random);
    const block = bytes.subarray(from, from + 1 + below(2_000, random));
    const times = Array.from({ length: 1 + below(40, random) }, () => block);
    return joined(bytes.subarray(0, from), ...times, bytes.subarray(from));
  },
};

/** A damaged file: what it was, what was done to it, and the bytes. */
interface Damaged {
  readonly what: string;
  readonly filename: string;
  readonly bytes: Uint8Array;
}

let service: TestService;
beforeAll(async () => {
  if (HAS_DOCUMENTS) service = await startService();
}, EACH_MS);
afterAll(() => service?.stop(), EACH_MS);

describe.skipIf(!HAS_DOCUMENTS)(`damaged documents${SKIPPED}`, () => {
  test(
    `end as completed or failed, and never as an error of the server (${MUTATIONS}, seed ${SEED})`,
    async () => {
      const ends = new Map<string, number>();
      const problems: string[] = [];
      const files = damagedFiles(MUTATIONS, seeded(SEED));
      await Promise.all(
        Array.from({ length: SENDERS }, async () => {
          for (const file of files) {
            const { end, problem } = await endOf(file);
            ends.set(end, (ends.get(end) ?? 0) + 1);
            if (problem !== null) problems.push(`${file.what}: ${problem}`);
          }
        }),
      );
      if (MUTATIONS > 100) process.stdout.write(`${JSON.stringify(Object.fromEntries(ends))}\n`);
      expect(problems).toEqual([]);
      expect([...ends.values()].reduce((sum, count) => sum + count, 0)).toBe(MUTATIONS);
      const { body } = await service.call("GET", "/v1/memories?status=processing&limit=1");
      expect(body.data).toEqual([]);
      expect((await service.call("GET", "/ready")).status).toBe(200);
    },
    MUTATIONS * EACH_MS,
  );
});

/** The files of a run, made one after the other, each by the senders' next request. */
function* damagedFiles(count: number, random: Random): Generator<Damaged> {
  const paths = documentPaths();
  const sizes = new Map(paths.map((path) => [path, documentBytes(path).length]));
  const pick = (): string => {
    for (;;) {
      const path = paths[below(paths.length, random)] ?? "";
      if ((sizes.get(path) ?? 0) <= SMALL_BYTES || random() < LARGE_SHARE) return path;
    }
  };
  const names = Object.keys(MUTATE);
  for (let at = 0; at < count; at++) {
    const path = pick();
    const name = names[below(names.length, random)] ?? "";
    const bytes = MUTATE[name]?.(documentBytes(path), () => documentBytes(pick()), random) ?? new Uint8Array();
    yield { what: `${at}: ${name} of ${path}`, filename: uploadName(path), bytes };
  }
}

/** How a file ended, in short, and which promise was broken on the way. */
async function endOf({ filename, bytes }: Damaged): Promise<{ readonly end: string; readonly problem: string | null }> {
  const answer = await upload(service, filename, bytes);
  if (answer.status !== 202) return { end: String(answer.status), problem: problemOfRefusal(answer) };
  const id: string = answer.body.id;
  const settled = await until(
    `${id} is no longer processing`,
    async () => {
      const found = await service.call("GET", `/v1/memories/${id}`);
      return found.body?.status === "processing" ? null : found;
    },
    EACH_MS,
  );
  const status = String(settled.body?.status);
  return { end: status, problem: status === "completed" ? problemOfText(settled) : problemOfFailure(settled) };
}

// a form whose file is empty is wrong (400), one whose file became something else is of no format (415)
function problemOfRefusal({ status, body }: Answered): string | null {
  const expected: Readonly<Record<number, string>> = { 400: "invalid_request", 415: "unsupported_media_type" };
  return body?.error?.code === expected[status] ? null : `answered with ${status} ${JSON.stringify(body)}`;
}

function problemOfText({ body }: Answered): string | null {
  const content: unknown = body?.content;
  if (typeof content !== "string" || content.trim() === "") return "completed without a text";
  return content.isWellFormed() && !content.includes("\0") ? null : "completed with a text that is none";
}

function problemOfFailure({ body }: Answered): string | null {
  const { code, message } = body?.error ?? {};
  const isSentence = typeof message === "string" && /^[A-Z][^\n]{10,300}\.$/.test(message);
  const isTelling = isSentence && !/\bat \S+:\d|\.ts\b|node_modules|\/(?:tmp|work|home|root)\b|Error\b/.test(message);
  const isPrivate = isTelling && !message.includes(service.dataDir) && !message.includes(DOCUMENTS);
  return code === "unreadable_document" && isPrivate ? null : `${body?.status} with ${JSON.stringify(body?.error)}`;
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
