// Numbers, sizes and times as people read them.

import { nowMs } from "./clock.ts";
import { language, t } from "./i18n.ts";

const UNITS = ["B", "KB", "MB", "GB", "TB"];

// Making a formatter takes longer than using it, and tables use them for every cell.
const dates = new Map<string, Intl.DateTimeFormat>();
const numbers = new Map<string, Intl.NumberFormat>();
const relatives = new Map<string, Intl.RelativeTimeFormat>();

function kept<Formatter>(known: Map<string, Formatter>, name: string, make: () => Formatter): Formatter {
  const key = `${language.value} ${name}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = make();
  known.set(key, made);
  return made;
}

function dateFormat(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return kept(dates, name, () => new Intl.DateTimeFormat(language.value, options));
}

/** A whole number with separators. */
export function numberText(value: number): string {
  return kept(numbers, "whole", () => new Intl.NumberFormat(language.value)).format(value);
}

/** A size in bytes. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1_000 ** power;
  return `${value.toLocaleString(language.value, { maximumFractionDigits: power === 0 ? 0 : 1 })} ${UNITS[power]}`;
}

/** A day and a time, in the zone of the browser. */
export function timeText(time: string): string {
  return dateFormat("time", { dateStyle: "medium", timeStyle: "short" }).format(new Date(time));
}

/** A day and a time with seconds, in the zone of the browser. */
export function exactTimeText(time: string): string {
  return dateFormat("exact time", { dateStyle: "medium", timeStyle: "medium" }).format(new Date(time));
}

/** A day. Midnight in UTC stands for a day without a time, which is shown as the same day in every time zone. */
export function dayText(time: string): string {
  const isDay = time.endsWith("T00:00:00.000Z");
  const format = isDay
    ? dateFormat("day in UTC", { dateStyle: "medium", timeZone: "UTC" })
    : dateFormat("day", { dateStyle: "medium" });
  return format.format(new Date(time));
}

/** The time of day in a time zone; empty if this browser does not know the zone. */
export function timeInZone(ms: number, timeZone: string): string {
  try {
    return dateFormat(`time in ${timeZone}`, { timeStyle: "short", timeZone }).format(ms);
  } catch {
    return ""; // a zone that is newer than the browser
  }
}

/** How long ago a time was, or how soon it is. */
export function agoText(time: string): string {
  const seconds = (new Date(time).getTime() - nowMs()) / 1_000;
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [
    ["second", 60],
    ["minute", 60],
    ["hour", 24],
    ["day", 30],
    ["month", 12],
    ["year", Number.POSITIVE_INFINITY],
  ];
  let value = seconds;
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) {
      if (unit === "second" && Math.abs(value) < 45) return t("just now");
      const options = { numeric: "auto", style: "short" } as const;
      const format = kept(relatives, "short", () => new Intl.RelativeTimeFormat(language.value, options));
      return format.format(Math.round(value), unit);
    }
    value /= size;
  }
  return timeText(time);
}

/** A number with a noun in singular or plural. `many` contains `{n}`. */
export function countText(value: number, one: string, many: string): string {
  return value === 1 ? t(one) : t(many, { n: numberText(value) });
}

/** The name of a language by its code; null if the code names none. */
export function languageName(code: string | null): string | null {
  if (code === null || code === "und") return null;
  try {
    return new Intl.DisplayNames(language.value, { type: "language" }).of(code) ?? code;
  } catch {
    return code; // not a code of a language
  }
}
