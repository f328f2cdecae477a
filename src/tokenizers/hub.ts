// Tokenisers of any kind, from the `tokenizer.json` that model hubs use. The library @huggingface/tokenizers knows the
// normalisers, models and special tokens; this file adds truncation and pairs. wordpiece.ts and unigram.ts are faster,
// for the models that ship with the program.

import { readFileSync } from "node:fs";
import { Tokenizer as HubTokenizer } from "@huggingface/tokenizers";
import type { PairTokens, Tokenizer } from "./tokenizer.ts";

/**
 * Maximum number of UTF-16 code units that are read for one token. Tokens of real texts have four on average; a text
 * whose tokens are longer is cut off early.
 */
const CHARACTERS_PER_TOKEN_MAX = 32;
/**
 * Texts are counted in blocks of about this length, cut at white space, so that the time is linear. Where a block ends,
 * the count can differ by one.
 */
const COUNTED_BLOCK_CHARACTERS = 8_192;
/** Stands for the two texts when the special tokens around them are looked up. Any tokeniser knows them. */
const SAMPLES = ["a", "b"] as const;

/** Special tokens around the texts, with the token types of a pair. */
interface Frame {
  readonly before: readonly number[];
  readonly between: readonly number[];
  readonly after: readonly number[];
}

/** Loads a `tokenizer.json`, of any kind that the library knows. @throws Error if the file is not such a tokeniser */
export function loadHubTokenizer(path: string): Tokenizer {
  const description = JSON.parse(readFileSync(path, "utf8"));
  const tokenizer = new HubTokenizer(description, {});
  const plain = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const [first, second] = SAMPLES;
  const single = frameOf(tokenizer.encode(first).ids, [plain(first)]);
  const encodedPair = tokenizer.encode(first, { text_pair: second, return_token_type_ids: true });
  const pair = frameOf(encodedPair.ids, [plain(first), plain(second)]);
  // the library gives no types if the tokeniser has no special tokens
  const types: readonly number[] = encodedPair.token_type_ids ?? [];
  const hasTypes = types.includes(1);
  const secondBegins = types.indexOf(1) - pair.before.length - plain(first).length;
  /** For texts without any token. */
  const unknown = tokenizer.token_to_id(String(description.model?.unk_token ?? "")) ?? 0;

  const read = (text: string, tokensMax: number) => {
    return plain(text.slice(0, tokensMax * CHARACTERS_PER_TOKEN_MAX)).slice(0, Math.max(0, tokensMax));
  };
  return {
    encode: (text, tokensMax) => {
      const room = tokensMax - single.before.length - single.after.length;
      const ids = [...single.before, ...read(text, room), ...single.after];
      return Int32Array.from(ids.length > 0 ? ids : [unknown]);
    },
    encodePair: (one, other, firstTokensMax, tokensMax): PairTokens => {
      const special = pair.before.length + pair.between.length + pair.after.length;
      const left = read(one, firstTokensMax);
      const right = read(other, tokensMax - special - left.length);
      const ids = Int32Array.from([...pair.before, ...left, ...pair.between, ...right, ...pair.after]);
      return { ids, firstLength: hasTypes ? pair.before.length + left.length + secondBegins : ids.length };
    },
    count: (text) => blocksOf(text).reduce((sum, block) => sum + plain(block).length, 0),
  };
}

/** The special tokens around the tokens of texts. @throws Error if the tokens of a text are not there */
function frameOf(ids: readonly number[], texts: readonly (readonly number[])[]): Frame {
  const parts: number[][] = [];
  let at = 0;
  for (const tokens of texts) {
    const begin = ids.findIndex(
      (_, from) => from >= at && tokens.every((token, offset) => ids[from + offset] === token),
    );
    if (begin === -1 || tokens.length === 0) throw new Error("the tokeniser changes texts beside special tokens");
    parts.push(ids.slice(at, begin));
    at = begin + tokens.length;
  }
  const [before = [], between = []] = parts;
  return { before, between, after: ids.slice(at) };
}

function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let begin = 0;
  while (text.length - begin > COUNTED_BLOCK_CHARACTERS) {
    const space = text.slice(begin, begin + COUNTED_BLOCK_CHARACTERS).search(/\s\S*$/);
    const end = begin + (space > 0 ? space : COUNTED_BLOCK_CHARACTERS);
    blocks.push(text.slice(begin, end));
    begin = end;
  }
  blocks.push(text.slice(begin));
  return blocks;
}
