// Reads a JSON body: its media type, its size while it streams, its encoding and its syntax, each refused with its own
// error. What the values must be is check.ts's question.

import { Fault } from "../domain/fault.ts";

/**
 * The parsed body of a request.
 * @throws Fault `unsupported_media_type`, `payload_too_large`, `overloaded` or `invalid_request`.
 */
export async function readJson(request: Request, bytesMax: number, reserved: BodyReservation): Promise<unknown> {
  const mediaType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    throw new Fault("unsupported_media_type", `Send the body as Content-Type: application/json, not '${mediaType}'.`);
  }
  const text = decode(await readBytes(request, bytesMax, reserved));
  try {
    return parseStorable(text);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_request", `The body is not valid JSON: ${jsonProblem(cause)}.`, { cause });
  }
}

/**
 * The value of a JSON text, where all of it can be kept as it was sent.
 * @param param the parameter that the text came in, if it is no body.
 * @throws SyntaxError; Fault `invalid_request` that names the place of what cannot be kept.
 */
export function parseStorable(text: string, param?: string): unknown {
  const value: unknown = JSON.parse(text);
  refuseUnstorable(value, SUSPICIOUS_ESCAPE.test(text), param === undefined ? [] : [param]);
  return value;
}

async function readBytes(request: Request, bytesMax: number, reserved: BodyReservation): Promise<Uint8Array> {
  const tooLarge = () => new Fault("payload_too_large", `The body is larger than ${bytesMax} bytes. Send it in parts.`);
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of request.body) {
      bytes += part.byteLength;
      reserved.add(part.byteLength);
      if (bytes > bytesMax) throw tooLarge();
      parts.push(part);
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_request", "The body ended before it was whole.", { cause });
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, bytes);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Fault("invalid_request", "The body is not valid UTF-8.", { cause });
  }
}

// The engine's message names the place; it quotes at most a few characters of the body.
function jsonProblem(cause: unknown): string {
  const message = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, "") : "unexpected end";
  return message.slice(0, 120);
}

/** Deeper nesting than this is no request that a person wrote, and recursion elsewhere must not meet it. */
const JSON_DEPTH_MAX = 64;

/**
 * How a NUL or a lone surrogate gets into a parsed text: only as an escape, since the body is valid UTF-8 and JSON allows
 * no bare NUL. Without a match no text needs to be looked at, which is what nearly every body comes down to.
 */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|d[89a-f])/i;

// What could not be kept as it was sent: NUL and lone surrogates are no UTF-8 text for every engine behind, a number
// beyond a double would come back as null. Bodies can hold millions of values: the path is put together only for an error.
function refuseUnstorable(whole: unknown, isAnyTextSuspicious: boolean, at: readonly string[]): void {
  const path: (string | number)[] = [...at];
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (isAnyTextSuspicious) refuseBadText(value, path);
    } else if (typeof value === "number") {
      if (!Number.isFinite(value)) throw unstorable(path, "The number", "is too large for a double");
    } else if (typeof value === "object" && value !== null) {
      if (path.length === JSON_DEPTH_MAX) {
        const [param] = at;
        const what = param === undefined ? "The body" : `'${param}'`;
        throw new Fault("invalid_request", `${what} is nested deeper than ${JSON_DEPTH_MAX} levels.`, {
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

/** @throws Fault `invalid_request` for a text that holds NUL or a lone surrogate; `path` names the field. */
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

/** The first bytes of each body are not held against the budget: a few large bodies that come slowly shut nobody out. */
const FREE_BYTES = 256 * 1024;

/** Bytes of bodies that may be in memory at once: parsed, each takes a multiple of its size until its request ends. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param freeBytes of each body that do not count. */
  constructor(
    bytesMax: number,
    private readonly freeBytes = FREE_BYTES,
  ) {
    this.#bytesMax = bytesMax;
  }

  /** What one request takes of the budget, until it is released. */
  reserve(): BodyReservation {
    let taken = 0;
    let seen = 0;
    return {
      add: (received) => {
        const before = Math.max(0, seen - this.freeBytes);
        seen += received;
        const bytes = Math.max(0, seen - this.freeBytes) - before;
        if (this.#bytes + bytes > this.#bytesMax) {
          throw new Fault("overloaded", "Too many large requests are under way. Try again in a moment.", {
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

/** A request's share of a `BodyBudget`. `add` throws Fault `overloaded` when there is no room. */
export interface BodyReservation {
  add(bytes: number): void;
  release(): void;
}
