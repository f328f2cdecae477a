// All named crash points. A point is an operation on a file: what a killed process leaves behind is decided by the
// operations that it completed, so no other moment gives another state. points.test.ts kills a server at each of them.
//
// A killed process leaves the same files before a sync and after it. So each sync has one point: right behind it, or
// before the operation that comes next (`following`). The point is reached only if the file is synced.

import type { Matching, Operation } from "./faults/faults.ts";

/** What the server does when it is killed. stage.ts has the requests that make it do so. */
export type Work =
  | "first start"
  | "writes"
  | "upload"
  | "long text"
  | "one memory"
  | "large memory"
  | "new content"
  | "relations"
  | "purge"
  | "start after a kill"
  | "sweep"
  | "compaction"
  | "stop"
  | "model change"
  | "return to the previous model"
  | "forget the previous model"
  | "backup of a server"
  | "forget"
  | "reindex";

/** What `mneme backup` does: into an empty target, beside an earlier backup, or in place of it. */
export type BackupWork = "first backup" | "backup" | "last backup";
/** What `mneme restore` does: into an empty folder, or into one with a restore that did not end. */
export type RestoreWork = "restore" | "second restore";

/** A moment at which a server, or a command, is killed. */
export interface CrashPoint<Does = Work> {
  readonly name: string;
  readonly work: Does;
  readonly at: Matching;
  readonly when: "before" | "after";
  /** Number of matching operations that are left alone; default 0. */
  readonly skip?: number;
  /** Only what follows this operation counts. */
  readonly after?: Matching;
}

/** A moment at which a backup is killed, and the backups that are complete then. */
export interface BackupPoint extends CrashPoint<BackupWork> {
  readonly leaves: readonly ("earlier" | "new")[];
}

const on = (operation: Operation, ...paths: readonly string[]): Matching => ({ operations: [operation], paths });

const ROWS_LOG = "mneme.sqlite-wal";
const SUMS = "mneme.sqlite-sums";
const ROWS = "mneme.sqlite";
const TEXTS_LOG = "memories.duckdb.wal";
const TEXTS = "memories.duckdb";
const NEW_TEXTS = "memories.duckdb.creating";
const VECTORS = "projects/*/vectors*/vectors.log";
const POSTINGS = "projects/*/text/*.store";
/** A commit syncs the folder twice: after its segments, and after its description, which has a temporary name first. */
const POSTINGS_SYNCED = on("sync", "projects/*/text");
const POSTINGS_DESCRIPTION = "projects/*/text/.tmp*";
const SETS = "projects/*/vector-sets";
const INCOMING = "uploads/incoming/*";
/** The folder is synced when a file has its name there. */
const LONG_TEXT_KEPT = on("sync", "uploads");

const PACKS = "target/packs/*";
const MANIFESTS = "target/manifests/*";
const RESTORING = "restored/restoring";

/** The points of servers, in the order of the work. */
export const CRASH_POINTS: readonly CrashPoint[] = [
  point("the file of the rows is created", "first start", "after", on("create", ROWS)),
  point("the tables of the rows are written, not synced", "first start", "before", on("sync", ROWS_LOG), 2),
  point("the file of the texts is created", "first start", "after", on("create", NEW_TEXTS)),
  point("the tables of the texts are written, not synced", "first start", "before", on("sync", NEW_TEXTS), 1),
  point("the file of the texts has a temporary name", "first start", "after", on("unlink", `${NEW_TEXTS}.wal`), 1),
  point("the log of the vectors is written under its temporary name", "first start", "before", on("rename", VECTORS)),
  point("the list of vector sets is written under its temporary name", "first start", "before", on("rename", SETS)),

  point("a request is durable, not answered", "writes", "after", on("sync", ROWS_LOG), 40),
  point("in the middle of the frames of a commit", "writes", "before", on("write", ROWS_LOG), 301),

  following(
    on("sync", INCOMING),
    point("an upload is synced, not under its name", "upload", "before", on("rename", "uploads/*")),
  ),
  point("an upload has its name, its row is missing", "upload", "after", on("rename", "uploads/*")),
  point("an upload is published, its file not removed", "upload", "before", on("unlink", "uploads/*")),

  following(
    on("sync", INCOMING),
    point("a long text is synced, not under its name", "long text", "before", on("rename", "uploads/*")),
  ),
  point("a long text has its name, its row is missing", "long text", "after", on("sync", "uploads")),
  following(LONG_TEXT_KEPT, point("the row of a long text is durable", "long text", "after", on("sync", ROWS_LOG))),
  following(
    POSTINGS_SYNCED,
    point("a long text is in the indexes, its row not completed", "long text", "before", on("write", ROWS_LOG)),
  ),
  point("a long text is published, its file not removed", "long text", "before", on("unlink", "uploads/*")),

  point("publish: before the texts are in the log", "writes", "before", on("write", TEXTS_LOG), 2),
  point("publish: the texts are durable", "writes", "after", on("sync", TEXTS_LOG), 2),
  point("publish: before the vectors are appended", "writes", "before", on("write", VECTORS), 1),
  point("publish: the vectors are durable, the postings missing", "writes", "after", on("sync", VECTORS), 1),
  point("publish: a segment of postings is begun", "writes", "after", on("create", POSTINGS), 1),
  point("publish: a segment of postings is written, not synced", "writes", "before", on("sync", POSTINGS), 1),
  following(
    POSTINGS_SYNCED,
    point("publish: the postings are synced, not committed", "writes", "before", on("write", POSTINGS_DESCRIPTION)),
  ),
  following(
    POSTINGS_SYNCED,
    point("publish: the commit of the postings has no name", "writes", "after", on("sync", POSTINGS_DESCRIPTION)),
  ),
  following(POSTINGS_SYNCED, point("publish: the postings are committed", "writes", "before", POSTINGS_SYNCED)),
  following(
    POSTINGS_SYNCED,
    point("publish: all is in the indexes, the rows not written", "one memory", "before", on("write", ROWS_LOG)),
  ),
  following(
    POSTINGS_SYNCED,
    point("publish: the completed rows are durable", "one memory", "after", on("sync", ROWS_LOG)),
  ),

  point("parts: before the vectors are appended", "large memory", "before", on("write", VECTORS)),
  point("parts: the vectors are durable, all postings are missing", "large memory", "after", on("sync", VECTORS)),
  following(
    on("sync", VECTORS),
    point("parts: before the second part of the postings", "large memory", "before", on("create", POSTINGS), 1),
  ),
  following(
    on("sync", VECTORS),
    point("parts: a part of the postings is written, not synced", "large memory", "before", on("sync", POSTINGS), 1),
  ),
  following(
    on("sync", VECTORS),
    point("parts: before the last part of the postings", "large memory", "before", on("create", POSTINGS), 2),
  ),
  // One commit removes old postings, and three add parts.
  following(
    on("sync", VECTORS),
    point("parts: all postings are committed, the row is not completed", "large memory", "after", POSTINGS_SYNCED, 7),
  ),

  point("new content: accepted, only the archive has the earlier text", "new content", "after", on("sync", ROWS_LOG)),
  point(
    "new content: the earlier text is kept, the archive has it too",
    "new content",
    "before",
    on("write", TEXTS_LOG),
  ),
  following(
    on("sync", TEXTS_LOG),
    point("new content: the archive has it, the row is not completed", "new content", "before", on("write", ROWS_LOG)),
  ),

  following(
    POSTINGS_SYNCED,
    point("relations: the memory is completed, its job not claimed", "relations", "after", on("sync", ROWS_LOG)),
  ),
  following(
    POSTINGS_SYNCED,
    point("relations: the job is claimed, nothing stored", "relations", "after", on("sync", ROWS_LOG), 1),
  ),
  following(POSTINGS_SYNCED, point("relations: they are stored", "relations", "after", on("sync", ROWS_LOG), 2)),

  point("repair: before the log of the texts is merged", "start after a kill", "before", on("write", TEXTS)),
  point("repair: leases are about to be voided", "start after a kill", "before", on("write", ROWS_LOG)),

  point("retract: before the tombstones are appended", "sweep", "before", on("write", VECTORS)),
  point("retract: the tombstones are durable, the postings remain", "sweep", "after", on("sync", VECTORS)),
  following(
    POSTINGS_SYNCED,
    point("retract: the postings are gone, not committed", "sweep", "before", on("write", POSTINGS_DESCRIPTION)),
  ),
  following(POSTINGS_SYNCED, point("retract: done, not noted in the rows", "sweep", "before", on("write", ROWS_LOG))),

  point("purge: the row is hidden, the text remains", "purge", "before", on("write", TEXTS_LOG)),
  following(
    on("sync", TEXTS_LOG),
    point("purge: the text is gone, the row remains", "purge", "before", on("write", ROWS_LOG)),
  ),

  point("compact: the new log of the vectors is begun", "compaction", "after", on("create", "projects/*.compacting")),
  point("compact: the new log is written, not renamed", "compaction", "before", on("rename", VECTORS)),
  point("compact: the new log has its name", "compaction", "after", on("rename", VECTORS)),

  following(
    on("sync", SUMS),
    point("checkpoint: the sums of the rows are durable, the rows not written", "stop", "before", on("write", ROWS)),
  ),
  point("checkpoint: in the middle of the rows", "stop", "before", on("write", ROWS), 5),
  following(
    on("sync", ROWS),
    point("checkpoint: the rows are synced, their log remains", "stop", "before", on("truncate", ROWS_LOG)),
  ),
  point("checkpoint: the rows are synced, their log is empty", "stop", "after", on("truncate", ROWS_LOG)),
  point("checkpoint: before the texts are written to their file", "stop", "before", on("write", TEXTS)),
  point("checkpoint: in the middle of the texts", "stop", "after", on("write", TEXTS)),
  point("checkpoint: the texts are written, not synced", "stop", "before", on("sync", TEXTS)),
  point("checkpoint: the texts are synced, their log remains", "stop", "after", on("sync", TEXTS), 1),

  point("model change: before the new set is listed", "model change", "before", on("rename", SETS)),
  point("model change: the new set is listed, empty", "model change", "after", on("rename", SETS)),
  point("model change: some vectors of the new model are durable", "model change", "after", on("sync", VECTORS), 1),
  point("model change: all vectors are built, not swapped in", "model change", "before", on("rename", SETS), 1),
  point("model change: swapped in, not noted in the rows", "model change", "after", on("rename", SETS), 1),
  point("model change: before the return", "return to the previous model", "before", on("rename", SETS), 1),
  point(
    "model change: before the previous set is forgotten",
    "forget the previous model",
    "before",
    on("rename", SETS),
  ),
  point(
    "model change: the previous set is forgotten, not deleted",
    "forget the previous model",
    "after",
    on("rename", SETS),
  ),

  point(
    "backup: the links of the index are not removed",
    "backup of a server",
    "before",
    on("unlink", "snapshots/*/*"),
  ),

  point("forget: before the memory is deleted", "forget", "before", on("write", ROWS_LOG)),
  point("forget: the memory is deleted, the indexes have it", "forget", "before", on("write", VECTORS)),
  point("forget: the indexes are changed, the text remains", "forget", "before", on("write", TEXTS_LOG)),
  following(
    on("sync", TEXTS_LOG),
    point("forget: the text is gone, the row remains", "forget", "before", on("write", ROWS_LOG)),
  ),
  following(
    on("sync", TEXTS_LOG),
    point("forget: the row is gone, the text is in free blocks", "forget", "before", on("write", TEXTS)),
  ),
  following(
    on("sync", TEXTS_LOG),
    point("forget: in the middle of writing the texts again", "forget", "after", on("write", TEXTS), 2),
  ),

  point("reindex: before the new vectors are appended", "reindex", "before", on("write", VECTORS)),
  point("reindex: the vectors are new, the postings old", "reindex", "after", on("sync", VECTORS)),
  following(
    POSTINGS_SYNCED,
    point(
      "reindex: the new postings are written, not committed",
      "reindex",
      "before",
      on("write", POSTINGS_DESCRIPTION),
    ),
  ),
  following(POSTINGS_SYNCED, point("reindex: the new postings are committed", "reindex", "before", POSTINGS_SYNCED)),
];

/** The points of `mneme backup`. The paths of commands begin with the folder: `target` or `restored`. */
export const BACKUP_POINTS: readonly BackupPoint[] = [
  leaving(
    [],
    point("the description of the target has no name", "first backup", "before", on("rename", "target/*.json")),
  ),
  leaving([], point("the folder of the packs is durable, empty", "first backup", "after", on("sync", "target"), 2)),
  ...[
    following(
      on("sync", PACKS),
      point<BackupWork>("the first pack is synced, without its name", "backup", "before", on("rename", PACKS)),
    ),
    point<BackupWork>("the first pack has its name, the second is missing", "backup", "after", on("rename", PACKS)),
    point<BackupWork>("the last pack is synced, without its name", "backup", "before", on("rename", PACKS), 1),
    point<BackupWork>("all packs have names, the manifest is missing", "backup", "after", on("rename", PACKS), 1),
    following(
      on("sync", MANIFESTS),
      point<BackupWork>("the manifest is synced, without its name", "backup", "before", on("rename", MANIFESTS)),
    ),
  ].map((each) => leaving(["earlier"], each)),
  leaving(["earlier", "new"], point("the manifest has its name", "backup", "after", on("rename", MANIFESTS))),
  leaving(
    ["earlier", "new"],
    point("the earlier backup is about to be removed", "last backup", "before", on("unlink", MANIFESTS)),
  ),
  leaving(
    ["new"],
    point("the earlier manifest is removed, its packs remain", "last backup", "after", on("unlink", MANIFESTS)),
  ),
  leaving(["new"], point("a pack that no backup needs is removed", "last backup", "after", on("unlink", PACKS))),
];

/** The points of `mneme restore`. */
export const RESTORE_POINTS: readonly CrashPoint<RestoreWork>[] = [
  point("the file of the rows is created", "restore", "after", on("create", `${RESTORING}/${ROWS}`)),
  point("in the middle of the rows", "restore", "before", on("write", `${RESTORING}/${ROWS_LOG}`), 2_000),
  point("the file of the texts is created", "restore", "after", on("rename", `${RESTORING}/${TEXTS}`)),
  point("in the middle of the texts", "restore", "before", on("sync", `${RESTORING}/${TEXTS_LOG}`), 2),
  point("in the middle of the index", "restore", "before", on("sync", `${RESTORING}/projects/*`), 2),
  point("all is written, the rows are not synced", "restore", "before", on("sync", `${RESTORING}/${ROWS}`), 1),
  point(
    "the names of all files are durable, nothing is in its place",
    "restore",
    "after",
    on("sync", `${RESTORING}/projects/*/vectors`),
  ),
  point("the index is in its place", "restore", "after", on("rename", "restored/projects")),
  point("the uploads are in their place", "restore", "after", on("rename", "restored/uploads")),
  point("the texts are in their place, the rows are not", "restore", "after", on("rename", `restored/${TEXTS}`)),
  point("all is in its place, the folder is not removed", "restore", "before", on("unlink", RESTORING)),
  point("before the first attempt is removed", "second restore", "before", on("unlink", "restored/*")),
  point("a part of the first attempt is removed", "second restore", "after", on("unlink", "restored/*"), 3),
  point("a part of the second attempt is in its place", "second restore", "after", on("rename", "restored/uploads")),
];

/** The points of the first start on a data directory of the oldest version that is kept (test/upgrade/). */
export const MIGRATION_POINTS: readonly CrashPoint<"migration">[] = [
  point("before the first migration of the rows", "migration", "before", on("write", ROWS_LOG)),
  point("in the middle of a migration of the rows", "migration", "before", on("write", ROWS_LOG), 3),
  point("a migration of the rows is written, not synced", "migration", "before", on("sync", ROWS_LOG)),
  point("some migrations of the rows are durable", "migration", "after", on("sync", ROWS_LOG), 2),
  point("the rows are migrated, the texts are not", "migration", "before", on("create", TEXTS_LOG)),
  following(
    on("sync", TEXTS_LOG),
    point("the migration of the texts is durable, not merged", "migration", "before", on("write", TEXTS)),
  ),
  point("in the middle of merging the texts", "migration", "after", on("write", TEXTS), 2),
  point("the texts are merged, their log remains", "migration", "before", on("unlink", TEXTS_LOG)),
  point("the list of vector sets is written without its name", "migration", "before", on("rename", SETS)),
  point("the list of vector sets has its name, its copy is missing", "migration", "after", on("rename", SETS)),
];

function leaving(leaves: BackupPoint["leaves"], crashPoint: CrashPoint<BackupWork>): BackupPoint {
  return { ...crashPoint, leaves };
}

function point<Does>(name: string, work: Does, when: CrashPoint["when"], at: Matching, skip = 0): CrashPoint<Does> {
  return { name, work, when, at, skip };
}

/** The same point, but only operations that follow the first `after` count. */
function following<Does>(after: Matching, crashPoint: CrashPoint<Does>): CrashPoint<Does> {
  return { ...crashPoint, after };
}
