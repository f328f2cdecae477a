// Daily token budget of a project's ingestion. The store counts used tokens. This file reserves the estimated tokens of
// running calls, so that concurrent calls do not exceed the limit together. Near the limit, calls run one at a time.

import type { ProjectId } from "../../domain/ids.ts";
import type { LlmExtractionStore } from "../../ports/llm-extraction-store.ts";

/** Tokens reserved for a running call. */
export interface TokenReservation {
  /** Ends the reservation, after the store has counted the call's tokens. Call it once. */
  release(): void;
}

/** Limits the tokens that projects use per day (UTC). */
export class DailyTokenBudget {
  readonly #reserved = new Map<ProjectId, number>();
  #released = Promise.withResolvers<void>();

  constructor(private readonly extractions: Pick<LlmExtractionStore, "tokensToday">) {}

  /**
   * Reserves `tokens`. While the running calls might use up the limit, it waits for their end, because they may use
   * less than they reserved. If estimates are right, the tokens of a day exceed the limit by less than those of one
   * call.
   * @param limit tokens per day; null if unlimited
   * @returns null if the limit is reached, until the next day (UTC)
   */
  async reserve(projectId: ProjectId, tokens: number, limit: number | null): Promise<TokenReservation | null> {
    for (;;) {
      const reservedBefore = this.#reserved.get(projectId) ?? 0;
      const used = limit === null ? 0 : await this.extractions.tokensToday(projectId);
      const reserved = this.#reserved.get(projectId) ?? 0;
      if (limit !== null) {
        if (used >= limit) return null;
        // `used` may lack the tokens of a call that ended during the read. So its reserved tokens still count: the
        // larger one of the numbers from before and after the read.
        const running = Math.max(reservedBefore, reserved);
        if (running > 0 && used + running >= limit) {
          if (reserved > 0) await this.#released.promise;
          continue;
        }
      }
      this.#reserved.set(projectId, reserved + tokens);
      return { release: () => this.#release(projectId, tokens) };
    }
  }

  #release(projectId: ProjectId, tokens: number): void {
    const left = (this.#reserved.get(projectId) ?? 0) - tokens;
    if (left > 0) this.#reserved.set(projectId, left);
    else this.#reserved.delete(projectId);
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }
}
