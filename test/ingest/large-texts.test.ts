// Large texts: one is processed at a time, no small text waits for it, and all of them are completed.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Memory } from "../../src/domain/memory.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { until } from "../support/until.ts";
import { Gate, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

/** Texts with more bytes than this are large in these tests. */
const LARGE_TEXT_BYTES = 40_000;

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness(null, { largeTextBytes: LARGE_TEXT_BYTES });
});
afterEach(() => harness.close());

/** A text of this many bytes that repeats a word. */
function textOf(word: string, bytes = LARGE_TEXT_BYTES + 1): string {
  const line = `${word} boils at noon. ${"-".repeat(400)}\n`;
  return `${line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes - 1)}.`;
}

const statusOf = async (memory: Memory) => (await harness.read(memory))?.state.status;

/** Stops the embedding of one text at a gate. `seen` contains the word of each text whose embedding began. */
function holdEmbedding(word: string): { gate: Gate; seen: Set<string> } {
  const gate = new Gate();
  const seen = new Set<string>();
  harness.embedder.before = (texts) => {
    for (const text of texts) seen.add(/[A-Z]\w+(?= boils)/.exec(text)?.[0] ?? text);
    return texts.some((text) => text.includes(`${word} boils`)) ? gate.pass() : undefined;
  };
  return { gate, seen };
}

describe("while a large text is processed", () => {
  test("another one waits, shorter texts overtake both (also one at the limit), and all are completed", async () => {
    const { gate, seen } = holdEmbedding("Kettle");
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const [note, edge] = await harness.accept({ content: "A note." }, { content: textOf("Teapot", LARGE_TEXT_BYTES) });
    await harness.settled(note);
    await harness.settled(edge);
    expect([await statusOf(first), await statusOf(second)]).toEqual(["processing", "processing"]);
    expect(harness.worker.progressOf(second.key).stage).toBe("queued");
    expect(seen.has("Saucepan")).toBeFalse();
    gate.open();
    await harness.settled(first);
    await harness.settled(second);
  });

  test("its preparation does not hold up a text that comes later", async () => {
    const gate = new Gate();
    harness.preparer.before = ([first]) => (first?.content.slice(0).startsWith("Kettle") ? gate.pass() : undefined);
    const [large] = await harness.accept({ content: textOf("Kettle") });
    await until("the large text is being prepared", () => gate.waiting > 0);
    const [note] = await harness.accept({ content: "A note." });
    await harness.settled(note);
    expect(await statusOf(large)).toBe("processing");
    gate.open();
    await harness.settled(large);
  });

  test("its preparation ends when it is deleted, and the next one starts", async () => {
    let isAborted = false;
    const started = Promise.withResolvers<void>();
    harness.preparer.before = ([first], signal) => {
      if (first?.content.slice(0).startsWith("Kettle") !== true) return;
      started.resolve();
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          isAborted = true;
          reject(signal.reason);
        });
      });
    };
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await started.promise;
    await harness.memories.remove(harness.projectId, first.id);
    await harness.settled(second);
    expect(isAborted).toBeTrue();
  });

  test("its reading ends when its file is deleted", async () => {
    let isAborted = false;
    const started = Promise.withResolvers<void>();
    harness.documents.before = (_, signal) => {
      started.resolve();
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          isAborted = true;
          reject(signal.reason);
        });
      });
    };
    const bytes = Buffer.from("kitchen saucepan,kitchen spoon\n1,2\n");
    const file = await harness.files.begin();
    await file.write(bytes);
    await file.end();
    const source = { filename: "pans.csv", media_type: "text/csv", bytes: bytes.byteLength };
    const sha256 = createHash("sha256").update(bytes).digest();
    const upload = { file: await harness.files.keep(file.path), bytes: source.bytes, sha256, source };
    const [read] = await harness.accept({ content: "", upload });
    await started.promise;
    await harness.memories.remove(harness.projectId, read.id);
    await until("reading was aborted", () => {
      harness.clock.advance(1_000);
      return isAborted;
    });
  });

  test("its deletion lets the next one start", async () => {
    const { gate } = holdEmbedding("Kettle");
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    await harness.memories.remove(harness.projectId, first.id);
    gate.open();
    await harness.settled(second);
    expect((await harness.searchable()).some((passage) => passage.includes("Kettle"))).toBeFalse();
  });

  test("one that is deleted while it waits is never processed", async () => {
    const { gate, seen } = holdEmbedding("Kettle");
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    await harness.memories.remove(harness.projectId, second.id);
    gate.open();
    await harness.settled(first);
    const [note] = await harness.accept({ content: "A note." });
    await harness.settled(note);
    expect(seen.has("Saucepan")).toBeFalse();
  });

  test("its failure lets the next one start", async () => {
    harness.preparer.refuse = (content) => (content.startsWith("Kettle") ? new PrepareFailure("No.") : null);
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await harness.settled(first, "failed");
    await harness.settled(second);
  });

  test("a stop loses no text: the next worker completes both", async () => {
    const { gate } = holdEmbedding("Kettle");
    const [first, second] = await harness.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const stopping = harness.worker.stop();
    gate.open();
    await stopping;
    harness.startWorker();
    await harness.settled(first);
    await harness.settled(second);
  });
});

describe("while a large text is published", () => {
  /** About a thousand chunks, so that it is published in parts: its vectors, then at least three parts of texts. */
  const content = "Kettle boils at noon. ".repeat(2_000);
  beforeEach(() => {
    harness.preparer.chunkTokens = 16;
  });

  /** Calls the functions, each before another part of the large text, from the third on. */
  function beforeParts(...acts: readonly (() => unknown)[]): void {
    let part = -3;
    harness.index.beforePart = async () => {
      part += 1;
      await acts[part]?.();
    };
  }

  const chunkCountOf = (memory: Memory) => (memory.state.status === "completed" ? memory.state.chunkCount : 0);

  test("a text that comes later is searchable first, and the large one only as a whole", async () => {
    const notes: Memory[] = [];
    const found: (readonly string[])[] = [];
    beforeParts(
      async () => {
        const [note] = await harness.accept({ content: "A note." });
        notes.push(note);
        await until("the note waits", () => harness.worker.progressOf(note.key).stage === "publishing");
        found.push(await harness.searchable());
      },
      () => undefined, // the step of this part ends with the round of the note
      async () => found.push(await harness.searchable()),
    );
    const [large] = await harness.accept({ content });
    const chunks = chunkCountOf(await harness.settled(large));
    expect(found).toEqual([[], ["A note."]]);
    expect(chunks).toBeGreaterThan(768);
    expect(await harness.storedChunks()).toBe(chunks + 1);
    expect(await Promise.all(notes.map(statusOf))).toEqual(["completed"]);
  });

  test("its deletion ends that, and nothing of it stays in the index", async () => {
    const chunks: number[] = [];
    const [large] = await harness.accept({ content });
    beforeParts(async () => {
      chunks.push(await harness.storedChunks());
      await harness.memories.remove(harness.projectId, large.id);
    });
    await until("its job ends", () => chunks.length > 0 && harness.worker.progressOf(large.key).stage === "queued");
    expect(chunks[0]).toBeGreaterThan(768);
    expect(await harness.storedChunks()).toBe(0);
    expect(await statusOf(large)).toBeUndefined();
  });

  test("a rewrite replaces it: only the new text is searchable", async () => {
    const [large] = await harness.accept({ content });
    beforeParts(async () => {
      await harness.memories.change(harness.projectId, large.id, { content: "Rewritten." });
      harness.worker.wake();
      await until("the new text waits", () => harness.worker.progressOf(large.key).chunksTotal === 1);
    });
    await harness.settled(large);
    expect(await harness.searchable()).toEqual(["Rewritten."]);
    expect(await harness.storedChunks()).toBe(1);
  });

  test("a large rewrite replaces it, too", async () => {
    const [large] = await harness.accept({ content });
    beforeParts(async () => {
      await harness.memories.change(harness.projectId, large.id, { content: content.replaceAll("Kettle", "Violin") });
      harness.worker.wake();
      await until("the new text waits", () => harness.worker.progressOf(large.key).stage === "publishing");
    });
    const chunks = chunkCountOf(await harness.settled(large));
    const found = await harness.searchable();
    expect(found.filter((passage) => passage.includes("Kettle"))).toEqual([]);
    expect([found.length, await harness.storedChunks()]).toEqual([chunks, chunks]);
  });

  test("a part that fails is repeated with the others, and nothing is there twice", async () => {
    beforeParts(() => {
      throw new Error("the disk is full");
    });
    const [large] = await harness.accept({ content });
    const chunks = chunkCountOf(await harness.settled(large));
    expect(await harness.storedChunks()).toBe(chunks);
    expect(await harness.searchable()).toHaveLength(chunks);
  });

  test("a stop between two parts loses nothing: the next worker publishes all of it once", async () => {
    const gate = new Gate();
    beforeParts(() => gate.pass());
    const [large] = await harness.accept({ content });
    await until("a part is published", () => gate.waiting > 0);
    const stopping = harness.worker.stop();
    gate.open();
    await stopping;
    expect(await statusOf(large)).toBe("processing");
    expect(await harness.searchable()).toEqual([]);
    harness.startWorker();
    const chunks = chunkCountOf(await harness.settled(large));
    expect(await harness.storedChunks()).toBe(chunks);
  });
});

describe("a file whose text turns out to be large", () => {
  /** A table whose text repeats the column names in each row: about four times as long as the file. */
  const table = `kitchen saucepan,kitchen spoon\n${"1,2\n".repeat(LARGE_TEXT_BYTES / 8)}`;

  test("is tried again before large texts that came later, and is read at most twice", async () => {
    expect(table.length).toBeLessThan(LARGE_TEXT_BYTES);
    let reads = 0;
    harness.documents.before = () => {
      reads += 1;
    };
    const { gate, seen } = holdEmbedding("Kettle");
    const [first] = await harness.accept({ content: textOf("Kettle") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const bytes = Buffer.from(table);
    const file = await harness.files.begin();
    await file.write(bytes);
    await file.end();
    const source = { filename: "pans.csv", media_type: "text/csv", bytes: bytes.byteLength };
    const sha256 = createHash("sha256").update(bytes).digest();
    const [read] = await harness.accept({
      content: "",
      upload: { file: await harness.files.keep(file.path), bytes: source.bytes, sha256, source },
    });
    await until(
      "it was read and postponed",
      () => reads === 1 && harness.worker.progressOf(read.key).stage === "queued",
    );
    const [later] = await harness.accept({ content: textOf("Teapot") });
    gate.open();
    await harness.settled(first);
    await harness.settled(read);
    await harness.settled(later);
    const order = [...seen];
    const ofTable = order.findIndex((text) => text.includes("kitchen saucepan: 1"));
    expect(ofTable).not.toBe(-1);
    expect(ofTable).toBeLessThan(order.indexOf("Teapot"));
    expect(reads).toBe(2);
  });
});
