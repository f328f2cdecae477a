// Which language model is called for a project: its own, or the operator's. How it is called is
// ports/language-model.ts.

import type { LlmSettings } from "./project.ts";

/** A language model and where it answers. */
export interface LlmEndpoint {
  /** http or https; what an OpenAI-compatible service calls its base, such as `https://api.example.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** null: none is sent. */
  readonly apiKey: string | null;
  /**
   * Whether an operator or admin chose the address: then it may be any; otherwise it must be public whenever it is
   * called.
   */
  readonly isTrusted: boolean;
}

/** The language model of the operator's configuration; null where it names none. */
export interface OperatorLlm {
  readonly baseUrl: string | null;
  readonly model: string | null;
  readonly apiKey: string | null;
}

/**
 * The language model of a project: each of its settings goes before the operator's. The operator's key never goes to an
 * address that a project chose. null: no address or no model is set.
 */
export function endpointOf(own: LlmSettings, operator: OperatorLlm): LlmEndpoint | null {
  const baseUrl = own.base_url ?? operator.baseUrl;
  const model = own.model ?? operator.model;
  if (baseUrl === null || model === null) return null;
  const isOperators = own.base_url === null;
  return {
    baseUrl,
    model,
    apiKey: isOperators ? (own.api_key ?? operator.apiKey) : own.api_key,
    isTrusted: isOperators || own.is_address_trusted,
  };
}

// ---- estimated tokens

/** Kinds of characters that tokenizers treat alike. */
const KIND = { blank: 0, small: 1, capital: 2, digit: 3, sign: 4, other: 5 } as const;
const KINDS = Object.keys(KIND).length;
/**
 * What a character of ASCII counts, in hundredths of a token, by the kind before it (row) and its own (column, as
 * above). Words of small letters are long tokens; digits, signs and a change of case begin new ones. Measured with the
 * vocabularies o200k and cl100k (22 Nov 2026): prose in English and German comes out 10 to 18 percent above them,
 * numbers, CSV and hexadecimal 5 to 20 above, code and JSON 25 to 35 above, base64 15 below. Four bytes a token, the
 * usual rule, is right for prose, and less than half of what numbers, CSV, hexadecimal and base64 take.
 */
const COSTS = Uint8Array.from(
  [
    [22, 22, 45, 100, 100, 0], // behind a blank, as at the beginning
    [22, 22, 95, 100, 95, 0], // behind a small letter
    [22, 25, 40, 100, 100, 0], // behind a capital
    [22, 90, 90, 50, 100, 0], // behind a digit
    [22, 45, 50, 100, 55, 0], // behind a sign
    [22, 22, 45, 100, 100, 0], // behind what is not ASCII
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
 * Tokens of a text, estimated by kinds of characters, linear. What is not ASCII counts four bytes of UTF-8 a token: for
 * scripts that take three bytes a character (Chinese, Hindi) that is .75 tokens a character.
 */
export function estimatedTokens(text: string): number {
  return Math.ceil(tokensBefore(text, [text.length])[0] ?? 0);
}

/**
 * The tokens before each of these places, not rounded. A part that begins behind a blank has as many as lie between its
 * places.
 * @param places UTF-16 units, ascending
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

/** Units of a text, from its beginning, that are no more than so many tokens; no character is cut in two. */
export function unitsWithin(text: string, tokensMax: number): number {
  let left = tokensMax * 100;
  let kind: number = KIND.blank;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    left -= costOf(code, kind);
    kind = kindOfUnit(code);
    if (left < 0) return at > 0 && isSecondHalf(code) ? at - 1 : at;
  }
  return text.length;
}

/** Tokens of a text of which no more is known than that it is so many bytes of UTF-8. */
export function estimatedTokensOf(bytes: number): number {
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

function isSecondHalf(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}
