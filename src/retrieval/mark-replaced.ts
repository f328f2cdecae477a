// Marks candidates that a newer one has probably replaced, so that the newer one is placed before them and answers do
// not quote both. Runs on the final order, before calibration.

import type { RankedPassage } from "../domain/ranking.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import { type ComparedNote, readQuestion, replacedAmong } from "./replaced.ts";
import type { Search } from "./request.ts";

/** Number of best candidates that are compared. */
const COMPARED_MAX = 20;
/** Maximum length of a note, in UTF-16 code units. Longer passages are documents. */
const NOTE_UNITS_MAX = 400;

/** Number of best candidates that must be hydrated to compare notes; 0 if there is no note among those that are. */
export function comparedNotes(hydrated: ReadonlyMap<bigint, Hydrated>): number {
  const hasNote = hydrated.values().some(({ memory, passage }) => isStatement({ memory, ...passage }));
  return hasNote ? COMPARED_MAX : 0;
}

/**
 * Returns the candidates. Those that are probably replaced have the key of the replacing passage in `supersededBy`.
 * Only short memories of the same user and agent replace each other: memories of one chunk that are no turns of
 * conversations. If the query names a span of time, none is marked.
 */
export async function markReplaced(
  { request, language, time, index, embedder }: Search,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): Promise<readonly Candidate[]> {
  if (time !== null && time.kind !== "event") return candidates;
  const question = readQuestion({ text: request.query, language });
  if (question === null) return candidates;
  const compared = candidates.slice(0, COMPARED_MAX).filter(({ chunkKey }) => {
    const found = hydrated.get(chunkKey);
    return found !== undefined && isStatement({ memory: found.memory, ...found.passage });
  });
  if (compared.length < 2) return candidates;
  const { replacement } = embedder.tuning;
  const vectors =
    replacement === null
      ? null
      : await index.storedVectors(embedder.fingerprint, {
          chunkKeys: BigUint64Array.from(compared, ({ chunkKey }) => chunkKey),
          memoryKeys: BigUint64Array.from(compared, ({ memoryKey }) => memoryKey),
        });
  const notes = compared.map(({ chunkKey, signals: { vector } }, at): ComparedNote | null => {
    const found = hydrated.get(chunkKey);
    if (found === undefined) return null;
    const { memory, passage } = found;
    const own = vectors?.subarray(
      (at * vectors.length) / compared.length,
      ((at + 1) * vectors.length) / compared.length,
    );
    return {
      ...{ text: passage.text, language: memory.language ?? "und", dated: memory },
      owner: JSON.stringify([memory.userKey === null ? null : String(memory.userKey), memory.agentId]),
      ...{ rank: vector?.rank ?? null, cosine: vector?.score ?? null },
      vector: own === undefined || own.some(Number.isNaN) ? null : own,
    };
  });
  const replacedBy = new Map<bigint, Candidate>();
  for (const { older, newer } of replacedAmong(question, notes, replacement)) {
    const [before, after] = [compared[older], compared[newer]];
    if (before !== undefined && after !== undefined) replacedBy.set(before.chunkKey, after);
  }
  return candidates.map((candidate) => {
    const newer = replacedBy.get(candidate.chunkKey);
    return newer === undefined ? candidate : { ...candidate, supersededBy: newer.chunkKey };
  });
}

/** Whether a passage is a short memory of one chunk, and no turn. */
export function isStatement({ memory, text, place }: Pick<RankedPassage, "memory" | "text" | "place">): boolean {
  const isWhole = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWhole && place.turn === undefined && text.length <= NOTE_UNITS_MAX;
}
