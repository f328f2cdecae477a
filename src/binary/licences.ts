// The licences of all parts of the program as one text: `mneme licences`.

import { VERSION } from "../kit/version.ts";
import type { Part } from "./parts.ts";

const RULE = "=".repeat(80);

/** One text with a table of the parts, then each licence text once with the parts that have it. */
export function licencesText(parts: readonly Part[]): string {
  const holders = new Map<string, string[]>();
  for (const { name, version, texts } of parts) {
    for (const text of texts) {
      const normalised = text.replaceAll("\r\n", "\n").trim();
      holders.set(normalised, [...(holders.get(normalised) ?? []), `${name} ${version}`]);
    }
  }
  return [
    `Mneme ${VERSION} is under the Apache License 2.0. It contains these parts:`,
    "",
    ...parts.map(({ kind, name, version, licence }) => `${name} ${version} (${kind}): ${licence}`),
    ...[...holders].flatMap(([text, names]) => ["", RULE, ...names, RULE, "", text]),
    "",
  ].join("\n");
}
