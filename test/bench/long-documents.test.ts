// The judged collection of long documents: properties of its questions, and which chunks count as their answers.

import { describe, expect, test } from "bun:test";
import { chunksWithEvidence, longDocumentQuestions } from "../../bench/lib/long-documents.ts";

describe("the questions about long documents", () => {
  test("are more than eighty, all different, each with evidence of at most twelve words", async () => {
    const questions = await longDocumentQuestions();
    expect(questions.length).toBeGreaterThan(80);
    for (const { evidence } of questions) expect(evidence.split(/\s+/).length).toBeLessThanOrEqual(12);
    expect(new Set(questions.map(({ text }) => text)).size).toBe(questions.length);
  });
  test("a third of them is in the split dev, and every document has questions in the split test", async () => {
    const questions = await longDocumentQuestions();
    const dev = questions.filter(({ split }) => split === "dev");
    expect(dev.length).toBe(Math.floor(questions.length / 3));
    const tested = new Set(questions.filter(({ split }) => split === "test").map(({ document }) => document));
    expect([...new Set(questions.map(({ document }) => document))].filter((name) => !tested.has(name))).toEqual([]);
  });
});

describe("chunks with the evidence", () => {
  const content = "The cat\n  sat on 𝕥he mat. The dog sat on the rug.";
  const chunks = [
    { start: 0, end: 24 },
    { start: 25, end: 48 },
  ];

  test("are found with any white space between the words, at positions in code points", () => {
    expect(chunksWithEvidence("cat sat on", content, chunks)).toEqual([0]);
    expect(chunksWithEvidence("on the rug", content, chunks)).toEqual([1]);
  });
  test("are those with the larger part of it, if it spans two chunks", () => {
    expect(chunksWithEvidence("mat. The dog sat", content, chunks)).toEqual([1]);
    expect(chunksWithEvidence("on 𝕥he mat. The", content, chunks)).toEqual([0]);
  });
  test("are one for each occurrence, if it occurs more than once", () => {
    expect(chunksWithEvidence("sat on", content, chunks)).toEqual([0, 1]);
  });
  test("must exist", () => {
    expect(() => chunksWithEvidence("a bird", content, chunks)).toThrow("no chunk holds");
  });
});
