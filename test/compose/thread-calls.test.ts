// Calls between two threads, here over the two ends of one channel in the same thread.

import { afterEach, describe, expect, test } from "bun:test";
import { MessageChannel } from "node:worker_threads";
import {
  type Answers,
  type CallOptions,
  type MessageEnd,
  type ReceivedCall,
  ThreadCalls,
} from "../../src/compose/threads/thread-calls.ts";
import { Fault } from "../../src/domain/fault.ts";
import { LlmError } from "../../src/ports/language-model.ts";
import { StoreError } from "../../src/stores/store-error.ts";
import { until } from "../support/until.ts";

let close = () => {};
afterEach(() => close());

/** A caller, and the end that answers it. */
function connected(answers: Answers) {
  const { port1, port2 } = new MessageChannel();
  const failures: unknown[] = [];
  const caller = new ThreadCalls(port1 as MessageEnd, {}, (error) => failures.push(error));
  const answering = new ThreadCalls(port2 as MessageEnd, answers, (error) => failures.push(error));
  close = () => {
    port1.close();
    port2.close();
  };
  return { caller, answering, failures };
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome.status === "rejected" ? outcome.reason : null;
}

describe("calls between threads", () => {
  test("return what was answered, each to its own caller", async () => {
    const { caller } = connected({ double: (value: bigint) => value * 2n });
    const results = await Promise.all(Array.from({ length: 50 }, (_, at) => caller.call("double", BigInt(at))));
    expect(results).toEqual(Array.from({ length: 50 }, (_, at) => 2n * BigInt(at)));
  });

  test("throw errors as what they were", async () => {
    const detail = { param: "limit", retryAfterSeconds: 7 };
    const usage = { prompt: 3, completion: 4 };
    const errors = [
      new Fault("overloaded", "Too much.", detail),
      new StoreError("no_space", "the disk is full"),
      new LlmError("rate_limited", "Too many calls.", { status: 429, retryAfterMs: 10, usage }),
      new RangeError("out of range"),
    ];
    const { caller } = connected({
      fail: (at: number) => {
        throw errors[at];
      },
    });
    const [fault, store, model, other] = await Promise.all(errors.map((_, at) => rejection(caller.call("fail", at))));
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "overloaded", message: "Too much.", ...detail });
    expect(store).toBeInstanceOf(StoreError);
    expect(store).toMatchObject({ code: "no_space", message: "the disk is full" });
    expect(model).toBeInstanceOf(LlmError);
    expect(model).toMatchObject({ reason: "rate_limited", status: 429, retryAfterMs: 10, usage });
    expect(other).toMatchObject({ message: "out of range" });
  });

  test("abort what the other end does for them", async () => {
    const received: ReceivedCall[] = [];
    const { caller } = connected({
      wait: (_: null, call) => {
        received.push(call);
        const { promise, reject } = Promise.withResolvers<never>();
        call.signal.addEventListener("abort", () => reject(call.signal.reason));
        return promise;
      },
    });
    const hangUp = new AbortController();
    const waiting = rejection(caller.call("wait", null, { signal: hangUp.signal }));
    await until("the call has arrived", () => received.length === 1);
    hangUp.abort(new Error("enough"));
    expect(await waiting).toMatchObject({ message: "enough" });
    await until("the other end knows", () => received[0]?.signal.aborted === true);
  });

  test("give back what they got after they gave up", async () => {
    const released: number[] = [];
    const { promise: answer, resolve } = Promise.withResolvers<string>();
    let callId = 0;
    const { caller } = connected({
      take: (_: null, call) => {
        callId = call.id;
        return answer;
      },
      release: (id: number) => void released.push(id),
    });
    const hangUp = new AbortController();
    const options: CallOptions = { signal: hangUp.signal, holds: true };
    const taking = rejection(caller.call("take", null, options));
    await until("the call has arrived", () => callId > 0);
    hangUp.abort();
    await taking;
    resolve("a turn");
    await until("it is given back", () => released.length > 0);
    expect(released).toEqual([callId]);
  });

  test("fail when the other thread has ended, and its own calls are aborted", async () => {
    let signal: AbortSignal | null = null;
    const { caller, answering } = connected({
      wait: (_: null, call) => {
        ({ signal } = call);
        return Promise.withResolvers().promise;
      },
    });
    const waiting = rejection(caller.call("wait", null));
    await until("the call has arrived", () => signal !== null);
    answering.close();
    expect((signal as AbortSignal | null)?.aborted).toBe(true);
    caller.close();
    expect(await waiting).toMatchObject({ message: "the other thread has ended" });
    expect(await rejection(caller.call("wait", null))).toMatchObject({ message: "the other thread has ended" });
  });

  test("report errors of notes, which nobody waits for", async () => {
    const { caller, failures } = connected({
      note: () => {
        throw new Error("of a note");
      },
    });
    caller.note("note", null);
    await until("it is reported", () => failures.length > 0);
    expect(failures).toMatchObject([{ message: "of a note" }]);
  });
});
