// Reads BEAM ("Beyond a Million Tokens", Tavakoli et al. 2025): the folder of its repository for one size
// (`chats/100K`), or a JSON array with the rows of its dataset. A chat is a list of batches; each batch is a session.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { isRecord, type JsonRecord, parsedJson, recordsIn } from "../../src/kit/record.ts";
import type { Condition, ConversationQuestion, Conversations, Session, Turn } from "./conversations.ts";

const QUESTIONS_FILE = join("probing_questions", "probing_questions.json");
/** Names of a chat's file, as BEAM spells them. The authors ask about the truncated chat if there is one. */
const CHAT_FILES = ["chat_trunecated.json", "chat.json"];
const ABSTENTION = "abstention";
const ORDERING = "event_ordering";
/** Number of a message at its end, such as `->-> 1,2`; an artefact of the program that generated the chats. */
const MESSAGE_NUMBER = /\s*->->\s*[\d,]+\s*$/;

/** Ids of the turn and the session of a message. */
interface Place {
  readonly turn: string;
  readonly session: string;
}

/** Whether a record is a row of BEAM's dataset. */
export function isBeamRow(row: JsonRecord): boolean {
  return Array.isArray(row.chat) && row.probing_questions !== undefined;
}

/** Reads the chats of one size as rows. @throws UsageError if there are none, or one is not valid JSON */
export function readBeamFolder(folder: string): readonly JsonRecord[] {
  const names = readdirSync(folder).sort((left, right) => left.localeCompare(right, "en", { numeric: true }));
  const rows = names.flatMap((name) => {
    const chat = CHAT_FILES.map((file) => join(folder, name, file)).find(existsSync);
    const questions = join(folder, name, QUESTIONS_FILE);
    if (chat === undefined || !existsSync(questions)) return [];
    return [{ conversation_id: name, chat: readJson(chat), probing_questions: readJson(questions) }];
  });
  if (rows.length === 0) {
    throw new UsageError(`${folder} has no chats of BEAM: no folder in it has chat.json and ${QUESTIONS_FILE}.`);
  }
  return rows;
}

/**
 * Converts BEAM's rows to users with sessions, and their questions.
 * @param name name of the file, for error messages
 * @throws UsageError if a chat has no messages, or its probing questions are not an object
 */
export function beam(rows: readonly JsonRecord[], name: string): Conversations {
  const users = new Map<string, readonly Session[]>();
  const questions: ConversationQuestion[] = [];
  for (const [place, row] of rows.entries()) {
    const given = String(row.conversation_id ?? `chat ${place + 1}`);
    const userId = users.has(given) ? `${given} (${place + 1})` : given;
    const places = new Map<string, Place[]>();
    const batches = batchesOf(row.chat);
    if (batches.length === 0) throw new UsageError(`${name}: the chat of ${userId} has no messages.`);
    users.set(
      userId,
      batches.map((messages, at) => sessionOf(`${userId}/session ${at + 1}`, messages, places)),
    );
    for (const [category, asked] of Object.entries(probingQuestions(row.probing_questions, userId, name))) {
      for (const [at, question] of recordsIn(asked).entries()) {
        const evidence = category === ABSTENTION ? [] : evidenceOf(question.source_chat_ids, places);
        questions.push({
          ...{ id: `${userId}/${category} ${at + 1}`, userId, category, asOf: null },
          text: String(question.question),
          turns: new Set(evidence.map(({ turn }) => turn)),
          sessions: new Set(evidence.map(({ session }) => session)),
          conditions: conditionsOf(category, question),
        });
      }
    }
  }
  return { name: "BEAM", users, questions };
}

/**
 * The messages of each batch. The repository groups the messages of a batch into turns; the dataset lists them; and
 * chats of ten million tokens have several plans with batches.
 */
function batchesOf(chat: unknown): readonly (readonly JsonRecord[])[] {
  const batches = Array.isArray(chat) ? chat : [];
  return batches.flatMap((batch: unknown) => {
    if (Array.isArray(batch)) return [recordsIn(batch.flat())];
    if (!isRecord(batch)) return [];
    if (Array.isArray(batch.turns)) return [recordsIn(batch.turns.flat())];
    const plans = Object.keys(batch).sort((left, right) => left.localeCompare(right, "en", { numeric: true }));
    return plans.flatMap((plan) => batchesOf(batch[plan]));
  });
}

/** The messages of a batch as a session. @param places receives the messages by their ids, which may be repeated */
function sessionOf(id: string, messages: readonly JsonRecord[], places: Map<string, Place[]>): Session {
  const date = messages.map((message) => message.time_anchor).find((time) => typeof time === "string" && time !== "");
  const turns = messages.map((message, at): Turn => {
    const turn = `${id}:${at}`;
    const known = places.get(String(message.id)) ?? [];
    places.set(String(message.id), [...known, { turn, session: id }]);
    return { id: turn, speaker: String(message.role), text: String(message.content ?? "").replace(MESSAGE_NUMBER, "") };
  });
  return { id, date: readableDate(String(date ?? "")), turns };
}

// `ids` has ids of messages: in lists, or in an object whose keys say what each message is to the question, such as
// `first_statement`. A question is without evidence if one of its ids belongs to no message or to several, because then
// nobody can say which messages the evidence is.
function evidenceOf(ids: unknown, places: ReadonlyMap<string, readonly Place[]>): readonly Place[] {
  const named = [...new Set(leaves(ids).map(String))].map((id) => places.get(id) ?? []);
  return named.every(({ length }) => length === 1) ? named.flat() : [];
}

function leaves(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(leaves);
  if (isRecord(value)) return Object.values(value).flatMap(leaves);
  return value === null || value === undefined ? [] : [value];
}

// The rubric is a list of what a right answer does. For an ordering, it has only the events, so the whole order is one
// condition.
function conditionsOf(category: string, question: JsonRecord): readonly Condition[] {
  if (category === ABSTENTION) return [{ kind: "refusal" }];
  const rubric = (Array.isArray(question.rubric) ? question.rubric : [])
    .map(String)
    .filter((text) => text.trim() !== "");
  if (category === ORDERING && rubric.length > 0) {
    const order = rubric.map((event, at) => `${at + 1}. ${event}`).join("; ");
    return [{ kind: "requirement", text: `The response lists these events, in exactly this order: ${order}` }];
  }
  return rubric.map((text) => ({ kind: "requirement", text }));
}

function probingQuestions(given: unknown, userId: string, name: string): JsonRecord {
  const questions = typeof given === "string" ? parsedJson(given) : given;
  if (isRecord(questions)) return questions;
  throw new UsageError(
    `${name}: the probing_questions of ${userId} are no JSON object. In the dataset they are a literal of Python; docs/benchmarking.md says how to convert it.`,
  );
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new UsageError(`${file} is not valid JSON.`, { cause });
  }
}

// Turns BEAM's form `March-15-2024` into `March 15, 2024`; leaves other texts as they are.
function readableDate(text: string): string {
  const [, month, day, year] = /^([A-Za-z]+)-(\d{1,2})-(\d{4})$/.exec(text) ?? [];
  return month === undefined ? text : `${month} ${day}, ${year}`;
}
