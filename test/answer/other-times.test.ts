// An answer in the words of passages is about the time that the question names.

import { describe, expect, test } from "bun:test";
import { withoutOtherTimes } from "../../src/answer/other-times.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { passage } from "./passages.ts";

interface Noted {
  readonly text: string;
  readonly day: string;
}

function note({ text, day }: Noted): RankedPassage {
  const plain = passage(text);
  return { ...plain, memory: { ...plain.memory, language: "en", occurredAt: Date.parse(day) } };
}

describe("for a question that names a time, an answer leaves out", () => {
  const LUNCHES: readonly Noted[] = [
    { text: "Lunch with Ben at Golden Wok.", day: "2026-09-14" },
    { text: "Lunch with Ben at Taco Loco.", day: "2026-10-20" },
    { text: "Ben is allergic to shellfish and nuts.", day: "2026-03-01" },
  ];
  const of = (from: string | null, to: string | null, text = "Where did I have lunch with Ben?") => {
    const at = (day: string | null) => (day === null ? null : Date.parse(day));
    return withoutOtherTimes({ text, language: "en" }, { from: at(from), to: at(to) }, LUNCHES.map(note)).map(
      ({ text }) => text,
    );
  };

  test("what is alike but of another time, and nothing else", () => {
    expect(of("2026-09-01", "2026-10-01")).toEqual([
      "Lunch with Ben at Golden Wok.",
      "Ben is allergic to shellfish and nuts.",
    ]);
    expect(of("2026-09-15", null)).toEqual(["Lunch with Ben at Taco Loco.", "Ben is allergic to shellfish and nuts."]);
  });

  test("nothing where nothing is of that time, or all is", () => {
    expect(of("2026-06-01", "2026-07-01")).toHaveLength(3);
    expect(of(null, "2026-12-01")).toHaveLength(3);
  });

  test("nothing for a question about the present, too, or about what has changed", () => {
    expect(of("2026-09-01", "2026-10-01", "Where did I have lunch with Ben in September, and where now?")).toHaveLength(
      3,
    );
    expect(of("2026-09-01", null, "What has changed since September?")).toHaveLength(3);
  });

  test("nothing at the edges of the time: its end is exclusive", () => {
    expect(of("2026-09-14", "2026-10-20")).toHaveLength(2);
    expect(of("2026-09-14", "2026-10-21")).toHaveLength(3);
  });
});
