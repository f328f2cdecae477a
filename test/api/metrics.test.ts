// Metrics: the page follows the grammar of the Prometheus text format, and its counts equal the values recorded and the
// requests answered.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AUTH_FAILURES_PER_MINUTE, RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { RequestMetrics } from "../../src/api/metrics.ts";
import { type Clock, systemClock } from "../../src/kit/clock.ts";
import { METRICS_CONTENT_TYPE, Metrics } from "../../src/metrics.ts";
import { openStream } from "../support/event-stream.ts";
import { seeded } from "../support/seeded.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

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

const family = async (metrics: { text(): Promise<string> }, name: string) => {
  const found = parse(await metrics.text()).find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
};

describe("the page", () => {
  test("is empty without metrics", async () => {
    expect(await new Metrics().text()).toBe("");
    expect(METRICS_CONTENT_TYPE).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  test("has help and type before each metric, in the order of declaration", async () => {
    const metrics = new Metrics();
    metrics.counter("b_total", "Counts b.");
    metrics.gauge("a", "Is a.", [], () => []);
    metrics.histogram("c_seconds", "Measures c.", [1]);
    expect(parse(await metrics.text()).map(({ name, help, type }) => [name, help, type])).toEqual([
      ["b_total", "Counts b.", "counter"],
      ["a", "Is a.", "gauge"],
      ["c_seconds", "Measures c.", "histogram"],
    ]);
  });

  test("escapes label values and help texts reversibly", async () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    const characters = ["\\", '"', "\n", "n", "{", "}", ",", "=", " ", "é", "\u2028", "#"];
    const anyText = () => Array.from({ length: 8 }, () => characters[Math.floor(random() * 12)]).join("");
    for (let round = 0; round < 200; round++) {
      const metrics = new Metrics();
      const [help, first, second] = [anyText(), anyText(), anyText()];
      metrics.counter("odd_total", help, ["first", "second"])(first, second).add(3);
      const { samples, help: shown } = await family(metrics, "odd_total");
      expect([seed, shown, samples]).toEqual([
        seed,
        help,
        [{ name: "odd_total", labels: { first, second }, value: 3 }],
      ]);
    }
  });

  test("writes infinite numbers and NaN in the format", async () => {
    const metrics = new Metrics();
    const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21, -0.5];
    metrics.gauge("any", "Any.", ["at"], () => values.map((value, at) => ({ labels: [String(at)], value })));
    expect((await family(metrics, "any")).samples.map(({ value }) => value)).toEqual(values);
    expect(await metrics.text()).toContain("+Inf");
  });
});

describe("counters", () => {
  test("start at 0 if they have no labels, and only grow", async () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.");
    expect((await family(metrics, "things_total")).samples).toEqual([{ name: "things_total", labels: {}, value: 0 }]);
    counter().add();
    counter().add(2.5);
    expect((await family(metrics, "things_total")).samples[0]?.value).toBe(3.5);
    expect(() => counter().add(-1)).toThrow("must not decrease");
  });

  test("count each set of labels separately", async () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.", ["a", "b"]);
    counter('x","', "y").add();
    counter("x", '","y').add();
    counter("x", '","y').add();
    expect((await family(metrics, "things_total")).samples.map(({ value }) => value)).toEqual([1, 2]);
    expect(() => counter("x")).toThrow("takes the labels a, b");
  });

  test("combine labels beyond a thousand, and lose no count", async () => {
    const metrics = new Metrics();
    const counter = metrics.counter("things_total", "Things.", ["name"]);
    for (let at = 0; at < 3_000; at++) counter(`name ${at % 1_500}`).add();
    const { samples } = await family(metrics, "things_total");
    expect(samples).toHaveLength(1_000);
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(3_000);
    expect(samples.find(({ labels }) => labels.name === "other")?.value).toBe(2 * 501);
  });
});

describe("gauges", () => {
  test("are read each time the page is requested", async () => {
    const metrics = new Metrics();
    let value = 1;
    metrics.gauge("level", "Level.", [], () => [{ labels: [], value }]);
    expect((await family(metrics, "level")).samples[0]?.value).toBe(1);
    value = 7;
    expect((await family(metrics, "level")).samples[0]?.value).toBe(7);
  });

  test("fail the request of the page if they cannot be read", async () => {
    const metrics = new Metrics();
    metrics.gauge("level", "Level.", ["of"], () => {
      throw new Error("the store is closed");
    });
    await expect(metrics.text()).rejects.toThrow("the store is closed");
    const wrong = new Metrics();
    wrong.gauge("level", "Level.", ["of"], () => [{ labels: [], value: 1 }]);
    await expect(wrong.text()).rejects.toThrow("takes the labels of");
  });
});

describe("histograms", () => {
  test("count a value in every bucket whose bound is at least the value", async () => {
    const metrics = new Metrics();
    const histogram = metrics.histogram("took_seconds", "Took.", [0.1, 1], ["of"]);
    for (const value of [0.05, 0.1, 0.11, 1, 1.01, 400]) histogram("x").observe(value);
    const { samples } = await family(metrics, "took_seconds");
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
  test("are counted by operation and status, and timed by operation in seconds", async () => {
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics);
    requests.observe("createMemory", 202, 4);
    requests.observe("createMemory", 202, 30);
    requests.observe("createMemory", 400, 0.4);
    requests.observe("none", 404, 12_000);
    expect((await family(metrics, "mneme_http_requests_total")).samples).toEqual([
      { name: "mneme_http_requests_total", labels: { operation: "createMemory", status: "202" }, value: 2 },
      { name: "mneme_http_requests_total", labels: { operation: "createMemory", status: "400" }, value: 1 },
      { name: "mneme_http_requests_total", labels: { operation: "none", status: "404" }, value: 1 },
    ]);
    const { samples } = await family(metrics, "mneme_http_request_duration_seconds");
    const of = (operation: string, le: string) =>
      samples.find(({ labels }) => labels.operation === operation && labels.le === le)?.value;
    expect([of("createMemory", "0.001"), of("createMemory", "0.005"), of("createMemory", "0.05")]).toEqual([1, 2, 3]);
    expect([of("none", "10"), of("none", "+Inf")]).toEqual([0, 1]);
    const sum = samples.find(({ name, labels }) => name.endsWith("_sum") && labels.operation === "createMemory");
    expect(sum?.value).toBeCloseTo(0.0344);
  });
});

/** A clock whose time changes only when a test advances it. Sleeps take their real time. */
class StandingClock implements Clock {
  #now = systemClock.now();

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

describe("over HTTP", () => {
  const clock = new StandingClock();
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await startService({ countsWords: true, clock, config: { rateLimits: RATE_LIMITS } });
  });
  afterAll(() => mneme.stop());

  const send = (method: string, path: string, key = TEST_KEY) =>
    mneme.service.handle(
      new Request(`http://mneme.test${path}`, { method, headers: { authorization: `Bearer ${key}` } }),
    );
  const page = async () => {
    const text = await (await send("GET", "/metrics")).text();
    return { text: async () => text };
  };
  /**
   * Reads how many requests were answered: by operation and status from the counter, by operation from the histogram.
   */
  const counted = async () => {
    const counts = new Map<string, number>();
    const shown = await page();
    for (const { labels, value } of (await family(shown, "mneme_http_requests_total")).samples) {
      counts.set(`${labels.operation} ${labels.status}`, value);
    }
    for (const { name, labels, value } of (await family(shown, "mneme_http_request_duration_seconds")).samples) {
      if (name.endsWith("_count")) counts.set(`${labels.operation} timed`, value);
    }
    return (what: string) => counts.get(what) ?? 0;
  };

  const rows: readonly (readonly [operation: string, status: number, method: string, path: string, key?: string])[] = [
    ["getUsage", 200, "GET", "/v1/usage"],
    ["getUsage", 200, "HEAD", "/v1/usage"],
    ["listMemories", 400, "GET", "/v1/memories?limit=0"],
    ["createMemory", 415, "POST", "/v1/memories"],
    ["unrouted", 401, "GET", "/v1/usage", "ctx_wrong"],
    ["unrouted", 401, "GET", "/v1/nothing", "ctx_wrong"],
    ["unrouted", 404, "GET", "/v1/nothing"],
    ["unrouted", 404, "GET", "/nothing"],
    ["unrouted", 405, "PUT", "/v1/memories"],
    ["page", 200, "GET", "/health"],
  ];
  for (const [operation, status, method, path, key] of rows) {
    test(`${method} ${path}${key === undefined ? "" : " without a key"} counts once, as ${operation} ${status}`, async () => {
      const before = await counted();
      expect((await send(method, path, key)).status).toBe(status);
      const after = await counted();
      // reading the metrics the first time is itself counted as a request to a page
      const looks = operation === "page" ? 1 : 0;
      for (const what of [`${operation} ${status}`, `${operation} timed`]) {
        expect([what, after(what) - before(what)]).toEqual([what, 1 + looks]);
      }
    });
  }

  test("a rate-limited request counts as 429 of its operation, if it has one", async () => {
    clock.advance(120_000);
    const before = await counted();
    const busy = mneme.addKey(["*"]);
    for (let n = 0; n <= 100; n++) await send("DELETE", "/v1/nothing", busy);
    for (let n = 0; n <= 300; n++) await send("GET", "/v1/usage", busy);
    for (let n = 0; n <= AUTH_FAILURES_PER_MINUTE; n++) await send("GET", "/v1/usage", "ctx_wrong");
    const after = await counted();
    const grown = (what: string) => after(what) - before(what);
    expect([grown("unrouted 404"), grown("getUsage 200")]).toEqual([100, 300]);
    expect(grown("unrouted 401")).toBe(AUTH_FAILURES_PER_MINUTE);
    expect([grown("unrouted 429"), grown("getUsage 429")]).toEqual([2, 1]);
    clock.advance(120_000);
  });

  test("a stream counts when it has ended, however it ends", async () => {
    const query = { query: "When is a stream counted?", stream: true };
    const streams = async () => (await counted())("queryMemories 200");
    const before = await streams();
    const read = await openStream(mneme, "/v1/memories/query", query);
    const left = await openStream(mneme, "/v1/memories/query", query);
    expect(await streams()).toBe(before);
    expect((await read.rest()).at(-1)?.name).toBe("done");
    await until("the stream that was read is counted", async () => (await streams()) === before + 1);
    await left.hangUp();
    await until("the stream that was left is counted", async () => (await streams()) === before + 2);
  });

  test("memories are counted at most every 5 s", async () => {
    const memories = async () =>
      (await family(await page(), "mneme_memories")).samples.reduce((sum, { value }) => sum + value, 0);
    clock.advance(5_000);
    const before = await memories();
    await mneme.call("POST", "/v1/memories", { content: "One more." });
    clock.advance(4_999);
    expect(await memories()).toBe(before);
    clock.advance(1);
    expect(await memories()).toBe(before + 1);
  });
});
