// The unigram tokeniser gives the token ids that multilingual-e5-small was trained with. Compared with the model's
// reference outputs, and with a slow implementation of the same specification.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadUnigram } from "../../src/tokenizers/unigram.ts";
import { MULTILINGUAL_REFERENCE as references } from "../inference/references.ts";
import { seeded } from "../support/seeded.ts";
import { MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { slowUnigram } from "./fixtures/slow-unigram.ts";

const TABLE = join(MODELS_DIR, MULTILINGUAL, "unigram.bin");
const unigram = loadUnigram(TABLE);
const slow = slowUnigram(TABLE);
const [START, PAD, SEPARATOR, UNKNOWN, SPACE] = [0, 1, 2, 3, 6];

const idsOf = (text: string, tokensMax = 10_000) => [...unigram.encode(text, tokensMax)];
const inner = (text: string) => idsOf(text).slice(1, -1);

describe("unigram", () => {
  test("ids equal the model's reference in every language of it", () => {
    for (const { text, purpose, token_ids } of references) {
      expect(idsOf(`${purpose}: ${text}`, 512), text).toEqual([...token_ids]);
    }
  });

  test("ids equal those of the slow implementation for random texts of many scripts, spaces, marks and controls", () => {
    const seed = 22;
    const random = seeded(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const words = references.flatMap(({ text }) => text.split(/\s+/));
    const odd = [
      " ",
      "   ",
      "\t",
      "\r\n",
      "\u00a0",
      "\u200b",
      "\u2581",
      "\u0000",
      "\u0007",
      "\ufffd",
      "👩‍👩‍👧",
      "🏳️‍🌈",
      "ﬁ",
      "㍿",
      "½",
    ];
    const parts: readonly (() => string)[] = [
      () => pick(words),
      () => `${pick(words)} `,
      () => pick(words).slice(Math.floor(random() * 4)),
      () => pick(odd),
      () => String.fromCodePoint(0x20 + Math.floor(random() * 0x3000)),
      () => String.fromCodePoint(0x4e00 + Math.floor(random() * 0x5000)),
      () => String.fromCodePoint(0x1_0000 + Math.floor(random() * 0x1_0000)),
      () => pick(["a", "e", "-", ".", "7"]).repeat(Math.floor(random() * 40)),
    ];
    for (let round = 0; round < 500; round += 1) {
      const text = Array.from({ length: Math.floor(random() * 30) }, () => pick(parts)()).join("");
      expect(inner(text), `seed ${seed}: ${JSON.stringify(text)}`).toEqual([...slow(text.normalize("NFC"))]);
    }
  });

  test("the first 512 ids of a text that is longer than a block equal those of the slow implementation", () => {
    const texts = ["The red kite circles over the hill. ", "空が青い。", "Donaudampfschifffahrtsgesellschaft", "🪁"];
    for (const text of texts) {
      const long = text.repeat(Math.ceil(30_000 / text.length));
      expect(idsOf(long, 512).slice(1, -1), text).toEqual([...slow(long.slice(0, 12_000)).slice(0, 510)]);
    }
  });

  test("a text is normalised to NFC first", () => {
    const composed = "Žluťoučký kůň, tiếng Việt, がぎぐ, 한국어";
    expect(composed.normalize("NFD")).not.toBe(composed);
    expect(idsOf(composed.normalize("NFD"))).toEqual(idsOf(composed));
  });

  test("an empty text is one space to the model and counts no tokens", () => {
    expect(idsOf("")).toEqual([START, SPACE, SEPARATOR]);
    expect(unigram.count("")).toBe(0);
    expect(idsOf(" \t\n ")).toEqual([START, SPACE, SEPARATOR]);
  });

  test("count is the number of tokens without special tokens, also beyond a block", () => {
    expect(unigram.count("What is the capital of France?")).toBe(inner("What is the capital of France?").length);
    const long = "retrieval finds 記憶 ".repeat(5000);
    expect(unigram.count(long)).toBe(unigram.encode(long, 1_000_000).length - 2);
    expect(unigram.count(long)).toBe(5000 * unigram.count("retrieval finds 記憶") + 1);
  });

  test("a run of two million characters without a space is segmented as a shorter one is", () => {
    for (const text of ["a", "字", "ก", "👩‍👩‍👧", "=-", "ab"]) {
      const perThousand = unigram.count(text.repeat(20_000)) / 20;
      const perThousandOfLong = unigram.count(text.repeat(2_000_000 / text.length)) / (2000 / text.length);
      expect(Math.abs(perThousandOfLong / perThousand - 1), text).toBeLessThan(0.01);
    }
  });

  test("a text is cut to the limit, special tokens included", () => {
    const whole = idsOf("one two three four five");
    expect(idsOf("one two three four five", 5)).toEqual([...whole.slice(0, 4), SEPARATOR]);
    expect(idsOf("one", 2)).toEqual([START, SEPARATOR]);
    expect(idsOf("字".repeat(100_000), 512)).toHaveLength(512);
  });

  test("a pair is `<s> query </s></s> passage </s>`, all of token type 0", () => {
    const { ids, firstLength } = unigram.encodePair("where is the key?", "under the pot", 48, 128);
    const expected = [START, ...inner("where is the key?"), SEPARATOR, SEPARATOR, ...inner("under the pot"), SEPARATOR];
    expect([...ids]).toEqual(expected);
    expect(firstLength).toBe(ids.length);
  });

  test("in a pair, the query has its own limit and the passage gets the rest", () => {
    const { ids } = unigram.encodePair("question ".repeat(100), "answer ".repeat(300), 48, 128);
    expect(ids).toHaveLength(128);
    expect([...ids].indexOf(SEPARATOR)).toBe(49);
    expect(ids.at(-1)).toBe(SEPARATOR);
    const narrow = [...unigram.encodePair("question ".repeat(100), "answer", 48, 6).ids];
    expect([narrow.length, narrow.filter((id) => id === SEPARATOR).length]).toEqual([6, 3]);
  });

  test("special tokens written in a text are plain text", () => {
    const ids = inner("<s> </s> <pad> <mask> <unk>");
    for (const special of [START, PAD, SEPARATOR, 250_001]) expect(ids).not.toContain(special);
  });

  test("a character that no piece has is unknown, and broken surrogates are the replacement character", () => {
    expect(inner("\u{10fffd}")).toContain(UNKNOWN);
    expect(idsOf("ab\ud800 cd\udc00")).toEqual(idsOf("ab\ufffd cd\ufffd"));
  });

  test("a text has the same ids whatever was tokenised before it", () => {
    const long = "長い文章です。".repeat(4000);
    for (const { text, purpose, token_ids } of references) {
      unigram.count(long);
      unigram.encode(long, 20);
      expect(idsOf(`${purpose}: ${text}`, 512)).toEqual([...token_ids]);
    }
  });

  test("a file that is cut off, too long or something else is refused with its path", () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-unigram-"));
    const path = join(folder, "table.bin");
    const table = readFileSync(TABLE);
    const changed = (change: (copy: Buffer) => void) => {
      const copy = Buffer.from(table);
      change(copy);
      return copy;
    };
    const files = [
      Buffer.alloc(0),
      Buffer.from("{}"),
      table.subarray(0, 100_000),
      table.subarray(0, -1),
      Buffer.concat([table, Buffer.alloc(1)]),
      changed((copy) => copy.writeUInt32LE(1, 0)),
      changed((copy) => copy.writeFloatLE(Number.NaN, 400)),
      changed((copy) => copy.writeUInt8(200, 4 + 4 * 250_002 + 10)),
    ];
    for (const file of files) {
      writeFileSync(path, file);
      expect(() => loadUnigram(path)).toThrow(`${path} is not a table of a unigram tokeniser`);
    }
    rmSync(folder, { recursive: true });
  });
});
