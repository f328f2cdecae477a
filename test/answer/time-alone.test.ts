// Which questions ask for a time alone, in many languages, and how what is stored of it is told.

import { describe, expect, test } from "bun:test";
import { collectAnswer } from "../../src/answer/events.ts";
import { spansMeant, tellingOf, timeAlone, timelineAnswer, timelineOf } from "../../src/answer/time-alone.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { passage } from "./passages.ts";

const DAY = 24 * 3_600_000;
const SPAN = { from: 10 * DAY, to: 11 * DAY };
const asks = (question: string, expression: string) => timeAlone(question, { ...SPAN, expression });

describe("a time alone is asked for", () => {
  test.each([
    ["What did I do last week?", "last week"],
    ["What happened in March?", "in March"],
    ["What are my plans for tomorrow?", "tomorrow"],
    ["last week", "last week"],
    ["Was habe ich letzte Woche gemacht?", "letzte Woche"],
    ["Qu’est-ce que j’ai fait hier ?", "hier"],
    ["¿Qué hice ayer?", "ayer"],
    ["Cosa ho fatto ieri?", "ieri"],
    ["O que aconteceu em novembro?", "em novembro"],
    ["Wat heb ik gisteren gedaan?", "gisteren"],
    ["Co robiłam wczoraj?", "wczoraj"],
    ["Что я делал вчера?", "вчера"],
    ["11月1日に何がありましたか？", "11月1日"],
    ["我昨天做了什么？", "昨天"],
    ["어제 뭐 했어?", "어제"],
  ])("%s", (question, expression) => expect(asks(question, expression)).toEqual(SPAN));
});

describe("something else is asked for", () => {
  test.each([
    ["What did I buy last week?", "last week"],
    ["Where was I last week?", "last week"],
    ["When is Easter?", "Easter"],
    ["What is the weather today?", "today"],
    ["What did Ben say yesterday?", "yesterday"],
    ["How much did I pay in May?", "in May"],
    ["Wo war ich gestern?", "gestern"],
    ["¿Qué comí ayer?", "ayer"],
    ["我昨天吃了什么？", "昨天"],
  ])("%s", (question, expression) => expect(asks(question, expression)).toBeNull());

  test("no time, or one without a beginning or an end", () => {
    expect(timeAlone("What did I do?", null)).toBeNull();
    expect(timeAlone("What did I do since May?", { from: 1, to: null, expression: "since May" })).toBeNull();
  });
});

test("a day without a year that was long ago may be that of the next year", () => {
  const asked = { from: Date.UTC(2025, 11, 4), to: Date.UTC(2025, 11, 5) };
  const next = { from: Date.UTC(2026, 11, 4), to: Date.UTC(2026, 11, 5) };
  const meant = (expression: string, asOf: number) => spansMeant(asked, { ...asked, expression }, asOf);
  expect(meant("4 December", Date.UTC(2026, 10, 30))).toEqual([asked, next]);
  expect(meant("4 December", Date.UTC(2026, 0, 30))).toEqual([asked]);
  expect(meant("4 December 2025", Date.UTC(2026, 10, 30))).toEqual([asked]);
  expect(meant("a year ago", Date.UTC(2026, 10, 30))).toEqual([asked]);
});

function noted(text: string, occurredAt: number | null, changes: Partial<RankedPassage> = {}): RankedPassage {
  const made = passage(text);
  const occurredAtGiven = occurredAt === null ? null : new Date(occurredAt).toISOString();
  return { ...made, ...changes, memory: { ...made.memory, createdAt: 10 * DAY, occurredAt, occurredAtGiven } };
}

test("notes are told in the order in which they happened, once each, and documents are not", async () => {
  const [late, early] = [noted("Fed the cat.", 10 * DAY + 5), noted("Sowed beans.", 10 * DAY)];
  const long = noted("Chapter one. ".repeat(50), 10 * DAY);
  const timeline = timelineOf([late, long, early, late], 8);
  expect(timeline).toEqual([early, late]);
  expect(timelineOf([late, long, early], 1)).toEqual([late]);
  async function* events() {
    yield* timelineAnswer(timeline);
  }
  const { answer, state, sources } = await collectAnswer(events());
  expect(answer).toBe("(1970-01-11) Sowed beans. [1] (1970-01-11) Fed the cat. [2]");
  expect([state, sources.map(({ isCited }) => isCited)]).toEqual(["answered", [true, true]]);
});

test("a note that was only stored at the time does not tell of it, unless its text does", () => {
  const time = { rank: 1, score: 1 };
  const stored = noted("The gate code is 4471.", null, { signals: { time } });
  const happened = noted("Fed the cat.", 10 * DAY, { signals: { time } });
  const other = noted("Fed the dog.", 9 * DAY, { signals: { time: { rank: 2, score: 0.5 } } });
  expect(tellingOf(SPAN, [stored, happened, other])).toEqual([happened]);
  expect(tellingOf({ from: 0, to: DAY }, [stored])).toEqual([stored]);
});
