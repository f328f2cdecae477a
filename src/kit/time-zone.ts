// Time zones: which names are known, and which time local clocks show (wall time). A wall time is the number of Unix
// milliseconds at which a clock in UTC shows the same, so that arithmetic with days and months needs no zone.

import { DAY_MS, isoTime } from "./clock.ts";

/** Coordinated Universal Time. */
export const UTC = "UTC";

const FIXED_OFFSET = /^([+-])(\d{2}):(\d{2})$/;
const MINUTE_MS = 60_000;

/** Maximum number of formatters that are kept. There are about 600 names of zones. */
const FORMATTERS_MAX = 700;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether a text is the IANA name of a time zone, such as `Europe/Zurich`. Offsets are no names. */
export function isTimeZone(name: string): boolean {
  return /^[A-Za-z]/.test(name) && formatterOf(name) !== null;
}

/** The offset at the end of an ISO 8601 time, such as `+09:00`; null if there is none. `Z` is none. */
export function offsetIn(time: string): string | null {
  return /T.*([+-]\d{2}:\d{2})$/.exec(time)?.[1] ?? null;
}

/**
 * The wall time in a zone at an instant.
 * @param instant Unix milliseconds
 * @param zone IANA name, or an offset such as `+09:00`
 */
export function wallTime(instant: number, zone: string): number {
  return instant + offsetMs(instant, zone);
}

/** The day that a calendar in a zone shows, such as `2026-11-29`. */
export function dayIn(instant: number, zone: string): string {
  return isoTime(wallTime(instant, zone)).slice(0, "2026-11-29".length);
}

/**
 * The instant, in Unix milliseconds, at which a clock in a zone shows a wall time: the earlier one if it is shown
 * twice. For a wall time that is skipped when clocks go forward, the offset before the change counts.
 */
export function instantOf(wall: number, zone: string): number {
  if (zone === UTC) return wall;
  // Clocks are changed at most once in two days.
  const before = wall - offsetMs(wall - DAY_MS, zone);
  const after = wall - offsetMs(wall + DAY_MS, zone);
  return [before, after].find((instant) => wallTime(instant, zone) === wall) ?? before;
}

function offsetMs(instant: number, zone: string): number {
  if (zone === UTC) return 0;
  const [, sign, hours, minutes] = FIXED_OFFSET.exec(zone) ?? [];
  if (sign !== undefined) return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  const formatter = formatterOf(zone);
  if (formatter === null || Number.isNaN(new Date(instant).getTime())) return 0;
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatter.formatToParts(instant)) parts[type] = value;
  const { year, month, day, hour, minute, second, era } = parts;
  const shown = new Date(0);
  shown.setUTCFullYear(era === "B" ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day));
  shown.setUTCHours(Number(hour), Number(minute), Number(second));
  return shown.getTime() - Math.floor(instant / 1000) * 1000;
}

function formatterOf(zone: string): Intl.DateTimeFormat | null {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  let made: Intl.DateTimeFormat;
  try {
    made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      ...{ era: "narrow", year: "numeric", month: "numeric", day: "numeric" },
      ...{ hour: "numeric", minute: "numeric", second: "numeric" },
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(zone, made);
  return made;
}
