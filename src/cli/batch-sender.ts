// Sends memories to a server in batches, two at a time, and counts the outcomes.

import { isRecord, type JsonRecord } from "../kit/record.ts";
import { type Client, RequestRefused } from "./client.ts";
import type { Progress } from "./terminal.ts";

/** A batch with this many characters is sent; the API's limit for a request is 100 MB. */
const BATCH_CHARACTERS_MAX = 8 * 1024 * 1024;
/** Maximum number of requests in flight. With two, one batch is read and sent while the server stores the other. */
const REQUESTS_MAX = 2;
/** Number of problems that are printed; further ones are only counted. */
const PROBLEMS_SHOWN_MAX = 20;

/** Number of memories by outcome. */
export interface ImportSummary {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
}

/** A memory to send. */
export interface Draft {
  /** Where it comes from, such as `line 12`. */
  readonly place: string;
  /** Body of createMemory. */
  readonly memory: JsonRecord;
  /** Called with the id of the stored memory. */
  readonly onStored?: (id: string) => void;
}

/** Counts outcomes, and prints the first problems. */
export class Tally implements ImportSummary {
  created = 0;
  updated = 0;
  unchanged = 0;
  refused = 0;
  readonly #progress: Progress;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  get stored(): number {
    return this.created + this.updated + this.unchanged;
  }

  /** Counts and prints something that cannot be imported. @param why continues `place`, as in `line 12 has no text` */
  refuse(place: string, why: string): void {
    this.refused++;
    if (this.refused <= PROBLEMS_SHOWN_MAX) this.#progress.finish(`${place} ${why}`);
    if (this.refused === PROBLEMS_SHOWN_MAX) this.#progress.finish("further problems are not shown");
  }

  summary(): string {
    return `${this.created} created, ${this.updated} updated, ${this.unchanged} unchanged, ${this.refused} refused`;
  }
}

/** Collects memories into batches and sends them. */
export class BatchSender {
  readonly #client: Client;
  readonly #batchMax: number;
  readonly #tally: Tally;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  #batch: Draft[] = [];
  #characters = 0;

  /** @param batchMax memories per request */
  constructor(client: Client, batchMax: number, tally: Tally) {
    this.#client = client;
    this.#batchMax = batchMax;
    this.#tally = tally;
  }

  /**
   * Adds a memory, and sends the batch if it is full.
   * @param characters approximate length of its JSON
   * @throws Error like `finish`, about an earlier batch
   */
  async add(draft: Draft, characters: number): Promise<void> {
    this.#batch.push(draft);
    this.#characters += characters;
    if (this.#batch.length >= this.#batchMax || this.#characters >= BATCH_CHARACTERS_MAX) await this.#send();
  }

  /**
   * Sends the rest and waits for all answers.
   * @throws Error if the server cannot be reached, stays busy, or refuses a request for other reasons than its contents
   */
  async finish(): Promise<void> {
    if (this.#batch.length > 0) await this.#send();
    await Promise.all(this.#inFlight);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #send(): Promise<void> {
    const drafts = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    if (this.#inFlight.size >= REQUESTS_MAX) await Promise.race(this.#inFlight);
    if (this.#failures.length > 0) throw this.#failures[0];
    const sending = store(this.#client, drafts, this.#tally).then(
      () => void this.#inFlight.delete(sending),
      (error: unknown) => {
        this.#inFlight.delete(sending);
        this.#failures.push(error); // thrown later: requests fail in the background while more is read
      },
    );
    this.#inFlight.add(sending);
  }
}

async function store(client: Client, drafts: readonly Draft[], tally: Tally): Promise<void> {
  let items: readonly unknown[];
  try {
    const answer = await client.send("POST", "/v1/memories/batch", { memories: drafts.map(({ memory }) => memory) });
    items = Array.isArray(answer.data) ? answer.data : [];
  } catch (error) {
    // The whole batch was refused. Sending the items one by one shows the reason for each.
    if (!(error instanceof RequestRefused) || (error.status !== 400 && error.status !== 413)) throw error;
    if (drafts.length > 1) {
      for (const draft of drafts) await store(client, [draft], tally);
    } else {
      tally.refuse(drafts[0]?.place ?? "", `was refused: ${error.message}`);
    }
    return;
  }
  for (const [at, draft] of drafts.entries()) {
    const item = items[at];
    const memory = isRecord(item) && isRecord(item.memory) ? item.memory : null;
    if (typeof memory?.id === "string") draft.onStored?.(memory.id);
    if (memory === null) {
      const error =
        isRecord(item) && isRecord(item.error) ? item.error.message : "the server returned no result for it";
      tally.refuse(draft.place, `was refused: ${String(error)}`);
    } else if (isRecord(item) && item.outcome === "created") tally.created++;
    else if (isRecord(item) && item.outcome === "unchanged") tally.unchanged++;
    else tally.updated++;
  }
}
