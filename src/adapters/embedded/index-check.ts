// Compares the index of a project with its rows and its archived texts: which memories are incomplete, what is surplus,
// and which files are damaged.

import type { MemoryKey } from "../../domain/ids.ts";
import { counted } from "../../kit/counted.ts";
import { TimeSlice } from "../../kit/time-slice.ts";
import type { IndexFinding, IndexVerification } from "../../ports/chunk-index.ts";
import type { ArchivedChunkKeys } from "../../ports/text-archive.ts";
import type { Differences, NativeIndex } from "../native/addon-types.ts";
import type { SortedKeys } from "./sorted-keys.ts";

/** The difference between what a project's index should have and what it has. */
export interface Comparison extends Differences {
  /** Number of chunks that completed memories have in the archive. */
  readonly chunks: number;
  /** Completed memories without an archived chunk. */
  readonly missingTexts: readonly MemoryKey[];
  /** The completed memories that own these chunks. */
  readonly ownersOf: (chunkKeys: BigUint64Array) => readonly MemoryKey[];
}

/** Number of rows between two checks of the time slice. */
const SLICE_ROWS = 16_384;

/**
 * Compares the index with the archived chunks of the completed memories. Lets other work run between time slices,
 * because there may be millions.
 */
export async function compare(
  native: NativeIndex,
  archived: ArchivedChunkKeys,
  completed: SortedKeys,
): Promise<Comparison> {
  const slice = new TimeSlice();
  const expected = new BigUint64Array(archived.chunkKeys.length);
  const hasText = new Uint8Array(completed.size);
  let chunks = 0;
  let position = 0;
  for (let row = 0; row < archived.memoryKeys.length; row++) {
    if (row % SLICE_ROWS === 0) await slice.next();
    const found = completed.positionOf(archived.memoryKeys[row] ?? 0n, position);
    if (found < 0) continue;
    position = found;
    hasText[position] = 1;
    expected[chunks++] = archived.chunkKeys[row] ?? 0n;
  }
  const missingTexts: MemoryKey[] = [];
  for (let at = 0; at < hasText.length; at++) if (hasText[at] === 0) missingTexts.push(completed.at(at) as MemoryKey);
  return {
    ...(await native.reconcile(expected.subarray(0, chunks))),
    chunks,
    missingTexts,
    ownersOf: (chunkKeys) => ownersOf(chunkKeys, archived, completed),
  };
}

/** The completed memories that own these chunks. */
function ownersOf(chunkKeys: BigUint64Array, archived: ArchivedChunkKeys, completed: SortedKeys): readonly MemoryKey[] {
  if (chunkKeys.length === 0) return [];
  const wanted = new Set(chunkKeys);
  const found = new Set<bigint>();
  for (const [row, chunkKey] of archived.chunkKeys.entries()) {
    const owner = archived.memoryKeys[row] ?? 0n;
    if (wanted.has(chunkKey) && completed.has(owner)) found.add(owner);
  }
  return ([...found] as MemoryKey[]).sort((one, other) => (one < other ? -1 : 1));
}

/**
 * Compares the index with the archived chunks of the completed memories. A crash can leave surplus entries in the
 * native core: those of completed memories are removed when the memory is published again, all others now.
 * @returns the keys of completed memories that must be published again, and the number of memories that were removed
 */
export async function removeSurplus(
  native: NativeIndex,
  completed: SortedKeys,
  archived: ArchivedChunkKeys,
): Promise<{ readonly incomplete: Set<bigint>; readonly removed: number }> {
  const found = await compare(native, archived, completed);
  const incomplete = new Set<bigint>(found.missingTexts);
  for (const keys of [found.missingVectors, found.missingPostings, found.missingEntities]) {
    for (const owner of found.ownersOf(keys)) incomplete.add(owner);
  }
  const foreign = found.surplusMemories.filter((key) => !completed.has(key));
  if (foreign.length > 0) await native.remove(foreign);
  for (const key of found.surplusMemories) if (completed.has(key)) incomplete.add(key);
  return { incomplete, removed: foreign.length };
}

/** The findings of a comparison. `archived` has all chunks, also those of memories that are not completed. */
export function findingsOf(found: Comparison, archived: ArchivedChunkKeys): readonly IndexFinding[] {
  const known = new Set(archived.chunkKeys);
  const surplus = new Set([...found.extraVectors, ...found.extraPostings].filter((key) => !known.has(key)));
  const lacks = (kind: IndexFinding["kind"], chunkKeys: BigUint64Array, what: string): IndexFinding => ({
    kind,
    count: chunkKeys.length,
    memoryKeys: found.ownersOf(chunkKeys),
    path: null,
    detail: `${counted(chunkKeys.length, "chunk has", "chunks have")} no ${what}.`,
  });
  const findings: readonly IndexFinding[] = [
    {
      kind: "missing_texts",
      count: found.missingTexts.length,
      memoryKeys: found.missingTexts,
      path: null,
      detail: `${found.missingTexts.length} completed memories have no stored text.`,
    },
    lacks("missing_vectors", found.missingVectors, "vector"),
    lacks("missing_postings", found.missingPostings, "postings"),
    lacks("missing_entities", found.missingEntities, "entity record"),
    {
      kind: "surplus_chunks",
      count: surplus.size,
      memoryKeys: [],
      path: null,
      detail: `${counted(surplus.size, "chunk has", "chunks have")} vectors or postings, but no stored text.`,
    },
  ];
  return findings.filter(({ count }) => count > 0);
}

/** Reads all files of an open project and returns the findings. Changes and searches continue meanwhile. */
export async function checkFiles(
  native: NativeIndex,
  onProgress: (done: number, total: number) => void,
): Promise<Pick<IndexVerification, "findings">> {
  const { checked, orphaned } = await native.files();
  const total = checked.reduce((sum, { bytes }) => sum + bytes, 0);
  const findings: IndexFinding[] = [];
  let done = 0;
  onProgress(done, total);
  for (const { path, bytes } of checked) {
    const { damage } = await native.checkFile(path);
    if (damage !== undefined) findings.push(ofFile("damaged_file", path, `The file ${path} is damaged: ${damage}.`));
    done += bytes;
    onProgress(done, total);
  }
  for (const path of orphaned) findings.push(ofFile("orphaned_file", path, `Nothing refers to ${path}.`));
  return { findings };
}

function ofFile(kind: IndexFinding["kind"], path: string, detail: string): IndexFinding {
  return { kind, count: 1, memoryKeys: [], path, detail };
}
