// A chunk: the piece of a memory that is embedded, indexed and returned, and the texts that models and full text read
// of it.

/** A place in a document, if its format has pages, slides or sheets. */
export interface DocumentPlace {
  /** From 1. */
  readonly page?: number;
  /** From 1. */
  readonly slide?: number;
  /** Name of the sheet of a spreadsheet. */
  readonly sheet?: string;
  /** Range of cells of the sheet, such as `B2:D14`. */
  readonly cells?: string;
  /** First and last line of a text file, from 1. */
  readonly line?: number;
  readonly lineEnd?: number;
  /** Seconds from the beginning of a recording: where the first subtitle begins, and where the last one ends. */
  readonly fromSeconds?: number;
  readonly toSeconds?: number;
  /** Name of the function, class or other definition of source code. */
  readonly symbol?: string;
  /** How sure the text is, 0..1, if it was recognised in a picture. */
  readonly ocrConfidence?: number;
}

/** The fields of a place. */
export const PLACE_FIELDS = [
  "page",
  "slide",
  "sheet",
  "cells",
  "line",
  "lineEnd",
  "fromSeconds",
  "toSeconds",
  "symbol",
  "ocrConfidence",
] as const satisfies readonly (keyof DocumentPlace)[];

/**
 * Token budget of a chunk, including title, headings and special tokens, if the manifest of the embedder has no
 * `chunk_tokens`: about 1,100 characters of English. The manifests of the shipped models have similar budgets.
 */
export const CHUNK_TOKENS = 256;

/** A chunk of a memory without its texts, which `ChunkTexts` builds. */
export interface Chunk extends DocumentPlace {
  /** Position in the memory, from 0. */
  readonly ordinal: number;
  /** Range in the memory's content, in Unicode code points, end exclusive. */
  readonly start: number;
  readonly end: number;
  /**
   * Number of tokens of the search text (for a turn: of the embedded text), counted with the embedder's tokeniser,
   * special tokens included. May be more than the embedder reads.
   */
  readonly tokens: number;
  /** Headings above the chunk, outermost first. */
  readonly headings: readonly string[];
  /** Present if the chunk is a turn of a conversation, or a part of one. */
  readonly turn?: Turn;
}

/**
 * Builds the texts of the chunks of one memory. Nothing is cached: all texts of a memory together would take about five
 * times as many bytes as its content. Callers therefore build them for a few chunks at a time.
 */
export interface ChunkTexts {
  /**
   * The passage as search returns it: the chunk's range of the content, trimmed. For a turn of a conversation that is
   * stored as JSON, `Ada: …`.
   */
  passage(chunk: Chunk): string;
  /**
   * Text for the embedder: `title. passage`, or `turnSentence` for a turn. Headings are left out because many chunks
   * share them (docs/measurements.md).
   */
  embeddedText(chunk: Chunk): string;
  /** Text for full text: `title. heading path. passage`, or `turnText` for a turn. */
  searchText(chunk: Chunk): string;
  /** The search text together with the neighbouring chunks; null if the chunk has no neighbours. */
  contextText(chunk: Chunk): string | null;
}

/** Speaker and time of a turn of a conversation. */
export interface Turn {
  /** Number of the session within the memory, from 0. Only turns of the same session are neighbours. */
  readonly session: number;
  /** Name or role of the speaker; null for text before the first speaker. */
  readonly speaker: string | null;
  /** Day of the session, such as `8 May 2023`; null if unknown. */
  readonly date: string | null;
  /**
   * Length of the label before the spoken text (time, speaker, marks), in UTF-16 code units. 0 in the second and later
   * parts of a long turn.
   */
  readonly labelUnits: number;
}

/** The place of a chunk in its memory, as shown under `metadata._chunk`. */
export interface ChunkPlace extends DocumentPlace {
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
  /** Present if the chunk is a turn of a conversation. */
  readonly turn?: Turn;
}

const USERS = "user|human|customer";
const ASSISTANTS = "assistant|ai|bot|chatbot|gpt|model|agent";
/**
 * Matches speakers that are roles, not names, as in chats with a model and transcripts of recordings. Such a label does
 * not help search: nobody asks for a role by name, and the person who asks is often the user.
 */
const ROLE = new RegExp(
  `^(${USERS}|${ASSISTANTS}|system|developer|tool|function|speaker)([ _-]?\\d+|[ _-]\\p{L})?$`,
  "iu",
);
const USER = new RegExp(`^(${USERS})$`, "i");
const ASSISTANT = new RegExp(`^(${ASSISTANTS}|chatgpt)$`, "i");

/** The role of a speaker in a conversation with an assistant; null for a name, or for another role. */
export function roleOf(speaker: string | null): "assistant" | "user" | null {
  if (speaker === null) return null;
  if (ASSISTANT.test(speaker)) return "assistant";
  return USER.test(speaker) ? "user" : null;
}

/**
 * A passage as evidence, the reranker, the reader and extractive answers read it: `title. heading path. passage`, much
 * like the search text. The title and headings are left out if the passage begins with them, as it does if the title
 * was extracted from the text.
 */
export function indexedText(title: string | null, headings: readonly string[], passage: string): string {
  const lead = [title ?? "", ...headings].map(withoutClosingMarks).filter((part, position, parts) => {
    return part !== "" && !passage.startsWith(part) && parts.indexOf(part) === position;
  });
  return [...lead, passage].join(". ");
}

/**
 * Whether the title is put before a passage that the embedder reads. A title that the caller gave always is; an
 * extracted title is not if the passage begins with it.
 */
export function needsTitle(title: { readonly text: string; readonly isGiven: boolean }, passage: string): boolean {
  if (title.text.trim() === "") return false;
  if (title.isGiven) return true;
  return !lettersOf(passage.slice(0, 512)).startsWith(lettersOf(title.text).slice(0, 64));
}

/** The letters and digits of a text, in lower case. Comparing them ignores markup, quotes and line breaks. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}

/**
 * The text of a turn for full text, the reranker, the reader and extractive answers: `[8 May 2023] Ada: what she says`.
 * Day and speaker are left out if they are unknown.
 */
export function turnText(turn: Turn, passage: string): string {
  return `${dayLabel(turn)}${undatedTurnText(turn, passage)}`;
}

/**
 * The text of a turn for the embedder: `On 8 May 2023, Ada said: "what she says"`. An unknown day is left out. The
 * embedder was trained on sentences and uses the label of `turnText` less well. If the speaker is a role, the text is
 * `user: what they say`; without a speaker, it is the passage alone. Neither has the day, because a day makes them
 * harder to find among other texts (docs/measurements.md).
 */
export function turnSentence(turn: Turn, passage: string): string {
  if (turn.speaker === null || ROLE.test(turn.speaker)) return undatedTurnText(turn, passage);
  const day = turn.date === null ? "" : `On ${turn.date}, `;
  return `${day}${turn.speaker} said: "${withoutLabel(turn, passage)}"`;
}

/**
 * The text of a turn and its neighbours (two before, two after) for the full-text index: the day once, then one turn
 * per line.
 * @param turn its day is shown
 * @param turns the turn and its neighbours with their passages, in order
 */
export function turnContext(turn: Turn, turns: readonly { readonly turn: Turn; readonly passage: string }[]): string {
  return `${dayLabel(turn)}${turns.map((each) => undatedTurnText(each.turn, each.passage)).join("\n")}`;
}

function dayLabel({ date }: Turn): string {
  return date === null ? "" : `[${date}] `;
}

function undatedTurnText(turn: Turn, passage: string): string {
  return `${turn.speaker === null ? "" : `${turn.speaker}: `}${withoutLabel(turn, passage)}`;
}

function withoutLabel({ labelUnits }: Turn, passage: string): string {
  return passage.slice(labelUnits).trimStart();
}

// Removes the "…" of a shortened title, or a full stop, from the end of a part, because ". " follows.
function withoutClosingMarks(text: string): string {
  return text.trim().replace(/[\s.…]+$/u, "");
}
