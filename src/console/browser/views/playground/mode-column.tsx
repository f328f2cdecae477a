// The results of one search mode: a bar of its stages, the time that it understood, the ranks by signal, and the
// passages.

import type { Explanation, SearchResults } from "../../core/calls.ts";
import { countText, dayText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Search } from "../../ui/icons.ts";
import { Badge, Card, Meter } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { MODES, type ModeName } from "../shared/memory-names.ts";
import { ResultCard } from "../shared/result-card.tsx";
import { Expectation } from "./expectation.tsx";
import type { Found } from "./question.ts";
import { RankMoves } from "./rank-moves.tsx";

interface ModeColumnProps {
  readonly mode: ModeName;
  readonly found: SearchResults;
  readonly query: string;
  /** The user whose memories were searched; empty: all. */
  readonly userId: string;
  readonly others: Found;
  /** Whether it is the one that a narrow window shows. */
  readonly isShown: boolean;
}

/** Stages in the order of their colours, so that each has the same one in every mode. */
const STAGES = ["queue", "vector", "text", "graph", "rerank", "read", "embed", "hydrate", "fuse", "filter"];

function stageClass(name: string): string {
  const at = STAGES.indexOf(name);
  return `stage-${at === -1 ? STAGES.length - 1 : at}`;
}

/** A column with the results of a mode. */
export function ModeColumn({ mode, found, query, userId, others, isShown }: ModeColumnProps) {
  const { results, explain } = found;
  const elsewhere = others.filter((other) => other.mode !== mode);
  const own = results.filter(
    ({ id }) => elsewhere.length > 0 && elsewhere.every((other) => other.found.results.every((one) => one.id !== id)),
  );
  return (
    <section class={`mode ${isShown ? "" : "aside-mode"}`} aria-label={t("Results of {mode}", { mode })}>
      <Card title={mode} actions={explain && <Total explain={explain} />}>
        <p class="fine mode-about">{t(MODES.find(([name]) => name === mode)?.[1] ?? mode)}</p>
        {explain && <StageBar explain={explain} />}
        {explain && <Understood explain={explain} />}
        {explain && (
          <details class="how-found">
            <summary>{t("Stages and ranks")}</summary>
            <div class="stack">
              <StageList explain={explain} />
              <RankMoves results={results} />
            </div>
          </details>
        )}
      </Card>
      {results.length === 0 ? (
        <Card>
          <Empty icon={Search} title={t("Nothing was found")}>
            {t("Memories that are still being processed cannot be found yet. Filters may be too narrow.")}
          </Empty>
        </Card>
      ) : (
        <>
          <div class="row between">
            <p class="fine" role="status">
              {countText(results.length, "1 passage, best first", "{n} passages, best first")}
              {own.length > 0 && ` · ${countText(own.length, "1 in this mode only", "{n} in this mode only")}`}
            </p>
            <Expectation query={query} userId={userId} memoryId={null} />
          </div>
          <ol class="list stack">
            {results.map((result, at) => (
              <li key={result.id}>
                <ResultCard
                  result={result}
                  query={query}
                  rank={at + 1}
                  actions={<Expectation query={query} userId={userId} memoryId={result.memory_id} />}
                />
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function Total({ explain }: { readonly explain: Explanation }) {
  const ms = explain.stages.reduce((sum, stage) => sum + stage.ms, 0);
  return <Badge tone="accent">{t("{n} ms", { n: ms.toFixed(ms < 10 ? 1 : 0) })}</Badge>;
}

/** A bar whose parts are the stages of a search, as long as the time they took. */
function StageBar({ explain }: { readonly explain: Explanation }) {
  const total = explain.stages.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <div class="stages" role="img" aria-label={t("Stages of the search")}>
      {explain.stages.map(({ name, ms }) => (
        <span
          key={name}
          class={stageClass(name)}
          title={`${name}: ${t("{n} ms", { n: ms.toFixed(1) })}`}
          style={{ flexGrow: total === 0 ? 1 : Math.max(ms / total, 0.01) }}
        />
      ))}
    </div>
  );
}

/** The stages with their times and the candidates that they left. */
function StageList({ explain: { stages, admissible } }: { readonly explain: Explanation }) {
  return (
    <div class="stack tight">
      <ul class="list stage-list">
        {stages.map(({ name, ms, candidates }) => (
          <li key={name}>
            <span class={`stage-dot ${stageClass(name)}`} />
            <span>{name}</span>
            <span class="fine number">{t("{n} ms", { n: ms.toFixed(1) })}</span>
            <span class="fine number">{countText(candidates, "1 candidate", "{n} candidates")}</span>
          </li>
        ))}
      </ul>
      <p class="fine">{countText(admissible, "1 memory was searched", "{n} memories were searched")}</p>
    </div>
  );
}

function Understood({ explain: { time, evidence } }: { readonly explain: Explanation }) {
  return (
    <div class="understood">
      {time !== undefined && (
        <p>
          <Badge tone="accent">{t("Time")}</Badge> “{time.expression}”: {spanText(time)}
          <span class="fine"> {t("Passages from this time rank higher.")}</span>
        </p>
      )}
      {typeof evidence === "number" && (
        <div class="evidence">
          <span>{t("Evidence for an answer")}</span>
          <Meter label={t("Evidence for an answer")} share={evidence} />
          <span class="number">{Math.round(evidence * 100)} %</span>
        </div>
      )}
    </div>
  );
}

/** Describes a span of days. Null means that the span has no start or no end. */
function spanText({ from, to }: NonNullable<Explanation["time"]>): string {
  if (from === null) return to === null ? t("any time") : t("before {to}", { to: dayText(to) });
  if (to === null) return t("from {from}", { from: dayText(from) });
  return t("from {from} to before {to}", { from: dayText(from), to: dayText(to) });
}
