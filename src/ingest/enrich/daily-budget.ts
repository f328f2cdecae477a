// Whether a project may spend more tokens on ingestion today. What was spent stands in the store; what calls under way
// may come to is reserved here, so that many at once do not pass the ceiling together: near it they go one after the
// other.

import type { ProjectId } from "../../domain/ids.ts";
import type { LlmExtractionStore } from "../../ports/llm-extraction-store.ts";

/** Tokens that are set aside for a call. */
export interface Reservation {
  /** The call has ended, and what it took is counted in the store. To be called once. */
  end(): void;
}

/** Holds projects to their daily ceilings. */
export class DailyBudget {
  readonly #reserved = new Map<ProjectId, number>();
  #ended = Promise.withResolvers<void>();

  constructor(private readonly extractions: Pick<LlmExtractionStore, "tokensToday">) {}

  /**
   * Sets `tokens` aside. Waits while calls under way may reach the ceiling, for they may as well not. null: it is
   * reached, until the next day (UTC). So a day's tokens pass the ceiling by less than one call takes, as far as the
   * estimate holds.
   * @param ceiling null: there is none
   */
  async reserve(projectId: ProjectId, tokens: number, ceiling: number | null): Promise<Reservation | null> {
    for (;;) {
      const reservedBefore = this.#reserved.get(projectId) ?? 0;
      const spent = ceiling === null ? 0 : await this.extractions.tokensToday(projectId);
      const reserved = this.#reserved.get(projectId) ?? 0;
      if (ceiling !== null) {
        if (spent >= ceiling) return null;
        // a call that ended during the read counts with the larger number: `spent` may not have it yet
        const running = Math.max(reservedBefore, reserved);
        if (running > 0 && spent + running >= ceiling) {
          if (reserved > 0) await this.#ended.promise;
          continue;
        }
      }
      this.#reserved.set(projectId, reserved + tokens);
      return { end: () => this.#end(projectId, tokens) };
    }
  }

  #end(projectId: ProjectId, tokens: number): void {
    const left = (this.#reserved.get(projectId) ?? 0) - tokens;
    if (left > 0) this.#reserved.set(projectId, left);
    else this.#reserved.delete(projectId);
    this.#ended.resolve();
    this.#ended = Promise.withResolvers();
  }
}
