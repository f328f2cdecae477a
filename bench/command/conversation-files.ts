// Reads the files of memory benchmarks: LoCoMo (locomo10.json) and LongMemEval (longmemeval_s.json and others);
// beam-files.ts reads BEAM. The files are the user's; this program has none of their texts.

import { existsSync, readFileSync, statSync } from "node:fs";
import { UsageError } from "../../src/kit/flags.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../src/kit/record.ts";
import { beam, isBeamRow, readBeamFolder } from "./beam-files.ts";
import type { Condition, ConversationQuestion, Conversations, Session } from "./conversations.ts";

/** Categories of LoCoMo, by number. */
const LOCOMO_CATEGORIES = ["", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
const ADVERSARIAL = 5;
/** Category of LongMemEval whose golds describe what the user would like, instead of an answer. */
const PREFERENCE = "single-session-preference";

/**
 * Reads a file, or the folder of BEAM's repository for one size.
 * @throws UsageError if it does not exist or is something else
 */
export function readConversations(path: string): Conversations {
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
  if (statSync(path).isDirectory()) return beam(readBeamFolder(path), path);
  return parseConversations(readFileSync(path, "utf8"), path);
}

/**
 * Converts the text of a benchmark's file.
 * @param name name of the file, for error messages
 * @throws UsageError if it is not JSON of LoCoMo, LongMemEval or BEAM, or lacks a required field
 */
export function parseConversations(text: string, name: string): Conversations {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${name} is not valid JSON.`, { cause });
  }
  const items = recordsIn(value);
  const [first] = items;
  if (first !== undefined && isRecord(first.conversation) && Array.isArray(first.qa)) return locomo(items);
  if (first !== undefined && Array.isArray(first.haystack_sessions)) return longMemEval(items, name);
  if (first !== undefined && isBeamRow(first)) return beam(items, name);
  throw new UsageError(
    `${name} is neither LoCoMo (conversation, qa) nor LongMemEval (haystack_sessions) nor BEAM (chat, probing_questions).`,
  );
}

function locomo(samples: readonly JsonRecord[]): Conversations {
  const users = new Map<string, readonly Session[]>();
  const questions: ConversationQuestion[] = [];
  for (const [place, sample] of samples.entries()) {
    const userId = String(sample.sample_id ?? `sample-${place + 1}`);
    const sessions = locomoSessions(userId, isRecord(sample.conversation) ? sample.conversation : {});
    users.set(userId, sessions);
    const sessionOf = new Map(sessions.flatMap(({ id, turns }) => turns.map((turn) => [turn.id, id] as const)));
    for (const [at, question] of recordsIn(sample.qa).entries()) {
      const category = Number(question.category);
      // For an adversarial question, LoCoMo names turns that look like an answer but are none.
      const evidence = category === ADVERSARIAL ? [] : evidenceOf(userId, question.evidence);
      const turns = evidence.filter((id) => sessionOf.has(id));
      questions.push({
        ...{ id: `${userId}/q${at}`, userId, text: String(question.question), asOf: null },
        category: LOCOMO_CATEGORIES[category] ?? `category ${category}`,
        turns: new Set(turns),
        sessions: new Set(turns.map((id) => sessionOf.get(id) ?? "")),
        conditions: category === ADVERSARIAL ? [{ kind: "refusal" }] : goldOf(question.answer),
      });
    }
  }
  return { name: "LoCoMo", users, questions };
}

function locomoSessions(userId: string, conversation: JsonRecord): readonly Session[] {
  const numbers = Object.keys(conversation).flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? []);
  return numbers
    .sort((left, right) => Number(left) - Number(right))
    .map((number) => ({
      id: `${userId}/session ${number}`,
      date: String(conversation[`session_${number}_date_time`] ?? ""),
      turns: recordsIn(conversation[`session_${number}`]).map(({ dia_id: id, speaker, text }) => ({
        ...{ id: `${userId}/${String(id)}`, speaker: String(speaker), text: String(text ?? "") },
      })),
    }));
}

// Evidence is a list of turns such as `D8:6`; some entries name several turns, or are malformed.
function evidenceOf(userId: string, evidence: unknown): readonly string[] {
  const texts = Array.isArray(evidence) ? evidence.map(String) : [];
  return texts.flatMap((text) =>
    [...text.matchAll(/D(\d+):(\d+)/g)].map(([, session, turn]) => `${userId}/D${session}:${turn}`),
  );
}

function longMemEval(items: readonly JsonRecord[], name: string): Conversations {
  const users = new Map<string, readonly Session[]>();
  const questions: ConversationQuestion[] = [];
  for (const item of items) {
    const { question_id: id, haystack_session_ids: ids, haystack_dates: dates, haystack_sessions: haystack } = item;
    if (!Array.isArray(ids) || !Array.isArray(haystack) || typeof id !== "string") {
      throw new UsageError(`${name}: a question has no question_id, haystack_session_ids or haystack_sessions.`);
    }
    const hasNoAnswer = id.endsWith("_abs");
    // each question has its own haystack, so a user is created for each
    const sessionId = (own: unknown) => `${id}/${String(own)}`;
    const answers = Array.isArray(item.answer_session_ids) && !hasNoAnswer ? item.answer_session_ids : [];
    const evidence = new Set<string>();
    const sessions = haystack.map((turns: unknown, at): Session => {
      const session = sessionId(ids[at]);
      return {
        id: session,
        date: String(Array.isArray(dates) ? dates[at] : ""),
        turns: recordsIn(turns).map(({ role, content, has_answer: hasAnswer }, number) => {
          const turn = { id: `${session}:${number}`, speaker: String(role), text: String(content ?? "") };
          if (hasAnswer === true && answers.length > 0) evidence.add(turn.id);
          return turn;
        }),
      };
    });
    users.set(id, sessions);
    const category = String(item.question_type);
    questions.push({
      ...{ id, userId: id, text: String(item.question), turns: evidence },
      category: hasNoAnswer ? "abstention" : category,
      asOf: isoDate(String(item.question_date ?? "")),
      sessions: new Set(answers.map(sessionId)),
      conditions: hasNoAnswer ? [{ kind: "refusal" }] : longMemEvalConditions(category, item.answer),
    });
  }
  return { name: "LongMemEval", users, questions };
}

function longMemEvalConditions(category: string, answer: unknown): readonly Condition[] {
  const golds = goldOf(answer);
  return category === PREFERENCE ? golds.map((gold) => ({ ...gold, kind: "requirement" })) : golds;
}

function goldOf(answer: unknown): readonly { readonly kind: "gold"; readonly text: string }[] {
  const text = typeof answer === "string" || typeof answer === "number" ? String(answer).trim() : "";
  return text === "" ? [] : [{ kind: "gold", text }];
}

// Reads LongMemEval's form `2023/05/30 (Tue) 23:40`; null for other texts.
function isoDate(text: string): string | null {
  const [, year, month, day, time = "00:00"] = /^(\d{4})\/(\d{2})\/(\d{2})(?:\D+(\d{2}:\d{2}))?/.exec(text) ?? [];
  return year === undefined ? null : `${year}-${month}-${day}T${time}:00Z`;
}
