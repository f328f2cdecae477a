// Erasure: after a purge and one sweep, no byte of a file of the data directory is of the purged memory: not its text,
// words, title, tags, metadata or vectors.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import { Gate, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

/** Sweeps run at this interval. */
const SWEEP_MS = 30_000;
/** Header and record of a vector log (native/src/vectors/log.rs), in bytes. */
const HEADER_BYTES = 512;
const RECORD_HEAD_BYTES = 20;

const DAY_MS = 24 * 60 * 60 * 1000;

let folder: string;
let harness: IngestHarness;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-erasure-"));
  harness = await openIngestHarness(null, { folder });
});
afterEach(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

const SECRET: MemoryDraft = {
  content: "Quixotryl hides the Zanzibarwort under the Vexillumgate, said Brobdingnax. ".repeat(30),
  title: "Plumbagothrix ledger",
  tags: ["marzipanolith"],
  metadata: { Grindelwortkey: "Fnordlingvalue" },
};
const WORDS = ["Quixotryl", "Zanzibarwort", "Vexillumgate", "Brobdingnax", "Plumbagothrix", "marzipanolith"];
const TRACES = [...WORDS, "Grindelwortkey", "Fnordlingvalue"];

/** Names of the files that contain one of these byte strings. Words count in any case. */
function filesWith(traces: readonly (string | Buffer)[]): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) => {
    const bytes = bytesOf(join(folder, name));
    const lower = Buffer.from(bytes.toString("latin1").toLowerCase(), "latin1");
    const found = traces.filter((trace) =>
      typeof trace === "string" ? lower.includes(trace.toLowerCase()) : bytes.includes(trace),
    );
    return found.map((trace) => `${name}: ${typeof trace === "string" ? trace : "a vector"}`);
  });
}

/** Content of a file; empty for a folder, and for a file that was removed since it was listed. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "ENOENT" || code === "EISDIR") return Buffer.alloc(0);
    throw error;
  }
}

/** The stored vectors of a memory, from the vector logs. */
function vectorsOf({ key }: Memory): Buffer[] {
  const recordBytes = RECORD_HEAD_BYTES + harness.embedder.dimensions * 2 + 4;
  const projects = join(folder, "projects");
  const logs = readdirSync(projects, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".log"));
  return logs.flatMap((name) => {
    const bytes = readFileSync(join(projects, name));
    const vectors: Buffer[] = [];
    for (let at = HEADER_BYTES; at + recordBytes <= bytes.length; at += recordBytes) {
      const isOfMemory = bytes.readBigUInt64LE(at + 12) === (key as bigint) && bytes.readBigUInt64LE(at + 4) !== 0n;
      if (isOfMemory) vectors.push(bytes.subarray(at + RECORD_HEAD_BYTES, at + recordBytes - 4));
    }
    return vectors;
  });
}

/** Publishes the secret among other memories. Returns it, and the byte strings that must go. */
async function published(): Promise<{ readonly secret: Memory; readonly traces: readonly (string | Buffer)[] }> {
  const others = (from: number) =>
    Array.from({ length: 40 }, (_, at) => ({ content: `Kettle ${from + at} boils near the harbour of Lisbon.` }));
  const before = await harness.accept(...others(0));
  const [secret] = await harness.accept(SECRET);
  const after = await harness.accept(...others(100));
  for (const memory of [...before, secret, ...after]) await harness.settled(memory);
  const traces = [...TRACES, ...vectorsOf(secret)];
  expect(traces.length).toBeGreaterThan(TRACES.length);
  expect(new Set(filesWith(traces).map((found) => found.split(": ")[1])).size).toBeGreaterThan(TRACES.length / 2);
  return { secret, traces };
}

/** Waits until a sweep has erased the row of a memory. */
async function rowErased({ key }: Memory): Promise<void> {
  const rows = harness.database.prepare<{ n: bigint }, { key: bigint }>(
    "SELECT count(*) AS n FROM memories WHERE memory_key = $key",
  );
  await until("the row is gone", () => {
    harness.clock.advance(SWEEP_MS);
    return rows.get({ key })?.n === 0n;
  });
}

/** Waits until a sweep has erased the row of a memory, then, without another sweep, until the files are clean. */
async function expectErased(memory: Memory, traces: readonly (string | Buffer)[]): Promise<void> {
  await rowErased(memory);
  await until("the files are clean", () => filesWith(traces).length === 0).catch(() => {
    expect(filesWith(traces)).toEqual([]);
  });
}

test("deleted with purge: one sweep later no file has anything of it, and the others are found", async () => {
  const { secret, traces } = await published();
  await harness.memories.remove(harness.projectId, secret.id, { purges: true });
  await expectErased(secret, traces);
  expect(await harness.searchable()).toHaveLength(80);
});

test("at the end of the retention: one sweep later no file has anything of it", async () => {
  const { secret, traces } = await published();
  await harness.memories.remove(harness.projectId, secret.id);
  harness.clock.advance(40 * DAY_MS);
  await expectErased(secret, traces);
});

/** Number of short memories that are purged, and of those in one request. */
const PURGED = 1_000;
const PER_REQUEST = 50;
/** Ends each word that only one memory has. */
const MARK = "kwyzq";

test(`${PURGED} short memories purged in random order beside others: one sweep later no file has any of them`, async () => {
  const seed = Number(process.env.MNEME_TEST_SEED ?? 1);
  const next = seeded(seed);
  const word = () =>
    Array.from({ length: 12 }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("") + MARK;
  // short texts of different lengths, so that rows move between pages
  const draft = (own: string): MemoryDraft => ({
    content: `Note ${own} ${"about the kettle ".repeat(Math.floor(next() * 12))}`.trim(),
    ...(next() < 0.5 && { title: own, tags: [own] }),
    ...(next() < 0.5 && { metadata: { note: own }, externalId: own }),
  });
  const remaining = new Map<string, Memory>();
  const accept = async () => {
    const words = Array.from({ length: PER_REQUEST }, word);
    const accepted = await harness.accept(...words.map(draft));
    for (const [at, own] of words.entries()) remaining.set(own, accepted[at] as Memory);
    return accepted;
  };
  const purged = new Set<string>();
  const purgeSome = (count: number) =>
    harness.transactions.run(async ({ memories }) => {
      for (let at = 0; at < count; at++) {
        const [own, memory] = [...remaining][Math.floor(next() * remaining.size)] ?? [];
        if (own === undefined || memory === undefined) return;
        remaining.delete(own);
        purged.add(own);
        await memories.remove(harness.projectId, memory.id, { purges: true });
      }
    });
  while (purged.size < PURGED) {
    const accepted = await accept();
    if (next() < 0.7) for (const memory of accepted) await harness.settled(memory);
    await purgeSome(Math.floor(next() * PER_REQUEST * 1.5));
    if (next() < 0.3) harness.clock.advance(SWEEP_MS);
  }
  for (const memory of remaining.values()) await harness.settled(memory);
  const left = () => {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names.flatMap((name) => {
      const words = new Set(bytesOf(join(folder, name)).toString("latin1").toLowerCase().match(OWN_WORD) ?? []);
      return [...words].filter((own) => purged.has(own)).map((own) => `${name}: ${own}`);
    });
  };
  const rows = harness.database.prepare<{ n: bigint }>("SELECT count(*) AS n FROM memories");
  await until("the rows are gone", () => {
    harness.clock.advance(SWEEP_MS);
    return rows.get({})?.n === BigInt(remaining.size);
  });
  await until("the files are clean", () => left().length === 0).catch(() => {
    expect(`seed ${seed}: ${left().join("\n")}`).toBe(`seed ${seed}: `);
  });
});

const OWN_WORD = new RegExp(`[a-z]{12}${MARK}`, "g");

describe("a large memory that is deleted with purge while it is published in parts", () => {
  const large: MemoryDraft = { ...SECRET, content: `${SECRET.content} `.repeat(25) };
  const NOTE = "Kettle boils near the harbour.";
  const remove = (memory: Memory) => harness.memories.remove(harness.projectId, memory.id, { purges: true });
  const isEnded = ({ key }: Memory) => harness.worker.progressOf(key).stage === "queued";

  /** Publishes a note and the first parts of the large memory. The next part, whose lease is checked, waits. */
  async function partlyPublished(parts: number) {
    harness.preparer.chunkTokens = 16;
    const [note] = await harness.accept({ content: NOTE });
    await harness.settled(note);
    const gate = new Gate();
    let begun = 0;
    harness.index.beforePart = () => (begun++ === parts ? gate.pass() : undefined);
    const [secret] = await harness.accept(large);
    await until("some parts are published", () => gate.waiting > 0);
    const traces = [...TRACES, ...vectorsOf(secret)];
    if (parts > 0) expect(traces.length).toBeGreaterThan(TRACES.length + 512);
    expect(filesWith(WORDS).some((file) => file.includes(".store"))).toBe(parts > 1);
    return { secret, traces, gate };
  }

  test.each([0, 1, 2, 3])(
    "%d parts, erased before the next one: nothing is found, and no file has anything of it",
    async (parts) => {
      const { secret, traces, gate } = await partlyPublished(parts);
      expect(await harness.searchable()).toEqual([NOTE]);
      await remove(secret);
      await rowErased(secret);
      gate.open();
      await until("its job ends", () => isEnded(secret));
      expect(await harness.searchable()).toEqual([NOTE]);
      expect(await harness.storedChunks()).toBe(1);
      // the sweep that erased the row may still run, and leaves to the next one what was removed meanwhile
      await until("the files are clean", () => {
        harness.clock.advance(SWEEP_MS);
        return filesWith(traces).length === 0;
      });
    },
  );

  test("deleted between two parts: nothing is found, and no file has anything of it", async () => {
    const { secret, traces, gate } = await partlyPublished(2);
    await remove(secret);
    gate.open();
    await until("its job ends", () => isEnded(secret));
    expect(await harness.searchable()).toEqual([NOTE]);
    await expectErased(secret, traces);
    expect(await harness.storedChunks()).toBe(1);
  });

  test("deleted after the last part: nothing is found, and no file has anything of it", async () => {
    harness.preparer.chunkTokens = 16;
    const removed = Promise.withResolvers<void>();
    const [secret] = await harness.accept(large);
    harness.index.after = async () => {
      await remove(secret);
      removed.resolve();
    };
    await removed.promise;
    await expectErased(secret, [...TRACES, ...vectorsOf(secret)]);
    expect(await harness.searchable()).toEqual([]);
    expect(await harness.storedChunks()).toBe(0);
  });
});
