// Parses Server-Sent Events from text that arrives in parts (html.spec.whatwg.org, 9.2.6). Mneme has its own parser
// because the time to parse a line must be linear in its length. Common parsers join and search the buffered text again
// with every part. With them, a hostile endpoint that sends a line of megabytes in tiny parts could block the event
// loop for minutes.

/** Incremental parser that returns the data of complete events. */
export class EventLines {
  /** Parts of the current, unfinished line. */
  #line: string[] = [];
  #data: string[] = [];
  #endsWithReturn = false;
  #buffered = 0;

  /** Number of buffered characters of the unfinished event. */
  get bufferedCharacters(): number {
    return this.#buffered;
  }

  /**
   * Parses the next part and returns the data of the events that it completes, in order. Comments and other fields are
   * ignored.
   */
  push(text: string): string[] {
    const events: string[] = [];
    let from = this.#endsWithReturn && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endsWithReturn = text.endsWith("\r");
    const lineEnd = /\r\n|\n|\r/g;
    lineEnd.lastIndex = from;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      this.#append(text.slice(from, end.index));
      this.#endLine(events);
      from = lineEnd.lastIndex;
    }
    if (from < text.length) this.#append(text.slice(from));
    return events;
  }

  /** Parses the end of the input. Returns the data of a last event that lacks its blank line. */
  end(): string[] {
    const events: string[] = [];
    this.#endLine(events);
    this.#endLine(events);
    return events;
  }

  #append(part: string): void {
    this.#line.push(part);
    this.#buffered += part.length;
  }

  #endLine(events: string[]): void {
    const line = this.#line.join("");
    this.#line = [];
    if (line.startsWith("data:")) this.#data.push(line.slice(line.startsWith(" ", 5) ? 6 : 5));
    else this.#buffered -= line.length;
    if (line !== "" || this.#data.length === 0) return;
    events.push(this.#data.join("\n"));
    this.#data = [];
    this.#buffered = 0;
  }
}
