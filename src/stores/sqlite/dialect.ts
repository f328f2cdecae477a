// The SQL of SQLite where it differs. A list is a JSON array, because SQLite limits the number of parameters.

import type { Dialect } from "../dialect.ts";

/** SQLite. */
export const SQLITE: Dialect = {
  name: "sqlite",
  isIn: (list) => `IN (SELECT value FROM json_each($${list}))`,
  isNotIn: (list) => `NOT IN (SELECT value FROM json_each($${list}))`,
  elements: (list) => `json_each($${list}) AS given`,
  greatest: (...values) => `max(${values.join(", ")})`,
  least: (...values) => `min(${values.join(", ")})`,
  json: (column) => column,
  hasElement: (column, value) => `EXISTS (SELECT 1 FROM json_each(${column}) WHERE value = ${value})`,
  toHex: (bytes) => `lower(hex(${bytes}))`,
  fromHex: (digits) => `unhex(${digits})`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  forUpdate: () => "",
  forUpdateSkipLocked: () => "",
  forRemoval: "",
  onPostgres: () => "",
  nextKnownUser: "(SELECT next FROM sequences WHERE name = 'known_user')",
  advanceKnownUsers: "UPDATE sequences SET next = next + 1 WHERE name = 'known_user'",
};
