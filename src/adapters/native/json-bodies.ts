// JsonBodies on the native core: counts in the core, parses on a worker thread of the runtime, and takes the result
// over piece by piece.

import { createHash } from "node:crypto";
import {
  type ArrivingJson,
  type JsonBodies,
  type JsonLimit,
  type JsonLimits,
  JsonRefused,
  type JsonStep,
  type LongText,
  type ParsedJson,
} from "../../ports/json-bodies.ts";
import { addon, translated, translatedAsync } from "./addon.ts";
import type { JsonParts, NativeJsonBody } from "./addon-types.ts";

/** Maximum time, in milliseconds, that pieces are taken over before other work of the thread runs. */
const SLICE_MS = 8;

/** Bodies in the native core. */
export const nativeJsonBodies: JsonBodies = {
  exceeded: (bytes, limits) => translated(() => addon().exceededJsonLimit(bytes, limits)),
  begin: (limits) => new ArrivingBody(limits),
};

class ArrivingBody implements ArrivingJson {
  readonly #native: NativeJsonBody;

  constructor(limits: JsonLimits) {
    this.#native = translated(() => new (addon().NativeJsonBody)(limits));
  }

  add(bytes: Uint8Array): JsonLimit | null {
    return translated(() => this.#native.add(bytes));
  }

  async parse(isSetApart: (path: readonly JsonStep[]) => boolean): Promise<ParsedJson> {
    const parts = await translatedAsync(() => this.#native.split());
    const { refusal, detail } = parts;
    if (refusal === "syntax") throw new JsonRefused("syntax", detail);
    if (refusal !== null) throw new JsonRefused(refusal, refusal, JSON.parse(detail));
    return this.#assemble(parts, isSetApart);
  }

  // Puts grouped arrays and long texts into the skeleton. A duplicate name can have replaced one of them; only the last
  // value of a name counts, so a placeholder is filled only where it still stands.
  async #assemble(
    { skeleton, texts, arrays }: JsonParts,
    isSetApart: (path: readonly JsonStep[]) => boolean,
  ): Promise<ParsedJson> {
    const turn = new Turn();
    const root: Container = { value: JSON.parse(skeleton) };
    for (const [index, { path, groups }] of arrays.entries()) {
      await turn.next();
      const place = placeOf(root, JSON.parse(path), `\0array ${index}`);
      if (place === null) continue;
      const items: unknown[] = [];
      for (let group = 0; group < groups; group++) {
        await turn.next();
        const parsed = JSON.parse(translated(() => this.#native.group(index, group))) as unknown[];
        for (const item of parsed) items.push(item);
      }
      place.container[place.step] = items;
    }
    const longTexts = new Map<string, LongText>();
    for (const [index, pathJson] of texts.entries()) {
      await turn.next();
      const path = JSON.parse(pathJson) as readonly JsonStep[];
      const placeholder = `\0text ${index}`;
      const place = placeOf(root, path, placeholder);
      if (place === null) continue;
      const text = isSetApart(path) ? await longTextOf(this.#native, index, turn) : null;
      if (text === null) place.container[place.step] = await translatedAsync(() => this.#native.text(index));
      else longTexts.set(placeholder, text);
    }
    return { value: root.value, longTexts };
  }
}

/** A long text that stays in the native core; null if it is blank. */
async function longTextOf(native: NativeJsonBody, index: number, turn: Turn): Promise<LongText | null> {
  const pieces = (isJson: boolean) => piecesOf(native, index, isJson);
  const hash = createHash("sha256");
  const decoder = new TextDecoder();
  let [bytes, isBlank] = [0, true];
  for (const piece of pieces(false)) {
    hash.update(piece);
    bytes += piece.byteLength;
    isBlank &&= decoder.decode(piece, { stream: true }).trim() === "";
    await turn.next();
  }
  if (isBlank) return null;
  return { bytes, sha256: hash.digest(), pieces: () => pieces(false), jsonPieces: () => pieces(true) };
}

function* piecesOf(native: NativeJsonBody, text: number, isJson: boolean): Generator<Uint8Array> {
  for (let start = 0; ; ) {
    const { bytes, next } = translated(() => native.textPiece(text, start, isJson));
    if (bytes.byteLength === 0) return;
    yield bytes;
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

/** Lets other work of the thread run from time to time. */
class Turn {
  #startedAt = performance.now();

  async next(): Promise<void> {
    if (performance.now() - this.#startedAt < SLICE_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
  }
}
