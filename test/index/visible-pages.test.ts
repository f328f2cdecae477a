// Tests that opening a project reads each searchable memory once, whatever their number, and passes on failures.

import { expect, test } from "bun:test";
import { visiblePages } from "../../src/compose/storage.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";

const PROJECT = "prj_pages" as ProjectId;
const PAGE = 1_000;

/** Memories with the odd keys 1, 3, 5…, of which the pages that begin after `failsAfter` cannot be read. */
function storeOf(count: number, failsAfter = Number.POSITIVE_INFINITY) {
  const all = Array.from({ length: count }, (_, at): VisibleMemory => {
    return { memoryKey: BigInt(2 * at + 1) as MemoryKey, userKey: null, expiresAt: null, attributes: `{"n":${at}}` };
  });
  const reads: bigint[] = [];
  const visible = async (_: ProjectId, page?: { readonly afterKey: MemoryKey | null; readonly limit: number }) => {
    const after = page?.afterKey ?? 0n;
    reads.push(after);
    if (after >= failsAfter) throw new Error("the database is gone");
    return all.filter(({ memoryKey }) => memoryKey > after).slice(0, page?.limit);
  };
  return { all, reads, visible };
}

test("every memory is in one page, in order", async () => {
  for (const count of [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 500]) {
    const store = storeOf(count);
    const pages = await Array.fromAsync(visiblePages(PROJECT, store));
    expect(pages.flat()).toEqual(store.all);
    expect(pages.every((page) => page.length > 0 && page.length <= PAGE)).toBe(true);
  }
});

test("the next page is read while one is used, but no further one", async () => {
  const store = storeOf(4 * PAGE);
  const pages = visiblePages(PROJECT, store);
  await pages.next();
  expect(store.reads).toEqual([0n, BigInt(2 * PAGE - 1)]);
});

test("a page that cannot be read ends the reading with its error, unless the caller stopped before", async () => {
  const store = storeOf(3 * PAGE, 2 * PAGE - 1);
  const pages = visiblePages(PROJECT, store);
  expect((await pages.next()).value).toHaveLength(PAGE);
  await expect(pages.next()).rejects.toThrow("the database is gone");
  for await (const page of visiblePages(PROJECT, storeOf(3 * PAGE, 2 * PAGE - 1))) {
    expect(page).toHaveLength(PAGE);
    break;
  }
});
