// Uploads randomly damaged files: no response is a server error, every accepted memory is completed or fails, and a
// failed memory has a message for its owner. The models count words. MNEME_TEST_MUTATIONS sets the number of files;
// MNEME_TEST_SEED sets the seed, to repeat a run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { WORD_PORTS } from "../../in-memory/ports.ts";
import { rounds } from "../../support/extent.ts";
import { seeded } from "../../support/seeded.ts";
import { type Answered, startService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { SAMPLES } from "../fixtures/samples.ts";
import {
  HAS_REAL_DOCUMENTS,
  REAL_DOCUMENTS,
  realDocumentBytes,
  realDocumentPaths,
  SKIP_REASON,
} from "../real-documents.ts";
import { upload, uploadName } from "./upload.ts";

const MUTATIONS = rounds("MNEME_TEST_MUTATIONS", { all: 40, short: 15 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
/** Timeout of one file: enough for a whole book on a busy machine. */
const EACH_MS = 900_000;
/** Number of files that are uploaded at the same time. */
const SENDERS = 4;
/** Size in bytes from which documents are chosen only a tenth as often, because they take seconds to read. */
const SMALL_BYTES = 120_000;
const LARGE_SHARE = 0.1;

type Random = () => number;
type Mutation = (bytes: Uint8Array, other: () => Uint8Array, random: Random) => Uint8Array;

const below = (limit: number, random: Random) => Math.floor(random() * limit);

/** Ways to damage a file; `other` returns the bytes of another document. */
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
    // overwrites bytes or inserts them
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

/** A damaged file. */
interface Damaged {
  /** Names of document and mutation, for the report. */
  readonly description: string;
  readonly filename: string;
  readonly bytes: Uint8Array;
}

/** Documents to damage. */
interface Documents {
  /** Paths, which end with the file name. */
  readonly paths: readonly string[];
  bytesOf(path: string): Uint8Array;
}

const GENERATED: Documents = {
  paths: SAMPLES.map(({ filename }) => `generated/${filename}`),
  bytesOf: (path) => SAMPLES.find(({ filename }) => path.endsWith(`/${filename}`))?.bytes ?? new Uint8Array(),
};

let service: TestService;
beforeAll(async () => {
  service = await startService({ ports: WORD_PORTS });
}, EACH_MS);
afterAll(() => service?.stop(), EACH_MS);

describe(`damaged documents end as completed or failed, and never as a server error (${MUTATIONS}, seed ${SEED})`, () => {
  test("generated documents", () => expectProperEnds(GENERATED), MUTATIONS * EACH_MS);

  test.skipIf(!HAS_REAL_DOCUMENTS)(
    `real documents${SKIP_REASON}`,
    () => expectProperEnds({ paths: realDocumentPaths(), bytesOf: realDocumentBytes }),
    MUTATIONS * EACH_MS,
  );
});

async function expectProperEnds(documents: Documents): Promise<void> {
  const ends = new Map<string, number>();
  const problems: string[] = [];
  const files = damagedFiles(documents, MUTATIONS, seeded(SEED));
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (const file of files) {
        const { end, problem } = await endOf(file);
        ends.set(end, (ends.get(end) ?? 0) + 1);
        if (problem !== null) problems.push(`${file.description}: ${problem}`);
      }
    }),
  );
  if (MUTATIONS > 100) process.stdout.write(`${JSON.stringify(Object.fromEntries(ends))}\n`);
  expect(problems).toEqual([]);
  expect([...ends.values()].reduce((sum, count) => sum + count, 0)).toBe(MUTATIONS);
  // the files in archives and messages are stored when these are completed
  await until("no memory is processing", async () => {
    const { body } = await service.call("GET", "/v1/memories?status=processing&limit=1");
    return body.data.length === 0;
  });
  expect((await service.call("POST", "/v1/memories/search", { query: "harbour" })).status).toBe(200);
}

/** The damaged files of a run. Each is made when it is needed. */
function* damagedFiles({ paths, bytesOf }: Documents, count: number, random: Random): Generator<Damaged> {
  const sizes = new Map(paths.map((path) => [path, bytesOf(path).length]));
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
    const bytes = MUTATE[name]?.(bytesOf(path), () => bytesOf(pick()), random) ?? new Uint8Array();
    yield { description: `${at}: ${name} of ${path}`, filename: uploadName(path), bytes };
  }
}

/** Uploads a file; returns its final status, and a description of any broken promise. */
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

/** An empty file is refused with status 400; a file that the mutation turned into another format, with 415. */
function problemOfRefusal({ status, body }: Answered): string | null {
  const expected: Readonly<Record<number, string>> = { 400: "invalid_request", 415: "unsupported_media_type" };
  return body?.error?.code === expected[status] ? null : `answered with ${status} ${JSON.stringify(body)}`;
}

function problemOfText({ body }: Answered): string | null {
  const content: unknown = body?.content;
  if (typeof content !== "string" || content.trim() === "") return "completed without a text";
  return content.isWellFormed() && !content.includes("\0") ? null : "completed with an invalid text";
}

function problemOfFailure({ body }: Answered): string | null {
  const { code, message } = body?.error ?? {};
  const isSentence = typeof message === "string" && /^[A-Z][^\n]{10,300}\.$/.test(message);
  const hasNoInternals =
    isSentence && !/\bat \S+:\d|\.ts\b|node_modules|\/(?:tmp|work|home|root)\b|Error\b/.test(message);
  const hasNoPaths = hasNoInternals && !message.includes(service.dataDir) && !message.includes(REAL_DOCUMENTS);
  return code === "unreadable_document" && hasNoPaths ? null : `${body?.status} with ${JSON.stringify(body?.error)}`;
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
