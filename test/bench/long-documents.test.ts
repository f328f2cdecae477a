// The judged set of long documents: that its questions can be asked, and which chunks count as their answers.

import { describe, expect, test } from "bun:test";
import { chunksWithEvidence, longDocumentQuestions } from "../../bench/lib/long-documents.ts";

describe("the questions about long documents", () => {
  test("are more than eighty, each with the words that answer it, twelve at most", async () => {
    const questions = await longDocumentQuestions();
    expect(questions.length).toBeGreaterThan(80);
    for (const { evidence } of questions) expect(evidence.split(/\s+/).length).toBeLessThanOrEqual(12);
    expect(new Set(questions.map(({ text }) => text)).size).toBe(questions.length);
  });
  test("a third of them chooses, and every document has questions that test", async () => {
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

  test("are found whatever white space stands between the words, by code points", () => {
    expect(chunksWithEvidence("cat sat on", content, chunks)).toEqual([0]);
    expect(chunksWithEvidence("on the rug", content, chunks)).toEqual([1]);
  });
  test("are those with most of it where it spans an edge", () => {
    expect(chunksWithEvidence("mat. The dog sat", content, chunks)).toEqual([1]);
    expect(chunksWithEvidence("on 𝕥he mat. The", content, chunks)).toEqual([0]);
  });
  test("are all of them where it stands more than once", () => {
    expect(chunksWithEvidence("sat on", content, chunks)).toEqual([0, 1]);
  });
  test("must be there", () => {
    expect(() => chunksWithEvidence("a bird", content, chunks)).toThrow("no chunk holds");
  });
});
