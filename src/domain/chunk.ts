// What a chunk is: the piece of a memory that is embedded, indexed and returned.

/** Where in its document something stands, as far as the document's format has such places. */
export interface DocumentPlace {
  /** From 1. */
  readonly page?: number;
  /** From 1. */
  readonly slide?: number;
  /** By its name. */
  readonly sheet?: string;
}

/** A chunk as text preparation makes it. */
export interface Chunk extends DocumentPlace {
  /** Position within its memory, from 0. */
  readonly ordinal: number;
  /** Range in the memory's content, in Unicode code points, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** The passage as it is returned: that range of the content, white space at both ends cut. */
  readonly passage: string;
  /** What is embedded and indexed: `title. heading path. passage`. */
  readonly own: string;
  /** The same with the neighbouring chunks around it; null where there are none (then it equals `own`). */
  readonly context: string | null;
  /** Tokens of `own` by the embedder's tokeniser, specials included; may exceed what the embedder reads. */
  readonly tokens: number;
  /** Headings above the chunk, outermost first. */
  readonly headings: readonly string[];
}

/** The place of a chunk within its memory, as shown under `metadata._chunk`. */
export interface ChunkPlace extends DocumentPlace {
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
}

/**
 * The text of a chunk as models and the full-text index read it: `title. heading path. passage`. The title is left out
 * where the passage itself begins with it, as it does when the title was taken from the text; so is a heading.
 */
export function indexedText(title: string | null, headings: readonly string[], passage: string): string {
  const lead = [title ?? "", ...headings].map(withoutClosingMarks).filter((part, position, parts) => {
    return part !== "" && !passage.startsWith(part) && parts.indexOf(part) === position;
  });
  return [...lead, passage].join(". ");
}

// A shortened title ends with "…", a sentence with its own stop: neither is repeated before the ". " that follows.
function withoutClosingMarks(text: string): string {
  return text.trim().replace(/[\s.…]+$/u, "");
}
