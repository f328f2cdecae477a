// Reads the pairs of sentences of bench/fixtures/relations, whose README describes their lines.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Two sentences or notes of a person. */
export interface RelationPair {
  /** Whether the newer one corrects or replaces the older one. */
  readonly isCorrection: boolean;
  /** BCP 47. */
  readonly language: string;
  readonly older: string;
  readonly newer: string;
  /** Empty if the pair has none. */
  readonly question: string;
  /** The value that no longer holds; empty if the pair has none. */
  readonly gone: string;
  /** The value that holds; empty if the pair has none. */
  readonly holds: string;
}

/** The pairs of a file, such as `dev`. */
export function relationPairs(name: string): readonly RelationPair[] {
  const path = join(import.meta.dir, "../fixtures/relations", `${name}.tsv`);
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [kind, language = "", older = "", newer = "", question = "", gone = "", holds = ""] = line.split("\t");
      return { isCorrection: kind === "C", language, older, newer, question, gone, holds };
    });
}
