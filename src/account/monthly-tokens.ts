// Monthly token limits of language models: which models of a project may still be called. The reservation of a call
// keeps concurrent calls from exceeding a limit together.

import type { ProjectId } from "../domain/ids.ts";
import type { ConfiguredLlm, LlmChain } from "../domain/language-model.ts";
import { monthOf } from "../domain/project.ts";
import { type Clock, isoTime } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { TokenLimits, TokenReservation } from "../ports/coordination.ts";
import { LlmError } from "../ports/language-model.ts";
import { RunningTokens } from "./running-tokens.ts";

/** The models that a call may use. `release` must be called once the tokens of the call are counted. */
export interface AllowedModels extends Pick<TokenReservation, "release"> {
  /** In the same order as those that were asked for. */
  readonly models: LlmChain;
}

/** The limits in a process that is the only one of its service. */
export function localMonthlyTokens(accounts: Pick<AccountStore, "usage">): TokenLimits {
  return new RunningTokens(async (projectId) => {
    const { tokens } = await accounts.usage(projectId);
    return tokens.prompt + tokens.completion;
  });
}

/** The monthly token limits of all projects. */
export class MonthlyTokens {
  constructor(
    private readonly limits: TokenLimits,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /**
   * The models of a project whose limits are not reached. Waits while running calls might use up a limit.
   * @param tokens maximum number of tokens that the call will use, as estimated
   * @throws LlmError `budget_reached` if there is none; `timed_out` if `signal` aborts
   */
  async reserve(projectId: ProjectId, models: LlmChain, tokens: number, signal: AbortSignal): Promise<AllowedModels> {
    const limits = models.map(({ monthlyTokensMax }) => monthlyTokensMax).filter((limit) => limit !== null);
    const { used, release } = await this.#reserve(projectId, tokens, limits, signal);
    const isAllowed = ({ monthlyTokensMax }: ConfiguredLlm) => monthlyTokensMax === null || used < monthlyTokensMax;
    const [first, ...others] = models.filter(isAllowed);
    if (first !== undefined) return { models: [first, ...others], release };
    const end = isoTime(monthOf(this.clock.now()).end);
    const message = `the project's limit of ${Math.max(...limits)} tokens per month is reached until ${end}`;
    throw new LlmError("budget_reached", message);
  }

  async #reserve(
    projectId: ProjectId,
    tokens: number,
    limits: readonly number[],
    signal: AbortSignal,
  ): Promise<TokenReservation> {
    try {
      return await this.limits.reserve(projectId, tokens, limits, signal);
    } catch (cause) {
      if (!signal.aborted) throw cause;
      throw new LlmError("timed_out", "other calls, which may use up the monthly limit, took too long", { cause });
    }
  }
}
