// Whether each case passes: a search per case, in its own mode or the default one, and the rank of what it should find.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Case } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { project } from "../../core/session.ts";
import { Badge } from "../../ui/pieces.tsx";

/** Number of results among which the expected memory is looked for. */
const LOOKED_AT = 10;
/** Maximum number of cases of one check, because each needs a search. */
const CHECKED_MAX = 50;

/** What the search of a case found. */
export type CaseOutcome =
  | { readonly kind: "rank"; readonly rank: number | null }
  | { readonly kind: "evidence"; readonly evidence: number; readonly isRefused: boolean };

/** The outcomes by the ids of the cases, and a function that finds them. */
export function useOutcomes(): readonly [ReadonlyMap<string, CaseOutcome>, (cases: readonly Case[]) => Promise<void>] {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, CaseOutcome>>(new Map());
  const check = async (cases: readonly Case[]) => {
    setOutcomes(new Map());
    for (const one of cases.slice(0, CHECKED_MAX)) {
      const outcome = await outcomeOf(one);
      setOutcomes((before) => new Map([...before, [one.id, outcome]]));
    }
  };
  return [outcomes, check];
}

async function outcomeOf({ query, userId, mode, expected }: Case): Promise<CaseOutcome> {
  const own = mode ?? project.value?.default_mode ?? "hybrid";
  // only the modes that read passages know how much evidence there is
  const used = expected.not_found === true && own !== "precise" ? "balanced" : own;
  const { results, explain } = await call("searchMemories", {
    body: { query, mode: used, limit: LOOKED_AT, explain: true, ...(userId !== null && { userId }) },
  });
  if (expected.not_found === true) {
    const evidence = explain?.evidence ?? 0;
    return { kind: "evidence", evidence, isRefused: evidence < (project.value?.min_evidence ?? 0) };
  }
  const ids = [...new Set(results.map(({ memory_id: id }) => id))];
  const at = ids.findIndex((id) => expected.memory_ids?.includes(id));
  return { kind: "rank", rank: at === -1 ? null : at + 1 };
}

/** Whether the case passes, and why; a dash before it is checked. */
export function Outcome({ of: outcome }: { readonly of: CaseOutcome | undefined }) {
  if (outcome === undefined) return <span class="fine">{t("not checked")}</span>;
  if (outcome.kind === "evidence") {
    return (
      <span class="row nowrap">
        <Badge tone={outcome.isRefused ? "good" : "bad"}>{outcome.isRefused ? t("passed") : t("failed")}</Badge>
        <span class="fine number">{t("evidence {n} %", { n: Math.round(outcome.evidence * 100) })}</span>
      </span>
    );
  }
  const { rank } = outcome;
  return (
    <span class="row nowrap">
      <Badge tone={rank === 1 ? "good" : rank === null ? "bad" : "warn"}>
        {rank === 1 ? t("passed") : rank === null ? t("failed") : t("not first")}
      </Badge>
      <span class="fine number">
        {rank === null ? t("not among the first {n}", { n: LOOKED_AT }) : t("rank {rank}", { rank })}
      </span>
    </span>
  );
}
