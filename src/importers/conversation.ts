// Makes one memory of a conversation: a JSON list of messages, which Mneme reads turn by turn. In plain text, a message
// that contains something like the beginning of another one would be split.

import { isoTimeIn, storable } from "./mapping.ts";

/** A message of a conversation. */
export interface SpokenTurn {
  readonly role: string;
  readonly content: string;
  /** When it was written, in any form that `isoTimeIn` reads. */
  readonly time: unknown;
}

/** The content of a memory with these turns, one per line; null if none has a text. */
export function conversationContent(turns: readonly SpokenTurn[]): string | null {
  const lines = turns.flatMap(({ role, content, time }) => {
    const text = storable(content).trim();
    if (text === "") return [];
    const at = isoTimeIn(time);
    return [JSON.stringify({ role: storable(role), content: text, ...(at !== null && { created_at: at }) })];
  });
  return lines.length === 0 ? null : `[\n${lines.join(",\n")}\n]`;
}

/** The text of a message whose content is a text or a list of parts, and the number of parts that are no text. */
export function textOfParts(content: unknown): { readonly text: string; readonly otherParts: number } {
  if (typeof content === "string") return { text: content, otherParts: 0 };
  if (!Array.isArray(content)) return { text: "", otherParts: content === null || content === undefined ? 0 : 1 };
  const texts = content.flatMap((part: unknown) => {
    const text = typeof part === "object" && part !== null && "text" in part ? part.text : part;
    return typeof text === "string" ? [text] : [];
  });
  return { text: texts.filter((text) => text !== "").join("\n"), otherParts: content.length - texts.length };
}
