// A question of a conversation with the words that it leaves out, without a language model: enough to search for it.
// Whether it leaves out any is follow-up.ts.

import { withoutCitationMarks } from "./citation-marks.ts";
import { hasName, referenceOf, spokenWords, type Word } from "./follow-up.ts";
import type { Turn } from "./history.ts";

/** Questions before it whose words may be meant. */
const QUESTIONS_MAX = 3;
/** Words, or names of several words, that are added at most, and those of the last answer. */
const TOPICS_MAX = 8;
const ANSWER_TOPICS_MAX = 3;
/** Of a turn, what is looked at. */
const TURN_UNITS_MAX = 1_000;
const TOPIC_UNITS_MAX = 64;

/**
 * The question, and in brackets behind it what the last turns were about, where it goes on with them: `And why? (Ada
 * Lovelace, moved)`. Words of the last questions come first, names among them before others, then names of the last
 * answer. A question that names another and refers to none is asked about that one: then no names are added. At most
 * eight words or names, so some 500 characters.
 * @param history oldest first, without the question
 */
export function contextualQuestion(history: readonly Turn[], question: string): string {
  const reference = history.length === 0 ? null : referenceOf(question);
  if (reference === null) return question;
  const own = spokenWords(question);
  const isTaken = takenBy(own);
  const namesAnother = reference === "ellipsis" && hasName(own);
  const questions = history
    .filter(({ role }) => role === "user")
    .slice(-QUESTIONS_MAX)
    .reverse();
  const answer = history.findLast(({ role }) => role === "assistant");
  const topics: string[] = [];
  const add = (found: readonly string[], most: number) => {
    for (const topic of found.slice(0, most)) {
      if (topics.length < TOPICS_MAX && !isTaken(topic) && !topics.some((known) => known.includes(topic)))
        topics.push(topic);
    }
  };
  for (const { content } of questions) {
    const words = spokenWords(content.slice(0, TURN_UNITS_MAX));
    if (!namesAnother) add(namesOf(words), TOPICS_MAX);
    add(
      words.filter(({ isTopic, isName }) => isTopic && !(namesAnother && isName)).map(({ text }) => text),
      TOPICS_MAX,
    );
  }
  if (answer !== undefined && !namesAnother) {
    add(namesOf(spokenWords(withoutCitationMarks(answer.content.slice(0, TURN_UNITS_MAX)))), ANSWER_TOPICS_MAX);
  }
  return topics.length === 0 ? question : `${question} (${topics.join(", ")})`;
}

// Capitalised words in a row are one name. The first word of a sentence is one where it goes on so, or stands so
// elsewhere.
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

function takenBy(own: readonly Word[]): (topic: string) => boolean {
  const words = new Set(own.map(({ lower }) => lower));
  return (topic) =>
    topic.length > TOPIC_UNITS_MAX ||
    topic
      .toLowerCase()
      .split(" ")
      .every((word) => words.has(word));
}
