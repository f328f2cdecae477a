// Reads a collection whose documents are single turns of conversations, and joins the turns of each session into one
// memory.

import { codePointsOf } from "../../src/kit/code-points.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";

/** A session of a conversation as one memory, with the positions of its turns. */
export interface Session {
  readonly externalId: string;
  readonly userId: string;
  /** Text of the memory: `[date]` on the first line, then one turn per line. */
  readonly content: string;
  /** The documents of the turns, each with the position where its turn begins, in Unicode code points, ascending. */
  readonly turns: readonly { readonly document: string; readonly start: number }[];
}

/**
 * The sessions of a collection; null if its documents are not turns, because they lack `metadata.session`,
 * `metadata.userId` or `metadata.date`.
 * @param path corpus in BEIR format, with the turns of a session in order
 * @throws Error if the file is missing or has another format
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
    const found = sessions.get(externalId) ?? { userId, content: first, points: codePointsOf(first), turns: [] };
    found.turns.push({ document: String(value._id), start: found.points });
    found.content += `${value.text}\n`;
    found.points += codePointsOf(value.text) + 1;
    sessions.set(externalId, found);
  }
  return [...sessions].map(([externalId, { userId, content, turns }]) => ({ externalId, userId, content, turns }));
}

/** The document of the turn that contains the code point `start`. */
export function turnAt({ externalId, turns }: Session, start: number): string {
  return turns.findLast((turn) => turn.start <= start)?.document ?? `before the first turn of ${externalId}`;
}
