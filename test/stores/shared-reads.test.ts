// Reads of several callers with one statement.

import { expect, test } from "bun:test";
import { SharedReads } from "../../src/adapters/postgres/shared-reads.ts";

/** A statement that the test answers. */
interface Statement {
  readonly keys: readonly string[];
  readonly answer: PromiseWithResolvers<ReadonlyMap<string, number>>;
}

function open() {
  const statements: Statement[] = [];
  const reads = new SharedReads<string, number>((keys) => {
    const answer = Promise.withResolvers<ReadonlyMap<string, number>>();
    statements.push({ keys, answer });
    return answer.promise;
  });
  return { reads, statements };
}

test("callers that come while a statement runs share the next one, which begins after their calls", async () => {
  const { reads, statements } = open();
  const first = reads.get("a");
  const later = [reads.get("a"), reads.get("b"), reads.get("a")];
  expect(statements.map(({ keys }) => keys)).toEqual([["a"]]);
  statements[0]?.answer.resolve(new Map([["a", 1]]));
  expect(await first).toBe(1);
  expect(statements.map(({ keys }) => keys)).toEqual([["a"], ["a", "b"]]);
  statements[1]?.answer.resolve(new Map([["a", 2]]));
  expect(await Promise.all(later)).toEqual([2, null, 2]);
  const alone = reads.get("c");
  statements[2]?.answer.resolve(new Map([["c", 3]]));
  expect(await alone).toBe(3);
});

test("an error reaches the callers of its statement only", async () => {
  const { reads, statements } = open();
  const failing = reads.get("a").catch((error: Error) => error.message);
  const next = reads.get("a");
  statements[0]?.answer.reject(new Error("lost"));
  expect(await failing).toBe("lost");
  statements[1]?.answer.resolve(new Map([["a", 1]]));
  expect(await next).toBe(1);
});

test("a statement that hangs does not hold up the others", async () => {
  const { reads, statements } = open();
  const hanging = reads.get("a");
  const next = reads.get("b").then((value) => value); // waits until the first one has taken too long
  while (statements.length < 2) await new Promise((resolve) => setImmediate(resolve));
  statements[1]?.answer.resolve(new Map([["b", 2]]));
  expect(await next).toBe(2);
  const third = reads.get("c");
  statements[2]?.answer.resolve(new Map([["c", 3]]));
  expect(await third).toBe(3);
  statements[0]?.answer.resolve(new Map([["a", 1]]));
  expect(await hanging).toBe(1);
});
