// Opens a data directory whose data is moved, or exported with vectors.

import type { Config } from "../../config.ts";
import { vectorReader } from "../../ingest/imported-vectors.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { ChunkIndex } from "../../ports/chunk-index.ts";
import type { ControlOptions } from "../control.ts";
import { type DataDirectory, openDataDirectory } from "../data-directory.ts";
import { type Models, startPreparation } from "../models.ts";
import type { Storage } from "../storage.ts";
import { packedPublications } from "./publications.ts";

/** The actions that move and export the data of these stores. A node of several cannot move it: `moving` is null. */
export function copyingOf(
  { closing, stores }: Pick<Storage, "closing" | "stores">,
  index: ChunkIndex,
  { preparer }: Pick<Models, "preparer">,
): Pick<ControlOptions, "moving" | "vectors"> {
  const publications = (after: string) => packedPublications({ stores, index, preparer }, after);
  const { jobs, extractions } = stores;
  return {
    moving: closing === null ? null : { closing, publications },
    vectors: vectorReader({ jobs, extractions, index, preparer }),
  };
}

/**
 * Opens a data directory, whether or not a server runs on it. Without one, indexes are opened for the embedded store
 * only.
 * @throws UsageError if the directory has no data of Mneme; StoreError, NativeError or ModelFilesError if it cannot be
 *   opened
 */
export function openSourceDirectory(config: Config, clock: Clock, log: Log): Promise<DataDirectory> {
  return openDataDirectory(config, clock, log, async (storage, closers) => {
    if (config.store !== null) return {};
    const { preparer, embedders } = startPreparation({ config, log }, closers);
    return copyingOf(storage, await storage.openIndex(embedders), { preparer });
  });
}

/**
 * Allows changes of a data directory again, after a move that was given up.
 * @throws UsageError, StoreError or NativeError if it cannot be opened
 */
export async function reopenDirectory(config: Config, clock: Clock, log: Log): Promise<void> {
  await using directory = await openSourceDirectory(config, clock, log);
  await directory.ask("POST", "/reopen");
}
