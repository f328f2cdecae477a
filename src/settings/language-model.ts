// Settings of the operator's language model, which projects without one of their own use.

import { type OperatorModel, PROVIDER_ADDRESSES } from "../domain/language-model.ts";
import { LLM_FALLBACKS_MAX, LLM_PROVIDERS } from "../domain/project.ts";
import { type JsonRecord, parsedJson, recordsIn } from "../kit/record.ts";
import { integer, oneOf, parseWebAddress, seconds, setting } from "../kit/setting.ts";

const parseModelName = (text: string) => (/^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined);
const parseKey = (text: string) => (/^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined);

/** Settings of the language model. */
export const LANGUAGE_MODEL_SETTINGS = {
  llmProvider: setting(
    "llm-provider",
    "NAME",
    "Protocol of the language model service; `openai` is also spoken by many other services and servers",
    oneOf(LLM_PROVIDERS),
  ),
  llmBaseUrl: setting<string | null>(
    "llm-base-url",
    "URL",
    "Base URL of the service, such as `https://api.example.com/v1` or, for Ollama, `http://127.0.0.1:11434`; without it, everything works locally",
    {
      defaultValue: () => null,
      defaultText: "none; with a model: that of Anthropic or Gemini",
      expects: "an http or https address",
      parse: parseWebAddress,
    },
  ),
  llmModel: setting<string | null>("llm-model", "NAME", "Language model to use at that service", {
    defaultValue: () => null,
    defaultText: "none",
    expects: "a model name",
    parse: parseModelName,
  }),
  llmApiKey: setting<string | null>("llm-api-key", "KEY", "Key for that service", {
    flag: null,
    defaultValue: () => null,
    defaultText: "none",
    expects: "visible ASCII characters",
    parse: parseKey,
    isSecret: true,
  }),
  llmFallbacks: setting<readonly OperatorModel[]>(
    "llm-fallbacks",
    "JSON",
    "Models that are called in order while the first one fails: a list of at most 3 objects with `provider`, `base_url`, `model`, `api_key`",
    {
      flag: null,
      defaultValue: () => [],
      defaultText: "none",
      expects: `a JSON list of at most ${LLM_FALLBACKS_MAX} objects with \`model\`, \`base_url\` and possibly \`provider\` and \`api_key\``,
      parse: parseFallbacks,
      isSecret: true,
    },
  ),
  llmMonthlyTokens: setting<number | null>(
    "llm-monthly-token-limit",
    "NUMBER",
    "Language model tokens per project and calendar month (UTC), for projects that use this service; then answers fail with `llm_error`, and ingestion extracts locally",
    { ...integer(0, Number.MAX_SAFE_INTEGER, 0), defaultValue: () => null, defaultText: "no limit" },
  ),
  llmFirstByteTimeoutMs: setting<number>(
    "llm-first-byte-timeout",
    "SECONDS",
    "Longest silence of a language model before its answer begins",
    seconds(30),
  ),
  llmIdleTimeoutMs: setting<number>(
    "llm-idle-timeout",
    "SECONDS",
    "Longest silence of a language model within an answer",
    seconds(15),
  ),
  llmTimeoutMs: setting<number>("llm-timeout", "SECONDS", "Longest duration of an answer in total", seconds(120)),
  llmConcurrency: setting<number>(
    "llm-concurrency",
    "NUMBER",
    "Concurrent language model calls per project; ingestion uses at most half of them",
    integer(2, 256, 8),
  ),
  llmContextTokens: setting<number>(
    "llm-context-tokens",
    "NUMBER",
    "Context size of the language model in tokens, input and output together; sources are selected to fit",
    integer(2_048, 2_000_000, 8_192),
  ),
};

function parseFallbacks(text: string): readonly OperatorModel[] | undefined {
  const list = parsedJson(text);
  const models = recordsIn(list).map(parseFallback);
  const isValid = Array.isArray(list) && models.length === list.length && models.length <= LLM_FALLBACKS_MAX;
  return isValid && models.every((model) => model !== undefined) ? models : undefined;
}

function parseFallback({ provider = "openai", base_url, model, api_key = null, ...others }: JsonRecord) {
  const known = LLM_PROVIDERS.find((name) => name === provider);
  const address = base_url ?? (known === undefined ? undefined : PROVIDER_ADDRESSES[known]);
  if (known === undefined || typeof address !== "string" || typeof model !== "string") return;
  const [baseUrl, name] = [parseWebAddress(address), parseModelName(model)];
  const apiKey = typeof api_key === "string" ? parseKey(api_key) : api_key;
  if (baseUrl === undefined || name === undefined || Object.keys(others).length > 0) return;
  return apiKey === null || typeof apiKey === "string" ? { provider: known, baseUrl, model: name, apiKey } : undefined;
}
