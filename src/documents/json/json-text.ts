// What a JSON file says, as text that can be found piece by piece: a line `path: value` for each value, a paragraph for each object of
// a list, a line for each turn of a conversation. Where values begin and end is json-tokens.ts's business, what is written of them
// json-writer.ts's.

import { type JsonSink, readJson, skipBlanks } from "./json-tokens.ts";
import { JsonWriter } from "./json-writer.ts";

/**
 * The text of a JSON file, of JSON Lines (a value a line), or of values one after the other, which read as those of a list. What is
 * no JSON comes back as it is; of JSON Lines, single lines do. Time and memory are linear in the length.
 * @param pieces of the file's text
 */
export function jsonText(pieces: Iterable<string>): readonly string[] {
  const text = [...pieces].join("");
  return valueText(text) ?? valuesText(text) ?? linesText(text) ?? [text];
}

/** null: the text is not one JSON value. */
function valueText(text: string): readonly string[] | null {
  const writer = new JsonWriter(text, false);
  return isWhole(text, writer) ? writer.pieces() : null;
}

/** null: something is no JSON. */
function valuesText(text: string): readonly string[] | null {
  const writer = new JsonWriter(text, true);
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const end = readJson(text, at, writer);
    // words and numbers need something between them
    if (end === null || (end < text.length && /[\w"+.-]/.test(text.charAt(end)))) return null;
    at = end;
  }
  return writer.pieces();
}

/** null: the first line is no object or list of its own. */
function linesText(text: string): readonly string[] | null {
  const lines = linesOf(text);
  const first = lines.next();
  if (first.done === true || !/^[ \t]*[[{]/.test(first.value) || !isWhole(first.value, NOBODY)) return null;
  const writer = new JsonWriter(first.value, true);
  readJson(first.value, skipBlanks(first.value, 0), writer);
  for (const line of lines) {
    writer.goOn(line);
    if (isWhole(line, NOBODY)) readJson(line, skipBlanks(line, 0), writer);
    else writer.broken(line);
  }
  return writer.pieces();
}

/** Takes tokens, for whether there is a value at all. */
const NOBODY: JsonSink = {
  open: () => undefined,
  key: () => undefined,
  scalar: () => undefined,
  close: () => undefined,
};

function isWhole(text: string, sink: JsonSink): boolean {
  const end = readJson(text, skipBlanks(text, 0), sink);
  return end !== null && skipBlanks(text, end) === text.length;
}

/** Lines with something on them. */
function* linesOf(text: string): Generator<string, undefined> {
  for (let at = 0; at < text.length; ) {
    const feed = text.indexOf("\n", at);
    const line = text.slice(at, feed === -1 ? text.length : feed);
    at += line.length + 1;
    if (line.trim() !== "") yield line;
  }
}
