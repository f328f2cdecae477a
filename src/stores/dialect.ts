// Differences between databases: SQL expressions, tables and columns that not all of them have, and the work of
// triggers. A statement that needs one of these is a function of the dialect; each session makes its text once.
// Statements that differ in more are in sqlite/ and postgres/. Nothing outside of these folders asks which database it
// is.
//
// Both databases understand the following, so it is not part of the dialect: coalesce (not ifnull), CASE (not iif),
// CAST(x AS bigint) and CAST(x AS text) (not ::), ON CONFLICT DO NOTHING, RETURNING, `INSERT INTO t AS alias`, LIMIT
// $rows.

/** Type of the elements of a list parameter. */
export type ElementType = "bigint" | "text";

/** An expression about a list; `list` is the name of a parameter whose value is an array. */
type OfList = (list: string, type?: ElementType) => string;
type OfValues = (...values: readonly string[]) => string;
type OfValue = (value: string) => string;
type OfElement = (column: string, value: string) => string;
type OfTable = (table?: string) => string;

/** A column that repeats a part of `source`. */
export type RepeatOfSource = "file" | "media_type" | "container";
/** A column that repeats a part of `settings`. */
export type RepeatOfSettings = "retention_days";

/** The differences of one database. */
export interface Dialect {
  /** Second half of a condition, after a column: its value is in the list, as in `memory_key ${isIn("keys")}`. */
  readonly isIn: OfList;
  /** Second half of a condition, after a column: its value is not in the list. */
  readonly isNotIn: OfList;
  /** Table with the elements of the list in the column `value`, for FROM. */
  readonly elements: OfList;
  /**
   * Table `given` for FROM with these lists as columns, and with the `position` from 1. The lists have the same length.
   * They must be short: SQLite finds an element of a list by counting from its beginning.
   */
  rows(lists: Readonly<Record<string, ElementType>>): string;
  /** The largest of these values. None of them may be NULL. */
  readonly greatest: OfValues;
  /** The smallest of these values. None of them may be NULL. */
  readonly least: OfValues;
  /** A column with JSON text, to read its fields as text: `${json("settings")} ->> 'name'`. */
  readonly json: OfValue;
  /** Condition: the JSON array in this column has the text `value`. */
  readonly hasElement: OfElement;
  /** Condition: a text has this part. */
  contains(text: string, part: string): string;
  /** A key column with 0 instead of NULL, written as in the index that a statement uses. */
  keyOrZero(column: string): string;
  /** Bytes as text of hexadecimal digits in lower case. */
  readonly toHex: OfValue;
  /** Text of hexadecimal digits as bytes. */
  readonly fromHex: OfValue;
  /** After FROM and a table: reads the table by this index. Empty for PostgreSQL, which chooses the index itself. */
  readonly indexedBy: OfValue;
  /** At the end of a SELECT: no other transaction changes these rows until this one ends. */
  readonly forUpdate: OfTable;
  /** Like `forUpdate`, but leaves out rows that another transaction has locked. */
  readonly forUpdateSkipLocked: OfTable;
  /**
   * At the end of a SELECT of rows to delete: leaves out rows that another transaction uses. A later call deletes them.
   */
  readonly forRemoval: string;
  /** Name of the kept file of a memory. */
  readonly keptFile: string;
  /** Media type of the uploaded file of a memory. */
  readonly mediaType: string;
  /** Id of the memory of the container file in which the file of a memory was found. */
  readonly container: string;
  /** Columns of memories that repeat parts of `source`, so that indexes can use them (rows/memory-file.ts). */
  readonly repeatsOfSource: readonly RepeatOfSource[];
  /** The setting `retention_days` of a project. */
  readonly retentionDays: string;
  /** Columns of projects that repeat parts of `settings`. */
  readonly repeatsOfSettings: readonly RepeatOfSettings[];
  /** Condition for memories: their lease was taken by this node, `$node`. */
  readonly leasedHere: string;
  /** Table `project_service`, whose `served_lease` says when a project was served last. */
  readonly projectService: string;
  /** The next place in the list of known users. `advanceKnownUsers` follows in the same transaction. */
  readonly nextKnownUser: string;
  /** Moves on to the next place; null if reading `nextKnownUser` did so. */
  readonly advanceKnownUsers: string | null;
  /** Tables of `ownedTables` (erasure.ts) that this database does not have. */
  readonly missingTables: readonly string[];
  /** Whether triggers make the rows of `memory_tags` follow the column `tags`. */
  readonly hasTagTriggers: boolean;
  /** Whether several transactions can be open, so that those that concern the same project wait for each other. */
  readonly locksProjects: boolean;
}

/**
 * A statement: its text if all databases understand it, otherwise what makes its text. Sessions cache it, so it must be
 * a constant or have few variants.
 */
export type Sql = string | ((dialect: Dialect) => string);

/** The text of a statement in a dialect. */
export function textOf(sql: Sql, dialect: Dialect): string {
  return typeof sql === "string" ? sql : sql(dialect);
}
