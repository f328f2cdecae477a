// Concurrency limit of language model calls per project: queries go first, ingestion never blocks them and never
// starves, and cancelled calls leave the queue.

import { beforeEach, describe, expect, test } from "bun:test";
import { type LlmLimits, limitConcurrency, WAITING_MAX } from "../../src/adapters/llm/concurrency-limit.ts";
import { languageModelFromStream } from "../../src/adapters/llm/from-stream.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { Metrics } from "../../src/metrics.ts";
import { LlmError, type LlmPurpose } from "../../src/ports/language-model.ts";
import { until } from "../support/until.ts";
import { failureOf, NEVER, request } from "./client-helpers.ts";

/** A call that the model is answering; `finish` ends it. */
interface Running {
  readonly projectId: string;
  readonly purpose: LlmPurpose;
  finish(): void;
}

let running: Set<Running>;
let metrics: Metrics;
beforeEach(() => {
  running = new Set();
  metrics = new Metrics();
});

// A model that answers a call when the test calls `finish`, and ends a call with an error when its signal aborts.
const gated = languageModelFromStream(async function* ({ projectId, purpose }, signal) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => reject(new LlmError("stopped", "stopped")), { once: true });
  if (signal.aborted) reject(new LlmError("stopped", "stopped"));
  const call = { projectId, purpose, finish: resolve };
  running.add(call);
  try {
    await promise;
    yield { type: "text", text: "fine" };
  } finally {
    running.delete(call);
  }
  yield { type: "usage", usage: { prompt: 1, completion: 1 }, ending: "model" };
});

const limit = (options: Partial<LlmLimits> = {}) => limitConcurrency(gated, { concurrency: 8, metrics, ...options });
type Limited = ReturnType<typeof limit>;

function ask(model: Limited, purpose: LlmPurpose = "query", signal = NEVER, projectId = "prj_a"): Promise<unknown> {
  const asked = model.complete(request("http://x", { purpose, projectId: projectId as ProjectId }), signal);
  void Promise.allSettled([asked]); // handled here, because tests inspect failures later
  return asked;
}

const runningOf = (purpose: LlmPurpose) => [...running].filter((call) => call.purpose === purpose);
const finishOne = (purpose: LlmPurpose) => {
  const [call] = runningOf(purpose);
  if (call === undefined) throw new Error(`no ${purpose} runs`);
  running.delete(call);
  call.finish();
};
const times = (count: number, work: () => Promise<unknown>) => Array.from({ length: count }, work);
/** Waits until all pending promise callbacks have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a project", () => {
  test("has a limited number of concurrent calls; the others run in order", async () => {
    const model = limit({ concurrency: 3 });
    const asked = times(7, () => ask(model));
    await settled();
    for (let left = 7; left > 0; left--) {
      expect(running.size).toBe(Math.min(3, left));
      finishOne("query");
      await asked[7 - left];
      await settled();
    }
    expect(running.size).toBe(0);
  });

  test("waits only for its own calls", async () => {
    const model = limit({ concurrency: 2 });
    times(5, () => ask(model));
    times(2, () => ask(model, "query", NEVER, "prj_b"));
    await settled();
    expect([...running].map(({ projectId }) => projectId).sort()).toEqual(["prj_a", "prj_a", "prj_b", "prj_b"]);
  });

  test("is refused if too many calls wait, at the edge and one past it", async () => {
    const model = limit({ concurrency: 2 });
    times(2 + WAITING_MAX, () => ask(model));
    await settled();
    const failure = await failureOf(ask(model));
    expect(failure).toMatchObject({ reason: "overloaded", isTransient: true, usage: { prompt: 0, completion: 0 } });
    const lines = (await metrics.text()).split("\n");
    expect(lines).toContain('mneme_llm_running{purpose="query"} 2');
    expect(lines).toContain(`mneme_llm_waiting{purpose="query"} ${WAITING_MAX}`);
    expect(lines).toContain('mneme_llm_turned_away_total{purpose="query"} 1');
    finishOne("query");
    await settled();
    ask(model);
    expect((await metrics.text()).split("\n")).toContain(`mneme_llm_waiting{purpose="query"} ${WAITING_MAX}`);
  });

  test("is refused if no slot is free in time", async () => {
    const model = limit({ concurrency: 2, queryWaitMs: 50 });
    times(2, () => ask(model));
    const failure = await failureOf(ask(model));
    expect(failure.message).toBe("other calls of the project occupied all slots for 0.05 s");
    finishOne("query");
    await settled();
    ask(model);
    await settled();
    expect(running.size).toBe(2);
  });
});

describe("a cancelled call", () => {
  test("leaves the queue at once while it waits, by its signal or by return()", async () => {
    const model = limit({ concurrency: 2 });
    times(2, () => ask(model));
    const stop = new AbortController();
    const asked = ask(model, "query", stop.signal);
    const fragments = model.stream(request("http://x", { purpose: "query", projectId: "prj_a" as ProjectId }), NEVER);
    const pending = fragments.next();
    const last = ask(model);
    await settled();
    expect(await metrics.text()).toContain('mneme_llm_waiting{purpose="query"} 3');
    stop.abort();
    expect((await failureOf(asked)).reason).toBe("stopped");
    await fragments.return();
    expect(await pending).toEqual({ value: undefined, done: true });
    expect(await metrics.text()).toContain('mneme_llm_waiting{purpose="query"} 1');
    finishOne("query");
    finishOne("query");
    await settled();
    finishOne("query");
    await last;
  });

  test("gives its slot back while it runs; one that is already aborted takes none", async () => {
    const model = limit({ concurrency: 2 });
    const stop = new AbortController();
    times(2, () => ask(model, "query", stop.signal));
    ask(model);
    await settled();
    stop.abort();
    await settled();
    expect(running.size).toBe(1);
    expect((await failureOf(ask(model, "query", stop.signal))).reason).toBe("stopped");
    expect(running.size).toBe(1);
  });

  test("gives its slot back when the consumer leaves the loop", async () => {
    const model = limit({ concurrency: 2 });
    for (let at = 0; at < 5; at++) {
      const asked = request("http://x", { purpose: "query" });
      const reading = (async () => {
        for await (const _ of model.stream(asked, NEVER)) break;
      })();
      await settled();
      finishOne("query");
      await reading;
    }
    expect(await metrics.text()).toContain('mneme_llm_running{purpose="query"} 0');
  });
});

describe("ingestion", () => {
  for (const concurrency of [2, 3, 8]) {
    test(`has at most half of ${concurrency} slots, and queries get the rest at once`, async () => {
      const model = limit({ concurrency });
      times(concurrency, () => ask(model, "ingestion"));
      await settled();
      expect(runningOf("ingestion").length).toBe(Math.floor(concurrency / 2));
      times(concurrency, () => ask(model));
      await settled();
      expect(runningOf("query").length).toBe(Math.ceil(concurrency / 2));
    });
  }

  test("comes after waiting queries, but always has one slot", async () => {
    const model = limit({ concurrency: 4 });
    times(20, () => ask(model));
    times(4, () => ask(model, "ingestion"));
    await settled();
    expect(runningOf("query").length).toBe(4);
    for (let at = 0; at < 10; at++) {
      finishOne("query");
      await settled();
      expect([runningOf("query").length, runningOf("ingestion").length]).toEqual([3, 1]);
    }
    finishOne("ingestion");
    await settled();
    expect([runningOf("query").length, runningOf("ingestion").length]).toEqual([3, 1]);
  });

  test("waits without a limit", async () => {
    const model = limit({ concurrency: 2, queryWaitMs: 20 });
    times(2, () => ask(model, "ingestion"));
    ask(model);
    expect((await failureOf(ask(model))).reason).toBe("overloaded"); // the query has waited for the maximum time
    expect(await metrics.text()).toContain('mneme_llm_waiting{purpose="ingestion"} 1');
    finishOne("ingestion");
    await until("its turn has come", () => runningOf("ingestion").length === 1);
  });
});
