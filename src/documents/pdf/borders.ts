// Defines the borders of tables, and the cells between them. pdfjs-rules.ts finds borders, ruled-tables.ts cells.

/** A line along an axis, in the coordinates of runs. */
export interface Rule {
  readonly isHorizontal: boolean;
  /** Vertical position of a horizontal line, horizontal position of a vertical one. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** The cell that a segment is the text of. */
export interface RuledCell {
  readonly table: RuledTable;
  readonly row: number;
  /** Its columns, from the first to the last, and its last row. */
  readonly first: number;
  readonly last: number;
  readonly lastRow: number;
}

/** A table with borders. */
export interface RuledTable {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** Horizontal range of a column. */
export interface Column {
  readonly from: number;
  readonly to: number;
}
