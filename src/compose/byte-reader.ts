// Reads lines and blocks of bytes from a stream that mixes both.

const LINE_END = 10;

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Reads a stream from its beginning to its end. */
export class ByteReader {
  readonly #reader: Reader | null;
  /** Bytes that were received but not taken. */
  #pieces: Uint8Array[] = [];

  constructor(body: ReadableStream<Uint8Array> | null) {
    this.#reader = body?.getReader() ?? null;
  }

  /** The next line without its line end; null if the stream ends before the line does. */
  async line(): Promise<string | null> {
    const taken: Uint8Array[] = [];
    for (;;) {
      const piece = await this.#next();
      if (piece === null) return null;
      const end = piece.indexOf(LINE_END);
      if (end === -1) {
        taken.push(piece);
        continue;
      }
      taken.push(piece.subarray(0, end));
      if (end + 1 < piece.length) this.#pieces.unshift(piece.subarray(end + 1));
      return Buffer.concat(taken).toString();
    }
  }

  /** The next `count` bytes. @throws Error if the stream ends before */
  async take(count: number): Promise<Uint8Array> {
    const taken = new Uint8Array(count);
    for (let at = 0; at < count; ) {
      const piece = await this.#next();
      if (piece === null) throw new Error("The server stopped in the middle of an answer; try again.");
      const used = piece.subarray(0, count - at);
      taken.set(used, at);
      at += used.length;
      if (used.length < piece.length) this.#pieces.unshift(piece.subarray(used.length));
    }
    return taken;
  }

  /** Gives up the rest of the stream. */
  async cancel(): Promise<void> {
    await this.#reader?.cancel();
  }

  async #next(): Promise<Uint8Array | null> {
    const held = this.#pieces.shift();
    if (held !== undefined) return held;
    for (;;) {
      const next = await this.#reader?.read();
      if (next?.value === undefined || next.done) return null;
      if (next.value.length > 0) return next.value;
    }
  }
}
