// Repairs the stores after an operator has accepted that rows or texts are lost: memories whose text is lost become
// `failed`, and a text goes to the quarantine if its memory is lost, or if only an older text of the memory is left.

import type { MemoryKey } from "../../domain/ids.ts";
import type { Log } from "../../kit/log.ts";
import { FAIL, type FailValues, LOST_TEXT, setTextsAside } from "../../stores/copies/repair.ts";
import type { SqliteStores } from "../../stores/sqlite/stores.ts";
import type { StoreQuarantine } from "../../stores/store-quarantine.ts";
import type { Archive } from "./duckdb/archive.ts";

/** Compares rows and texts, and removes their contradictions. */
export async function acceptLoss(
  stores: Pick<SqliteStores, "write">,
  archive: Archive,
  quarantine: StoreQuarantine,
  { log, now }: { readonly log: Log; readonly now: number },
): Promise<void> {
  const versions = await archive.versions();
  const { lost, known } = await stores.write((database) => {
    const rows = database
      .prepare<{ memory_key: bigint; version: bigint; status: string; deleted_at: bigint | null }>(
        "SELECT memory_key, version, status, deleted_at FROM memories",
      )
      .all({});
    const withoutText = rows.filter(
      ({ memory_key, version, status, deleted_at }) =>
        status === "completed" && deleted_at === null && versions.get(memory_key) !== Number(version),
    );
    const fail = database.prepare<never, FailValues>(FAIL);
    for (const { memory_key: key, version } of withoutText) fail.run({ key, version, message: LOST_TEXT, now });
    const keysOf = (memories: typeof rows) => new Set(memories.map(({ memory_key }) => memory_key));
    return { lost: keysOf(withoutText), known: keysOf(rows) };
  });
  // an older text must not be indexed again as the text of the failed memory
  const surplus = [...versions.keys()].filter((key) => lost.has(key) || !known.has(key)) as MemoryKey[];
  await setTextsAside({ archive, quarantine }, surplus);
  if (lost.size + surplus.length > 0) {
    log.error(
      { memories: lost.size, texts: surplus.length, quarantine: quarantine.directory },
      "accepted loss: memories without their text have failed, and texts without their memory are in the quarantine, " +
        "which the next purge empties",
    );
  }
}
