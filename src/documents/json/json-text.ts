// Converts a JSON file to searchable text: one line `path: value` per value, one paragraph per object of a list, and
// one line per turn of a conversation. json-tokens.ts parses; json-writer.ts writes the lines.

import { type JsonSink, readJson, skipBlanks } from "./json-tokens.ts";
import { JsonWriter } from "./json-writer.ts";

/**
 * The text of a JSON file, of JSON Lines (a value per line), or of concatenated values, which are read like the values
 * of a list. Invalid JSON is returned unchanged. In JSON Lines only the invalid lines are returned unchanged. Takes
 * linear time and memory.
 * @param pieces the text of the file
 */
export function jsonText(pieces: Iterable<string>): readonly string[] {
  const text = [...pieces].join("");
  return valueText(text) ?? valuesText(text) ?? linesText(text) ?? [text];
}

/** null if the text is not a single JSON value. */
function valueText(text: string): readonly string[] | null {
  const writer = new JsonWriter(text, false);
  return isSingleValue(text, writer) ? writer.pieces() : null;
}

/** The text of concatenated values; null if anything is invalid JSON. */
function valuesText(text: string): readonly string[] | null {
  const writer = new JsonWriter(text, true);
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const end = readJson(text, at, writer);
    // two literals or numbers need a separator between them
    if (end === null || (end < text.length && /[\w"+.-]/.test(text.charAt(end)))) return null;
    at = end;
  }
  return writer.pieces();
}

/** The text of JSON Lines; null if the first line is neither an object nor a list. */
function linesText(text: string): readonly string[] | null {
  const lines = linesOf(text);
  const first = lines.next();
  if (first.done === true || !/^[ \t]*[[{]/.test(first.value) || !isSingleValue(first.value, DISCARD)) return null;
  const writer = new JsonWriter(first.value, true);
  readJson(first.value, skipBlanks(first.value, 0), writer);
  for (const line of lines) {
    writer.continueWith(line);
    if (isSingleValue(line, DISCARD)) readJson(line, skipBlanks(line, 0), writer);
    else writer.writeInvalid(line);
  }
  return writer.pieces();
}

/** Discards the tokens. Used to check whether a text is valid. */
const DISCARD: JsonSink = {
  open: () => undefined,
  key: () => undefined,
  scalar: () => undefined,
  close: () => undefined,
};

function isSingleValue(text: string, sink: JsonSink): boolean {
  const end = readJson(text, skipBlanks(text, 0), sink);
  return end !== null && skipBlanks(text, end) === text.length;
}

/** Lines that are not blank. */
function* linesOf(text: string): Generator<string, undefined> {
  for (let at = 0; at < text.length; ) {
    const feed = text.indexOf("\n", at);
    const line = text.slice(at, feed === -1 ? text.length : feed);
    at += line.length + 1;
    if (line.trim() !== "") yield line;
  }
}
