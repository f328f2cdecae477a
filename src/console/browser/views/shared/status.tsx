// The status of a memory, with its progress while it is processed.

import type { Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Badge } from "../../ui/pieces.tsx";

interface StatusBadgeProps {
  readonly memory: Memory;
  /** Whether what is completed gets no colour, so that the others stand out. */
  readonly isQuiet?: boolean;
}

/** The status as a badge. */
export function StatusBadge({ memory: { status, progress, error }, isQuiet = false }: StatusBadgeProps) {
  if (isQuiet && status === "completed")
    return (
      <span class="fine row quiet-status">
        <span class="dot ready" /> {t(status)}
      </span>
    );
  const percent =
    progress?.chunks_total && progress.chunks_total > 0
      ? ` ${Math.round((progress.chunks_done / progress.chunks_total) * 100)} %`
      : progress?.pages_total
        ? ` ${progress.pages_done ?? 0}/${progress.pages_total}`
        : "";
  return (
    <Badge tone={status}>
      <span title={error?.message}>
        {status === "processing" && progress !== undefined ? `${progress.stage}${percent}` : t(status)}
      </span>
    </Badge>
  );
}
