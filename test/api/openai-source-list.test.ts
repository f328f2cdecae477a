// The list of sources behind an answer, and its removal from history.

import { describe, expect, test } from "bun:test";
import { sourceList, withoutSourceList } from "../../src/api/openai/source-list.ts";

const SOURCES = [
  { title: "Skarn", url: "/v1/memories/mem_1" },
  { title: "The height [2]", url: "https://skarn.test/a?b=c" },
];

describe("the list of sources", () => {
  test("has one numbered line for each source, in which no title looks like a citation", () => {
    expect(sourceList(SOURCES)).toBe("\n\n[1] Skarn: /v1/memories/mem_1\n[2] The height (2): https://skarn.test/a?b=c");
    expect(sourceList([])).toBe("");
  });

  test("is removed from an answer, and from nothing else", () => {
    for (const answer of ["It is red [1].", "One.\n\nTwo [2].", ""]) {
      expect(withoutSourceList(answer + sourceList(SOURCES))).toBe(answer);
      expect(withoutSourceList(answer)).toBe(answer);
    }
    for (const kept of ["See:\n\n[1] Skarn", "See:\n\n[1] Skarn: /v1/memories/mem_1\nand more text", "[1] a: /b"]) {
      expect(withoutSourceList(kept)).toBe(kept);
    }
  });

  test("is looked for in linear time", () => {
    for (const text of [`\n\n${"[1] a: b\n".repeat(50_000)}x`, `\n\n[1] ${"a: ".repeat(200_000)}\nx`]) {
      expect(withoutSourceList(text)).toBe(text);
    }
  });
});
