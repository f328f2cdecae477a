// Answers of lanes become the results of calls, and a vector or score that is none fails its own call only.

import { describe, expect, test } from "bun:test";
import { type Call, deliver, requestOf } from "../../src/adapters/inference/calls.ts";
import type { Slice, TextUnit } from "../../src/adapters/inference/schedule.ts";

/** A call for `count` vectors with two numbers each, and its promise. */
function callFor(count: number, priority: Call["priority"] = "ingest") {
  const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
  const output = new Float32Array(2 * count);
  const call: Call = {
    priority,
    share: "",
    tokensLeft: count,
    output,
    width: 2,
    unitsLeft: count,
    isSettled: false,
    resolve,
    reject,
    onBegin: undefined,
  };
  return { call, promise };
}

function sliceOf(...units: readonly TextUnit<Call>[]): Slice<Call> {
  return { op: "embed", model: "e", priority: "ingest", units };
}

function unit(owner: Call, index: number): TextUnit<Call> {
  return { op: "embed", owner, model: "e", index, text: `text ${index}`, tokens: 4, deaths: 0 };
}

const answer = (...numbers: readonly number[]) => ({
  header: {},
  payload: new Uint8Array(Float32Array.from(numbers).buffer),
});

test("a request names the model of its texts, and whether a person waits", () => {
  const { call } = callFor(1, "query");
  const slice: Slice<Call> = { op: "embed", model: "e", priority: "query", units: [unit(call, 0)] };
  expect(requestOf(slice)).toEqual({ op: "embed", model: "e", texts: ["text 0"], isUrgent: true });
});

test("values of an answer go to the calls and rows that they belong to", async () => {
  const [one, two] = [callFor(2), callFor(1)];
  deliver(sliceOf(unit(one.call, 1), unit(two.call, 0)), answer(0, 1, 1, 0));
  expect([...(await two.promise)]).toEqual([1, 0]);
  expect(one.call.isSettled).toBeFalse();
  deliver(sliceOf(unit(one.call, 0)), answer(-1, 0));
  expect([...(await one.promise)]).toEqual([-1, 0, 0, 1]);
});

describe("a vector is refused with one sentence that names the model", () => {
  for (const [what, numbers] of [
    ["not a number", [Number.NaN, 1]],
    ["infinite", [Number.POSITIVE_INFINITY, 0]],
    ["zero", [0, 0]],
    ["too long", [1, 0.2]],
    ["too short", [0.9, 0]],
  ] as const) {
    test(what, () => {
      const { call } = callFor(1);
      const [damaged] = deliver(sliceOf(unit(call, 0)), answer(...numbers));
      expect(damaged).toMatchObject({
        owner: call,
        fault: {
          code: "internal_error",
          message: "The model e computed a vector that does not have unit length; nothing was stored.",
        },
      });
      expect(call.isSettled).toBeFalse();
    });
  }

  test("other calls of the same request get their vectors", async () => {
    const [bad, good] = [callFor(1), callFor(1)];
    const damaged = deliver(sliceOf(unit(bad.call, 0), unit(good.call, 0)), answer(Number.NaN, 0, 0, 1));
    expect(damaged.map(({ owner }) => owner)).toEqual([bad.call]);
    expect([...(await good.promise)]).toEqual([0, 1]);
  });

  test("rounding is no error", async () => {
    const { call, promise } = callFor(1);
    deliver(sliceOf(unit(call, 0)), answer(1.0049, 0));
    expect(await promise).toHaveLength(2);
  });

  test("too few or too many numbers are a bug", () => {
    const { call } = callFor(2);
    expect(() => deliver(sliceOf(unit(call, 0), unit(call, 1)), answer(1, 0, 1))).toThrow("too few values");
    expect(() => deliver(sliceOf(unit(call, 0)), answer(1, 0, 1, 0))).toThrow("too many values");
  });
});

test("a score that is not a number is refused, any other is a score", async () => {
  const { call, promise } = callFor(1);
  const score = { ...call, width: 1, output: new Float32Array(1) };
  const slice: Slice<Call> = {
    op: "score",
    model: "r",
    priority: "query",
    units: [
      {
        ...{ op: "score", owner: score, model: "r", indices: [0], query: "q", passages: ["p"] },
        ...{ earlyExit: null, tokens: 4, deaths: 0 },
      },
    ],
  };
  const [damaged] = deliver(slice, answer(Number.NaN));
  expect(damaged?.fault.message).toContain("The model r computed a score that is not a number");
  expect(deliver(slice, answer(-40))).toEqual([]);
  expect([...(await promise)]).toEqual([-40]);
});
