// Prepared statements of the SQLite file.

/** A value of a parameter. */
export type SqliteValue = string | bigint | number | null | Uint8Array;
/** Values of the parameters `$name` of a statement, by name without `$`. */
export type NamedValues = Readonly<Record<string, SqliteValue>>;
/** Values of the parameters of a statement: of `$name`, or of `?1`, `?2`, … by position. */
export type Values = NamedValues | readonly SqliteValue[];

/** A prepared statement. Integers come back as bigint. Every method throws StoreError if the file fails. */
export interface Statement<Row, Params extends Values> {
  all(params: Params): Row[];
  /** Returns the first row, or null if there is none. */
  get(params: Params): Row | null;
  /** Returns the rows one by one. No other call of this statement may come in between. */
  iterate(params: Params): Iterable<Row>;
  /** Returns the number of changed rows. */
  run(params: Params): number;
}
