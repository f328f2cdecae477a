// JsonBodies that counts one character after the other, and parses with JSON.parse on the calling thread.

import { createHash } from "node:crypto";
import {
  type ArrivingJson,
  type JsonBodies,
  type JsonLimit,
  type JsonLimits,
  JsonRefused,
  type JsonStep,
  LongText,
  type ParsedJson,
} from "../../src/ports/json-bodies.ts";

/** The bodies. */
export const inMemoryJsonBodies: JsonBodies = {
  exceeded: (bytes, limits) => new Counter(limits).add(bytes),
  begin: (limits) => new ArrivingBody(limits),
};

class ArrivingBody implements ArrivingJson {
  readonly #counter: Counter;
  readonly #pieces: Uint8Array[] = [];

  constructor(limits: JsonLimits) {
    this.#counter = new Counter(limits);
  }

  add(bytes: Uint8Array): JsonLimit | null {
    this.#pieces.push(bytes.slice());
    return this.#counter.add(bytes);
  }

  async parse(isSetApart: (path: readonly JsonStep[]) => boolean): Promise<ParsedJson> {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(this.#pieces)));
    } catch (cause) {
      throw new JsonRefused("syntax", String(cause));
    }
    refuseUnstorable(value, []);
    const longTexts: LongText[] = [];
    const root = { value };
    setApart(root, [], isSetApart, longTexts);
    return { value: root.value, longTexts, release: () => undefined };
  }

  release(): void {
    this.#pieces.length = 0;
  }
}

/** Sets the long texts in the members of a container apart. @param path of the container, after the root */
function setApart(
  container: object,
  path: readonly JsonStep[],
  isSetApart: (path: readonly JsonStep[]) => boolean,
  longTexts: LongText[],
): void {
  for (const [name, inner] of Object.entries(container)) {
    const at = [...path, Array.isArray(container) ? Number(name) : name];
    if (typeof inner === "object" && inner !== null) setApart(inner, at, isSetApart, longTexts);
    const isLong = typeof inner === "string" && Buffer.byteLength(JSON.stringify(inner)) > LONG_JSON_BYTES;
    if (!isLong || inner.trim() === "" || !isSetApart(at.slice(1))) continue;
    const text = new TextInMemory(`\0text ${longTexts.length}`, inner);
    longTexts.push(text);
    Object.assign(container, { [name]: text });
  }
}

class TextInMemory extends LongText {
  constructor(
    placeholder: string,
    private readonly text: string,
  ) {
    super(placeholder, Buffer.byteLength(text), createHash("sha256").update(text).digest());
  }

  pieces(): Iterable<Uint8Array> {
    return [Buffer.from(this.text)];
  }

  jsonPieces(): Iterable<Uint8Array> {
    return [Buffer.from(JSON.stringify(this.text).slice(1, -1))];
  }
}

/** Texts with a longer JSON are long. */
const LONG_JSON_BYTES = 64 * 1024 + 2;

function refuseUnstorable(value: unknown, path: readonly JsonStep[]): void {
  if (typeof value === "number" && !Number.isFinite(value)) throw new JsonRefused("number", "number", path);
  if (typeof value === "string" && value.includes("\0")) throw new JsonRefused("nul", "nul", path);
  if (typeof value === "string" && !value.isWellFormed()) throw new JsonRefused("surrogate", "surrogate", path);
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    if (!Array.isArray(value)) refuseUnstorable(name, at);
    refuseUnstorable(inner, at);
  }
}

/** Counts values, members and depth as they are read. */
class Counter {
  #state: "between" | "scalar" | "text" | "escape" = "between";
  readonly #open: string[] = [];
  #values = 0;
  #members = 0;
  #partValues = 0;
  #partMembers = 0;

  constructor(private readonly limits: JsonLimits) {}

  add(bytes: Uint8Array): JsonLimit | null {
    for (const byte of bytes) {
      const exceeded = this.#step(String.fromCharCode(byte));
      if (exceeded !== null) return exceeded;
    }
    return this.#exceeded(1); // the last text may be the name of a member
  }

  #step(character: string): JsonLimit | null {
    const state = this.#state;
    if (state === "escape") this.#state = "text";
    else if (state === "text") {
      if (character === "\\") this.#state = "escape";
      if (character === '"') this.#state = "between";
    } else return this.#between(character);
    return null;
  }

  #between(character: string): JsonLimit | null {
    const isScalar = !' \t\n\r"{}[]:,'.includes(character);
    if (character === '"' || "{[".includes(character) || (isScalar && this.#state !== "scalar")) this.#count(1, 0);
    this.#state = character === '"' ? "text" : isScalar ? "scalar" : "between";
    if ("{[".includes(character)) {
      this.#open.push(character);
      if (this.#open.length === 2) this.#beginItem();
      if (this.#open.length > this.limits.depth) return "depth";
    } else if (character === ":") this.#count(-1, 1);
    else if ("}],".includes(character)) {
      const exceeded = this.#exceeded(0);
      if (character === "," || this.#open.length === 2) this.#beginItem();
      if (character !== ",") this.#open.pop();
      return exceeded;
    }
    return null;
  }

  #count(values: number, members: number): void {
    this.#values += values;
    this.#partValues += values;
    this.#members += members;
    this.#partMembers += members;
  }

  #beginItem(): void {
    if (!this.limits.areItemsParts || this.#open.length !== 2 || this.#open[1] !== "[") return;
    this.#partValues = 0;
    this.#partMembers = 0;
  }

  #exceeded(names: number): JsonLimit | null {
    if (this.#values > this.limits.values + names) return "values";
    if (this.#partValues > this.limits.partValues + names) return "partValues";
    return this.#partMembers > this.limits.partMembers ? "partMembers" : null;
  }
}
