// The judge of relations by rules, over the pairs of bench/fixtures/relations.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeByRules } from "../../src/relations/judge.ts";

const FIXTURES = join(import.meta.dir, "../../bench/fixtures/relations");
const pairs = ["dev.tsv", "test.tsv"].flatMap((name) =>
  readFileSync(join(FIXTURES, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [kind, language = "und", older = "", newer = ""] = line.split("\t");
      return { kind, verdict: judgeByRules({ text: older, language }, { text: newer, language }), line };
    }),
);
const judged = (older: string, newer: string, language = "en") =>
  judgeByRules({ text: older, language }, { text: newer, language })?.kind ?? null;

test("marks at most one of fifty pairs that only share a subject or an attribute", () => {
  const controls = pairs.filter(({ kind }) => kind === "N");
  const wrong = controls.filter(({ verdict }) => verdict?.kind === "supersedes");
  expect(controls.length).toBeGreaterThan(300);
  expect(wrong.length / controls.length).toBeLessThanOrEqual(0.02);
});

test("finds nine of ten corrections", () => {
  const corrections = pairs.filter(({ kind }) => kind === "C");
  const found = corrections.filter(({ verdict }) => verdict?.kind === "supersedes");
  expect(corrections.length).toBeGreaterThan(100);
  expect(found.length / corrections.length).toBeGreaterThanOrEqual(0.9);
});

describe("nothing is said", () => {
  test("by a question, or about one", () => {
    expect(judged("Is the workshop in room 114?", "The workshop is in room 220.")).toBeNull();
    expect(judged("The workshop is in room 114.", "Was the workshop moved to room 220?")).toBeNull();
  });

  test("by a change of something else, in the words of the older note", () => {
    const older = "A mensalidade da natação é de 35 euros.";
    expect(judged(older, "O judo subiu a mensalidade para 42 euros.", "pt")).toBeNull();
    expect(judged(older, "A natação subiu a mensalidade para 42 euros.", "pt")).not.toBe("duplicates");
    expect(judged("Parking costs 5 euros.", "Parking was raised to 7 euros.")).toBe("supersedes");
  });

  test("by empty texts, punctuation, and very long sentences", () => {
    expect(judged("", "The workshop was moved to room 220.")).toBeNull();
    expect(judged("…", "!?")).toBeNull();
    const long = Array.from({ length: 40 }, (_, at) => `word${at}`).join(" ");
    expect(judged(`${long} 1`, `${long} 2`)).toBeNull();
  });
});

test("a text that says the same is a duplicate", () => {
  expect(judged("The spare key is under the mat.", "The spare key is under the mat.")).toBe("duplicates");
  expect(judged("The spare key is under the mat.", "the spare key is under the mat")).toBe("duplicates");
});

describe("when something has changed does not matter", () => {
  test.each([
    ["en", "Paul lives in Zurich.", "Paul moved to Geneva last week."],
    ["en", "Paul lives in Zurich.", "Last month Paul moved to Geneva."],
    ["es", "Carlos vive en Sevilla.", "Carlos se mudó a Cádiz la semana pasada."],
    ["it", "Giulia abita a Torino.", "Giulia si è trasferita a Genova il mese scorso."],
    ["nl", "Sanne woont in Breda.", "Sanne is vorige week naar Utrecht verhuisd."],
    ["pt", "A Inês mora em Braga.", "A Inês mudou-se para Faro no mês passado."],
    ["ru", "Ольга живёт в Казани.", "Ольга на прошлой неделе переехала в Самару."],
  ])("%s: %s %s", (language, older, newer) => {
    expect(judged(older, newer, language)).toBe("supersedes");
  });

  test.each([
    ["en", "Paul lives in Zurich.", "Paul visited Geneva last week."],
    ["en", "Paul lives in Zurich.", "Anna moved to Geneva last week."],
    ["en", "Paul lives in Zurich.", "Paul's parents moved to Geneva last week."],
    ["en", "Standup is at 9:30.", "Last week standup was at 10:15."],
    ["en", "The workshop is in room 114.", "This week the workshop is in room 220."],
    ["de", "Jonas wohnt in Kiel.", "Jonas war letzte Woche in Bremen."],
    ["es", "Carlos vive en Sevilla.", "Carlos estuvo en Cádiz la semana pasada."],
  ])("but it is no change by itself (%s): %s %s", (language, older, newer) => {
    expect(judged(older, newer, language)).not.toBe("supersedes");
  });
});
