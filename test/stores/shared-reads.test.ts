// Reads of several callers with one statement.

import { expect, test } from "bun:test";
import { SharedReads } from "../../src/stores/postgres/shared-reads.ts";

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
  const running = async (count: number) => {
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    while (statements.length < count) await turn();
    for (let more = 0; more < 2; more++) await turn(); // a further statement would start in these
    return statements.map(({ keys }) => keys);
  };
  const answer = (at: number, values: readonly (readonly [string, number])[]) =>
    statements[at]?.answer.resolve(new Map(values));
  return { reads, statements, running, answer };
}

test("callers that come at the same time share a statement, and two statements run at once", async () => {
  const { reads, running, answer } = open();
  const first = [reads.get("a"), reads.get("b"), reads.get("a")];
  expect(await running(1)).toEqual([["a", "b"]]);
  const second = reads.get("a"); // begins after the first statement, so it needs another one
  expect(await running(2)).toEqual([["a", "b"], ["a"]]);
  const third = [reads.get("a"), reads.get("c")];
  expect(await running(2)).toEqual([["a", "b"], ["a"]]);

  answer(1, [["a", 2]]);
  expect(await second).toBe(2);
  expect(await running(3)).toEqual([["a", "b"], ["a"], ["a", "c"]]);
  answer(0, [["a", 1]]);
  expect(await Promise.all(first)).toEqual([1, null, 1]);
  answer(2, [["a", 3]]);
  expect(await Promise.all(third)).toEqual([3, null]);
});

test("an error reaches the callers of its statement only", async () => {
  const { reads, statements, running, answer } = open();
  const failing = reads.get("a").catch((error: Error) => error.message);
  await running(1);
  const next = reads.get("a");
  await running(2);
  statements[0]?.answer.reject(new Error("lost"));
  expect(await failing).toBe("lost");
  answer(1, [["a", 1]]);
  expect(await next).toBe(1);
});

test("statements that hang do not hold up the others", async () => {
  const { reads, running, answer } = open();
  const hanging = reads.get("a");
  await running(1);
  const other = reads.get("a");
  await running(2);
  const next = reads.get("b"); // waits until the first ones have taken too long
  await running(3);
  answer(2, [["b", 2]]);
  expect(await next).toBe(2);
  const third = reads.get("c");
  await running(4);
  answer(3, [["c", 3]]);
  expect(await third).toBe(3);
  answer(0, [["a", 1]]);
  answer(1, [["a", 4]]);
  expect(await Promise.all([hanging, other])).toEqual([1, 4]);
});
