// A set of memories that crash tests can count and recognise: note n is a sentence that no other note has.

import { expect } from "bun:test";
import { isRecord } from "../../src/kit/record.ts";
import type { RunningServer } from "../support/server.ts";
import type { Answered } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Something that answers API calls: a spawned server or a service in the test's own process. */
export interface Caller {
  call(method: string, path: string, body?: unknown): Promise<Pick<Answered, "status"> & { readonly body: unknown }>;
}

/** A memory as these tests read it. */
export interface Seen {
  readonly id: string;
  readonly status: string;
  readonly content: string;
}

const THINGS = ["anchor", "barrel", "candle", "drum", "easel", "flute", "globe", "hammer", "inkwell", "jug"];
const PLACES = ["attic", "barn", "cellar", "dairy", "engine room", "foyer", "garage", "hall", "icehouse", "kiln"];

/** The sentence of note `n`; unique below 10,000. */
export function note(n: number): string {
  const word = `${String.fromCharCode(97 + (n % 26))}${(n * 7919).toString(36)}q`;
  return `The ${THINGS[n % 10]} marked ${word} stands in the ${PLACES[Math.floor(n / 10) % 10]}, shelf ${n}.`;
}

/** All items of a list, over all pages. */
export async function listAll(server: Caller, query = ""): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await server.call(
      "GET",
      `/v1/memories?limit=100${query}${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    if (status !== 200 || !isRecord(body)) throw new Error(`the list answered ${status}`);
    seen.push(...(body.data as readonly Seen[]));
    cursor = body.cursor as string | null;
  } while (cursor !== null);
  return seen;
}

/** Stores the notes with these numbers in one batch. Returns the ids of their memories, in the same order. */
export async function storeBatch(server: Caller, numbers: readonly number[]): Promise<readonly string[]> {
  const memories = numbers.map((n) => ({ content: note(n) }));
  const { status, body } = await server.call("POST", "/v1/memories/batch", { memories });
  if (status !== 202 || !isRecord(body)) throw new Error(`the batch answered ${status}`);
  return (body.data as readonly { readonly memory: { readonly id: string } }[]).map(({ memory }) => memory.id);
}

/** Waits until no memory is in status `processing`. */
export async function allDone(server: Caller): Promise<void> {
  await until(
    "no memory is being processed",
    async () => (await server.call("GET", "/v1/memories?status=processing&limit=1").then(dataOf)).length === 0,
  );
}

/** Searches for the sentence of a note. Returns how often the note's memory is among the results. */
export async function timesFound(server: Caller, id: string, n: number): Promise<number> {
  const { status, body } = await server.call("POST", "/v1/memories/search", { query: note(n), limit: 20 });
  expect(status).toBe(200);
  const results = isRecord(body)
    ? (body.results as readonly { readonly memory_id: string; readonly content: string }[])
    : [];
  return results.filter((result) => result.memory_id === id && result.content === note(n)).length;
}

/** Maximum number of searches per check. Each takes about 50 ms. */
const SEARCHES_MAX = 10;

/**
 * Expects that exactly these notes exist, completed and with their texts. `ids` has the memory's id by the number of
 * the note. Also expects that a search finds each note of an evenly spread sample exactly once.
 */
export async function expectWhole(server: Caller, ids: ReadonlyMap<number, string>): Promise<void> {
  await allDone(server);
  const seen = await listAll(server);
  const expected = [...ids].map(([n, id]) => ({ id, status: "completed", content: note(n) }));
  const byId = (left: Seen, right: Seen) => (left.id < right.id ? -1 : 1);
  const shown = seen.map(({ id, status, content }) => ({ id, status, content }));
  expect(shown.sort(byId)).toEqual(expected.sort(byId));
  const step = Math.ceil(ids.size / SEARCHES_MAX);
  for (const [n, id] of [...ids].filter((_, at) => at % step === 0)) {
    expect([n, await timesFound(server, id, n)]).toEqual([n, 1]);
  }
}

/** Calls a server that may be killed during the call. Returns null if the server did not answer. */
export async function ifAlive(server: RunningServer, method: string, path: string, body?: unknown) {
  try {
    return await server.call(method, path, body);
  } catch {
    return null; // killed before it answered, so nothing was acknowledged
  }
}

function dataOf({ body }: { readonly body: unknown }): readonly Seen[] {
  return isRecord(body) ? (body.data as readonly Seen[]) : [];
}
