// Writes charts as tables: title, categories and series. chart-part.ts reads them.

import type { Budget } from "../budget.ts";
import type { Block } from "../text-writer.ts";
import { rowLine } from "./table.ts";

/** A chart. Texts are on one line; empty if the chart does not have them. */
export interface Chart {
  readonly title: string;
  /** Title of the axis of the categories, or of x. */
  readonly categoryTitle: string;
  /** Titles of the axes of values. */
  readonly valueTitles: readonly string[];
  readonly series: readonly ChartSeries[];
}

/** A series of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** Names of the categories, or the x of each point, by index. */
  readonly categories: ChartValues;
  /** Values by index. Only further lists have a name, such as bubbles' `size`. */
  readonly values: readonly { readonly name: string; readonly values: ChartValues }[];
}

/** Values by index, as the chart shows them. */
export type ChartValues = ReadonlyMap<number, string>;

/** Finds the values of a range of cells (`Sheet1!$B$2:$B$9`), if the file keeps no copy of them in the chart. */
export type RangeValues = (range: string) => ChartValues;

/** Maximum length of a column name in UTF-16 code units, because the name is repeated in every row. */
const NAME_UNITS_MAX = 80;

/** The lines of a chart: one with the title, one per category; none if it is empty. */
export function* linesOfChart({ title, categoryTitle, valueTitles, series }: Chart, budget: Budget): Generator<Block> {
  const table = {};
  const axes = valueTitles.filter((each) => each !== "");
  const isNamed = series.some(({ name }) => name !== "");
  // the title of the only axis stands for the name of series without one
  const nameOfUnnamed = isNamed || axes.length !== 1 ? "" : (axes[0] ?? "");
  const about = axes.length === 0 || nameOfUnnamed !== "" ? "" : ` (${axes.join("; ")})`;
  const heading = title || (series.length === 1 ? (series[0]?.name ?? "") : "");
  const isEmpty = series.every(({ name, values }) => name === "" && values.every((list) => list.values.size === 0));
  if (heading === "" && categoryTitle === "" && axes.length === 0 && isEmpty) return;
  yield { text: heading === "" ? `Chart${about}` : `Chart: ${heading}${about}`, series: table };
  for (const group of groupsOf(series)) {
    const columns = group.flatMap(({ name, values }) =>
      values.map((list) => ({ ...list, name: `${name || nameOfUnnamed} ${list.name}`.trim() })),
    );
    const names = new Map([[0, shortened(categoryTitle)]]);
    for (const [at, { name }] of columns.entries()) names.set(at + 1, shortened(name));
    const unfilled = columns.filter(({ name, values }) => values.size === 0 && name !== "").map(({ name }) => name);
    if (unfilled.length > 0) yield { text: unfilled.join(" | "), series: table };
    const categories = group[0]?.categories ?? new Map<number, string>();
    const indexes = new Set(columns.flatMap(({ values }) => [...values.keys()]));
    for (const index of [...indexes].sort((one, other) => one - other)) {
      budget.addCells(columns.length + 1);
      const texts = [categories.get(index) ?? "", ...columns.map(({ values }) => values.get(index) ?? "")];
      const cells = texts.map((text, column) => ({ text, column, span: 1, isBold: false }));
      const line = rowLine(cells, names);
      if (line !== "") yield { text: line, series: table };
    }
  }
}

/** Cuts a column name; each row repeats it. */
function shortened(name: string): string {
  return name.length <= NAME_UNITS_MAX ? name : `${name.slice(0, NAME_UNITS_MAX - 1).toWellFormed()}…`;
}

/** Groups series that have the same categories. Series without categories belong to the first group. */
function groupsOf(series: readonly ChartSeries[]): ChartSeries[][] {
  const groups = new Map<string, ChartSeries[]>();
  for (const each of series) {
    const key = [...each.categories].flat().join("\u0000");
    const [first] = groups.values();
    const group = groups.get(key) ?? (each.categories.size === 0 ? first : undefined);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  return [...groups.values()];
}
