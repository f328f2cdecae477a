// Runs the command that a command line names, and turns failures into one line and an exit code. The code of a command
// is loaded when it runs, so that `help` is instant and a child process loads no server code.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { type Config, parseConfig } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import type { StartPlace } from "../kit/setting.ts";
import { systemErrorText } from "../kit/system-error.ts";
import { VERSION } from "../kit/version.ts";
import type { AccountsCommand } from "./accounts.ts";
import type { CommandStart } from "./command-start.ts";
import { settingsHelp } from "./settings-help.ts";
import { alignRows, indent } from "./terminal.ts";

/** Differences between a source checkout and an installed program. */
export interface Distribution {
  /** Returns the licences of all parts of the program. */
  readonly licences: () => Promise<string>;
  /** Returns the folder of the shipped models. */
  readonly shippedModelsDirectory: () => string;
  /** Work that must wait until this process has the data directory's lock. */
  readonly afterOpening?: (config: Config) => void;
}

const MODEL_CHECK_HELP = ["models check [--models-dir DIRECTORY]", "Verify the files of the installed models"] as const;

/** A table of flags in the general help and in the help of the commands that have these flags. */
interface FlagTable {
  /** Heading after "Flags of". */
  readonly title: string;
  /** Flags with their descriptions. */
  readonly rows: () => Promise<readonly (readonly [string, string])[]>;
}

const IMPORT_FLAGS: FlagTable = {
  title: "import FILE.jsonl[.gz]",
  rows: async () => (await import("./import.ts")).IMPORT_HELP,
};
const IMPORT_FROM_FLAGS: FlagTable = {
  title: "import --from PRODUCT FILE|FOLDER|URL, besides those of import",
  rows: async () => (await import("./import-from.ts")).IMPORT_FROM_HELP,
};
const IMPORT_FOLDER_FLAGS: FlagTable = {
  title: "import FOLDER, besides --url, --key and --user",
  rows: async () => (await import("./import-folder.ts")).IMPORT_FOLDER_HELP,
};
const EXPORT_FLAGS: FlagTable = {
  title: "export FILE.jsonl[.gz], and of import of such a file (--data-dir, --config)",
  rows: async () => (await import("./copies-help.ts")).EXPORT_HELP,
};

// The only import of bench/ in src/.
function loadBench() {
  return import("../../bench/command/command.ts");
}

interface Command {
  /** Line in the help; null if the command is hidden. */
  readonly summary: string | null;
  /** @returns the exit code */
  readonly run: (argv: readonly string[], distribution: Distribution) => Promise<number>;
  /** Tables of the flags of this command, for `--help` after its name. Absent: `help` is shown, or the general help. */
  readonly flags?: readonly FlagTable[];
  /** Help of a command with actions that have flags of their own. */
  readonly help?: () => Promise<readonly string[]>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { summary: "Start the server (the default)", run: runServe },
  import: {
    summary: "Import memories, documents, a folder, an exported project, or the exports of other products",
    run: runImport,
    flags: [IMPORT_FLAGS, IMPORT_FOLDER_FLAGS, IMPORT_FROM_FLAGS, EXPORT_FLAGS],
  },
  export: {
    summary: "Export all that a project owns to a JSONL file",
    run: printing(async () => (await import("./project-copy.ts")).exportProject),
    flags: [EXPORT_FLAGS],
  },
  backup: {
    summary: "Back up all data to a folder or an S3 bucket, also while a server runs",
    run: printing(async () => (await import("./backup.ts")).backup),
    flags: [
      {
        title: "backup TARGET (a folder, or s3://BUCKET/PREFIX)",
        rows: async () => (await import("./copies-help.ts")).BACKUP_HELP,
      },
    ],
  },
  restore: {
    summary: "Restore a backup into an empty folder, list backups, or check one",
    run: printing(async () => (await import("./backup.ts")).restore),
    flags: [{ title: "restore TARGET", rows: async () => (await import("./copies-help.ts")).RESTORE_HELP }],
  },
  migrate: {
    summary: "Move all data between a data directory and a PostgreSQL database",
    run: printing(async () => (await import("./migrate.ts")).migrateCommand),
    flags: [{ title: "migrate", rows: async () => (await import("./migrate.ts")).MIGRATE_HELP }],
  },
  forget: {
    summary: "Erase a memory, a user or a project from all stores at once, with a receipt",
    run: printing(async () => (await import("./forget.ts")).forgetCommand),
    flags: [
      { title: "forget memory|user|project ID", rows: async () => (await import("./copies-help.ts")).FORGET_HELP },
    ],
  },
  verify: {
    summary: "Check all stores and indexes, also while a server runs, and repair them",
    run: runVerify,
    flags: [{ title: "verify", rows: async () => (await import("./copies-help.ts")).VERIFY_HELP }],
  },
  reindex: {
    summary: "Rebuild vectors, postings and entities from the texts, while searches go on",
    run: printing(async () => (await import("./reindex.ts")).reindexCommand),
    flags: [{ title: "reindex", rows: async () => (await import("./reindex.ts")).REINDEX_HELP }],
  },
  mcp: {
    summary: "Serve MCP over stdin and stdout, for agents that start it themselves",
    run: runMcp,
    flags: [{ title: "mcp", rows: async () => (await import("./mcp.ts")).MCP_HELP }],
  },
  connect: {
    summary: "Connect Claude, Codex, Cursor, VS Code or Gemini with Mneme",
    run: runConnect,
    flags: [{ title: "connect CLIENT", rows: async () => (await import("./connect.ts")).CONNECT_HELP }],
  },
  hook: {
    summary: "Recall and capture for hooks of Claude Code; see mneme connect claude-code --hooks",
    run: runHook,
    flags: [{ title: "hook recall|capture", rows: async () => (await import("./hook.ts")).HOOK_HELP }],
  },
  status: {
    summary: "Show the state of a server: health, queues, lanes, sizes, rates; again and again with --watch",
    run: runStatus,
    flags: [{ title: "status", rows: async () => (await import("./status.ts")).STATUS_HELP }],
  },
  doctor: {
    summary: "Look for what keeps a server from starting or working well, and say what to do",
    run: runDoctor,
    flags: [{ title: "doctor", rows: async () => (await import("./doctor/doctor.ts")).DOCTOR_HELP }],
  },
  "upgrade-check": {
    summary: "Say what this version will do with the data of an earlier one, before it opens it",
    run: runUpgradeCheck,
    flags: [{ title: "upgrade-check", rows: async () => (await import("./upgrade-check.ts")).UPGRADE_CHECK_HELP }],
  },
  completions: {
    summary: "Print a script that completes commands and flags in bash, zsh or fish",
    run: runCompletions,
    flags: [
      {
        title: "completions, and where the script goes",
        rows: async () => (await import("./completions.ts")).COMPLETIONS_HELP,
      },
    ],
  },
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
  models: {
    summary: "List embedding models, change the model of projects, and download optional ones",
    run: async (argv, distribution) =>
      argv[0] === "check"
        ? runModelCheck(argv.slice(1), distribution)
        : argv[0] === "pull" && (await namesOptionalModel(argv))
          ? runModelsPull(argv.slice(1), distribution)
          : runAccountsCommand("models", argv, distribution),
    help: async () => [
      ...(await import("./accounts.ts")).accountsHelp("models"),
      "",
      ...alignRows([MODEL_CHECK_HELP, ...(await import("./models-pull.ts")).MODELS_PULL_HELP]),
    ],
  },
  bench: {
    summary: "Measure latency, throughput and quality on this machine, with a server of its own",
    run: runBench,
    flags: [{ title: "bench", rows: async () => (await loadBench()).BENCH_HELP }],
  },
  licences: { summary: "Print the licences of all parts of the program", run: runLicences },
  version: { summary: "Print the version", run: runVersion },
  help: { summary: "Print this help", run: runHelp },
  child: { summary: null, run: runChild },
  thread: { summary: null, run: async () => (await import("../compose/threads/thread.ts")).answerRequests() },
};

/** Words that can follow a command, for completions. accounts.ts has those of keys, projects and models. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  forget: ["memory", "user", "project"],
  hook: ["recall", "capture"],
};

/**
 * Runs the command that `argv` names. Failures are printed to standard error: in one line, or with the stack if they
 * are bugs.
 * @returns the exit code: 0, or 1 if the command failed; status, verify and upgrade-check have codes of their own
 */
export async function run(argv: readonly string[], distribution: Distribution): Promise<number> {
  const first = argv[0] ?? "serve";
  const wantsHelp = argv.includes("--help") || first === "-h";
  const isNamed = !first.startsWith("-");
  try {
    const command = isNamed && Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
    if (wantsHelp) return command === undefined ? await runHelp() : await showHelp(command);
    if (first === "--version") return await runVersion();
    if (isNamed && command === undefined) {
      throw new UsageError(`Unknown command ${first}.${didYouMean(first, visibleCommands())} Try mneme help.`);
    }
    return await (command?.run ?? runServe)(isNamed ? argv.slice(1) : argv, distribution);
  } catch (error) {
    process.stderr.write(`${failureText(error)}\n`);
    return 1;
  }
}

/** Text to print for a failure: one line, or the stack if the failure is a bug in Mneme. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return `mneme: ${String(error)}`;
  const isBug =
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError ||
    error.message.endsWith("this is a bug in Mneme");
  if (isBug) return `mneme: ${error.stack ?? error.message}`;
  const text = systemErrorText(error) ?? error.message;
  return `mneme: ${text.replace(/\s*\n\s*/g, " ")}`;
}

async function runServe(argv: readonly string[], distribution: Distribution): Promise<number> {
  const config = parseConfig(argv, process.env, placeOf(distribution));
  const [{ serve }, { compose }] = await Promise.all([import("./serve.ts"), import("../compose/service.ts")]);
  return serve(config, compose, () => distribution.afterOpening?.(config));
}

async function runImport(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { importFrom, isImportFrom, parseImportFromOptions } = await import("./import-from.ts");
  if (isImportFrom(argv)) {
    const { text, isComplete } = await importFrom(parseImportFromOptions(argv, process.env));
    print([text]);
    return isComplete ? 0 : 1;
  }
  const { importFolder, isImportOfFolder, parseImportFolderOptions } = await import("./import-folder.ts");
  if (isImportOfFolder(argv)) {
    const options = parseImportFolderOptions(argv, process.env);
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    return (await importFolder(options, stop.signal)) ? 0 : 1;
  }
  const file = argv.find((word) => /\.jsonl(\.gz)?$/.test(word) && existsSync(word));
  const { importFile, isExportFile, parseImportOptions } = await import("./import.ts");
  if (file !== undefined && (await isExportFile(file))) {
    const { importProject } = await import("./project-copy.ts");
    return print([await importProject(argv, startOf(distribution))]);
  }
  const { refused } = await importFile(parseImportOptions(argv, process.env));
  return refused > 0 ? 1 : 0;
}

/** Runs a command that returns the text to print. */
function printing(
  load: () => Promise<(argv: readonly string[], start: CommandStart) => Promise<string>>,
): Command["run"] {
  return async (argv, distribution) => print([await (await load())(argv, startOf(distribution))]);
}

async function runVerify(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { VERIFY_EXIT, verifyCommand } = await import("./verify.ts");
  return reported(verifyCommand(argv, startOf(distribution)), VERIFY_EXIT.notChecked);
}

/** Prints what a check found, or why there was none. Returns its exit code, or `notChecked`. */
async function reported(
  check: Promise<{ readonly text: string; readonly exitCode: number }>,
  notChecked: number,
): Promise<number> {
  try {
    const { text, exitCode } = await check;
    print([text]);
    return exitCode;
  } catch (error) {
    process.stderr.write(`${failureText(error)}\n`);
    return notChecked;
  }
}

async function runStatus(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { statusCommand } = await import("./status.ts");
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  return statusCommand(argv, startOf(distribution), {
    print: (text) => void process.stdout.write(text),
    isTerminal: process.stdout.isTTY,
    stopped: stop.signal,
  });
}

async function runDoctor(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { doctor } = await import("./doctor/doctor.ts");
  const { text, isWell } = await doctor(argv, startOf(distribution));
  print([text]);
  return isWell ? 0 : 1;
}

async function runUpgradeCheck(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { UPGRADE_CHECK_EXIT, upgradeCheck } = await import("./upgrade-check.ts");
  return reported(upgradeCheck(argv, startOf(distribution)), UPGRADE_CHECK_EXIT.notChecked);
}

async function runCompletions(argv: readonly string[]): Promise<number> {
  const { completions, SHELLS } = await import("./completions.ts");
  const { accountActions, accountFlags } = await import("./accounts.ts");
  const actions: typeof ACTIONS = { ...ACTIONS, completions: SHELLS };
  const accounts = ["keys", "projects", "models"] as const;
  const commands = Object.entries(COMMANDS).flatMap(([name, { summary, flags = [] }]) =>
    summary === null ? [] : [{ name, summary, flags, account: accounts.find((one) => one === name) }],
  );
  const described = commands.map(async ({ name, summary, flags, account }) => ({
    ...{ name, summary, actions: account === undefined ? (actions[name] ?? []) : accountActions(account) },
    flags: [
      ...(name === "serve" ? settingsHelp() : account === undefined ? [] : accountFlags(account)),
      ...(await Promise.all(flags.map(({ rows }) => rows()))).flat(),
    ],
  }));
  process.stdout.write(completions(argv[0], await Promise.all(described)));
  return 0;
}

async function runMcp(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { mcpCommand } = await import("./mcp.ts");
  await mcpCommand(argv, startOf(distribution));
  return 0;
}

async function runConnect(argv: readonly string[]): Promise<number> {
  const { connectCommand } = await import("./connect.ts");
  const place = { home: homedir(), workingDirectory: process.cwd(), platform: process.platform };
  return print([connectCommand(argv, { ...place, environment: process.env })]);
}

async function runHook(argv: readonly string[]): Promise<number> {
  const { hookCommand, readHookInput } = await import("./hook.ts");
  const text = await hookCommand(argv, process.env, await readHookInput());
  return text === "" ? 0 : print([text]);
}

/** Prints a text and waits until all of it is written, because the process exits afterwards. */
async function printWhole(text: string): Promise<void> {
  // Writing nothing would empty the file to which standard output goes.
  if (text !== "") await Bun.write(Bun.stdout, text);
}

async function runBench(argv: readonly string[], distribution: Distribution): Promise<number> {
  if (argv[0] === "server") {
    // the hidden command with which a benchmark starts its server, which must not outlive it
    (await import("../children/parent-death.ts")).dieWithParent();
    return runServe(argv.slice(1), distribution);
  }
  const { benchCommand } = await loadBench();
  await printWhole(`${await benchCommand(argv, startOf(distribution))}\n`);
  return 0;
}

async function runAccountsCommand(
  command: AccountsCommand,
  argv: readonly string[],
  distribution: Distribution,
): Promise<number> {
  const [{ runAccounts }, { openLocalAccounts }, { runningServer }] = await Promise.all([
    import("./accounts.ts"),
    import("../compose/local-accounts.ts"),
    import("./running-server.ts"),
  ]);
  const text = await runAccounts(command, argv, {
    ...startOf(distribution),
    clock: systemClock,
    openLocal: openLocalAccounts,
    isServed: async (dataDir) => (await runningServer(dataDir)) !== null,
  });
  await printWhole(text);
  return 0;
}

async function runModelCheck(argv: readonly string[], distribution: Distribution): Promise<number> {
  const isJson = argv.includes("--json");
  const config = parseConfig(
    argv.filter((word) => word !== "--json"),
    process.env,
    placeOf(distribution),
  );
  const { modelCheck } = await import("./model-check.ts");
  const { text, isGood } = await modelCheck(config.modelsDir, isJson);
  await printWhole(text);
  return isGood ? 0 : 1;
}

/** Whether `mneme models pull` names a model that Mneme itself knows. */
async function namesOptionalModel(argv: readonly string[]): Promise<boolean> {
  const { OPTIONAL_MODELS } = await import("../compose/optional-models.ts");
  return OPTIONAL_MODELS.some(({ id }) => argv.includes(id));
}

async function runModelsPull(argv: readonly string[], distribution: Distribution): Promise<number> {
  const { pullOptionalModel } = await import("./models-pull.ts");
  await printWhole(await pullOptionalModel(argv, startOf(distribution)));
  return 0;
}

async function runChild(argv: readonly string[]): Promise<number> {
  const { runChildProcess } = await import("../children/entry.ts");
  await runChildProcess(argv);
  return 0;
}

async function runLicences(_argv: readonly string[], distribution: Distribution): Promise<number> {
  await printWhole(await distribution.licences());
  return 0;
}

async function runVersion(): Promise<number> {
  process.stdout.write(`mneme ${VERSION} (bun ${Bun.version}, ${process.platform}-${process.arch})\n`);
  return 0;
}

async function showHelp({ summary, flags, help }: Command): Promise<number> {
  if (help !== undefined) return print(await help());
  return flags === undefined ? runHelp() : print([summary ?? "", ...(await flagLines(flags))]);
}

async function runHelp(): Promise<number> {
  const { ACCOUNTS_HELP } = await import("./accounts.ts");
  const commands = Object.entries(COMMANDS).flatMap(([name, { summary }]) =>
    summary === null ? [] : [[name, summary]],
  );
  const tables = new Set(Object.values(COMMANDS).flatMap(({ flags = [] }) => flags));
  const lines = [
    `Mneme ${VERSION}: a memory and retrieval engine for AI applications`,
    "",
    "Usage: mneme [command] [flags]",
    "",
    "Commands:",
    ...indent(alignRows(commands)),
    "",
    "Flags of serve (each can also be set in the environment or in mneme.toml: --data-dir, MNEME_DATA_DIR, data_dir):",
    ...indent(alignRows(settingsHelp())),
    ...(await flagLines([...tables])),
    "",
    "Keys, projects and models (for their flags: mneme keys --help, mneme projects --help, mneme models --help):",
    ...indent(alignRows([...ACCOUNTS_HELP, MODEL_CHECK_HELP])),
  ];
  return print(lines);
}

/** The lines of tables of flags, each after an empty line. */
async function flagLines(tables: readonly FlagTable[]): Promise<readonly string[]> {
  const lines = await Promise.all(
    tables.map(async ({ title, rows }) => ["", `Flags of ${title}:`, ...indent(alignRows(await rows()))]),
  );
  return lines.flat();
}

function print(lines: readonly string[]): number {
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function startOf(distribution: Distribution): CommandStart {
  return { environment: process.env, place: placeOf(distribution) };
}

function placeOf({ shippedModelsDirectory }: Distribution): StartPlace {
  return { workingDirectory: process.cwd(), shippedModelsDirectory };
}

function visibleCommands(): string[] {
  return Object.entries(COMMANDS).flatMap(([name, { summary }]) => (summary === null ? [] : [name]));
}
