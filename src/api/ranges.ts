// Conditional requests and ranges of bytes (RFC 9110, 13 and 14), for one representation with a strong entity tag.

import { namesTag } from "../kit/entity-tags.ts";

/** The bytes of a file from `start` up to, but without, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What a request asks of a file. */
export type Asked = "not modified" | "whole" | "unsatisfiable" | ByteRange;

/**
 * What a request asks. Malformed ranges, several of them, and those in another unit are ignored; so is one whose
 * `If-Range` names another version. HEAD has no ranges.
 * @param etag the entity tag with its quotes
 */
export function askedOf(
  { method, headers }: Pick<Request, "method" | "headers">,
  file: { readonly bytes: number; readonly etag: string },
): Asked {
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== null && namesTag(noneMatch, file.etag)) return "not modified";
  const range = headers.get("range");
  if (range === null || method === "HEAD") return "whole";
  const ifRange = headers.get("if-range");
  // `If-Range` with a date never matches, because files have no modification date; a weak tag never matches by
  // RFC 9110, 13.1.5
  if (ifRange !== null && ifRange.trim() !== file.etag) return "whole";
  return rangeIn(range, file.bytes);
}

/** Maximum length of a `Range` with one range, in UTF-16 code units; for longer ones, the pattern below takes long. */
const RANGE_UNITS_MAX = 100;

function rangeIn(header: string, bytes: number): Asked {
  if (header.length > RANGE_UNITS_MAX) return "whole";
  const [, unit, first, last] = /^\s*([a-z]+)\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  if (unit?.toLowerCase() !== "bytes" || first === undefined || last === undefined) return "whole";
  if (first === "") {
    if (last === "") return "whole";
    const length = Number(last);
    return length === 0 || bytes === 0 ? "unsatisfiable" : { start: Math.max(0, bytes - length), end: bytes };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "whole";
  if (start >= bytes) return "unsatisfiable";
  return { start, end: last === "" ? bytes : Math.min(bytes, Number(last) + 1) };
}
