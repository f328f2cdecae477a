// Question rewriting without a language model: appends topics of the conversation to a follow-up question, so that it
// can be searched for. follow-up.ts decides whether a question is a follow-up.

import { withoutCitationMarks } from "./citation-marks.ts";
import { followUpKind, hasName, type Word, wordsOf } from "./follow-up.ts";
import type { Turn } from "./history.ts";

/** Number of previous questions whose words are used. */
const QUESTIONS_MAX = 3;
/** Maximum number of topics (words, or names of several words) that are appended: in all, and from the last answer. */
const TOPICS_MAX = 8;
const ANSWER_TOPICS_MAX = 3;
/** Maximum length of a turn's beginning that is used, in UTF-16 code units. */
const TURN_UNITS_MAX = 1_000;
const TOPIC_UNITS_MAX = 64;

/**
 * Appends topics of the last turns in brackets to a follow-up question, such as `And why? (Ada Lovelace, moved)`. Other
 * questions are returned unchanged. Words of the last questions come first, names before other words; then names of the
 * last answer. If the question has a name of its own and no pronoun, it is about that name, so no names are appended.
 * At most eight topics, about 500 characters.
 * @param history oldest first, without the question
 */
export function contextualQuestion(history: readonly Turn[], question: string): string {
  const kind = history.length === 0 ? null : followUpKind(question);
  if (kind === null) return question;
  const own = wordsOf(question);
  const isKnown = topicFilter(own);
  const hasOwnName = kind === "ellipsis" && hasName(own);
  const questions = history
    .filter(({ role }) => role === "user")
    .slice(-QUESTIONS_MAX)
    .reverse();
  const answer = history.findLast(({ role }) => role === "assistant");
  const topics: string[] = [];
  const add = (found: readonly string[], countMax: number) => {
    for (const topic of found.slice(0, countMax)) {
      if (topics.length < TOPICS_MAX && !isKnown(topic) && !topics.some((known) => known.includes(topic)))
        topics.push(topic);
    }
  };
  for (const { content } of questions) {
    const words = wordsOf(content.slice(0, TURN_UNITS_MAX));
    if (!hasOwnName) add(namesOf(words), TOPICS_MAX);
    add(
      words.filter(({ isTopic, isName }) => isTopic && !(hasOwnName && isName)).map(({ text }) => text),
      TOPICS_MAX,
    );
  }
  if (answer !== undefined && !hasOwnName) {
    add(namesOf(wordsOf(withoutCitationMarks(answer.content.slice(0, TURN_UNITS_MAX)))), ANSWER_TOPICS_MAX);
  }
  return topics.length === 0 ? question : `${question} (${topics.join(", ")})`;
}

// The names in a text. Capitalised words in a row are one name. A capitalised first word of a sentence is a name too,
// if it is a topic word.
function namesOf(words: readonly Word[]): readonly string[] {
  const runs: string[][] = [];
  let end = -1;
  for (const [at, { text, isName, isTopic }] of words.entries()) {
    const isCapitalised = isName || (isTopic && /^\p{Lu}/u.test(text));
    if (!isCapitalised) continue;
    if (end === at - 1 && runs.length > 0 && isName) runs.at(-1)?.push(text);
    else runs.push([text]);
    end = at;
  }
  const names = runs.map((run) => run.join(" ")).filter((name) => name.length <= TOPIC_UNITS_MAX);
  return [...new Set(names)];
}

// Returns a function that is true for topics to leave out: those that are too long, or whose words are all in the
// question already.
function topicFilter(own: readonly Word[]): (topic: string) => boolean {
  const words = new Set(own.map(({ lower }) => lower));
  return (topic) =>
    topic.length > TOPIC_UNITS_MAX ||
    topic
      .toLowerCase()
      .split(" ")
      .every((word) => words.has(word));
}
