// What commands that keep data need of a database of rows: statements that both dialects understand. Integers come back
// as bigint.

/** A value of a parameter or a column. */
export type RowValue = string | bigint | number | Uint8Array | null;
/** Values of the parameters `$name` of a statement; others are ignored. */
export type RowParams = Readonly<Record<string, RowValue>>;
/** A row with any columns. */
export type AnyRow = Readonly<Record<string, RowValue>>;

/** Reads rows. */
export interface RowReader {
  /** Subquery for the keys in the parameter `$keys`, which `listOf` makes. */
  readonly keys: string;
  /** Subquery for the texts in the parameter `$ids`, which `listOf` makes. */
  readonly ids: string;
  all<Row = AnyRow>(sql: string, params?: RowParams): Promise<readonly Row[]>;
}

/** Reads and writes rows in one transaction. */
export interface RowWriter extends RowReader {
  /** Which dialect has no words in common with the other one. */
  readonly dialect: "sqlite" | "postgres";
}

/** Runs `work` in one transaction. */
export type WriteRows = <T>(work: (rows: RowWriter) => Promise<T>) => Promise<T>;

/** Any number of keys or texts as one parameter: a JSON array. */
export function listOf(values: readonly (bigint | string)[]): string {
  return `[${values.map((value) => (typeof value === "bigint" ? value : JSON.stringify(value))).join(",")}]`;
}

/** The parameters that a statement has. */
export function paramsIn(sql: string, params: RowParams): RowParams {
  return Object.fromEntries(Object.entries(params).filter(([name]) => new RegExp(`\\$${name}\\b`).test(sql)));
}
