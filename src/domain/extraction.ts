// Types and limits of the attributes that Mneme extracts for a memory when the caller does not give them. The limit of
// titles is in title.ts.

/**
 * Every type that extraction can give; a caller may use any other word. Each type changes how the text is cut or is
 * something that people filter by, and simple rules detect it without guessing. A `conversation` is read turn by turn,
 * a `table` line by line, `code` in stanzas. An `email` has a subject, a `list` has items. Other prose is an `article`
 * from 1,500 characters, else a `note`.
 */
export const DETECTED_TYPES = ["note", "article", "conversation", "code", "table", "list", "email"] as const;
/** A type that extraction can give. */
export type DetectedType = (typeof DETECTED_TYPES)[number];

/** Whether memories of this type are read turn by turn. */
export function isConversation(type: string | null): boolean {
  return type?.trim().toLowerCase() === ("conversation" satisfies DetectedType);
}

/** Maximum number of extracted tags of a memory. */
export const EXTRACTED_TAGS_MAX = 8;
