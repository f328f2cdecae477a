// Looks at another place (node, thread) for what one place has just acknowledged: it must show it at once.

import type { Called, Caller } from "./calls.ts";

/** Every n-th acknowledged change of a memory is also searched for. */
const SEARCHED_EVERY = 3;

/** A request that was sent. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Looks after changes, and what they found. */
export class Looks {
  readonly stale: string[] = [];
  /** Number of looks. */
  count = 0;

  /** @param hasOutages whether a place that answers 503 shows nothing, which is right */
  constructor(private readonly hasOutages = false) {}

  /** Looks for a change of a memory at a place. If the place does not answer, nothing is known. */
  async lookFor({ method, path, body: sent }: SentRequest, answer: Called, other: () => Caller): Promise<void> {
    const memory = /^\/v1\/memories(?:\/(mem_\w+))?(?:\?|$)/.exec(path);
    if (method === "GET" || memory === null || answer.status >= 300) return;
    const id = memory[1] ?? (answer.body as { readonly id: string }).id;
    try {
      const place = other();
      const { status, body } = await place.call("GET", `/v1/memories/${id}`);
      this.count += 1;
      if (method === "DELETE") {
        if (status === 200) this.stale.push(`${id} answers 200 after its deletion`);
        if (this.count % SEARCHED_EVERY === 0) await this.#searchForDeleted(place, id);
        return;
      }
      const wanted = (sent as { readonly content?: string }).content;
      const shown = body as { readonly content: string } | null;
      if (this.hasOutages && status === 503) return;
      if (status !== 200) this.stale.push(`${id} answers ${status} after its change`);
      else if (wanted !== undefined && shown?.content !== wanted) this.stale.push(`${id} shows an older text`);
    } catch {
      return; // the place was killed
    }
  }

  async #searchForDeleted(place: Caller, id: string): Promise<void> {
    const { status, body } = await place.call("POST", "/v1/memories/search", { query: "shelf", limit: 50 });
    if (status !== 200) return;
    const { results } = body as { readonly results: readonly { readonly memory_id: string }[] };
    if (results.some(({ memory_id }) => memory_id === id)) this.stale.push(`${id} is found after its deletion`);
  }
}
