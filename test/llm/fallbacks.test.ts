// A model that fails is replaced by its fallbacks, in order, unless a part of its answer has been passed on.

import { describe, expect, test } from "bun:test";
import { withFallbacks } from "../../src/adapters/llm/fallbacks.ts";
import { languageModelFromStream } from "../../src/adapters/llm/from-stream.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../src/ports/language-model.ts";
import { SettableClock } from "../support/service.ts";
import { failureOf, NEVER, request as requestTo, streamed } from "./client-helpers.ts";

const USAGE = { prompt: 5, completion: 2 };

/** What the model of each name does: its texts, then how it fails, if it does. */
type Behaviour = Readonly<Record<string, { readonly texts?: readonly string[]; readonly fails?: LlmError }>>;

function models(behaviour: Behaviour, clock = new SettableClock()) {
  const calls: LlmRequest[] = [];
  const model = languageModelFromStream(async function* (request): AsyncGenerator<LlmFragment, void> {
    calls.push(request);
    const { texts = [], fails } = behaviour[request.endpoint.model] ?? {};
    for (const text of texts) yield { type: "text", text };
    if (fails !== undefined) throw fails;
    yield { type: "usage", usage: USAGE, ending: "model" };
  });
  return { model: withFallbacks(model, clock), clock, names: () => calls.map(({ endpoint }) => endpoint.model), calls };
}

function request(...names: readonly string[]): LlmRequest {
  const [first, ...others] = names.map((model) => requestTo("http://127.0.0.1/v1", {}, { model }));
  if (first === undefined) throw new Error("a request needs a model");
  const limits = { temperature: 1, outputTokensMax: 7 };
  return { ...first, fallbacks: others.map(({ endpoint }) => ({ endpoint, ...limits })) };
}

const refused = new LlmError("refused", "the endpoint refused the request with status 401", { status: 401 });
const lost = new LlmError("failed", "the connection was closed", { usage: { prompt: 3, completion: 1 } });
const late = new LlmError("timed_out", "the answer did not begin within 30 s");
const ask = (model: LanguageModel, ...names: readonly string[]) => model.complete(request(...names), NEVER);

describe("fallbacks", () => {
  test("are not called while the first model answers", async () => {
    const { model, names } = models({ a: { texts: ["A"] }, b: { texts: ["B"] } });
    expect(await ask(model, "a", "b")).toEqual({ text: "A", usage: USAGE });
    expect(names()).toEqual(["a"]);
  });

  test("are called in order, with their own limits, and all tokens are counted", async () => {
    const { model, names, calls } = models({ a: { fails: refused }, b: { fails: lost }, c: { texts: ["C"] } });
    const { texts, end } = await streamed(model.stream(request("a", "b", "c"), NEVER));
    expect([texts, end?.usage]).toEqual([["C"], { prompt: 8, completion: 3 }]);
    expect(names()).toEqual(["a", "b", "c"]);
    expect(calls.map(({ temperature, outputTokensMax }) => [temperature, outputTokensMax])).toEqual([
      [0, 100],
      [1, 7],
      [1, 7],
    ]);
    expect(calls.map(({ fallbacks = [] }) => fallbacks.length)).toEqual([2, 1, 0]);
  });

  test("do not replace a model whose text has been passed on, but complete the answer of a caller that has seen none", async () => {
    const cut = { a: { texts: ["half"], fails: lost }, b: { texts: ["whole"] } };
    const read = await streamed(models(cut).model.stream(request("a", "b"), NEVER));
    expect([read.texts, read.failure?.reason]).toEqual([["half"], "failed"]);
    expect(await ask(models(cut).model, "a", "b")).toEqual({ text: "whole", usage: { prompt: 8, completion: 3 } });
  });

  test("that all fail give the first reason, and one sentence about each", async () => {
    const { model } = models({ a: { fails: refused }, b: { fails: lost } });
    const failure = await failureOf(ask(model, "a", "b"));
    expect(failure).toMatchObject({ reason: "refused", status: 401, usage: { prompt: 3, completion: 1 } });
    expect(failure.message).toBe(
      "the endpoint refused the request with status 401; fallback 1: the connection was closed",
    );
    expect(await streamed(model.stream(request("a", "b"), NEVER))).toMatchObject({ failure: { reason: "refused" } });
  });

  for (const reason of ["stopped", "overloaded", "budget_reached"] as const) {
    test(`are not called if the failure is no model's fault: ${reason}`, async () => {
      const { model, names } = models({ a: { fails: new LlmError(reason, "it was not called") }, b: { texts: ["B"] } });
      expect((await failureOf(ask(model, "a", "b"))).reason).toBe(reason);
      expect(names()).toEqual(["a"]);
    });
  }

  test("go first for a minute after the first model did not answer in time", async () => {
    const { model, clock, names } = models({ a: { fails: late }, b: { texts: ["B"] } });
    await ask(model, "a", "b");
    await ask(model, "a", "b");
    expect(names()).toEqual(["a", "b", "b"]);
    clock.advance(61_000);
    await ask(model, "a", "b");
    expect(names()).toEqual(["a", "b", "b", "a", "b"]);
  });

  test("are tried each time after a failure that was quick", async () => {
    const { model, names } = models({ a: { fails: refused }, b: { texts: ["B"] } });
    await ask(model, "a", "b");
    await ask(model, "a", "b");
    expect(names()).toEqual(["a", "b", "a", "b"]);
  });
});
