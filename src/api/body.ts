// Reads a JSON body and checks its media type, size, encoding and syntax, each with an error of its own. check.ts
// compares the values with a schema.

import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { parseJson } from "../kit/exact-json.ts";
import { mediaTypeIn } from "../kit/media-type.ts";
import {
  type ArrivingJson,
  type JsonBodies,
  type JsonLimit,
  type JsonLimits,
  JsonRefused,
  type JsonStep,
  type ParsedJson,
} from "../ports/json-bodies.ts";

/** The size and shape that a body can have. */
export interface BodyBounds {
  readonly bytesMax: number;
  readonly json: JsonLimits;
  /** Whether a text with this path is the content of a memory. */
  readonly isContent: (path: readonly JsonStep[]) => boolean;
}

/** The content of memories in a body: that of one memory, or of a list of memories. */
export type CarriedContent = "of one memory" | "of a list";

/** Bounds of a body by the content that it carries. */
export function bodyBounds(carriesContent: CarriedContent | undefined): BodyBounds {
  const { bodyBytes, smallBodyBytes, jsonDepth: depth, jsonValues: values, memoryJsonValues } = LIMITS;
  const carries = carriesContent !== undefined;
  return {
    bytesMax: carries ? bodyBytes : smallBodyBytes,
    json: {
      depth,
      values,
      partValues: carries ? memoryJsonValues : values,
      partMembers: LIMITS.jsonMembers,
      areItemsParts: carriesContent === "of a list",
    },
    // the content of an item is at memories[N].content
    isContent: (path) =>
      carries && path.length === (carriesContent === "of a list" ? 3 : 1) && path.at(-1) === "content",
  };
}

/**
 * Larger bodies are parsed outside of the JavaScript thread, which a body of this size and within the limits occupies
 * for up to 40 ms.
 */
const LARGE_BODY_BYTES = 1024 * 1024;

/** Bodies up to this size are parsed without counting first: the only limit that they can exceed is that of depth. */
const UNCOUNTED_BYTES = 8 * 1024;

/** A parsed body from which no long texts were set apart. There is nothing to release. */
export function withoutLongTexts(value: unknown): ParsedJson {
  return { value, longTexts: [], release: () => undefined };
}

/** Reads JSON bodies. */
export class BodyReader {
  constructor(private readonly bodies: JsonBodies) {}

  /**
   * Reads and parses the body of a request. Depth, values and members are checked on the bytes: those of a large body
   * while it arrives, those of any other one over `UNCOUNTED_BYTES` before it is parsed. Long contents of a large body
   * are set apart.
   * @throws Fault `unsupported_media_type`; `payload_too_large`; `overloaded` if too many large bodies are in memory;
   *   `invalid_request` if the body is cut off, exceeds a limit, is not valid JSON or UTF-8, or contains a value that
   *   cannot be stored
   */
  async read(request: Request, bounds: BodyBounds, reserved: BodyReservation): Promise<ParsedJson> {
    const mediaType = mediaTypeIn(request.headers.get("content-type") ?? "");
    if (mediaType !== "application/json") {
      throw new Fault("unsupported_media_type", `Send the body as Content-Type: application/json, not '${mediaType}'.`);
    }
    const received = await this.#receive(request, bounds, reserved);
    if (!(received instanceof Uint8Array)) return parseLarge(received, bounds);
    return withoutLongTexts(this.#parse(received, bounds));
  }

  /** The bytes of a body, or for a large one the parser that got them. */
  async #receive(request: Request, bounds: BodyBounds, reserved: BodyReservation): Promise<Uint8Array | ArrivingJson> {
    const { bytesMax } = bounds;
    const tooLarge = () =>
      new Fault("payload_too_large", `The body is larger than ${bytesMax} bytes. Send it in parts.`);
    if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
    if (request.body === null) return new Uint8Array();
    const parts: Uint8Array[] = [];
    let large: ArrivingJson | null = null;
    let bytes = 0;
    try {
      for await (const part of request.body) {
        bytes += part.byteLength;
        reserved.add(part.byteLength);
        if (bytes > bytesMax) throw tooLarge();
        if (large === null) parts.push(part);
        else {
          refuseExceeded(large.add(part), bounds);
          free(part);
        }
        if (large !== null || bytes <= LARGE_BODY_BYTES) continue;
        large = this.bodies.begin(bounds.json);
        for (const earlier of parts.splice(0)) refuseExceeded(large.add(earlier), bounds);
      }
    } catch (cause) {
      large?.release();
      if (cause instanceof Fault) throw cause;
      throw new Fault("invalid_request", "The body was cut off before its end.", { cause });
    }
    if (large !== null) return large;
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, bytes);
  }

  #parse(bytes: Uint8Array, bounds: BodyBounds): unknown {
    if (bytes.byteLength > UNCOUNTED_BYTES) refuseExceeded(this.bodies.exceeded(bytes, bounds.json), bounds);
    const text = decode(bytes);
    try {
      return parseStorable(text);
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("invalid_request", `The body is not valid JSON: ${jsonProblem(cause)}.`, { cause });
    }
  }
}

// Frees the memory of bytes of a body, unless other bytes share it. The caller owns the bytes. Without this, a body
// takes up to twice its size until the next garbage collection.
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

function refuseExceeded(limit: JsonLimit | null, { json }: BodyBounds, param?: string): void {
  if (limit === null) return;
  const whole = param === undefined ? "The body" : `'${param}'`;
  const part = json.areItemsParts ? "A memory of the body" : whole;
  const problems: Readonly<Record<JsonLimit, string>> = {
    depth: `${whole} is nested deeper than ${json.depth} levels.`,
    values: `${whole} has more than ${json.values} JSON values.`,
    partValues: `${part} has more than ${json.partValues} JSON values.`,
    partMembers: `${part} has more than ${json.partMembers} JSON members.`,
  };
  throw new Fault("invalid_request", problems[limit], { ...(param !== undefined && { param }) });
}

/**
 * Parses the JSON in a field of a form, which has the limits of a memory. They are checked before it is parsed.
 * @param param name of the field
 * @throws Fault `invalid_request`
 */
export function parseField(bodies: Pick<JsonBodies, "exceeded">, text: string, param: string): unknown {
  const bounds = bodyBounds("of one memory");
  refuseExceeded(bodies.exceeded(Buffer.from(text), bounds.json), bounds, param);
  try {
    return parseStorable(text, param);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_request", `'${param}' is not valid JSON.`, { param, cause });
  }
}

async function parseLarge(body: ArrivingJson, { isContent }: BodyBounds): Promise<ParsedJson> {
  try {
    return await body.parse(isContent);
  } catch (cause) {
    if (cause instanceof JsonRefused) throw refusalOf(cause);
    throw cause;
  }
}

function refusalOf(cause: JsonRefused): Fault {
  switch (cause.flaw) {
    case "syntax":
      return new Fault("invalid_request", `The body is not valid JSON: ${cause.message}.`, { cause });
    case "nul":
      return unstorable(cause.path, "The text", "contains a NUL character");
    case "surrogate":
      return unstorable(cause.path, "The text", "contains a lone surrogate");
    case "number":
      return unstorable(cause.path, "The number", "is too large for a double");
    case "longPart":
      return unstorable(
        cause.path,
        "The value",
        `has more than ${LIMITS.memoryJsonBytes} bytes of JSON besides texts over 64 KB`,
      );
    case "longName":
      return unstorable(cause.path, "The text", "has a name of more than 1,024 bytes in its path");
  }
}

/**
 * Parses a JSON text and refuses values that the stores cannot keep unchanged.
 * @param param name of the query parameter or form field with the text; absent for a body
 * @throws SyntaxError; Fault `invalid_request` for too deep nesting, or with the path of a value that cannot be stored
 */
export function parseStorable(text: string, param?: string): unknown {
  const value = parseJson(text);
  visitValues(value, SUSPICIOUS_ESCAPE.test(text), param === undefined ? [] : [param]);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Fault("invalid_request", "The body is not valid UTF-8.", { cause });
  }
}

// The reason why JSON could not be parsed. Bun's message can be public: it quotes at most a few characters of the body.
function jsonProblem(cause: unknown): string {
  const message = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, "") : "unexpected end";
  return message.slice(0, 120);
}

/**
 * Matches JSON escapes that can put a NUL or a lone surrogate into a parsed text. Only escapes can do that: the body is
 * valid UTF-8, and JSON allows no unescaped NUL. In nearly every body nothing matches, and its texts need no further
 * check.
 */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|d[89a-f])/i;

/** Refuses what `parseStorable` refuses, in a value that was not read from JSON. @throws Fault `invalid_request` */
export function refuseUnstorable(value: unknown): void {
  visitValues(value, true, []);
}

// Refuses too deep nesting, and values that the stores cannot keep: not every store accepts NUL and lone surrogates in
// a text, and a number beyond the range of a double would be returned as null. A body can have millions of values, so
// the path of a value is converted to a text only if there is an error.
function visitValues(whole: unknown, isAnyTextSuspicious: boolean, at: readonly string[]): void {
  const path: (string | number)[] = [...at];
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (isAnyTextSuspicious) refuseBadText(value, path);
    } else if (typeof value === "number") {
      if (!Number.isFinite(value)) throw unstorable(path, "The number", "is too large for a double");
    } else if (typeof value === "object" && value !== null) {
      if (path.length === LIMITS.jsonDepth) {
        const [param] = at;
        const what = param === undefined ? "The body" : `'${param}'`;
        throw new Fault("invalid_request", `${what} is nested deeper than ${LIMITS.jsonDepth} levels.`, {
          ...(param !== undefined && { param }),
        });
      }
      if (Array.isArray(value)) for (let at = 0; at < value.length; at++) visitIn(at, value[at]);
      else for (const name of Object.keys(value)) visitIn(name, (value as Record<string, unknown>)[name]);
    }
  };
  const visitIn = (name: string | number, value: unknown): void => {
    path.push(name);
    if (isAnyTextSuspicious && typeof name === "string") refuseBadText(name, path);
    visit(value);
    path.pop();
  };
  visit(whole);
}

/**
 * Refuses a text that contains a NUL or a lone surrogate.
 * @param path path of the text in the request, for the error
 * @throws Fault `invalid_request`
 */
export function refuseBadText(text: string, path: readonly (string | number)[]): void {
  if (text.includes("\0")) throw unstorable(path, "The text", "contains a NUL character");
  if (!text.isWellFormed()) throw unstorable(path, "The text", "contains a lone surrogate");
}

function unstorable(path: readonly (string | number)[], what: string, problem: string): Fault {
  const place = path
    .reduce<string>(
      (at, name) => (typeof name === "number" ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`),
      "",
    )
    .toWellFormed()
    .replaceAll("\0", "\\0");
  if (place === "") return new Fault("invalid_request", `${what} that is the body ${problem}.`);
  return new Fault("invalid_request", `${what} at '${place}' ${problem}.`, { param: place });
}

/**
 * Number of bytes at the beginning of each body that do not count against the budget, so that a few large, slow bodies
 * do not block small ones.
 */
const FREE_BYTES = 256 * 1024;

/** Limits the total size of the bodies in memory. A parsed body takes a multiple of its size until its request ends. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param freeBytes number of bytes at the beginning of each body that do not count */
  constructor(
    bytesMax: number,
    private readonly freeBytes = FREE_BYTES,
  ) {
    this.#bytesMax = bytesMax;
  }

  /** Starts the reservation of one request; it lasts until it is released. */
  reserve(): BodyReservation {
    let taken = 0;
    let seen = 0;
    return {
      add: (received) => {
        const before = Math.max(0, seen - this.freeBytes);
        seen += received;
        const bytes = Math.max(0, seen - this.freeBytes) - before;
        if (this.#bytes + bytes > this.#bytesMax) {
          throw new Fault("overloaded", "Too many large requests are in progress. Try again in a moment.", {
            retryAfterSeconds: 1,
          });
        }
        this.#bytes += bytes;
        taken += bytes;
      },
      release: () => {
        this.#bytes -= taken;
        taken = 0;
      },
    };
  }
}

/** A request's share of a `BodyBudget`. `add` throws Fault `overloaded` if the budget is used up. */
export interface BodyReservation {
  add(bytes: number): void;
  release(): void;
}
