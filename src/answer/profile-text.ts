// Chooses the entries of a profile that fit into a number of tokens, and writes them as Markdown for a prompt.

import { estimatedTokens } from "../domain/language-model.ts";
import { isDateOnly } from "../kit/clock.ts";
import { dayIn } from "../kit/time-zone.ts";

/** A statement of a memory. */
export interface ProfileEntry {
  readonly memoryId: string;
  /** The statement: the content of the memory from `start` to `end`, which are in code points. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Unix milliseconds. */
  readonly occurredAt: number | null;
  readonly occurredAtGiven: string | null;
  /** Name of the person whom the statement is about; only in the list `people`. */
  readonly name?: string;
}

/** Lists of a profile, in the order in which they are written. */
export const PROFILE_LISTS = ["facts", "preferences", "people", "events"] as const;
/** Entries by list, newest first. */
export type ProfileEntries = Readonly<Record<(typeof PROFILE_LISTS)[number], readonly ProfileEntry[]>>;

/** The entries of a profile that fit, and their text. */
export interface FittedProfile {
  readonly lists: ProfileEntries;
  readonly text: string;
  readonly tokens: number;
}

const HEADINGS = { facts: "Facts", preferences: "Preferences", people: "People", events: "Events" } as const;

/**
 * The newest entries of each list that fit into a number of tokens together; the lists take turns.
 * @param zone the time zone in which days are written
 * @param besides returns the number of tokens that an entry takes in addition to its line of the text
 */
export function fittedProfile(
  entries: ProfileEntries,
  tokensMax: number,
  zone: string,
  besides: (entry: ProfileEntry) => number = () => 0,
): FittedProfile {
  const counts = { facts: 0, preferences: 0, people: 0, events: 0 };
  const open = new Set(PROFILE_LISTS);
  let tokens = 0;
  while (open.size > 0) {
    for (const list of open) {
      const entry = entries[list][counts[list]];
      // each heading and each line is rounded up, so the text of all has no more tokens than their sum
      const heading = counts[list] === 0 ? estimatedTokens(`\n\n## ${HEADINGS[list]}\n`) : 0;
      const cost = entry === undefined ? 0 : heading + estimatedTokens(`\n${lineOf(entry, zone)}`) + besides(entry);
      if (entry === undefined || tokens + cost > tokensMax) {
        open.delete(list);
        continue;
      }
      counts[list] += 1;
      tokens += cost;
    }
  }
  const lists = Object.fromEntries(
    PROFILE_LISTS.map((list) => [list, entries[list].slice(0, counts[list])]),
  ) as unknown as ProfileEntries;
  const text = PROFILE_LISTS.filter((list) => lists[list].length > 0)
    .map((list) => `## ${HEADINGS[list]}\n\n${lists[list].map((entry) => lineOf(entry, zone)).join("\n")}`)
    .join("\n\n");
  return { lists, text, tokens: estimatedTokens(text) };
}

function lineOf(entry: ProfileEntry, zone: string): string {
  const day = dayOf(entry, zone);
  return `- ${entry.text.replace(/\s+/g, " ")}${day === null ? "" : ` (${day})`}`;
}

function dayOf({ occurredAt, occurredAtGiven }: ProfileEntry, zone: string): string | null {
  if (occurredAtGiven !== null && isDateOnly(occurredAtGiven)) return occurredAtGiven;
  return occurredAt === null ? null : dayIn(occurredAt, zone);
}
