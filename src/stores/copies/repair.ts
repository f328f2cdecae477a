// Repairs of `mneme verify --repair` in the stores of record. Data that cannot be computed again is moved to the
// quarantine. A memory whose text is lost becomes `failed`, so that it does not look complete.

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { DefectKind, Repair } from "../../domain/verification.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MemoryStore } from "../../ports/memory-store.ts";
import type { TextArchive } from "../../ports/text-archive.ts";
import type { UploadFiles } from "../../ports/upload-files.ts";
import type { Dialect } from "../dialect.ts";
import { RelationRows } from "../relations/relation-rows.ts";
import { storedSource } from "../rows/memory.ts";
import { keptFileOf, setSource, sourceColumns } from "../rows/memory-file.ts";
import { systemRandom } from "../rows/random.ts";
import type { InTransaction } from "../session.ts";
import type { FoundDefect } from "./verification.ts";

/** Number of defects that one step repairs. */
const STEP = 500;
/**
 * Minimum age in milliseconds of a file that counts as orphaned, uploaded or of the index. What refers to a younger one
 * may not be committed yet.
 */
export const ORPHAN_AGE_MS = 60_000;
/** File in the quarantine: one JSON object with key, version and content per text. */
const LOST_TEXTS_FILE = "lost-texts.jsonl";

/** Message of a memory whose text is lost. */
export const LOST_TEXT = "The text of this memory was lost with a damaged file. Send it again.";
const LOST_UPLOAD = "The file of this memory was lost or damaged before its text was stored. Send it again.";

/**
 * Marks a memory as failed; run it with `FailValues`. It applies only to the version that was compared, because a
 * memory that was changed since has another text.
 */
export const FAIL = `UPDATE memories SET status = 'failed', chunk_count = 0, error_code = 'processing_error',
    error_message = $message, lease = NULL, updated_at = $now
  WHERE memory_key = $key AND version = $version AND deleted_at IS NULL`;
const FAIL_COMPLETED = `${FAIL} AND status = 'completed'
  RETURNING (SELECT id FROM projects WHERE projects.project_key = memories.project_key) AS project`;
const SOURCE_OF = "SELECT source FROM memories WHERE memory_key = $key AND version = $version";
const SET_SOURCE = (dialect: Dialect) => `UPDATE memories SET ${setSource(dialect)} WHERE memory_key = $key`;
// `$file` may have been replaced since it was compared
const FORGET_ORIGINAL = `UPDATE memories SET original_file = NULL, original_bytes = 0
  WHERE memory_key = $key AND original_file = $file RETURNING memory_key`;
const FORGET_EMPTY = "DELETE FROM waiting_contents WHERE memory_key = $key AND content = ''";

const FORGET_EARLIER = ({ isIn }: Dialect) => `DELETE FROM earlier_texts
  WHERE memory_key ${isIn("keys")} AND content IS NULL`;
const removeStrays =
  (table: "relations" | "earlier_relations") =>
  ({ isIn }: Dialect) =>
    `DELETE FROM ${table}
  WHERE memory_key ${isIn("keys")} AND EXISTS (SELECT 1 FROM memories AS own, memories AS other
    WHERE own.memory_key = ${table}.memory_key AND other.memory_key = ${table}.other_key
      AND (own.deleted_at IS NOT NULL OR other.deleted_at IS NOT NULL
        OR coalesce(own.user_key, 0) <> coalesce(other.user_key, 0)
        OR coalesce(own.agent_id, '') <> coalesce(other.agent_id, '')))
  RETURNING other_key AS key`;
const REMOVE_STRAYS = removeStrays("relations");
const REMOVE_EARLIER_STRAYS = removeStrays("earlier_relations");

/** A place for data that cannot be computed again. */
export interface LostThings {
  readonly directory: string;
  append(name: string, line: string): void;
}

/** The repairs, and the memories that became `failed`, which the caller removes from the index. */
export interface Repaired {
  readonly repairs: readonly Repair[];
  readonly failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>;
}

/** Stores that are repaired. */
export interface RepairedStores {
  readonly write: InTransaction;
  readonly memories: Pick<MemoryStore, "unreferencedFiles">;
  readonly archive: Pick<TextArchive, "contents" | "remove">;
  readonly files: UploadFiles;
  readonly quarantine: LostThings;
  /** Moves uploaded files to the quarantine. */
  readonly setFilesAside: (names: readonly string[]) => void;
  readonly clock: Clock;
}

/** Repairs what a comparison found. It can be repeated. */
export async function repair(stores: RepairedStores, found: readonly FoundDefect[]): Promise<Repaired> {
  const byKind = Map.groupBy(found, ({ kind }) => kind);
  const of = (...kinds: readonly DefectKind[]) => kinds.flatMap((kind) => byKind.get(kind) ?? []);
  const repairs: Repair[] = [];
  const note = (kind: DefectKind, count: number, detail: string) => {
    if (count > 0) repairs.push({ kind, count, is_repaired: true, detail });
  };
  const place = stores.quarantine.directory;

  const failed = new Map<ProjectId, MemoryKey[]>();
  for (const kind of ["missing_text", "other_version", "wrong_text"] as const) {
    let count = 0;
    for (const step of stepsOf(of(kind))) count += await failCompleted(stores, step, failed);
    const kept = kind === "missing_text" ? "" : `; the texts that were found are in ${place}/${LOST_TEXTS_FILE}`;
    note(kind, count, `${count} memories are marked as failed, because their text is lost${kept}`);
  }
  const surplus = of("surplus_text").flatMap(({ memoryKey }) => memoryKey ?? []) as MemoryKey[];
  await setTextsAside(stores, surplus);
  note("surplus_text", surplus.length, `${surplus.length} texts were moved to ${place}/${LOST_TEXTS_FILE}`);

  const uploads = of("missing_upload");
  for (const step of stepsOf(uploads)) await failUploads(stores, step);
  note("missing_upload", uploads.length, `${uploads.length} memories are marked as failed, because their file is lost`);

  for (const kind of ["missing_original", "damaged_original"] as const) {
    let count = 0;
    for (const step of stepsOf(of(kind))) count += await forgetOriginals(stores, step);
    const kept = kind === "missing_original" ? "" : `; what is left of them is in ${place}`;
    note(kind, count, `the originals of ${count} memories are lost, and the memories say so${kept}`);
  }

  for (const kind of ["stray_relation", "wrong_supersession"] as const) {
    const keys = of(kind).flatMap(({ memoryKey }) => memoryKey ?? []);
    for (const step of stepsOf(keys)) await repairRelations(stores, step);
    const what = kind === "stray_relation" ? "relations of" : "what supersedes";
    note(kind, keys.length, `${what} ${keys.length} memories was computed again`);
  }

  const lost = of("lost_earlier_text").flatMap(({ memoryKey }) => memoryKey ?? []);
  for (const keys of stepsOf(lost)) await stores.write((session) => session.run(FORGET_EARLIER, { keys }));
  note("lost_earlier_text", lost.length, `${lost.length} memories have an earlier text less in their history`);

  const names = of("surplus_upload").flatMap(({ file }) => file ?? []);
  const old = new Set(await stores.files.names(ORPHAN_AGE_MS));
  const orphans = await stores.memories.unreferencedFiles(names.filter((name) => old.has(name)));
  stores.setFilesAside(orphans);
  note("surplus_upload", orphans.length, `${orphans.length} uploaded files were moved to ${place}`);
  return { repairs, failed };
}

async function repairRelations({ write, clock }: RepairedStores, keys: readonly bigint[]): Promise<void> {
  await write(async (session) => {
    const strays = await session.all<{ readonly key: bigint }>(REMOVE_STRAYS, { keys });
    await session.all(REMOVE_EARLIER_STRAYS, { keys });
    await new RelationRows(session, { clock, random: systemRandom }).settle([...keys, ...strays.map(({ key }) => key)]);
  });
}

async function failCompleted(
  stores: RepairedStores,
  defects: readonly FoundDefect[],
  failed: Map<ProjectId, MemoryKey[]>,
): Promise<number> {
  const now = stores.clock.now();
  const changed = await stores.write(async (session) => {
    const failures: { readonly key: MemoryKey; readonly project: ProjectId }[] = [];
    for (const { memoryKey: key = 0n, version = 0n } of defects) {
      const params = { key, version, message: LOST_TEXT, now };
      const [row] = await session.all<{ readonly project: ProjectId }>(FAIL_COMPLETED, params);
      if (row !== undefined) failures.push({ key: key as MemoryKey, project: row.project });
    }
    return failures;
  });
  for (const { key, project } of changed) failed.set(project, [...(failed.get(project) ?? []), key]);
  await setTextsAside(
    stores,
    changed.map(({ key }) => key),
  );
  return changed.length;
}

/** Moves texts to the quarantine. Otherwise an earlier text could be indexed as that of a failed memory. */
export async function setTextsAside(
  { archive, quarantine }: Pick<RepairedStores, "archive" | "quarantine">,
  memoryKeys: readonly MemoryKey[],
): Promise<void> {
  for (const keys of stepsOf(memoryKeys)) {
    for (const [key, { version, content }] of await archive.contents(keys)) {
      quarantine.append(LOST_TEXTS_FILE, JSON.stringify({ memory_key: String(key), version, content }));
    }
    await archive.remove(keys);
  }
}

async function failUploads(stores: RepairedStores, defects: readonly FoundDefect[]): Promise<void> {
  const now = stores.clock.now();
  const forgotten = await stores.write(async (session) => {
    const changed: { readonly key: MemoryKey; readonly file: string }[] = [];
    for (const { memoryKey: key = 0n, version = 0n, file = "" } of defects) {
      const [row] = await session.all<{ readonly source: string | null }>(SOURCE_OF, { key, version });
      const source = row?.source ?? null;
      if (source === null || keptFileOf({ source }) !== file) continue;
      const { file: _, ...rest } = JSON.parse(source) as { readonly file: string };
      const left = storedSource({ source }) === null ? null : JSON.stringify(rest);
      await session.run(SET_SOURCE, { key, ...sourceColumns(left) });
      await session.run(FAIL, { key, version, message: LOST_UPLOAD, now });
      await session.run(FORGET_ORIGINAL, { key, file });
      // removes the empty content that stands for the text in the lost file: a retry must not process it
      await session.run(FORGET_EMPTY, { key });
      changed.push({ key: key as MemoryKey, file });
    }
    return changed;
  });
  stores.setFilesAside(forgotten.map(({ file }) => file));
  await setTextsAside(
    stores,
    forgotten.map(({ key }) => key),
  );
}

/** Removes lost originals from the rows of their memories, which otherwise stay unchanged. */
async function forgetOriginals(stores: RepairedStores, defects: readonly FoundDefect[]): Promise<number> {
  const forgotten = await stores.write(async (session) => {
    const files: string[] = [];
    for (const { memoryKey: key = 0n, file = "" } of defects) {
      if ((await session.all(FORGET_ORIGINAL, { key, file })).length > 0) files.push(file);
    }
    return files;
  });
  stores.setFilesAside(forgotten);
  return forgotten.length;
}

/** Values of `FAIL`. */
export type FailValues = {
  readonly key: bigint;
  readonly version: bigint;
  readonly message: string;
  readonly now: number;
};
function* stepsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let first = 0; first < items.length; first += STEP) yield items.slice(first, first + STEP);
}
