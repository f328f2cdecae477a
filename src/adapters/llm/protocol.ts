// What differs between the protocols of language models: addresses, headers, bodies, and what a part of a response
// says. One file per protocol: openai.ts, ollama.ts, anthropic.ts, gemini.ts. protocols.ts lists them.

import { type JsonRecord, recordOrNull } from "../../kit/record.ts";
import { type LlmEnding, LlmError, type LlmRequest, type LlmUsage } from "../../ports/language-model.ts";
import type { Dialect } from "./dialect.ts";

/** Maximum token count that is accepted from an endpoint. Larger ones are implausible and are ignored. */
const TOKENS_MAX = 10_000_000;

/** A protocol of language models. */
export interface Protocol {
  /**
   * How a response is divided into JSON objects: Server-Sent Events (or a single JSON object, if the endpoint ignores
   * `stream`), or one object per line.
   */
  readonly framing: "events" | "lines";
  /**
   * Address of a call. Keeps the query string of `base`, because some services expect the API version in it.
   * @throws LlmError `refused` for a model name that cannot be part of an address
   */
  url(base: URL, model: string): URL;
  /** Headers that contain the key, and those that only this protocol has. @param apiKey visible ASCII characters */
  headers(apiKey: string | null, url: URL): Readonly<Record<string, string>>;
  /** JSON body of a request. @param contextTokens tokens that the model should accept, input and output together */
  body(request: LlmRequest, dialect: Dialect, contextTokens: number): JsonRecord;
  /** What one JSON object of a response says. */
  read(message: JsonRecord): Reported;
}

/** What one JSON object of a response says. */
export interface Reported {
  /** Whether the endpoint reports an error; `errorCode` reads which one. */
  readonly isError?: boolean;
  /** Whether the object is part of an answer. A response without any such object is malformed. */
  readonly isAnswer?: boolean;
  /** The next part of the answer. */
  readonly text?: string;
  /** The next part of the model's reasoning, which is only counted. */
  readonly reasoning?: string;
  /** Why the model ended the answer. `broken`: the endpoint aborted it. Null while the answer continues. */
  readonly ending?: LlmEnding | "broken" | null;
  /** Whether the model refuses to answer; the text is its refusal. */
  readonly isRefused?: boolean;
  /** Token counts that the object reports. They replace earlier ones. */
  readonly usage?: Partial<LlmUsage>;
  /** Whether nothing more follows. */
  readonly isEnd?: boolean;
}

/** Appends `path` to the path of `base`, unless it already ends with it. Keeps the query string. */
export function withPath(base: URL, path: string): URL {
  const url = new URL(base);
  const own = url.pathname.replace(/\/{1,100}$/, "");
  url.pathname = own.endsWith(path) ? own : `${own}${path}`;
  url.hash = "";
  return url;
}

/** A bearer token, if there is a key. */
export function bearer(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

/** The value if it is a text, otherwise an empty text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The values that are plausible token counts. */
export function countsOf(counts: { readonly [Name in keyof LlmUsage]: unknown }): Partial<LlmUsage> {
  const plausible = Object.entries(counts).filter(
    ([, count]) => Number.isSafeInteger(count) && Number(count) >= 0 && Number(count) <= TOKENS_MAX,
  );
  return Object.fromEntries(plausible);
}

/**
 * The error code in an error body, formatted to follow a sentence: ` (model_not_found)`; empty if there is none. The
 * error's message is left out because it may repeat keys and texts.
 */
export function errorCode(body: unknown): string {
  const error = recordOrNull(recordOrNull(body)?.error) ?? recordOrNull(body);
  // Gemini's `status` is in capitals; its `code` is a number
  const names = [error?.code, error?.type, textOf(error?.status).toLowerCase()];
  const code = names.find((name) => typeof name === "string" && /^[a-z][a-z_]{2,40}$/.test(name) && name !== "error");
  return code === undefined ? "" : ` (${code})`;
}

/** The path of a model's name, with each segment escaped. @throws LlmError `refused` for an empty one, `.` and `..` */
export function modelPath(model: string): string {
  const segments = model.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new LlmError("refused", "the model's name cannot be part of an address");
  }
  return segments.map(encodeURIComponent).join("/");
}
