// A chunk: the piece of a memory that is embedded, indexed and returned, and the texts that models and full text read of it.

/** A place in a document, if its format has pages, slides or sheets. */
export interface DocumentPlace {
  /** From 1. */
  readonly page?: number;
  /** From 1. */
  readonly slide?: number;
  /** Name of the sheet. */
  readonly sheet?: string;
}

/** A chunk as text preparation makes it. Its texts may be made whenever they are read: who needs one twice keeps it. */
export interface Chunk extends DocumentPlace {
  /** Position within its memory, from 0. */
  readonly ordinal: number;
  /** Range in the memory's content, in Unicode code points, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** The passage as it is returned: that range of the content, white space at both ends cut; `Ada: …` for a turn that is JSON. */
  readonly passage: string;
  /** What is embedded: `title. passage`; of a turn `turnSentence`. Without headings: they say of many chunks the same (ARCHITECTURE.md, "Measured"). */
  readonly embedded: string;
  /** What full text reads: `title. heading path. passage`; of a turn `turnText`. */
  readonly own: string;
  /** The same with the neighbouring chunks around it; null where there are none (then it equals `own`). */
  readonly context: string | null;
  /** Tokens of `own`, of a turn those of `embedded`, by the embedder's tokeniser, specials included; may exceed what the embedder reads. */
  readonly tokens: number;
  /** Headings above the chunk, outermost first. */
  readonly headings: readonly string[];
  /** Present where the chunk is a turn of a conversation, or a part of one. */
  readonly turn?: Turn;
}

/** Speaker and time of a turn of a conversation. */
export interface Turn {
  /** Number of the session within the memory, from 0. Only turns of the same session are neighbours. */
  readonly session: number;
  /** null for the text before the first speaker. */
  readonly speaker: string | null;
  /** Day of the session, as `8 May 2023`; null if unknown. */
  readonly date: string | null;
  /** UTF-16 units of the passage before the spoken text: time, speaker, marks. 0 in the later parts of a long turn. */
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

/**
 * Roles instead of names, as in chats with a model and transcripts of recordings. Nobody asks for a role by name, and the person who
 * asks is often the user.
 */
const ROLE =
  /^(user|human|customer|assistant|ai|bot|chatbot|gpt|model|agent|system|developer|tool|function|speaker)([ _-]?\d+|[ _-]\p{L})?$/iu;

/**
 * The text of a chunk for models and the full-text index: `title. heading path. passage`. The title and headings are left out if the
 * passage begins with them, as it does if the title was extracted from the text.
 */
export function indexedText(title: string | null, headings: readonly string[], passage: string): string {
  const lead = [title ?? "", ...headings].map(withoutClosingMarks).filter((part, position, parts) => {
    return part !== "" && !passage.startsWith(part) && parts.indexOf(part) === position;
  });
  return [...lead, passage].join(". ");
}

/** The text of a turn for full text, the reranker and language models: `[8 May 2023] Ada: what she says`, without an unknown day or speaker. */
export function turnText(turn: Turn, passage: string): string {
  return `${dayLabel(turn)}${undatedTurnText(turn, passage)}`;
}

/**
 * The text of a turn for the embedder: `On 8 May 2023, Ada said: "what she says"`, without an unknown day. The embedder was trained on
 * sentences and uses the label of `turnText` less well. A turn of a role is `user: what they say`, and text without a speaker is
 * itself: a day before it makes it harder to find among other texts (ARCHITECTURE.md, "Measured").
 */
export function turnSentence(turn: Turn, passage: string): string {
  if (turn.speaker === null || ROLE.test(turn.speaker)) return undatedTurnText(turn, passage);
  const day = turn.date === null ? "" : `On ${turn.date}, `;
  return `${day}${turn.speaker} said: "${withoutLabel(turn, passage)}"`;
}

/**
 * A turn with its neighbours, two before and two behind, for the full-text index: the day once, one turn per line.
 * @param turns the turns with their passages, in order; the day is that of `turn`.
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

// A shortened title ends with "…", a sentence with a full stop. Both are removed before the ". " that follows.
function withoutClosingMarks(text: string): string {
  return text.trim().replace(/[\s.…]+$/u, "");
}
