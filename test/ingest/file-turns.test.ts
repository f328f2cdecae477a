// Tests in which order files are read.

import { expect, test } from "bun:test";
import { FileTurns } from "../../src/ingest/file-turns.ts";

/** Takes turns for files, in this order, and returns the order in which they were read. */
async function orderOf(files: readonly (readonly [name: string, share: string, isPart: boolean])[]): Promise<string[]> {
  const turns = new FileTurns();
  const order: string[] = [];
  const first = await turns.take("z", false);
  const reading = files.map(async ([name, share, isPart]) => {
    const end = await turns.take(share, isPart);
    order.push(name);
    end();
    end();
  });
  first();
  await Promise.all(reading);
  return order;
}

test("files that callers sent come before those of containers, and projects take turns", async () => {
  const order = await orderOf([
    ["part 1", "a", true],
    ["part 2", "a", true],
    ["part 3", "b", true],
    ["file 1", "a", false],
    ["file 2", "a", false],
    ["file 3", "b", false],
  ]);
  expect(order).toEqual(["file 1", "file 3", "file 2", "part 1", "part 3", "part 2"]);
});

test("after eight files of callers, one of a container is read", async () => {
  const files = Array.from({ length: 20 }, (_, at) => [`file ${at}`, "a", false] as const);
  const order = await orderOf([["part 1", "a", true], ["part 2", "a", true], ...files]);
  expect(order.indexOf("part 1")).toBe(8);
  expect(order.indexOf("part 2")).toBe(17);
  expect(order).toHaveLength(22);
});

test("counts the files of containers that wait, and begins at once when none is read", async () => {
  const turns = new FileTurns();
  const end = await turns.take("a", true);
  expect(turns.waitingParts).toBe(0);
  const waiting = turns.take("a", true);
  expect(turns.waitingParts).toBe(1);
  end();
  (await waiting)();
  expect(turns.waitingParts).toBe(0);
  (await turns.take("b", false))();
});
