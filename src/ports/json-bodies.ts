// Checks JSON bodies on their bytes, before any of them is parsed, and parses large ones without holding up the thread
// that answers requests. Implemented by adapters/native.
//
// Obligations of an implementation:
// - `add` and `exceeded` take time in proportion to their bytes only, whatever the bytes mean. Depth, values and
//   members of valid JSON are counted exactly; of anything else, the counts are an estimate.
// - A limit is applied before a byte past it is parsed.
// - `parse` gives the value that JSON.parse gives, and lets other work run at least every few milliseconds.
// - An implementation chooses which texts `parse` sets apart as `LongText`, but only from those of more than 64 KiB.

/** Limits of a JSON text. */
export interface JsonLimits {
  /** Maximum nesting depth of objects and arrays. */
  readonly depth: number;
  /** Maximum number of values, containers included. */
  readonly values: number;
  /** Maximum number of values of a part. */
  readonly partValues: number;
  /** Maximum number of members of all objects of a part. */
  readonly partMembers: number;
  /**
   * If true, each item of an array in the outermost object is a part, such as each memory of a batch. If false, the
   * whole text is the only part.
   */
  readonly areItemsParts: boolean;
}

/** The limit that a text exceeds. */
export type JsonLimit = Exclude<keyof JsonLimits, "areItemsParts">;

/** A step from a container to one of its values: the name of a member, or the position of an item. */
export type JsonStep = string | number;

/** Why a text is refused. */
type JsonFlaw =
  /** It is not JSON, or not UTF-8. */
  | "syntax"
  /** A text contains NUL. */
  | "nul"
  /** A text contains a lone surrogate. */
  | "surrogate"
  /** A number is outside of the range of a double. */
  | "number"
  /** An item of an array in the outermost object, or the rest of the body, has over 1 MiB besides texts over 64 KiB. */
  | "longPart"
  /** A text over 64 KiB has a name of over 1,024 bytes in its path. */
  | "longName";

/** A text that is not JSON or contains a value that cannot be stored. The message says what was expected where. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";

  /** @param path of the value; empty for a flaw of the whole text */
  constructor(
    readonly flaw: JsonFlaw,
    message: string,
    readonly path: readonly JsonStep[] = [],
  ) {
    super(message);
  }
}

/**
 * A long text of a body that was not made a string, because every use of such a string takes as long as reading it. It
 * stands in the value in place of the string.
 */
export abstract class LongText {
  /**
   * @param placeholder stands for the text in JSON; begins with NUL, which no other text of the body contains
   * @param bytes length in UTF-8 bytes
   * @param sha256 SHA-256 of its UTF-8
   */
  constructor(
    private readonly placeholder: string,
    readonly bytes: number,
    readonly sha256: Uint8Array,
  ) {}

  /** Its UTF-8 in pieces of at most 256 KiB. A piece is valid until the next one is taken. */
  abstract pieces(): Iterable<Uint8Array>;
  /** The text as JSON without the quotes, in pieces like those of `pieces`. */
  abstract jsonPieces(): Iterable<Uint8Array>;

  /** Its placeholder. Whoever sends JSON with the text replaces the placeholder with `jsonPieces`. */
  toJSON(): string {
    return this.placeholder;
  }
}

/** A parsed body. */
export interface ParsedJson {
  readonly value: unknown;
  /** The long texts in the value. */
  readonly longTexts: readonly LongText[];
  /** Frees the long texts, which cannot be read any more. */
  readonly release: () => void;
}

/** A large body that is arriving. */
export interface ArrivingJson {
  /** Adds the next bytes. Returns the limit that they exceed; null if there is none. */
  add(bytes: Uint8Array): JsonLimit | null;
  /**
   * Parses the complete body. Call it once.
   * @param isSetApart whether a long text with this path is set apart. A text of white space never is.
   * @throws JsonRefused
   */
  parse(isSetApart: (path: readonly JsonStep[]) => boolean): Promise<ParsedJson>;
  /** Frees a body that will not be parsed. */
  release(): void;
}

/** Checks and parses bodies. */
export interface JsonBodies {
  /** Returns the limit that a complete text exceeds; null if there is none. */
  exceeded(bytes: Uint8Array, limits: JsonLimits): JsonLimit | null;
  /** Begins a large body. */
  begin(limits: JsonLimits): ArrivingJson;
}
