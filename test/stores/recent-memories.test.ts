// The cache of memories: it never returns what a change may have made wrong, and it stays within its size.

import { expect, test } from "bun:test";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { RecentMemories } from "../../src/stores/sqlite/recent-memories.ts";
import { completedMemory } from "../support/memory.ts";

const PROJECT = "prj_1" as ProjectId;

function memory(number: number) {
  return completedMemory({ key: BigInt(number) as MemoryKey, id: `mem_${number}` as MemoryId });
}

function emptyCache() {
  const database = { changes: { value: 0 }, isInTransaction: false };
  const recent = new RecentMemories(database, systemClock);
  recent.withKey(PROJECT, memory(1).key); // sees the number of changes
  return { database, recent };
}

test("finds a cached memory by id and key in its own project, until anything changes", () => {
  const { database, recent } = emptyCache();
  recent.put(PROJECT, memory(1), 0);
  expect(recent.get(PROJECT, memory(1).id)?.key).toBe(memory(1).key);
  expect(recent.withKey(PROJECT, memory(1).key)?.id).toBe(memory(1).id);
  expect(recent.get("prj_2" as ProjectId, memory(1).id)).toBeNull();
  database.changes.value += 1;
  expect(recent.withKey(PROJECT, memory(1).key)).toBeNull();
});

test("neither returns nor keeps anything while a transaction is open", () => {
  const { database, recent } = emptyCache();
  recent.put(PROJECT, memory(1), 0);
  database.isInTransaction = true;
  expect(recent.withKey(PROJECT, memory(1).key)).toBeNull();
  recent.put(PROJECT, memory(2), 0);
  database.isInTransaction = false;
  expect(recent.withKey(PROJECT, memory(2).key)).toBeNull();
});

test.each([
  { metadataCharacters: 0, kept: 10_486 },
  { metadataCharacters: 16_384, kept: 250 },
])("keeps $kept memories with $metadataCharacters characters of metadata", ({ metadataCharacters, kept }) => {
  const { recent } = emptyCache();
  for (let number = 1; number <= kept; number++) recent.put(PROJECT, memory(number), metadataCharacters);
  expect(recent.withKey(PROJECT, memory(1).key)).not.toBeNull();
  recent.put(PROJECT, memory(kept + 1), metadataCharacters);
  expect(recent.withKey(PROJECT, memory(1).key)).toBeNull();
  expect(recent.withKey(PROJECT, memory(kept + 1).key)).not.toBeNull();
});
