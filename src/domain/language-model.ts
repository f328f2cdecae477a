// Selects the language models of a project (its own or the operator's) and estimates token counts.
// ports/language-model.ts defines how a model is called.

import { isLowSurrogate } from "../kit/surrogates.ts";
import type { LlmModelSettings, LlmProvider, LlmSettings } from "./project.ts";

/** A language model and its address. */
export interface LlmEndpoint {
  readonly provider: LlmProvider;
  /** http or https; the base URL of the service, such as `https://api.example.com/v1` for `openai`. */
  readonly baseUrl: string;
  readonly model: string;
  /** API key for this address; null if none is sent. */
  readonly apiKey: string | null;
  /**
   * Whether an operator or admin chose the address. Then any address is allowed; otherwise it must be public at every
   * call.
   */
  readonly isTrusted: boolean;
}

/** A language model in the operator's configuration. A field is null if it is not configured. */
export interface OperatorModel {
  readonly provider: LlmProvider;
  readonly baseUrl: string | null;
  readonly model: string | null;
  readonly apiKey: string | null;
}

/** The language models in the operator's configuration. */
export interface OperatorLlm extends OperatorModel {
  /** For projects without a `base_url` and without fallbacks of their own. */
  readonly fallbacks: readonly OperatorModel[];
  /** Tokens per project and calendar month, for projects without a `base_url`; null means unlimited. */
  readonly monthlyTokensMax: number | null;
}

/** A language model that a project may call. */
export interface ConfiguredLlm {
  readonly endpoint: LlmEndpoint;
  /** Sampling temperature, 0..2; null if not configured. */
  readonly temperature: number | null;
  /** Maximum length of an answer, in tokens; null if not configured. */
  readonly outputTokensMax: number | null;
  /** Tokens per month after which the model is no longer called for the project; null means unlimited. */
  readonly monthlyTokensMax: number | null;
}

/** The language models of a project: the one to call, then those to call while it fails, in order. */
export type LlmChain = readonly [ConfiguredLlm, ...ConfiguredLlm[]];

/** Addresses of the providers that have a single one. */
export const PROVIDER_ADDRESSES: Readonly<Partial<Record<LlmProvider, string>>> = {
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
};

/**
 * The language models of a project. The project's settings take precedence over the operator's. A key is only sent to
 * the address that it was given for. Models without an address or a name are left out. Returns null if none is left.
 */
export function llmOf(own: LlmSettings, operator: OperatorLlm): LlmChain | null {
  const usesOperators = own.base_url === null && own.fallbacks.length === 0;
  const limit = own.monthly_token_limit ?? (own.base_url === null ? operator.monthlyTokensMax : null);
  const first = { ...own, monthly_token_limit: limit };
  const others = usesOperators
    ? operator.fallbacks.map((model) => configuredOf({ ...first, model: null, api_key: null }, model))
    : own.fallbacks.map((fallback) => configuredOf(withDefaultsOf(first, fallback), operator));
  const [head, ...tail] = [configuredOf(first, operator), ...others].filter((model) => model !== null);
  return head === undefined ? null : [head, ...tail];
}

// Settings that a fallback lacks are those of the first model, but its key only at the same address. Both monthly
// limits hold.
function withDefaultsOf(first: LlmModelSettings, fallback: LlmModelSettings): LlmModelSettings {
  const isSameAddress = fallback.base_url === first.base_url;
  const limits = [first.monthly_token_limit, fallback.monthly_token_limit].filter((limit) => limit !== null);
  return {
    ...fallback,
    api_key: fallback.api_key ?? (isSameAddress ? first.api_key : null),
    temperature: fallback.temperature ?? first.temperature,
    max_output_tokens: fallback.max_output_tokens ?? first.max_output_tokens,
    monthly_token_limit: limits.length === 0 ? null : Math.min(...limits),
  };
}

function configuredOf(own: LlmModelSettings, operator: OperatorModel): ConfiguredLlm | null {
  const isOperators = own.base_url === null;
  const baseUrl = own.base_url ?? operator.baseUrl;
  const model = own.model ?? operator.model;
  if (baseUrl === null || model === null) return null;
  return {
    endpoint: {
      provider: isOperators ? operator.provider : own.provider,
      baseUrl,
      model,
      apiKey: isOperators ? (own.api_key ?? operator.apiKey) : own.api_key,
      isTrusted: isOperators || own.is_address_trusted,
    },
    temperature: own.temperature,
    outputTokensMax: own.max_output_tokens,
    monthlyTokensMax: own.monthly_token_limit,
  };
}

// ---- token estimates

/** Kinds of characters; tokenisers treat all characters of a kind in the same way. */
const KIND = { blank: 0, small: 1, capital: 2, digit: 3, sign: 4, other: 5 } as const;
const KINDS = Object.keys(KIND).length;
/**
 * Cost of an ASCII character in hundredths of a token, by the kind of the previous character (row) and its own (column,
 * in the order above). Lower-case words form long tokens; digits, signs and a change of case start new ones. Compared
 * with the vocabularies o200k and cl100k (22 Nov 2026), English and German prose is overestimated by 10 to 18 percent,
 * numbers, CSV and hexadecimal by 5 to 20, code and JSON by 25 to 35; base64 is underestimated by 15. The usual rule of
 * four bytes per token fits prose, but gives less than half of the tokens of numbers, CSV, hexadecimal and base64.
 */
const COSTS = Uint8Array.from(
  [
    [22, 22, 45, 100, 100, 0], // after a blank, and at the beginning
    [22, 22, 95, 100, 95, 0], // after a lower-case letter
    [22, 25, 40, 100, 100, 0], // after a capital
    [22, 90, 90, 50, 100, 0], // after a digit
    [22, 45, 50, 100, 55, 0], // after a sign
    [22, 22, 45, 100, 100, 0], // after a non-ASCII character
  ].flat(),
);
const KIND_OF_ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return KIND.small;
  if (/[A-Z]/.test(character)) return KIND.capital;
  if (/[0-9]/.test(character)) return KIND.digit;
  return code <= 0x20 ? KIND.blank : KIND.sign;
});

/**
 * Estimated number of tokens of a text, from the kinds of its characters. Linear time. Non-ASCII text counts one token
 * per four bytes of UTF-8. For scripts with three bytes per character (Chinese, Hindi) that is 0.75 tokens per
 * character.
 */
export function estimatedTokens(text: string): number {
  return Math.ceil(tokensBefore(text, [text.length])[0] ?? 0);
}

/**
 * Estimated number of tokens before each of these places, not rounded. The difference between two estimates is the
 * estimate for the text between the two places, provided that this text begins after a blank.
 * @param places UTF-16 offsets, ascending
 */
export function tokensBefore(text: string, places: readonly number[]): readonly number[] {
  let hundredths = 0;
  let kind: number = KIND.blank;
  let at = 0;
  return places.map((place) => {
    for (; at < place && at < text.length; at++) {
      const code = text.charCodeAt(at);
      hundredths += costOf(code, kind);
      kind = kindOfUnit(code);
    }
    return hundredths / 100;
  });
}

/**
 * Length, in UTF-16 code units, of the longest beginning of `text` that has at most `tokensMax` estimated tokens. Never
 * splits a character.
 */
export function unitsWithin(text: string, tokensMax: number): number {
  let left = tokensMax * 100;
  let kind: number = KIND.blank;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    left -= costOf(code, kind);
    kind = kindOfUnit(code);
    if (left < 0) return at > 0 && isLowSurrogate(code) ? at - 1 : at;
  }
  return text.length;
}

/** Estimated number of tokens of a text, if only its length in UTF-8 is known. */
export function estimatedTokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function costOf(code: number, before: number): number {
  if (code < 128) return COSTS[before * KINDS + kindOfUnit(code)] ?? 0;
  return code < 0x800 || isHalf(code) ? 50 : 75;
}

function kindOfUnit(code: number): number {
  return code < 128 ? (KIND_OF_ASCII[code] ?? KIND.sign) : KIND.other;
}

function isHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xe000;
}
