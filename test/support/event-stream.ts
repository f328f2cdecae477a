// Reads event streams event by event, strictly in the API's format: a name line, a data line with JSON, a blank line.
// Skips comments and refuses everything else, also events that the OpenAPI document does not describe.

import { expect } from "bun:test";
import { expectDocumentedEvent } from "./documented-answers.ts";
import { TEST_KEY, type TestService } from "./service.ts";

/** One event of a stream. */
export interface StreamedEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect data of any shape, and fail if it differs
  readonly data: any;
}

/** An event stream. */
export class EventReader {
  readonly #reader: ReturnType<typeof readerOf>;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #text = "";

  /** @throws Error if the response is not an event stream */
  constructor(readonly response: Response) {
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    this.#reader = readerOf(response);
  }

  /** The next event; null at the end of the stream. */
  async next(): Promise<StreamedEvent | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end !== -1) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        if (!block.startsWith(":")) return eventOf(block);
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (!done) this.#text += this.#decoder.decode(value, { stream: true });
      else if (this.#text === "") return null;
      else throw new Error(`the stream ended within an event: ${JSON.stringify(this.#text)}`);
    }
  }

  /** All remaining events. */
  async rest(): Promise<readonly StreamedEvent[]> {
    const events: StreamedEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event);
    return events;
  }

  /** Closes the connection before the end of the stream. */
  hangUp(): Promise<void> {
    return this.#reader.cancel();
  }
}

/** Sends a POST with the test key and reads the response as an event stream. */
export async function openStream(
  mneme: TestService,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const response = await mneme.service.handle(
    new Request(`http://mneme.test${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );
  return new EventReader(response);
}

/** Expects the events of a complete answer (texts, then sources, usage and done); returns their content. */
export function expectWholeAnswer(events: readonly StreamedEvent[]): {
  readonly answer: string;
  // biome-ignore lint/suspicious/noExplicitAny: see StreamedEvent
  readonly sources: any;
  // biome-ignore lint/suspicious/noExplicitAny: see StreamedEvent
  readonly usage: any;
  readonly answer_state: string;
  /** Only of queries. */
  readonly evidence?: number | null;
} {
  const texts = events.slice(0, -3);
  expect(events.slice(-3).map(({ name }) => name)).toEqual(["sources", "usage", "done"]);
  expect(texts.length).toBeGreaterThan(0);
  for (const { name, data } of texts) {
    expect([name, Object.keys(data)]).toEqual(["text", ["content"]]);
    expect(data.content).not.toBe("");
  }
  const [sources, usage, done] = events.slice(-3);
  expect(done?.data).toEqual({});
  return {
    answer: texts.map(({ data }) => data.content).join(""),
    sources: sources?.data,
    ...streamedUsage(usage?.data),
  };
}

// the usage event has the state, and that of a query the evidence, too
function streamedUsage({ answer_state, evidence, ...usage }: StreamedEvent["data"]) {
  return { answer_state, usage, ...(evidence !== undefined && { evidence }) };
}

function readerOf({ body }: Response) {
  if (body === null) throw new Error("an event stream has a body");
  return body.getReader();
}

function eventOf(block: string): StreamedEvent {
  const found = /^event: ([a-z]+)\ndata: ([^\r\n]+)$/.exec(block);
  if (found === null) throw new Error(`not an event in the API's format: ${JSON.stringify(block)}`);
  const event = { name: found[1] ?? "", data: JSON.parse(found[2] ?? "") };
  expectDocumentedEvent(event);
  return event;
}
