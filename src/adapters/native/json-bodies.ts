// JsonBodies on the native core: counts in the core, parses on a worker thread of the runtime, and takes the result
// over piece by piece.

import {
  type ArrivingJson,
  type JsonBodies,
  type JsonLimit,
  type JsonLimits,
  JsonRefused,
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

  async parse(): Promise<unknown> {
    const parts = await translatedAsync(() => this.#native.split());
    const { refusal, detail } = parts;
    if (refusal === "syntax") throw new JsonRefused("syntax", detail);
    if (refusal !== null) throw new JsonRefused(refusal, refusal, JSON.parse(detail));
    return this.#assemble(parts);
  }

  // Puts grouped arrays and long texts into the skeleton. A duplicate name can have replaced one of them; only the last
  // value of a name counts, so a placeholder is filled only where it still stands.
  async #assemble({ skeleton, texts, arrays }: JsonParts): Promise<unknown> {
    const turn = new Turn();
    const root: Container = { value: JSON.parse(skeleton) };
    for (const [index, { path, groups }] of arrays.entries()) {
      await turn.next();
      const place = placeOf(root, path, `\0array ${index}`);
      if (place === null) continue;
      const items: unknown[] = [];
      for (let group = 0; group < groups; group++) {
        await turn.next();
        const parsed = JSON.parse(translated(() => this.#native.group(index, group))) as unknown[];
        for (const item of parsed) items.push(item);
      }
      place.container[place.step] = items;
    }
    for (const [index, path] of texts.entries()) {
      await turn.next();
      const place = placeOf(root, path, `\0text ${index}`);
      if (place !== null) place.container[place.step] = await translatedAsync(() => this.#native.text(index));
    }
    return root.value;
  }
}

type Container = Record<string | number, unknown>;

/** Where `placeholder` stands in `root.value`; null if a duplicate name has replaced it. */
function placeOf(root: Container, pathJson: string, placeholder: string) {
  const path = ["value", ...(JSON.parse(pathJson) as (string | number)[])];
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
