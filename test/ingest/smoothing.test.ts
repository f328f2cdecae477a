// Smoothing of conversations: each turn's vector is mixed with its neighbours of the same session. The result does not
// depend on the slices.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Turn } from "../../src/domain/chunk.ts";
import { embedChunks } from "../../src/ingest/embed-chunks.ts";
import { SessionSmoother } from "../../src/ingest/smoothing.ts";
import type { Publication } from "../../src/ports/chunk-index.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { input, models } from "../preparation/fixtures/models.ts";
import { seeded } from "../support/seeded.ts";
import { HashEmbedder, hashVector, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

/**
 * The formula, computed directly: unit(e_i + .2 (e_{i-2} + e_{i-1} + e_{i+1} + e_{i+2})) within a session; other
 * vectors do not change.
 */
function smoothed(vectors: readonly Float32Array[], sessions: readonly (number | null)[]): number[][] {
  return vectors.map((own, at) => {
    const session = sessions[at] ?? null;
    if (session === null) return [...own];
    const around = [at - 2, at - 1, at + 1, at + 2]
      .filter((near) => sessions[near] === session)
      .map((near) => vectors[near]);
    const sum = [...own].map(
      (value, axis) => value + 0.2 * around.reduce((all, other) => all + (other?.[axis] ?? 0), 0),
    );
    const length = Math.hypot(...sum);
    return sum.map((value) => value / length);
  });
}

function expectClose(found: Float32Array, expected: readonly (readonly number[])[]): void {
  const flat = expected.flat();
  expect(found.length).toBe(flat.length);
  let worst = 0;
  for (const [at, value] of flat.entries()) worst = Math.max(worst, Math.abs(value - (found[at] ?? Number.NaN)));
  expect(worst).toBeLessThan(1e-6);
}

const turnOf = (session: number): Turn => ({ session, speaker: "Ada", date: null, labelUnits: 0 });

describe("smoothing", () => {
  test("equals the formula for any sessions and slices (200 random conversations)", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seeded(seed);
      const count = Math.floor(random() * 40);
      let session = 0;
      const sessions = Array.from({ length: count }, () => {
        if (random() < 0.2) session += 1;
        return random() < 0.1 ? null : session;
      });
      const vectors = sessions.map((_, at) => hashVector(`${seed} ${at}`));
      const dimensions = hashVector("").length;
      const rows = new Float32Array(count * dimensions);
      const chunks = sessions.map((each) => (each === null ? {} : { turn: turnOf(each) }));
      const smoother = new SessionSmoother(rows, chunks, dimensions);
      for (let done = 0; done < count; ) {
        const next = Math.min(count, done + 1 + Math.floor(random() * 7));
        for (let at = done; at < next; at++) rows.set(vectors[at] ?? [], at * dimensions);
        smoother.advance(next);
        done = next;
      }
      try {
        expectClose(rows, smoothed(vectors, sessions));
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });

  test("crosses the slices in which a memory is embedded, and does not cross sessions", async () => {
    const turns = (count: number) => Array.from({ length: count }, (_, n) => `Ada: turn ${n}\n`).join("");
    const content = `[8 May 2023]\n${turns(100)}[9 May 2023]\n${turns(93)}`;
    const prepared = prepare(input(content, { type: "conversation" }), models);
    const { chunks, texts } = prepared;
    expect(chunks).toHaveLength(193);
    const vectors = await embedChunks(new HashEmbedder(), prepared, {}, async () => true);
    const raw = chunks.map((chunk) => hashVector(texts.embeddedText(chunk)));
    expectClose(
      vectors ?? new Float32Array(),
      smoothed(
        raw,
        chunks.map(({ turn }) => turn?.session ?? null),
      ),
    );
  });

  test("does not change the chunks of other texts", async () => {
    const prepared = prepare(input("The committee met on Tuesday. ".repeat(200)), models);
    const { chunks, texts } = prepared;
    expect(chunks.length).toBeGreaterThan(1);
    const vectors = await embedChunks(new HashEmbedder(), prepared, {}, async () => true);
    expect(vectors).toEqual(Float32Array.from(chunks.flatMap((chunk) => [...hashVector(texts.embeddedText(chunk))])));
  });
});

describe("a stored conversation", () => {
  let harness: IngestHarness;
  beforeEach(async () => {
    harness = await openIngestHarness();
  });
  afterEach(() => harness.close());

  test("has the day of occurred_at, else of metadata.date, or by default the day on which it was stored", async () => {
    const published: Publication[] = [];
    harness.index.before = (publications) => void published.push(...publications);
    const conversation = { content: "Ada: Hi.", type: "conversation" };
    const drafts = [
      { ...conversation, metadata: { date: "2023-05-08T10:00:00Z" } },
      { ...conversation, metadata: { date: 1_683_554_160 } },
      { ...conversation, metadata: { date: { year: 2023 } } },
      conversation,
      { ...conversation, occurredAt: Date.UTC(2022, 2, 9), metadata: { date: "2023-05-08T10:00:00Z" } },
    ];
    const memories = await harness.accept(...drafts);
    for (const memory of memories) await harness.settled(memory);
    const createdAt = new Date(memories[3]?.createdAt ?? 0);
    const today = `${createdAt.getUTCDate()} ${createdAt.toLocaleString("en", { month: "long", timeZone: "UTC" })} ${createdAt.getUTCFullYear()}`;
    const searchTextOf = (key: bigint) => {
      const publication = published.find(({ memoryKey }) => memoryKey === key);
      const chunk = publication?.chunks[0];
      return chunk === undefined ? undefined : publication?.texts.searchText(chunk);
    };
    expect(memories.map(({ key }) => searchTextOf(key))).toEqual([
      "[8 May 2023] Ada: Hi.",
      "[8 May 2023] Ada: Hi.",
      `[${today}] Ada: Hi.`,
      `[${today}] Ada: Hi.`,
      "[9 March 2022] Ada: Hi.",
    ]);
    expect(await harness.searchable()).toEqual(Array(5).fill("Ada: Hi."));
  });
});
