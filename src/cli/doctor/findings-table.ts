// Findings as a table with marks, and advice below them.

import { counted } from "../../kit/counted.ts";
import { alignRows } from "../terminal.ts";
import type { Finding, Verdict } from "./finding.ts";

const MARKS: Readonly<Record<Verdict, string>> = { good: "ok", warning: "warning", bad: "PROBLEM" };

/**
 * The findings as text.
 * @param allGood last line if there is nothing to do
 */
export function findingsTable(findings: readonly Finding[], allGood: string): string {
  const rows = findings.map(({ name, verdict, found }) => [MARKS[verdict], name, found]);
  const lines = alignRows(rows).flatMap((line, at) => {
    const advice = findings[at]?.advice ?? null;
    return advice === null ? [line] : [line, `${" ".repeat(MARKS.bad.length)}  → ${advice}`];
  });
  const worst = findings.filter(({ verdict }) => verdict === "bad").length;
  const warnings = findings.filter(({ verdict }) => verdict === "warning").length;
  const found = [worst > 0 && counted(worst, "problem"), warnings > 0 && counted(warnings, "warning")].filter(Boolean);
  return [...lines, "", found.length === 0 ? allGood : `${found.join(", ")}.`].join("\n");
}
