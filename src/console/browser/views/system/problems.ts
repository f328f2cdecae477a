// The problems of a server on which a person must act, the most urgent first. This does not use the page, so that tests
// can run without one.

import type { System } from "../../core/calls.ts";

/** Used share of the disk from which on it is nearly full. */
export const NEARLY_FULL = 0.9;
/** Age from which on a backup is old, in milliseconds. */
const BACKUP_OLD_MS = 7 * 24 * 3_600_000;

/** Something that needs a person. */
export type Problem =
  | { readonly kind: "disk_full" | "disk_nearly_full" }
  | { readonly kind: "node_lost"; readonly name: string; readonly seenAt: string }
  | { readonly kind: "process"; readonly name: string; readonly state: string }
  | { readonly kind: "warning"; readonly text: string }
  | { readonly kind: "memories_failed"; readonly count: number }
  /** `at`: time of the last backup; null: there is none. */
  | { readonly kind: "backup"; readonly at: string | null };

/** The problems. @param now in Unix milliseconds */
export function problemsOf(state: System, now: number): readonly Problem[] {
  const { disk, nodes, lanes, threads, warnings, queue, last_backup_at: backup } = state;
  const problems: Problem[] = [];
  if (disk.is_full) problems.push({ kind: "disk_full" });
  else if (usedShareOf(disk) > NEARLY_FULL) problems.push({ kind: "disk_nearly_full" });
  for (const { name, state: node, seen_at: seenAt } of nodes)
    if (node !== "up") problems.push({ kind: "node_lost", name, seenAt });
  for (const { name, status } of lanes) if (status !== "up") problems.push({ kind: "process", name, state: status });
  for (const { id, state: thread } of threads)
    if (thread !== "up") problems.push({ kind: "process", name: id, state: thread });
  for (const text of warnings) problems.push({ kind: "warning", text });
  if (queue.memories_failed > 0) problems.push({ kind: "memories_failed", count: queue.memories_failed });
  if (backup === null || now - Date.parse(backup) > BACKUP_OLD_MS) problems.push({ kind: "backup", at: backup });
  return problems;
}

/** Share of a disk that is used, 0 to 1. */
export function usedShareOf({ free_bytes: free, total_bytes: total }: System["disk"]): number {
  return total === 0 ? 0 : 1 - free / total;
}
