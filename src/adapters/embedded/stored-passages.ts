// Reads passages from the text index.

import type { ChunkKey, ProjectId } from "../../domain/ids.ts";
import type { Log } from "../../kit/log.ts";
import type { Passage } from "../../ports/chunk-index.ts";
import type { NativeIndex } from "../native/addon-types.ts";
import { unpackPlace } from "./chunk-place.ts";

/** Where damaged passages of a project are reported. */
export interface DamageReports {
  readonly projectId: ProjectId;
  readonly log: Log;
  /** Called with the number of damaged passages. */
  readonly countDamaged?: ((passages: number) => void) | undefined;
}

/**
 * The passages of chunks, in the order of the keys; null for a chunk that does not exist or whose passage is damaged.
 * Damaged passages are reported.
 */
export async function storedPassages(
  native: NativeIndex,
  chunkKeys: BigUint64Array,
  { projectId, log, countDamaged }: DamageReports,
): Promise<readonly (Passage | null)[]> {
  const stored = await native.passages(chunkKeys);
  let damaged = 0;
  const passages = stored.map((passage, position) => {
    if (passage === null) return null;
    const place = unpackPlace(passage.place, passage.text);
    if (place === null) damaged += 1;
    return place === null ? null : { chunkKey: (chunkKeys[position] ?? 0n) as ChunkKey, text: passage.text, place };
  });
  if (damaged > 0) {
    log.error({ projectId, damaged }, "stored passages are damaged: run `mneme reindex`");
    countDamaged?.(damaged);
  }
  return passages;
}
