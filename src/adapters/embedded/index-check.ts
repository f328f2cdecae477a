// Compares the index of a project with its rows and its archived texts: which memories are incomplete, what is surplus,
// and which files are damaged.

import type { MemoryKey } from "../../domain/ids.ts";
import type { IndexFinding, IndexVerification } from "../../ports/chunk-index.ts";
import type { ArchivedChunkKeys } from "../../ports/text-archive.ts";
import type { Differences } from "../native/addon-types.ts";
import type { ProjectIndex as NativeIndex } from "../native/core.ts";

/** The difference between what a project's index should have and what it has. */
export interface Comparison extends Differences {
  /** Number of chunks that completed memories have in the archive. */
  readonly chunks: number;
  /** Completed memories without an archived chunk. */
  readonly missingTexts: readonly MemoryKey[];
  /** Memories that own these chunks, which are chunks of completed memories. */
  readonly ownersOf: (chunkKeys: BigUint64Array) => readonly MemoryKey[];
}

/** Compares the index with the archived chunks of the completed memories. */
export async function compare(
  native: NativeIndex,
  archived: ArchivedChunkKeys,
  completed: ReadonlySet<bigint>,
): Promise<Comparison> {
  const positions = [...archived.memoryKeys.keys()].filter((at) => completed.has(archived.memoryKeys[at] ?? 0n));
  const expected = BigUint64Array.from(positions, (at) => archived.chunkKeys[at] ?? 0n);
  const owners = new Map(positions.map((at) => [archived.chunkKeys[at] ?? 0n, archived.memoryKeys[at] ?? 0n]));
  const withTexts = new Set(owners.values());
  return {
    ...(await native.reconcile(expected)),
    chunks: expected.length,
    missingTexts: [...completed].filter((key) => !withTexts.has(key)) as MemoryKey[],
    ownersOf: (chunkKeys) => {
      const found = new Set([...chunkKeys].flatMap((key) => owners.get(key) ?? []));
      return ([...found] as MemoryKey[]).sort((one, other) => (one < other ? -1 : 1));
    },
  };
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
    detail: `${chunkKeys.length === 1 ? "1 chunk has" : `${chunkKeys.length} chunks have`} no ${what}.`,
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
      detail: `${surplus.size === 1 ? "1 chunk has" : `${surplus.size} chunks have`} vectors or postings, but no stored text.`,
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
