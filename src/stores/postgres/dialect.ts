// The dialect of PostgreSQL.

import type { Dialect } from "../dialect.ts";

/** How PostgreSQL writes what differs between databases. */
export const POSTGRES: Dialect = {
  isIn: (list, type = "bigint") => `= ANY($${list}::${type}[])`,
  isNotIn: (list, type = "bigint") => `<> ALL($${list}::${type}[])`,
  elements: (list, type = "bigint") => `unnest($${list}::${type}[]) AS given (value)`,
  rows: (lists) => {
    const values = Object.entries(lists).map(([list, type]) => `$${list}::${type}[]`);
    return `unnest(${values.join(", ")}) WITH ORDINALITY AS given (${Object.keys(lists).join(", ")}, position)`;
  },
  greatest: (...values) => `greatest(${values.join(", ")})`,
  least: (...values) => `least(${values.join(", ")})`,
  json: (column) => `${column}::jsonb`,
  hasElement: (column, value) => `${column}::jsonb ? ${value}`,
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  keyOrZero: (column) => `coalesce(${column}, 0)`,
  toHex: (bytes) => `encode(${bytes}, 'hex')`,
  fromHex: (digits) => `decode(${digits}, 'hex')`,
  indexedBy: () => "",
  forUpdate: (table) => `FOR NO KEY UPDATE${of(table)}`,
  forUpdateSkipLocked: (table) => `FOR NO KEY UPDATE${of(table)} SKIP LOCKED`,
  forRemoval: "FOR UPDATE SKIP LOCKED",
  keptFile: "memories.file",
  mediaType: "memories.media_type",
  container: "memories.container",
  repeatsOfSource: ["file", "media_type", "container"],
  retentionDays: "projects.retention_days",
  repeatsOfSettings: ["retention_days"],
  leasedHere: "leased_by = $node",
  projectService: "project_service",
  nextKnownUser: "nextval('known_users')",
  advanceKnownUsers: null,
  missingTables: [],
  hasTagTriggers: false,
  locksProjects: true,
};

function of(table: string | undefined): string {
  return table === undefined ? "" : ` OF ${table}`;
}
