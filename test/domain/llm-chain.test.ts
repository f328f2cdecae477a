// Which language models a project calls: its own settings first, the operator's where it has none, and no key at
// another address than its own.

import { describe, expect, test } from "bun:test";
import { llmOf, type OperatorLlm } from "../../src/domain/language-model.ts";
import { DEFAULT_SETTINGS, type LlmModelSettings, type LlmSettings, withoutKeys } from "../../src/domain/project.ts";
import { changedLlm, newAddresses } from "../../src/services/llm-settings.ts";
import { NO_OPERATOR_LLM } from "../support/llm.ts";

const NOTHING = DEFAULT_SETTINGS.llm;
const { fallbacks: _none, ...MODEL } = NOTHING;
const OPERATOR: OperatorLlm = {
  ...{ provider: "ollama", baseUrl: "http://operator", model: "theirs", apiKey: "sk-operator" },
  fallbacks: [{ provider: "gemini", baseUrl: "http://second", model: "other", apiKey: "sk-second" }],
  monthlyTokensMax: 1_000,
};
const own = (llm: Partial<LlmSettings>) => ({ ...NOTHING, ...llm });
const model = (settings: Partial<LlmModelSettings>) => ({ ...MODEL, ...settings });
const endpoints = (llm: LlmSettings, operator = OPERATOR) => llmOf(llm, operator)?.map(({ endpoint }) => endpoint);
const limits = (llm: LlmSettings) => llmOf(llm, OPERATOR)?.map(({ monthlyTokensMax }) => monthlyTokensMax);

describe("the models of a project", () => {
  test("are none if neither it nor the operator names one", () => {
    expect(llmOf(NOTHING, NO_OPERATOR_LLM)).toBeNull();
    expect(llmOf(own({ model: "m" }), NO_OPERATOR_LLM)).toBeNull();
  });

  test("are the operator's, with provider, fallbacks and limit, if it sets nothing", () => {
    expect(endpoints(NOTHING)).toEqual([
      { provider: "ollama", baseUrl: "http://operator", model: "theirs", apiKey: "sk-operator", isTrusted: true },
      { provider: "gemini", baseUrl: "http://second", model: "other", apiKey: "sk-second", isTrusted: true },
    ]);
    expect(limits(NOTHING)).toEqual([1_000, 1_000]);
    expect(endpoints(own({ provider: "anthropic", model: "m" }))?.[0]).toMatchObject({
      provider: "ollama",
      model: "m",
    });
  });

  test("are its own, without the operator's key, fallbacks and limit, if it has an address", () => {
    const llm = own({ provider: "anthropic", base_url: "http://own", model: "m" });
    expect(endpoints(llm)).toEqual([
      { provider: "anthropic", baseUrl: "http://own", model: "m", apiKey: null, isTrusted: false },
    ]);
    expect(limits(llm)).toEqual([null]);
  });

  test("are its own fallbacks, whose keys stay at their addresses, and the operator's model among them", () => {
    const llm = own({
      ...{ base_url: "http://own", model: "m", api_key: "sk-own", monthly_token_limit: 50 },
      fallbacks: [
        model({ base_url: "http://own", model: "small" }),
        model({ base_url: "http://elsewhere", model: "m", provider: "gemini", monthly_token_limit: 20 }),
        model({}),
      ],
    });
    expect(endpoints(llm)?.map(({ baseUrl, model, apiKey }) => [baseUrl, model, apiKey])).toEqual([
      ["http://own", "m", "sk-own"],
      ["http://own", "small", "sk-own"],
      ["http://elsewhere", "m", null],
      ["http://operator", "theirs", "sk-operator"],
    ]);
    expect(limits(llm)).toEqual([50, 50, 20, 50]);
  });

  test("are the fallbacks alone if the first one has no address", () => {
    const llm = own({ monthly_token_limit: 50, fallbacks: [model({ base_url: "http://b", model: "m" })] });
    const [first] = llmOf(llm, NO_OPERATOR_LLM) ?? [];
    expect(first).toMatchObject({ endpoint: { baseUrl: "http://b" }, monthlyTokensMax: 50 });
  });
});

describe("a change of the settings", () => {
  const before = own({
    ...{ base_url: "http://a", model: "m", api_key: "sk-a", is_address_trusted: true },
    fallbacks: [
      model({ base_url: "http://b", model: "x", api_key: "sk-b", is_address_trusted: true }),
      model({ base_url: "http://c", model: "y", api_key: "sk-c" }),
    ],
  });

  test("keeps keys at their addresses, wherever the fallback is in the list, and never moves one", () => {
    const { fallbacks } = changedLlm(
      before,
      { fallbacks: [{ base_url: "http://c", model: "z" }, { base_url: "http://d" }, { base_url: "http://b" }] },
      false,
    );
    expect(
      fallbacks.map(({ base_url, api_key, is_address_trusted }) => [base_url, api_key, is_address_trusted]),
    ).toEqual([
      ["http://c", "sk-c", false],
      ["http://d", null, false],
      ["http://b", "sk-b", true],
    ]);
  });

  test("sets and removes the key of a fallback", () => {
    const change = [
      { base_url: "http://b", api_key: "sk-new" },
      { base_url: "http://c", api_key: null },
    ];
    expect(changedLlm(before, { fallbacks: change }, true).fallbacks.map(({ api_key }) => api_key)).toEqual([
      "sk-new",
      null,
    ]);
  });

  test("without fallbacks keeps them; null removes them", () => {
    expect(changedLlm(before, { model: "n" }, false)).toEqual({ ...before, model: "n" });
    expect(changedLlm(before, { fallbacks: null }, false).fallbacks).toEqual([]);
  });

  test("names the addresses that must be checked", () => {
    const change = { base_url: "http://b", fallbacks: [{ base_url: "http://a" }, { base_url: "http://d" }, {}] };
    expect(newAddresses(before, change)).toEqual([
      { address: "http://b", param: "llm.base_url" },
      { address: "http://d", param: "llm.fallbacks[1].base_url" },
    ]);
  });

  test("gives Anthropic and Gemini their address, and takes it away with the provider", () => {
    const claude = changedLlm(NOTHING, { provider: "anthropic", model: "m", api_key: "sk-1" }, false);
    expect(claude).toMatchObject({ base_url: "https://api.anthropic.com", api_key: "sk-1" });
    const gemini = changedLlm(claude, { provider: "gemini" }, false);
    expect(gemini).toMatchObject({ base_url: "https://generativelanguage.googleapis.com", api_key: null });
    expect(changedLlm(gemini, { provider: null }, false)).toMatchObject({ provider: "openai", base_url: null });
    const proxied = changedLlm(claude, { base_url: "http://proxy" }, true);
    expect(changedLlm(proxied, { provider: "openai" }, true)).toMatchObject({ base_url: "http://proxy" });
  });

  test("shows no key at any depth", () => {
    expect(JSON.stringify(withoutKeys(before))).not.toMatch(/sk-|api_key|trusted/);
  });
});
