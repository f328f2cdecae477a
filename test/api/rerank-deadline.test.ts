// The operator's deadline for the reranker, over the whole path of a request.

import { expect, test } from "bun:test";
import { startService } from "../support/service.ts";

const QUESTION = "Where is the spare key?";
const SEARCH = { query: QUESTION, mode: "precise", explain: true, limit: 30 };
const long = (name: string) =>
  `The spare key of ${name} hangs behind the door. ${"It rains in the evening. ".repeat(12)}`;

async function stageOfReranker(deadlineMs: number) {
  const server = await startService({ config: { rerankDeadline: deadlineMs } });
  try {
    const memories = Array.from({ length: 15 }, (_, at) => ({ content: long(`room ${at}`) }));
    const { body } = await server.call("POST", "/v1/memories/batch", { memories });
    for (const { memory } of body.data) await server.settled(memory.id);
    const answer = await server.call("POST", "/v1/memories/search", SEARCH);
    const asked = await server.call("POST", "/v1/memories/query", { query: QUESTION, mode: "precise" });
    expect([answer.status, answer.body.results.length, asked.status]).toEqual([200, 15, 200]);
    const read = answer.body.results.filter((result: Result) => result.explain.signals.rerank !== undefined);
    const stage = answer.body.explain.stages.find(({ name }: { name: string }) => name === "rerank");
    return { read: read.length, candidates: stage.candidates, skipped: stage.skipped ?? 0 };
  } finally {
    await server.stop();
  }
}

interface Result {
  readonly explain: { readonly signals: Record<string, unknown> };
}

test("a search continues with what the reranker has read by its deadline, and explain counts the rest", async () => {
  const { read, candidates, skipped } = await stageOfReranker(1);
  expect(candidates).toBe(read);
  expect(skipped).toBe(15 - read);
  expect(skipped).toBeGreaterThan(0); // 15 long passages take tens of milliseconds on any CPU
});

test("without a deadline, the reranker reads all that the mode gives it", async () => {
  expect(await stageOfReranker(Number.POSITIVE_INFINITY)).toEqual({ read: 15, candidates: 15, skipped: 0 });
});
