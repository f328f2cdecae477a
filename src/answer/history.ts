// What of a conversation a language model is shown: the last turns, whole as long as there is room for them.

import type { Message } from "../domain/chat.ts";
import { estimatedTokens } from "../domain/language-model.ts";
import type { LlmMessage } from "../ports/language-model.ts";
import { withoutCitationMarks } from "./citation-marks.ts";
import { beginningOf } from "./excerpt.ts";
import { harmless } from "./marks.ts";

/** What somebody said in a conversation. */
export type Turn = Pick<Message, "role" | "content">;

/** Turns looked at, at most. */
const TURNS_MAX = 20;
/** Tokens of a turn that are looked at, at most. */
const TURN_TOKENS_MAX = 2_048;
/** Share of the room that one turn may have; a longer one is cut at the end of a sentence. */
const TURN_SHARE_MAX = 0.4;
/** Fewer tokens show nothing of a turn. */
const TURN_TOKENS_MIN = 16;
/** Stands for the answer to a question that was not answered: many models want questions and answers by turns. */
const UNANSWERED = "(This was not answered.)";

/**
 * The last exchanges as messages, oldest first, a question and its answer by turns: whole exchanges, as many as fit
 * into `tokensMax`. Harmless (marks.ts), and without citations, whose numbers meant other sources.
 * @param history oldest first
 */
export function historyWithin(history: readonly Turn[], tokensMax: number): readonly LlmMessage[] {
  const turnTokensMax = Math.floor(tokensMax * TURN_SHARE_MAX);
  if (turnTokensMax < TURN_TOKENS_MIN) return [];
  const kept: LlmMessage[] = [];
  let left = tokensMax;
  for (const exchange of exchangesOf(history.slice(-TURNS_MAX)).reverse()) {
    const messages = exchange.map(({ role, content }) => ({ role, content: beginningOf(content, turnTokensMax) }));
    const tokens = messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
    if (tokens > left) break;
    left -= tokens;
    kept.unshift(...messages);
  }
  return kept;
}

/** What was said, harmless and without citations; empty where that leaves nothing. */
export function said({ role, content }: Turn): string {
  const beginning = beginningOf(content, TURN_TOKENS_MAX);
  return harmless(role === "assistant" ? withoutCitationMarks(beginning) : beginning).trim();
}

// Questions in a row are one; so are answers. What is said before the first question has no place in an exchange.
function exchangesOf(history: readonly Turn[]): (readonly [Turn, Turn])[] {
  const exchanges: { question: string; answer: string }[] = [];
  for (const turn of history) {
    const content = said(turn);
    const last = exchanges.at(-1);
    if (content === "") continue;
    if (turn.role === "assistant") {
      if (last !== undefined) last.answer += last.answer === "" ? content : `\n\n${content}`;
    } else if (last !== undefined && last.answer === "") {
      last.question += `\n\n${content}`;
    } else {
      exchanges.push({ question: content, answer: "" });
    }
  }
  return exchanges.map(({ question, answer }) => [
    { role: "user", content: question },
    { role: "assistant", content: answer === "" ? UNANSWERED : answer },
  ]);
}
