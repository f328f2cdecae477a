// The status of a memory, with its progress while it is processed.

import type { Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Badge } from "../../ui/pieces.tsx";

/** The status as a badge. */
export function StatusBadge({ memory: { status, progress, error } }: { readonly memory: Memory }) {
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
