// One passage that a search found or an answer cites.

import type { ComponentChildren } from "preact";
import type { SearchResult } from "../../core/calls.ts";
import { dayText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { Badge } from "../../ui/pieces.tsx";
import { MarkedText } from "./marked-text.tsx";
import { passageFilter, placeOf } from "./memory-names.ts";

const SIGNAL_TITLES: Readonly<Record<string, string>> = {
  vector: "Meaning",
  text: "Words",
  graph: "Graph",
  rerank: "Reranker",
  time: "Time",
  neighbours: "Neighbours",
};

interface ResultCardProps {
  readonly result: SearchResult;
  readonly query: string;
  /** Number of the result, from 1. */
  readonly rank: number;
  /** Buttons for actions on the result. */
  readonly actions?: ComponentChildren;
}

/** A card with a passage: its place, text with highlighted words, score and signals. */
export function ResultCard({ result, query, rank, actions }: ResultCardProps) {
  const { _memory: memory, _chunk: chunk } = result.metadata;
  const place = placeOf(result);
  const superseded = result.explain?.superseded_by ?? chunk.superseded_by;
  const about = [
    memory.userId && t("user {id}", { id: memory.userId }),
    memory.agentId && t("agent {id}", { id: memory.agentId }),
    memory.sessionId && t("session {id}", { id: memory.sessionId }),
    memory.occurred_at && dayText(memory.occurred_at),
  ].filter((part) => typeof part === "string" && part !== "");
  const title = memory.title ?? t("Untitled");
  // a title that is the beginning of the passage would stand there twice
  const isTitled = memory.title === null || !result.content.trim().startsWith(memory.title.replace(/…$/, ""));
  const href = to(["memories", result.memory_id], { passage: passageFilter(result) });
  return (
    <article class="result" aria-label={title}>
      <header class="result-head">
        <span class="rank number">{rank}</span>
        {isTitled ? (
          <a class="result-title" dir="auto" href={href}>
            {title}
          </a>
        ) : (
          <div class="result-title">
            <MarkedText text={result.content} query={query} href={href} />
          </div>
        )}
        <span class="score number" title={t("Score, 0 to 1")}>
          {result.score.toFixed(3)}
        </span>
      </header>
      {place !== "" && place !== memory.title && (
        <p class="fine" dir="auto">
          {place}
        </p>
      )}
      {isTitled && <MarkedText text={result.content} query={query} />}
      <div class="badges">
        {about.map((text) => (
          <Badge key={text as string}>{text}</Badge>
        ))}
        {(memory.tags ?? []).map((tag) => (
          <Badge key={tag}>#{tag}</Badge>
        ))}
        {chunk.standing !== undefined && <Badge tone="accent">{t(chunk.standing)}</Badge>}
        {superseded !== undefined && (
          <a class="badge warn" href={to(["memories", superseded])}>
            {t("superseded by a newer memory")}
          </a>
        )}
        {actions}
      </div>
      {result.explain && <Signals explain={result.explain} rank={rank} />}
    </article>
  );
}

/** Bars for the signals, and the difference between the final rank and the rank before the reranker. */
function Signals({ explain, rank }: { readonly explain: NonNullable<SearchResult["explain"]>; readonly rank: number }) {
  const moved = explain.fused_rank - rank;
  const path = explain.signals.graph?.path ?? [];
  return (
    <div class="signals">
      <ul class="list signal-list" aria-label={t("Ranking signals")}>
        {Object.entries(explain.signals).map(([name, { rank: place, score }]) => (
          <li key={name} title={t("rank {rank}, score {score}", { rank: place, score: score.toFixed(3) })}>
            <span class="signal-name">{t(SIGNAL_TITLES[name] ?? name)}</span>
            <span class={`signal-bar ${name}`}>
              <span style={{ width: `${Math.round(Math.max(0.02, Math.min(1, Math.abs(score))) * 100)}%` }} />
            </span>
            <span class="fine number">
              {score.toFixed(2)} · {t("rank {rank}", { rank: place })}
            </span>
          </li>
        ))}
      </ul>
      {explain.signals.rerank !== undefined && (
        <p class="fine">
          {moved === 0
            ? t("Also rank {rank} before reranking.", { rank: explain.fused_rank })
            : moved > 0
              ? t("Up {n} from rank {rank} before reranking.", { n: moved, rank: explain.fused_rank })
              : t("Down {n} from rank {rank} before reranking.", { n: -moved, rank: explain.fused_rank })}
        </p>
      )}
      {path.length > 0 && (
        <p class="graph-path" role="img" aria-label={t("Path in the graph: {path}", { path: path.join(" → ") })}>
          {path.map((name, at) => (
            <span key={`${name} ${at}`} dir="auto">
              {name}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
