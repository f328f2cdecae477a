// A picture of the ranks of the first passages: a column per signal, with lines between the ranks of each passage.

import type { SearchResult } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";

const ROWS = 10;
const ROW_PX = 18;
const COLUMN_PX = 92;
const TOP_PX = 22;

/** Draws the ranks of the first ten passages from signal to signal, and the final rank. */
export function RankMoves({ results }: { readonly results: readonly SearchResult[] }) {
  const shown = results.slice(0, ROWS).filter(({ explain }) => explain !== undefined);
  if (shown.length < 2) return null;
  const steps: [string, (result: SearchResult, at: number) => number | undefined][] = [
    [t("Meaning"), ({ explain }) => explain?.signals.vector?.rank],
    [t("Words"), ({ explain }) => explain?.signals.text?.rank],
    [t("Fused"), ({ explain }) => explain?.fused_rank],
    [t("Final"), (_, at) => at + 1],
  ];
  const columns = steps.filter(([, rankOf]) => shown.some((result, at) => rankOf(result, at) !== undefined));
  const y = (rank: number) => TOP_PX + (Math.min(rank, ROWS + 1) - 0.5) * ROW_PX;
  const x = (column: number) => 20 + column * COLUMN_PX;
  const width = 40 + (columns.length - 1) * COLUMN_PX;
  const height = TOP_PX + (ROWS + 1) * ROW_PX;
  return (
    <div class="rank-moves stack tight">
      <h3>{t("How ranks moved")}</h3>
      <svg
        viewBox={`-24 0 ${width + 48} ${height}`}
        width={width + 48}
        height={height}
        role="img"
        aria-label={t("Ranks of the first passages by signal; below the last line: beyond rank {n}", { n: ROWS })}
      >
        {columns.map(([title], column) => (
          <text key={title} x={x(column)} y={12} text-anchor="middle" class="axis">
            {title}
          </text>
        ))}
        {shown.map((result, at) => {
          const points = columns
            .map(([, rankOf], column) => ({ column, rank: rankOf(result, at) }))
            .filter((point): point is { column: number; rank: number } => point.rank !== undefined);
          return (
            <g key={result.id} class={`line-${at % 6}`}>
              <title>{result.metadata._memory.title ?? result.content.slice(0, 60)}</title>
              <polyline points={points.map(({ column, rank }) => `${x(column)},${y(rank)}`).join(" ")} />
              {points.map(({ column, rank }) => (
                <g key={column}>
                  <circle cx={x(column)} cy={y(rank)} r={8} />
                  <text x={x(column)} y={y(rank) + 3.5} text-anchor="middle">
                    {rank > 99 ? "…" : rank}
                  </text>
                </g>
              ))}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
