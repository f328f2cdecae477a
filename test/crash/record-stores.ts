// Stores of record without a server: a data directory that a test fills, closes as a kill would, damages, and opens
// again. Vectors are hashes of texts, so that no model is needed.

import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Closers } from "../../src/compose/closers.ts";
import { openEmbeddedStorage, repair } from "../../src/compose/storage.ts";
import { type Config, parseConfig } from "../../src/config.ts";
import { invariant } from "../../src/domain/fault.ts";
import type { MemoryId, ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { ChunkIndex } from "../../src/ports/chunk-index.ts";
import type { Stores } from "../../src/ports/transactions.ts";
import { HashEmbedder, hashVector } from "../ingest/ingest-harness.ts";
import { embeddersOf } from "../support/shipped-models.ts";

const embedder = new HashEmbedder();

/** Acknowledged contents by memory id; null for an acknowledged deletion. */
export type Oracle = Map<MemoryId, string | null>;

/** Open stores of a data directory. */
export interface RecordStores {
  readonly stores: Stores;
  readonly index: ChunkIndex;
  readonly projectId: ProjectId;
  /** Stores a memory that is not published. */
  accept(content: string): Promise<Memory>;
  /** Publishes all memories that wait, in one round. */
  publish(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a data directory as `mneme serve` does, without a worker. */
export async function openRecordStores(dataDir: string, settings: Partial<Config> = {}): Promise<RecordStores> {
  mkdirSync(dataDir, { recursive: true });
  const defaults = parseConfig(
    ["--data-dir", dataDir],
    {},
    { workingDirectory: dataDir, shippedModelsDirectory: () => "" },
  );
  const config = { ...defaults, ...settings };
  const log = createLog("silent");
  const closers = new Closers();
  try {
    const storage = await openEmbeddedStorage({ config, clock: systemClock, log }, closers);
    const index = await storage.openIndex(embeddersOf(embedder));
    await repair(storage, index, log);
    const { stores, transactions } = storage;
    const projectId = await stores.accounts.defaultProject();
    return {
      stores,
      index,
      projectId,
      accept: async (content) => {
        const [accepted] = await stores.memories.accept(projectId, [{ content }]);
        invariant(accepted !== undefined && "memory" in accepted, "the draft was accepted");
        return accepted.memory;
      },
      publish: async () => {
        const jobs = await stores.jobs.claim({ jobs: 1_000, contentBytes: 1_000_000, leaseMs: 60_000 });
        const project = await index.project(projectId);
        // as the publisher does: earlier texts leave the archive before it gets others
        const archived = await stores.history.archived(jobs.map(({ memory }) => memory.key));
        const texts = await index.contents([...archived.keys()]);
        for (const key of archived.keys()) await stores.history.keep(key, texts.get(key)?.content ?? null);
        await project.publish(
          jobs.map(({ memory, content }) => {
            const text = content ?? "";
            const end = [...text].length;
            return {
              ...{ memoryKey: memory.key, version: memory.version, content: text, language: "en" },
              chunks: [{ ordinal: 0, start: 0, end, headings: [], tokens: 8 }],
              texts: { searchText: () => text, contextText: () => "", passage: () => text },
              vectors: [{ fingerprint: embedder.fingerprint, vectors: hashVector(text) }],
              entities: { title: null, phrases: [] },
            } as never;
          }),
        );
        const extracted = { title: "T", type: "note", tags: [], language: "en" };
        await transactions.run(async (transaction) => {
          const completions = jobs.map((job) => ({ job, extracted, extractedBy: "local" as const, chunkCount: 1 }));
          await project.show(await transaction.jobs.complete(completions));
        });
      },
      close: () => closers.close(),
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Copies the files of a data directory while it is open: what `kill -9` would leave. */
export function copyAsKilled(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== "lock") cpSync(join(from, name), join(to, name), { recursive: true });
  }
}

/** What differs from the oracle: wrong, missing or returned memories. */
export async function wrongAnswers({ stores, index, projectId }: RecordStores, oracle: Oracle): Promise<string[]> {
  const wrong: string[] = [];
  for (const [id, expected] of oracle) {
    const memory = await stores.memories.get(projectId, id);
    if (expected === null) {
      if (memory !== null) wrong.push(`${id} was deleted and is back`);
      continue;
    }
    if (memory === null) {
      wrong.push(`${id} is lost`);
      continue;
    }
    if (memory.state.status === "failed") continue;
    const waiting = (await stores.memories.waitingContents([memory.key])).get(memory.key);
    const content = waiting ?? (await index.contents([memory.key])).get(memory.key)?.content;
    if (content !== undefined && content !== expected) wrong.push(`${id} has the text "${content}"`);
    if (content === undefined && memory.state.status === "completed") wrong.push(`${id} has no text`);
  }
  return wrong;
}
