// What a process that has a data directory does for a move of the data to another store, and for exports with vectors.

import { vectorReader } from "../ingest/imported-vectors.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { ControlParts } from "./control.ts";
import { packedPublications } from "./migration/publications.ts";
import type { Models } from "./models.ts";
import type { Storage } from "./storage.ts";

/** What moving and exporting the data of these stores needs. A node does not move data. */
export function copyingOf(
  { closing, stores }: Pick<Storage, "closing" | "stores">,
  index: ChunkIndex,
  { preparer }: Pick<Models, "preparer">,
): Pick<ControlParts, "moving" | "vectors"> {
  const publications = (after: string) => packedPublications({ stores, index, preparer }, after);
  const { jobs, extractions } = stores;
  return {
    moving: closing === null ? null : { closing, publications },
    vectors: vectorReader({ jobs, extractions, index, preparer }),
  };
}
