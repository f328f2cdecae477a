// What the actions of `mneme keys`, `mneme projects` and `mneme models` share: their declaration, the project that a
// flag names, and how JSON of the API is shown. accounts.ts runs the actions.

import type { Accounts } from "../compose/local-accounts.ts";
import { type CommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { isRecord, type JsonRecord, recordsIn } from "../kit/record.ts";
import { alignRows } from "./terminal.ts";

/** An action of a command, such as `create` of `mneme keys`. */
export interface Action {
  /** Arguments after the action's name, as shown in the help. */
  readonly usage: string;
  /** One line for the help. */
  readonly summary: string;
  /** Name of the action's only argument; null if it takes none. */
  readonly argument: string | null;
  /** Flags of the action, with their `--`, besides those of all actions. */
  readonly flags: readonly string[];
  /** Returns the text to print. */
  readonly run: (accounts: Accounts, call: Call) => Promise<string>;
}

/** A command line with its action. */
export interface Call extends CommandLine {
  readonly action: Action;
  /** The action's argument; an empty text if it takes none. */
  readonly argument: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** @throws Error if there is no server that carries out what the action has asked for */
  readonly checkServed: () => Promise<void>;
}

/** Id of the project that `--project` names; null if there is no such flag. */
export async function projectOf(accounts: Accounts, { flags }: Call): Promise<string | null> {
  const project = flags.get("--project");
  return project === undefined ? null : projectNamed(accounts, project);
}

/**
 * Id of the project with this id or name. The projects are listed only if a name has to be resolved, because a key that
 * may use a project is not always allowed to list all projects.
 */
export async function projectNamed(accounts: Accounts, idOrName: string): Promise<string> {
  if (/^prj_[0-9a-z]{26}$/.test(idOrName)) return idOrName;
  const projects = itemsOf(await accounts.listProjects());
  const found = projects.filter(({ id, name }) => id === idOrName || name === idOrName);
  const [first, second] = found;
  if (first === undefined) {
    const names = projects.map(({ name }) => shown(name));
    throw new UsageError(`There is no project ${JSON.stringify(idOrName)}.${didYouMean(idOrName, names)}`);
  }
  if (second === undefined) return shown(first.id);
  const ids = found.map(({ id }) => shown(id)).join(", ");
  throw new UsageError(
    `${JSON.stringify(idOrName)} is the name of ${found.length} projects; use the id of one of them: ${ids}.`,
  );
}

type Column = readonly [title: string, cell: (row: JsonRecord) => string];

/**
 * A list of the API as text: as JSON if the call has `--json`, otherwise as a table.
 * @param nothing for an empty list
 */
export function shownList({ flags }: Call, list: object, nothing: string, columns: readonly Column[]): string {
  if (flags.has("--json")) return json(list);
  const rows = itemsOf(list).map((item) => columns.map(([, cell]) => cell(item)));
  return rows.length === 0 ? nothing : alignRows([columns.map(([title]) => title), ...rows]).join("\n");
}

/** The items of a list of the API. */
export function itemsOf(list: object): readonly JsonRecord[] {
  const { data } = fieldsOf(list);
  return recordsIn(data);
}

/** The fields of a JSON object; none if the value is something else. */
export function fieldsOf(value: object): JsonRecord {
  return isRecord(value) ? value : {};
}

/** A value as indented JSON. */
export function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

/** A value of the API as text for a terminal. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return value.join(",");
  return value === null || value === undefined ? "–" : printable(String(value));
}

// Names come from callers, so characters that could control a terminal are escaped.
function printable(text: string): string {
  return text.replace(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** A time of the API as text, without milliseconds. */
export function shownTime(value: unknown): string {
  return shown(value).replace(/\.\d{3}Z$/, "Z");
}
