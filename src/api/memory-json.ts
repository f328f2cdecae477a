// Caches the JSON of memories that are read repeatedly. The store returns the same object for a row until something
// changes (RecentMemories), so the JSON is valid as long as the object is.

import type { Memory, Progress } from "../domain/memory.ts";
import type { Relation } from "../domain/relation.ts";
import type { MemoryWithContent } from "../services/memories.ts";
import { JsonText } from "./operation.ts";
import { relationView } from "./relations.ts";
import { memoryView } from "./views.ts";

/**
 * Maximum length of the content of a cached memory, in UTF-16 code units. 1,000 memories of this size take 16 to 32
 * MiB.
 */
const CONTENT_CHARACTERS_MAX = 16_000;

/** Makes and caches the JSON of memories. */
export class MemoryJsonCache {
  readonly #json = new WeakMap<Memory, JsonText>();

  constructor(private readonly progressOf: (memory: Memory) => Progress) {}

  /** The JSON of the memory, as getMemory returns it. */
  of(shown: MemoryWithContent, relations: readonly Relation[]): JsonText {
    const { text } = this.#withoutRelations(shown);
    return new JsonText(`${text.slice(0, -1)},"relations":${JSON.stringify(relations.map(relationView))}}`);
  }

  #withoutRelations(shown: MemoryWithContent): JsonText {
    // the counts of parts change although the row of their container does not
    if (shown.parts !== undefined) return new JsonText(JSON.stringify(memoryView(shown, this.progressOf)));
    const known = this.#json.get(shown.memory);
    if (known !== undefined) return known;
    const text = new JsonText(JSON.stringify(memoryView(shown, this.progressOf)));
    // A memory that is being processed is not cached, because its progress changes although its row does not.
    const isSettled = shown.memory.state.status !== "processing";
    if (isSettled && shown.content.length <= CONTENT_CHARACTERS_MAX) this.#json.set(shown.memory, text);
    return text;
  }
}
