// The chart's SVG: positions of its parts, and escaping of names.

import { describe, expect, test } from "bun:test";
import { type ChartContent, chartSvg } from "../../bench/lib/chart.ts";

function chart(change: Partial<ChartContent> = {}): string {
  return chartSvg({
    title: "nDCG@10",
    subtitle: "of a test",
    groups: [
      {
        name: "scifact (300)",
        bars: [
          { kind: "fast", value: 0.5, low: 0.4, high: 0.6 },
          { kind: "precise", value: 1, low: 0.9, high: 1 },
        ],
        marks: [{ kind: "equal RRF", value: 0.5 }],
      },
    ],
    barColours: { fast: "#bcd7ee", precise: "#1f5c99" },
    markPatterns: { "equal RRF": "8 4" },
    ...change,
  });
}

const attributes = (svg: string, pattern: RegExp) => [...svg.matchAll(pattern)].map(([, value]) => Number(value));

describe("the chart", () => {
  test("gives bars heights in proportion to their values", () => {
    const [half = 0, whole = 0] = attributes(chart(), /<rect x="\d+" y="[\d.]+" width="30" height="([\d.]+)"/g);
    expect(half).toBeGreaterThan(0);
    expect(whole).toBeCloseTo(2 * half, 5);
  });
  test("puts a mark at the height of a bar of the same value, across the group", () => {
    const svg = chart();
    const [top] = attributes(svg, /<rect x="\d+" y="([\d.]+)" width="30"/g);
    const marks = attributes(
      svg,
      /<line x1="\d+" x2="\d+" y1="([\d.]+)" y2="[\d.]+" stroke="#1f2430"[^>]*><title>equal/g,
    );
    expect(marks).toEqual([top ?? Number.NaN]);
  });
  test("shows figures, collections and kinds as text", () => {
    const svg = chart();
    for (const words of [
      ">.500<",
      ">1.000<",
      ">scifact (300)<",
      ">fast<",
      ">equal RRF<",
      "fast: .500 (.400 to .600)",
    ]) {
      expect(svg).toContain(words);
    }
  });
  test("keeps everything within its width for any number of groups and kinds", () => {
    const groups = Array.from({ length: 12 }, (_, at) => ({
      name: `set ${at}`,
      bars: Array.from({ length: 6 }, () => ({ kind: "fast", value: 0.5, low: 0.4, high: 0.6 })),
      marks: [],
    }));
    const colours = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`kind number ${at}`, "#bcd7ee"]));
    const svg = chart({ groups, barColours: colours });
    const [width = 0] = attributes(svg, /<svg [^>]*width="([\d.]+)"/g);
    for (const right of attributes(svg, / x="([\d.]+)"/g)) expect(right).toBeLessThan(width);
    const [height = 0] = attributes(svg, /<svg [^>]*height="([\d.]+)"/g);
    for (const bottom of attributes(svg, / y="([\d.]+)"/g)) expect(bottom).toBeLessThan(height);
  });
  test("is well-formed for any collection name, and without figures", () => {
    const svg = chart({ groups: [{ name: `<script>"&`, bars: [], marks: [] }] });
    expect(svg).not.toContain("<script>");
    expect(svg).toContain("&#60;script&#62;&#34;&#38;");
    expect(chart({ groups: [] })).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });
});
