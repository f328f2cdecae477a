// Selects the part of a conversation that fits into a prompt: its last exchanges.

import type { Message } from "../domain/chat.ts";
import { estimatedTokens } from "../domain/language-model.ts";
import type { LlmMessage } from "../ports/language-model.ts";
import { withoutCitationMarks } from "./citation-marks.ts";
import { beginningOf } from "./excerpt.ts";
import { neutralise } from "./prompt-markup.ts";

/** One turn of a conversation. */
export type Turn = Pick<Message, "role" | "content">;

/** Maximum number of turns that are considered. */
const TURNS_MAX = 20;
/** Maximum number of tokens of a turn that are considered. */
const TURN_TOKENS_MAX = 2_048;
/** Maximum share of the budget for one turn. Longer turns are cut at the end of a sentence. */
const TURN_SHARE_MAX = 0.4;
/** Minimum number of tokens per turn. If the budget allows fewer, the prompt has no history. */
const TURN_TOKENS_MIN = 16;
/** Placeholder for a missing answer, because many models require questions and answers to alternate. */
const UNANSWERED = "(This was not answered.)";

/**
 * Returns the last exchanges as messages, oldest first, with alternating questions and answers: as many whole exchanges
 * as fit into `tokensMax`. The text is neutralised (prompt-markup.ts). Citations are removed, because their numbers
 * referred to other sources.
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

/** Text of a turn, neutralised and without citations; may be empty. */
export function cleanTurnText({ role, content }: Turn): string {
  const beginning = beginningOf(content, TURN_TOKENS_MAX);
  return neutralise(role === "assistant" ? withoutCitationMarks(beginning) : beginning).trim();
}

// Joins consecutive questions, and consecutive answers. Answers before the first question are dropped.
function exchangesOf(history: readonly Turn[]): (readonly [Turn, Turn])[] {
  const exchanges: { question: string; answer: string }[] = [];
  for (const turn of history) {
    const content = cleanTurnText(turn);
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
