// A collection of conversations whose documents are single turns, as the memories they come from: a session each.

import { isRecord } from "../../src/cli/client.ts";
import { readLines } from "../../src/cli/lines.ts";

/** A session of a conversation, as one memory, and where its judged turns stand in it. */
export interface Session {
  readonly externalId: string;
  readonly userId: string;
  /** `[date]` on the first line, a turn on each other. */
  readonly content: string;
  /** The turns' documents with the Unicode code points at which they begin, ascending. */
  readonly turns: readonly { readonly document: string; readonly start: number }[];
}

/**
 * The sessions of a collection; null when its documents are no turns (`metadata.session`, `metadata.userId`, `metadata.date`).
 * @param path of a corpus in BEIR's layout, a session's turns in their order.
 * @throws Error when the file is missing or not in this layout.
 */
export async function readSessions(path: string): Promise<readonly Session[] | null> {
  const sessions = new Map<
    string,
    { userId: string; content: string; points: number; turns: Session["turns"][number][] }
  >();
  for await (const line of readLines(path)) {
    const value: unknown = JSON.parse(line.text);
    if (!isRecord(value) || typeof value.text !== "string") throw new Error(`${path}: line ${line.number} has no text`);
    const { session, userId, date } = isRecord(value.metadata) ? value.metadata : {};
    if (typeof session !== "number" || typeof userId !== "string" || typeof date !== "string") return null;
    const externalId = `${userId}/session ${session}`;
    const first = `[${date}]\n`;
    const found = sessions.get(externalId) ?? { userId, content: first, points: pointsOf(first), turns: [] };
    found.turns.push({ document: String(value._id), start: found.points });
    found.content += `${value.text}\n`;
    found.points += pointsOf(value.text) + 1;
    sessions.set(externalId, found);
  }
  return [...sessions].map(([externalId, { userId, content, turns }]) => ({ externalId, userId, content, turns }));
}

/** The document of the turn that holds a passage which begins at this code point. */
export function turnAt({ externalId, turns }: Session, start: number): string {
  return turns.findLast((turn) => turn.start <= start)?.document ?? `before the first turn of ${externalId}`;
}

function pointsOf(text: string): number {
  let points = 0;
  for (const _ of text) points++;
  return points;
}
