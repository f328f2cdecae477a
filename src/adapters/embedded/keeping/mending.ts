// Repairs of `mneme verify --repair` in the stores of record. What cannot be computed again goes to the quarantine, and
// a memory whose text is lost becomes `failed`, so that it does not pass for complete.

import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { DefectKind, Repair } from "../../../domain/verification.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { MemoryStore } from "../../../ports/memory-store.ts";
import type { UploadFiles } from "../../../ports/upload-files.ts";
import type { Archive } from "../duckdb/archive.ts";
import type { SqliteStores } from "../sqlite/stores.ts";
import type { StoreQuarantine } from "../store-quarantine.ts";
import type { FoundDefect } from "./verification.ts";

/** Defects per step. */
const STEP = 500;
/**
 * Minimum age of a file without a memory in milliseconds: the row of a younger one may not be committed yet. The same
 * is true of a file of the index that nothing refers to.
 */
export const ORPHAN_AGE_MS = 60_000;
/** File in the quarantine: one JSON object with key, version and content per text. */
const LOST_TEXTS_FILE = "lost-texts.jsonl";

/** Message of a memory whose text is lost. */
export const LOST_TEXT = "The text of this memory was lost with a damaged file. Send it again.";
const LOST_UPLOAD = "The file of this memory was lost or damaged before its text was stored. Send it again.";

/**
 * Marks a memory as failed; run it with `FailValues`. Only the version that was compared: a memory that was changed
 * meanwhile has another text by now.
 */
export const FAIL = `UPDATE memories SET status = 'failed', chunk_count = 0, error_code = 'processing_error',
    error_message = $message, lease = NULL, updated_at = $now
  WHERE memory_key = $key AND version = $version AND deleted_at IS NULL`;
const FAIL_COMPLETED = `${FAIL} AND status = 'completed'
  RETURNING (SELECT id FROM projects WHERE projects.project_key = memories.project_key) AS project`;
const FORGET_FILE = `UPDATE memories SET
    source = CASE WHEN source ->> '$.filename' IS NULL THEN NULL ELSE json_remove(source, '$.file') END
  WHERE memory_key = $key AND version = $version AND source ->> '$.file' = $file`;

/** What the repairs need. */
export interface MendingParts {
  readonly stores: Pick<SqliteStores, "write"> & { readonly memories: Pick<MemoryStore, "unreferencedFiles"> };
  readonly archive: Pick<Archive, "contents" | "remove">;
  readonly files: Pick<UploadFiles, "names" | "pathOf">;
  readonly quarantine: StoreQuarantine;
  readonly clock: Pick<Clock, "now">;
}

/** What was repaired, and the memories that became `failed`: they have to leave the index. */
export interface Mended {
  readonly repairs: readonly Repair[];
  readonly failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>;
}

/** Repairs what a comparison found. It can be repeated. */
export async function mend(parts: MendingParts, found: readonly FoundDefect[]): Promise<Mended> {
  const byKind = Map.groupBy(found, ({ kind }) => kind);
  const of = (...kinds: readonly DefectKind[]) => kinds.flatMap((kind) => byKind.get(kind) ?? []);
  const repairs: Repair[] = [];
  const note = (kind: DefectKind, count: number, detail: string) => {
    if (count > 0) repairs.push({ kind, count, is_repaired: true, detail });
  };
  const place = parts.quarantine.directory;

  const failed = new Map<ProjectId, MemoryKey[]>();
  for (const kind of ["missing_text", "other_version", "wrong_text"] as const) {
    let count = 0;
    for (const step of stepsOf(of(kind))) count += await failCompleted(parts, step, failed);
    const kept = kind === "missing_text" ? "" : `; the texts that were found are in ${place}/${LOST_TEXTS_FILE}`;
    note(kind, count, `${count} memories are marked as failed, because their text is lost${kept}`);
  }
  const surplus = of("surplus_text").flatMap(({ memoryKey }) => memoryKey ?? []) as MemoryKey[];
  await setTextsAside(parts, surplus);
  note("surplus_text", surplus.length, `${surplus.length} texts were moved to ${place}/${LOST_TEXTS_FILE}`);

  const uploads = of("missing_upload");
  for (const step of stepsOf(uploads)) await failUploads(parts, step);
  note("missing_upload", uploads.length, `${uploads.length} memories are marked as failed, because their file is lost`);

  const names = of("surplus_upload").flatMap(({ file }) => file ?? []);
  const old = new Set(await parts.files.names(ORPHAN_AGE_MS));
  const orphans = await parts.stores.memories.unreferencedFiles(names.filter((name) => old.has(name)));
  parts.quarantine.move(...orphans.map((name) => parts.files.pathOf(name)));
  note("surplus_upload", orphans.length, `${orphans.length} uploaded files were moved to ${place}`);
  return { repairs, failed };
}

async function failCompleted(
  parts: MendingParts,
  defects: readonly FoundDefect[],
  failed: Map<ProjectId, MemoryKey[]>,
): Promise<number> {
  const now = parts.clock.now();
  const changed = await parts.stores.write((database) => {
    const fail = database.prepare<{ project: string }, FailValues>(FAIL_COMPLETED);
    return defects.flatMap(({ memoryKey: key = 0n, version = 0n }) => {
      const row = fail.get({ key, version, message: LOST_TEXT, now });
      return row === null ? [] : [{ key: key as MemoryKey, project: row.project as ProjectId }];
    });
  });
  for (const { key, project } of changed) failed.set(project, [...(failed.get(project) ?? []), key]);
  await setTextsAside(
    parts,
    changed.map(({ key }) => key),
  );
  return changed.length;
}

/** Moves texts to the quarantine, so that no earlier one is indexed as the text of a failed memory. */
export async function setTextsAside(
  { archive, quarantine }: Pick<MendingParts, "archive" | "quarantine">,
  memoryKeys: readonly MemoryKey[],
): Promise<void> {
  for (const keys of stepsOf(memoryKeys)) {
    for (const [key, { version, content }] of await archive.contents(keys)) {
      quarantine.append(LOST_TEXTS_FILE, JSON.stringify({ memory_key: String(key), version, content }));
    }
    await archive.remove(keys);
  }
}

async function failUploads(parts: MendingParts, defects: readonly FoundDefect[]): Promise<void> {
  const now = parts.clock.now();
  const forgotten = await parts.stores.write((database) =>
    defects.flatMap(({ memoryKey: key = 0n, version = 0n, file = "" }) => {
      const isSame = database.prepare<never, FileValues>(FORGET_FILE).run({ key, version, file }) > 0;
      if (!isSame) return [];
      database.prepare<never, FailValues>(FAIL).run({ key, version, message: LOST_UPLOAD, now });
      // the empty content of a text in a file must not be processed by a retry
      database
        .prepare<never, { key: bigint }>("DELETE FROM waiting_contents WHERE memory_key = $key AND content = ''")
        .run({ key });
      return [{ key: key as MemoryKey, path: parts.files.pathOf(file) }];
    }),
  );
  parts.quarantine.move(...forgotten.map(({ path }) => path));
  await setTextsAside(
    parts,
    forgotten.map(({ key }) => key),
  );
}

/** Values of `FAIL`. */
export type FailValues = {
  readonly key: bigint;
  readonly version: bigint;
  readonly message: string;
  readonly now: number;
};
type FileValues = { readonly key: bigint; readonly version: bigint; readonly file: string };

function* stepsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let first = 0; first < items.length; first += STEP) yield items.slice(first, first + STEP);
}
