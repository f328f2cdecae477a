// Tests the language models of a project: whether each one answers, and how long that takes.

import type { AllowedModels, MonthlyTokens } from "../account/monthly-tokens.ts";
import type { ProjectId } from "../domain/ids.ts";
import { type ConfiguredLlm, estimatedTokens, llmOf, type OperatorLlm } from "../domain/language-model.ts";
import type { LlmProvider } from "../domain/project.ts";
import { allows, type Principal } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import { type LanguageModel, LlmError, type LlmMessage, type LlmUsage } from "../ports/language-model.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import { projectFor, unknownProject } from "./keys.ts";
import { changedLlm, checkNewAddresses, type LlmChange } from "./llm-settings.ts";

const MESSAGES: readonly LlmMessage[] = [
  { role: "system", content: "You are a language model whose connection is tested. Answer in one word." },
  { role: "user", content: "Answer with the word: ready" },
];
/** Maximum length of the answer in tokens. `ready` needs one; the rest is for models that output reasoning. */
const OUTPUT_TOKENS = 512;
/** Estimated length of the prompt in tokens. */
const PROMPT_TOKENS = MESSAGES.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
/** Maximum duration of a test in milliseconds. A model on the same machine may have to be loaded first. */
const TEST_MS = 60_000;

/** Result of the test of one model. */
export interface TestedModel {
  readonly ok: boolean;
  readonly provider: LlmProvider;
  /** null if none is configured. */
  readonly model: string | null;
  readonly ms: number;
  /** One sentence: that the model answered, or why it did not. */
  readonly message: string;
}

/** Result of a test. */
export interface LlmTest {
  /** Results of the model and of its fallbacks, in their order; never empty. */
  readonly models: readonly [TestedModel, ...TestedModel[]];
}

/** What the service needs. */
export interface LanguageModelDependencies {
  readonly accounts: AccountStore;
  readonly model: Pick<LanguageModel, "complete">;
  readonly operator: OperatorLlm;
  readonly monthlyTokens: MonthlyTokens;
  readonly guard: AddressGuard;
}

/** The language models of projects. */
export class LanguageModelService {
  constructor(private readonly uses: LanguageModelDependencies) {}

  /**
   * Calls the language model of a project and its fallbacks, each on its own, and counts the tokens in its usage.
   * @param named another project; null: that of the caller
   * @param change settings to test as if they were stored; null: the stored ones
   * @throws Fault `insufficient_scope`, `project_not_found`; `unsafe_url` for an address in `change`
   */
  async test(
    principal: Principal,
    named: ProjectId | null,
    change: LlmChange | null,
    signal: AbortSignal,
  ): Promise<LlmTest> {
    const { accounts, operator, monthlyTokens, guard } = this.uses;
    const projectId = await projectFor(accounts, principal, named);
    const stored = (await accounts.project(projectId))?.settings.llm;
    if (stored === undefined) throw unknownProject(projectId);
    if (change !== null) await checkNewAddresses(guard, principal, stored, change);
    const settings = change === null ? stored : changedLlm(stored, change, allows(principal, "admin"));
    const { provider, model } = settings;
    const nothing = (message: string): LlmTest => ({ models: [{ ok: false, provider, model, ms: 0, message }] });
    const models = llmOf(settings, operator);
    if (models === null) return nothing("No language model is configured: set its address and its name.");
    const tokens = models.length * (PROMPT_TOKENS + OUTPUT_TOKENS);
    let allowed: AllowedModels;
    try {
      allowed = await monthlyTokens.reserve(projectId, models, tokens, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LlmError) return nothing(`The language model was not called: ${error.message}.`);
      throw error;
    }
    try {
      const calls = await Promise.all(
        models.map((one) => this.#call(projectId, one, allowed.models.includes(one), signal)),
      );
      const [first, ...others] = calls.map(({ tested }) => tested);
      if (first === undefined) throw new Error("a project has an empty list of models: this is a bug in Mneme");
      const sum = (name: keyof LlmUsage) => calls.reduce((total, { usage }) => total + usage[name], 0);
      // in a transaction of its own, because the tokens are used up even if the response cannot be stored
      await accounts.countTokens(projectId, { prompt: sum("prompt"), completion: sum("completion") });
      return { models: [first, ...others] };
    } finally {
      allowed.release();
    }
  }

  async #call(projectId: ProjectId, { endpoint }: ConfiguredLlm, isAllowed: boolean, signal: AbortSignal) {
    const startedAt = performance.now();
    const tested = (ok: boolean, message: string): TestedModel => {
      const ms = Math.round(performance.now() - startedAt);
      return { ok, provider: endpoint.provider, model: endpoint.model, ms, message };
    };
    const nothing: LlmUsage = { prompt: 0, completion: 0 };
    if (!isAllowed) {
      return {
        tested: tested(false, "The language model was not called: its monthly limit is reached."),
        usage: nothing,
      };
    }
    const inTime = AbortSignal.timeout(TEST_MS);
    try {
      const { text, usage } = await this.uses.model.complete(
        {
          ...{ endpoint, projectId, purpose: "query", messages: MESSAGES },
          temperature: 0,
          outputTokensMax: OUTPUT_TOKENS,
        },
        AbortSignal.any([signal, inTime]),
      );
      const isEmpty = text.trim() === "";
      return {
        tested: tested(!isEmpty, isEmpty ? "The language model gave an empty answer." : "The language model answered."),
        usage,
      };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof LlmError)) throw error;
      const why = inTime.aborted ? `it took longer than ${TEST_MS / 1_000} s` : error.message;
      return { tested: tested(false, `The language model did not answer: ${why}.`), usage: error.usage };
    }
  }
}
