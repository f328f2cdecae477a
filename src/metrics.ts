// Metrics: counters, gauges and histograms, rendered in the Prometheus text format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats). The callers define what is counted.

import { invariant } from "./domain/fault.ts";
import type { Eventually } from "./kit/eventually.ts";

/** Content-Type of `Metrics.text()`. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Maximum number of label combinations per metric. Regular labels stay far below it; the limit prevents
 * caller-controlled labels from filling the memory. Further combinations are counted under `OTHER`.
 */
const SERIES_MAX = 1_000;
/** Label value of the series that counts combinations beyond `SERIES_MAX`. */
const OTHER = "other";

/** Label values of a metric, in the order in which its labels were declared. */
export type LabelValues = readonly string[];

/** A count that never decreases. */
export interface Counter {
  /** @param by how much to add: at least 0, by default 1 */
  add(by?: number): void;
}

/** Distribution of values over buckets. */
export interface Histogram {
  observe(value: number): void;
}

/** One value of a gauge, with its label values. */
export interface GaugeSample {
  readonly labels: LabelValues;
  readonly value: number;
}

/** What a thread has counted in one metric, for the metrics of another thread. */
export interface TakenCounts {
  readonly name: string;
  /** By label values: the count of a counter; the counts of the buckets of a histogram, then the sum of its values. */
  readonly series: readonly { readonly labels: LabelValues; readonly counts: readonly number[] }[];
}

interface Metric {
  readonly name: string;
  readonly lines: () => Eventually<readonly string[]>;
  /** null for a gauge. */
  readonly series: Series<CounterSeries | HistogramSeries> | null;
}

/** The metrics of one process, or what one of its threads has counted. */
export class Metrics {
  readonly #metrics: Metric[] = [];

  /**
   * Declares a counter (its name ends with `_total`).
   * @returns a function from label values to their counter. Each call builds a string, so hot paths should keep the
   *   counter
   * @throws Error for an invalid name or label, or a name that is already declared
   */
  counter(name: string, help: string, labelNames: readonly string[] = []): (...labels: LabelValues) => Counter {
    const series = new Series(name, labelNames, () => new CounterSeries());
    const samples = () => series.all().map(({ labels, of }) => sampleLine(name, labelNames, labels, of.value));
    this.#declare(name, help, "counter", labelNames, samples, series);
    return (...labels) => series.of(labels);
  }

  /**
   * Declares a gauge. `read` runs whenever the metrics are rendered, so it must be quick. Its errors are thrown to the
   * caller of `text`.
   * @throws Error as `counter` does
   */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Eventually<Iterable<GaugeSample>>,
  ): void {
    this.#declare(name, help, "gauge", labelNames, async () =>
      [...(await read())].map(({ labels, value }) => {
        checkLabels(name, labelNames, labels);
        return sampleLine(name, labelNames, labels, value);
      }),
    );
  }

  /**
   * Declares a histogram.
   * @param bounds upper bounds of the buckets, inclusive, ascending; `+Inf` is added
   * @returns a function from label values to their histogram
   * @throws Error as `counter` does, and for bounds that do not ascend
   */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames: readonly string[] = [],
  ): (...labels: LabelValues) => Histogram {
    invariant(
      bounds.every((bound, at) => bound > (bounds[at - 1] ?? Number.NEGATIVE_INFINITY)),
      `the bucket bounds of ${name} must ascend`,
    );
    invariant(!labelNames.includes("le"), `the label 'le' of ${name} is reserved for buckets`);
    const series = new Series(name, labelNames, () => new HistogramSeries(bounds));
    const samples = () => series.all().flatMap(({ labels, of }) => of.lines(name, labelNames, labels));
    this.#declare(name, help, "histogram", labelNames, samples, series);
    return (...labels) => series.of(labels);
  }

  /** Takes what was counted since the last call, and counts from 0 again. Gauges stay. */
  take(): readonly TakenCounts[] {
    return this.#metrics.flatMap(({ name, series }) => {
      if (series === null) return [];
      const taken = series.all().map(({ labels, of }) => ({ labels, counts: of.take() }));
      const counted = taken.filter(({ counts }) => counts.some((count) => count !== 0));
      return counted.length === 0 ? [] : [{ name, series: counted }];
    });
  }

  /** Adds what another thread has counted. @throws Error if one of its metrics is not declared here */
  add(taken: readonly TakenCounts[]): void {
    for (const { name, series } of taken) {
      const own = this.#metrics.find((metric) => metric.name === name)?.series ?? null;
      invariant(own !== null, `${name} is declared in every thread that counts it`);
      for (const { labels, counts } of series) own?.of(labels).addCounts(counts);
    }
  }

  /** All metrics with help and type, in the order of their declaration. */
  async text(): Promise<string> {
    const lines = await Promise.all(this.#metrics.map((metric) => metric.lines()));
    return lines.flat().join("\n") + (lines.length === 0 ? "" : "\n");
  }

  #declare(
    name: string,
    help: string,
    type: "counter" | "gauge" | "histogram",
    labelNames: readonly string[],
    samples: () => Eventually<readonly string[]>,
    series: Metric["series"] = null,
  ): void {
    invariant(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name), `${JSON.stringify(name)} is not a valid metric name`);
    invariant(
      labelNames.every((label) => /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) && !label.startsWith("__")) &&
        new Set(labelNames).size === labelNames.length,
      `${name} has invalid label names: ${labelNames.join(", ")}`,
    );
    invariant(!this.#metrics.some((metric) => metric.name === name), `the metric ${name} is declared twice`);
    const head = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
    this.#metrics.push({ name, lines: async () => [...head, ...(await samples())], series });
  }
}

// The time series of one metric, by label values.
class Series<S> {
  readonly #name: string;
  readonly #labelNames: readonly string[];
  readonly #make: () => S;
  readonly #byKey = new Map<string, { readonly labels: LabelValues; readonly of: S }>();

  constructor(name: string, labelNames: readonly string[], make: () => S) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#make = make;
    if (labelNames.length === 0) this.of([]);
  }

  of(labels: LabelValues): S {
    checkLabels(this.#name, this.#labelNames, labels);
    const key = JSON.stringify(labels);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known.of;
    const others = labels.map(() => OTHER);
    if (this.#byKey.size >= SERIES_MAX - 1 && key !== JSON.stringify(others)) return this.of(others);
    const of = this.#make();
    this.#byKey.set(key, { labels, of });
    return of;
  }

  all(): readonly { readonly labels: LabelValues; readonly of: S }[] {
    return [...this.#byKey.values()];
  }
}

class CounterSeries implements Counter {
  value = 0;

  add(by = 1): void {
    invariant(by >= 0, "a counter must not decrease");
    this.value += by;
  }

  take(): readonly number[] {
    const { value } = this;
    this.value = 0;
    return [value];
  }

  addCounts([by = 0]: readonly number[]): void {
    this.add(by);
  }
}

class HistogramSeries implements Histogram {
  readonly #bounds: readonly number[];
  /** Number of observations per bucket, not cumulative. The last bucket counts values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at++;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  take(): readonly number[] {
    const counts = [...this.#counts, this.#sum];
    this.#counts.fill(0);
    this.#sum = 0;
    return counts;
  }

  addCounts(counts: readonly number[]): void {
    for (const at of this.#counts.keys()) this.#counts[at] = (this.#counts[at] ?? 0) + (counts[at] ?? 0);
    this.#sum += counts[this.#counts.length] ?? 0;
  }

  lines(name: string, labelNames: readonly string[], labels: LabelValues): string[] {
    let count = 0;
    const buckets = [...this.#counts].map((own, at) => {
      count += own;
      const bound = formatNumber(this.#bounds[at] ?? Number.POSITIVE_INFINITY);
      return sampleLine(`${name}_bucket`, [...labelNames, "le"], [...labels, bound], count);
    });
    return [
      ...buckets,
      sampleLine(`${name}_sum`, labelNames, labels, this.#sum),
      sampleLine(`${name}_count`, labelNames, labels, count),
    ];
  }
}

function checkLabels(name: string, labelNames: readonly string[], labels: LabelValues): void {
  invariant(labels.length === labelNames.length, `${name} takes the labels ${labelNames.join(", ")}`);
}

function sampleLine(name: string, labelNames: readonly string[], labels: LabelValues, value: number): string {
  const pairs = labelNames.map((label, at) => `${label}="${escapeLabel(labels[at] ?? "")}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${formatNumber(value)}`;
}

function formatNumber(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
