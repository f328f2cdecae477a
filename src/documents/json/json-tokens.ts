// Parses JSON (RFC 8259) into tokens. Unlike JSON.parse it keeps numbers as they are written, keeps duplicate keys and
// does not recurse, so that deep nesting cannot overflow the stack.

/** Receives the tokens of a JSON text. Offsets are in UTF-16 code units. */
export interface JsonSink {
  open(kind: "object" | "array", at: number): void;
  /** The decoded key of the value that follows. */
  key(name: string): void;
  /** A decoded string, or any other value as it is written in the file. */
  scalar(text: string, isString: boolean): void;
  close(end: number): void;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const LITERALS = ["true", "false", "null"] as const;

/** Thrown when the text is invalid JSON. */
class InvalidJson extends Error {
  override readonly name = "InvalidJson";
}

/**
 * Passes the tokens of the value at `from` to the sink. Takes linear time, and memory that is linear in the depth of
 * nesting.
 * @returns the end of the value; null if the value is invalid: then the caller must discard everything that the sink
 *   received
 */
export function readJson(text: string, from: number, sink: JsonSink): number | null {
  try {
    return new Tokens(text, from, sink).value();
  } catch (error) {
    if (error instanceof InvalidJson) return null;
    throw error;
  }
}

/** Position of the next character that is not white space; the length of the text if there is none. */
export function skipBlanks(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return at;
  }
  return text.length;
}

class Tokens {
  #at: number;

  constructor(
    private readonly text: string,
    from: number,
    private readonly sink: JsonSink,
  ) {
    this.#at = from;
  }

  value(): number {
    // closing brackets of the open objects and arrays, innermost last
    const closing: number[] = [];
    do {
      this.#valueStart(closing);
      this.#closeAll(closing);
    } while (closing.length > 0);
    return this.#at;
  }

  /** Reads opening brackets and keys up to the next scalar, empty object or empty array. */
  #valueStart(closing: number[]): void {
    for (;;) {
      const unit = this.#next();
      const isObject = unit === OPEN_OBJECT;
      if (!isObject && unit !== OPEN_ARRAY) {
        this.#scalar(unit);
        return;
      }
      this.sink.open(isObject ? "object" : "array", this.#at++);
      closing.push(isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
      if (this.#next() === closing.at(-1)) return;
      if (isObject) this.#key();
    }
  }

  /** Reads closing brackets. Stops before the next value, or after the last closing bracket. */
  #closeAll(closing: number[]): void {
    for (let expected = closing.at(-1); expected !== undefined; expected = closing.at(-1)) {
      const unit = this.#next();
      if (unit === expected) {
        this.#at++;
        closing.pop();
        this.sink.close(this.#at);
      } else if (unit === COMMA) {
        this.#at++;
        if (expected === CLOSE_OBJECT) this.#key();
        return;
      } else {
        throw new InvalidJson();
      }
    }
  }

  #key(): void {
    if (this.#next() !== QUOTE) throw new InvalidJson();
    this.sink.key(this.#string());
    if (this.#next() !== COLON) throw new InvalidJson();
    this.#at++;
  }

  #scalar(unit: number): void {
    if (unit === QUOTE) {
      this.sink.scalar(this.#string(), true);
      return;
    }
    const literal = LITERALS.find((each) => this.text.startsWith(each, this.#at));
    const written = literal ?? this.#number();
    this.#at += written.length;
    this.sink.scalar(written, false);
  }

  #number(): string {
    NUMBER.lastIndex = this.#at;
    const number = NUMBER.exec(this.text)?.[0];
    if (number === undefined) throw new InvalidJson();
    return number;
  }

  #string(): string {
    const start = this.#at;
    let hasEscapes = false;
    for (let at = start + 1; at < this.text.length; at++) {
      const unit = this.text.charCodeAt(at);
      if (unit === QUOTE) {
        this.#at = at + 1;
        return hasEscapes ? unescaped(this.text.slice(start, at + 1)) : this.text.slice(start + 1, at);
      }
      if (unit < 0x20) break;
      if (unit === BACKSLASH) {
        hasEscapes = true;
        at++;
      }
    }
    throw new InvalidJson();
  }

  #next(): number {
    this.#at = skipBlanks(this.text, this.#at);
    return this.text.charCodeAt(this.#at);
  }
}

/** Decodes a string with its quotes. Removes NUL and replaces lone surrogates, which cannot be stored. */
function unescaped(written: string): string {
  try {
    return String(JSON.parse(written)).replaceAll("\0", "").toWellFormed();
  } catch (cause) {
    throw new InvalidJson("a string with an unknown escape", { cause });
  }
}
