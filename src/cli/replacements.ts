// Records that had been replaced by others in the product that an import reads. They are imported if the replacement is
// known, and are marked as superseded by it. Only the end of the export shows which record is the replacement.

import type { ImportedMemory } from "../importers/imported.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import type { Tally } from "./batch-sender.ts";
import { type Client, RequestRefused } from "./client.ts";

/** Milliseconds between two reads of a memory that is being processed. */
const POLL_MS = 500;

/** A memory that was replaced, and the one that replaced it. */
interface Replacement {
  readonly older: ImportedMemory;
  readonly newer: ImportedMemory["memory"];
}

/** Collects the replaced records of an export, and finds their replacements. */
export class Replacements {
  readonly #held: ImportedMemory[] = [];
  /**
   * The replacement of the records with a mark (`replacedAs`); null if several have the mark, so that it is unknown.
   */
  readonly #byMark = new Map<string, ImportedMemory | null>();
  /** Ids on the server by `externalId`. */
  readonly #ids = new Map<unknown, string>();
  #found: readonly Replacement[] = [];

  /** Notes what a memory replaces. Returns whether it was replaced itself, and so is held back until `decide`. */
  note(memory: ImportedMemory): boolean {
    const kept: ImportedMemory = { ...memory, mapped: [], unplaced: [], memory: { ...memory.memory, content: "" } };
    for (const mark of memory.replaces ?? []) this.#byMark.set(mark, this.#byMark.has(mark) ? null : kept);
    if (memory.replacedAs === undefined) return false;
    this.#held.push(memory);
    return true;
  }

  /** Whether the id of a stored memory is needed. */
  concerns({ replaces, replacedAs }: ImportedMemory): boolean {
    return replaces !== undefined || replacedAs !== undefined;
  }

  /** Notes the id of a stored memory. */
  stored({ memory }: ImportedMemory, id: string): void {
    this.#ids.set(memory.externalId, id);
  }

  /** Splits the memories that were held back: those whose replacement is imported, and those without a known one. */
  decide(): { readonly replaced: readonly ImportedMemory[]; readonly unknown: readonly ImportedMemory[] } {
    const pairs = new Map<ImportedMemory, ImportedMemory>();
    for (const older of this.#held) {
      const newer = this.#newerOf(older);
      if (newer !== null) pairs.set(older, newer);
    }
    const [replaced, unknown] = [
      this.#held.filter((each) => pairs.has(each)),
      this.#held.filter((each) => !pairs.has(each)),
    ];
    this.#found = replaced.flatMap((older) => {
      const newer = pairs.get(older);
      return newer === undefined ? [] : { older, newer: newer.memory };
    });
    return { replaced, unknown };
  }

  /** Marks the replaced memories as superseded. Returns their number. @throws Error if the server cannot be reached */
  async mark(client: Client, tally: Tally): Promise<number> {
    let marked = 0;
    for (const { older, newer } of this.#found) {
      const [olderId, newerId] = [this.#ids.get(older.memory.externalId), this.#ids.get(newer.externalId)];
      if (olderId === undefined || newerId === undefined) continue; // one of them was refused, which was reported
      try {
        await supersede(client, olderId, newerId);
        marked++;
      } catch (error) {
        if (!(error instanceof RequestRefused)) throw error;
        tally.refuse(older.place, `was stored, but not marked as replaced: ${error.message}`);
      }
    }
    return marked;
  }

  /** The record that directly replaced another one, if it is imported; otherwise null. */
  #newerOf(older: ImportedMemory): ImportedMemory | null {
    const seen = new Set<unknown>([older.memory.externalId]);
    const direct = this.#byMark.get(older.replacedAs ?? "") ?? null;
    // the replacement may have been replaced, too: it is imported only if this chain ends
    for (let next = direct; next !== null; next = this.#byMark.get(next.replacedAs ?? "") ?? null) {
      if (seen.has(next.memory.externalId)) return null;
      seen.add(next.memory.externalId);
      if (next.replacedAs === undefined) return direct;
    }
    return null;
  }
}

/** Says that one memory supersedes another, unless a person has said so already. */
async function supersede(client: Client, olderId: string, newerId: string): Promise<void> {
  await relationsOf(client, olderId);
  const relations = await relationsOf(client, newerId);
  const isSaid = relations.some(
    ({ type, memory_id, by }) => type === "supersedes" && memory_id === olderId && by === "person",
  );
  if (isSaid) return;
  const relate = (id: unknown, type: string) =>
    client.send("PUT", `/v1/memories/${newerId}/relations`, { memory_id: id, type });
  try {
    await relate(olderId, "supersedes");
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status !== 409) throw error;
    // If the memories have no times, the server may have found the opposite relation. The source is right.
    const wrong = (await relationsOf(client, newerId)).filter(
      ({ type, by }) => type === "superseded_by" && by !== "person",
    );
    for (const { memory_id } of wrong) await relate(memory_id, "none");
    await relate(olderId, "supersedes");
  }
}

/** The relations of a memory, after it was processed. */
async function relationsOf(client: Client, id: string): Promise<readonly JsonRecord[]> {
  for (;;) {
    const { status, relations } = await client.send("GET", `/v1/memories/${id}`);
    if (status !== "processing") return Array.isArray(relations) ? relations.filter(isRecord) : [];
    await client.clock.sleep(POLL_MS);
  }
}
