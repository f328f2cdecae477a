// Reads records from a product's own server over HTTP: its lists page by page, or one address that answers with an
// export.

import type { Clock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import { isRecord, type JsonRecord, parsedJson } from "../kit/record.ts";
import { type CallSource, type Importer, SourceError, type SourceRecord } from "./imported.ts";
import { readJsonItems } from "./json-items.ts";

/** Timeout of a page, in milliseconds. Some servers need long to compute a page. */
const PAGE_TIMEOUT_MS = 120_000;
/** Maximum size of a page in bytes. */
const PAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum number of attempts if the server is busy, and if it does not answer; first and longest wait between two. */
const BUSY_ATTEMPTS_MAX = 8;
const LOST_ATTEMPTS_MAX = 3;
const WAIT_FIRST_MS = 1_000;
const WAIT_LAST_MS = 60_000;

/** Where and how a product's server is read. */
export interface SourceAddress {
  readonly url: string;
  /** API key of the product; null if none is set. */
  readonly key: string | null;
  readonly clock: Clock;
}

/**
 * The records of a server. An address with a path is one list, which is read as an export would be; without one, the
 * lists of the product's API are read.
 * @throws SourceError if the server cannot be read at all
 */
export async function* recordsOfServer(address: SourceAddress, importer: Importer): AsyncGenerator<SourceRecord> {
  const { pathname, search } = new URL(address.url);
  if (pathname !== "/" || search !== "") {
    yield* recordsOfAnswer(address, importer);
    return;
  }
  if (importer.server === null) throw new SourceError(null, `Expected: ${importer.expects}.`);
  let records = 0;
  try {
    for await (const record of importer.server.records(callerOf(address, importer))) {
      records++;
      yield record;
    }
  } catch (error) {
    if (!(error instanceof SourceError) || records === 0) throw error;
    // what came before stays; the import says that the rest is missing
    yield { kind: "damaged", place: `after ${records} records`, why: `The rest is missing: ${error.message}` };
  }
}

async function* recordsOfAnswer(address: SourceAddress, importer: Importer): AsyncGenerator<SourceRecord> {
  const response = await fetch(address.url, { headers: headersOf(address, importer) }).catch((cause: unknown) => {
    throw new SourceError(null, `No answer from ${address.url}: ${errorMessage(cause)}`);
  });
  if (!response.ok) throw refusal(response.status, address, importer, await response.text());
  const body = response.body;
  if (body === null) throw new SourceError(response.status, `${address.url} answered with nothing.`);
  try {
    yield* readJsonItems(body, importer.lists);
  } catch (error) {
    const why = errorMessage(error);
    yield { kind: "damaged", place: "the answer", why: `cannot be read to its end: ${why}` };
  }
}

function callerOf(address: SourceAddress, importer: Importer): CallSource {
  const base = address.url.replace(/\/+$/, "");
  return async (method, path, body) => {
    let waitMs = WAIT_FIRST_MS;
    for (let attempt = 1; ; attempt++) {
      const outcome = await callOnce(`${base}${path}`, method, body, address, importer);
      if (outcome.kind === "answered") return outcome.body;
      const attemptsMax = outcome.error.status === null ? LOST_ATTEMPTS_MAX : BUSY_ATTEMPTS_MAX;
      if (attempt >= attemptsMax) throw outcome.error;
      await address.clock.sleep(Math.min(WAIT_LAST_MS, outcome.waitMs ?? waitMs));
      waitMs = Math.min(WAIT_LAST_MS, waitMs * 2);
    }
  };
}

type Outcome =
  | { readonly kind: "answered"; readonly body: JsonRecord }
  | { readonly kind: "retry"; readonly waitMs: number | null; readonly error: SourceError };

/** @throws SourceError if repeating is of no use */
async function callOnce(
  url: string,
  method: string,
  body: unknown,
  address: SourceAddress,
  importer: Importer,
): Promise<Outcome> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method,
      headers: { ...headersOf(address, importer), ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
    });
    text = await limitedText(response);
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    const why = errorMessage(cause);
    return { kind: "retry", waitMs: null, error: new SourceError(null, `No answer from ${address.url}: ${why}`) };
  }
  if (response.ok) {
    const value = parsedJson(text);
    if (isRecord(value)) return { kind: "answered", body: value };
    if (Array.isArray(value)) return { kind: "answered", body: { items: value, results: value, memories: value } };
    throw new SourceError(response.status, `${url} did not answer with JSON. Is it ${importer.expects}?`);
  }
  const error = refusal(response.status, address, importer, text);
  if (response.status !== 429 && response.status < 500) throw error;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return { kind: "retry", waitMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null, error };
}

async function limitedText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > PAGE_BYTES_MAX)
      throw new SourceError(response.status, `${response.url} answered with too much for a page.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function headersOf({ key }: SourceAddress, { server }: Importer): Record<string, string> {
  return key === null || server === null ? {} : { authorization: server.authorization(key) };
}

function refusal(status: number, { url, key }: SourceAddress, { server }: Importer, text: string): SourceError {
  const value = parsedJson(text);
  const detail = isRecord(value)
    ? [value.detail, value.message, value.error].find((part) => typeof part === "string")
    : null;
  const why = typeof detail === "string" ? `: ${detail.slice(0, 300).replace(/\.$/, "")}` : "";
  const isKeyMissing = (status === 401 || status === 403) && server !== null;
  const hint = isKeyMissing ? ` ${key === null ? "Set" : "Check"} ${server.keyVariable}.` : "";
  return new SourceError(status, `${url} answered ${status}${why}.${hint}`);
}
