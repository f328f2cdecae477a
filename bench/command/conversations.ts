// What the files of memory benchmarks have in common: users with sessions of turns, and questions with evidence and
// expected answers. conversation-files.ts and beam-files.ts read the files.

/** A turn of a session. */
export interface Turn {
  /** Unique among all users. */
  readonly id: string;
  readonly speaker: string;
  readonly text: string;
}

/** A session of a user. */
export interface Session {
  /** Unique among all users. */
  readonly id: string;
  readonly date: string;
  readonly turns: readonly Turn[];
}

/**
 * A condition that a right answer meets. gold: it says `text`. requirement: it does what `text` demands. refusal: it
 * says that the answer is not known.
 */
export type Condition = { readonly kind: "gold" | "requirement"; readonly text: string } | { readonly kind: "refusal" };

/** A question about the sessions of one user. */
export interface ConversationQuestion {
  readonly id: string;
  readonly userId: string;
  readonly text: string;
  readonly category: string;
  /** ISO 8601; null if the file has no time. */
  readonly asOf: string | null;
  /** Ids of the turns with the evidence; empty if the file names only sessions, or `sessions` is empty. */
  readonly turns: ReadonlySet<string>;
  /**
   * Ids of the sessions with the evidence; empty if the question has no answer, or the file names no evidence that can
   * be found in it.
   */
  readonly sessions: ReadonlySet<string>;
  /** Conditions of a right answer; empty if the file has no answer although there should be one. */
  readonly conditions: readonly Condition[];
}

/** The content of a file. */
export interface Conversations {
  readonly name: "LoCoMo" | "LongMemEval" | "BEAM";
  /** Sessions by user. */
  readonly users: ReadonlyMap<string, readonly Session[]>;
  readonly questions: readonly ConversationQuestion[];
}

/** Whether nothing in the sessions answers the question, so that refusing is right. */
export function isUnanswerable({ conditions }: ConversationQuestion): boolean {
  return conditions.some(({ kind }) => kind === "refusal");
}

/** What an answer needs besides found passages: which fact is current, when something was, and what is unknown. */
const ASPECTS = ["knowledge-update", "temporal", "abstention"] as const;

/** The aspect that a question tests, whatever its file calls it; null if it tests none of `ASPECTS`. */
export function aspectOf(question: ConversationQuestion): (typeof ASPECTS)[number] | null {
  if (isUnanswerable(question)) return "abstention";
  if (/^knowledge.update/i.test(question.category)) return "knowledge-update";
  return /^temporal/i.test(question.category) ? "temporal" : null;
}

/** Items by the aspect of their questions, in the order of the aspects; those without one are left out. */
export function byAspect<Item extends { readonly question: ConversationQuestion }>(
  items: readonly Item[],
): readonly (readonly [aspect: string, items: readonly Item[]])[] {
  const groups = Map.groupBy(items, ({ question }) => aspectOf(question));
  return ASPECTS.flatMap((aspect) => {
    const group = groups.get(aspect);
    return group === undefined ? [] : [[aspect, group] as const];
  });
}
