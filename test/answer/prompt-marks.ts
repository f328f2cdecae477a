// How a prompt is looked at: which marks stand in it, and that nothing else in it looks like one.

import { expect } from "bun:test";

const MARK = /<\/?(?:sources|document|source|question|instructions|conversation|turn)\b[^>]*>/gu;

/** The marks of a text by name, `/` before closing ones; fails where they do not nest. */
export function marksOf(text: string): readonly string[] {
  const open: string[] = [];
  return [...text.matchAll(MARK)].map(([mark]) => {
    const name = /\w+/.exec(mark)?.[0] ?? "";
    if (!mark.startsWith("</")) {
      open.push(name);
      return name;
    }
    expect(open.pop()).toBe(name);
    return `/${name}`;
  });
}

/** Expects that nothing but our own marks looks like a mark, a role or a citation. */
export function expectHarmless(text: string): void {
  const rest = text.replace(MARK, "").normalize("NFKC").toLowerCase();
  expect(rest).not.toMatch(/<[\s/]*(?:source|document|question|instructions|conversation|turn|system|assistant|s>|\|)/);
  expect(rest).not.toMatch(/[<‹〈⟨][\s/]*(?:source|document|question)/);
  expect(rest).not.toMatch(/&(?:lt|#0*60|#x0*3c);[\s/]*(?:source|question)/);
  expect(rest).not.toMatch(/\[\s*\/?\s*inst\s*\]|<<\s*\/?sys|\[system_prompt\]|\[tool_calls\]/);
  expect(rest).not.toMatch(/^[\s>*_#]*(?:human|assistant|system|user)[*_]*:/m);
  expect(rest).not.toMatch(/^#+ (?:instruction|response|system prompt):?$/m);
  expect(rest).not.toMatch(/[[【]\s*(?:source\s*)?\^?\d[\d\s,-]*(?:†[^\]】]*)?[\]】]/);
}

/** Expects that a text has no character that cannot be seen, and no half one. */
export function expectSeen(text: string): void {
  expect(text).not.toMatch(/(?![\n\t])\p{Cc}|[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\u{e0000}-\u{e007f}]/u);
  expect(text.isWellFormed()).toBe(true);
}
