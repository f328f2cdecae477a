// The language models of `mneme bench memory-benchmarks`, from flags. They come from nowhere else, so that nobody pays
// for calls because the environment of a server names a model; only the keys come from the environment.

import type { CommandStart } from "../../src/cli/command-start.ts";
import { connectLanguageModel } from "../../src/compose/language-model.ts";
import { type Config, SETTINGS } from "../../src/config.ts";
import type { LlmEndpoint } from "../../src/domain/language-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { errorMessage } from "../../src/kit/error-message.ts";
import { UsageError } from "../../src/kit/flags.ts";
import type { Setting, StartPlace } from "../../src/kit/setting.ts";
import { Metrics } from "../../src/metrics.ts";
import type { AnswerModels } from "./memory-answers.ts";

/** Environment variable with the key for the judge's address. */
const JUDGE_KEY = "MNEME_BENCH_JUDGE_API_KEY";
const LLM_URL = "--llm-base-url";
const LLM_MODEL = "--llm-model";
const JUDGE_URL = "--judge-base-url";
const JUDGE_MODEL = "--judge-model";

/** Flags for answers, as the parser of command lines takes them. */
export const ANSWER_FLAGS = {
  "--answers": "switch",
  [LLM_URL]: "value",
  [LLM_MODEL]: "value",
  [JUDGE_URL]: "value",
  [JUDGE_MODEL]: "value",
} as const;

/** Help for them, as `[flag, description]`. */
export const ANSWER_HELP: readonly (readonly [string, string])[] = [
  ["--answers", "Also let memory-benchmarks answer its questions: extractively, or with the language model"],
  [`${LLM_URL} URL`, "Language model that answers; its key is MNEME_LLM_API_KEY"],
  [`${LLM_MODEL} NAME`, "Name of this model"],
  [`${JUDGE_URL} URL`, `Language model that judges (default: the same); its key is ${JUDGE_KEY}`],
  [`${JUDGE_MODEL} NAME`, "Name of the judge (default: the same)"],
];

/** What the flags ask for. */
export type AnswerFlags =
  | { readonly kind: "none" }
  | { readonly kind: "extractive" }
  | { readonly kind: "models"; readonly llm: LlmEndpoint; readonly judge: LlmEndpoint };

/** Reads the flags. @throws UsageError for an invalid value, or if a flag is missing that another one needs */
export function answerFlags(
  flags: ReadonlyMap<string, string>,
  { environment, place }: Pick<CommandStart, "environment" | "place">,
): AnswerFlags {
  const baseUrl = parsedFlag(flags, LLM_URL, SETTINGS.llmBaseUrl, place);
  const model = parsedFlag(flags, LLM_MODEL, SETTINGS.llmModel, place);
  const judgeUrl = parsedFlag(flags, JUDGE_URL, SETTINGS.llmBaseUrl, place);
  const judgeModel = parsedFlag(flags, JUDGE_MODEL, SETTINGS.llmModel, place);
  if ((baseUrl === null) !== (model === null)) throw new UsageError(`${LLM_URL} and ${LLM_MODEL} need each other.`);
  if (baseUrl === null || model === null) {
    if (judgeUrl !== null || judgeModel !== null) throw new UsageError(`A judge needs ${LLM_URL} and ${LLM_MODEL}.`);
    return { kind: flags.has("--answers") ? "extractive" : "none" };
  }
  const llm = {
    provider: "openai" as const,
    baseUrl,
    model,
    apiKey: environment[SETTINGS.llmApiKey.environment] ?? null,
    isTrusted: true,
  };
  // a key is only sent to the address that it was given for
  const ownKey = judgeUrl === null || judgeUrl === baseUrl ? llm.apiKey : null;
  const apiKey = environment[JUDGE_KEY] ?? ownKey;
  return {
    kind: "models",
    llm,
    judge: { provider: "openai", baseUrl: judgeUrl ?? baseUrl, model: judgeModel ?? model, apiKey, isTrusted: true },
  };
}

/** Connects to the models. */
export function connectModels({ llm, judge }: AnswerFlags & { kind: "models" }, config: Config): AnswerModels {
  const client = connectLanguageModel(config, new Metrics(), systemClock);
  return { client, llm, judge, answerMsMax: config.llmTimeoutMs };
}

function parsedFlag(
  flags: ReadonlyMap<string, string>,
  flag: string,
  { parse, expects }: Setting<string | null>,
  place: StartPlace,
): string | null {
  const text = flags.get(flag);
  if (text === undefined) return null;
  let value: string | null | undefined;
  try {
    value = parse(text, place);
  } catch (cause) {
    throw new UsageError(`${flag}: ${errorMessage(cause)}`, { cause });
  }
  if (value === undefined || value === null)
    throw new UsageError(`${flag} must be ${expects}, not ${JSON.stringify(text)}.`);
  return value;
}
