// The order in which lanes get work: queries first, ingest never starves, and no lane is blocked for too long.

import { describe, expect, test } from "bun:test";
import {
  estimateTokens,
  type LaneRole,
  type PairsUnit,
  Schedule,
  type TextUnit,
  type UnitOwner,
} from "../../src/adapters/inference/schedule.ts";

const PERSON: UnitOwner = { priority: "query", share: "", tokensLeft: 0 };
const BATCH: UnitOwner = callOf("one", 0);

/** A call of ingest work. */
function callOf(share: string, tokensLeft: number): UnitOwner {
  return { priority: "ingest", share, tokensLeft };
}

function text(owner: UnitOwner, name: string, tokens = 256, model = "e"): TextUnit<UnitOwner> {
  return { op: "embed", owner, model, index: 0, text: name, tokens, deaths: 0 };
}

function texts(owner: UnitOwner, count: number, tokens = 256): TextUnit<UnitOwner>[] {
  return Array.from({ length: count }, (_, n) => text(owner, `${owner.priority} ${n}`, tokens));
}

function rerank(name: string): PairsUnit<UnitOwner> {
  return {
    op: "score",
    owner: PERSON,
    model: "r",
    indices: [0],
    query: name,
    passages: ["p"],
    earlyExit: null,
    tokens: 500,
    deaths: 0,
  };
}

const ON_CPU = { isOnGpu: false, isGathering: false };

/** Lets a lane take a slice. Returns the texts of its units, or null if the lane gets no work now. */
function taken(
  schedule: Schedule<UnitOwner>,
  role: LaneRole,
  inFlight = 0,
  tookQueryLast = false,
  isQuiet = true,
): string[] | null {
  const slice = schedule.take({ ...ON_CPU, role, inFlight, tookQueryLast, isQuiet });
  return slice === null ? null : slice.units.map((unit) => ("query" in unit ? unit.query : unit.text));
}

describe("several models", () => {
  test("a slice has texts for one model only, in the order of their arrival", () => {
    const schedule = new Schedule<UnitOwner>();
    for (const owner of [PERSON, BATCH]) {
      schedule.add([text(owner, "1", 8), text(owner, "2", 8), text(owner, "3", 8, "f"), text(owner, "4", 8)]);
      expect([taken(schedule, "only"), taken(schedule, "only"), taken(schedule, "only")]).toEqual([
        ["1", "2"],
        ["3"],
        ["4"],
      ]);
    }
  });

  test("a slice names the model of its texts", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([text(PERSON, "1", 8, "f"), rerank("2")]);
    const idle = { ...ON_CPU, role: "only", inFlight: 0, tookQueryLast: false, isQuiet: true } as const;
    expect([schedule.take(idle)?.model, schedule.take(idle)?.model]).toEqual(["f", "r"]);
  });
});

describe("the query lane", () => {
  test("takes a query before earlier ingest work", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add([text(PERSON, "question", 10)]);
    expect(taken(schedule, "query")).toEqual(["question"]);
  });

  test("takes one small piece of ingest work when no query waits, and no second slice", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    expect(taken(schedule, "query")).toEqual(["ingest 0"]);
    expect(taken(schedule, "query", 1)).toBeNull();
  });

  test("takes no ingest work while queries arrive", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    expect(taken(schedule, "query", 0, true, false)).toBeNull();
    expect(taken(schedule, "ingest", 0, false, false)).toHaveLength(4);
    expect(taken(schedule, "only", 0, false, false)).toHaveLength(1);
  });

  test("takes at most 16 queries at once, and fewer when they are long", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(PERSON, 40, 10));
    expect(taken(schedule, "query")).toHaveLength(16);
    const long = new Schedule<UnitOwner>();
    long.add(texts(PERSON, 40));
    expect(taken(long, "query")).toHaveLength(4);
  });

  test("takes questions together and before reranks", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([rerank("r"), text(PERSON, "a", 10), rerank("s"), text(PERSON, "b", 10)]);
    expect(taken(schedule, "query")).toEqual(["a", "b"]);
    expect(taken(schedule, "query")).toEqual(["r"]);
    expect(taken(schedule, "query")).toEqual(["s"]);
    expect(taken(schedule, "query")).toBeNull();
  });

  test("takes a rerank after 16 questions, however many more there are", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([rerank("r"), rerank("s"), ...texts(PERSON, 40, 100)]);
    const slices = Array.from({ length: 6 }, () => taken(schedule, "query") ?? []);
    expect(slices.map((slice) => (slice.length === 1 ? slice[0] : slice.length))).toEqual([10, 10, "r", 10, 10, "s"]);
    expect(taken(schedule, "query")).toBeNull();
  });

  test("drops and puts back reranks and questions", () => {
    const schedule = new Schedule<UnitOwner>();
    const other: UnitOwner = { ...PERSON };
    const dropped = { ...rerank("dropped"), owner: other };
    schedule.add([dropped, { ...text(PERSON, "dropped", 10), owner: other }, rerank("r"), text(PERSON, "a", 10)]);
    expect(schedule.owners()).toEqual(new Set([PERSON, other]));
    schedule.drop(other);
    const a = schedule.take({ ...ON_CPU, role: "query", inFlight: 0, tookQueryLast: false, isQuiet: true });
    const r = schedule.take({ ...ON_CPU, role: "query", inFlight: 0, tookQueryLast: false, isQuiet: true });
    schedule.putBack([...(r?.units ?? []), ...(a?.units ?? [])]);
    expect([taken(schedule, "query"), taken(schedule, "query"), taken(schedule, "query")]).toEqual([
      ["a"],
      ["r"],
      null,
    ]);
  });
});

describe("the ingest lane", () => {
  test("takes up to 1,024 tokens, and a second slice ahead", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    expect(taken(schedule, "ingest", 0)).toHaveLength(4);
    expect(taken(schedule, "ingest", 1)).toHaveLength(4);
    expect(taken(schedule, "ingest", 2)).toBeNull();
    expect(schedule.ingestTokens()).toBe(42 * 256);
  });

  test("takes no second slice while a query waits, so that it is free sooner", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add([text(PERSON, "question")]);
    expect(taken(schedule, "ingest", 1)).toBeNull();
    expect(taken(schedule, "ingest", 0)).toEqual(["question"]);
  });

  test("gives every other turn to ingest while queries keep arriving", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add(texts(PERSON, 200));
    expect(taken(schedule, "ingest", 0, false)?.[0]).toBe("query 0");
    expect(taken(schedule, "ingest", 0, true)?.[0]).toBe("ingest 0");
    expect(taken(schedule, "ingest", 0, false)?.[0]).toBe("query 4");
  });

  test("takes queries turn after turn when no ingest work waits", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(PERSON, 200));
    expect(taken(schedule, "ingest", 0, true)?.[0]).toBe("query 0");
  });
});

describe("a single lane", () => {
  test("takes queries and ingest work in turns, in small pieces", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add(texts(PERSON, 200));
    expect(taken(schedule, "only", 0, false)?.[0]).toBe("query 0");
    expect(taken(schedule, "only", 0, true)).toEqual(["ingest 0"]);
    expect(taken(schedule, "only", 1, false)).toBeNull();
  });
});

describe("ingest work of several jobs", () => {
  /** Takes slices of the role `query`, 256 tokens each, and returns the first text of each. */
  function firsts(schedule: Schedule<UnitOwner>, slices: number): readonly (string | undefined)[] {
    return Array.from({ length: slices }, () => taken(schedule, "query")?.[0]);
  }

  function named(owner: UnitOwner, name: string, count: number): TextUnit<UnitOwner>[] {
    return Array.from({ length: count }, () => text(owner, name));
  }

  test("a note that arrives after a book of the same project goes first", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(named(callOf("one", 1_000_000), "book", 64));
    expect(firsts(schedule, 1)).toEqual(["book"]);
    schedule.add(named(callOf("one", 200), "note", 1));
    expect(firsts(schedule, 2)).toEqual(["note", "book"]);
  });

  test("projects take turns, so that one with many short texts does not hold up the others", () => {
    const schedule = new Schedule<UnitOwner>();
    for (let n = 0; n < 50; n++) schedule.add(named(callOf("import", 100), "import", 1));
    schedule.add(named(callOf("other", 5_000), "other", 3));
    expect(firsts(schedule, 8)).toEqual([
      ...["import", "other", "import", "import"], // the fourth slice goes to the oldest call
      ...["other", "import", "other", "import"],
    ]);
  });

  test("a book gets every fourth slice while notes keep arriving, and ends", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(named(callOf("one", 1_000_000), "book", 4));
    const order: (string | undefined)[] = [];
    for (let n = 0; n < 16; n++) {
      schedule.add(named(callOf("one", 200), "note", 1));
      order.push(...firsts(schedule, 1));
    }
    expect(order.filter((name) => name === "book")).toHaveLength(4);
    expect(order.slice(0, 4)).toEqual(["note", "note", "note", "book"]);
  });

  test("a slice that is not full takes the next call", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([text(callOf("one", 900), "long", 100)]);
    schedule.add([text(callOf("one", 50), "short", 50), text(callOf("two", 60), "other", 60)]);
    expect(taken(schedule, "ingest")).toEqual(["short", "other", "long"]);
  });
});

describe("a lane on a GPU", () => {
  const idle = { inFlight: 0, tookQueryLast: false, isQuiet: true, isOnGpu: true, isGathering: false } as const;
  const countOf = (slice: ReturnType<Schedule<UnitOwner>["take"]>) => slice?.units.length ?? 0;

  test.each([
    ["query", 4096],
    ["only", 4096],
    ["ingest", 16_384],
  ] as const)("with role %s takes up to %d tokens of ingest work", (role, tokensMax) => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 100));
    expect(countOf(schedule.take({ ...idle, role }))).toBe(tokensMax / 256);
  });

  test("takes up to 64 queries and 8,192 tokens at once", () => {
    for (const [tokens, count] of [
      [10, 64],
      [256, 32],
    ] as const) {
      const schedule = new Schedule<UnitOwner>();
      schedule.add(texts(PERSON, 100, tokens));
      expect(countOf(schedule.take({ ...idle, role: "query" }))).toBe(count);
    }
  });

  test("leaves queries that gather, until so many wait that no more fit", () => {
    const schedule = new Schedule<UnitOwner>();
    const gathering = { ...idle, role: "query", isGathering: true } as const;
    schedule.add(texts(PERSON, 63, 10));
    expect(schedule.take(gathering)).toBeNull();
    schedule.add([text(PERSON, "last", 10)]);
    expect(countOf(schedule.take(gathering))).toBe(64);
  });

  test("does not leave ingest work while queries gather, if it is the turn of ingest work", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([text(PERSON, "question", 10), text(BATCH, "note", 10)]);
    const lane = { ...idle, role: "ingest", isGathering: true, tookQueryLast: true } as const;
    expect(schedule.take(lane)?.priority).toBe("ingest");
  });

  test("only texts gather: a rerank is next, or what waits with it", () => {
    const schedule = new Schedule<UnitOwner>();
    expect(schedule.areOnlyTextsOfQueriesWaiting).toBe(false);
    schedule.add([rerank("r"), text(PERSON, "question", 10)]);
    expect(schedule.areOnlyTextsOfQueriesWaiting).toBe(false);
    const gathering = { ...idle, role: "query", isGathering: true } as const;
    expect([schedule.take(gathering)?.op, schedule.take(gathering)?.op]).toEqual(["embed", "score"]);
    schedule.add([text(PERSON, "question")]);
    expect(schedule.areOnlyTextsOfQueriesWaiting).toBe(true);
  });
});

describe("failed and aborted work", () => {
  test("units of a dead lane go first, each alone", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 8, 100));
    const slice = schedule.take({ ...ON_CPU, role: "ingest", inFlight: 0, tookQueryLast: false, isQuiet: true });
    const units = slice?.units ?? [];
    for (const unit of units) unit.deaths += 1;
    schedule.putBack(units);
    expect(schedule.ingestTokens()).toBe(800);
    expect(taken(schedule, "ingest")).toEqual(["ingest 0"]);
    expect(taken(schedule, "ingest")).toEqual(["ingest 1"]);
  });

  test("units of an aborted call are dropped", () => {
    const schedule = new Schedule<UnitOwner>();
    const aborted = callOf("one", 0);
    schedule.add([...texts(aborted, 3), text(BATCH, "stays"), ...texts(aborted, 3)]);
    schedule.drop(aborted);
    expect(schedule.ingestTokens()).toBe(256);
    expect(taken(schedule, "ingest")).toEqual(["stays"]);
    expect(taken(schedule, "ingest")).toBeNull();
  });
});

describe("estimateTokens", () => {
  test("counts a quarter of the bytes plus two special tokens, up to the model's limit", () => {
    expect(estimateTokens("", 256)).toBe(2);
    expect(estimateTokens("abcd", 256)).toBe(3);
    expect(estimateTokens("漢字仮名", 256)).toBe(5);
    expect(estimateTokens("x".repeat(10_000), 256)).toBe(256);
  });
});
