// The data of Server-Sent Events, out of text that comes in parts (html.spec.whatwg.org, 9.2.6). Written here because a line
// must cost what it is long: the common parsers join and search what they hold anew with every part, so that a hostile endpoint
// which sends a line of megabytes in tiny parts would hold the event loop for minutes.

/** Collects lines to events. */
export class EventLines {
  /** The parts of the line that has not ended. */
  #line: string[] = [];
  #data: string[] = [];
  #endsWithReturn = false;
  #held = 0;

  /** Characters of an event that has not ended. */
  get held(): number {
    return this.#held;
  }

  /** The data of the events that this part ends, in order. Fields other than `data`, and comments, are passed over. */
  take(text: string): string[] {
    const events: string[] = [];
    let from = this.#endsWithReturn && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endsWithReturn = text.endsWith("\r");
    const lineEnd = /\r\n|\n|\r/g;
    lineEnd.lastIndex = from;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      this.#push(text.slice(from, end.index));
      this.#endLine(events);
      from = lineEnd.lastIndex;
    }
    if (from < text.length) this.#push(text.slice(from));
    return events;
  }

  /** The data of an event that no blank line ended before the answer did. */
  end(): string[] {
    const events: string[] = [];
    this.#endLine(events);
    this.#endLine(events);
    return events;
  }

  #push(part: string): void {
    this.#line.push(part);
    this.#held += part.length;
  }

  #endLine(events: string[]): void {
    const line = this.#line.join("");
    this.#line = [];
    if (line.startsWith("data:")) this.#data.push(line.slice(line.startsWith(" ", 5) ? 6 : 5));
    else this.#held -= line.length;
    if (line !== "" || this.#data.length === 0) return;
    events.push(this.#data.join("\n"));
    this.#data = [];
    this.#held = 0;
  }
}
