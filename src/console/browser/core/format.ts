// Numbers, sizes and times as people read them.

import { nowMs } from "./clock.ts";
import { language, t } from "./i18n.ts";

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** A whole number with separators. */
export function numberText(value: number): string {
  return value.toLocaleString(language.value);
}

/** A size in bytes. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1_000 ** power;
  return `${value.toLocaleString(language.value, { maximumFractionDigits: power === 0 ? 0 : 1 })} ${UNITS[power]}`;
}

/** A day and a time, in the zone of the browser. */
export function timeText(time: string): string {
  return new Date(time).toLocaleString(language.value, { dateStyle: "medium", timeStyle: "short" });
}

/** A day. A stored day without a time is midnight in UTC, and stays that day. */
export function dayText(time: string): string {
  const isDay = time.endsWith("T00:00:00.000Z");
  return new Date(time).toLocaleDateString(language.value, {
    dateStyle: "medium",
    ...(isDay && { timeZone: "UTC" }),
  });
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
      const format = new Intl.RelativeTimeFormat(language.value, { numeric: "auto", style: "short" });
      return format.format(Math.round(value), unit);
    }
    value /= size;
  }
  return timeText(time);
}

/** A number of things, with the right form of the word. */
export function countText(value: number, one: string, many: string): string {
  return value === 1 ? t(one) : t(many, { n: numberText(value) });
}
