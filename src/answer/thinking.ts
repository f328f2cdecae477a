// What a model thinks aloud before it answers is no part of its answer. Some endpoints leave it in the text, between `<think>` marks.

const OPENING = "<think>";
const CLOSING = "</think>";

/** Leaves out one block of thoughts at the beginning of a text that comes in fragments; everything else goes through at once. */
export class Thinking {
  #held = "";
  #state: "beginning" | "thinking" | "answering" = "beginning";

  /** Takes a fragment; returns what of it is no thought. */
  take(fragment: string): string {
    if (this.#state === "answering") return fragment;
    this.#held += fragment;
    if (this.#state === "beginning") {
      const begun = this.#held.trimStart();
      if (OPENING.startsWith(begun)) return "";
      if (!begun.startsWith(OPENING)) return this.#answer(this.#held);
      this.#state = "thinking";
      this.#held = begun.slice(OPENING.length);
    }
    const end = this.#held.indexOf(CLOSING);
    if (end >= 0) return this.#answer(this.#held.slice(end + CLOSING.length));
    // all that may be needed again is the beginning of the closing mark
    this.#held = this.#held.slice(1 - CLOSING.length);
    return "";
  }

  /** No more comes; returns the rest. Thoughts without an end leave none. */
  end(): string {
    return this.#state === "beginning" ? this.#answer(this.#held) : "";
  }

  #answer(text: string): string {
    this.#state = "answering";
    this.#held = "";
    return text;
  }
}

/** The text without a block of thoughts at its beginning. */
export function withoutThinking(text: string): string {
  const thinking = new Thinking();
  return thinking.take(text) + thinking.end();
}
