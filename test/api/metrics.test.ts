// Metrics: the page follows the grammar of the Prometheus text format, and counts what was observed.

import { describe, expect, test } from "bun:test";
import { RequestMetrics } from "../../src/api/metrics.ts";
import { METRICS_CONTENT_TYPE, Metrics } from "../../src/kit/metrics.ts";
import { seeded } from "../support/seeded.ts";

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}

/** Reads the text format 0.0.4 strictly: HELP, then TYPE, then the samples of that metric, each line ended. */
function parse(text: string): Family[] {
  if (text === "") return [];
  if (!text.endsWith("\n")) throw new Error("the last line is not ended");
  const families: Family[] = [];
  const lines = text.slice(0, -1).split("\n");
  for (let at = 0; at < lines.length; ) {
    const [, name = "", help = ""] = match(/^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\\n]|\\\\|\\n)*)$/, lines[at++]);
    const [, typed, type = ""] = match(/^# TYPE (\S+) (counter|gauge|histogram)$/, lines[at++]);
    if (typed !== name) throw new Error(`the type of ${typed} follows the help of ${name}`);
    const samples: Sample[] = [];
    while (at < lines.length && !lines[at]?.startsWith("#")) samples.push(sampleOf(lines[at++]));
    const suffix = type === "histogram" ? "(_bucket|_sum|_count)" : "";
    for (const sample of samples) match(new RegExp(`^${name}${suffix}$`), sample.name);
    families.push({
      name,
      help: help.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped)),
      type,
      samples,
    });
  }
  const names = families.map(({ name }) => name);
  if (new Set(names).size !== names.length) throw new Error("a metric stands twice");
  return families;
}

function sampleOf(line: string | undefined): Sample {
  const [, name = "", , pairs = "", number = ""] = match(
    /^([a-zA-Z_:][\w:]*)(\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? ([+-]?Inf|NaN|[+-]?[\d.]+(?:e[+-]?\d+)?)$/,
    line,
  );
  const labels = [...pairs.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"/g)].map(([, label = "", value = ""]) => [
    label,
    value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped)),
  ]);
  return { name, labels: Object.fromEntries(labels), value: Number(number.replace("Inf", "Infinity")) };
}

function match(pattern: RegExp, line: string | undefined): RegExpExecArray {
  const found = pattern.exec(line ?? "");
  if (found === null) throw new Error(`${JSON.stringify(line)} is not ${pattern}`);
  return found;
}

const family = (metrics: Metrics, name: string) => {
  const found = parse(metrics.text()).find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
};

describe("the page", () => {
  test("of nothing is empty", () => {
    expect(new Metrics().text()).toBe("");
    expect(METRICS_CONTENT_TYPE).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  test("has help and type in front of each metric, in the order of their declaration", () => {
    const metrics = new Metrics();
    metrics.counter("b_total", "Counts b.");
    metrics.gauge("a", "Is a.", [], () => []);
    metrics.histogram("c_seconds", "Measures c.", [1]);
    expect(parse(metrics.text()).map(({ name, help, type }) => [name, help, type])).toEqual([
      ["b_total", "Counts b.", "counter"],
      ["a", "Is a.", "gauge"],
      ["c_seconds", "Measures c.", "histogram"],
    ]);
  });

  test("gives back label values and help as they were, whatever they hold", () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    const characters = ["\\", '"', "\n", "n", "{", "}", ",", "=", " ", "é", "\u2028", "#"];
    const anyText = () => Array.from({ length: 8 }, () => characters[Math.floor(random() * 12)]).join("");
    for (let round = 0; round < 200; round++) {
      const metrics = new Metrics();
      const [help, first, second] = [anyText(), anyText(), anyText()];
      metrics.counter("odd_total", help, ["first", "second"])(first, second).add(3);
      const { samples, help: shown } = family(metrics, "odd_total");
      expect([seed, shown, samples]).toEqual([
        seed,
        help,
        [{ name: "odd_total", labels: { first, second }, value: 3 }],
      ]);
    }
  });

  test("writes what is no finite number as the format has it", () => {
    const metrics = new Metrics();
    const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21, -0.5];
    metrics.gauge("any", "Any.", ["at"], () => values.map((value, at) => ({ labels: [String(at)], value })));
    expect(family(metrics, "any").samples.map(({ value }) => value)).toEqual(values);
    expect(metrics.text()).toContain("+Inf");
  });
});

describe("counters", () => {
  test("begin at 0 where they have no labels, and only grow", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.");
    expect(family(metrics, "things_total").samples).toEqual([{ name: "things_total", labels: {}, value: 0 }]);
    counter().add();
    counter().add(2.5);
    expect(family(metrics, "things_total").samples[0]?.value).toBe(3.5);
    expect(() => counter().add(-1)).toThrow("only grows");
  });

  test("count each set of labels apart", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.", ["a", "b"]);
    counter('x","', "y").add();
    counter("x", '","y').add();
    counter("x", '","y').add();
    expect(family(metrics, "things_total").samples.map(({ value }) => value)).toEqual([1, 2]);
    expect(() => counter("x")).toThrow("has the labels a, b");
  });

  test("take labels beyond a thousand together, and lose no count", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.", ["name"]);
    for (let at = 0; at < 3_000; at++) counter(`name ${at % 1_500}`).add();
    const { samples } = family(metrics, "things_total");
    expect(samples).toHaveLength(1_000);
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(3_000);
    expect(samples.find(({ labels }) => labels.name === "other")?.value).toBe(2 * 501);
  });
});

describe("gauges", () => {
  test("are read whenever the page is made", () => {
    const metrics = new Metrics();
    let value = 1;
    metrics.gauge("level", "Level.", [], () => [{ labels: [], value }]);
    expect(family(metrics, "level").samples[0]?.value).toBe(1);
    value = 7;
    expect(family(metrics, "level").samples[0]?.value).toBe(7);
  });

  test("tell who asks for the page when they cannot be read", () => {
    const metrics = new Metrics();
    metrics.gauge("level", "Level.", ["of"], () => {
      throw new Error("the store is closed");
    });
    expect(() => metrics.text()).toThrow("the store is closed");
    const wrong = new Metrics();
    wrong.gauge("level", "Level.", ["of"], () => [{ labels: [], value: 1 }]);
    expect(() => wrong.text()).toThrow("has the labels of");
  });
});

describe("histograms", () => {
  test("count a value into every bucket that it is not beyond, bounds included", () => {
    const metrics = new Metrics();
    const histogram = metrics.histogram("took_seconds", "Took.", [0.1, 1], ["of"]);
    for (const value of [0.05, 0.1, 0.11, 1, 1.01, 400]) histogram("x").observe(value);
    const { samples } = family(metrics, "took_seconds");
    expect(samples.slice(0, 3)).toEqual([
      { name: "took_seconds_bucket", labels: { of: "x", le: "0.1" }, value: 2 },
      { name: "took_seconds_bucket", labels: { of: "x", le: "1" }, value: 4 },
      { name: "took_seconds_bucket", labels: { of: "x", le: "+Inf" }, value: 6 },
    ]);
    expect(samples[3]?.value).toBeCloseTo(402.27);
    expect(samples[4]).toEqual({ name: "took_seconds_count", labels: { of: "x" }, value: 6 });
  });
});

describe("declarations are refused", () => {
  const rows: readonly (readonly [what: string, declare: (metrics: Metrics) => unknown])[] = [
    ["with a name that the format does not allow", (metrics) => metrics.counter("a b", "")],
    ["with a label that the format does not allow", (metrics) => metrics.counter("a", "", ["b-c"])],
    ["with a label that the format keeps for itself", (metrics) => metrics.counter("a", "", ["__name__"])],
    ["with one label twice", (metrics) => metrics.counter("a", "", ["b", "b"])],
    ["with buckets that do not ascend", (metrics) => metrics.histogram("a", "", [2, 1])],
    ["with the label of the buckets", (metrics) => metrics.histogram("a", "", [1], ["le"])],
    ["under a name that is taken", (metrics) => [metrics.counter("a", ""), metrics.gauge("a", "", [], () => [])]],
  ];
  for (const [what, declare] of rows) {
    test(what, () => {
      expect(() => declare(new Metrics())).toThrow("this is a bug in Mneme");
    });
  }
});

describe("requests", () => {
  test("are counted by operation and status, and timed by operation in seconds", () => {
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics);
    requests.observe("createMemory", 202, 4);
    requests.observe("createMemory", 202, 30);
    requests.observe("createMemory", 400, 0.4);
    requests.observe("none", 404, 12_000);
    expect(family(metrics, "mneme_http_requests_total").samples).toEqual([
      { name: "mneme_http_requests_total", labels: { operation: "createMemory", status: "202" }, value: 2 },
      { name: "mneme_http_requests_total", labels: { operation: "createMemory", status: "400" }, value: 1 },
      { name: "mneme_http_requests_total", labels: { operation: "none", status: "404" }, value: 1 },
    ]);
    const { samples } = family(metrics, "mneme_http_request_duration_seconds");
    const of = (operation: string, le: string) =>
      samples.find(({ labels }) => labels.operation === operation && labels.le === le)?.value;
    expect([of("createMemory", "0.001"), of("createMemory", "0.005"), of("createMemory", "0.05")]).toEqual([1, 2, 3]);
    expect([of("none", "10"), of("none", "+Inf")]).toEqual([0, 1]);
    const sum = samples.find(({ name, labels }) => name.endsWith("_sum") && labels.operation === "createMemory");
    expect(sum?.value).toBeCloseTo(0.0344);
  });
});
