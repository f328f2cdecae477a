// Cuts texts into pieces of limited length.

import type { AnyText } from "./pieced-text.ts";
import { isHighSurrogate } from "./surrogates.ts";

/** Cuts a text into one or more pieces of at most `charactersMax` UTF-16 code units. Does not cut surrogate pairs. */
export function* piecesWithin(content: AnyText, charactersMax: number): Generator<string> {
  let start = 0;
  do {
    let end = start + charactersMax;
    if (isHighSurrogate(content.charCodeAt(end - 1))) end -= 1;
    yield content.slice(start, end);
    start = end;
  } while (start < content.length);
}
