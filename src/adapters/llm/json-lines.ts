// Splits text that arrives in parts into lines of JSON. The time is linear in the length of a line, like that of
// event-lines.ts.

/** Incremental parser that returns complete lines. */
export class JsonLines {
  /** Parts of the current, unfinished line. */
  #line: string[] = [];
  #buffered = 0;

  /** Number of buffered characters of the unfinished line. */
  get bufferedCharacters(): number {
    return this.#buffered;
  }

  /** Parses the next part and returns the lines that it completes, in order. Empty lines are left out. */
  push(text: string): string[] {
    const [first = "", ...others] = text.split("\n");
    this.#append(first);
    const lines: string[] = [];
    for (const next of others) {
      lines.push(this.#take());
      this.#append(next);
    }
    return lines.filter((line) => line.trim() !== "");
  }

  /** Parses the end of the input. Returns a last line that lacks its line end. */
  end(): string[] {
    return [this.#take()].filter((line) => line.trim() !== "");
  }

  #append(part: string): void {
    this.#line.push(part);
    this.#buffered += part.length;
  }

  #take(): string {
    const line = this.#line.join("");
    this.#line = [];
    this.#buffered = 0;
    return line;
  }
}
