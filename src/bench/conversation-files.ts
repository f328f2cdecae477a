// Reads the files of memory benchmarks: LoCoMo (locomo10.json) and LongMemEval (longmemeval_s.json and others). The
// files are the user's; this program has none of their texts.

import { UsageError } from "../kit/flags.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";

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

/** A question about the sessions of one user. */
export interface ConversationQuestion {
  readonly id: string;
  readonly userId: string;
  readonly text: string;
  readonly category: string;
  /** ISO 8601; null if the file has no time. */
  readonly asOf: string | null;
  /** Ids of the turns with the evidence; empty if the file names only sessions. */
  readonly turns: ReadonlySet<string>;
  /** Ids of the sessions with the evidence; never empty. */
  readonly sessions: ReadonlySet<string>;
}

/** The content of a file. */
export interface Conversations {
  readonly name: "LoCoMo" | "LongMemEval";
  /** Sessions by user. */
  readonly users: ReadonlyMap<string, readonly Session[]>;
  readonly questions: readonly ConversationQuestion[];
  /** Number of questions that were left out, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Categories of LoCoMo, by number. */
const LOCOMO_CATEGORIES = ["", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
const ADVERSARIAL = 5;

/**
 * Parses a file.
 * @param name name of the file, for messages
 * @throws UsageError if it is no such file, or lacks something
 */
export function parseConversations(text: string, name: string): Conversations {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${name} is not valid JSON.`, { cause });
  }
  const items = Array.isArray(value) ? value.filter(isRecord) : [];
  const [first] = items;
  if (first !== undefined && isRecord(first.conversation) && Array.isArray(first.qa)) return locomo(items);
  if (first !== undefined && Array.isArray(first.haystack_sessions)) return longMemEval(items, name);
  throw new UsageError(`${name} is neither LoCoMo (conversation, qa) nor LongMemEval (haystack_sessions).`);
}

function locomo(samples: readonly JsonRecord[]): Conversations {
  const users = new Map<string, readonly Session[]>();
  const questions: ConversationQuestion[] = [];
  const leftOut: Record<string, number> = {};
  for (const [place, sample] of samples.entries()) {
    const userId = String(sample.sample_id ?? `sample-${place + 1}`);
    const sessions = locomoSessions(userId, isRecord(sample.conversation) ? sample.conversation : {});
    users.set(userId, sessions);
    const sessionOf = new Map(sessions.flatMap(({ id, turns }) => turns.map((turn) => [turn.id, id] as const)));
    for (const [at, question] of records(sample.qa).entries()) {
      const turns = evidenceOf(userId, question.evidence).filter((id) => sessionOf.has(id));
      const category = Number(question.category);
      const reason =
        category === ADVERSARIAL ? "adversarial, has no answer" : turns.length === 0 ? "without evidence" : null;
      if (reason !== null) {
        leftOut[reason] = (leftOut[reason] ?? 0) + 1;
        continue;
      }
      questions.push({
        ...{ id: `${userId}/q${at}`, userId, text: String(question.question), asOf: null },
        category: LOCOMO_CATEGORIES[category] ?? `category ${category}`,
        turns: new Set(turns),
        sessions: new Set(turns.map((id) => sessionOf.get(id) ?? "")),
      });
    }
  }
  return { name: "LoCoMo", users, questions, leftOut };
}

function locomoSessions(userId: string, conversation: JsonRecord): readonly Session[] {
  const numbers = Object.keys(conversation).flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? []);
  return numbers
    .sort((left, right) => Number(left) - Number(right))
    .map((number) => ({
      id: `${userId}/session ${number}`,
      date: String(conversation[`session_${number}_date_time`] ?? ""),
      turns: records(conversation[`session_${number}`]).map(({ dia_id: id, speaker, text }) => ({
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
  const leftOut: Record<string, number> = {};
  for (const item of items) {
    const { question_id: id, haystack_session_ids: ids, haystack_dates: dates, haystack_sessions: haystack } = item;
    if (!Array.isArray(ids) || !Array.isArray(haystack) || typeof id !== "string") {
      throw new UsageError(`${name}: a question has no question_id, haystack_session_ids or haystack_sessions.`);
    }
    // each question has a haystack of its own, so it is a user of its own
    const sessionId = (own: unknown) => `${id}/${String(own)}`;
    const answers = Array.isArray(item.answer_session_ids) ? item.answer_session_ids : [];
    const reason = id.endsWith("_abs") ? "abstention, has no answer" : answers.length === 0 ? "without evidence" : null;
    if (reason !== null) {
      leftOut[reason] = (leftOut[reason] ?? 0) + 1;
      continue;
    }
    const evidence = new Set<string>();
    const sessions = haystack.map((turns: unknown, at): Session => {
      const session = sessionId(ids[at]);
      return {
        id: session,
        date: String(Array.isArray(dates) ? dates[at] : ""),
        turns: records(turns).map(({ role, content, has_answer: hasAnswer }, number) => {
          const turn = { id: `${session}:${number}`, speaker: String(role), text: String(content ?? "") };
          if (hasAnswer === true) evidence.add(turn.id);
          return turn;
        }),
      };
    });
    users.set(id, sessions);
    questions.push({
      ...{ id, userId: id, text: String(item.question), category: String(item.question_type), turns: evidence },
      asOf: isoDate(String(item.question_date ?? "")),
      sessions: new Set(answers.map(sessionId)),
    });
  }
  return { name: "LongMemEval", users, questions, leftOut };
}

// `2023/05/30 (Tue) 23:40`
function isoDate(text: string): string | null {
  const [, year, month, day, time = "00:00"] = /^(\d{4})\/(\d{2})\/(\d{2})(?:\D+(\d{2}:\d{2}))?/.exec(text) ?? [];
  return year === undefined ? null : `${year}-${month}-${day}T${time}:00Z`;
}

function records(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
