// Token limits of projects for the calls of this process. The store counts the tokens of a call when it has ended. This
// file holds the estimated tokens of running calls, so that concurrent calls do not exceed a limit together. Near a
// limit, calls run one at a time.

import type { ProjectId } from "../domain/ids.ts";
import { tokenVerdict } from "../domain/quota.ts";
import type { TokenLimits, TokenReservation } from "../ports/coordination.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";

/** The daily limits of ingestion, in a process that is the only one of its service. */
export function localDailyTokens(extractions: Pick<LlmExtractionStore, "tokensToday">): TokenLimits {
  return new RunningTokens((projectId) => extractions.tokensToday(projectId));
}

/** The tokens of running calls, by project. */
export class RunningTokens implements TokenLimits {
  readonly #running = new Map<ProjectId, number>();
  /** Number of calls that have ended. */
  #endedCalls = 0;
  #ended = Promise.withResolvers<void>();

  /** @param usedBy the tokens of the project's calls that have ended in the period */
  constructor(private readonly usedBy: (projectId: ProjectId) => Promise<number>) {}

  async reserve(
    projectId: ProjectId,
    tokens: number,
    limits: readonly number[],
    signal: AbortSignal,
  ): Promise<TokenReservation> {
    if (limits.length === 0) return { used: 0, release: () => undefined };
    for (;;) {
      signal.throwIfAborted();
      const endedBefore = this.#endedCalls;
      const used = await this.usedBy(projectId);
      // the tokens of a call that ended during the read may be missing in both numbers
      if (this.#endedCalls !== endedBefore) continue;
      const running = this.#running.get(projectId) ?? 0;
      const verdict = tokenVerdict(used, running, limits);
      if (verdict === "reached") return { used, release: () => undefined };
      if (verdict === "free") return { used, release: this.#hold(projectId, tokens) };
      await endedOrAborted(this.#ended.promise, signal);
    }
  }

  #hold(projectId: ProjectId, tokens: number): () => void {
    this.#running.set(projectId, (this.#running.get(projectId) ?? 0) + tokens);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#running.get(projectId) ?? 0) - tokens;
      if (left > 0) this.#running.set(projectId, left);
      else this.#running.delete(projectId);
      this.#endedCalls += 1;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    };
  }
}

async function endedOrAborted(ended: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([ended, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
