// Tests the limits of ingestion: how much is claimed ahead of preparation, embedding and publishing.

import { describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { Capacity, type Slot } from "../../src/ingest/capacity.ts";

const [ONE, OTHER] = ["prj_one" as ProjectId, "prj_other" as ProjectId];
const KIB = 1024;
/** Tokens that are embedded at once by slow models; see capacity.ts. */
const TOKENS = 48_000;

function open({ preparers = 1 } = {}) {
  const state = { nowMs: 0, publishing: 0, released: 0 };
  const capacity = new Capacity({
    publishingChunks: () => state.publishing,
    onRelease: () => {
      state.released += 1;
    },
    preparers,
    clock: { now: () => state.nowMs },
  });
  const prepare = (jobs: number, bytes: number) => {
    return Array.from({ length: jobs }, () => capacity.takePreparing(ONE, bytes));
  };
  return { capacity, state, prepare };
}

function release(slots: readonly Slot[]): void {
  for (const slot of slots) slot.release();
}

describe("texts being prepared", () => {
  test("leave room for one more claim while one is prepared, not for two", () => {
    const { capacity, prepare } = open();
    expect(capacity.hasRoomForJobs).toBe(true);
    const first = prepare(64, 100);
    expect(capacity.hasRoomForJobs).toBe(true);
    const next = prepare(1, 100);
    expect(capacity.hasRoomForJobs).toBe(false);
    release(next);
    expect(capacity.hasRoomForJobs).toBe(true);
    release(first);
    expect(capacity.hasRoomForJobs).toBe(true);
  });

  test("are limited in bytes", () => {
    const { capacity, prepare } = open();
    const full = prepare(1, 1024 * KIB);
    expect(capacity.hasRoomForJobs).toBe(true);
    const one = prepare(1, 1);
    expect(capacity.hasRoomForJobs).toBe(false);
    release([...full, ...one]);
    expect(capacity.hasRoomForJobs).toBe(true);
  });

  test("may be more with several preparation processes", () => {
    const { capacity, prepare } = open({ preparers: 3 });
    prepare(3 * 64, 100);
    expect(capacity.hasRoomForJobs).toBe(true);
    prepare(1, 100);
    expect(capacity.hasRoomForJobs).toBe(false);
  });

  test("count as the tokens that they probably have, until they are embedded", () => {
    const { capacity } = open({ preparers: 4 });
    // each of these counts at most a quarter of the limit
    const slots = Array.from({ length: 4 }, () => capacity.takePreparing(ONE, TOKENS));
    expect(capacity.fullProjects).toEqual([ONE]);
    expect(capacity.hasRoomForTexts).toBe(false);
    release(slots);
    expect(capacity.fullProjects).toEqual([]);
    expect(capacity.hasRoomForTexts).toBe(true);
  });

  test("are memories that will be ready soon, unless they are long", () => {
    const { capacity } = open();
    const long = capacity.takePreparing(ONE, TOKENS);
    expect(capacity.isMoreComing).toBe(false);
    const short = capacity.takePreparing(ONE, 100);
    expect(capacity.isMoreComing).toBe(true);
    const embedding = capacity.takeEmbedding(ONE, 25);
    short.release();
    expect(capacity.isMoreComing).toBe(true);
    embedding.release();
    expect(capacity.isMoreComing).toBe(false);
    long.release();
  });
});

describe("tokens being embedded", () => {
  test("stop the claims of their project at the limit, and those of others at twice the limit", () => {
    const { capacity } = open();
    const fill = (project: ProjectId) => Array.from({ length: 40 }, () => capacity.takeEmbedding(project, TOKENS / 40));
    const slots = fill(ONE);
    expect(capacity.fullProjects).toEqual([ONE]);
    expect(capacity.hasRoomForJobs).toBe(true);
    slots.push(...fill(OTHER));
    expect(capacity.hasRoomForJobs).toBe(false);
    release(slots);
    expect(capacity.fullProjects).toEqual([]);
  });

  test("count at least 32 per memory, so that empty notes are limited, too", () => {
    const { capacity } = open();
    const slots = Array.from({ length: TOKENS / 32 - 1 }, () => capacity.takeEmbedding(ONE, 1));
    expect(capacity.fullProjects).toEqual([]);
    slots.push(capacity.takeEmbedding(ONE, 1));
    expect(capacity.fullProjects).toEqual([ONE]);
    release(slots);
  });

  /** Embeds for a second at this speed. */
  function embedASecond({ capacity, state }: ReturnType<typeof open>, tokensPerSecond: number): void {
    const slot = capacity.takeEmbedding(ONE, 1_000);
    state.nowMs += 1_000;
    capacity.noteEmbedded(tokensPerSecond);
    slot.release();
  }

  /** Number of memories of 1,000 tokens until the project is full. */
  function memoriesUntilFull({ capacity }: ReturnType<typeof open>): number {
    const slots: Slot[] = [];
    while (capacity.fullProjects.length === 0) slots.push(capacity.takeEmbedding(ONE, 1_000));
    release(slots);
    return slots.length;
  }

  test("may be two seconds of work of fast models, up to ten times the limit of slow ones", () => {
    const opened = open();
    expect(memoriesUntilFull(opened)).toBe(48);
    embedASecond(opened, 1_000);
    expect(memoriesUntilFull(opened)).toBe(48);
    embedASecond(opened, 100_000);
    expect(memoriesUntilFull(opened)).toBe(200);
    embedASecond(opened, 1_000_000);
    expect(memoriesUntilFull(opened)).toBe(480);
    embedASecond(opened, 30_000);
    expect(memoriesUntilFull(opened)).toBe(60);
  });

  test("are measured without the time in which nothing is embedded, and when the clock is set back", () => {
    const opened = open();
    opened.state.nowMs += 3_600_000;
    embedASecond(opened, 100_000);
    opened.state.nowMs -= 7_200_000;
    expect(memoriesUntilFull(opened)).toBe(200);
    embedASecond(opened, 50_000);
    expect(memoriesUntilFull(opened)).toBe(100);
  });
});

test("chunks that wait to be published, and files that wait to be read, stop the claims", () => {
  const { capacity, state } = open();
  state.publishing = 4_096;
  expect([capacity.hasRoomForJobs, capacity.hasRoomForTexts]).toEqual([false, false]);
  state.publishing = 4_095;
  expect([capacity.hasRoomForJobs, capacity.hasRoomForTexts]).toEqual([true, true]);
  const files = Array.from({ length: 256 }, () => capacity.takeWaitingFile());
  expect(capacity.hasRoomForJobs).toBe(false);
  files[0]?.release();
  files[0]?.release();
  expect(capacity.hasRoomForJobs).toBe(true);
  expect(state.released).toBe(1);
});
