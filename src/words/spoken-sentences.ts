// Splits what people say or note into sentences, and tells questions from statements by their question mark.
// src/answer/sentences.ts splits whole passages for quotes, by the rules of Unicode.

const SENTENCE = /[^.!?。！？؟\n]+[.!?。！？؟]*/gu;
const QUESTION_END = /[?？؟][^\p{L}\p{N}]*$/u;

/** The sentences of a text, each with the marks at its end. A line break ends a sentence, too. */
export function spokenSentences(text: string): readonly string[] {
  return text.match(SENTENCE) ?? [];
}

/** Whether a text ends with a question mark. */
export function isQuestion(text: string): boolean {
  return QUESTION_END.test(text);
}
