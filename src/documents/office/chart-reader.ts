// Reads the parts of charts of DrawingML (ECMA-376-1, 21.2). chart.ts writes the table.

import { onOneLine } from "../text-writer.ts";
import type { Chart, ChartSeries, ChartValues, RangeValues } from "./chart.ts";
import { DrawingText, lineOf } from "./drawing-text.ts";
import { type NumberFormat, numberFormat } from "./xlsx-numbers.ts";
import { type Attributes, isOn, type XmlHandler } from "./xml.ts";

/** Elements that are skipped: looks, labels of points, trend lines, error bars, and series that are filtered out. */
const SKIPPED = new Set(
  "c:spPr c:txPr c:dLbls c:dPt c:trendline c:errBars c:legend c:extLst c:marker c:printSettings c:userShapes c:layout c:dTable c:pivotFmts".split(
    " ",
  ),
);
const AXES = new Set(["c:catAx", "c:dateAx", "c:valAx", "c:serAx"]);

interface Axis {
  readonly kind: string;
  /** Side of the chart: `b`, `t`, `l` or `r`. */
  side: string;
  title: string;
}

/** A list of values. */
interface List {
  /** Levels of categories, innermost first. */
  readonly levels: Map<number, string>[];
  isNumeric: boolean;
  format: string;
  /** The range that the values come from. */
  range: string;
}

interface Series {
  name: List | null;
  categories: List | null;
  values: List | null;
  sizes: List | null;
}

/** Reads one chart. */
export class ChartReader implements XmlHandler {
  readonly #axes: Axis[] = [];
  readonly #series: Series[] = [];
  readonly #formats = new Map<string, NumberFormat>();
  #title = "";
  #isScatter = false;
  #is1904 = false;
  #axis: Axis | null = null;
  #isTitle = false;
  #rich: DrawingText | null = null;
  #current: Series | null = null;
  #list: List | null = null;
  #index = 0;
  #pointFormat: string | null = null;
  #text = "";
  #into: "value" | "format" | "range" | null = null;

  constructor(private readonly valuesOf: RangeValues) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#rich !== null) return this.#rich.open(name, attributes);
    if (SKIPPED.has(name)) return "skip";
    if (AXES.has(name)) {
      this.#axis = { kind: name, side: "", title: "" };
      this.#axes.push(this.#axis);
    }
    switch (name) {
      case "c:date1904":
        this.#is1904 = isOn(attributes);
        break;
      case "c:scatterChart":
      case "c:bubbleChart":
        this.#isScatter = true;
        break;
      case "c:axPos":
        if (this.#axis !== null) this.#axis.side = attributes.val ?? "";
        break;
      case "c:title":
        this.#isTitle = true;
        break;
      case "c:rich":
        if (this.#isTitle) this.#rich = new DrawingText();
        else return "skip";
        break;
      case "c:ser":
        this.#current = { name: null, categories: null, values: null, sizes: null };
        this.#series.push(this.#current);
        break;
      case "c:tx":
        this.#begin();
        if (this.#current !== null) this.#current.name = this.#list;
        break;
      case "c:cat":
      case "c:xVal":
        this.#begin();
        if (this.#current !== null) this.#current.categories = this.#list;
        break;
      case "c:val":
      case "c:yVal":
        this.#begin();
        if (this.#current !== null) this.#current.values = this.#list;
        break;
      case "c:bubbleSize":
        this.#begin();
        if (this.#current !== null) this.#current.sizes = this.#list;
        break;
      case "c:numCache":
      case "c:numLit":
        // categories may be numbers, such as dates
        if (this.#list !== null) this.#list.isNumeric = true;
        break;
      case "c:lvl":
        if (this.#list !== null && this.#list.levels.at(-1)?.size !== 0) this.#list.levels.push(new Map());
        break;
      case "c:pt":
        this.#index = Number.parseInt(attributes.idx ?? "0", 10) || 0;
        this.#pointFormat = attributes.formatCode ?? null;
        break;
      case "c:formatCode":
      case "c:f":
      case "c:v":
        this.#into = name === "c:v" ? "value" : name === "c:f" ? "range" : "format";
        this.#text = "";
        break;
    }
    return undefined;
  }

  text(text: string): void {
    if (this.#rich !== null) this.#rich.text(text);
    else if (this.#into !== null) this.#text += text;
  }

  close(name: string): void {
    if (this.#rich !== null && name !== "c:rich") {
      this.#rich.close(name);
      return;
    }
    if (AXES.has(name)) this.#axis = null;
    switch (name) {
      case "c:rich":
        this.#setTitle(lineOf(this.#rich?.paragraphs ?? []));
        this.#rich = null;
        break;
      case "c:title":
        this.#isTitle = false;
        break;
      case "c:tx":
        // a title that is taken from a cell
        if (this.#isTitle && this.#list !== null) this.#setTitle(this.#textOf(this.#list));
        this.#list = null;
        break;
      case "c:cat":
      case "c:xVal":
      case "c:val":
      case "c:yVal":
      case "c:bubbleSize":
        this.#list = null;
        break;
      case "c:ser":
        this.#current = null;
        break;
      case "c:formatCode":
      case "c:f":
      case "c:v":
        this.#endText();
        break;
      case "c:pt":
        this.#index = 0;
        break;
    }
  }

  /** The chart, after its end. */
  chart(): Chart {
    const isOfX = ({ kind, side }: Axis) =>
      this.#isScatter ? kind === "c:valAx" && (side === "b" || side === "t") : kind !== "c:valAx";
    return {
      title: this.#title,
      categoryTitle: this.#axes.find((axis) => isOfX(axis) && axis.title !== "")?.title ?? "",
      valueTitles: this.#axes.filter((axis) => !isOfX(axis)).map(({ title }) => title),
      series: this.#series.map((series) => this.#seriesOf(series)),
    };
  }

  #seriesOf({ name, categories, values, sizes }: Series): ChartSeries {
    return {
      name: name === null ? "" : this.#textOf(name),
      categories: categories === null ? new Map() : this.#valuesIn(categories),
      values: [
        { name: "", values: values === null ? new Map() : this.#valuesIn(values) },
        ...(sizes === null ? [] : [{ name: "size", values: this.#valuesIn(sizes) }]),
      ],
    };
  }

  /** The values of a list. Those of categories with several levels are joined, outermost first. */
  #valuesIn({ levels, range }: List): ChartValues {
    const [inner = new Map<number, string>(), ...outer] = levels;
    if (inner.size === 0) return range === "" ? inner : this.valuesOf(range);
    if (outer.length === 0) return inner;
    const joined = new Map<number, string>();
    const names = outer.map(() => "");
    for (const index of [...inner.keys()].sort((one, other) => one - other)) {
      // an outer name also applies to the categories after it
      for (const [at, level] of outer.entries()) names[at] = level.get(index) ?? names[at] ?? "";
      joined.set(index, [...names.toReversed(), inner.get(index) ?? ""].filter((part) => part !== "").join(" "));
    }
    return joined;
  }

  #begin(): void {
    this.#list = { levels: [new Map()], isNumeric: false, format: "General", range: "" };
  }

  #textOf(list: List): string {
    return [...this.#valuesIn(list).values()].join(" ");
  }

  #setTitle(title: string): void {
    if (title === "") return;
    if (this.#axis !== null) this.#axis.title = title;
    else this.#title = title;
  }

  #endText(): void {
    const list = this.#list;
    const into = this.#into;
    this.#into = null;
    if (list === null) return;
    if (into === "format") list.format = this.#text;
    else if (into === "range") list.range = this.#text.trim();
    else if (into === "value") list.levels.at(-1)?.set(this.#index, this.#shown(list));
  }

  #shown({ isNumeric, format }: List): string {
    const value = Number(this.#text);
    if (!isNumeric || this.#text.trim() === "" || !Number.isFinite(value)) return onOneLine(this.#text);
    const code = this.#pointFormat ?? format;
    const known = this.#formats.get(code) ?? numberFormat(code, this.#is1904);
    this.#formats.set(code, known);
    return known.number(value);
  }
}
