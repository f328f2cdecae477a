// The server as a benchmark sees it: single requests with their times, storing passages, searches with their stages.

import { LIMITS } from "../../src/domain/limits.ts";
import type { ModeName } from "../../src/domain/ranking.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../src/kit/record.ts";
import { replyOf, type SearchReply } from "./ask.ts";
import type { Passage, Question } from "./passages.ts";

/** Number of times that storing a corpus shows its progress. */
const PROGRESS_STEPS = 200;
/** Interval between two looks whether stored passages are searchable. */
const POLL_MS = 50;
const REQUEST_TIMEOUT_MS = 120_000;
const BUSY_WAIT_MS = 500;

/** An answer with its time. */
export interface Reply {
  /** HTTP status; 0 if the connection failed, the time ran out, or the body was not JSON. */
  readonly status: number;
  readonly body: JsonRecord;
  /** Time from sending until the whole body was read, in milliseconds. */
  readonly ms: number;
}

/** The answer to a search. The document of a hit is the id of its passage, empty if `store` did not store it. */
export interface Asked extends Pick<SearchReply, "stages"> {
  readonly status: number;
  readonly ms: number;
  readonly hits: SearchReply["passages"];
}

/** Options of a search. */
export interface AskOptions {
  readonly mode: ModeName;
  readonly limit?: number;
  readonly filters?: JsonRecord;
}

/** A server, and the ids that it gave to the stored passages. */
export class Target {
  readonly #passageOf = new Map<string, string>();

  constructor(
    /** Address of the server, which may change when it starts again. */
    public url: string,
    /** Key of the project whose memories are stored and searched. */
    private key: string,
  ) {}

  /** Uses another project of the server from now on, with a new key. @throws Error if there is no such project */
  async useProject(projectId: string): Promise<void> {
    const { status, body } = await this.call("POST", "/v1/keys", { name: "bench", scopes: ["*"], projectId });
    if (status !== 201) throw new Error(`The server answered ${status} to a new key of project ${projectId}.`);
    this.key = String(body.key);
  }

  /** Sends one request, without retries. */
  async call(
    method: "GET" | "POST" | "PUT",
    path: string,
    body?: unknown,
    timeoutMs = REQUEST_TIMEOUT_MS,
  ): Promise<Reply> {
    const text = body === undefined ? null : JSON.stringify(body);
    const startedAt = performance.now();
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.key}`,
          ...(text === null ? {} : { "content-type": "application/json" }),
        },
        ...(text === null ? {} : { body: text }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer = await response.text();
      const ms = performance.now() - startedAt;
      const value: unknown = answer === "" ? {} : JSON.parse(answer);
      return { status: response.status, body: isRecord(value) ? value : {}, ms };
    } catch {
      return { status: 0, body: {}, ms: performance.now() - startedAt };
    }
  }

  /** Searches, with stages and signals. */
  async ask({ text, userId, asOf }: Question, { mode, limit = 10, filters }: AskOptions): Promise<Asked> {
    const { status, body, ms } = await this.call("POST", "/v1/memories/search", {
      ...{ query: text, mode, limit, explain: true },
      ...(userId === null ? {} : { userId }),
      ...(asOf === null ? {} : { asOf }),
      ...(filters === undefined ? {} : { filters }),
    });
    const reply = replyOf(body, ({ memory_id: id }) => this.#passageOf.get(String(id)) ?? "", ms);
    return { status, ms, hits: reply.passages, stages: reply.stages };
  }

  /**
   * Stores passages in one request and returns the ids of their memories, in order. Waits while the server is busy.
   * @throws Error if the server refuses one of them
   */
  async store(passages: readonly Passage[]): Promise<readonly string[]> {
    const memories = passages.map(({ id, title, content, userId, metadata, type }) => ({
      ...{ externalId: id, content, metadata },
      ...(title === null ? {} : { title: title.slice(0, 1_000) }),
      ...(type === null ? {} : { type }),
      ...(userId === null ? {} : { userId }),
    }));
    for (;;) {
      const { status, body } = await this.call("POST", "/v1/memories/batch", { memories });
      if (status === 503 || status === 429) {
        await systemClock.sleep(BUSY_WAIT_MS);
        continue;
      }
      const items = recordsIn(body.data);
      return passages.map(({ id }, at) => {
        const memory = items[at]?.memory;
        if (!isRecord(memory)) throw new Error(`The server refused passage ${id}: ${refusalOf(items[at] ?? body)}`);
        this.#passageOf.set(String(memory.id), id);
        return String(memory.id);
      });
    }
  }

  /**
   * Stores passages and waits until they are searchable; returns the time that this took, in milliseconds.
   * @param passageAt returns passage number 0, 1, …, `count - 1`
   */
  async fill(
    count: number,
    passageAt: (n: number) => Passage,
    onProgress: (share: number, note: string) => void,
  ): Promise<number> {
    const startedAt = performance.now();
    let sent = 0;
    const ids: string[] = [];
    while (sent < count) {
      const first = sent;
      const batch = Array.from({ length: Math.min(LIMITS.memoriesPerBatch, count - first) }, (_, at) =>
        passageAt(first + at),
      );
      ids.push(...(await this.store(batch)));
      sent += batch.length;
      onProgress((0.1 * sent) / count, `${sent} of ${count} sent`);
    }
    // memories are completed in about the order in which they were sent, so some of them show the progress
    const step = Math.ceil(ids.length / PROGRESS_STEPS);
    for (let at = step - 1; at < ids.length; at += step) {
      await this.untilSearchable(ids[at] ?? "", POLL_MS);
      onProgress(0.1 + (0.9 * (at + 1)) / ids.length, `${at + 1} of ${ids.length} searchable`);
    }
    await this.untilSettled();
    return performance.now() - startedAt;
  }

  /** Waits until a memory is completed; returns its number of chunks. @throws Error if its processing failed */
  async untilSearchable(id: string, pollMs: number): Promise<number> {
    for (;;) {
      const { status, body } = await this.call("GET", `/v1/memories/${id}`);
      if (status !== 200) throw new Error(`The server answered ${status} for memory ${id}.`);
      if (body.status === "completed") return Number(body.chunk_count);
      if (body.status === "failed") throw new Error(`The server could not process memory ${id}.`);
      await systemClock.sleep(pollMs);
    }
  }

  /**
   * Waits until nothing is being processed.
   * @param onProgress called with the number of memories of the server that are left
   * @throws Error if a memory failed
   */
  async untilSettled(onProgress: ((left: number) => void) | null = null): Promise<void> {
    for (;;) {
      const { body } = await this.call("GET", "/v1/memories?status=processing&limit=1");
      if (recordsIn(body.data).length === 0) break;
      if (onProgress !== null) onProgress(await this.#processing());
      await systemClock.sleep(POLL_MS);
    }
    const { body } = await this.call("GET", "/v1/memories?status=failed&limit=1");
    const [failed] = recordsIn(body.data);
    if (failed !== undefined) throw new Error(`The server could not process memory ${String(failed.externalId)}.`);
  }

  /** Number of memories that are being processed, a few seconds ago. */
  async #processing(): Promise<number> {
    const metrics = await (await fetch(`${this.url}/metrics`)).text();
    return Number(/^mneme_memories\{status="processing"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
  }
}

function refusalOf(item: JsonRecord): string {
  return isRecord(item.error) ? String(item.error.message) : "it gave no reason";
}
