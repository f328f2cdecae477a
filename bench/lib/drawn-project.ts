// A project whose vectors are drawn (pseudo-random). A server imports it like any export with vectors, so that
// ingestion and search can be measured without waiting for an embedder.

import { createHash } from "node:crypto";
import { commandsTo } from "../../src/compose/control-socket.ts";
import { timeOrderedId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { ExportRecord, RecordOf } from "../../src/domain/project-export.ts";
import type { Passage } from "./passages.ts";

/** What a drawn project consists of. */
export interface DrawnProject {
  readonly name: string;
  /** Unix milliseconds: when project and memories were created. */
  readonly createdAt: number;
  readonly passages: Iterable<Passage>;
  /** The texts that the model reads of the chunks of each passage. */
  readonly chunkTexts: (passages: readonly Passage[]) => Promise<readonly (readonly string[])[]>;
  /** Called with the number of passages whose records were made. */
  readonly onProgress?: (passages: number) => void;
  /** SHA-256 of the texts of all chunks of a memory, as an export with vectors has it. */
  readonly inputsSha256: (texts: readonly string[]) => string;
  /** Fingerprint of the model of the server, whose vectors the drawn ones replace, and their length. */
  readonly fingerprint: string;
  readonly dimensions: number;
  /** Returns the next unit vectors, row-major. */
  readonly draw: (rows: number) => Float32Array;
}

/** Passages that are prepared at once. */
const BATCH = 256;
const ID_RANDOM_BYTES = 10;

/**
 * Imports a drawn project into the server that runs on a data directory. Its memories are indexed from then on.
 * @returns the id of the project, and its number of chunks
 * @throws Error if the server refuses it
 */
export async function importDrawnProject(dataDir: string, drawn: DrawnProject) {
  let chunks = 0;
  const records = recordsOf({
    ...drawn,
    draw: (rows) => {
      chunks += rows;
      return drawn.draw(rows);
    },
  });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await records.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
    },
  });
  const response = await commandsTo(dataDir)(new Request("http://mneme/import", { method: "POST", body }));
  if (response.status !== 200) throw new Error(`The project could not be imported: ${await response.text()}`);
  const { projectId } = (await response.json()) as { readonly projectId: string };
  return { projectId, chunks };
}

/** The records of the project: what an export has between its first and its last line. */
async function* recordsOf(drawn: DrawnProject): AsyncGenerator<ExportRecord> {
  const { name, createdAt } = drawn;
  let made = 0;
  yield {
    type: "project",
    id: newId("prj", createdAt),
    ...{ name, plan: "enterprise", created_at: createdAt, settings: DEFAULT_SETTINGS },
  };
  for (const batch of batchesOf(drawn.passages)) {
    const texts = await drawn.chunkTexts(batch);
    for (const [at, passage] of batch.entries()) {
      const memory = memoryOf(passage, createdAt);
      const ofMemory = texts[at] ?? [];
      yield memory;
      yield {
        type: "vectors",
        memory_id: memory.id,
        model: drawn.fingerprint,
        dimensions: drawn.dimensions,
        inputs_sha256: drawn.inputsSha256(ofMemory),
        first: 0,
        data: Buffer.from(drawn.draw(ofMemory.length).buffer).toString("base64"),
      };
    }
    made += batch.length;
    drawn.onProgress?.(made);
  }
}

function memoryOf({ id, title, content, userId, metadata, type }: Passage, createdAt: number): RecordOf<"memory"> {
  return {
    type: "memory",
    id: newId("mem", createdAt),
    status: "completed",
    content,
    content_sha256: createHash("sha256").update(content).digest("hex"),
    ...{ title, kind: type, tags: null, language: null },
    given: [...(title === null ? [] : (["title"] as const)), ...(type === null ? [] : (["type"] as const))],
    extraction: null,
    // metadata of generated passages and of JSON files is JSON
    metadata: metadata as JsonObject,
    ...{ userId, externalId: id, created_at: createdAt, updated_at: createdAt },
    ...{ expires_at: null, occurred_at: null, source: null, has_file: false, error: null },
    tokens: { prompt: 0, completion: 0 },
    ...{ llm_extraction: null, document: null },
  };
}

function newId(prefix: "prj" | "mem", nowMs: number): string {
  return `${prefix}_${timeOrderedId(nowMs, crypto.getRandomValues(new Uint8Array(ID_RANDOM_BYTES)))}`;
}

function* batchesOf(passages: Iterable<Passage>): Generator<readonly Passage[]> {
  let batch: Passage[] = [];
  for (const passage of passages) {
    batch.push(passage);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
