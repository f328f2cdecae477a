// Writes years of the eras of Japan and of Taiwan, which formats of dates in workbooks show: `ggge` is 令和6.

/** Writes a token of an era (`g`) or of its year (`e`) as a quoted text. @param day the date in ISO 8601 */
export type Calendar = (token: string, day: string) => string;

/** First days of the eras of Japan, the latest first, with their names and the letters that stand for them. */
const ERAS = [
  { from: "2019-05-01", name: "令和", letter: "R" },
  { from: "1989-01-08", name: "平成", letter: "H" },
  { from: "1926-12-25", name: "昭和", letter: "S" },
  { from: "1912-07-30", name: "大正", letter: "T" },
  { from: "1868-01-25", name: "明治", letter: "M" },
] as const;
/** The year before the first one of the calendar of Taiwan. */
const YEAR_ZERO_TAIWAN = 1911;
/** Languages of format codes, as a number or by name. */
const JAPANESE = /\[\$[^\]-]*-(?:[0-9a-f]*411\]|ja)/i;
const TAIWAN = /\[\$[^\]-]*-(?:[0-9a-f]*404\]|zh-(?:hant-)?tw)/i;
/** With this option of the language, the first year of an era is written as 元. */
const FIRST_YEAR = /-x-gannen/i;

/**
 * The calendar of a format code; null if it shows no year of an era: without a language, a year alone is that of the
 * common calendar.
 * @param tokens matches the tokens of a code, where repeated letters are one token
 */
export function calendarOf(code: string, tokens: RegExp): Calendar | null {
  const found = code.match(tokens) ?? [];
  if (!found.some((token) => /^(?:g+|e+)$/i.test(token))) return null;
  if (TAIWAN.test(code)) return inTaiwan;
  if (!JAPANESE.test(code) && !found.some((token) => /^g+$/i.test(token))) return null;
  const hasFirstYear = FIRST_YEAR.test(code);
  return (token, day) => inJapan(token, day, hasFirstYear);
}

function inJapan(token: string, day: string, hasFirstYear: boolean): string {
  const era = ERAS.find(({ from }) => day >= from) ?? ERAS[ERAS.length - 1];
  const { from, name, letter } = era ?? ERAS[0];
  if (token.startsWith("g")) return quoted([letter, name.slice(0, 1), name][token.length - 1] ?? name);
  const year = yearOf(day) - yearOf(from) + 1;
  return quoted(year === 1 && hasFirstYear ? "元" : String(year).padStart(Math.min(token.length, 2), "0"));
}

function inTaiwan(token: string, day: string): string {
  if (token.startsWith("g")) return quoted(token.length > 2 ? "中華民國" : "民國");
  return quoted(String(yearOf(day) - YEAR_ZERO_TAIWAN).padStart(Math.min(token.length, 2), "0"));
}

function yearOf(day: string): number {
  return Number(day.slice(0, 4));
}

function quoted(text: string): string {
  return `"${text}"`;
}
