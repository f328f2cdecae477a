// POST /v1/memories/batch with megabytes of text: other requests run while it is stored, and see all of it or nothing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TestService } from "../support/service.ts";
import { startWithoutModels } from "../support/unfinished.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startWithoutModels();
});
afterAll(() => mneme.stop());

test("4 MB are stored in one transaction, in order, while other requests are answered", async () => {
  const text = "The kettle boils. ".repeat(3_300);
  const memories = Array.from({ length: 70 }, (_, at) => ({
    content: `${at} ${text}`,
    ...((at === 2 || at === 68) && { externalId: "twice", userId: "ada" }),
  }));
  const last = `68 ${text}`;
  let isOver = false;
  const creation = mneme.call("POST", "/v1/memories/batch", { memories }).finally(() => {
    isOver = true;
  });
  const seen: string[][] = [];
  while (!isOver) {
    await new Promise(setImmediate); // a request of this loop may end within one turn of the event loop
    const { body } = await mneme.call("GET", "/v1/memories?userId=ada");
    seen.push(body.data.map((memory: { content: string }) => memory.content));
  }
  const { status, body } = await creation;
  expect([status, body.accepted, body.failed]).toEqual([202, 70, 0]);
  const indexes: number[] = body.data.map((item: { index: number }) => item.index);
  expect(indexes).toEqual(memories.map((_, at) => at));
  const ids: string[] = body.data.map((item: { memory: { id: string } }) => item.memory.id);
  expect(ids[68]).toBe(ids[2] as string);
  expect(new Set(ids).size).toBe(69);
  for (const contents of seen) expect([[], [last]]).toContainEqual(contents);
  expect((await mneme.call("GET", `/v1/memories/${ids[2]}`)).body.content).toBe(last);
});
