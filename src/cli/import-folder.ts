// `mneme import FOLDER [--watch]`: stores the files of a folder in a running server, and keeps both in step. Everything
// goes through the public API. folder/sync.ts says what happens to a file.

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { type Clock, systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { errorMessage } from "../kit/error-message.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { Client } from "./client.ts";
import { emptyState, readState, statePath } from "./folder/state.ts";
import { FolderSync, type Pass, type Report } from "./folder/sync.ts";
import { IGNORE_FILE } from "./folder/walk.ts";
import { parseTarget, TARGET_FLAGS } from "./import.ts";
import { Progress, readableDuration } from "./terminal.ts";

/** Help for the flags, as `[flag, description]`. */
export const IMPORT_FOLDER_HELP: readonly (readonly [string, string])[] = [
  ["--watch", "Go on: send new, changed and moved files as they come (end with Ctrl+C)"],
  ["--delete", "Delete the memories of files that are gone; never because the folder is empty or not mounted"],
  ["--state FILE", "Where to note what is stored (default: a file in ~/.local/state/mneme/folders)"],
  ["", `${IGNORE_FILE} in a folder leaves files out, in the syntax of .gitignore`],
];

/** Minimum pause between two passes, in milliseconds. */
const PAUSE_MS = 2_000;
/** Minimum pause as a share of the time of the pass before it, so that a large folder is not read all the time. */
const PAUSE_SHARE = 1 / 20;
/** Number of passes in a row in which only failures are left before the import ends, unless the folder is watched. */
const PASSES_OF_FAILING_MAX = 4;
/** Maximum number of lines that are printed before the next result; further ones are only counted. */
const LINES_MAX = 200;

const FLAGS: Readonly<Record<string, "value" | "switch">> = {
  ...{ "--url": "value", "--key": "value", "--user": "value", "--state": "value" },
  ...{ "--watch": "switch", "--delete": "switch" },
};

/** Options of an import of a folder. */
export interface ImportFolderOptions {
  readonly root: string;
  readonly url: string;
  readonly key: string;
  readonly userId: string | null;
  readonly watches: boolean;
  readonly deletes: boolean;
  readonly statePath: string;
}

/** Whether a command line imports a folder. */
export function isImportOfFolder(argv: readonly string[]): boolean {
  if (argv.includes("--watch") || argv.includes("--delete")) return true;
  // the value of a flag is not the folder; that includes flags of other imports, such as --data-dir
  const isValue = (at: number) => {
    const before = argv[at - 1] ?? "";
    return before.startsWith("--") && !before.includes("=") && { ...TARGET_FLAGS, ...FLAGS }[before] !== "switch";
  };
  return argv.some((word, at) => !word.startsWith("--") && !isValue(at) && isFolder(word));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Parses the command line. @throws UsageError with one line that names what is missing or wrong */
export function parseImportFolderOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  home = homedir(),
): ImportFolderOptions {
  const { flags, positionals } = parseCommandLine(argv, FLAGS);
  const [folder, surplus] = positionals;
  if (folder === undefined) throw new UsageError("Missing folder. Usage: mneme import FOLDER [--watch] [--delete]");
  if (surplus !== undefined) {
    throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}: import takes one folder.`);
  }
  const { url, key, userId } = parseTarget(flags, environment);
  if (key === null) throw new UsageError("Missing API key: set MNEME_API_KEY or use --key.");
  const root = resolve(folder);
  const watches = flags.has("--watch");
  // a folder that is watched may be mounted later
  if (!isFolder(root) && (!watches || statSync(root, { throwIfNoEntry: false }) !== undefined)) {
    throw new UsageError(`${root} is not a folder.`);
  }
  const path = flags.get("--state") ?? statePath(environment, home, { url, key, userId, root });
  return { root, url, key, userId, watches, deletes: flags.has("--delete"), statePath: path };
}

/**
 * Synchronises the server with the folder: once, or until `signal` aborts.
 * @returns whether all files are stored; true if `signal` aborted
 * @throws Error if the server refuses the key, or cannot be reached and the folder is not watched
 */
export async function importFolder(
  options: ImportFolderOptions,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<boolean> {
  const progress = new Progress(`importing ${basename(options.root)}:`);
  const lines = new Lines(progress);
  const state = readState(options.statePath);
  if (state === null) lines.say(`${options.statePath} is damaged or of another version: all files are compared again.`);
  const client = new Client(options.url, options.key, clock);
  const known = state ?? emptyState();
  const sync = new FolderSync(options, known, { client, clock, report: lines });
  const startedAt = clock.now();
  const total = { sent: 0, moved: 0, deleted: 0 };
  let passesOfFailing = 0;
  let lost = "";
  while (!signal.aborted) {
    const passBegan = performance.now();
    let pass: Pass | null = null;
    try {
      pass = await sync.pass(signal);
      lost = "";
    } catch (error) {
      const why = errorMessage(error);
      if (!options.watches || !/^No answer from |busy/.test(why)) throw error;
      if (why !== lost) lines.say(`${why}: trying again`);
      lost = why;
    }
    if (pass !== null) {
      for (const name of ["sent", "moved", "deleted"] as const) total[name] += pass[name];
      const hasChanged = pass.sent + pass.moved + pass.deleted > 0;
      passesOfFailing = pass.failing > 0 && !hasChanged ? passesOfFailing + 1 : 0;
      const isDone = pass.waiting === 0 && (pass.failing === 0 || passesOfFailing >= PASSES_OF_FAILING_MAX);
      if (isDone && (hasChanged || !options.watches)) {
        const what = `${total.sent} sent, ${total.moved} moved, ${total.deleted} deleted`;
        const left =
          pass.left === 0
            ? ""
            : `; ${counted(pass.left, "file is", "files are")} gone, and what was stored of them stays`;
        const failing = pass.failing === 0 ? "" : `; ${counted(pass.failing, "file")} failed`;
        lines.end(
          `${counted(pass.files, "file")}: ${what}${left}${failing}, in ${readableDuration(clock.now() - startedAt)}`,
        );
      }
      if (isDone && !options.watches) return pass.failing === 0 && known.refused.size === 0;
    }
    await clock.sleep(Math.max(PAUSE_MS, (performance.now() - passBegan) * PAUSE_SHARE), signal);
  }
  return true;
}

/** Prints lines about files, and progress. */
class Lines implements Report {
  #printed = 0;

  constructor(private readonly shown: Progress) {}

  say(line: string): void {
    this.#printed++;
    if (this.#printed <= LINES_MAX) this.shown.finish(line);
  }

  progress(done: number, total: number): void {
    this.shown.show(done / total, `${done} of ${total} files`);
  }

  /** Prints the result of passes, and begins to count lines again. */
  end(line: string): void {
    if (this.#printed > LINES_MAX) this.shown.finish(`${this.#printed - LINES_MAX} further lines were left out`);
    this.#printed = 0;
    this.shown.finish(line);
  }
}
