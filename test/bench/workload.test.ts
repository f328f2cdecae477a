// The passages and questions of `mneme bench`: the generated corpus, BEIR folders and JSONL files.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generatedWorkload, workloadFrom } from "../../bench/command/workload.ts";
import { generatedPassage, generatedQuestion } from "../../bench/lib/generated-corpus.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-workload-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const SIZE = { passagesMax: null, questionsMax: 5, seed: 7, vectors: null };

function written(name: string, ...lines: readonly unknown[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  return path;
}

describe("the generated corpus", () => {
  test("depends only on seed and number", () => {
    expect(generatedPassage(7, 123)).toEqual(generatedPassage(7, 123));
    expect(generatedPassage(8, 123).content).not.toBe(generatedPassage(7, 123).content);
    const contents = new Set(Array.from({ length: 2_000 }, (_, n) => generatedPassage(7, n).content));
    expect(contents.size).toBe(2_000);
  });
  test("asks questions whose words are in the passage that answers them", () => {
    for (let n = 0; n < 200; n++) {
      const { text, judgements } = generatedQuestion(7, n);
      const passage = generatedPassage(7, n);
      expect([...judgements]).toEqual([[passage.id, 1]]);
      const place = /in ([A-Z]\w+)/.exec(text)?.[1] ?? "no place";
      expect(passage.content).toContain(` in ${place} under order `);
    }
  });
  test("has the requested size", () => {
    const { passages, questions } = generatedWorkload({ passagesMax: 30, questionsMax: 5, seed: 7, vectors: null });
    expect(passages).toHaveLength(30);
    expect(questions).toHaveLength(5);
    const ids = new Set(passages.map(({ id }) => id));
    for (const { judgements } of questions) for (const id of judgements.keys()) expect(ids.has(id)).toBeTrue();
  });
});

describe("a BEIR folder", () => {
  const beir = join(folder, "beir");
  mkdirSync(join(beir, "qrels"), { recursive: true });
  written(
    "beir/corpus.jsonl",
    { _id: "a", title: "T", text: "one" },
    { _id: "b", text: "two" },
    { _id: "c", text: " " },
  );
  written("beir/queries.jsonl", { _id: "q1", text: "first?" }, { _id: "q2", text: "second?" });
  written("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore", "q2\tb\t2", "q2\ta\t0");

  test("gives its passages and its judged questions", async () => {
    const { name, passages, questions } = await workloadFrom(beir, SIZE);
    expect(name).toBe("beir");
    expect(passages.map(({ id, title, content }) => [id, title, content])).toEqual([
      ["a", "T", "one"],
      ["b", null, "two"],
    ]);
    expect(questions).toEqual([
      { id: "q2", text: "second?", userId: null, asOf: null, judgements: new Map([["b", 2]]) },
    ]);
  });
  test("loses the questions whose passages are left out", async () => {
    await expect(workloadFrom(beir, { ...SIZE, passagesMax: 1 })).rejects.toThrow("has no questions");
  });
});

describe("a JSONL file", () => {
  test("of texts is asked for the openings of its passages", async () => {
    const path = written("notes.jsonl", { content: "The kettle boils at a hundred degrees." }, { text: "Two" });
    const { name, passages, questions } = await workloadFrom(path, SIZE);
    expect([name, passages.length, questions.length]).toEqual(["notes", 2, 5]);
    for (const { text, judgements } of questions) {
      const [id] = judgements.keys();
      expect(passages.find((passage) => passage.id === id)?.content).toStartWith(text);
    }
  });
  test("is refused with the line that is wrong", async () => {
    const good = { text: "good" };
    for (const [line, message] of [
      ["{", "line 2 is not valid JSON."],
      ["[1]", "line 2 is not a JSON object."],
      ['{"body":"x"}', 'line 2 has no text in "text" or "content".'],
    ] as const) {
      await expect(workloadFrom(written("bad.jsonl", good, line), SIZE)).rejects.toThrow(message);
    }
    await expect(workloadFrom(written("empty.jsonl"), SIZE)).rejects.toThrow("has no passages.");
    await expect(workloadFrom(join(folder, "none"), SIZE)).rejects.toThrow("does not exist.");
    await expect(workloadFrom(folder, SIZE)).rejects.toThrow("has no corpus.jsonl or corpus.jsonl.gz.");
  });
});
