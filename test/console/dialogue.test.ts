// What the console shows of a stored list of messages.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "../support/sources.ts";

// tsc -p src/console/browser checks the modules of the browser, this project does not
const { dialogueOf } = (await import(join(ROOT, "src/console/browser/views/shared/dialogue.ts"))) as {
  readonly dialogueOf: (content: string) => string | null;
};

test("a list of messages is shown as a dialogue", () => {
  const messages = [
    { role: "user", content: "Where is the key?", created_at: "2026-01-01" },
    { name: "Ada", role: "assistant", text: "Under the pot.\nThe blue one." },
  ];
  expect(dialogueOf(`\n${JSON.stringify(messages)}`)).toBe(
    "user: Where is the key?\n\nAda: Under the pot.\nThe blue one.",
  );
});

test("any other text is shown as it is", () => {
  for (const text of [
    "",
    "[1] The first source",
    "[]",
    '[{"lamp": "red"}]',
    '[{"role": "user", "content": ["parts"]}]',
    "[1, 2]",
    "[null]",
    '{"role": "user", "content": "x"}',
    `[${" ".repeat(2_000_000)}]`,
  ]) {
    expect(dialogueOf(text)).toBeNull();
  }
});
