// What a process that has a data directory does for a move of the data to another store.

import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { MovingActions } from "./control.ts";
import { packedPublications } from "./migration/publications.ts";
import type { Models } from "./models.ts";
import type { Storage } from "./storage.ts";

/** What moving the data of these stores needs; null if a node does not do that. */
export function movingOf(
  { closing, stores }: Pick<Storage, "closing" | "stores">,
  index: ChunkIndex,
  { preparer }: Pick<Models, "preparer">,
): MovingActions | null {
  if (closing === null) return null;
  return { closing, publications: (after) => packedPublications({ stores, index, preparer }, after) };
}
