// The files of `mneme bench`: Markdown, SVG, reading a result, and comparing two.

import { describe, expect, test } from "bun:test";
import { compareResults } from "../../bench/command/compare.ts";
import { cellText, markdownOf } from "../../bench/command/report.ts";
import {
  figureColumn,
  keyColumn,
  parseResult,
  type Result,
  SCHEMA_VERSION,
  significant,
} from "../../bench/command/result.ts";
import { barChart, type Chart, chartSvg, lineChart, rangeChart } from "../../bench/lib/chart.ts";
import { svgProblems } from "../support/well-formed.ts";

function result(change: Partial<Result> = {}, p50 = 8): Result {
  return {
    schema_version: SCHEMA_VERSION,
    benchmark: "modes",
    started_at: "2026-11-24T00:00:00.000Z",
    seconds: 12.3,
    machine: { cpu: "A | B", cores: 2, memory_gib: 24, os: "linux 6 x64" },
    versions: { mneme: "0.1.0", commit: null, bun: "1.4.4" },
    models: { embedder: "e5", fingerprint: "f", reranker: null },
    options: { seed: 1 },
    tables: [
      {
        name: "latency",
        title: "Latency",
        columns: [
          keyColumn("mode"),
          figureColumn("p50", "p50", "ms", "lower"),
          figureColumn("questions", "questions", "", null),
          figureColumn("rate", "rate", "1/s", "higher"),
        ],
        rows: [
          { mode: "fast", p50, questions: 10, rate: null },
          { mode: "a | b", p50: 20, questions: 10, rate: null },
        ],
      },
    ],
    chart: barChart({ title: "t", unit: "ms", bars: [] }),
    notes: ["A note."],
    ...change,
  };
}

describe("a result", () => {
  test("is the same after it was written and read", () => {
    const before = result();
    expect(parseResult(JSON.stringify(before), "a.json")).toEqual(before);
  });
  test("is refused with the file's name if it is something else", () => {
    const cases: readonly (readonly [text: string, message: string])[] = [
      ["{", "a.json is not valid JSON."],
      ["[]", "a.json is not a result of mneme bench."],
      ['{"benchmark":"modes"}', "a.json is not a result of mneme bench."],
      [
        JSON.stringify({ ...result(), schema_version: 99 }),
        `a.json has format version 99; this version of Mneme reads ${SCHEMA_VERSION}.`,
      ],
      [
        JSON.stringify({ ...result(), machine: null }),
        "a.json is incomplete: it lacks tables, machine, models or options.",
      ],
      [
        JSON.stringify({ ...result(), tables: [{}] }),
        "a.json is incomplete: it lacks tables, machine, models or options.",
      ],
    ];
    for (const [text, message] of cases) expect(() => parseResult(text, "a.json")).toThrow(message);
  });
  test("as Markdown has one row per figure, escapes bars, and leaves empty columns out", () => {
    const page = markdownOf(result(), "chart.svg");
    expect(page).toContain(
      "| mode | p50 ms | questions |\n| --- | ---: | ---: |\n| fast | 8 | 10 |\n| a \\| b | 20 | 10 |",
    );
    expect(page).toContain("![t](chart.svg)");
    expect(page).toContain("- A note.");
    expect(page).not.toContain("rate");
  });
  test("shows four significant digits", () => {
    expect([1234.567, 0.00123456, 12, 0, null, "fast"].map(cellText)).toEqual([
      "1235",
      "0.001235",
      "12",
      "0",
      "–",
      "fast",
    ]);
    expect(significant(Number.NaN)).toBeNaN();
  });
});

describe("comparing two results", () => {
  test("gives now / then for rows with the same keys, and for figures that can be better", () => {
    const { warnings, tables } = compareResults(result(), result({}, 4));
    expect(warnings).toEqual([]);
    expect(tables[0]?.rows).toEqual([
      { mode: "fast", p50: 0.5, rate: null },
      { mode: "a | b", p50: 1, rate: null },
    ]);
    expect(tables[0]?.columns.map(({ title }) => title)).toEqual([
      ...["mode", "p50 (lower is better)", "rate (higher is better)"],
    ]);
  });
  test("leaves rows out that only one run has", () => {
    const [table] = result().tables;
    if (table === undefined) throw new Error("no table");
    const before = result({ tables: [{ ...table, rows: [{ mode: "precise", p50: 1, questions: 1, rate: 1 }] }] });
    expect(compareResults(before, result()).tables[0]?.rows).toEqual([]);
  });
  test("warns about another machine, other options and another model", () => {
    const machine = { cpu: "C", cores: 8, memory_gib: 24, os: "linux 6 x64" };
    const models = { embedder: "minilm", fingerprint: "g", reranker: null };
    const { warnings } = compareResults(result({ machine, models, options: { seed: 2 } }), result());
    expect(warnings).toEqual([
      "The machines differ, so ratios tell little about the program. CPU: C then, A | B now; cores: 8 then, 2 now.",
      "The embedding models differ: minilm then, e5 now.",
      "The options differ. seed: 2 then, 1 now.",
    ]);
  });
  test("compares nothing with another benchmark", () => {
    expect(compareResults(result({ benchmark: "load" }), result())).toEqual({
      warnings: ["The earlier run is of bench load, so nothing is compared."],
      tables: [],
    });
  });
});

describe("a chart", () => {
  const charts: Readonly<Record<string, Chart>> = {
    range: rangeChart({
      title: "a < b & c",
      unit: "ms",
      rows: [
        { name: "fast", points: [1, 2, 3], limit: 0.5 },
        { name: "none", points: [Number.NaN], limit: Number.NaN },
      ],
      legend: ["p50", "p95", "p99"],
      limitName: "limit",
    }),
    panels: {
      kind: "dots",
      title: "panels",
      rows: [
        { name: "one", series: '"s"' },
        { name: "none", series: "s" },
      ],
      panels: [
        { title: "<p>", unit: "", isLogarithmic: true, points: [[5], []] },
        {
          ...{ title: "q", unit: "ms", isLogarithmic: false, decimals: 3, points: [[0.7], [Number.NaN]] },
          intervals: [
            [0.6, 0.8],
            [Number.NaN, Number.NaN],
          ],
        },
        { title: "empty", unit: "", isLogarithmic: false, points: [[], []] },
      ],
    },
    bar: barChart({
      title: "bars",
      unit: "",
      bars: [
        { name: "a", series: '"x"', value: 0 },
        { name: "b", series: "y", value: 0.7 },
        { name: "c", series: "y", value: null },
      ],
    }),
    line: lineChart({
      title: "lines",
      unit: "ms",
      xTitle: "x",
      lines: [
        {
          name: "fast",
          points: [
            [25, 5],
            [110, 900],
          ],
        },
        { name: "empty", points: [] },
      ],
    }),
    "empty range": rangeChart({ title: "r", unit: "ms", rows: [], legend: [], limitName: "" }),
    "empty bars": barChart({ title: "b", unit: "", bars: [] }),
    "empty lines": lineChart({ title: "l", unit: "", xTitle: "", lines: [] }),
  };
  for (const [name, chart] of Object.entries(charts)) {
    test(`(${name}) is a well-formed SVG document`, () => {
      const svg = chartSvg(chart, ["machine <1>", "version"]);
      expect(svgProblems(svg)).toEqual([]);
      expect(svg).toStartWith("<svg ");
    });
  }
  test("has bars in proportion to their values, and points in the order of theirs", () => {
    const bars = barChart({
      title: "",
      unit: "",
      bars: [
        { name: "a", series: "s", value: 0.5 },
        { name: "b", series: "s", value: 1 },
      ],
    });
    const [half, whole] = [
      ...chartSvg(bars, []).matchAll(/<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="16"/g),
    ].map(([, width]) => Number(width));
    expect(Number(whole) / Number(half)).toBeCloseTo(2, 2);
    const range = rangeChart({
      title: "",
      unit: "",
      rows: [{ name: "a", points: [1, 10, 100], limit: Number.NaN }],
      legend: ["a", "b", "c"],
      limitName: "l",
    });
    const places = [
      ...chartSvg(range, []).matchAll(
        /<circle cx="([\d.]+)" cy="[\d.]+" r="5.5" fill="[^"]+" fill-opacity="[^"]+"><title>/g,
      ),
    ].map(([, x]) => Number(x));
    expect(places).toHaveLength(3);
    // equal ratios are equal distances on a logarithmic axis
    expect(Number(places[1]) - Number(places[0])).toBeCloseTo(Number(places[2]) - Number(places[1]), 0);
  });
  test("of a broken document is noticed by the check", () => {
    expect(svgProblems('<svg a="1"><g></svg>')).not.toEqual([]);
    expect(svgProblems("<svg>a & b</svg>")).not.toEqual([]);
    expect(svgProblems('<svg x="NaN"></svg>')).not.toEqual([]);
  });
});
