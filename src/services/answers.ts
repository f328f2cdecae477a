// How a question becomes an answer: search within the caller's scope, then sentences from what was found. The same events
// feed a JSON body and a stream.

import type { AnswerEvent } from "../answer/events.ts";
import { extractiveAnswer } from "../answer/extract.ts";
import type { Filter } from "../domain/filter.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { Viewer } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { SearchService } from "./search.ts";

/** A question as a caller words it. */
export interface Question {
  readonly text: string;
  readonly mode: ModeName;
  /** Passages that the answer may stand on, at most. */
  readonly maxSources: number;
  readonly filter: Filter | null;
  readonly includeGraph: boolean;
  readonly userId?: string;
}

/** What the service stands on. */
export interface AnswerServiceParts {
  readonly search: SearchService;
  readonly accounts: Pick<AccountStore, "project">;
}

/** Answers questions of one project, without a language model: in the words of what is stored. */
export class AnswerService {
  readonly #parts: AnswerServiceParts;

  constructor(parts: AnswerServiceParts) {
    this.#parts = parts;
  }

  /** The answer's events; what retrieval throws comes before the first of them. Stops when `signal` aborts. */
  async *answer(viewer: Viewer, question: Question, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
    const { text, maxSources, ...scope } = question;
    const request = { ...scope, query: text, limit: maxSources, scoreMin: 0 };
    const { results } = await this.#parts.search.search(viewer.projectId, request, signal);
    const evidenceMin = this.#parts.accounts.project(viewer.projectId)?.settings.min_evidence ?? 0;
    const hasEvidence = results[0] !== undefined && results[0].score >= evidenceMin;
    yield* extractiveAnswer(text, hasEvidence ? results : [], maxSources);
  }
}
