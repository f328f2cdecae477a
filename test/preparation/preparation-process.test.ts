// Tests the preparation process: it returns the same results as preparation in the process of the test, a hostile text
// does not make other texts fail, and large texts can be prepared.

import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { processTree } from "../../bench/lib/processes.ts";
import {
  createPreparationProcess,
  type PreparationOptions,
  type PreparationProcess,
} from "../../src/adapters/preparation/preparation-process.ts";
import { CHUNK_TOKENS } from "../../src/domain/chunk.ts";
import { Fault } from "../../src/domain/fault.ts";
import { createLog } from "../../src/kit/log.ts";
import { type Prepared, PrepareFailure } from "../../src/ports/preparer.ts";
import { PART_BYTES_MAX } from "../../src/preparation/preparation-protocol.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { until } from "../support/until.ts";
import { input, models, TOKENIZER, withTexts } from "./fixtures/models.ts";

const opened: PreparationProcess[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((preparation) => preparation.close()));
});

function open(options: Partial<PreparationOptions> = {}): PreparationProcess {
  const preparation = createPreparationProcess({
    tokenizer: TOKENIZER,
    chunkTokens: CHUNK_TOKENS,
    log: createLog("silent"),
    ...options,
  });
  opened.push(preparation);
  return preparation;
}

/** The parts of an outcome that tests compare: attributes, chunks and texts. */
function comparable(outcome: Prepared | PrepareFailure | undefined): unknown {
  if (outcome === undefined || outcome instanceof PrepareFailure) throw new Error("not prepared", { cause: outcome });
  return { extracted: outcome.extracted, chunks: withTexts(outcome) };
}

/** Number of preparation processes of this test (Linux only). */
function processes(): number {
  return processTree(process.pid).filter(({ name }) => name === "child preparation").length;
}

const fragile = { command: [process.execPath, join(import.meta.dir, "fixtures/fragile-preparation-child.ts")] };

describe("the preparation process", () => {
  test("returns the results of preparation in this process, in the order of the inputs", async () => {
    const inputs = [
      input("Buy milk."),
      input("\ufeffWith a byte order mark, and 🎉 beyond the basic plane.", { title: "Marked" }),
      input(`# Guide\n\n${"我们今天讨论了新的语言模型。".repeat(60)}\n\n## Use\n\n${"Press the button. ".repeat(200)}`),
      input("lone \ud83d surrogate and more", { title: "half \udc00 title" }),
      ...Array.from({ length: 150 }, (_, n) => input(`Note number ${n} about item ${n * n}.`, { tags: [`${n}`] })),
    ];
    const outcomes = await open().prepare(inputs);
    expect(outcomes.map(comparable)).toEqual(inputs.map((each) => comparable(prepare(each, models))));
  });

  test.skipIf(process.platform !== "linux")(
    "uses several processes if one has too much to do, and returns the results in the order of the inputs",
    async () => {
      const preparation = open({ processesMax: 3 });
      const notes = (name: string, count: number) =>
        Array.from({ length: count }, (_, n) => input(`${name} ${n} is about item ${n * n}.`));
      await preparation.prepare(notes("First", 1));
      await preparation.prepare(notes("Next", 64));
      expect(processes()).toBe(1);
      const calls = [notes("One", 300), notes("Two", 300), notes("Three", 5)];
      // again and again, so that those that start meanwhile get something to do
      await until("three processes", async () => {
        const outcomes = await Promise.all(calls.map((inputs) => preparation.prepare(inputs)));
        expect(outcomes.map((each) => each.map(comparable))).toEqual(
          calls.map((inputs) => inputs.map((each) => comparable(prepare(each, models)))),
        );
        return processes() === 3;
      });
      expect(preparation.restarts()).toBe(0);
    },
  );

  test("fails only the text that crashes one of several processes", async () => {
    const preparation = open({ ...fragile, processesMax: 3 });
    const inputs = Array.from({ length: 200 }, (_, n) => input(n === 100 ? "A deadly text." : `Note ${n}.`));
    const outcomes = await preparation.prepare(inputs);
    expect(outcomes.flatMap((outcome, n) => (outcome instanceof PrepareFailure ? n : []))).toEqual([100]);
  });

  test("prepares a text larger than one frame", async () => {
    const sentence = "The committee met on Tuesday to discuss the größere budget. ";
    const content = sentence.repeat(Math.ceil((PART_BYTES_MAX * 1.1) / Buffer.byteLength(sentence)));
    const [large, small] = await open().prepare([input(content), input("Buy milk.")]);
    if (large === undefined || large instanceof PrepareFailure) throw new Error("not prepared", { cause: large });
    expect(large.chunks.at(-1)?.end).toBe(content.trimEnd().length);
    expect(comparable(small)).toEqual(comparable(prepare(input("Buy milk."), models)));
  });

  test("fails only the text that crashes it or makes it throw", async () => {
    const preparation = open(fragile);
    const outcomes = await preparation.prepare([
      input("One."),
      input("A deadly text."),
      input("Three."),
      input("faulty"),
    ]);
    expect(comparable(outcomes[0])).toEqual(comparable(prepare(input("One."), models)));
    expect(outcomes[1]).toBeInstanceOf(PrepareFailure);
    expect(comparable(outcomes[2])).toEqual(comparable(prepare(input("Three."), models)));
    expect(outcomes[3]).toBeInstanceOf(PrepareFailure);
    expect(preparation.restarts()).toBeGreaterThan(0);
  });

  test("gives up a text whose preparation never ends, and prepares the next one", async () => {
    const preparation = open({ ...fragile, groupTimeoutMs: () => 1_000 });
    const [endless, next] = await preparation.prepare([input("An endless text."), input("Next.")]);
    expect(endless).toBeInstanceOf(PrepareFailure);
    expect(comparable(next)).toEqual(comparable(prepare(input("Next."), models)));
  });

  test("rejects a text whose process gets too little processor time, and does not fail it", async () => {
    let waitedMs = 0;
    const usage = { ranMs: () => 0, waitedMs: () => (waitedMs += 60_000) };
    const preparation = open({ ...fragile, groupTimeoutMs: () => 50, usage });
    const outcome = preparation.prepare([input("An endless text.")]);
    expect(await outcome.catch((error: unknown) => error)).toMatchObject({ code: "overloaded" });
  });

  test("prepares a text while another, large one computes for ever, and ends the large one when it is aborted", async () => {
    const preparation = open({ ...fragile, largeTextBytes: 1_000 });
    const abort = new AbortController();
    const large = preparation.prepare([input(`An endless text. ${"x".repeat(1_000)}`)], abort.signal);
    const ended = large.catch(String);
    const [small] = await preparation.prepare([input("Buy milk.")]);
    expect(comparable(small)).toEqual(comparable(prepare(input("Buy milk."), models)));
    abort.abort(new Error("deleted"));
    expect(await ended).toBe("Error: deleted");
  });

  test("returns large and small texts of one call in the order of the inputs", async () => {
    const inputs = [input("One."), input("The committee met on Tuesday. ".repeat(100)), input("Three.")];
    const outcomes = await open({ largeTextBytes: 1_000 }).prepare(inputs);
    expect(outcomes.map(comparable)).toEqual(inputs.map((each) => comparable(prepare(each, models))));
  });

  test("loses no text when it is killed from outside", async () => {
    const preparation = open();
    await preparation.prepare([input("One.")]);
    const state = preparation.state();
    if (state?.status !== "up") throw new Error("the preparation process is not up");
    const large = input("The committee met on Tuesday. ".repeat(60_000));
    const outcome = preparation.prepare([large]);
    process.kill(state.pid, "SIGKILL");
    expect((await outcome)[0]).not.toBeInstanceOf(PrepareFailure);
    await until("the preparation process was restarted", () => preparation.restarts() > 0);
  });

  test("rejects with model_unavailable if the tokeniser is missing, and does not fail a text", async () => {
    const outcome = open({ tokenizer: { kind: "unigram", path: "/nonexistent" } }).prepare([input("One.")]);
    expect(await outcome.catch((error: unknown) => error)).toMatchObject({ code: "model_unavailable" });
  });

  test("refuses calls beyond the maximum number of waiting calls, and does not process an aborted call", async () => {
    const preparation = open();
    const calls = Array.from({ length: 64 }, () => preparation.prepare([input("One.")]));
    expect(await preparation.prepare([input("One.")]).catch((error: unknown) => error)).toBeInstanceOf(Fault);
    await Promise.all(calls);
    const aborted = preparation.prepare([input("One.")], AbortSignal.abort(new Error("no longer wanted")));
    expect(await aborted.catch(String)).toBe("Error: no longer wanted");
  });
});
