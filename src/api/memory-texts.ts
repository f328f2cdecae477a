// The JSON of memories that are read again and again. A row that was read lately is the same object until something changes
// (RecentMemories), so what was made of it holds as long.

import type { Memory, Progress } from "../domain/memory.ts";
import type { MemoryWithContent } from "../services/memories.ts";
import { JsonText } from "./operation.ts";
import { memoryView } from "./views.ts";

/** Longer contents are not held a second time; 1,000 rows of this size are 16 to 32 MiB. */
const CONTENT_CHARACTERS_MAX = 16_000;

/** Memories as JSON. */
export class MemoryTexts {
  readonly #texts = new WeakMap<Memory, JsonText>();

  constructor(private readonly progressOf: (memory: Memory) => Progress) {}

  /** A memory as GET answers it. */
  of(shown: MemoryWithContent): JsonText {
    const known = this.#texts.get(shown.memory);
    if (known !== undefined) return known;
    const text = new JsonText(JSON.stringify(memoryView(shown, this.progressOf)));
    // while it is in work its progress changes and the row does not
    const isSettled = shown.memory.state.status !== "processing";
    if (isSettled && shown.content.length <= CONTENT_CHARACTERS_MAX) this.#texts.set(shown.memory, text);
    return text;
  }
}
