// Keeps the results of tools within `max_tokens`. Tokens are estimated in the same way as for prompts.

import { Type } from "@sinclair/typebox";
import { Optional } from "../api/schema/fields.ts";
import { estimatedTokens, unitsWithin } from "../domain/language-model.ts";
import { cutBefore } from "../kit/text-cut.ts";

/** Smallest and greatest value of `max_tokens`. */
export const TOKENS_MIN = 250;
const TOKENS_MAX = 100_000;
/** Shortest beginning of a text that is worth showing, in tokens. */
const EXCERPT_TOKENS_MIN = 24;
/** Attributes that can be large, in the order in which they are left out. */
const LARGE_ATTRIBUTES = ["metadata", "tags", "externalId", "title"];
/** Share of `max_tokens` that the attributes of one item may take, in a result with several. */
const ATTRIBUTES_SHARE = 0.25;
/** Number of tokens that attributes may always take: ids, times and some tags. */
const ATTRIBUTES_TOKENS_MIN = 100;
/** Number of tokens of a result besides its items: names of fields, numbers and a note. */
export const ENVELOPE_TOKENS = 75;

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

/** An item of a result: a text, and attributes besides. */
interface Item {
  readonly content: string;
}

/** An item from which large attributes may have been removed. */
export interface Lightened<I> {
  readonly item: I;
  /** Whether attributes were removed. */
  readonly isLighter: boolean;
}

/**
 * Removes large attributes from an item until the remaining ones take at most a share of `max_tokens`.
 * @param tokensMax the `max_tokens` of the call
 * @param share largest share of `tokensMax` that attributes may take, between 0 and 1
 */
export function lightened<I extends Item>(item: I, tokensMax: number, share = ATTRIBUTES_SHARE): Lightened<I> {
  const attributesMax = Math.max(ATTRIBUTES_TOKENS_MIN, tokensMax * share);
  let light: I = item;
  for (const name of LARGE_ATTRIBUTES) {
    if (tokensOf({ ...light, content: "" }) <= attributesMax) break;
    light = Object.fromEntries(Object.entries(light).filter(([field]) => field !== name)) as unknown as I;
  }
  return { item: light, isLighter: light !== item };
}

/** Items that fit into a budget. */
export interface FittedItems<I> {
  readonly items: readonly I[];
  /** Estimated tokens of the items as JSON. */
  readonly tokens: number;
  /** Number of items whose text is cut: 0 or 1. */
  readonly cut: number;
  /** Number of items that do not fit. */
  readonly leftOut: number;
  /** Number of items without some of their attributes. */
  readonly lighter: number;
}

/**
 * The first items that fit into a number of tokens. The last one is cut if enough of its content fits.
 * @param resultTokensMax `max_tokens` of the whole result; the items may take `tokensMax` of it
 * @param needsFirst whether the first item is kept even if only a few words of it fit
 */
export function firstFitting<I extends Item>(
  items: readonly I[],
  tokensMax: number,
  resultTokensMax: number,
  needsFirst = true,
): FittedItems<I> {
  const kept: I[] = [];
  let tokens = 0;
  let lighter = 0;
  const end = (cut: number) => ({ items: kept, tokens, cut, leftOut: items.length - kept.length, lighter });
  for (const whole of items) {
    const { item, isLighter } = lightened(whole, resultTokensMax);
    const size = tokensOf(item);
    if (size <= tokensMax - tokens) {
      kept.push(item);
      if (isLighter) lighter += 1;
      tokens += size;
      continue;
    }
    const frame = tokensOf({ ...item, content: "" });
    const room = tokensMax - tokens - frame;
    if (room < EXCERPT_TOKENS_MIN && (kept.length > 0 || !needsFirst)) return end(0);
    const { text, isCut } = fitted(item.content, Math.max(EXCERPT_TOKENS_MIN, room));
    const shown = { ...item, content: text };
    kept.push(shown);
    if (isLighter) lighter += 1;
    tokens += tokensOf(shown);
    return end(isCut ? 1 : 0);
  }
  return end(0);
}

/** A sentence about what `firstFitting` cut or left out; null if nothing. */
export function cutNote({ cut, leftOut, lighter }: FittedItems<unknown>, tokensMax: number): string | null {
  const parts = [
    ...(leftOut === 0 ? [] : [`${leftOut} more ${leftOut === 1 ? "item is" : "items are"} left out`]),
    ...(cut === 0 ? [] : ["the last text is cut"]),
    ...(lighter === 0 ? [] : [LIGHTER]),
  ];
  if (parts.length === 0) return null;
  return `Because of max_tokens ${tokensMax}, ${parts.join(" and ")}. get_memory reads whole memories.`;
}

/** What a note says about attributes that `lightened` left out. */
export const LIGHTER = "large metadata and tags are left out";
