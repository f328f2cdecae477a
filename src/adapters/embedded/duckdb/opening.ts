// Looks for lost commits of memories.duckdb before it is opened for writing, and refuses to open it if there are any.
// DuckDB itself drops the end of a log that was cut, and goes on without a log that was removed.

import { existsSync, rmSync, truncateSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Log } from "../../../kit/log.ts";
import { isMissingOrEmpty } from "../../../kit/missing-files.ts";
import { lossError, StoreError } from "../../../stores/store-error.ts";
import type { StoreQuarantine } from "../../../stores/store-quarantine.ts";

/** What the rows in mneme.sqlite know of the texts. */
export interface RowsRecord {
  /** Id of the data directory. */
  readonly storeId: string;
  /** Number of the newest commit of the texts that rows rely on. */
  readonly textsCommits: number;
  /** Number of the newest commit of the rows, now. */
  readonly commits: () => number;
}

/** The table `store` of the file. */
export interface TextsRecord {
  readonly storeId: string;
  /** Number of the newest commit. */
  readonly commits: number;
  /** Number of the newest commit of mneme.sqlite that the file has seen. */
  readonly rowsCommits: number;
}

/** What an inspection needs. */
export interface InspectionOptions {
  readonly path: string;
  readonly rows: RowsRecord;
  readonly log: Log;
  readonly quarantine: StoreQuarantine;
  /** Whether to go on with what is left, instead of refusing to open the file. */
  readonly acceptsLoss: boolean;
}

/**
 * Compares a file with the rows. Returns whether a loss was accepted; the file can be opened then.
 * @param identify reads the record of the file without changing the file; null if the file has none
 * @throws StoreError `lost` or `damaged` if the file lacks something, unless that is accepted
 */
export async function inspectTexts(
  options: InspectionOptions,
  identify: () => Promise<TextsRecord | null>,
): Promise<boolean> {
  const { path, rows, log, quarantine, acceptsLoss } = options;
  if (isMissingOrEmpty(path)) {
    const lost = rows.textsCommits > 0 ? `is missing or empty, and it had ${rows.textsCommits} commits` : null;
    if (lost !== null && !acceptsLoss) throw lossError(path, lost);
    quarantine.move(`${path}.wal`);
    rmSync(path, { force: true }); // an empty file is left by a first start that was killed
    return lost !== null;
  }
  let found: TextsRecord | null;
  try {
    found = await identify();
  } catch (error) {
    if (!acceptsLoss || !(error instanceof StoreError) || error.code !== "damaged") throw error;
    log.error({ path, quarantine: quarantine.directory, err: error }, `accepted loss: ${basename(path)} is damaged`);
    await salvage(options, error, identify);
    return true;
  }
  const loss = lossOf(options, found);
  if (loss === null) return false;
  if (!acceptsLoss) throw loss;
  quarantine.copy(path, `${path}.wal`);
  log.error({ path, quarantine: quarantine.directory }, `accepted loss: ${loss.message}`);
  return true;
}

function lossOf({ path, rows }: InspectionOptions, found: TextsRecord | null): StoreError | null {
  const missing = rows.textsCommits - (found?.commits ?? 0);
  if (missing > 0) {
    const last = lastCommits(missing);
    return lossError(
      path,
      `lacks ${last} of ${rows.textsCommits}: its log was removed, cut or damaged, or it is an older copy`,
    );
  }
  if (found === null) return null;
  if (found.storeId !== rows.storeId) return lossError(path, "belongs to another data directory than mneme.sqlite");
  const unseen = found.rowsCommits - rows.commits();
  if (unseen <= 0) return null;
  const last = lastCommits(unseen);
  return lossError(
    join(dirname(path), "mneme.sqlite"),
    `lacks ${last} of ${found.rowsCommits}, which memories.duckdb has seen: it is an older copy, or its log was lost`,
  );
}

function lastCommits(count: number): string {
  return count === 1 ? "its last commit" : `its last ${count} commits`;
}

// Cuts the log where it is damaged. If the file is still not readable, removes the log, and then the file.
async function salvage(
  { path, quarantine }: InspectionOptions,
  error: StoreError,
  identify: () => Promise<TextsRecord | null>,
): Promise<void> {
  const log = `${path}.wal`;
  quarantine.copy(path, log);
  const position = /entry at byte position (\d+)/.exec(String(error.cause))?.[1];
  if (existsSync(log) && position !== undefined) {
    truncateSync(log, Number(position));
    if (await isReadable(identify)) return;
  }
  rmSync(log, { force: true });
  if (await isReadable(identify)) return;
  rmSync(path, { force: true });
}

async function isReadable(identify: () => Promise<unknown>): Promise<boolean> {
  try {
    await identify();
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}
