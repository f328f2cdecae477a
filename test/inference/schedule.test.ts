// The order of work: queries first, ingest never starved, and no lane blocked longer than agreed.

import { describe, expect, test } from "bun:test";
import {
  dealPassages,
  type EmbedUnit,
  estimateTokens,
  type LaneRole,
  Schedule,
  type ScoreUnit,
  sharePassages,
  type UnitOwner,
} from "../../src/adapters/inference/schedule.ts";
import { seeded } from "../support/seeded.ts";

const PERSON: UnitOwner = { priority: "query" };
const BATCH: UnitOwner = { priority: "ingest" };

function text(owner: UnitOwner, name: string, tokens = 256): EmbedUnit<UnitOwner> {
  return { op: "embed", owner, index: 0, text: name, tokens, deaths: 0 };
}

function texts(owner: UnitOwner, count: number, tokens = 256): EmbedUnit<UnitOwner>[] {
  return Array.from({ length: count }, (_, n) => text(owner, `${owner.priority} ${n}`, tokens));
}

function rerank(name: string): ScoreUnit<UnitOwner> {
  return {
    op: "score",
    owner: PERSON,
    indices: [0],
    query: name,
    passages: ["p"],
    contest: null,
    tokens: 500,
    deaths: 0,
  };
}

/** What a lane is given, by name; null: nothing now. */
function taken(
  schedule: Schedule<UnitOwner>,
  role: LaneRole,
  inFlight = 0,
  tookQueryLast = false,
  isQuiet = true,
): string[] | null {
  const slice = schedule.take({ role, inFlight, tookQueryLast, isQuiet });
  return slice === null ? null : slice.units.map((unit) => (unit.op === "embed" ? unit.text : unit.query));
}

describe("the query lane", () => {
  test("takes a query before ingest work that came earlier", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add([text(PERSON, "question", 10)]);
    expect(taken(schedule, "query")).toEqual(["question"]);
  });

  test("helps ingest with one small piece when no query waits, and holds nothing in reserve", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    expect(taken(schedule, "query")).toEqual(["ingest 0"]);
    expect(taken(schedule, "query", 1)).toBeNull();
  });

  test("leaves ingest alone while queries come", () => {
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

  test("keeps the order of queries and reranks", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add([text(PERSON, "a", 10), rerank("r"), text(PERSON, "b", 10)]);
    expect(taken(schedule, "query")).toEqual(["a"]);
    expect(taken(schedule, "query")).toEqual(["r"]);
    expect(taken(schedule, "query")).toEqual(["b"]);
  });
});

describe("the ingest lane", () => {
  test("takes up to 1,024 tokens, and a second slice in reserve", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    expect(taken(schedule, "ingest", 0)).toHaveLength(4);
    expect(taken(schedule, "ingest", 1)).toHaveLength(4);
    expect(taken(schedule, "ingest", 2)).toBeNull();
    expect(schedule.ingestTokens()).toBe(42 * 256);
  });

  test("takes no reserve while a query waits, so that it gets free for it", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add([text(PERSON, "question")]);
    expect(taken(schedule, "ingest", 1)).toBeNull();
    expect(taken(schedule, "ingest", 0)).toEqual(["question"]);
  });

  test("gives every other turn to ingest while queries never end", () => {
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
  test("does both, in turns, in small pieces", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 50));
    schedule.add(texts(PERSON, 200));
    expect(taken(schedule, "only", 0, false)?.[0]).toBe("query 0");
    expect(taken(schedule, "only", 0, true)).toEqual(["ingest 0"]);
    expect(taken(schedule, "only", 1, false)).toBeNull();
  });
});

describe("failures and leavers", () => {
  test("what comes back goes first, each alone", () => {
    const schedule = new Schedule<UnitOwner>();
    schedule.add(texts(BATCH, 8, 100));
    const slice = schedule.take({ role: "ingest", inFlight: 0, tookQueryLast: false, isQuiet: true });
    const units = slice?.units ?? [];
    for (const unit of units) unit.deaths += 1;
    schedule.putBack(units);
    expect(schedule.ingestTokens()).toBe(800);
    expect(taken(schedule, "ingest")).toEqual(["ingest 0"]);
    expect(taken(schedule, "ingest")).toEqual(["ingest 1"]);
  });

  test("who left is not computed for", () => {
    const schedule = new Schedule<UnitOwner>();
    const leaver: UnitOwner = { priority: "ingest" };
    schedule.add([...texts(leaver, 3), text(BATCH, "stays"), ...texts(leaver, 3)]);
    schedule.drop(leaver);
    expect(schedule.ingestTokens()).toBe(256);
    expect(taken(schedule, "ingest")).toEqual(["stays"]);
    expect(taken(schedule, "ingest")).toBeNull();
  });
});

describe("sharing out", () => {
  test("the first pieces are large, and none above one run; the last are single passages", () => {
    const sizes = (count: number) => sharePassages(Array<number>(count).fill(128), 2, 512).map((piece) => piece.length);
    expect(sizes(10)).toEqual([3, 2, 2, 1, 1, 1]);
    expect(sizes(30)).toEqual([4, 4, 4, 4, 4, 3, 2, 2, 1, 1, 1]);
    expect(sizes(1)).toEqual([1]);
    expect(sizes(0)).toEqual([]);
  });

  test("lanes of different speed are done within one passage of each other", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seeded(seed);
      const tokens = Array.from({ length: 1 + Math.floor(random() * 50) }, () => 5 + Math.floor(random() * 124));
      const [fast, slow] = [
        { doneAt: 0, speed: 1 },
        { doneAt: 0, speed: 0.5 + random() / 2 },
      ];
      for (const piece of sharePassages(tokens, 2, 512)) {
        const lane = fast.doneAt <= slow.doneAt ? fast : slow;
        lane.doneAt += piece.reduce((sum, index) => sum + (tokens[index] ?? 0), 0) / lane.speed;
      }
      const passage = 128 / slow.speed;
      expect(Math.abs(fast.doneAt - slow.doneAt), `seed ${seed}`).toBeLessThanOrEqual(passage);
    }
  });

  test("the passages of a contest are dealt out in turns, none beyond one run where that is possible", () => {
    const deal = (count: number, lanes = 2) => dealPassages(Array<number>(count).fill(128), lanes, 1024);
    expect(deal(5)).toEqual([
      [0, 2, 4],
      [1, 3],
    ]);
    expect(deal(16).map((piece) => piece.length)).toEqual([8, 8]);
    expect(deal(17).map((piece) => piece.length)).toEqual([5, 4, 4, 4]);
    expect(deal(16, 1).map((piece) => piece.length)).toEqual([8, 8]);
    expect([deal(0), deal(1)]).toEqual([[], [[0]]]);
  });

  test("every passage is in one piece, the long ones first", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seeded(seed);
      const tokens = Array.from({ length: 1 + Math.floor(random() * 50) }, () => 5 + Math.floor(random() * 124));
      const pieces = sharePassages(tokens, 1 + Math.floor(random() * 4), 512);
      expect(
        pieces.flat().toSorted((a, b) => a - b),
        `seed ${seed}`,
      ).toEqual(tokens.map((_, index) => index));
      const lengths = pieces.flat().map((index) => tokens[index] ?? 0);
      expect(lengths, `seed ${seed}`).toEqual(lengths.toSorted((a, b) => b - a));
    }
  });

  test("a text counts a quarter of its bytes, at most what the model reads", () => {
    expect(estimateTokens("", 256)).toBe(2);
    expect(estimateTokens("abcd", 256)).toBe(3);
    expect(estimateTokens("漢字仮名", 256)).toBe(5);
    expect(estimateTokens("x".repeat(10_000), 256)).toBe(256);
  });
});
