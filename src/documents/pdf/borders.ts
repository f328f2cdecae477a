// Defines the borders of tables and boxes, and the cells between them. pdfjs-rules.ts finds borders, ruled-tables.ts
// cells, boxes.ts boxes.

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

/** A box with borders, in the coordinates of runs. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Horizontal range of a column. */
export interface Column {
  readonly from: number;
  readonly to: number;
}

/** Lines that meet, such as the borders of a table. */
export interface Frame {
  readonly horizontal: readonly Rule[];
  readonly vertical: readonly Rule[];
}

/** Maximum distance in points between lines that count as one, and from the end of a line to one that it meets. */
export const SAME_LINE = 2;
const MEETS = 3;
/** Maximum number of lines in each direction of a page that are compared. */
const LINES_MAX = 400;

/** The groups of lines that meet; none if a page has too many lines. */
export function framesOf(rules: readonly Rule[]): Frame[] {
  const horizontal = joined(rules.filter(({ isHorizontal }) => isHorizontal));
  const vertical = joined(rules.filter(({ isHorizontal }) => !isHorizontal));
  if (horizontal.length > LINES_MAX || vertical.length > LINES_MAX) return [];
  const group = new Map<Rule, Rule>();
  const rootOf = (rule: Rule): Rule => {
    let root = rule;
    for (let next = group.get(root); next !== undefined; next = group.get(root)) root = next;
    return root;
  };
  for (const line of horizontal) {
    for (const other of vertical) {
      const meets =
        other.at >= line.from - MEETS &&
        other.at <= line.to + MEETS &&
        line.at >= other.from - MEETS &&
        line.at <= other.to + MEETS;
      if (!meets) continue;
      const [one, two] = [rootOf(line), rootOf(other)];
      if (one !== two) group.set(one, two);
    }
  }
  return [...Map.groupBy([...horizontal, ...vertical], rootOf).values()].map((part) => ({
    horizontal: part.filter(({ isHorizontal }) => isHorizontal),
    vertical: part.filter(({ isHorizontal }) => !isHorizontal),
  }));
}

/** Joins lines that continue each other. */
function joined(rules: readonly Rule[]): Rule[] {
  const lines: Rule[] = [];
  for (const rule of rules.toSorted((a, b) => a.at - b.at || a.from - b.from)) {
    const at = lines.findLastIndex(
      (line) =>
        Math.abs(line.at - rule.at) <= SAME_LINE / 2 && rule.from <= line.to + MEETS && rule.to >= line.from - MEETS,
    );
    const line = lines[at];
    if (line === undefined) lines.push(rule);
    else lines[at] = { ...line, from: Math.min(line.from, rule.from), to: Math.max(line.to, rule.to) };
    if (lines.length > 2 * LINES_MAX) break;
  }
  return lines;
}

/** The distinct positions of lines, in ascending order. */
export function positions(rules: readonly Rule[]): number[] {
  const found: number[] = [];
  for (const { at } of rules.toSorted((a, b) => a.at - b.at)) {
    if (found.length === 0 || at - (found.at(-1) ?? 0) > 2 * SAME_LINE) found.push(at);
  }
  return found;
}
