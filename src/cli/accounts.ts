// `mneme keys`, `mneme projects` and `mneme models`: manage API keys, projects and models from a terminal, on a data
// directory (compose/local-accounts.ts) or through a server (remote-accounts.ts). models.ts has the actions on
// models.

import type { Accounts } from "../compose/local-accounts.ts";
import type { Config } from "../config.ts";
import { ADDED_TASKS, REMOTE_APIS } from "../domain/installed-model.ts";
import { LIMITS } from "../domain/limits.ts";
import { PLAN_NAMES } from "../domain/project.ts";
import { KEY_SCOPES } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import type { JsonRecord } from "../kit/record.ts";
import {
  type Action,
  type Call,
  fieldsOf,
  json,
  projectNamed,
  projectOf,
  shown,
  shownList,
  shownTime,
} from "./account-action.ts";
import { Client } from "./client.ts";
import { type CommandStart, directoryConfig, directoryFlags } from "./command-start.ts";
import { MODEL_ACTIONS } from "./models.ts";
import { RemoteAccounts } from "./remote-accounts.ts";
import { serverAddress } from "./server-address.ts";
import { alignRows, indent } from "./terminal.ts";

/** The commands that manage accounts. */
export type AccountsCommand = "keys" | "projects" | "models";

/** What run.ts passes to these commands besides their arguments. */
export interface AccountsStart extends CommandStart {
  readonly clock: Clock;
  /** Opens the accounts of a data directory. */
  readonly openLocal: (config: Config, clock: Clock) => Accounts;
  /** Whether a server runs on a data directory. */
  readonly isServed: (dataDir: string) => Promise<boolean>;
}

const ACTIONS: Readonly<Record<AccountsCommand, Readonly<Record<string, Action>>>> = {
  keys: {
    list: {
      usage: "",
      summary: "List the keys of a project, newest first",
      argument: null,
      flags: ["--project"],
      run: listKeys,
    },
    create: {
      usage: "--name NAME --scopes A,B",
      summary: "Create a key and print its secret (shown only once)",
      argument: null,
      flags: ["--project", "--name", "--scopes", "--user", "--expires"],
      run: createKey,
    },
    rotate: {
      usage: "KEY_ID",
      summary: "Replace the secret of a key and print the new one (shown only once)",
      argument: "KEY_ID",
      flags: ["--project", "--grace"],
      run: rotateKey,
    },
    revoke: {
      usage: "KEY_ID",
      summary: "Delete a key; it stops working at once",
      argument: "KEY_ID",
      flags: ["--project"],
      run: revokeKey,
    },
  },
  projects: {
    list: { usage: "", summary: "List all projects, newest first", argument: null, flags: [], run: listProjects },
    create: {
      usage: "--name NAME [--plan PLAN]",
      summary: "Create a project and print the secret of its first key (shown only once)",
      argument: null,
      flags: ["--name", "--plan"],
      run: createProject,
    },
    delete: {
      usage: "PROJECT",
      summary: "Delete a project with its keys and all its data",
      argument: "PROJECT",
      flags: [],
      run: deleteProject,
    },
    "set-plan": {
      usage: "PROJECT --plan PLAN",
      summary: "Change the plan of a project",
      argument: "PROJECT",
      flags: ["--plan"],
      run: setPlan,
    },
  },
  models: MODEL_ACTIONS,
};

const FLAGS_HELP: readonly (readonly [string, string])[] = [
  ["--project PROJECT", "Id or name of the project (default: the default project; with --url, the project of the key)"],
  ["--name NAME", "Name of the key or project"],
  ["--scopes A,B", `Permissions of the key: ${KEY_SCOPES.join(", ")}`],
  ["--user ID", "Confine the key to this user"],
  ["--expires TIME", "Expiry of the key, such as 2030-01-31T12:00:00Z (default: never)"],
  [
    "--grace SECONDS",
    `How long the old secret of a rotated key stays valid, up to ${LIMITS.graceSeconds} (default: 0)`,
  ],
  ["--id NAME", "Name of the model here (default: made from its source)"],
  ["--sha256 DIGITS", "SHA-256 that the archive must have; with it, an interrupted download continues"],
  ["--api API", `API of the other server: ${REMOTE_APIS.join(", ")}`],
  ["--model NAME", "Name of the model on that server"],
  ["--task TASK", `What the model does: ${ADDED_TASKS.join(" or ")} (default: embed)`],
  [
    "--key-file FILE",
    "File with the key of that server (default: the environment variable MNEME_MODEL_KEY, or no key)",
  ],
  ["--says-purpose", "Tell that server whether a text is a query or a passage, for models that need it"],
  ["--pooling HOW", "How tokens become a vector: cls, mean, last; output: the model makes vectors itself"],
  ["--query-prefix TEXT", "Text before queries, such as 'query: '"],
  ["--passage-prefix TEXT", "Text before stored texts, such as 'passage: '"],
  ["--dimensions NUMBER", "Length of the vectors that the model computes"],
  ["--stored-dimensions NUMBER", "Store only this many components of each vector (Matryoshka models)"],
  ["--max-tokens NUMBER", "Number of tokens that the model reads of a text"],
  ["--languages A,B", "Languages that the model was made for, such as en,de"],
  ["--licence NAME", "Licence of the model"],
  ["--wait", "Show the progress until the change has ended"],
  ["--cancel", "Cancel the calibration of the model"],
  ["--plan PLAN", `One of ${PLAN_NAMES.join(", ")} (default for new projects: the setting default-plan)`],
  ["--data-dir DIRECTORY", "Data directory to work on, whether or not a server is running (default: as for serve)"],
  ["--config FILE", "Settings file that names the data directory (default: as for serve)"],
  ["--url URL", "Use this server instead of a data directory, with the key in MNEME_API_KEY or MNEME_ADMIN_KEY"],
  ["--json", "Print the JSON of the API"],
];

const COMMON_FLAGS = ["--data-dir", "--config", "--url", "--json"];
const SWITCHES: readonly string[] = ["--json", "--wait", "--cancel", "--says-purpose"];
const SHOWN_ONCE = "Save this secret now: only its hash is stored, so it cannot be shown again.";

/** Help for the actions on keys, projects and models, as `[usage, description]`. */
export const ACCOUNTS_HELP: readonly (readonly [string, string])[] = [
  ...usagesOf("keys"),
  ...usagesOf("projects"),
  ...usagesOf("models"),
];

/** The lines of the help of one command, such as `mneme keys --help`. */
export function accountsHelp(command: AccountsCommand): readonly string[] {
  const flags = accountFlags(command);
  return ["Usage:", ...indent(alignRows(usagesOf(command))), "", "Flags:", ...indent(alignRows(flags))];
}

/** The names of the actions of a command. */
export function accountActions(command: AccountsCommand): readonly string[] {
  return Object.keys(ACTIONS[command]);
}

/** The flags of a command with their descriptions. */
export function accountFlags(command: AccountsCommand): readonly (readonly [string, string])[] {
  const taken = new Set([...Object.values(ACTIONS[command]).flatMap(({ flags }) => flags), ...COMMON_FLAGS]);
  return FLAGS_HELP.filter(([flag]) => taken.has(flag.split(" ")[0] ?? "")).map(([flag, text]) => {
    const isOfAll = command === "models" && flag.startsWith("--project ");
    return isOfAll
      ? [flag, "Id or name of the project (default: all projects; for test, the default project; for calibrate, none)"]
      : [flag, text];
  });
}

/**
 * Runs `mneme keys …`, `mneme projects …` or `mneme models …`.
 * @param argv arguments after the command's name
 * @returns the text to print, ending with a line break
 * @throws Error whose message is one sentence for the user
 */
export async function runAccounts(
  command: AccountsCommand,
  argv: readonly string[],
  start: AccountsStart,
): Promise<string> {
  const line = parseCall(command, argv);
  const call: Call = {
    ...{ ...line, environment: start.environment },
    checkServed: () => checkServed(line.flags, start),
  };
  const accounts = await open(command, call, start);
  try {
    return `${await call.action.run(accounts, call)}\n`;
  } finally {
    accounts.close();
  }
}

function parseCall(command: AccountsCommand, argv: readonly string[]): Omit<Call, "environment" | "checkServed"> {
  const [name = "", ...rest] = argv;
  const actions = ACTIONS[command];
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    const isNamed = name !== "" && !name.startsWith("-");
    const complaint = isNamed ? `Unknown command ${command} ${name}.` : `Missing command for ${command}.`;
    const guess = didYouMean(name, Object.keys(actions)) || ` Commands: ${Object.keys(actions).join(", ")}.`;
    throw new UsageError(`${complaint}${guess} Try mneme ${command} --help.`);
  }
  const known = [...action.flags, ...COMMON_FLAGS].map(
    (flag) => [flag, SWITCHES.includes(flag) ? "switch" : "value"] as const,
  );
  const line = parseCommandLine(rest, Object.fromEntries(known));
  const [argument, surplus] = line.positionals;
  if (action.argument === null && argument !== undefined) {
    throw new UsageError(`Unexpected argument ${JSON.stringify(argument)}.`);
  }
  if (action.argument !== null && argument === undefined) {
    throw new UsageError(`Missing ${action.argument}. Usage: mneme ${command} ${name} ${action.usage}`);
  }
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}.`);
  return { ...line, action, argument: argument ?? "" };
}

async function open(command: AccountsCommand, { flags }: Pick<Call, "flags">, start: AccountsStart): Promise<Accounts> {
  const url = flags.get("--url");
  if (url === undefined) {
    const config = directoryConfig(flags, start);
    if (config.store !== null) {
      throw new UsageError(`With MNEME_STORE, ${command} needs a running server: give its address with --url.`);
    }
    return start.openLocal(config, start.clock);
  }
  const [conflict] = directoryFlags(flags);
  if (conflict !== undefined) throw new UsageError(`--url and ${conflict[0]} cannot be used together.`);
  const address = serverAddress(url);
  const key = start.environment.MNEME_API_KEY ?? start.environment.MNEME_ADMIN_KEY;
  if (key === undefined) throw new UsageError(`Missing API key: set MNEME_API_KEY to use ${command} with --url.`);
  return new RemoteAccounts(new Client(address, key, start.clock));
}

/** Without `--url`, a command only notes what it asks for, and a server does it. @throws Error if none runs */
async function checkServed(flags: Flags, start: AccountsStart): Promise<void> {
  if (flags.has("--url")) return;
  const { dataDir } = directoryConfig(flags, start);
  if (await start.isServed(dataDir)) return;
  throw new Error(
    `No server runs on ${dataDir}, so there is nothing to wait for: what you asked for is noted, and begins when one starts.`,
  );
}

async function listKeys(accounts: Accounts, call: Call): Promise<string> {
  const list = await accounts.listKeys(await projectOf(accounts, call));
  return shownList(call, list, "There are no keys.", [
    ["ID", ({ id }) => shown(id)],
    ["NAME", ({ name }) => shown(name)],
    ["SCOPES", ({ scopes }) => shown(scopes)],
    ["USER", ({ userId }) => shown(userId)],
    ["EXPIRES", ({ expires_at }) => shownTime(expires_at)],
    ["LAST USED", ({ last_used_at }) => shownTime(last_used_at)],
    ["CREATED", ({ created_at }) => shownTime(created_at)],
    ["SECRET", ({ redacted }) => shown(redacted)],
  ]);
}

async function createKey(accounts: Accounts, call: Call): Promise<string> {
  const { flags } = call;
  const body = {
    name: nameOf(flags),
    scopes: scopesOf(flags),
    userId: textOf(flags, "--user", LIMITS.callerIdCharacters),
    expires_at: flags.get("--expires") ?? null,
  };
  const key = fieldsOf(await accounts.createKey(await projectOf(accounts, call), body));
  if (flags.has("--json")) return json(key);
  return secretLines(`${shown(key.id)} (${shown(key.name)}) allows ${shown(key.scopes)}.`, key);
}

async function rotateKey(accounts: Accounts, call: Call): Promise<string> {
  const graceSeconds = graceOf(call.flags);
  const key = fieldsOf(await accounts.rotateKey(await projectOf(accounts, call), call.argument, graceSeconds));
  if (call.flags.has("--json")) return json(key);
  const end = graceSeconds === 0 ? "no longer works" : `works for another ${graceSeconds} s`;
  return secretLines(`${shown(key.id)} (${shown(key.name)}) has a new secret; the old one ${end}.`, key);
}

async function revokeKey(accounts: Accounts, call: Call): Promise<string> {
  await accounts.removeKey(await projectOf(accounts, call), call.argument);
  return call.flags.has("--json") ? json({}) : `${call.argument} is deleted and no longer works.`;
}

async function listProjects(accounts: Accounts, call: Call): Promise<string> {
  const list = await accounts.listProjects();
  return shownList(call, list, "There are no projects.", [
    ["ID", ({ id }) => shown(id)],
    ["NAME", ({ name }) => shown(name)],
    ["PLAN", ({ plan }) => shown(plan)],
    ["CREATED", ({ created_at }) => shownTime(created_at)],
  ]);
}

async function createProject(accounts: Accounts, call: Call): Promise<string> {
  const { flags } = call;
  const name = nameOf(flags);
  const project = fieldsOf(
    await accounts.createProject(flags.has("--plan") ? { name, plan: planOf(flags) } : { name }),
  );
  if (flags.has("--json")) return json(project);
  return secretLines(
    `${shown(project.id)} (${shown(project.name)}) is on plan ${shown(project.plan)}; its first key allows *.`,
    project,
  );
}

async function deleteProject(accounts: Accounts, call: Call): Promise<string> {
  const id = await projectNamed(accounts, call.argument);
  await accounts.removeProject(id);
  return call.flags.has("--json")
    ? json({})
    : `${id} is deleted: its keys no longer work, and the server removes its data.`;
}

async function setPlan(accounts: Accounts, call: Call): Promise<string> {
  const plan = planOf(call.flags);
  const project = fieldsOf(await accounts.changePlan(await projectNamed(accounts, call.argument), plan));
  return call.flags.has("--json") ? json(project) : `${shown(project.id)} (${shown(project.name)}) is on plan ${plan}.`;
}

type Flags = ReadonlyMap<string, string>;

function nameOf(flags: Flags): string {
  const name = textOf(flags, "--name", LIMITS.nameCharacters);
  if (name === null) throw new UsageError("Missing --name.");
  return name;
}

function textOf(flags: Flags, flag: string, charactersMax: number): string | null {
  const text = flags.get(flag) ?? null;
  if (text !== null && (text === "" || [...text].length > charactersMax)) {
    throw new UsageError(`${flag} must be 1 to ${charactersMax} characters.`);
  }
  return text;
}

function scopesOf(flags: Flags): (typeof KEY_SCOPES)[number][] {
  const text = flags.get("--scopes");
  if (text === undefined) throw new UsageError(`Missing --scopes. Scopes: ${KEY_SCOPES.join(", ")}.`);
  const scopes = text.split(",").map((part) => {
    const scope = KEY_SCOPES.find((known) => known === part.trim());
    if (scope !== undefined) return scope;
    const guess = didYouMean(part.trim(), KEY_SCOPES) || ` Scopes: ${KEY_SCOPES.join(", ")}.`;
    throw new UsageError(`Unknown scope ${JSON.stringify(part.trim())} in --scopes.${guess}`);
  });
  return [...new Set(scopes)];
}

function graceOf(flags: Flags): number {
  const text = flags.get("--grace") ?? "0";
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= LIMITS.graceSeconds) return seconds;
  throw new UsageError(`--grace must be an integer from 0 to ${LIMITS.graceSeconds}, not ${JSON.stringify(text)}.`);
}

function planOf(flags: Flags): (typeof PLAN_NAMES)[number] {
  const text = flags.get("--plan");
  const plan = PLAN_NAMES.find((name) => name === text);
  if (plan !== undefined) return plan;
  const complaint = text === undefined ? "Missing --plan." : `Unknown plan ${JSON.stringify(text)}.`;
  throw new UsageError(`${complaint} Plans: ${PLAN_NAMES.join(", ")}.${didYouMean(text ?? "", PLAN_NAMES)}`);
}

function secretLines(what: string, made: JsonRecord): string {
  if (typeof made.key !== "string") throw new Error(`${what} But the server returned no secret.`);
  return [what, made.key, SHOWN_ONCE].join("\n");
}

function usagesOf(command: AccountsCommand): (readonly [string, string])[] {
  return Object.entries(ACTIONS[command]).map(([name, { usage, summary }]) => [
    `mneme ${command} ${name} ${usage}`.trimEnd(),
    summary,
  ]);
}
