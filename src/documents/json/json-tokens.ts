// Which tokens a JSON text has (RFC 8259), one after the other: values are cut out as they are written, so that no number changes, no
// key is lost, and no depth overflows. What is made of them is json-text.ts's question.

/** What takes the tokens of a JSON text, each with the place where it begins or, for an end, ends. */
export interface JsonSink {
  open(kind: "object" | "array", at: number): void;
  /** Of the value that follows; decoded. */
  key(name: string): void;
  /** A string decoded, any other value as it is written. */
  scalar(text: string, isString: boolean): void;
  close(end: number): void;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const LITERALS = ["true", "false", "null"] as const;

/** What a text was that is no JSON. */
class NoJson extends Error {
  override readonly name = "NoJson";
}

/**
 * Hands the tokens of the value at `from` to the sink. In time linear in its length and memory in its depth.
 * @returns where the value ends; null: there is no valid one, and what the sink took is to be forgotten
 */
export function readJson(text: string, from: number, sink: JsonSink): number | null {
  try {
    return new Tokens(text, from, sink).value();
  } catch (error) {
    if (error instanceof NoJson) return null;
    throw error;
  }
}

/** Where the next character stands that is no white space; the text's length without one. */
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
    // how what is open has to be closed
    const closing: number[] = [];
    do {
      this.#valueStart(closing);
      this.#closeAll(closing);
    } while (closing.length > 0);
    return this.#at;
  }

  /** Opens objects and arrays up to a scalar or an empty one. */
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

  /** Closes what ends here; ends before the next value, or behind the last one. */
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
        throw new NoJson();
      }
    }
  }

  #key(): void {
    if (this.#next() !== QUOTE) throw new NoJson();
    this.sink.key(this.#string());
    if (this.#next() !== COLON) throw new NoJson();
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
    if (number === undefined) throw new NoJson();
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
    throw new NoJson();
  }

  #next(): number {
    this.#at = skipBlanks(this.text, this.#at);
    return this.text.charCodeAt(this.#at);
  }
}

/** A string with its quotes, decoded; what cannot be stored (NUL, a half of a pair) is left out or replaced. */
function unescaped(written: string): string {
  try {
    return String(JSON.parse(written)).replaceAll("\0", "").toWellFormed();
  } catch (cause) {
    throw new NoJson("a string with an unknown escape", { cause });
  }
}
