// Daily token budget of a project's ingestion. The store counts used tokens. This file reserves the estimated tokens of
// running calls, so that concurrent calls do not exceed the limit together: near the limit they run one at a time.

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
   * Reserves `tokens`. Waits while running calls might use up the limit, because they may also use less. So a day's
   * tokens exceed the limit by less than one call, as far as the estimate is right.
   * @param limit tokens per day; null: unlimited
   * @returns null if the limit is reached, until the next day (UTC)
   */
  async reserve(projectId: ProjectId, tokens: number, limit: number | null): Promise<TokenReservation | null> {
    for (;;) {
      const reservedBefore = this.#reserved.get(projectId) ?? 0;
      const used = limit === null ? 0 : await this.extractions.tokensToday(projectId);
      const reserved = this.#reserved.get(projectId) ?? 0;
      if (limit !== null) {
        if (used >= limit) return null;
        // `used` may not include a call that ended during the read, so the larger number of reserved tokens counts
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
