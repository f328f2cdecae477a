// Every table of both databases has a place in the order of erasure and in the records of exports, or a reason why not:
// a new table fails here until it has.

import { describe, expect, test } from "bun:test";
import { RECORD_ROWS } from "../../src/stores/copies/records.ts";
import type { Dialect } from "../../src/stores/dialect.ts";
import { ownedTables, projectErasure, userErasure } from "../../src/stores/erasure.ts";
import { POSTGRES } from "../../src/stores/postgres/dialect.ts";
import { SQLITE } from "../../src/stores/sqlite/dialect.ts";
import { currentTables } from "../../src/stores/sqlite/layout.ts";
import { execute } from "../support/postgres.ts";
import { columnsOf, emptyDatabase, withPostgres } from "./open-postgres.ts";

/** Tables without rows of a memory, user or project, or whose rows something else erases. */
const NOT_OWNED: Readonly<Record<string, string>> = {
  installed_models: "models of the whole store",
  sequences: "counters of the whole store",
  store: "identity of the store",
  mneme_store: "identity of the store",
  chunk_keys: "a counter of the whole store",
  texts: "TextArchive erases them before the rows, and counts them for `mneme forget`",
  chunks: "TextArchive erases them with their texts",
  vector_models: "fingerprints of models",
  kept_files: "UploadFiles removes them with the memories that refer to them",
  rate_windows: "counts of requests, for a minute",
  rate_slots: "times of requests, for a minute",
  request_flights: "requests in progress",
  query_reservations: "queries in progress",
  token_reservations: "calls of language models in progress",
  node_tasks: "what nodes do",
  nodes: "what nodes are there",
};
/** Tables with rows of a project that an export leaves out. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  waiting_contents: "the content of a memory's record",
  memory_findings: "part of a memory's record",
  document_facts: "part of a memory's record",
  imported_vectors: "records of type `vectors` have those of the index",
  relation_jobs: "work in progress",
  message_sources: "part of a message's record",
  memory_tags: "the tags of a memory's record",
  deliveries: "secrets and attempts of webhooks stay where they are",
  deletions: "work in progress",
  case_runs: "figures that are kept for 30 days",
  api_keys: "secrets stay where they are",
  key_secrets: "secrets stay where they are",
  idempotency_records: "answers to requests, for a day",
  idempotency_subjects: "answers to requests, for a day",
  daily_ingestion_tokens: "counts of a day",
  project_maps: "derived from vectors",
  map_places: "derived from vectors",
  activity: "counts of hours and days",
  project_models: "the index of the target decides",
  publication_parts: "derived from texts",
  publication_vectors: "records of type `vectors` have them, if asked for",
  project_service: "order of the jobs of projects",
  project_changes: "notes for other nodes, for an hour",
};

type Tables = ReadonlyMap<string, readonly string[]>;
const TERMS = { project: "$project", user: "$user", userId: "$id", keys: "IS NULL", ids: "IS NULL" };
const owned = ownedTables(TERMS);

function problemsOf(tables: Tables, { missingTables }: Dialect): readonly string[] {
  const problems: string[] = [];
  for (const [table, columns] of tables) {
    const of = owned.find((each) => each.table === table);
    if (of === undefined) {
      if (!(table in NOT_OWNED)) problems.push(`${table} is in no list: name it in src/stores/erasure.ts`);
      continue;
    }
    const has = (...names: string[]) => names.some((name) => columns.includes(name));
    if (has("project_key") && of.ofProject === undefined) problems.push(`${table} has rows of projects`);
    if (has("user_key", "user_id") && of.ofUser === undefined) problems.push(`${table} has rows of users`);
    if (has("memory_key", "memory_id") && of.ofMemories === undefined && table !== "project_changes")
      problems.push(`${table} has rows of memories`);
    const isExported = Object.values(RECORD_ROWS).some((rows) => rows.table === table) || table === "projects";
    if (isExported === table in NOT_EXPORTED) problems.push(`${table} must be exported, or have a reason why not`);
  }
  const missing = owned.filter(({ table }) => !missingTables.includes(table) && !tables.has(table));
  return [...problems, ...missing.map(({ table }) => `${table} does not exist`)];
}

describe("the order of erasure", () => {
  test("names every table of SQLite with rows of a memory, user or project", () => {
    expect(problemsOf(new Map(currentTables().map(({ table, columns }) => [table, columns])), SQLITE)).toEqual([]);
  });

  test("erases what refers to a table before it", () => {
    const places = new Map(owned.map(({ table }, at) => [table, at]));
    for (const { table, columns } of currentTables()) {
      for (const [key, parent] of [
        ["project_key", "projects"],
        ["user_key", "users"],
        ["chat_key", "chats"],
      ] as const) {
        if (table === parent || !columns.includes(key)) continue;
        const of = owned.find((each) => each.table === table);
        if (of?.with === undefined)
          expect([table, (places.get(table) ?? 99) < (places.get(parent) ?? -1)]).toEqual([table, true]);
      }
    }
  });
});

withPostgres("the order of erasure on PostgreSQL", () => {
  test("names every table with rows of a memory, user or project, and its statements run", async () => {
    const { url, giveBack } = await emptyDatabase();
    const tables = await columnsOf(url);
    expect(problemsOf(tables, POSTGRES)).toEqual([]);
    const ofUser = userErasure({ ...TERMS, project: "0", user: "0", userId: "''" });
    await execute(url, ...ofUser, ...projectErasure().map((sql) => sql.replaceAll("$project", "'prj_x'")));
    await giveBack();
  });
});
