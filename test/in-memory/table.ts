// A table of the in-memory stores: immutable rows by key. Transactions work on forks, which copy a table when they
// first write to it.

/** Rows by key, in the order in which keys were added. A row is replaced, never changed. */
export class Table<Key, Row extends object> {
  #rows: Map<Key, Row>;
  #isShared: boolean;

  constructor(rows: Map<Key, Row> = new Map(), isShared = false) {
    this.#rows = rows;
    this.#isShared = isShared;
  }

  /** Returns a table with the same rows. Later changes of one table do not affect the other. */
  fork(): Table<Key, Row> {
    this.#isShared = true;
    return new Table(this.#rows, true);
  }

  /** Whether a fork was written to since its creation. */
  get isChanged(): boolean {
    return !this.#isShared;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  /** All rows, or those for which `condition` holds. */
  rows(condition: (row: Row) => boolean = () => true): Row[] {
    return [...this.#rows.values()].filter(condition);
  }

  /** The first row for which `condition` holds. */
  find(condition: (row: Row) => boolean): Row | undefined {
    for (const row of this.#rows.values()) if (condition(row)) return row;
    return undefined;
  }

  /** Adds or replaces a row. */
  set(key: Key, row: Row): Row {
    this.#own().set(key, row);
    return row;
  }

  /** Removes a row. Returns false if it does not exist. */
  delete(key: Key): boolean {
    return this.#rows.has(key) && this.#own().delete(key);
  }

  #own(): Map<Key, Row> {
    if (this.#isShared) {
      this.#rows = new Map(this.#rows);
      this.#isShared = false;
    }
    return this.#rows;
  }
}
