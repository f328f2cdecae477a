// What large texts owe to everybody else, and to each other: one of them is in work at a time, nothing small waits for
// it, and each of them ends.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Memory } from "../../src/domain/memory.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { until } from "../support/until.ts";
import { Gate, openWorkshop, type Workshop } from "./workshop.ts";

/** Longer ones are large here. */
const LARGE_TEXT_BYTES = 40_000;

let shop: Workshop;
beforeEach(async () => {
  shop = await openWorkshop(null, { largeTextBytes: LARGE_TEXT_BYTES });
});
afterEach(() => shop.close());

/** A text of so many bytes in which a word stands again and again. */
function textOf(word: string, bytes = LARGE_TEXT_BYTES + 1): string {
  const line = `${word} boils at noon. ${"-".repeat(400)}\n`;
  return `${line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes - 1)}.`;
}

const statusOf = (memory: Memory) => shop.read(memory)?.state.status;

/** Holds the embedding of a text up at a gate; which texts were embedded at all, by their words. */
function holdEmbedding(word: string): { gate: Gate; seen: Set<string> } {
  const gate = new Gate();
  const seen = new Set<string>();
  shop.embedder.before = (texts) => {
    for (const text of texts) seen.add(/[A-Z]\w+(?= boils)/.exec(text)?.[0] ?? text);
    return texts.some((text) => text.includes(`${word} boils`)) ? gate.pass() : undefined;
  };
  return { gate, seen };
}

describe("while a large text is in work", () => {
  test("another waits, small ones and one that is just not large overtake both, and all end", async () => {
    const { gate, seen } = holdEmbedding("Kettle");
    const [first, second] = shop.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const [note, edge] = shop.accept({ content: "A note." }, { content: textOf("Teapot", LARGE_TEXT_BYTES) });
    await shop.settled(note);
    await shop.settled(edge);
    expect([statusOf(first), statusOf(second)]).toEqual(["processing", "processing"]);
    expect(shop.worker.progressOf(second.key).stage).toBe("queued");
    expect(seen.has("Saucepan")).toBeFalse();
    gate.open();
    await shop.settled(first);
    await shop.settled(second);
  });

  test("one that is deleted gives way to the next", async () => {
    const { gate } = holdEmbedding("Kettle");
    const [first, second] = shop.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    shop.memories.remove(shop.projectId, first.id);
    gate.open();
    await shop.settled(second);
    expect((await shop.searchable()).some((passage) => passage.includes("Kettle"))).toBeFalse();
  });

  test("one that waits and is deleted is never worked on", async () => {
    const { gate, seen } = holdEmbedding("Kettle");
    const [first, second] = shop.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    shop.memories.remove(shop.projectId, second.id);
    gate.open();
    await shop.settled(first);
    const [note] = shop.accept({ content: "A note." });
    await shop.settled(note);
    expect(seen.has("Saucepan")).toBeFalse();
  });

  test("one that fails gives way to the next", async () => {
    shop.preparer.refuse = (content) => (content.startsWith("Kettle") ? new PrepareFailure("No.") : null);
    const [first, second] = shop.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await shop.settled(first, "failed");
    await shop.settled(second);
  });

  test("a stop loses none: the next worker completes both", async () => {
    const { gate } = holdEmbedding("Kettle");
    const [first, second] = shop.accept({ content: textOf("Kettle") }, { content: textOf("Saucepan") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const stopping = shop.worker.stop();
    gate.open();
    await stopping;
    shop.startWorker();
    await shop.settled(first);
    await shop.settled(second);
  });
});

describe("a file whose text turns out to be large", () => {
  /** A table whose text says the names of its columns with each row: some four times as long as the file. */
  const table = `kitchen saucepan,kitchen spoon\n${"1,2\n".repeat(LARGE_TEXT_BYTES / 8)}`;

  test("comes back when it is its turn, before those that came later, and is read twice at most", async () => {
    expect(table.length).toBeLessThan(LARGE_TEXT_BYTES);
    let reads = 0;
    shop.documents.before = () => {
      reads += 1;
    };
    const { gate, seen } = holdEmbedding("Kettle");
    const [first] = shop.accept({ content: textOf("Kettle") });
    await until("the first is being embedded", () => gate.waiting > 0);
    const bytes = Buffer.from(table);
    const file = await shop.files.begin();
    await file.write(bytes);
    await file.end();
    const source = { filename: "pans.csv", media_type: "text/csv", bytes: bytes.byteLength };
    const sha256 = createHash("sha256").update(bytes).digest();
    const [read] = shop.accept({ content: "", upload: { file: await shop.files.keep(file.path), sha256, source } });
    await until("it was read and put off", () => reads === 1 && shop.worker.progressOf(read.key).stage === "queued");
    const [later] = shop.accept({ content: textOf("Teapot") });
    gate.open();
    await shop.settled(first);
    await shop.settled(read);
    await shop.settled(later);
    const order = [...seen];
    const ofTable = order.findIndex((text) => text.includes("kitchen saucepan: 1"));
    expect(ofTable).not.toBe(-1);
    expect(ofTable).toBeLessThan(order.indexOf("Teapot"));
    expect(reads).toBe(2);
  });
});
