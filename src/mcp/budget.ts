// Keeps the results of tools within `max_tokens`. Tokens are estimated, as for prompts of language models.

import { Type } from "@sinclair/typebox";
import { Optional } from "../api/schema/fields.ts";
import { estimatedTokens, unitsWithin } from "../domain/language-model.ts";
import { cutBefore } from "../kit/text-cut.ts";

/** Smallest and greatest value of `max_tokens`. */
export const TOKENS_MIN = 100;
const TOKENS_MAX = 100_000;
/** Shortest beginning of a text that is worth showing, in tokens. */
const EXCERPT_TOKENS_MIN = 24;

/** The argument `max_tokens`. */
export function MaxTokens(byDefault: number) {
  return Optional(
    Type.Integer({
      minimum: TOKENS_MIN,
      maximum: TOKENS_MAX,
      default: byDefault,
      description: "Greatest size of the result, in estimated tokens; what does not fit is cut, and the result says so",
    }),
  );
}

/** A text, cut at a word if it is too long. */
export interface Fitted {
  readonly text: string;
  readonly isCut: boolean;
}

/** The beginning of a text that fits into a number of tokens. */
export function fitted(text: string, tokensMax: number): Fitted {
  const units = unitsWithin(text, Math.max(0, tokensMax));
  if (units >= text.length) return { text, isCut: false };
  return { text: `${text.slice(0, units === 0 ? 0 : cutBefore(text, 0, units)).trimEnd()}…`, isCut: true };
}

/** Estimated tokens of a value as JSON. */
export function tokensOf(value: unknown): number {
  return estimatedTokens(JSON.stringify(value));
}

/** Items that fit into a budget. */
export interface FittedItems<Item> {
  readonly items: readonly Item[];
  readonly tokens: number;
  readonly cut: number;
  readonly leftOut: number;
}

/**
 * The first items that fit into a number of tokens. The last one is cut if enough of its content fits; the first one is
 * always there, even if nothing but a few words of it fits.
 */
export function firstFitting<Item extends { readonly content: string }>(
  items: readonly Item[],
  tokensMax: number,
): FittedItems<Item> {
  const kept: Item[] = [];
  let tokens = 0;
  const end = (cut: number) => ({ items: kept, tokens, cut, leftOut: items.length - kept.length });
  for (const item of items) {
    const frame = tokensOf({ ...item, content: "" });
    const room = tokensMax - tokens - frame;
    const whole = fitted(item.content, room);
    if (!whole.isCut && room >= 0) {
      kept.push(item);
      tokens += frame + estimatedTokens(item.content);
      continue;
    }
    if (room < EXCERPT_TOKENS_MIN && kept.length > 0) return end(0);
    const { text, isCut } = fitted(item.content, Math.max(EXCERPT_TOKENS_MIN, room));
    kept.push({ ...item, content: text });
    tokens += frame + estimatedTokens(text);
    return end(isCut ? 1 : 0);
  }
  return end(0);
}

/** A sentence about what `firstFitting` cut; null if nothing. */
export function cutNote({ cut, leftOut }: FittedItems<unknown>, tokensMax: number): string | null {
  if (cut === 0 && leftOut === 0) return null;
  const parts = [
    ...(leftOut === 0 ? [] : [`${leftOut} more ${leftOut === 1 ? "item is" : "items are"} left out`]),
    ...(cut === 0 ? [] : ["the last text is cut"]),
  ];
  return `Because of max_tokens ${tokensMax}, ${parts.join(" and ")}. get_memory reads whole memories.`;
}
