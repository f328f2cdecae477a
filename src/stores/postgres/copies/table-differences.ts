// How the tables of this database differ from those of a copy (domain/store-copy.ts), which has the tables of SQLite.
// Every table and column that is not named here is the same in both; test/copies/copied-columns.test.ts compares them.

import { DEFAULT_SETTINGS } from "../../../domain/project.ts";
import type { RowValue } from "../../copies/row-lines.ts";
import { sourceColumns } from "../../rows/memory-file.ts";

/** The values of a row of a copy, by column. */
export type CopiedRow = Readonly<Record<string, RowValue>>;

/** Tables of a copy that are not tables here: snapshot.ts and writer.ts convert them from and to counters. */
export const NUMBERS: readonly string[] = ["sequences", "store", "sqlite_sequence"];

/**
 * Tables that a copy does not have: identity and progress, publications (copied by compose/migration), files (they have
 * their own parts), texts (tables of DuckDB in a copy), numbered changes, and short-lived state that nodes share.
 */
export const NOT_COPIED: readonly string[] = [
  ...["mneme_store", "mneme_migration", "chunk_keys", "project_service"],
  ...["texts", "chunks", "vector_models", "publication_parts", "publication_vectors", "kept_files"],
  ...["project_changes", "rate_windows", "rate_slots", "request_flights", "query_reservations"],
  ...["token_reservations", "node_tasks", "nodes"],
];

/** Columns of a copy that this database does not have, each with the SQL expression of its value. */
export const COPIED_EXPRESSIONS: Readonly<Record<string, string>> = {
  "projects.served_lease": `coalesce((SELECT project_service.served_lease FROM project_service
    WHERE project_service.project_key = projects.project_key), 0)`,
};

/** Columns of this database that a copy does not have, or whose value differs from the copied one. */
export const OWN_COLUMNS: Readonly<Record<string, (row: CopiedRow) => RowValue>> = {
  "projects.retention_days": ({ settings }) => {
    const { retention_days = DEFAULT_SETTINGS.retention_days } = JSON.parse(String(settings));
    return retention_days;
  },
  "projects.sequence": () => 0,
  // triggers count memories and bytes
  "projects.documents": () => 0,
  "projects.storage_bytes": () => 0,
  "memories.file": ({ source }) => sourceColumns(textOrNull(source)).file,
  "memories.media_type": ({ source }) => sourceColumns(textOrNull(source)).media_type,
  "memories.container": ({ source }) => sourceColumns(textOrNull(source)).container,
  "memories.leased_by": () => null,
  "deliveries.last_attempt_at": ({ attempts }) => {
    const made: readonly { readonly at: number }[] = JSON.parse(String(attempts));
    return made.at(-1)?.at ?? null;
  },
  "deliveries.claimed_until": () => null,
};

function textOrNull(value: RowValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
