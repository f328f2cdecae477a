// The tokeniser gives the token ids that the models were trained with. Compared with the models' reference outputs, and
// with outputs of the Rust crate `tokenizers`, recorded in fixtures/wordpiece.json.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createWordPiece, loadWordPiece } from "../../src/tokenizers/wordpiece.ts";
import { EMBEDDER_REFERENCE, RERANKER_REFERENCE } from "../inference/references.ts";
import { seeded } from "../support/seeded.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";

const wordPiece = loadWordPiece(join(MODELS_DIR, ENGLISH, "tokenizer.json"));
const [CLS, SEP, UNK] = [101, 102, 100];

describe("WordPiece", () => {
  test("ids equal the embedder's reference", () => {
    for (const { text, token_ids } of EMBEDDER_REFERENCE) {
      expect([...wordPiece.encode(text, 256)], text).toEqual([...token_ids]);
    }
  });

  test("ids and types of pairs equal the reranker's reference", () => {
    const pairs = loadWordPiece(join(MODELS_DIR, "mneme-reranker-minilm-l6/tokenizer.json"));
    for (const { query, passage, token_ids, token_type_ids } of RERANKER_REFERENCE) {
      const { ids, firstLength } = pairs.encodePair(query, passage, 48, 128);
      expect([...ids], query).toEqual([...token_ids]);
      expect(firstLength, query).toBe(token_type_ids.filter((type) => type === 0).length);
    }
  });

  test("ids equal those of the Rust crate `tokenizers` for every text of the fixture: scripts, control characters and edge cases", () => {
    const fixture = JSON.parse(readFileSync(join(import.meta.dir, "fixtures/wordpiece.json"), "utf8"));
    for (const [text, ids] of fixture.cases as readonly [string, number[]][]) {
      expect([...wordPiece.encode(text, 10_000)], JSON.stringify(text)).toEqual([CLS, ...ids, SEP]);
    }
  });

  test("count is the number of tokens without special tokens", () => {
    expect(wordPiece.count("")).toBe(0);
    expect(wordPiece.count("What is the capital of France?")).toBe(7);
    const long = "retrieval ".repeat(5000);
    expect(wordPiece.count(long)).toBe(wordPiece.encode(long, 1_000_000).length - 2);
  });

  test("a text is cut to the limit, special tokens included", () => {
    const ids = wordPiece.encode("one two three four five", 5);
    expect([...ids]).toEqual([...wordPiece.encode("one two three", 5)]);
    expect(ids).toHaveLength(5);
    expect([...wordPiece.encode("one", 2)]).toEqual([CLS, SEP]);
    expect(wordPiece.encode("unbelievabilities".repeat(3), 4)).toHaveLength(4);
  });

  test("in a pair, the query has its own limit and the passage gets the rest", () => {
    const query = "question ".repeat(100);
    const { ids, firstLength } = wordPiece.encodePair(query, "answer ".repeat(300), 48, 128);
    expect(ids).toHaveLength(128);
    expect(firstLength).toBe(50);
    expect(ids.at(-1)).toBe(SEP);
    expect([...wordPiece.encodePair("", "", 48, 128).ids]).toEqual([CLS, SEP, SEP]);
  });

  test("special tokens written in a text are plain text", () => {
    const ids = [...wordPiece.encode("[SEP] [CLS] [MASK] [PAD]", 100)].slice(1, -1);
    expect(ids.filter((id) => id <= 103)).toEqual([]);
  });

  test("a word of more than 100 characters is unknown, one of 100 is not", () => {
    expect([...wordPiece.encode("a".repeat(101), 100)]).toEqual([CLS, UNK, SEP]);
    expect([...wordPiece.encode("a".repeat(100), 100)]).not.toContain(UNK);
  });

  test("broken surrogates are left out", () => {
    expect([...wordPiece.encode("ab\ud800 cd\udc00", 100)]).toEqual([...wordPiece.encode("ab cd", 100)]);
  });

  test("a text has the same ids whatever was tokenised before it", () => {
    const random = seeded(3);
    const texts = EMBEDDER_REFERENCE.map(({ text }) => text);
    for (let round = 0; round < 200; round += 1) {
      const index = Math.floor(random() * texts.length);
      expect([...wordPiece.encode(texts[index] ?? "", 256)]).toEqual([...(EMBEDDER_REFERENCE[index]?.token_ids ?? [])]);
    }
  });

  test("a vocabulary without the special tokens is refused", () => {
    expect(() => createWordPiece({ a: 0 })).toThrow("[UNK]");
  });
});
