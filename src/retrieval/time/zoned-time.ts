// The time that a query names, in the time zone of the query. The grammar and the preference for passages of that time
// know wall times only; this file translates them from and to instants.

import type { Memory } from "../../domain/memory.ts";
import { isDateOnly } from "../../kit/clock.ts";
import { instantOf, UTC, wallTime } from "../../kit/time-zone.ts";
import type { TimeSpan } from "./calendar.ts";
import { type QueryTime, resolveTime } from "./resolve-time.ts";

/** The time that a query names. Its spans are wall times of `zone`. */
export type ZonedTime = QueryTime & {
  /** IANA name, or an offset such as `+09:00`. */
  readonly zone: string;
};

/** When, in which language and in which time zone a query is asked. */
export interface AskedQueryTime {
  /** Unix milliseconds. */
  readonly asOf: number;
  /** Whether `asOf` is a whole day, given by its first instant in UTC: the same day in every time zone. */
  readonly isDay?: boolean | undefined;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  /** Returns the time zone, an IANA name or an offset; called only if the query names a time. Default: UTC. */
  readonly timeZone?: (() => string | Promise<string>) | undefined;
}

/** The time that a query names in its time zone; null if it names none. */
export async function resolveZoned(
  query: string,
  { asOf, isDay = false, language, timeZone }: AskedQueryTime,
): Promise<ZonedTime | null> {
  const inUtc = resolveTime(query, asOf, language);
  if (inUtc === null) return null;
  const zone = (await timeZone?.()) ?? UTC;
  const time = isDay || zone === UTC ? inUtc : resolveTime(query, wallTime(asOf, zone), language);
  return time === null ? null : { ...time, zone };
}

/** A span of wall times as instants. */
export function instantsOf({ from, to }: TimeSpan, zone: string): TimeSpan {
  return { from: from === null ? null : instantOf(from, zone), to: to === null ? null : instantOf(to, zone) };
}

/**
 * When a memory was stored and when it happened, as wall times of a zone. A date without a time is the same day in
 * every zone.
 */
export function wallTimesOf(
  { createdAt, occurredAt, occurredAtGiven }: Pick<Memory, "createdAt" | "occurredAt" | "occurredAtGiven">,
  zone: string,
): Pick<Memory, "createdAt" | "occurredAt"> {
  if (occurredAt === null) return { createdAt: wallTime(createdAt, zone), occurredAt };
  const isDate = occurredAtGiven !== null && isDateOnly(occurredAtGiven);
  const happened = isDate ? Date.parse(occurredAtGiven) : wallTime(occurredAt, zone);
  return { createdAt: wallTime(createdAt, zone), occurredAt: happened };
}
