// What of a model's text is its answer. Some servers stream what a model thinks in the text itself, as `<think>…</think>` at its very
// beginning: that is left out, however the tags are cut by the parts in which they come. Characters that parts cut in two are put
// together again. A model whose opening tag stands in its prompt, so that only the closing one comes, cannot be told from one that
// does not think without holding all of its text back: its thoughts stay.

const OPENING = "<think>";
const CLOSING = "</think>";
/** White space at the beginning that is held back, in case a tag follows it. */
const HELD_CHARACTERS_MAX = 256;

/** Takes a text in parts, and gives the answer in parts. */
export class SpokenText {
  /** beginning: a tag may come. thinking: inside the tags. between: after them, before the answer. speaking: in the answer. */
  #place: "beginning" | "thinking" | "between" | "speaking" = "beginning";
  /** What may yet be a tag or part of one. */
  #held = "";
  /** The first half of a character whose second one is still to come. */
  #half = "";

  /** What this part adds to the answer. Never ends within a character; half a character alone becomes U+FFFD. */
  take(text: string): string {
    return this.#wholeCharacters(this.#spoken(text));
  }

  /** What was held back and is part of the answer, because nothing more comes. More may come all the same. */
  end(): string {
    const held = this.#place === "beginning" ? this.#held : "";
    const last = `${this.#half}${held}`.toWellFormed();
    this.#half = "";
    this.#held = "";
    return last;
  }

  #spoken(text: string): string {
    switch (this.#place) {
      case "beginning": {
        const all = this.#held + text;
        const said = all.trimStart();
        if (said.startsWith(OPENING)) {
          this.#held = "";
          this.#place = "thinking";
          return this.#spoken(said.slice(OPENING.length));
        }
        if (OPENING.startsWith(said) && all.length <= HELD_CHARACTERS_MAX) {
          this.#held = all;
          return "";
        }
        this.#held = "";
        this.#place = "speaking";
        return all;
      }
      case "thinking": {
        const all = this.#held + text;
        const end = all.indexOf(CLOSING);
        if (end === -1) {
          this.#held = all.slice(1 - CLOSING.length);
          return "";
        }
        this.#held = "";
        this.#place = "between";
        return this.#spoken(all.slice(end + CLOSING.length));
      }
      case "between": {
        const said = text.trimStart();
        if (said !== "") this.#place = "speaking";
        return said;
      }
      case "speaking":
        return text;
    }
  }

  #wholeCharacters(text: string): string {
    if (text === "") return "";
    const all = this.#half + text;
    const last = all.charCodeAt(all.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    this.#half = isHalf ? all.slice(-1) : "";
    return (isHalf ? all.slice(0, -1) : all).toWellFormed();
  }
}
