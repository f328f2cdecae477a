// Reads a `text/event-stream` (WHATWG HTML, "Server-sent events") as events.

/** One event as it was sent. */
export interface SentEvent {
  /** Empty if the event has no name. */
  readonly name: string;
  readonly data: string;
}

/** A stream that is not in the format, went silent, or broke off. */
export class BrokenStream extends Error {}

/** Longest event in UTF-16 code units; the sources of an answer take a hundredth of it. */
const EVENT_UNITS_MAX = 16 * 1024 * 1024;

/**
 * Reads events until the stream ends. Comments are skipped.
 * @param silenceMsMax longest time without a byte; the server sends a comment every 5 s
 * @throws BrokenStream if it is not in the format or goes silent; the error of `body` if the connection breaks
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMsMax: number,
): AsyncGenerator<SentEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let hasEnded = false;
  try {
    while (!hasEnded) {
      const { done, value } = await withinTime(reader.read(), silenceMsMax);
      hasEnded = done;
      text += decodedText(decoder, value);
      // A CR at the end may be the first half of a line break.
      const usable = text.endsWith("\r") && !done ? text.length - 1 : text.length;
      const blocks = text.slice(0, usable).split(/\r\n\r\n|\n\n|\r\r/);
      const rest = (blocks.pop() ?? "") + text.slice(usable);
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) yield event;
      }
      text = rest;
      if (text.length > EVENT_UNITS_MAX) throw new BrokenStream("an event is too long");
    }
  } finally {
    // The reader may have failed already; then there is nothing left to cancel.
    reader.cancel().catch((error: unknown) => error);
  }
}

function decodedText(decoder: TextDecoder, value: Uint8Array | undefined): string {
  try {
    return decoder.decode(value, { stream: value !== undefined });
  } catch (error) {
    throw new BrokenStream("it is not UTF-8", { cause: error });
  }
}

async function withinTime<T>(work: Promise<T>, msMax: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BrokenStream(`nothing arrived for ${msMax / 1_000} s`)), msMax);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function eventOf(block: string): SentEvent | null {
  let name = "";
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { name, data: data.join("\n") };
}
