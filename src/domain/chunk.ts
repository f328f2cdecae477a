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

/** Who says a turn of a conversation, and when. */
export interface Turn {
  /** Counts the sessions of its memory from 0: neighbours say something about each other within one only. */
  readonly session: number;
  /** null: what stands before the first speaker. */
  readonly speaker: string | null;
  /** Day of the session, as `8 May 2023`; null: not known. */
  readonly date: string | null;
  /** UTF-16 units of the passage in front of what is said: time, speaker, marks. 0 in the later parts of a long turn. */
  readonly labelUnits: number;
}

/** The place of a chunk within its memory, as shown under `metadata._chunk`. */
export interface ChunkPlace extends DocumentPlace {
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
  /** Present where the chunk is a turn of a conversation. */
  readonly turn?: Turn;
}

/**
 * Who speaks in a role, as chats with a model and transcripts of a recording name their sides: nobody asks for them by name, and who asks
 * is often the user.
 */
const ROLE =
  /^(user|human|customer|assistant|ai|bot|chatbot|gpt|model|agent|system|developer|tool|function|speaker)([ _-]?\d+|[ _-]\p{L})?$/iu;

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

/** A turn as full text, the reranker and language models read it: `[8 May 2023] Ada: what she says`, as far as day and speaker are known. */
export function turnText(turn: Turn, passage: string): string {
  return `${dayLabel(turn)}${undatedTurnText(turn, passage)}`;
}

/**
 * A turn as the embedder reads it: `On 8 May 2023, Ada said: "what she says"`, as far as the day is known. It learnt from sentences, and
 * makes less of the label that words and the reranker read. What a role says is `user: what they say`, and what nobody says is itself:
 * a day before it hides it among other texts (ARCHITECTURE.md, "Measured").
 */
export function turnSentence(turn: Turn, passage: string): string {
  if (turn.speaker === null || ROLE.test(turn.speaker)) return undatedTurnText(turn, passage);
  const day = turn.date === null ? "" : `On ${turn.date}, `;
  return `${day}${turn.speaker} said: "${withoutLabel(turn, passage)}"`;
}

/**
 * A turn among those around it, two before and two behind, as the full-text index reads it: the day once, a turn a line.
 * @param turns with their passages, in order; the day is that of `turn`.
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

// A shortened title ends with "…", a sentence with its own stop: neither is repeated before the ". " that follows.
function withoutClosingMarks(text: string): string {
  return text.trim().replace(/[\s.…]+$/u, "");
}
