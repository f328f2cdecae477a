// Contract of LanguageModel (src/ports/language-model.ts). Every implementation must pass it; `open` creates the one to
// test, whose calls follow a script.

import { afterEach, describe, expect, test } from "bun:test";
import type { LanguageModel, LlmEnding, LlmFragment, LlmRequest } from "../../src/ports/language-model.ts";
import type { Script, ScriptedCall } from "../in-memory/language-model.ts";
import { failureOf, NEVER, request as requestTo, SECRET, streamed } from "../llm/client-helpers.ts";
import { until } from "../support/until.ts";

/** A model, the address of the endpoint that requests must name, and the number of calls that reached the model. */
export interface OpenedLanguageModel {
  readonly model: LanguageModel;
  readonly baseUrl: string;
  calls(): number;
  /** Endings that it can report; default: all. */
  readonly endings?: readonly LlmEnding[] | undefined;
  close(): Promise<void>;
}

/** Opens a model whose calls follow the script. */
export type OpenLanguageModel = (script: Script) => OpenedLanguageModel;

const USAGE = { prompt: 7, completion: 3 };

/** Runs the contract against the models that `open` makes. */
export function languageModelContract(implementation: string, open: OpenLanguageModel): void {
  describe(`${implementation} as LanguageModel`, () => {
    const opened: OpenedLanguageModel[] = [];
    afterEach(async () => {
      for (const one of opened.splice(0)) await one.close();
    });

    /** A model whose calls all follow this script, and a request for it. */
    const scripted = (call: ScriptedCall, more: Partial<LlmRequest> = {}) => {
      const one = open(() => call);
      opened.push(one);
      return { ...one, request: requestTo(one.baseUrl, more) };
    };

    describe("a complete answer", () => {
      const answer = { texts: ["Grüß ", "dich", " 😀"], usage: USAGE };

      test("is streamed as its texts and then one usage", async () => {
        const { model, request } = scripted(answer);
        const { texts, end, failure } = await streamed(model.stream(request, NEVER));
        expect(failure).toBeNull();
        expect(texts.join("")).toBe("Grüß dich 😀");
        expect(end).toEqual({ type: "usage", usage: USAGE, ending: "model" });
      });

      test("can be returned as a whole", async () => {
        const { model, request } = scripted(answer);
        expect(await model.complete(request, NEVER)).toEqual({ text: "Grüß dich 😀", usage: USAGE });
      });

      test("without any text is one usage", async () => {
        const { model, request } = scripted({ usage: USAGE });
        expect(await streamed(model.stream(request, NEVER))).toMatchObject({ texts: [], end: { usage: USAGE } });
        expect(await model.complete(request, NEVER)).toEqual({ text: "", usage: USAGE });
      });

      test("has estimated tokens if none are reported", async () => {
        const { model, request } = scripted({ texts: ["eight by"] });
        const { usage } = await model.complete(request, NEVER);
        expect(usage.prompt).toBeGreaterThan(0);
        expect(usage.completion).toBeGreaterThan(0);
      });

      for (const ending of ["model", "length", "withheld"] as const) {
        test(`reports why it ended: ${ending}`, async () => {
          const { model, request, endings } = scripted({ ...answer, ending });
          if (endings !== undefined && !endings.includes(ending)) return;
          expect((await streamed(model.stream(request, NEVER))).end?.ending).toBe(ending);
        });
      }
    });

    test("a call begins when its first fragment is requested", async () => {
      const { model, request, calls } = scripted({ texts: ["a"], usage: USAGE });
      const fragments = model.stream(request, NEVER);
      expect(calls()).toBe(0);
      expect((await fragments.next()).value).toEqual({ type: "text", text: "a" });
      expect(calls()).toBe(1);
      await fragments.return();
    });

    describe("a failure", () => {
      const failures: readonly (readonly [ScriptedCall["failure"] & object, boolean])[] = [
        [{ reason: "failed", status: 500 }, true],
        [{ reason: "refused", status: 401 }, false],
        [{ reason: "rate_limited", status: 429, retryAfterMs: 7_000 }, true],
      ];
      for (const [failure, isTransient] of failures) {
        test(`with status ${failure.status} is ${failure.reason}, and costs no tokens`, async () => {
          const { model, request } = scripted({ failure });
          const { reason, retryAfterMs = null } = failure;
          const expected = { reason, isTransient, retryAfterMs, usage: { prompt: 0, completion: 0 } };
          expect(await failureOf(model.complete(request, NEVER))).toMatchObject(expected);
          expect((await streamed(model.stream(request, NEVER))).failure).toMatchObject({ reason });
        });
      }

      test("contains neither the key nor a text of the conversation", async () => {
        const { model, request } = scripted({ failure: { reason: "refused", status: 400 } });
        const { message } = await failureOf(model.complete(request, NEVER));
        expect(message).not.toContain(SECRET);
        expect(message).not.toContain("Be brief.");
      });
    });

    describe("an answer that is cut off", () => {
      test("is never reported as complete, and its tokens are estimated", async () => {
        const { model, request } = scripted({ texts: ["half an ans"], afterTexts: "break" });
        const { texts, end, failure } = await streamed(model.stream(request, NEVER));
        expect([texts.join(""), end]).toEqual(["half an ans", null]);
        expect(failure?.usage.completion).toBeGreaterThan(0);
        expect((await failureOf(model.complete(request, NEVER))).reason).toBe(failure?.reason ?? "failed");
      });

      test("is cancelled if it greatly exceeds the requested length", async () => {
        const { model, request } = scripted({ texts: Array(50).fill("long ".repeat(20)) }, { outputTokensMax: 10 });
        expect((await failureOf(model.complete(request, NEVER))).reason).toBe("too_long");
      });
    });

    describe("a caller's signal", () => {
      test("that is aborted already makes no call", async () => {
        const { model, request, calls } = scripted({ texts: ["a"], usage: USAGE });
        const gone = AbortSignal.abort();
        expect((await failureOf(model.complete(request, gone))).reason).toBe("stopped");
        expect((await streamed(model.stream(request, gone))).failure?.reason).toBe("stopped");
        expect(calls()).toBe(0);
      });

      test("ends a call at once, also while a fragment is pending, and the error has the usage so far", async () => {
        const { model, request } = scripted({ texts: ["twelve bytes"], afterTexts: "silence" });
        const stop = new AbortController();
        const fragments = model.stream(request, stop.signal);
        const first: IteratorResult<LlmFragment, void> = await fragments.next();
        expect(first.value).toEqual({ type: "text", text: "twelve bytes" });
        const pending = failureOf(fragments.next());
        stop.abort();
        const failure = await pending;
        expect(failure.reason).toBe("stopped");
        expect(failure.usage.completion).toBeGreaterThan(0);
        expect((await fragments.next()).done).toBe(true);
      });

      test("ends a call for a whole answer", async () => {
        const { model, request, calls } = scripted({ texts: ["a"], afterTexts: "silence" });
        const stop = new AbortController();
        const asked = failureOf(model.complete(request, stop.signal));
        await until("the call is made", () => calls() === 1);
        stop.abort();
        expect((await asked).reason).toBe("stopped");
      });
    });

    test("returning from a stream ends it", async () => {
      const { model, request } = scripted({ texts: ["a"], afterTexts: "silence" });
      for await (const fragment of model.stream(request, NEVER)) {
        expect(fragment).toEqual({ type: "text", text: "a" });
        break;
      }
    });

    test("calls run at the same time without mixing their texts", async () => {
      const one = open(({ messages }) => ({ texts: [messages.at(-1)?.content ?? "", "!"], usage: USAGE }));
      opened.push(one);
      const ask = (content: string) =>
        one.model.complete(requestTo(one.baseUrl, { messages: [{ role: "user", content }] }), NEVER);
      const answers = await Promise.all(["x", "y", "z"].map(ask));
      expect(answers.map(({ text }) => text)).toEqual(["x!", "y!", "z!"]);
    });
  });
}
