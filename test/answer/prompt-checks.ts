// Checks of a prompt: which elements it has, and that no other text looks like an element.

import { expect } from "bun:test";

const TAG = /<\/?(?:sources|document|source|question|instructions|conversation|turn)\b[^>]*>/gu;

/** Names of the tags in a text; those of closing tags begin with `/`. Fails if the tags are not properly nested. */
export function tagsOf(text: string): readonly string[] {
  const open: string[] = [];
  return [...text.matchAll(TAG)].map(([mark]) => {
    const name = /\w+/.exec(mark)?.[0] ?? "";
    if (!mark.startsWith("</")) {
      open.push(name);
      return name;
    }
    expect(open.pop()).toBe(name);
    return `/${name}`;
  });
}

/** Expects that nothing except our own tags looks like a tag, a role or a citation. */
export function expectNeutralised(text: string): void {
  const rest = text.replace(TAG, "").normalize("NFKC").toLowerCase();
  expect(rest).not.toMatch(/<[\s/]*(?:source|document|question|instructions|conversation|turn|system|assistant|s>|\|)/);
  expect(rest).not.toMatch(/[<‹〈⟨][\s/]*(?:source|document|question)/);
  expect(rest).not.toMatch(/&(?:lt|#0*60|#x0*3c);[\s/]*(?:source|question)/);
  expect(rest).not.toMatch(/\[\s*\/?\s*inst\s*\]|<<\s*\/?sys|\[system_prompt\]|\[tool_calls\]/);
  expect(rest).not.toMatch(/^[\s>*_#]*(?:human|assistant|system|user)[*_]*:/m);
  expect(rest).not.toMatch(/^#+ (?:instruction|response|system prompt):?$/m);
  expect(rest).not.toMatch(/[[【]\s*(?:source\s*)?\^?\d[\d\s,-]*(?:†[^\]】]*)?[\]】]/);
}

/** Expects that a text has no invisible characters and no unpaired surrogates. */
export function expectVisible(text: string): void {
  expect(text).not.toMatch(/(?![\n\t])\p{Cc}|[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\u{e0000}-\u{e007f}]/u);
  expect(text.isWellFormed()).toBe(true);
}
