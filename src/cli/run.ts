// Which command was asked for? Dispatches the command line and turns failures into one line and an exit code.
// Commands load their code when they run, so that `help` is instant and a child loads nothing of the server.

import { type Config, parseConfig, type StartPlace, settingsHelp } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { VERSION } from "../kit/version.ts";
import type { AccountsCommand } from "./accounts.ts";
import { alignRows } from "./terminal.ts";

/** What differs between a source checkout and the single binary. */
export interface Distribution {
  /** Where the models that came along are, given the data directory. */
  readonly shippedModelsDirectory: (dataDir: string) => string;
  /** Makes native libraries and models available before anything loads them; absent where they simply lie there. */
  readonly unpack?: (config: Config) => Promise<void>;
  /** What has to wait until this process holds the data directory. */
  readonly afterOpening?: (config: Config) => void;
}

interface Command {
  /** null: not shown in the help. */
  readonly summary: string | null;
  /** @returns the exit code. */
  readonly run: (argv: readonly string[], distribution: Distribution) => Promise<number>;
  /** What `--help` shows behind this command's name; absent: the help of the program. */
  readonly help?: () => Promise<readonly string[]>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { summary: "Start the server (the default)", run: runServe },
  import: { summary: "Store a JSONL file of memories or documents in a running server", run: runImport },
  keys: {
    summary: "List, create, rotate and revoke API keys",
    run: (argv, distribution) => runAccountsCommand("keys", argv, distribution),
    help: async () => (await import("./accounts.ts")).accountsHelp("keys"),
  },
  projects: {
    summary: "List, create and delete projects, and set their plans",
    run: (argv, distribution) => runAccountsCommand("projects", argv, distribution),
    help: async () => (await import("./accounts.ts")).accountsHelp("projects"),
  },
  version: { summary: "Print the version", run: runVersion },
  help: { summary: "Print this", run: runHelp },
  child: { summary: null, run: runChild },
};

/**
 * Runs the command that `argv` names. Whatever fails on the way is told on standard error: in one line, or with its
 * stack where it is a bug of ours.
 * @returns the exit code: 0, or 1 when the command failed.
 */
export async function run(argv: readonly string[], distribution: Distribution): Promise<number> {
  const first = argv[0] ?? "serve";
  const wantsHelp = argv.includes("--help") || first === "-h";
  const isNamed = !first.startsWith("-");
  try {
    const command = isNamed && Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
    if (wantsHelp) return command?.help === undefined ? await runHelp() : print(await command.help());
    if (first === "--version") return await runVersion();
    if (isNamed && command === undefined) {
      throw new UsageError(`Unknown command ${first}.${didYouMean(first, shownCommands())} See mneme help.`);
    }
    return await (command?.run ?? runServe)(isNamed ? argv.slice(1) : argv, distribution);
  } catch (error) {
    process.stderr.write(`${failureText(error)}\n`);
    return 1;
  }
}

/** What a person is told of a failure: one line, with the stack only where it helps to mend a bug of ours. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return `mneme: ${String(error)}`;
  const isBug =
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError ||
    error.message.endsWith("this is a bug in Mneme");
  if (isBug) return `mneme: ${error.stack ?? error.message}`;
  return `mneme: ${error.message.replace(/\s*\n\s*/g, " ")}`;
}

async function runServe(argv: readonly string[], distribution: Distribution): Promise<number> {
  const config = parseConfig(argv, process.env, placeOf(distribution));
  await distribution.unpack?.(config);
  const [{ serve }, { compose }] = await Promise.all([import("./serve.ts"), import("../compose.ts")]);
  return serve(config, compose, () => distribution.afterOpening?.(config));
}

async function runImport(argv: readonly string[]): Promise<number> {
  const { importFile, parseImportOptions } = await import("./import.ts");
  const { refused } = await importFile(parseImportOptions(argv, process.env));
  return refused > 0 ? 1 : 0;
}

async function runAccountsCommand(
  command: AccountsCommand,
  argv: readonly string[],
  distribution: Distribution,
): Promise<number> {
  const [{ runAccounts }, { openLocalAccounts }] = await Promise.all([
    import("./accounts.ts"),
    import("../local-accounts.ts"),
  ]);
  const text = await runAccounts(command, argv, {
    environment: process.env,
    place: placeOf(distribution),
    clock: systemClock,
    openLocal: openLocalAccounts,
  });
  // a long list must be out before the process ends
  await Bun.write(Bun.stdout, text);
  return 0;
}

async function runChild(argv: readonly string[]): Promise<number> {
  const { runChildProcess } = await import("../children/entry.ts");
  await runChildProcess(argv);
  return 0;
}

async function runVersion(): Promise<number> {
  process.stdout.write(`mneme ${VERSION} (bun ${Bun.version}, ${process.platform}-${process.arch})\n`);
  return 0;
}

async function runHelp(): Promise<number> {
  const [{ IMPORT_HELP }, { ACCOUNTS_HELP }] = await Promise.all([import("./import.ts"), import("./accounts.ts")]);
  const commands = Object.entries(COMMANDS).flatMap(([name, { summary }]) =>
    summary === null ? [] : [[name, summary]],
  );
  const lines = [
    `Mneme ${VERSION}: a memory and retrieval engine for AI applications`,
    "",
    "Usage: mneme [command] [flags]",
    "",
    "Commands:",
    ...indent(alignRows(commands)),
    "",
    "Settings of serve (--data-dir is MNEME_DATA_DIR in the environment and data_dir in mneme.toml, and so on):",
    ...indent(alignRows(settingsHelp())),
    "",
    "Flags of import FILE.jsonl[.gz]:",
    ...indent(alignRows(IMPORT_HELP)),
    "",
    "Keys and projects (their flags: mneme keys --help, mneme projects --help):",
    ...indent(alignRows(ACCOUNTS_HELP)),
  ];
  return print(lines);
}

function print(lines: readonly string[]): number {
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function placeOf({ shippedModelsDirectory }: Distribution): StartPlace {
  return { workingDirectory: process.cwd(), shippedModelsDirectory };
}

function shownCommands(): string[] {
  return Object.entries(COMMANDS).flatMap(([name, { summary }]) => (summary === null ? [] : [name]));
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
