// The rows that belong to a memory, a user or a project, table by table, in the order in which they are erased. The
// purge of memories, the deletion of projects and `mneme forget` work through this list, so that no table is forgotten:
// test/stores/erased-tables.test.ts fails for a table of either database that it does not name. Not every database has
// all tables (`missingTables` in dialect.ts).

/** Terms of SQL by which the rows of an owner are found. */
export interface OwnerTerms {
  /** Keys of a project and of a user. */
  readonly project: string;
  readonly user: string;
  /** Id of the user, as keys and remembered answers name it. */
  readonly userId: string;
  /** Condition after a column, such as `IN (…)`: it has the key of one of the memories. */
  readonly keys: string;
  /** Condition after a column: it has the id of one of the memories or, for a user, `userSubject` of the user. */
  readonly ids: string;
}

/** A table, and the conditions for the rows of an owner; absent: owners of this kind have no rows in it. */
export interface OwnedTable {
  readonly table: string;
  readonly ofMemories?: string;
  readonly ofUser?: string;
  readonly ofProject?: string;
  /** Table whose erased rows take these rows along, by cascades and triggers (migrations.ts). */
  readonly with?: string;
}

/** All tables with rows of owners. Rows that refer to others are erased before these. */
export function ownedTables({ project, user, userId, keys, ids }: OwnerTerms): readonly OwnedTable[] {
  const ofMemories = `memory_key ${keys}`;
  const ofProject = `project_key = ${project}`;
  const ofUser = `user_key = ${user}`;
  const named = `${ofProject} AND user_id = ${userId}`;
  const about = `subject ${ids}`;
  const within = (key: string, table: string, where: string) =>
    `${key} IN (SELECT ${key} FROM ${table} WHERE ${where})`;
  const inProject = (key: string, table: string) => ({ ofProject: within(key, table, ofProject) });
  const ofMemory = (table: string) => ({
    ...{ table, with: "memories", ofMemories, ofProject: within("memory_key", "memories", ofProject) },
  });
  return [
    // erased before all others, in steps, because there can be many
    { table: "memories", ofMemories, ofUser, ofProject },
    ...["waiting_contents", "memory_findings", "document_facts", "imported_vectors", "earlier_texts"].map(ofMemory),
    ...["relations", "earlier_relations"].map((table) => ({
      ...{ table, with: "memories", ofMemories: `(memory_key ${keys} OR other_key ${keys})`, ofProject },
    })),
    ofMemory("relation_jobs"),
    ofMemory("map_places"),
    { table: "message_sources", with: "memories", ofMemories },
    // the body of an event has attributes of its memory, so it is erased with the memory
    {
      table: "deliveries",
      with: "webhooks",
      ofMemories: `memory_id ${ids}`,
      ...inProject("webhook_key", "webhooks"),
    },
    { ...ofMemory("publication_parts"), with: "texts" },
    { ...ofMemory("publication_vectors"), with: "texts" },
    { table: "memory_tags", ofMemories: `${ofProject} AND ${ofMemories}`, ofProject },
    { table: "chats", ofUser, ofProject },
    {
      ...{ table: "messages", with: "chats", ofUser: within("chat_key", "chats", ofUser) },
      ...inProject("chat_key", "chats"),
    },
    { table: "user_events", ofUser, ...inProject("user_key", "users") },
    { table: "deletions", ofUser: named, ofProject },
    { table: "cases", ofUser: named, ofProject },
    { table: "api_keys", ofUser: named, ofProject },
    {
      table: "key_secrets",
      with: "api_keys",
      ofUser: within("key_key", "api_keys", named),
      ...inProject("key_key", "api_keys"),
    },
    {
      table: "idempotency_records",
      ofMemories: `${ofProject} AND ${within("record_key", "idempotency_subjects", about)} AND body <> ''`,
      ...{ ofUser: named, ofProject },
    },
    {
      ...{
        table: "idempotency_subjects",
        with: "idempotency_records",
        ...inProject("record_key", "idempotency_records"),
      },
      ofMemories: `${about} AND ${within("record_key", "idempotency_records", ofProject)}`,
    },
    { table: "users", ofUser, ofProject },
    ...[
      "webhooks",
      "monthly_usage",
      "daily_ingestion_tokens",
      "activity",
      "entity_notes",
      "case_runs",
      "project_maps",
      "project_models",
    ].map((table) => ({
      table,
      ofProject,
    })),
    { table: "project_service", with: "projects", ofProject },
    { table: "project_changes", with: "projects", ofProject },
    { table: "projects", ofProject },
  ];
}

/** The key of the project `$project` if it was removed, otherwise NULL. */
export const REMOVED_KEY = "(SELECT project_key FROM projects WHERE id = $project AND deleted_at IS NOT NULL)";

const NOTHING: OwnerTerms = { project: "NULL", user: "NULL", userId: "NULL", keys: "IS NULL", ids: "IS NULL" };

/**
 * Statements that erase the rest of the removed project `$project` after its memories, in the order in which they run.
 */
export function projectErasure(): readonly string[] {
  return ownedTables({ ...NOTHING, project: REMOVED_KEY }).flatMap((of) =>
    of.ofProject === undefined || isErasedElsewhere(of) ? [] : [`DELETE FROM ${of.table} WHERE ${of.ofProject}`],
  );
}

/** Statements that erase the rest of a user's rows after the memories, in the order in which they run. */
export function userErasure(terms: OwnerTerms): readonly string[] {
  return ownedTables(terms).flatMap((of) =>
    of.ofUser === undefined || isErasedElsewhere(of) ? [] : [`DELETE FROM ${of.table} WHERE ${of.ofUser}`],
  );
}

function isErasedElsewhere(of: OwnedTable): boolean {
  return of.table === "memories" || of.with !== undefined;
}
