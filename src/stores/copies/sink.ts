// The destination of the parts of a copy (domain/store-copy.ts): a data directory (adapters/embedded/copies) or a
// database (stores/postgres/copies).

import type { FilledPart } from "../../domain/store-copy.ts";

/** Writes parts in their order. An unfinished copy of the same source can be continued. */
export interface CopySink {
  /** Number of parts that are written, so the number of the next part. */
  readonly partsDone: number;
  /** Writes part `number`; the first one has number 0. @throws Error if the part does not fit the schema */
  write(part: FilledPart, number: number): Promise<void>;
  /** Writes what is left of the last part. */
  endParts(): Promise<void>;
  /** After the last part: reads the written stores again, to compare them with what was sent. */
  writtenParts(): AsyncGenerator<FilledPart>;
  /** Makes the copy usable. @throws StoreError if the stores do not fit together */
  finish(): Promise<void>;
  /** Ends the work after a failure. The copy can be continued later. */
  abandon(): Promise<void>;
}
