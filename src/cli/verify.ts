// `mneme verify [--repair]`: checks the stores and indexes of a data directory, whether or not a server runs on it, and
// repairs what can be repaired without loss.

import type { DataDirectory } from "../compose/data-directory.ts";
import { linesOf, type StreamFailure } from "../compose/frames.ts";
import { verifyDirectory } from "../compose/verify-directory.ts";
import type { Config } from "../config.ts";
import type {
  DefectKind,
  IndexDefect,
  Repair,
  Verification,
  VerifyEvent,
  VerifyPhase,
} from "../domain/verification.ts";
import { systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { type CommandStart, directoryConfig } from "./command-start.ts";
import { Progress } from "./terminal.ts";

/** Exit codes of verify. */
export const VERIFY_EXIT = { sound: 0, defects: 1, notChecked: 2 } as const;

const SENTENCES: Readonly<Record<DefectKind, string>> = {
  missing_text: "completed memories have no text",
  other_version: "completed memories have a text of another version",
  wrong_text: "completed memories have a text with another size or hash",
  surplus_text: "texts belong to no memory",
  missing_upload: "uploaded files are missing or have another size",
  surplus_upload: "uploaded files belong to no memory",
  missing_original: "kept files of memories are missing",
  damaged_original: "kept files of memories have another content than was uploaded",
  stray_relation: "memories have a relation with a deleted memory, or with one of another user or agent",
  wrong_supersession: "memories do not say what supersedes them",
  lost_earlier_text: "earlier texts of memories are lost",
  damaged_page: "pages of mneme.sqlite are damaged",
  unusable: "store cannot be used",
};
/** What can be done about damaged pages. */
const LOSS = "restore a backup with `mneme restore`, or start with what is left: `mneme serve --accept-loss`";
const PHASES: Readonly<Record<VerifyPhase, string>> = {
  pages: "pages of mneme.sqlite",
  texts: "memories",
  index: "indexes",
};

/**
 * Runs `mneme verify`.
 * @returns the text to print, and the exit code
 * @throws Error with one sentence if the directory could not be checked
 */
export async function verifyCommand(
  argv: readonly string[],
  start: CommandStart,
): Promise<{ readonly text: string; readonly exitCode: number }> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--data-dir": "value", "--config": "value", "--json": "switch", "--repair": "switch" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const config = directoryConfig(flags, start);
  const report = flags.has("--repair") ? await repaired(config) : await checked(config);
  const text = flags.has("--json") ? JSON.stringify(report, null, 2) : summaryOf(report);
  return { text, exitCode: report.is_sound ? VERIFY_EXIT.sound : VERIFY_EXIT.defects };
}

/** Advice below defects of indexes. */
const INDEX_ADVICE =
  "Indexes are derived: the start of a server builds what they lack, as after a restore, and so does mneme verify --repair.";
const PARTS = { clock: systemClock, log: createLog("silent") };

function checked(config: Config): Promise<Verification> {
  return verifyDirectory(config, PARTS, (directory) => reportOf(directory, "GET"));
}

/**
 * A running server repairs everything itself. Without one, the stores of record come first, so that what a start would
 * remove goes to the quarantine; then the indexes are opened as a start opens them, which repairs them.
 */
async function repaired(config: Config): Promise<Verification> {
  let isServed = false;
  const report = await verifyDirectory(config, PARTS, (directory) => {
    isServed = directory.isServed;
    return reportOf(directory, "POST");
  });
  const isUnusable = report.defects.some(({ kind }) => kind === "unusable");
  if (isServed || isUnusable || (report.index ?? []).length === 0) return report;
  // loaded when it is needed, because it loads the whole server and its libraries
  const { openIndexingDirectory } = await import("../compose/indexing-directory.ts");
  await using directory = await openIndexingDirectory(config, systemClock, createLog("silent"));
  const after = await reportOf(directory, "POST");
  const repairs = [...(report.repairs ?? []), ...(report.index ?? []).map(openingRepaired), ...(after.repairs ?? [])];
  return { ...after, repairs };
}

function openingRepaired({ project, kind, count, detail }: IndexDefect): Repair {
  const what = "what was damaged is in quarantine/, and what was missing is built again from the texts";
  return { kind, count, is_repaired: true, detail: `${project}: ${detail.replace(/\.$/, "")}: ${what}` };
}

/** The report of a check (GET) or repair (POST), with its progress on standard error. */
async function reportOf({ ask }: DataDirectory, method: "GET" | "POST"): Promise<Verification> {
  const response = await ask(method, "/verify");
  const progress = new Progress(method === "GET" ? "checking" : "repairing");
  for await (const line of linesOf(response.body)) {
    const event = JSON.parse(line) as VerifyEvent | StreamFailure;
    if (event.type === "error") throw new Error(event.message);
    if (event.type === "report") {
      progress.clear();
      return event.report;
    }
    progress.show(event.done / Math.max(1, event.total), PHASES[event.phase]);
  }
  throw new Error("The server stopped before the check ended; run the command again.");
}

function summaryOf({
  is_sound,
  pages,
  memories,
  texts,
  uploads,
  defects,
  index = [],
  repairs = [],
}: Verification): string {
  const parts = [
    counted(pages, "page"),
    counted(memories, "memory", "memories"),
    counted(texts, "text"),
    counted(uploads, "uploaded file"),
  ];
  const compared = `Compared ${parts.join(", ")} and the indexes`;
  const done = repairs.map(({ is_repaired, detail }) => `${is_repaired ? "Repaired" : "Not repaired"}: ${detail}.`);
  if (is_sound) return [...done, `${compared}: they fit together.`].join("\n");
  const lines = defects.map(({ kind, count, examples }) => {
    const what = `${count} ${SENTENCES[kind]}: ${examples.join(", ")}`;
    return kind === "damaged_page" ? `${what}. No command repairs this without loss: ${LOSS}.` : what;
  });
  const ofIndexes = index.map(({ project, detail }) => `${project}: ${detail}`);
  const isUnusable = defects.some(({ kind }) => kind === "unusable");
  const advice = index.length > 0 ? [INDEX_ADVICE] : [];
  return [...done, ...(isUnusable ? [] : [`${compared}.`]), ...lines, ...ofIndexes, ...advice].join("\n");
}
