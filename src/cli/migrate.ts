// `mneme migrate`: moves all data between a data directory and a PostgreSQL database.

import { resolve } from "node:path";
import type { Moved, MoveOptions } from "../compose/migration/move.ts";
import { type Config, parseConfig } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { rateOf } from "./byte-rate.ts";
import type { CommandStart } from "./command-start.ts";
import { Progress, readableDuration } from "./terminal.ts";

/** Help for migrate, as `[flag, description]`. */
export const MIGRATE_HELP: readonly (readonly [string, string])[] = [
  ["--from DIRECTORY|postgres://…", "Data directory or database to move; during the move it can be read, not changed"],
  ["--to DIRECTORY|postgres://…", "Empty folder or database to move to"],
  ["--rate NUMBER[K|M|G]", "Copy at most this many bytes per second (default: unlimited)"],
  ["--models-dir DIRECTORY", "Folder of the models (default: as for serve)"],
  [
    "--reopen DIRECTORY|postgres://…",
    "Allow changes of a source again, and move nothing; gives up a move that has not ended",
  ],
];

const DATABASE = /^postgres(ql)?:\/\//i;

/**
 * Runs `mneme migrate`.
 * @returns the text to print
 * @throws Error with a message for the operator; run again, the command continues where it stopped
 */
export async function migrateCommand(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--from": "value", "--to": "value", "--rate": "value", "--reopen": "value", "--models-dir": "value" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const reopened = flags.get("--reopen");
  if (reopened !== undefined) {
    if (flags.size > 1) throw new UsageError("--reopen stands alone.");
    await reopen(reopened, start);
    return `${withoutPassword(reopened)} can be changed again. What was copied of it is out of date: empty it.`;
  }
  const [from, to] = [flags.get("--from"), flags.get("--to")];
  if (from === undefined || to === undefined) throw new UsageError(`Missing --from or --to. ${USAGE}`);
  if (DATABASE.test(from) === DATABASE.test(to)) {
    throw new UsageError(`One of --from and --to must be a folder, the other a postgres:// address. ${USAGE}`);
  }
  const startedAt = performance.now();
  const options = optionsOf(flags.get("--rate"));
  const moved = DATABASE.test(to)
    ? await toDatabase(configOf(from, flags, start), to, options)
    : await toDirectory(configOf(to, flags, start), from, options);
  return sentencesOf(
    moved,
    withoutPassword(from),
    withoutPassword(to),
    readableDuration(performance.now() - startedAt),
  );
}

const USAGE = "Usage: mneme migrate --from DIRECTORY --to postgres://user:password@host:5432/name, or the other way.";

async function toDatabase(config: Config, url: string, options: MoveOptions): Promise<Moved> {
  // loaded when it is needed, because it loads the whole server and its libraries
  const { openSourceDirectory } = await import("../compose/migration/source-directory.ts");
  const { moveToPostgres } = await import("../compose/migration/to-postgres.ts");
  await using directory = await openSourceDirectory(config, systemClock, createLog("warn"));
  return await moveToPostgres(directory, url, options);
}

async function toDirectory(config: Config, url: string, options: MoveOptions): Promise<Moved> {
  const { moveToDirectory } = await import("../compose/migration/to-directory.ts");
  return moveToDirectory(config, url, createLog("warn"), options);
}

async function reopen(source: string, start: CommandStart): Promise<void> {
  if (DATABASE.test(source)) return (await import("../compose/migration/to-directory.ts")).reopenSource(source);
  const { reopenDirectory } = await import("../compose/migration/source-directory.ts");
  await reopenDirectory(configOf(source, new Map(), start), systemClock, createLog("warn"));
}

/** The settings of a data directory. The setting `store` does not count: the command names the database. */
function configOf(folder: string, flags: ReadonlyMap<string, string>, start: CommandStart): Config {
  const models = flags.get("--models-dir");
  const { MNEME_STORE, ...environment } = start.environment;
  const argv = ["--data-dir", resolve(start.place.workingDirectory, folder)];
  if (models !== undefined) argv.push("--models-dir", models);
  return { ...parseConfig(argv, environment, start.place), store: null };
}

function optionsOf(rate: string | undefined): MoveOptions {
  const progress = new Progress("moving");
  return {
    clock: systemClock,
    bytesPerSecond: rateOf(rate),
    onProgress: (step, share, done) => progress.show(share, `${step}, ${done}`),
  };
}

function sentencesOf(moved: Moved, from: string, to: string, took: string): string {
  const { memories, users, chats, publications, skipped } = moved;
  const again =
    skipped === 0
      ? []
      : [
          `${counted(skipped, "memory is", "memories are")} indexed again there, because this version cuts texts otherwise.`,
        ];
  return [
    `Moved ${counted(memories, "memory", "memories")}, ${counted(users, "user")} and ${counted(chats, "chat")} to ${to} in ${took}; the copy was compared with its source.`,
    `The vectors of ${counted(publications, "memory", "memories")} were copied.`,
    ...again,
    `${from} stays closed to changes, so that nothing is stored in the wrong place: start the server on ${to} now.`,
  ].join("\n");
}

/** A folder, or the address of a database without its password. */
function withoutPassword(place: string): string {
  if (!DATABASE.test(place) || !URL.canParse(place)) return place;
  const url = new URL(place);
  url.password = "";
  return url.href;
}
