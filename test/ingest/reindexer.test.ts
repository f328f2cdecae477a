// Rebuilding derived parts: damaged vectors, postings and entities become those of a fresh index, while searches and
// writes go on; a run can be stopped and repeated at any moment.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { ReindexEvent, ReindexResult } from "../../src/domain/reindex-event.ts";
import { Reindexer } from "../../src/ingest/reindexer.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Rebuild } from "../../src/ports/chunk-index.ts";
import { ALL_VISIBLE } from "../contract/stores.ts";
import { searchIn, storeIn } from "../retrieval/search-fixtures.ts";
import { searchGraph, searchText, searchVectors } from "../support/search-legs.ts";
import { until } from "../support/until.ts";
import { Gate, hashVector, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

const BOOK = Array.from({ length: 300 }, (_, at) => `Kettle ${at} boils at noon, and pot ${at * 7} at night.`);
const DRAFTS: readonly MemoryDraft[] = [
  { content: "Ada Lovelace flies a red kite over the harbour." },
  { content: "The second note, by Ada Lovelace.", title: "A given title", tags: ["shed"] },
  { content: `# Tea\n\n${BOOK.join(" ")}\n\n# Pots\n\nShort.`, title: "Kettles" },
  { content: "Ada: Where is the kite?\nBob: In the red shed.\nAda: And the string?\nBob: Carl has it." },
];

let harness: IngestHarness;
let reindexer: Reindexer;
beforeEach(async () => {
  harness = await openIngestHarness();
  const { index, memories, jobs, extractions, preparer, embedders, clock } = harness;
  const wakeIngest = () => harness.worker.wake();
  const log = createLog("silent");
  reindexer = new Reindexer({ index, memories, jobs, extractions, preparer, embedders, wakeIngest, clock, log });
});
afterEach(async () => {
  await reindexer.stop();
  await harness.close();
});

/** Runs to the end, while the clock advances, and returns the result of the project. */
async function reindexed(chunksPerSecond: number | null = null): Promise<ReindexResult> {
  const events: ReindexEvent[] = [];
  let hasEnded = false;
  const run = async () => {
    for await (const event of reindexer.run([harness.projectId], chunksPerSecond)) events.push(event);
  };
  const running = run().finally(() => {
    hasEnded = true;
  });
  const isOver = () => {
    if (!hasEnded) harness.clock.advance(200);
    return hasEnded;
  };
  await Promise.all([running, until("the run has ended", isOver)]);
  const last = events.at(-1);
  if (last?.type !== "project") throw new Error("a run ends with the result of the last project");
  return last;
}

/** Everything that searches give for these texts, by all legs. */
async function searches() {
  const project = await harness.index.project(harness.projectId);
  const within = await project.admit(null, harness.clock.now());
  const noSeeds = { chunkKeys: new BigUint64Array(), scores: new Float32Array() };
  const found: unknown[] = [];
  for (const text of ["Ada Lovelace flies a red kite over the harbour.", "kettle 7 at noon", "Carl", "shed"]) {
    const near = await searchVectors(project, "hash", hashVector(text), within, 50);
    const matching = await searchText(project, text, within, 50);
    const { chunkKeys, scores } = await searchGraph(project, "What did Ada Lovelace do?", noSeeds, within, 50);
    found.push([...near.chunkKeys], [...near.scores], [...matching.chunkKeys], [...matching.scores]);
    found.push([...chunkKeys], [...scores]);
  }
  return found;
}

/** Replaces all parts of memories by those of other texts, as damage that no checksum shows. */
async function garble(...memories: readonly Memory[]): Promise<void> {
  const project = await harness.index.project(harness.projectId);
  const stored = await harness.index.stored(memories.map(({ key }) => key));
  const wrong = memories.map(({ key }): Rebuild => {
    const chunks = stored.get(key)?.chunks ?? [];
    const text = () => "garbled words of Grace Hopper";
    return {
      memoryKey: key,
      chunkKeys: chunks.map(({ chunkKey }) => chunkKey),
      chunks: chunks.map((chunk) => ({ ...chunk, tokens: 1, headings: [] })),
      texts: { passage: text, embeddedText: text, searchText: text, contextText: () => null },
      language: "en",
      vectors: [
        { fingerprint: "hash", vectors: Float32Array.from(chunks.flatMap(() => [...hashVector("something else")])) },
      ],
      entities: { title: null, phrases: [] },
    };
  });
  expect(await project.rebuild(wrong)).toEqual([]);
}

async function textsFor(query: string): Promise<string[]> {
  const { results } = await searchIn(harness, { query, mode: "fast", limit: 20 });
  return results.map(({ text }) => text);
}

test("damaged vectors, postings and entities are as before again, also after a restart of the index", async () => {
  const memories = await storeIn(harness, ...DRAFTS);
  const before = await searches();
  await garble(...memories);
  expect(await searches()).not.toEqual(before);
  const counts = { memories: 4, rebuilt: 4, changed: 0, ingested: 0, kept: 0 };
  expect(await reindexed()).toMatchObject(counts);
  expect(await searches()).toEqual(before);
  await harness.index.restart(harness.projectId, await harness.memories.visible(harness.projectId, ALL_VISIBLE));
  expect(await searches()).toEqual(before);
  expect(await reindexed()).toMatchObject(counts);
  expect(await searches()).toEqual(before);
});

test("while it runs, searches find every memory, and changes and deletions win", async () => {
  const [kept, rewritten, deleted] = await storeIn(
    harness,
    { content: "A kept kite." },
    { content: "An old kite." },
    { content: "A doomed kite." },
  );
  const gate = new Gate();
  harness.embedder.before = () => gate.pass();
  const result = reindexed();
  await until("the batch is embedded", () => gate.waiting > 0);
  harness.embedder.before = () => undefined; // only the batch that waits already is held up
  expect((await textsFor("kite")).toSorted()).toEqual(["A doomed kite.", "A kept kite.", "An old kite."]);
  await harness.memories.change(harness.projectId, (rewritten as Memory).id, { content: "A rewritten kite." });
  harness.worker.wake();
  await harness.settled(rewritten as Memory);
  await harness.memories.remove(harness.projectId, (deleted as Memory).id, { purges: true });
  await storeIn(harness, { content: "A new kite." });
  const project = await harness.index.project(harness.projectId);
  await project.retract([(deleted as Memory).key]); // as the sweep does
  await project.hide([(deleted as Memory).key]);
  gate.open();
  expect(await result).toMatchObject({ memories: 3, rebuilt: 1, changed: 2, ingested: 0, kept: 0 });
  expect((await textsFor("kite")).toSorted()).toEqual(["A kept kite.", "A new kite.", "A rewritten kite."]);
  expect((await harness.read(kept as Memory))?.state.status).toBe("completed");
});

test("a memory that lacks its parts is indexed by ingestion before the run ends", async () => {
  const [first, second] = await storeIn(harness, { content: "A red kite." }, { content: "A blue kite." });
  const project = await harness.index.project(harness.projectId);
  await project.retract([(first as Memory).key]);
  expect(await textsFor("kite")).toEqual(["A blue kite."]);
  expect(await reindexed()).toMatchObject({ memories: 2, rebuilt: 1, changed: 0, ingested: 1, kept: 0 });
  expect((await textsFor("kite")).toSorted()).toEqual(["A blue kite.", "A red kite."]);
  expect((await harness.read(second as Memory))?.version).toBe((second as Memory).version);
});

test("a memory that would be cut into other chunks today keeps its parts", async () => {
  await storeIn(harness, ...DRAFTS);
  const before = await searches();
  harness.preparer.chunkTokens = 100;
  expect(await reindexed()).toMatchObject({ memories: 4, rebuilt: 3, kept: 1 });
  expect(await searches()).toEqual(before);
});

test("a run that was stopped in the middle has left every memory whole, and is repeated", async () => {
  const drafts = Array.from({ length: 150 }, (_, at) => ({ content: `Kite number ${at}.` }));
  const memories = await storeIn(harness, ...drafts);
  await garble(...memories);
  const project = await harness.index.project(harness.projectId);
  const count = async () => {
    const within = await project.admit(null, harness.clock.now());
    return (await searchText(project, "kite", within, 500)).scores.length;
  };
  const run = reindexer.run([harness.projectId], null);
  await run.next();
  const second = reindexer.run([harness.projectId], null);
  await expect(second.next()).rejects.toThrow("running already");
  await run.return(undefined);
  expect(await count()).toBe(64);
  const within = await project.admit(null, harness.clock.now());
  expect((await searchVectors(project, "hash", hashVector("kite"), within, 500)).scores.length).toBe(150);
  expect(await reindexed()).toMatchObject({ memories: 150, rebuilt: 150 });
  expect(await count()).toBe(150);

  await reindexer.stop();
  await expect(reindexed()).rejects.toThrow("aborted");
});

test("the rate limit holds", async () => {
  await storeIn(harness, ...Array.from({ length: 20 }, (_, at) => ({ content: `Kite number ${at}.` })));
  const from = harness.clock.now();
  expect(await reindexed(2)).toMatchObject({ rebuilt: 20 });
  expect(harness.clock.now() - from).toBeGreaterThanOrEqual(20 * 500);
});
