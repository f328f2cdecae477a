// Long texts in pieces.

import { expect, test } from "bun:test";
import { completeBytes, PiecedText, utf8BytesOf, utf8Piece } from "../../src/kit/pieced-text.ts";
import { seeded } from "../support/seeded.ts";

const WHOLE = "Grüße aus dem Keller 😀, wo der Käse reift.";

/** The text in pieces of any length: strings and UTF-8. */
function inPieces(random: () => number): PiecedText {
  const pieces: ConstructorParameters<typeof PiecedText>[0][number][] = [];
  const characters = [...WHOLE];
  for (let at = 0; at < characters.length; ) {
    const length = Math.floor(random() * 6);
    const piece = characters.slice(at, at + length).join("");
    pieces.push(random() < 0.5 ? piece : utf8Piece(Buffer.from(piece)));
    at += length;
  }
  return new PiecedText(pieces, Buffer.byteLength(WHOLE));
}

test("a text in pieces is read like the whole string", () => {
  const random = seeded(7);
  for (let round = 0; round < 20; round++) {
    const text = inPieces(random);
    expect([text.length, utf8BytesOf(text), text.slice(0)]).toEqual([WHOLE.length, utf8BytesOf(WHOLE), WHOLE]);
    expect([...text.pieces()].join("")).toBe(WHOLE);
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

test("bytes are cut before a character that is not complete", () => {
  const bytes = Buffer.from(WHOLE);
  for (let end = 0; end <= bytes.length; end++) {
    const head = bytes.subarray(0, end);
    const complete = completeBytes(head);
    // a stream decoder keeps an incomplete character back
    expect(head.subarray(0, complete).toString()).toBe(new TextDecoder().decode(head, { stream: true }));
  }
  expect(completeBytes(new Uint8Array())).toBe(0);
});

test("the code units of UTF-8 are counted as a string counts them", () => {
  const random = seeded(9);
  const alphabet = [..."aé–漢😀\u07ff\u0800\uffff"];
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: random() * 40 }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
    const bytes = Buffer.from(`${"x".repeat(round % 5)}${text}`).subarray(round % 5); // begins at any address
    expect(utf8Piece(bytes).length).toBe(text.length);
  }
});
