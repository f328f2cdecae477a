// Long texts in pieces.

import { expect, test } from "bun:test";
import { PiecedText, utf8BytesOf } from "../../src/kit/pieced-text.ts";
import { seeded } from "../support/seeded.ts";

const WHOLE = "Grüße aus dem Keller 😀, wo der Käse reift.";

function inPieces(random: () => number): PiecedText {
  const pieces: string[] = [];
  for (let at = 0; at < WHOLE.length; ) {
    const length = Math.floor(random() * 6);
    pieces.push(WHOLE.slice(at, at + length));
    at += length;
  }
  return new PiecedText(pieces, Buffer.byteLength(WHOLE));
}

test("a text in pieces is read like the whole string", () => {
  const random = seeded(7);
  for (let round = 0; round < 20; round++) {
    const text = inPieces(random);
    expect([text.length, utf8BytesOf(text), text.slice(0)]).toEqual([WHOLE.length, utf8BytesOf(WHOLE), WHOLE]);
    for (let start = 0; start <= WHOLE.length + 1; start++) {
      expect(text.charCodeAt(start)).toBe(WHOLE.charCodeAt(start));
      for (let end = 0; end <= WHOLE.length + 2; end++) expect(text.slice(start, end)).toBe(WHOLE.slice(start, end));
    }
  }
});

test("an empty text has no characters", () => {
  for (const pieces of [[], [""], ["", ""]]) {
    const text = new PiecedText(pieces, 0);
    expect([text.length, text.slice(0), text.slice(0, 9), text.charCodeAt(0)]).toEqual([0, "", "", Number.NaN]);
  }
});
