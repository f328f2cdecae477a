// JsonBodies on the native core: the core counts the values of a body and parses it on a thread of low priority; the
// result is converted to JavaScript values piece by piece.

import { createHash } from "node:crypto";
import { parseJson } from "../../kit/exact-json.ts";
import { TimeSlice } from "../../kit/time-slice.ts";
import {
  type ArrivingJson,
  type JsonBodies,
  type JsonLimit,
  type JsonLimits,
  JsonRefused,
  type JsonStep,
  LongText,
  type ParsedJson,
} from "../../ports/json-bodies.ts";
import { addon } from "./addon.ts";
import type { JsonParts, NativeJsonBody } from "./addon-types.ts";

/** Size of a piece of a long text. Decoding and hashing it takes less than 1 ms. */
const PIECE_BYTES = 256 * 1024;

/** Bodies in the native core. */
export const nativeJsonBodies: JsonBodies = {
  exceeded: (bytes, limits) => addon().exceededJsonLimit(bytes, limits),
  begin: (limits) => new ArrivingBody(limits),
};

class ArrivingBody implements ArrivingJson {
  readonly #native: NativeJsonBody;

  constructor(limits: JsonLimits) {
    this.#native = new (addon().NativeJsonBody)(limits);
  }

  add(bytes: Uint8Array): JsonLimit | null {
    return this.#native.add(bytes);
  }

  release(): void {
    this.#native.release();
  }

  async parse(isSetApart: (path: readonly JsonStep[]) => boolean): Promise<ParsedJson> {
    const parts = await this.#native.split();
    const { refusal, detail } = parts;
    if (refusal === "syntax") throw new JsonRefused("syntax", detail);
    if (refusal !== null) throw new JsonRefused(refusal, refusal, JSON.parse(detail));
    return this.#assemble(parts, isSetApart);
  }

  // Puts arrays and long texts in place of their placeholders in the skeleton (see JsonParts). Of values with the same
  // name only the last counts, so a placeholder may be gone.
  async #assemble(
    { skeleton, texts, arrays }: JsonParts,
    isSetApart: (path: readonly JsonStep[]) => boolean,
  ): Promise<ParsedJson> {
    const slice = new TimeSlice();
    const root: Container = { value: parseJson(skeleton) };
    for (const [index, { path, groups }] of arrays.entries()) {
      await slice.next();
      const place = placeOf(root, JSON.parse(path), `\0array ${index}`);
      if (place === null) continue;
      const items: unknown[] = [];
      for (let group = 0; group < groups; group++) {
        await slice.next();
        const parsed = parseJson(this.#native.group(index, group)) as unknown[];
        for (const item of parsed) items.push(item);
      }
      place.container[place.step] = items;
    }
    const longTexts: LongText[] = [];
    for (const [index, pathJson] of texts.entries()) {
      await slice.next();
      const path = JSON.parse(pathJson) as readonly JsonStep[];
      const placeholder = `\0text ${index}`;
      const place = placeOf(root, path, placeholder);
      if (place === null) continue;
      const text = isSetApart(path) ? await longTextOf(this.#native, index, placeholder, slice) : null;
      if (text === null) place.container[place.step] = await this.#native.text(index);
      else {
        place.container[place.step] = text;
        longTexts.push(text);
      }
    }
    // all that is still needed of the body are the texts that were set apart
    if (longTexts.length === 0) this.release();
    return { value: root.value, longTexts, release: () => this.release() };
  }
}

/** A long text that stays in the native core; null if it is blank. */
async function longTextOf(
  native: NativeJsonBody,
  index: number,
  placeholder: string,
  slice: TimeSlice,
): Promise<LongText | null> {
  const hash = createHash("sha256");
  const decoder = new TextDecoder();
  let [bytes, isBlank] = [0, true];
  for (const piece of piecesOf(native, index, false)) {
    hash.update(piece);
    bytes += piece.byteLength;
    isBlank &&= decoder.decode(piece, { stream: true }).trim() === "";
    await slice.next();
  }
  if (isBlank) return null;
  return new NativeText(native, index, placeholder, bytes, hash.digest());
}

class NativeText extends LongText {
  constructor(
    private readonly native: NativeJsonBody,
    private readonly index: number,
    placeholder: string,
    bytes: number,
    sha256: Uint8Array,
  ) {
    super(placeholder, bytes, sha256);
  }

  pieces(): Iterable<Uint8Array> {
    return piecesOf(this.native, this.index, false);
  }

  jsonPieces(): Iterable<Uint8Array> {
    return piecesOf(this.native, this.index, true);
  }
}

/** The pieces of a long text. Each is valid until the next one is taken, because they share their memory. */
function* piecesOf(native: NativeJsonBody, text: number, isJson: boolean): Generator<Uint8Array> {
  const buffer = new Uint8Array(PIECE_BYTES);
  for (let start = 0; ; ) {
    const { bytes, next } = native.textPiece(text, start, isJson, buffer);
    if (bytes === 0) return;
    yield buffer.subarray(0, bytes);
    start = next;
  }
}

type Container = Record<string | number, unknown>;

/** Where `placeholder` stands in `root.value`; null if a duplicate name has replaced it. */
function placeOf(root: Container, pathInBody: readonly JsonStep[], placeholder: string) {
  const path = ["value", ...pathInBody];
  const step = path.pop() ?? "value";
  let container: Container = root;
  for (const name of path) {
    const next = Object.hasOwn(container, name) ? container[name] : null;
    if (typeof next !== "object" || next === null) return null;
    container = next as Container;
  }
  return Object.hasOwn(container, step) && container[step] === placeholder ? { container, step } : null;
}
