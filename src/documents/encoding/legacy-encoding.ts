// Detects encodings that are older than Unicode: decodes the bytes with each one and chooses the text that looks most
// like a language. encoding.ts rules out Unicode before; letters.ts has the character frequencies of the languages.

import { IMPOSSIBLE, isIdeographic, type Language, type Surprise, surpriseIn } from "./letters.ts";

/**
 * Size in bytes of the sample, which consists of words with non-ASCII bytes. A sample of twice this size changed no
 * result.
 */
const SAMPLE_BYTES = 2_048;
/**
 * Number of bytes at the beginning that are searched for these words. If they have any, the rest is not searched: a
 * large table repeats itself.
 */
const SAMPLE_WITHIN_BYTES = 8 * 1024 * 1024;
/** Bytes below this end a word. They are never part of a multi-byte character in any encoding here. */
const WORD_BYTE_MIN = 0x30;
/**
 * Surprise (see letters.ts) of any ASCII character, in nats. It is constant because ASCII characters have the same
 * bytes in all these encodings.
 */
const ASCII_CHARACTER = 2.5;
/**
 * Surprise in nats that is added for unusual neighbours: a capital letter inside a word, a symbol next to a letter, an
 * ideograph next to a letter.
 */
const MIXED_CASE = 4;
const SIGN_BY_LETTER = 2;
const IDEOGRAPH_BY_LETTER = 2;

/** An encoding, and the languages that use it. */
interface Candidate {
  readonly encoding: string;
  readonly languages: readonly Language[];
  /**
   * Surprise in nats that is added to that of the text, because files in this encoding are rarer than files in
   * windows-1252.
   */
  readonly rarity: number;
}

/**
 * Encodings to choose from, by their labels in the Encoding Standard. The following are missing because the runtime
 * cannot decode them: the DOS code pages 437, 850 and 852, HZ, ISO-2022-KR, ISO-2022-CN, EUC-TW and Johab. ISO-8859-16
 * is missing because its Romanian has the same bytes as ISO-8859-2. In the Standard, the labels of ISO-8859-1, -9 and
 * -11 mean windows-1252, -1254 and -874.
 */
const CANDIDATES: readonly Candidate[] = [
  { encoding: "windows-1252", languages: ["western", "de", "fr", "es", "pt", "it", "sv", "da", "ca"], rarity: 0 },
  { encoding: "shift_jis", languages: ["ja"], rarity: 1 },
  { encoding: "euc-jp", languages: ["ja"], rarity: 2 },
  { encoding: "gb18030", languages: ["zh"], rarity: 1 },
  { encoding: "big5", languages: ["zh-Hant"], rarity: 1 },
  { encoding: "euc-kr", languages: ["ko"], rarity: 1 },
  { encoding: "windows-1251", languages: ["ru", "uk", "bg", "sr"], rarity: 1 },
  { encoding: "koi8-r", languages: ["ru"], rarity: 2 },
  { encoding: "koi8-u", languages: ["uk"], rarity: 3 },
  { encoding: "ibm866", languages: ["ru"], rarity: 3 },
  { encoding: "iso-8859-5", languages: ["ru", "bg", "sr"], rarity: 4 },
  { encoding: "x-mac-cyrillic", languages: ["ru"], rarity: 5 },
  { encoding: "windows-1250", languages: ["pl", "cs", "sk", "hu", "ro", "hr"], rarity: 1 },
  { encoding: "iso-8859-2", languages: ["pl", "cs", "sk", "hu", "ro", "hr"], rarity: 2 },
  { encoding: "windows-1254", languages: ["tr"], rarity: 1 },
  { encoding: "windows-1257", languages: ["lt", "lv", "et"], rarity: 2 },
  { encoding: "iso-8859-13", languages: ["lt", "lv"], rarity: 4 },
  { encoding: "windows-1253", languages: ["el"], rarity: 1 },
  { encoding: "iso-8859-7", languages: ["el"], rarity: 2 },
  { encoding: "windows-1255", languages: ["he"], rarity: 1 },
  { encoding: "windows-1256", languages: ["ar"], rarity: 1 },
  { encoding: "iso-8859-6", languages: ["ar"], rarity: 3 },
  { encoding: "windows-874", languages: ["th"], rarity: 1 },
  // Icelandic is after Turkish, whose letters have the same bytes
  { encoding: "windows-1252", languages: ["is"], rarity: 3 },
  { encoding: "windows-1258", languages: ["vi"], rarity: 3 },
  { encoding: "iso-8859-15", languages: ["western", "de", "fr", "es", "pt", "it"], rarity: 4 },
  { encoding: "macintosh", languages: ["western", "de", "fr", "es", "it", "pt", "sv", "da"], rarity: 5 },
];

/**
 * The encoding of bytes as a label of the Encoding Standard; windows-1252 if no other is more likely. Takes about a
 * millisecond, and one pass over the bytes if most are ASCII.
 */
export function legacyEncodingOf(bytes: Uint8Array): string {
  const sample = sampleOf(bytes);
  let best = { text: "", surprise: Number.POSITIVE_INFINITY };
  const readings = CANDIDATES.map((candidate) => {
    const { encoding, languages, rarity } = candidate;
    const decoder = new TextDecoder(encoding as ConstructorParameters<typeof TextDecoder>[0]);
    const text = decoder.decode(sample, { stream: true });
    for (const language of languages) {
      const surprise = rarity + surpriseOf(text, surpriseIn(language), best.surprise);
      if (surprise < best.surprise) best = { text, surprise };
    }
    return { encoding, text };
  });
  // If several encodings decode the sample to the same text, the first and most usual one is chosen. It may be wrong
  // for bytes that only the rest of the file has.
  return readings.find(({ text }) => text === best.text)?.encoding ?? "windows-1252";
}

/** The distinct words with non-ASCII bytes, separated by spaces; the last one may be cut off. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const sample = new Uint8Array(SAMPLE_BYTES);
  const words = new Set<string>();
  let length = 0;
  let wordAt = 0;
  for (let at = 0; at < bytes.byteLength && length < SAMPLE_BYTES; at++) {
    if (at > SAMPLE_WITHIN_BYTES && length > 0) break;
    const byte = bytes[at] ?? 0;
    if (byte < WORD_BYTE_MIN) wordAt = at + 1;
    if (byte < 0x80) continue;
    const from = Math.max(wordAt, at - SAMPLE_BYTES / 4);
    let end = at;
    while (end < bytes.byteLength && end - from < SAMPLE_BYTES && (bytes[end] ?? 0) >= WORD_BYTE_MIN) end++;
    const word = bytes.subarray(from, Math.min(end, from + SAMPLE_BYTES - length));
    at = end - 1;
    const name = Buffer.from(word.buffer, word.byteOffset, word.byteLength).toString("latin1");
    if (words.has(name)) continue;
    words.add(name);
    sample.set(word, length);
    length += word.byteLength;
    if (length < SAMPLE_BYTES) sample[length++] = 0x20;
  }
  return sample.subarray(0, length);
}

/** Surprise of a text in its most likely language, in nats per character. Languages score 3 to 9, noise 12 and more. */
export function meanSurprise(text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (const language of LANGUAGES) {
    least = Math.min(least, surpriseOf(text, surpriseIn(language), least));
  }
  return least / Math.max(1, text.length);
}

const LANGUAGES: ReadonlySet<Language> = new Set(CANDIDATES.flatMap(({ languages }) => languages));

/** Surprise of a text in nats. Stops once it exceeds `limit`. */
function surpriseOf(text: string, surpriseAt: Surprise, limit: number): number {
  let surprise = 0;
  let last = 0x20;
  let lastKind: Kind = KIND.other;
  for (let at = 0; at < text.length && surprise < limit; at++) {
    const code = text.charCodeAt(at);
    const kind = kindOf(code);
    surprise += code < 0x80 ? asciiSurprise(code) : surpriseAt(code);
    if (code > 0x7f || last > 0x7f) surprise += joinSurprise(lastKind, kind);
    last = code;
    lastKind = kind;
  }
  return surprise;
}

function asciiSurprise(code: number): number {
  const isLayout = code >= 0x09 && code <= 0x0d;
  return (code < 0x20 && !isLayout) || code === 0x7f ? IMPOSSIBLE : ASCII_CHARACTER;
}

/** Kind of a character. The kinds of two neighbours decide whether they are an unusual pair. */
const KIND = { unseen: 0, other: 1, latin: 2, small: 3, capital: 4, letter: 5, sign: 6, ideograph: 7 } as const;
type Kind = (typeof KIND)[keyof typeof KIND];

function joinSurprise(last: Kind, kind: Kind): number {
  if (last === KIND.ideograph) return isAlphabetic(kind) ? IDEOGRAPH_BY_LETTER : 0;
  if (kind === KIND.ideograph) return isAlphabetic(last) ? IDEOGRAPH_BY_LETTER : 0;
  if (last === KIND.sign || kind === KIND.sign) return isAlphabetic(last) || isAlphabetic(kind) ? SIGN_BY_LETTER : 0;
  return kind === KIND.capital && (last === KIND.small || last === KIND.latin) ? MIXED_CASE : 0;
}

function isAlphabetic(kind: Kind): boolean {
  return kind >= KIND.latin && kind <= KIND.letter;
}

const kinds = new Uint8Array(0x10000);

/** The kind of a character, cached. */
function kindOf(code: number): Kind {
  const known = kinds[code] ?? KIND.unseen;
  if (known !== KIND.unseen) return known as Kind;
  const kind = lookUpKind(code);
  kinds[code] = kind;
  return kind;
}

function lookUpKind(code: number): Kind {
  const character = String.fromCharCode(code);
  if (isIdeographic(code)) return KIND.ideograph;
  if (code < 0x80) return /[a-z]/.test(character) ? KIND.latin : /[A-Z]/.test(character) ? KIND.letter : KIND.other;
  if (/\p{Ll}/u.test(character)) return KIND.small;
  if (/\p{Lu}/u.test(character)) return KIND.capital;
  if (/\p{L}/u.test(character)) return KIND.letter;
  return /[\p{M}\p{P}\p{Z}\p{Cf}]/u.test(character) ? KIND.other : KIND.sign;
}
