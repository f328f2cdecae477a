// Settings of the operator's language model, which projects without one of their own use.

import { integer, parseWebAddress, seconds, setting } from "../kit/setting.ts";

/** Settings of the language model. */
export const LANGUAGE_MODEL_SETTINGS = {
  llmBaseUrl: setting<string | null>(
    "llm-base-url",
    "URL",
    "Base URL of an OpenAI-compatible service, such as `https://api.example.com/v1`; without it, everything works locally",
    { defaultValue: () => null, defaultText: "none", expects: "an http or https address", parse: parseWebAddress },
  ),
  llmModel: setting<string | null>("llm-model", "NAME", "Language model to use at that service", {
    defaultValue: () => null,
    defaultText: "none",
    expects: "a model name",
    parse: (text) => (/^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined),
  }),
  llmApiKey: setting<string | null>("llm-api-key", "KEY", "Bearer token for that service", {
    flag: null,
    defaultValue: () => null,
    defaultText: "none",
    expects: "visible ASCII characters",
    parse: (text) => (/^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined),
    isSecret: true,
  }),
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
