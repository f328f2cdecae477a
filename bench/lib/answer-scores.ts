// Scores answers against their golds, and aggregates them into the rows that bench/answers.ts prints. Pure.

import type { JudgedQuery } from "./collection.ts";
import { contains, firstStatement, isVerdict, sharedWords, withoutCitations } from "./golds.ts";
import { mean, percentile } from "./metrics.ts";
import type { Row } from "./record.ts";
import { rounded } from "./scores.ts";

/** A source of an answer. */
export interface AnswerSource {
  readonly document: string;
  readonly text: string;
  readonly score: number;
  readonly isCited: boolean;
}

/** The server's answer to a question. */
export interface Answered {
  readonly answer: string;
  /** Sources of the answer, cited ones first. */
  readonly sources: readonly AnswerSource[];
  readonly tokensUsed: number;
  /** Duration of the request, as measured by the caller. */
  readonly wholeMs: number;
}

/** An answer with its question and its gold. */
export interface JudgedAnswer extends Answered {
  readonly query: JudgedQuery;
  readonly gold: string;
}

/** The answers of one collection in one mode. */
export interface MeasuredAnswers {
  readonly set: string;
  readonly mode: string;
  readonly answerable: readonly JudgedAnswer[];
  /** Answers to questions whose answer is not stored; empty if the collection has no such questions. */
  readonly unanswerable: readonly Answered[];
}

/** Whether every judged passage is among the answer's sources. */
export function hasEvidence({ query, sources }: JudgedAnswer): boolean {
  const documents = new Set(sources.map(({ document }) => document));
  return [...query.judgements.keys()].every((document) => documents.has(document));
}

/** Whether a judged passage that contains the gold is among the answer's sources. */
export function holdsGold({ query, sources, gold }: JudgedAnswer): boolean {
  return sources.some(({ document, text }) => query.judgements.has(document) && contains(text, gold));
}

/** Whether the answer contains the gold. */
export function saysGold({ answer, gold }: JudgedAnswer): boolean {
  return contains(withoutCitations(answer), gold);
}

/** Whether the answer abstains, which means that it cites no source. */
export function isAbstention({ sources }: Answered): boolean {
  return !sources.some(({ isCited }) => isCited);
}

/**
 * Share of answers, 0..1, that would abstain if `min_evidence` were `evidenceMin`: their best passage has a lower
 * score.
 */
export function abstentionAt(evidenceMin: number, answers: readonly Answered[]): number {
  return share(
    answers,
    (each) => isAbstention(each) || Math.max(...each.sources.map(({ score }) => score)) < evidenceMin,
  );
}

/** The figures of one collection in one mode. Shares without any question are left out. */
export function answersRow({ set, mode, answerable, unanswerable }: MeasuredAnswers): Row {
  const spans = answerable.filter(({ gold }) => !isVerdict(gold));
  const verdicts = answerable.filter(({ gold }) => isVerdict(gold));
  const withEvidence = spans.filter(hasEvidence);
  const holding = spans.filter(holdsGold);
  const cited = spans.flatMap(({ sources, gold, query }) =>
    sources.filter(({ isCited }) => isCited).map(({ text, document }) => ({ text, document, gold, query })),
  );
  const all = [...answerable, ...unanswerable];
  const figures: Record<string, number> = {
    questions: spans.length,
    contained: share(spans, saysGold),
    first: share(spans, ({ answer, gold }) => contains(firstStatement(answer), gold)),
    words: mean(spans.map(({ answer, gold }) => sharedWords(withoutCitations(answer), gold))),
    withEvidence: withEvidence.length,
    containedWithEvidence: share(withEvidence, saysGold),
    firstWithEvidence: share(withEvidence, ({ answer, gold }) => contains(firstStatement(answer), gold)),
    holding: holding.length,
    containedHolding: share(holding, saysGold),
    citedSayGold: share(cited, ({ text, gold }) => contains(text, gold)),
    citedJudged: share(cited, ({ document, query }) => query.judgements.has(document)),
    verdicts: verdicts.length,
    verdictsCiteAll: share(verdicts, (each) =>
      hasEvidence({ ...each, sources: each.sources.filter(({ isCited }) => isCited) }),
    ),
    abstained: share(answerable, isAbstention),
    unanswerable: unanswerable.length,
    abstainedUnanswerable: share(unanswerable, isAbstention),
    lengthWords: percentile(
      0.5,
      all.map(({ answer }) => withoutCitations(answer).split(/\s+/u).length),
    ),
    p50Ms: percentile(
      0.5,
      all.map(({ wholeMs }) => wholeMs),
    ),
    p95Ms: percentile(
      0.95,
      all.map(({ wholeMs }) => wholeMs),
    ),
    tokensUsed: mean(all.map(({ tokensUsed }) => tokensUsed)),
  };
  const known = Object.entries(figures).filter(([, value]) => !Number.isNaN(value));
  return { set, mode, ...Object.fromEntries(known.map(([name, value]) => [name, rounded(value, 4)])) };
}

// Share of the items for which `is` is true; NaN if there are no items.
function share<Each>(all: readonly Each[], is: (each: Each) => boolean): number {
  return mean(all.map((each) => (is(each) ? 1 : 0)));
}
