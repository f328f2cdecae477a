// Memories whose long text waits in a file: what happens if the file is damaged before it is read.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { flipBit } from "../support/damage.ts";
import { type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const TEXT = "Der Käse reift im Keller.";
const errorOf = (memory: Memory) => (memory.state.status === "failed" ? memory.state.error : null);

/** Keeps a text in a file, as a request with a large body does, and applies a damage to the file. */
async function draftInFile(damage: (path: string) => void): Promise<MemoryDraft & { readonly externalId: string }> {
  const bytes = Buffer.from(TEXT);
  const incoming = await harness.files.begin();
  await incoming.write(bytes);
  await incoming.end();
  const file = await harness.files.keep(incoming.path);
  damage(harness.files.pathOf(file));
  const sha256 = createHash("sha256").update(bytes).digest();
  return { content: "", externalId: "e", upload: { file, bytes: bytes.byteLength, sha256, source: null } };
}

async function accept(damage: (path: string) => void): Promise<Memory> {
  const [memory] = await harness.accept(await draftInFile(damage));
  return memory;
}

const intact = () => undefined;
const DAMAGED = { code: "unreadable_document", message: "The stored text of this memory is damaged. Send it again." };
const MISSING = { code: "processing_error", message: "The text of this memory is no longer stored. Send it again." };

describe("a text in a file", () => {
  test("becomes searchable if the file is intact", async () => {
    await harness.settled(await accept(intact));
    expect(await harness.searchable()).toEqual([TEXT]);
  });

  const damages: readonly (readonly [string, (path: string) => void, { code: string; message: string }])[] = [
    ["has a flipped bit", (path) => flipBit(path, 24), DAMAGED],
    ["is shortened", (path) => truncateSync(path, 7), DAMAGED],
    ["is empty", (path) => truncateSync(path, 0), DAMAGED],
    ["is longer", (path) => writeFileSync(path, "!", { flag: "a" }), DAMAGED],
    ["is missing", (path) => rmSync(path), MISSING],
  ];
  for (const [damage, apply, error] of damages) {
    test(`fails with the reason if the file ${damage}, and can be sent again`, async () => {
      const memory = await accept(apply);
      const failed = await harness.settled(memory, "failed");
      expect(errorOf(failed)).toEqual(error as ReturnType<typeof errorOf>);
      expect(await harness.searchable()).toEqual([]);
      expect((await accept(intact)).id).toBe(memory.id);
      await harness.settled(memory);
      expect(await harness.searchable()).toEqual([TEXT]);
    });
  }
});
