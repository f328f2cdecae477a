// An oracle outside of the server: it records every acknowledged change, and compares a server with its records over
// the API. A change whose request got no answer may have happened or not; the first check after it finds out.

import { WAIT_MS } from "../../support/until.ts";
import { type Caller, isWithin } from "./calls.ts";
import { checkAccounts, type KeyRecord, type Records } from "./records.ts";

/** What a memory shows: its text and a number that its metadata carry. Every change has a new number. */
export interface Shown {
  readonly text: string;
  readonly revision: number;
}

/** A memory of an oracle. */
export interface MemoryRecord {
  readonly id: string;
  /** State after the last acknowledged change; null after a deletion. */
  state: Shown | null;
  /** State that a request without an answer asked for; undefined if there is none. */
  asked: Shown | null | undefined;
  /** All texts that were ever sent for the memory. */
  readonly texts: Set<string>;
  /** The texts that it has had, oldest first, except one that is kept in a file until it is published. */
  readonly accepted: string[];
}

/** Something that a server shows and must not, or does not show and must. */
export interface Finding {
  readonly kind:
    | "lost"
    | "back"
    | "old"
    | "unknown"
    | "not ended"
    | "failed"
    | "not found"
    | "found wrongly"
    | "refused"
    | "damaged";
  readonly what: string;
}

/** How a check is done. */
export interface CheckOptions {
  /**
   * Maximum number of memories that are searched for, of histories that are read, and of deleted memories that are
   * asked for by their ids; default: all. What all memories show is always compared.
   */
  readonly samplesMax?: number;
  /** Maximum time until every memory has ended its processing. */
  readonly endsWithinMs?: number;
}

/** Number of results of a search. */
const RESULTS = 10;
/** Maximum length of a query, which is the beginning of a text. */
const QUERY_CHARACTERS = 400;
/** Number of texts that are compared of one history. */
const HISTORY_MAX = 20;
/** Number of findings that a message lists. */
const FINDINGS_SHOWN = 12;

interface ListedMemory {
  readonly id: string;
  readonly status: string;
  readonly content: string;
  readonly metadata: { readonly revision?: number } | null;
  /** Why a memory failed. */
  readonly error?: unknown;
}

/** The records of all acknowledged changes. */
export class Oracle implements Records {
  readonly memories = new Map<string, MemoryRecord>();
  /** Texts of requests to create a memory that got no answer, with their revisions. */
  readonly asked = new Map<string, Shown>();
  readonly chats: Records["chats"] = new Map();
  readonly events: Records["events"] = new Map();
  readonly keys: KeyRecord[] = [];
  readonly webhooks: Records["webhooks"] = new Map();
  /** Number of acknowledged changes. */
  acknowledged = 0;

  /**
   * Records a memory that was created.
   * @param isKeptInFile whether its text is kept in a file until it is published; its history may lack it then
   */
  created(id: string, shown: Shown, isKeptInFile = false): void {
    const accepted = isKeptInFile ? [] : [shown.text];
    this.memories.set(id, { id, state: shown, asked: undefined, texts: new Set([shown.text]), accepted });
    this.acknowledged += 1;
  }

  /** Records what is asked of a memory, before the request is sent. */
  asks(memory: MemoryRecord, wanted: Shown | null): void {
    memory.asked = wanted;
    if (wanted !== null) memory.texts.add(wanted.text);
  }

  /** Records the answer to what was asked: whether it was done. */
  answered(memory: MemoryRecord, isDone: boolean): void {
    if (isDone && memory.asked !== undefined) {
      accept(memory, memory.asked);
      this.acknowledged += 1;
    }
    memory.asked = undefined;
  }

  /** The memories that exist. */
  get living(): readonly MemoryRecord[] {
    return [...this.memories.values()].filter(({ state }) => state !== null);
  }

  /** A copy that a check cannot change. */
  copy(): Oracle {
    const copy = new Oracle();
    for (const [id, memory] of this.memories) {
      copy.memories.set(id, { ...memory, texts: new Set(memory.texts), accepted: [...memory.accepted] });
    }
    for (const [text, shown] of this.asked) copy.asked.set(text, shown);
    for (const [id, chat] of this.chats) copy.chats.set(id, { ...chat });
    for (const [id, event] of this.events) copy.events.set(id, { ...event });
    copy.keys.push(...this.keys.map((key) => ({ ...key })));
    for (const [id, webhook] of this.webhooks) copy.webhooks.set(id, { ...webhook });
    copy.acknowledged = this.acknowledged;
    return copy;
  }

  /**
   * Compares the server with the records. Requests without an answer are decided by what the server shows. The texts
   * of all results of searches are compared too.
   */
  async check(server: Caller, options: CheckOptions = {}): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    const report = (kind: Finding["kind"], what: string) => void findings.push({ kind, what });
    await this.#waitForEnds(server, report, options.endsWithinMs ?? WAIT_MS);
    const failed = await this.#checkMemories(server, report);
    const samplesMax = options.samplesMax ?? this.memories.size;
    await this.#checkDeleted(server, report, samplesMax);
    await this.#checkHistories(server, report, samplesMax);
    await this.#checkSearches(server, report, { failed, samplesMax });
    await checkAccounts(this, server, report);
    return findings;
  }

  async #waitForEnds(server: Caller, report: Report, timeoutMs: number): Promise<void> {
    let left: readonly ListedMemory[] = [];
    const hasEnded = async () => {
      const { status, body } = await server.call("GET", "/v1/memories?status=processing&limit=100");
      if (status === 200) left = (body as { readonly data: readonly ListedMemory[] }).data;
      return status === 200 && left.length === 0;
    };
    const ended = await isWithin(hasEnded, timeoutMs);
    if (!ended) report("not ended", `${left.length} memories are still processing after ${timeoutMs} ms`);
  }

  /** Returns the ids of the memories that have failed. */
  async #checkMemories(server: Caller, report: Report): Promise<ReadonlySet<string>> {
    const [seen, failed] = [new Set<string>(), new Set<string>()];
    for await (const { id, status, content, metadata, error } of listed(server)) {
      const shown = { text: content, revision: metadata?.revision ?? -1 };
      if (seen.has(id)) report("unknown", `${id} is listed twice`);
      seen.add(id);
      const record = this.memories.get(id);
      if (record === undefined) this.#adopt(id, shown, report);
      else if (status !== "failed" || record.state === null) this.#compare(record, shown, report);
      if (record !== undefined) record.asked = undefined;
      if (status === "failed") failed.add(id);
      if (status === "failed") report("failed", `${id} (${record?.state?.text}): ${JSON.stringify(error)}`);
      else if (status !== "completed") report("not ended", `${id} is ${status}`);
    }
    for (const record of this.memories.values()) {
      if (seen.has(record.id)) continue;
      if (record.state !== null && record.asked !== null) report("lost", `${record.id} (${record.state.text})`);
      else record.state = null;
      record.asked = undefined;
    }
    this.asked.clear();
    return failed;
  }

  /** A memory that nobody was told of may exist if a request for its text got no answer. */
  #adopt(id: string, shown: Shown, report: Report): void {
    const asked = this.asked.get(shown.text);
    this.asked.delete(shown.text);
    if (asked === undefined || asked.revision !== shown.revision) report("unknown", `${id} (${shown.text})`);
    else this.created(id, shown, true); // it may have been an upload
  }

  #compare(record: MemoryRecord, shown: Shown, report: Report): void {
    const { state, asked } = record;
    record.asked = undefined;
    if (isSame(state, shown)) return;
    if (asked !== undefined && isSame(asked, shown)) accept(record, shown);
    else if (state === null) report("back", `${record.id} (${shown.text})`);
    else if (record.texts.has(shown.text)) {
      const difference = shown.text === state.text ? `revision ${shown.revision}` : shown.text;
      report("old", `${record.id} shows ${difference} instead of ${state.text}, revision ${state.revision}`);
    } else report("damaged", `${record.id} shows ${JSON.stringify(shown.text.slice(0, 80))} instead of ${state.text}`);
  }

  async #checkDeleted(server: Caller, report: Report, samplesMax: number): Promise<void> {
    const deleted = [...this.memories.values()].filter(({ state }) => state === null);
    for (const { id } of sampleOf(deleted, samplesMax)) {
      const { status } = await server.call("GET", `/v1/memories/${id}`);
      if (status !== 404) report("back", `${id} answers ${status} although it was deleted`);
    }
  }

  /** Every text that a memory has had is in its history, in order, and none is there twice. */
  async #checkHistories(server: Caller, report: Report, samplesMax: number): Promise<void> {
    const rewritten = this.living.filter(({ accepted }) => accepted.length > 1);
    for (const { id, accepted, texts } of sampleOf(rewritten, samplesMax)) {
      const { status, body } = await server.call("GET", `/v1/memories/${id}/history?limit=100`);
      if (status !== 200) {
        report("refused", `the history of ${id} answered ${status}`);
        continue;
      }
      const { data } = body as { readonly data: readonly { readonly kind: string; readonly content: string }[] };
      const shown = data.flatMap(({ kind, content }) => (kind === "text" ? [content] : [])).toReversed();
      if (new Set(shown).size < shown.length) report("back", `${id} has a text twice in its history`);
      const expected = accepted.slice(-HISTORY_MAX);
      const missing = expected.filter((text) => !shown.includes(text));
      if (missing.length > 0) report("lost", `${id} lacks ${missing.join(" and ")} in its history`);
      const known = shown.filter((text) => expected.includes(text));
      if (missing.length === 0 && known.join() !== expected.join()) report("old", `${id} has another order of texts`);
      const unknown = shown.filter((text) => !texts.has(text));
      if (unknown.length > 0) report("damaged", `${id} has ${unknown.join(" and ")} in its history`);
    }
  }

  /** Searches for the newest text of each memory, or for its last one if it was deleted. */
  async #checkSearches(
    server: Caller,
    report: Report,
    { failed, samplesMax }: { readonly failed: ReadonlySet<string>; readonly samplesMax: number },
  ): Promise<void> {
    for (const record of sampleOf([...this.memories.values()], samplesMax)) {
      const query = (record.state?.text ?? [...record.texts].at(-1) ?? "").slice(0, QUERY_CHARACTERS);
      const { status, body } = await server.call("POST", "/v1/memories/search", {
        ...{ query, mode: "hybrid", limit: RESULTS },
      });
      if (status !== 200) {
        report("refused", `a search answered ${status}`);
        continue;
      }
      const { results } = body as { readonly results: readonly { readonly memory_id: string; content: string }[] };
      const found = results.filter(({ memory_id }) => memory_id === record.id);
      if (record.state !== null && found.length === 0 && !failed.has(record.id))
        report("not found", `${record.id} by its own text`);
      if (new Set(found.map(({ content }) => content)).size < found.length) {
        report("found wrongly", `${record.id} has the same passage twice among the results`);
      }
      for (const { memory_id, content } of results) {
        const current = this.memories.get(memory_id)?.state?.text;
        if (current?.includes(content) !== true)
          report("found wrongly", `${memory_id} (${content}) instead of (${current})`);
      }
    }
  }
}

/** At most `countMax` records: the newest, which a crash can concern, and as many that are spread over all others. */
function sampleOf(records: readonly MemoryRecord[], countMax: number): readonly MemoryRecord[] {
  if (records.length <= countMax) return records;
  const newestMax = Math.ceil(countMax / 2);
  const others = records.slice(0, records.length - newestMax);
  const step = Math.ceil(others.length / Math.max(1, countMax - newestMax));
  return [...others.filter((_, at) => at % step === 0), ...records.slice(-newestMax)];
}

/** Called for each finding of a check. */
export type Report = (kind: Finding["kind"], what: string) => void;

function accept(memory: MemoryRecord, shown: Shown | null): void {
  if (shown !== null && shown.text !== memory.state?.text) memory.accepted.push(shown.text);
  memory.state = shown;
}

function isSame(one: Shown | null, other: Shown | null): boolean {
  return one?.text === other?.text && one?.revision === other?.revision;
}

async function* listed(server: Caller): AsyncGenerator<ListedMemory> {
  let cursor: string | null = null;
  do {
    const path = `/v1/memories?limit=100${cursor === null ? "" : `&cursor=${cursor}`}`;
    const { status, body } = await server.call("GET", path);
    if (status !== 200) throw new Error(`the list of memories answered ${status}: ${JSON.stringify(body)}`);
    const page = body as { readonly data: readonly ListedMemory[]; readonly cursor: string | null };
    yield* page.data;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** The findings as text, one per line; empty if there are none. */
export function describe(findings: readonly Finding[]): string {
  const lines = findings.slice(0, FINDINGS_SHOWN).map(({ kind, what }) => `${kind}: ${what}`);
  const more = findings.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}
