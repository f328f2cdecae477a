// Reads a JSON body: its media type, its size while it streams, its encoding and its syntax, each refused with its own
// error. What the values must be is check.ts's question.

import { Fault } from "../domain/fault.ts";

/**
 * The parsed body of a request.
 * @throws Fault `unsupported_media_type`, `payload_too_large` or `invalid_request`.
 */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const mediaType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    throw new Fault("unsupported_media_type", `Send the body as Content-Type: application/json, not '${mediaType}'.`);
  }
  const text = decode(await readBytes(request, bytesMax));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Fault("invalid_request", `The body is not valid JSON: ${jsonProblem(cause)}.`, { cause });
  }
  refuseBadStrings(value);
  return value;
}

async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = () => new Fault("payload_too_large", `The body is larger than ${bytesMax} bytes. Send it in parts.`);
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body) {
    bytes += part.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    parts.push(part);
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

// NUL and lone surrogates cannot be stored as UTF-8 text by every engine behind; refused wherever they stand.
function refuseBadStrings(body: unknown): void {
  const waiting: { value: unknown; at: string; depth: number }[] = [{ value: body, at: "", depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, at, depth } = next;
    if (typeof value === "string") refuseBadString(value, at);
    if (typeof value !== "object" || value === null) continue;
    if (depth === JSON_DEPTH_MAX) {
      throw new Fault("invalid_request", `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
    }
    const isArray = Array.isArray(value);
    for (const [name, item] of Object.entries(value)) {
      const path = isArray ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`;
      if (!isArray) refuseBadString(name, path);
      waiting.push({ value: item, at: path, depth: depth + 1 });
    }
  }
}

function refuseBadString(text: string, at: string): void {
  const problem = text.includes("\0") ? "a NUL character" : text.isWellFormed() ? null : "a lone surrogate";
  if (problem === null) return;
  const place = at.toWellFormed().replaceAll("\0", "\\0");
  throw new Fault(
    "invalid_request",
    `The text at '${place}' contains ${problem}.`,
    place === "" ? {} : { param: place },
  );
}
