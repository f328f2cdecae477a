// Reads pairs of notes: in some, the newer note corrects the older one; in the others, it only looks like a correction.
// bench/fixtures/corrections/README.md describes their lines.

import { readFileSync } from "node:fs";

/** Two notes of a user, and a question. */
export interface CorrectionPair {
  /** Whether the newer note corrects the older one. If not, both hold, and the older one answers. */
  readonly isCorrection: boolean;
  /** BCP 47. */
  readonly language: string;
  readonly older: string;
  readonly newer: string;
  readonly question: string;
  /** What the right answer contains. */
  readonly value: string;
}

/** The pairs of a file. */
export function correctionPairs(path: string): readonly CorrectionPair[] {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [kind, language = "", older = "", newer = "", question = "", value = ""] = line.split("\t");
    return { isCorrection: kind === "C", language, older, newer, question, value };
  });
}
