// The memories that are kept after they were read: what a change may have made wrong is never returned, and they stay
// within their size.

import { expect, test } from "bun:test";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import type { MemoryRow } from "../../src/stores/rows/memory.ts";
import { RecentMemories } from "../../src/stores/sqlite/recent-memories.ts";

const PROJECT = "prj_1" as ProjectId;
const OTHER = "prj_2" as ProjectId;

const keyOf = (number: number) => BigInt(number) as MemoryKey;
const idOf = (number: number) => `mem_${number}` as MemoryId;

/** Reads of made-up rows, which are counted. */
function recentMemories(metadata: string | null = null) {
  const rowOf = (number: number) =>
    ({
      ...{ memory_key: keyOf(number), id: idOf(number), project_key: 1n, version: 1n, status: "processing" },
      ...{ attempts: 0n, given: "[]", content_bytes: 1n, created_at: 1n, updated_at: 1n, metadata },
      ...{ title: null, type: null, tags: null, language: null, user_key: null, user_id: null, external_id: null },
      ...{ agent_id: null, session_id: null, source: null, original_file: null, expires_at: null, occurred_at: null },
      occurred_at_given: null,
      ...{ chunk_count: 0n, extraction: null, error_code: null, error_message: null, is_reindexed: 0n },
      ...{ superseded_by: null, superseded_passages: null },
    }) satisfies MemoryRow;
  const counted = { rows: 0 };
  const changes = { value: 0 };
  const rows = {
    rowOf: async (projectId: ProjectId, id: MemoryId) => {
      if (projectId !== PROJECT) return null;
      counted.rows += 1;
      return rowOf(Number(id.slice(4)));
    },
    rowsOf: async (_: ProjectId, keys: readonly MemoryKey[]) => {
      counted.rows += keys.length;
      return keys.map((key) => rowOf(Number(key)));
    },
  };
  return { recent: new RecentMemories(rows, changes, systemClock), changes, counted };
}

test("finds a memory that was read by id and key in its own project, as a plain value, until anything changes", async () => {
  const { recent, changes, counted } = recentMemories();
  const memory = await recent.get(PROJECT, idOf(1));
  expect(recent.get(PROJECT, idOf(1))).toBe(memory);
  expect((await recent.getMany(PROJECT, [keyOf(1)])).get(keyOf(1))).toBe(memory as NonNullable<typeof memory>);
  expect(counted.rows).toBe(1);
  expect(await recent.get(OTHER, idOf(1))).toBeNull();
  changes.value += 1;
  expect(recent.get(PROJECT, idOf(1))).toBeInstanceOf(Promise);
  expect(counted.rows).toBe(2);
});

test("does not keep what was read before a change that came before its answer", async () => {
  const { recent, changes, counted } = recentMemories();
  const reading = [recent.get(PROJECT, idOf(1)), recent.getMany(PROJECT, [keyOf(2)])];
  changes.value += 1;
  await Promise.all(reading);
  await recent.getMany(PROJECT, [keyOf(1), keyOf(2)]);
  expect(counted.rows).toBe(4);
});

test.each([
  { metadataCharacters: 0, kept: 10_486 },
  { metadataCharacters: 16_384, kept: 250 },
])("keeps $kept memories with $metadataCharacters characters of metadata", async ({ metadataCharacters, kept }) => {
  const metadata = metadataCharacters === 0 ? null : JSON.stringify({ text: "x".repeat(metadataCharacters - 11) });
  const { recent, counted } = recentMemories(metadata);
  const keys = Array.from({ length: kept }, (_, at) => keyOf(at + 1));
  await recent.getMany(PROJECT, keys);
  await recent.getMany(PROJECT, [keyOf(1)]);
  expect(counted.rows).toBe(kept);
  await recent.getMany(PROJECT, [keyOf(kept + 1)]);
  await recent.getMany(PROJECT, [keyOf(kept + 1)]);
  expect(counted.rows).toBe(kept + 1);
  await recent.getMany(PROJECT, [keyOf(1)]);
  expect(counted.rows).toBe(kept + 2);
});
