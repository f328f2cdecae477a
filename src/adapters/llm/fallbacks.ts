// Calls the fallbacks of a request, in order, while the models before them fail.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import type { Clock } from "../../kit/clock.ts";
import {
  type LanguageModel,
  LlmError,
  type LlmFailure,
  type LlmFragment,
  type LlmRequest,
  type LlmUsage,
  usageSum,
} from "../../ports/language-model.ts";
import { endpointKey } from "./endpoint-key.ts";
import { languageModelFromStream } from "./from-stream.ts";

/** Failures that have nothing to do with the model. */
const NOT_OF_THE_MODEL: readonly LlmFailure[] = ["stopped", "overloaded", "budget_reached"];
/**
 * Time in milliseconds for which a model that did not answer in time is tried last. Otherwise every question would wait
 * for it again, although its fallbacks work.
 */
const SILENT_MS = 60_000;
/** Maximum number of remembered models. Above it, the oldest one is forgotten. */
const REMEMBERED_MAX = 1_000;

/** Wraps `model` so that it calls the fallbacks of a request. */
export function withFallbacks(model: LanguageModel, clock: Pick<Clock, "now">): LanguageModel {
  const silent = new SilentModels(clock);

  const attemptsOf = (request: LlmRequest): readonly LlmRequest[] => {
    const { fallbacks = [], ...first } = request;
    const all = silent.lastOf([first, ...fallbacks.map((fallback) => ({ ...first, ...fallback }))]);
    return all.map((attempt, index) => ({ ...attempt, fallbacks: all.slice(index + 1) }));
  };

  async function* stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void> {
    const failures = new Failures();
    const attempts = attemptsOf(request);
    for (const attempt of attempts) {
      let hasBegun = false;
      try {
        for await (const fragment of model.stream(attempt, signal)) {
          hasBegun = true;
          yield fragment.type === "usage" ? { ...fragment, usage: usageSum(failures.usage, fragment.usage) } : fragment;
        }
        return;
      } catch (error) {
        if (!(error instanceof LlmError)) throw error;
        silent.note(attempt.endpoint, error);
        failures.add(error);
        if (hasBegun || NOT_OF_THE_MODEL.includes(error.reason)) throw failures.ending(error);
      }
    }
    throw failures.all();
  }

  const streamed = languageModelFromStream(stream);
  return {
    stream: streamed.stream,
    // the caller has received no part of the answer, so a fallback can also replace a model that failed within it
    async complete(request, signal) {
      const failures = new Failures();
      for (const attempt of attemptsOf(request)) {
        try {
          const answer = await model.complete(attempt, signal);
          return { ...answer, usage: usageSum(failures.usage, answer.usage) };
        } catch (error) {
          if (!(error instanceof LlmError)) throw error;
          silent.note(attempt.endpoint, error);
          failures.add(error);
          if (NOT_OF_THE_MODEL.includes(error.reason)) throw failures.ending(error);
        }
      }
      throw failures.all();
    },
  };
}

/** How the attempts of one request failed. */
class Failures {
  readonly #errors: LlmError[] = [];

  /** Tokens of all failed attempts. */
  get usage(): LlmUsage {
    return this.#errors.reduce((sum, { usage }) => usageSum(sum, usage), { prompt: 0, completion: 0 });
  }

  add(error: LlmError): void {
    this.#errors.push(error);
  }

  /** The error of a request that ends with `error`: that error, with the tokens of all attempts. */
  ending(error: LlmError): LlmError {
    return error.withUsage(this.usage);
  }

  /** The first error; if there are several, its message says how each attempt failed. */
  all(): LlmError {
    const [first, ...others] = this.#errors;
    if (first === undefined) throw new Error("a request had no model to call: this is a bug in Mneme");
    if (others.length === 0) return first;
    const also = others.map(({ message }, index) => `fallback ${index + 1}: ${message}`).join("; ");
    return first.withUsage(this.usage, `${first.message}; ${also}`);
  }
}

/** Models that did not answer in time a short while ago. */
class SilentModels {
  readonly #until = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, "now">) {}

  note(endpoint: LlmEndpoint, { reason }: LlmError): void {
    if (reason !== "timed_out") return;
    const key = endpointKey(endpoint);
    this.#until.delete(key);
    const oldest = this.#until.keys().next();
    if (this.#until.size >= REMEMBERED_MAX && !oldest.done) this.#until.delete(oldest.value);
    this.#until.set(key, this.clock.now() + SILENT_MS);
  }

  /** The requests, those to silent models last. */
  lastOf(requests: readonly LlmRequest[]): readonly LlmRequest[] {
    const isSilent = ({ endpoint }: LlmRequest) => (this.#until.get(endpointKey(endpoint)) ?? 0) > this.clock.now();
    return [...requests.filter((request) => !isSilent(request)), ...requests.filter(isSilent)];
  }
}
