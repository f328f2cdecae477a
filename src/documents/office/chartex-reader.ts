// Reads the parts of the newer kinds of charts, such as waterfalls, funnels and treemaps ([MS-ODRAWXML] 2.24.3).
// chart.ts writes the table.

import { onOneLine } from "../text-writer.ts";
import type { Chart, ChartValues, RangeValues } from "./chart.ts";
import { DrawingText, lineOf } from "./drawing-text.ts";
import { type NumberFormat, numberFormat } from "./xlsx-numbers.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** A dimension of the data: categories, values or sizes. */
interface Dimension {
  readonly kind: string;
  readonly isNumeric: boolean;
  /** Levels of categories, innermost first. */
  readonly levels: Map<number, string>[];
  format: string;
  range: string;
}

/** Reads one chart. */
export class ChartexReader implements XmlHandler {
  readonly #data = new Map<string, Dimension[]>();
  readonly #series: { name: string; dataId: string }[] = [];
  readonly #axes: { isOfValues: boolean; title: string }[] = [];
  readonly #formats = new Map<string, NumberFormat>();
  #title = "";
  #dimensions: Dimension[] = [];
  #dimension: Dimension | null = null;
  #owner: "chart" | "axis" | "series" | null = null;
  #rich: DrawingText | null = null;
  #index = 0;
  #text: string | null = null;

  constructor(private readonly valuesOf: RangeValues) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#rich !== null) return this.#rich.open(name, attributes);
    switch (name) {
      case "cx:data":
        this.#dimensions = [];
        this.#data.set(attributes.id ?? "", this.#dimensions);
        break;
      case "cx:strDim":
      case "cx:numDim":
        this.#dimension = {
          kind: attributes.type ?? "",
          isNumeric: name === "cx:numDim",
          levels: [],
          format: "General",
          range: "",
        };
        this.#dimensions.push(this.#dimension);
        break;
      case "cx:lvl":
        this.#dimension?.levels.push(new Map());
        if (this.#dimension !== null) this.#dimension.format = attributes.formatCode ?? "General";
        break;
      case "cx:pt":
        this.#index = Number.parseInt(attributes.idx ?? "0", 10) || 0;
        this.#text = "";
        break;
      case "cx:f":
      case "cx:v":
        this.#text = "";
        break;
      case "cx:title":
        this.#owner ??= "chart";
        break;
      case "cx:axis":
        this.#owner = "axis";
        this.#axes.push({ isOfValues: false, title: "" });
        break;
      case "cx:valScaling": {
        const axis = this.#axes.at(-1);
        if (axis !== undefined) axis.isOfValues = true;
        break;
      }
      case "cx:series":
        this.#owner = "series";
        this.#series.push({ name: "", dataId: "" });
        break;
      case "cx:dataId": {
        const series = this.#series.at(-1);
        if (series !== undefined) series.dataId = attributes.val ?? "";
        break;
      }
      case "cx:rich":
        this.#rich = new DrawingText();
        break;
      case "cx:dataLabels":
      case "cx:spPr":
      case "cx:txPr":
      case "cx:legend":
      case "cx:extLst":
        return "skip";
    }
    return undefined;
  }

  text(text: string): void {
    if (this.#rich !== null) this.#rich.text(text);
    else if (this.#text !== null) this.#text += text;
  }

  close(name: string): void {
    if (this.#rich !== null && name !== "cx:rich") {
      this.#rich.close(name);
      return;
    }
    const text = onOneLine(this.#text ?? "");
    switch (name) {
      case "cx:pt":
        this.#dimension?.levels.at(-1)?.set(this.#index, this.#shown(text));
        break;
      case "cx:f":
        if (this.#dimension !== null) this.#dimension.range = text;
        break;
      case "cx:v":
        this.#name(text);
        break;
      case "cx:rich":
        this.#name(lineOf(this.#rich?.paragraphs ?? []));
        this.#rich = null;
        break;
      case "cx:strDim":
      case "cx:numDim":
        this.#dimension = null;
        break;
      case "cx:title":
        if (this.#owner === "chart") this.#owner = null;
        break;
      case "cx:axis":
      case "cx:series":
        this.#owner = null;
        break;
    }
    this.#text = null;
  }

  /** The chart, after its end. */
  chart(): Chart {
    const series = this.#series.map(({ name, dataId }) => {
      const dimensions = this.#data.get(dataId) ?? [...this.#data.values()][0] ?? [];
      const categories = dimensions.find(({ isNumeric, kind }) => !isNumeric || kind === "x");
      const values = dimensions.filter((each) => each !== categories && each.isNumeric);
      return {
        name,
        categories: categories === undefined ? new Map<number, string>() : this.#valuesIn(categories),
        values: values.map((each, at) => ({ name: at === 0 ? "" : each.kind, values: this.#valuesIn(each) })),
      };
    });
    return {
      title: this.#title,
      categoryTitle: this.#axes.find(({ isOfValues }) => !isOfValues)?.title ?? "",
      valueTitles: this.#axes.filter(({ isOfValues }) => isOfValues).map(({ title }) => title),
      series,
    };
  }

  #valuesIn({ levels, range }: Dimension): ChartValues {
    const [inner = new Map<number, string>(), ...outer] = levels;
    if (inner.size === 0) return range === "" ? inner : this.valuesOf(range);
    const joined = new Map<number, string>();
    for (const [index, name] of inner) {
      const names = outer.map((level) => level.get(index) ?? "").toReversed();
      joined.set(index, [...names, name].filter((part) => part !== "").join(" "));
    }
    return joined;
  }

  #name(text: string): void {
    const series = this.#series.at(-1);
    const axis = this.#axes.at(-1);
    if (this.#owner === "axis" && axis !== undefined) axis.title ||= text;
    else if (this.#owner === "chart") this.#title ||= text;
    else if (this.#owner === "series" && series !== undefined) series.name ||= text;
  }

  #shown(text: string): string {
    const { isNumeric = false, format = "General" } = this.#dimension ?? {};
    const value = Number(text);
    if (!isNumeric || text === "" || !Number.isFinite(value)) return text;
    const known = this.#formats.get(format) ?? numberFormat(format, false);
    this.#formats.set(format, known);
    return known.number(value);
  }
}
