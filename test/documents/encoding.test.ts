// Tests detection and decoding of character encodings, with and without byte order marks.

import { describe, expect, test } from "bun:test";
import { decoded, encodingNamed, encodingOf } from "../../src/documents/encoding/encoding.ts";
import { seeded } from "../support/seeded.ts";
import ENCODED from "./fixtures/encoded-texts.json";

const readIn = (bytes: Uint8Array, encoding: string) => [...decoded(bytes, encoding)].join("");
function read(bytes: Uint8Array): string | null {
  const encoding = encodingOf(bytes, true);
  return encoding === null ? null : readIn(bytes, encoding);
}

/** A text in UTF-32 without a byte order mark. */
function utf32(text: string): Buffer {
  const points = [...text].map((character) => character.codePointAt(0) ?? 0);
  const bytes = Buffer.alloc(points.length * 4);
  for (const [at, point] of points.entries()) bytes.writeUInt32LE(point, at * 4);
  return bytes;
}

/** Texts by language. Each text has its bytes in Base64, by the Python name of the encoding. */
type EncodedTexts = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
const SHORT_UNITS = 12;

// The texts (prose, tables and short sentences) were written for Mneme and encoded with Python codecs.
for (const [language, texts] of Object.entries(ENCODED as EncodedTexts)) {
  describe(`texts in the language ${language}`, () => {
    for (const [text, encodings] of Object.entries(texts)) {
      const name = JSON.stringify(text.slice(0, 30));
      test(`${name} in ${Object.keys(encodings).join(", ")}`, () => {
        const wrong = Object.entries(encodings).flatMap(([encoding, base64]) => {
          const outcome = read(Buffer.from(base64, "base64"));
          return outcome === text ? [] : [{ encoding, outcome }];
        });
        expect(wrong).toEqual([]);
      });

      test(`${name} in every form of Unicode`, () => {
        const utf16 = Buffer.from(text, "utf16le");
        const marked = Buffer.from(`\ufeff${text}`, "utf16le");
        expect(read(Buffer.from(text))).toBe(text);
        expect(read(Buffer.from(`\ufeff${text}`))).toBe(text);
        // texts with few CJK characters are left out: without a byte order mark they do not look like UTF-16
        if (text.length >= SHORT_UNITS) {
          expect(read(utf16)).toBe(text);
          expect(read(Buffer.from(utf16).swap16())).toBe(text);
        }
        expect(read(marked)).toBe(text);
        expect(read(Buffer.from(marked).swap16())).toBe(text);
        expect(read(utf32(`\ufeff${text}`))).toBe(text);
        expect(read(utf32(`\ufeff${text}`).swap32())).toBe(text);
      });
    }
  });
}

describe("text around the deciding bytes", () => {
  test("long ASCII text before the first non-ASCII word changes nothing", () => {
    const polish = Buffer.from("b3b96b61", "hex");
    const bytes = Buffer.concat([Buffer.from("A plain line.\n".repeat(50_000)), polish]);
    expect(read(bytes)?.slice(-4)).toBe("łąka");
  });

  test("a word in quotes or between separators is detected like a single word", () => {
    expect(read(Buffer.from("22fc626572223b22df2220646965204772f6df65", "hex"))).toBe('"über";"ß" die Größe');
  });

  test("damaged UTF-8 is still UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from("Grüße aus Köln. ".repeat(10)), Buffer.from([0xff])]);
    expect(encodingOf(bytes, true)).toBe("utf-8");
    expect(read(bytes)?.endsWith("\ufffd")).toBe(true);
  });

  test("a character that is cut off at the end is no damage if more bytes follow", () => {
    const bytes = Buffer.from("aé").subarray(0, 2);
    expect(encodingOf(bytes, false)).toBe("utf-8");
  });
});

describe("decoded text", () => {
  test("has lines ended by \\n, no NUL and no byte order mark", () => {
    expect(readIn(Buffer.from("a\r\nb\rc\n\0d\ufeffe"), "utf-8")).toBe("a\nb\nc\nde");
  });

  test("has no lone surrogates", () => {
    expect(readIn(Buffer.from("a\ud83db\udc00", "utf16le"), "utf-16le")).toBe("a\ufffdb\ufffd");
    const unpaired = Buffer.alloc(8);
    unpaired.writeUInt32LE(0xd800, 0);
    unpaired.writeUInt32LE(0x110000, 4);
    expect(readIn(unpaired, "utf-32le")).toBe("\ufffd\ufffd");
  });

  test("is correct at the borders of pieces, for characters and ends of lines", () => {
    const step = 4 * 1024 * 1024;
    for (const [encoding, character] of [
      ["utf-8", Buffer.from("é")],
      ["shift_jis", Buffer.from("8aa3", "hex")],
      ["utf-16le", Buffer.from("🎉", "utf16le")],
    ] as const) {
      const filler = Buffer.from("x".repeat(step), encoding === "utf-16le" ? "utf16le" : "latin1").subarray(
        0,
        step - 2,
      );
      const head = encoding === "utf-16le" ? filler : filler.subarray(0, step - 1);
      const [first = "", ...rest] = [...decoded(Buffer.concat([head, character]), encoding)];
      expect((first + rest.join("")).endsWith(new TextDecoder(encoding).decode(character))).toBe(true);
      expect(first.isWellFormed()).toBe(true);
    }
    const lines = Buffer.from(`${"x".repeat(step - 1)}\r\ny`);
    expect(readIn(lines, "utf-8").slice(-3)).toBe("x\ny");
  });

  test("accepts all labels of the Encoding Standard, and no others", () => {
    expect(encodingNamed("SJIS")).toBe("shift_jis");
    expect(encodingNamed("latin1")).toBe("windows-1252");
    expect(encodingNamed("klingon")).toBeNull();
    expect(() => readIn(new Uint8Array(1), "klingon")).toThrow(RangeError);
  });
});

describe("binary data", () => {
  test("has no encoding", () => {
    const random = seeded(11);
    for (const length of [64, 1_000, 50_000]) {
      const noise = Uint8Array.from({ length }, () => Math.floor(random() * 256));
      noise[length >> 1] = 0;
      expect(encodingOf(noise, true)).toBeNull();
    }
    expect(encodingOf(Buffer.from("7f454c4602010100000000000000000003003e00", "hex"), true)).toBeNull();
  });

  test("is handled in bounded time, whatever the bytes are", () => {
    const size = 3 * 1024 * 1024;
    for (const byte of [0, 0x1b, 0x20, 0x80, 0x81, 0xa1, 0xfe, 0xff]) {
      const encoding = encodingOf(new Uint8Array(size).fill(byte), true);
      if (byte === 0) expect(encoding).toBeNull();
      else expect(encoding === null || readIn(new Uint8Array(8).fill(byte), encoding).length > 0).toBe(true);
    }
    expect(encodingOf(new Uint8Array(), true)).toBe("utf-8");
  });
});
