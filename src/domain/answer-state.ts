// Whether an answer has what was asked for.

/**
 * `answered`; `partial`: nothing stored answers a part of the question, and the answer says which; `not_found`: nothing
 * stored answers it. What decides is the evidence, and which sources the answer cites or repeats, not whether a
 * language model says that it found something.
 */
export const ANSWER_STATES = ["answered", "partial", "not_found"] as const;
/** State of an answer. */
export type AnswerState = (typeof ANSWER_STATES)[number];
