// `mneme verify`: compares the stores of a data directory, whether or not a server runs on it.

import { verifyDirectory } from "../compose/verify-directory.ts";
import { parseConfig, type StartPlace } from "../config.ts";
import type { DefectKind, Verification } from "../domain/verification.ts";
import { systemClock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { accepted } from "./project-copy.ts";

/** Help for the flags of verify, as `[flag, description]`. */
export const VERIFY_HELP: readonly (readonly [string, string])[] = [
  ["--data-dir DIRECTORY", "Data directory, whether or not a server is running (default: as for serve)"],
  ["--config FILE", "Settings file that names the data directory (default: as for serve)"],
  ["--json", "Print the report as JSON"],
];

const SENTENCES: Readonly<Record<DefectKind, string>> = {
  missing_text: "completed memories have no text",
  other_version: "completed memories have a text of another version",
  wrong_text: "completed memories have a text with another size or hash",
  surplus_text: "texts belong to no memory",
  missing_upload: "uploaded files are missing or have another size",
  surplus_upload: "uploaded files belong to no memory (the next start removes them)",
  unusable: "store cannot be used",
};

/**
 * Runs `mneme verify`.
 * @returns the text to print, and whether the stores are sound
 */
export async function verifyCommand(
  argv: readonly string[],
  start: { readonly environment: Readonly<Record<string, string | undefined>>; readonly place: StartPlace },
): Promise<{ readonly text: string; readonly isSound: boolean }> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--data-dir": "value", "--config": "value", "--json": "switch" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const ofData = [...flags].filter(([flag]) => flag !== "--json").flat();
  const config = parseConfig(ofData, start.environment, start.place);
  const parts = { clock: systemClock, log: createLog("silent") };
  const report = await verifyDirectory(config, parts, async ({ control }) => {
    const response = await accepted(control(new Request("http://mneme/verify")));
    return (await response.json()) as Verification;
  });
  const text = flags.has("--json") ? JSON.stringify(report, null, 2) : summaryOf(report);
  return { text, isSound: report.is_sound };
}

function summaryOf({ is_sound, memories, texts, uploads, defects, index }: Verification): string {
  const indexes = index === undefined ? ", without the indexes, because no server is running" : ", and the indexes";
  const compared = `Compared ${memories} memories, ${texts} texts and ${uploads} uploaded files${indexes}`;
  if (is_sound) return `${compared}: they fit together.`;
  const lines = defects.map(({ kind, count, examples }) => `${count} ${SENTENCES[kind]}: ${examples.join(", ")}`);
  const indexLines = (index ?? []).map(({ project, detail }) => `${project}: ${detail}`);
  return [`${compared}.`, ...lines, ...indexLines].join("\n");
}
