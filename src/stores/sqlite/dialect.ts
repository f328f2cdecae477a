// The dialect of SQLite. A list is a JSON array, because SQLite limits the number of parameters.

import { DEFAULT_SETTINGS } from "../../domain/project.ts";
import type { Dialect } from "../dialect.ts";

/** How SQLite writes what differs between databases. */
export const SQLITE: Dialect = {
  isIn: (list) => `IN (SELECT value FROM json_each($${list}))`,
  isNotIn: (list) => `NOT IN (SELECT value FROM json_each($${list}))`,
  elements: (list) => `json_each($${list}) AS given`,
  rows: (lists) => {
    const [first = "", ...others] = Object.keys(lists);
    const columns = others.map((list) => `json_extract($${list}, '$[' || key || ']') AS ${list}`);
    return `(SELECT ${["key + 1 AS position", `value AS ${first}`, ...columns].join(", ")} FROM json_each($${first})) AS given`;
  },
  greatest: (...values) => `max(${values.join(", ")})`,
  least: (...values) => `min(${values.join(", ")})`,
  json: (column) => column,
  hasElement: (column, value) => `EXISTS (SELECT 1 FROM json_each(${column}) WHERE value = ${value})`,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  keyOrZero: (column) => `ifnull(${column}, 0)`,
  toHex: (bytes) => `lower(hex(${bytes}))`,
  fromHex: (digits) => `unhex(${digits})`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  forUpdate: () => "",
  forUpdateSkipLocked: () => "",
  forRemoval: "",
  keptFile: "memories.source ->> '$.file'",
  mediaType: "memories.source ->> '$.media_type'",
  container: "memories.source ->> '$.container'",
  repeatsOfSource: [],
  retentionDays: `ifnull(json_extract(projects.settings, '$.retention_days'), ${DEFAULT_SETTINGS.retention_days})`,
  repeatsOfSettings: [],
  leasedHere: "TRUE",
  projectService: "projects AS project_service",
  nextKnownUser: "(SELECT next FROM sequences WHERE name = 'known_user')",
  advanceKnownUsers: "UPDATE sequences SET next = next + 1 WHERE name = 'known_user'",
  missingTables: ["publication_parts", "publication_vectors", "project_service", "project_changes"],
  hasTagTriggers: true,
  locksProjects: false,
};
