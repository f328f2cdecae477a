// All named crash points. A point is an operation on a file: what a killed process leaves behind is decided by the
// operations that it completed, so no other moment gives another state. points.test.ts kills a server at each of them.

import type { Matching, Operation } from "./faults/faults.ts";

/** What the server does when it is killed. stage.ts has the requests that make it do so. */
export type Work =
  | "first start"
  | "writes"
  | "upload"
  | "one memory"
  | "purge"
  | "start after a kill"
  | "sweep"
  | "compaction"
  | "stop"
  | "model change"
  | "return to the previous model"
  | "forget the previous model";

/** A moment at which a server is killed. */
export interface CrashPoint {
  readonly name: string;
  readonly work: Work;
  readonly at: Matching;
  readonly when: "before" | "after";
  /** Number of matching operations that are left alone; default 0. */
  readonly skip?: number;
  /** Only what follows this operation counts. */
  readonly after?: Matching;
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

/** The points, in the order of the work. */
export const CRASH_POINTS: readonly CrashPoint[] = [
  point("the file of the rows is created", "first start", "after", on("create", ROWS)),
  point("the tables of the rows are written, not synced", "first start", "before", on("sync", ROWS_LOG), 2),
  point("the file of the texts is created", "first start", "after", on("create", NEW_TEXTS)),
  point("the tables of the texts are written, not synced", "first start", "before", on("sync", NEW_TEXTS), 1),
  point("the file of the texts has a temporary name", "first start", "after", on("unlink", `${NEW_TEXTS}.wal`), 1),
  point("the log of the vectors is written under its temporary name", "first start", "before", on("rename", VECTORS)),
  point("the list of vector sets is written under its temporary name", "first start", "before", on("rename", SETS)),

  point("a request is in the log of the rows, not synced", "writes", "before", on("sync", ROWS_LOG), 20),
  point("a request is durable, not answered", "writes", "after", on("sync", ROWS_LOG), 40),
  point("in the middle of the frames of a commit", "writes", "before", on("write", ROWS_LOG), 301),

  point("an upload is received, not synced", "upload", "before", on("sync", INCOMING)),
  point("an upload is synced, not under its name", "upload", "before", on("rename", "uploads/*")),
  point("an upload has its name, its row is missing", "upload", "after", on("rename", "uploads/*")),
  point("an upload is published, its file not removed", "upload", "before", on("unlink", "uploads/*")),

  point("publish: before the texts are in the log", "writes", "before", on("write", TEXTS_LOG), 2),
  point("publish: the texts are in the log, not synced", "writes", "before", on("sync", TEXTS_LOG), 2),
  point("publish: the texts are durable", "writes", "after", on("sync", TEXTS_LOG), 2),
  point("publish: before the vectors are appended", "writes", "before", on("write", VECTORS), 1),
  point("publish: the vectors are appended, not synced", "writes", "before", on("sync", VECTORS), 1),
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
    point("publish: the completed rows are written, not synced", "one memory", "before", on("sync", ROWS_LOG)),
  ),
  following(
    POSTINGS_SYNCED,
    point("publish: the completed rows are durable", "one memory", "after", on("sync", ROWS_LOG)),
  ),

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
  point("purge: the text is gone from the log, not synced", "purge", "before", on("sync", TEXTS_LOG)),
  following(
    on("sync", TEXTS_LOG),
    point("purge: the text is gone, the row remains", "purge", "before", on("write", ROWS_LOG)),
  ),

  point("compact: the new log of the vectors is begun", "compaction", "after", on("create", "projects/*.compacting")),
  point("compact: the new log is written, not renamed", "compaction", "before", on("rename", VECTORS)),
  point("compact: the new log has its name", "compaction", "after", on("rename", VECTORS)),

  point("checkpoint: the sums of the rows are written, not synced", "stop", "before", on("sync", SUMS)),
  point("checkpoint: the sums of the rows are durable", "stop", "after", on("sync", SUMS)),
  point("checkpoint: before the rows are written to their file", "stop", "before", on("write", ROWS)),
  point("checkpoint: in the middle of the rows", "stop", "before", on("write", ROWS), 5),
  point("checkpoint: the rows are written, not synced", "stop", "before", on("sync", ROWS)),
  point("checkpoint: the rows are synced, their log remains", "stop", "before", on("truncate", ROWS_LOG)),
  point("checkpoint: the rows are synced, their log is empty", "stop", "after", on("truncate", ROWS_LOG)),
  point("checkpoint: before the texts are written to their file", "stop", "before", on("write", TEXTS)),
  point("checkpoint: in the middle of the texts", "stop", "after", on("write", TEXTS)),
  point("checkpoint: the texts are written, not synced", "stop", "before", on("sync", TEXTS)),
  point("checkpoint: the texts are synced", "stop", "after", on("sync", TEXTS), 1),
  point("checkpoint: the texts are done, their log remains", "stop", "before", on("unlink", TEXTS_LOG)),

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
];

function point(name: string, work: Work, when: CrashPoint["when"], at: Matching, skip = 0): CrashPoint {
  return { name, work, when, at, skip };
}

/** The same point, but only operations that follow the first `after` count. */
function following(after: Matching, crashPoint: CrashPoint): CrashPoint {
  return { ...crashPoint, after };
}
