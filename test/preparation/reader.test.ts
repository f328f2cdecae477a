// What the reader process promises: the same results as in this process, a hostile text costs only itself, large texts pass.

import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createReader, type Reader, type ReaderOptions } from "../../src/adapters/preparation/reader-pool.ts";
import { Fault } from "../../src/domain/fault.ts";
import { createLog } from "../../src/kit/log.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { PART_BYTES_MAX } from "../../src/preparation/reader-protocol.ts";
import { until } from "../support/until.ts";
import { input, MODELS_DIR, models } from "./fixtures/models.ts";

const TIMEOUT_MS = 60_000;
const opened: Reader[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((reader) => reader.close()));
});

function open(options: Partial<ReaderOptions> = {}): Reader {
  const reader = createReader({ modelsDir: MODELS_DIR, log: createLog("silent"), ...options });
  opened.push(reader);
  return reader;
}

const fragile = { command: [process.execPath, join(import.meta.dir, "fixtures/fragile-reader.ts")] };

describe("the reader", () => {
  test(
    "gives what preparation in this process gives, in the inputs' order",
    async () => {
      const inputs = [
        input("Buy milk."),
        input("\ufeffWith a byte order mark, and 🎉 beyond the basic plane.", { title: "Marked" }),
        input(
          `# Guide\n\n${"我们今天讨论了新的语言模型。".repeat(60)}\n\n## Use\n\n${"Press the button. ".repeat(200)}`,
        ),
        input("lone \ud83d surrogate and more", { title: "half \udc00 title" }),
        ...Array.from({ length: 150 }, (_, n) => input(`Note number ${n} about item ${n * n}.`, { tags: [`${n}`] })),
      ];
      const outcomes = await open().prepare(inputs);
      expect(outcomes).toEqual(inputs.map((each) => prepare(each, models)));
    },
    TIMEOUT_MS,
  );

  test(
    "a text larger than one frame passes",
    async () => {
      const sentence = "The committee met on Tuesday to discuss the größere budget. ";
      const content = sentence.repeat(Math.ceil((PART_BYTES_MAX * 1.1) / Buffer.byteLength(sentence)));
      const [large, small] = await open().prepare([input(content), input("Buy milk.")]);
      if (large === undefined || large instanceof PrepareFailure) throw new Error("not prepared", { cause: large });
      expect(large.chunks.at(-1)?.end).toBe(content.trimEnd().length);
      expect(small).toEqual(prepare(input("Buy milk."), models));
    },
    TIMEOUT_MS,
  );

  test(
    "a text that kills the reader or breaks its parser fails alone",
    async () => {
      const reader = open(fragile);
      const outcomes = await reader.prepare([input("One."), input("A deadly text."), input("Three."), input("faulty")]);
      expect(outcomes[0]).toEqual(prepare(input("One."), models));
      expect(outcomes[1]).toBeInstanceOf(PrepareFailure);
      expect(outcomes[2]).toEqual(prepare(input("Three."), models));
      expect(outcomes[3]).toBeInstanceOf(PrepareFailure);
      expect(reader.restarts()).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    "a text that takes for ever is given up and the next one prepared",
    async () => {
      const reader = open({ ...fragile, groupTimeoutMs: () => 1_000 });
      const [endless, next] = await reader.prepare([input("An endless text."), input("Next.")]);
      expect(endless).toBeInstanceOf(PrepareFailure);
      expect(next).toEqual(prepare(input("Next."), models));
    },
    TIMEOUT_MS,
  );

  test(
    "a reader killed from outside costs nothing",
    async () => {
      const reader = open();
      await reader.prepare([input("One.")]);
      const state = reader.state();
      if (state?.status !== "up") throw new Error("the reader is not up");
      const large = input("The committee met on Tuesday. ".repeat(300_000));
      const outcome = reader.prepare([large]);
      process.kill(state.pid, "SIGKILL");
      expect((await outcome)[0]).not.toBeInstanceOf(PrepareFailure);
      await until("the reader was restarted", () => reader.restarts() > 0);
    },
    TIMEOUT_MS,
  );

  test(
    "a missing tokeniser is model_unavailable, not a text's fault",
    async () => {
      const outcome = open({ modelsDir: "/nonexistent" }).prepare([input("One.")]);
      expect(await outcome.catch((error: unknown) => error)).toMatchObject({ code: "model_unavailable" });
    },
    TIMEOUT_MS,
  );

  test(
    "more calls than may wait are refused, and an aborted one is not computed",
    async () => {
      const reader = open();
      const calls = Array.from({ length: 64 }, () => reader.prepare([input("One.")]));
      expect(await reader.prepare([input("One.")]).catch((error: unknown) => error)).toBeInstanceOf(Fault);
      await Promise.all(calls);
      const aborted = reader.prepare([input("One.")], AbortSignal.abort(new Error("no longer wanted")));
      expect(await aborted.catch(String)).toBe("Error: no longer wanted");
    },
    TIMEOUT_MS,
  );
});
