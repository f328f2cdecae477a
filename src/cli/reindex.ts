// `mneme reindex`: rebuilds the derived parts of projects (vectors, postings, entities) from the texts, whether or not
// a server runs on the data directory.

import { linesOf, type StreamFailure } from "../compose/frames.ts";
import type { ReindexEvent, ReindexResult } from "../domain/reindex-event.ts";
import { systemClock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { type CommandStart, DIRECTORY_HELP, directoryConfig } from "./command-start.ts";
import { Progress, readableDuration } from "./terminal.ts";

/** Help for reindex, as `[flag, description]`. */
export const REINDEX_HELP: readonly (readonly [string, string])[] = [
  ["--project ID", "Rebuild this project only (default: all projects)"],
  ["--rate NUMBER", "Embed at most this many chunks per second (default: the setting embedder-change-rate)"],
  ["--json", "Print the result as JSON"],
  ...DIRECTORY_HELP,
];

/**
 * Runs `mneme reindex`. It can be stopped at any time, and repeated.
 * @returns the text to print
 * @throws Error with one sentence; searches find everything as before then
 */
export async function reindexCommand(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--project": "value", "--rate": "value", "--json": "switch", "--data-dir": "value", "--config": "value" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const query = new URLSearchParams();
  const [project, rate] = [flags.get("--project"), flags.get("--rate")];
  if (project !== undefined) query.set("project", project);
  if (rate !== undefined) query.set("rate", checkedRate(rate));
  const config = directoryConfig(flags, start);
  // loaded when it is needed, because it loads the whole server and its libraries
  const { openIndexingDirectory } = await import("../compose/indexing-directory.ts");
  await using directory = await openIndexingDirectory(config, systemClock, createLog("warn"));
  const startedAt = performance.now();
  const results = await readResults(await directory.ask("POST", `/reindex?${query}`));
  if (flags.has("--json")) return JSON.stringify(results, null, 2);
  const took = readableDuration(performance.now() - startedAt);
  const key = directory.firstKey === null ? [] : [`Admin key (shown only once): ${directory.firstKey}`];
  return [...results.map(sentenceOf), `Done in ${took}.`, ...key].join("\n");
}

async function readResults(response: Response): Promise<readonly ReindexResult[]> {
  const progress = new Progress("reindexing");
  const results: ReindexResult[] = [];
  for await (const line of linesOf(response.body)) {
    const event = JSON.parse(line) as ReindexEvent | StreamFailure | { readonly type: "end" };
    if (event.type === "error") throw new Error(event.message);
    if (event.type === "end") return results;
    if (event.type === "project") results.push(event);
    else {
      const { memories_done: done, memories_total: total } = event;
      progress.show(done / Math.max(1, total), `${done} of ${total} memories`);
    }
  }
  throw new Error("The server stopped before everything was rebuilt; run the command again.");
}

function sentenceOf({ project_id, memories, rebuilt, changed, ingested, kept }: ReindexResult): string {
  const others = [
    changed === 0 ? [] : [`${changed} were changed or deleted meanwhile`],
    ingested === 0 ? [] : [`${ingested} lacked parts and were indexed again`],
    kept === 0 ? [] : [`${kept} keep their parts, because this version would cut their texts otherwise`],
  ].flat();
  return [`${project_id}: ${rebuilt} of ${memories} memories rebuilt`, ...others].join("; ").concat(".");
}

function checkedRate(text: string): string {
  if (/^[1-9]\d{0,5}$/.test(text)) return text;
  throw new UsageError(`--rate must be a whole number of chunks per second, at least 1, not ${JSON.stringify(text)}.`);
}
