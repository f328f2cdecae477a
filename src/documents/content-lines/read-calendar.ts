// Reads a calendar (iCalendar, RFC 5545): events, tasks, journal entries and free times, each as a section.

import { shortTitle } from "../../domain/title.ts";
import { onOneLine, readable } from "../text-writer.ts";
import {
  type Component,
  componentsOf,
  type Property,
  partsOf,
  propertyOfName,
  splitUnescaped,
  textOf,
} from "./content-lines.ts";

const TITLES: Readonly<Record<string, string>> = {
  VEVENT: "Event",
  VTODO: "Task",
  VJOURNAL: "Note",
  VFREEBUSY: "Free and busy",
};
/** How the value of a property is written. */
type ValueForm = "time" | "text" | "person" | "rule" | "duration";

/** Labels of the properties that are read, in the order in which they are written. */
const LABELS: readonly (readonly [name: string, label: string, form: ValueForm])[] = [
  ["DTSTART", "Start", "time"],
  ["DTEND", "End", "time"],
  ["DUE", "Due", "time"],
  ["COMPLETED", "Completed", "time"],
  ["DURATION", "Duration", "duration"],
  ["RRULE", "Repeats", "rule"],
  ["RDATE", "Also on", "time"],
  ["EXDATE", "Not on", "time"],
  ["RECURRENCE-ID", "Instead of", "time"],
  ["LOCATION", "Location", "text"],
  ["ORGANIZER", "Organizer", "person"],
  ["ATTENDEE", "Attendees", "person"],
  ["CONTACT", "Contact", "text"],
  ["STATUS", "Status", "text"],
  ["PRIORITY", "Priority", "text"],
  ["PERCENT-COMPLETE", "Done (percent)", "text"],
  ["CATEGORIES", "Categories", "text"],
  ["RESOURCES", "Resources", "text"],
  ["URL", "URL", "text"],
  ["COMMENT", "Comment", "text"],
  ["FREEBUSY", "Busy", "time"],
];
const RULE_WORDS: Readonly<Record<string, string>> = {
  DAILY: "every day",
  WEEKLY: "every week",
  MONTHLY: "every month",
  YEARLY: "every year",
  HOURLY: "every hour",
  MINUTELY: "every minute",
  SECONDLY: "every second",
};
const RULE_UNITS: Readonly<Record<string, string>> = {
  DAILY: "days",
  WEEKLY: "weeks",
  MONTHLY: "months",
  YEARLY: "years",
  HOURLY: "hours",
  MINUTELY: "minutes",
  SECONDLY: "seconds",
};
const DAYS: Readonly<Record<string, string>> = {
  MO: "Monday",
  TU: "Tuesday",
  WE: "Wednesday",
  TH: "Thursday",
  FR: "Friday",
  SA: "Saturday",
  SU: "Sunday",
};

/** The text of a calendar, with its name as title. */
export function calendarText(file: string) {
  const { components, brokenLines } = componentsOf(file);
  const pieces: string[] = [];
  let name = "";
  for (const calendar of components) {
    name ||= onOneLine(textOf(propertyOfName(calendar, "X-WR-CALNAME") ?? propertyOfName(calendar, "NAME")));
    const entries = calendar.name === "VCALENDAR" ? calendar.components : [calendar];
    for (const entry of entries) {
      if (!Object.hasOwn(TITLES, entry.name)) continue;
      pieces.push(`${pieces.length === 0 ? "" : "\n\n"}${sectionOf(entry)}`);
    }
  }
  return {
    pieces: pieces.length === 0 && components.length === 0 ? [file] : pieces,
    title: name === "" ? null : shortTitle(name),
    warnings: brokenWarning(brokenLines),
  };
}

/** The warning for lines that could not be read. */
export function brokenWarning(lines: number): readonly string[] {
  if (lines === 0) return [];
  return [`${lines === 1 ? "1 line was" : `${lines.toLocaleString("en-US")} lines were`} not read: no name or value.`];
}

function sectionOf(entry: Component): string {
  const summary = onOneLine(textOf(propertyOfName(entry, "SUMMARY")));
  const lines = [`## ${summary || TITLES[entry.name]}`, ""];
  for (const [name, label, form] of LABELS) {
    const values = entry.properties.filter((property) => property.name === name).map((each) => written(each, form));
    const shown = values.filter((value) => value !== "");
    if (shown.length > 0) lines.push(`- ${label}: ${shown.join(", ")}`);
  }
  for (const alarm of entry.components.filter(({ name }) => name === "VALARM")) {
    const trigger = propertyOfName(alarm, "TRIGGER");
    if (trigger !== null) lines.push(`- Reminder: ${durationWords(trigger.value) ?? written(trigger, "time")}`);
  }
  const files = entry.properties.filter(({ name, value }) => name === "ATTACH" && /^https?:/i.test(value));
  for (const { value } of files) lines.push(`- Attachment: ${value.trim()}`);
  const description = readable(textOf(propertyOfName(entry, "DESCRIPTION")));
  if (description !== "") lines.push("", description);
  return lines.join("\n");
}

function written(property: Property, form: ValueForm): string {
  switch (form) {
    case "time": {
      const zone = property.parameters.get("TZID")?.[0];
      return property.value
        .split(",")
        .map((value) =>
          value
            .split("/")
            .map((part) => timeOf(part, zone))
            .join(" to "),
        )
        .join(", ");
    }
    case "person":
      return personOf(property);
    case "rule":
      return ruleWords(property.value);
    case "duration":
      return durationWords(property.value) ?? property.value;
    default:
      return onOneLine(
        splitUnescaped(property.value, ",").length > 1 ? partsOf(property).join("; ") : textOf(property),
      );
  }
}

/**
 * A time: `2026-05-05 14:00 (Europe/Berlin)`, or a day.
 * @param zone name of the time zone, for a time that is not in UTC
 */
function timeOf(value: string, zone = ""): string {
  const [, year, month, day, hour, minute, second, utc] =
    /^\s*(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})?(Z)?)?\s*$/.exec(value) ?? [];
  if (year === undefined) return durationWords(value) ?? onOneLine(value);
  const date = `${year}-${month}-${day}`;
  if (hour === undefined) return date;
  const shownZone = utc === undefined ? onOneLine(zone.replace(/^\//, "")) : "UTC";
  const seconds = second === undefined || second === "00" ? "" : `:${second}`;
  return `${date} ${hour}:${minute}${seconds}${shownZone === "" ? "" : ` (${shownZone})`}`;
}

function personOf(property: Property): string {
  const name = onOneLine(property.parameters.get("CN")?.[0] ?? "");
  const address = property.value.trim().replace(/^mailto:/i, "");
  const answer = property.parameters.get("PARTSTAT")?.[0]?.toLowerCase();
  const person = name === "" || name === address ? address : `${name} <${address}>`;
  const isAnswered = answer === "declined" || answer === "tentative" || answer === "accepted";
  return isAnswered ? `${person} (${answer})` : person;
}

/** A rule of repetition in words: `every 2 weeks on Monday, until 2026-12-31`. */
function ruleWords(rule: string): string {
  const parts = new Map(rule.split(";").map((part) => part.split("=") as [string, string]));
  const frequency = parts.get("FREQ") ?? "";
  const interval = Number(parts.get("INTERVAL") ?? 1);
  const unit = RULE_UNITS[frequency];
  if (unit === undefined) return onOneLine(rule);
  const words = [interval > 1 ? `every ${interval} ${unit}` : (RULE_WORDS[frequency] ?? "")];
  const days = parts.get("BYDAY");
  if (days !== undefined) words.push(`on ${days.split(",").map(dayWords).join(", ")}`);
  const numbers: readonly (readonly [string, string])[] = [
    ["BYMONTHDAY", "on day"],
    ["BYMONTH", "in month"],
    ["BYWEEKNO", "in week"],
    ["BYYEARDAY", "on day of the year"],
    ["BYHOUR", "at hour"],
    ["BYMINUTE", "at minute"],
    ["BYSETPOS", "of these number"],
  ];
  for (const [key, label] of numbers) {
    const value = parts.get(key);
    if (value !== undefined) words.push(`${label} ${value.replaceAll(",", ", ")}`);
  }
  const until = parts.get("UNTIL");
  const count = parts.get("COUNT");
  const limit = until === undefined ? "" : `, until ${timeOf(until)}`;
  return onOneLine(`${words.join(" ")}${limit}${count === undefined ? "" : `, ${count} times`}`);
}

function dayWords(day: string): string {
  const [, number = "", name = ""] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(day.trim()) ?? [];
  const word = DAYS[name] ?? day;
  if (number === "") return word;
  return Number(number) < 0 ? `the last ${word}` : `${word} number ${Number(number)}`;
}

/** A duration in words; null if it is none: `-PT15M` is `15 minutes before`. */
function durationWords(value: string): string | null {
  const [, sign, weeks, days, hours, minutes, seconds] =
    /^\s*([+-])?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?\s*$/.exec(value) ??
    [];
  const counts = [
    [weeks, "week"],
    [days, "day"],
    [hours, "hour"],
    [minutes, "minute"],
    [seconds, "second"],
  ] as const;
  const words = counts.flatMap(([count, unit]) =>
    count === undefined || Number(count) === 0 ? [] : [`${Number(count)} ${unit}${Number(count) === 1 ? "" : "s"}`],
  );
  if (words.length === 0) return /^\s*[+-]?P/.test(value) && /\d/.test(value) ? "at the start" : null;
  return `${words.join(" ")}${sign === "-" ? " before" : ""}`;
}
