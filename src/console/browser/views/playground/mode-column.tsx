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

const STAGE_TITLES: Readonly<Record<string, string>> = {
  queue: "Waiting",
  vector: "Meaning",
  text: "Words",
  graph: "Graph",
  rerank: "Reranker",
  read: "Reader",
  embed: "Embedding",
  hydrate: "Texts",
  fuse: "Merging",
  filter: "Filters",
};

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
      <Card class="mode-card">
        <header class="mode-head">
          <h2>{mode}</h2>
          <span class="fine cut">{t(MODES.find(([name]) => name === mode)?.[1] ?? mode)}</span>
          {explain && <Total explain={explain} />}
        </header>
        {explain && <StageBar explain={explain} />}
        {explain && <Understood explain={explain} />}
        <div class="mode-foot">
          {explain && (
            <details class="how-found">
              <summary>{t("Stages and ranks")}</summary>
              <div class="stack">
                <StageList explain={explain} />
                <RankMoves results={results} />
              </div>
            </details>
          )}
          {results.length > 0 && (
            <p class="fine" role="status">
              {countText(results.length, "1 passage", "{n} passages")}
              {own.length > 0 && (
                <span class="only-here">
                  {" · "}
                  {countText(own.length, "1 in this mode only", "{n} in this mode only")}
                </span>
              )}
            </p>
          )}
          {results.length > 0 && <Expectation query={query} userId={userId} memoryId={null} />}
        </div>
      </Card>
      {results.length === 0 ? (
        <Card>
          <Empty icon={Search} title={t("Nothing was found")}>
            {t("Memories that are still being processed cannot be found yet. Filters may be too narrow.")}
          </Empty>
        </Card>
      ) : (
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
      )}
    </section>
  );
}

function Total({ explain }: { readonly explain: Explanation }) {
  const ms = explain.stages.reduce((sum, stage) => sum + stage.ms, 0);
  return <Badge tone="accent">{millisecondsText(ms)}</Badge>;
}

/** Number of stages that the legend names: those that took longest. */
const NAMED_STAGES = 2;
/** Share of the time below which a stage is not named. */
const NAMED_SHARE = 0.05;

/** A bar whose parts are the stages of a search, as long as the time they took, and the names of the longest. */
function StageBar({ explain: { stages } }: { readonly explain: Explanation }) {
  const total = stages.reduce((sum, { ms }) => sum + ms, 0);
  const longest = [...stages].sort((left, right) => right.ms - left.ms).slice(0, NAMED_STAGES);
  const named = longest.filter(({ ms }) => ms >= total * NAMED_SHARE);
  const rest = stages.filter((stage) => !named.includes(stage));
  const restMs = rest.reduce((sum, { ms }) => sum + ms, 0);
  const part = (name: string, kind: string, ms: number) => (
    <span
      key={name}
      class={kind}
      title={`${name}: ${millisecondsText(ms)}`}
      style={{ flexGrow: total === 0 ? 1 : Math.max(ms / total, 0.01) }}
    />
  );
  return (
    <>
      <div class="stages" role="img" aria-label={t("Stages of the search")}>
        {named.map(({ name, ms }) => part(name, stageClass(name), ms))}
        {rest.length > 0 && part(t("others"), "stage-rest", restMs)}
      </div>
      <ul class="list stage-legend">
        {named.map(({ name, ms }) => (
          <li key={name}>
            <span class={`stage-dot ${stageClass(name)}`} /> {t(STAGE_TITLES[name] ?? name)}{" "}
            <span class="number">{millisecondsText(ms)}</span>
          </li>
        ))}
        {rest.length > 0 && (
          <li title={rest.map(({ name, ms }) => `${name}: ${millisecondsText(ms)}`).join("\n")}>
            <span class="stage-dot stage-rest" /> {countText(rest.length, "1 other", "{n} others")}{" "}
            <span class="number">{millisecondsText(restMs)}</span>
          </li>
        )}
      </ul>
    </>
  );
}

function millisecondsText(ms: number): string {
  return t("{n} ms", { n: ms.toFixed(ms < 10 ? 1 : 0) });
}

/** The stages with their times and the candidates that they left. */
function StageList({ explain: { stages, admissible } }: { readonly explain: Explanation }) {
  return (
    <div class="stack tight">
      <ul class="list stage-list">
        {stages.map(({ name, ms, candidates }) => (
          <li key={name}>
            <span class={`stage-dot ${stageClass(name)}`} />
            <span>{t(STAGE_TITLES[name] ?? name)}</span>
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
          “{time.expression}”: {spanText(time)}
          <span class="fine understood-note">{t("Passages from this time rank higher.")}</span>
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
