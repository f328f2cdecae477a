// Separates a model's answer from its reasoning. Some servers stream the reasoning inside the text, as
// `<think>…</think>` at its very beginning: it is removed, even if a tag is split between two parts of the text.
// Characters that are split between two parts are joined. If a model's prompt contains the opening tag, only the
// closing tag arrives. This case is not handled, and the reasoning stays in the answer: to recognise it, the whole text
// would have to be held back.

import { isHighSurrogate } from "../../kit/surrogates.ts";

const OPENING = "<think>";
const CLOSING = "</think>";
/**
 * Maximum number of characters at the beginning (white space, part of a tag) that are held back because a tag may
 * follow.
 */
const HELD_CHARACTERS_MAX = 256;

/** Receives a text in parts, and returns the answer in parts. */
export class AnswerText {
  /**
   * start: a tag may follow. reasoning: inside the tags. between: after them, before the answer. answer: in the answer.
   */
  #state: "start" | "reasoning" | "between" | "answer" = "start";
  /** Text that may still turn out to be a tag or part of one. */
  #held = "";
  /** First half of a surrogate pair whose second half has not arrived. */
  #half = "";

  /**
   * Returns the part of the answer that `text` adds. It never ends within a character; a lone surrogate becomes U+FFFD.
   */
  push(text: string): string {
    return this.#wholeCharacters(this.#withoutReasoning(text));
  }

  /** Returns the text that is held back and belongs to the answer. `push` may still be called afterwards. */
  end(): string {
    const held = this.#state === "start" ? this.#held : "";
    const last = `${this.#half}${held}`.toWellFormed();
    this.#half = "";
    this.#held = "";
    return last;
  }

  #withoutReasoning(text: string): string {
    switch (this.#state) {
      case "start": {
        const all = this.#held + text;
        const trimmed = all.trimStart();
        if (trimmed.startsWith(OPENING)) {
          this.#held = "";
          this.#state = "reasoning";
          return this.#withoutReasoning(trimmed.slice(OPENING.length));
        }
        if (OPENING.startsWith(trimmed) && all.length <= HELD_CHARACTERS_MAX) {
          this.#held = all;
          return "";
        }
        this.#held = "";
        this.#state = "answer";
        return all;
      }
      case "reasoning": {
        const all = this.#held + text;
        const end = all.indexOf(CLOSING);
        if (end === -1) {
          this.#held = all.slice(1 - CLOSING.length);
          return "";
        }
        this.#held = "";
        this.#state = "between";
        return this.#withoutReasoning(all.slice(end + CLOSING.length));
      }
      case "between": {
        const trimmed = text.trimStart();
        if (trimmed !== "") this.#state = "answer";
        return trimmed;
      }
      case "answer":
        return text;
    }
  }

  #wholeCharacters(text: string): string {
    if (text === "") return "";
    const all = this.#half + text;
    const last = all.charCodeAt(all.length - 1);
    const isHalf = isHighSurrogate(last);
    this.#half = isHalf ? all.slice(-1) : "";
    return (isHalf ? all.slice(0, -1) : all).toWellFormed();
  }
}
