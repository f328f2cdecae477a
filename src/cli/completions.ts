// `mneme completions SHELL`: a script with which bash, zsh or fish complete commands, their actions and flags. It is
// made from the same tables as the help.

import { UsageError } from "../kit/flags.ts";

/** A flag, as completions offer it. */
interface Flag {
  readonly name: string;
  /** What follows the flag: nothing, a text, or the path of a file or folder. */
  readonly value: "none" | "text" | "path";
  readonly description: string;
}

/** A command, as completions offer it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** Rows of help tables: a flag with its placeholder, and its description. */
  readonly flags: readonly (readonly [string, string])[];
  /** Words that can follow the command, such as `create`. */
  readonly actions: readonly string[];
}

/** The shells for which there is a script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** Help for completions: for each shell, the command that installs the script. */
export const COMPLETIONS_HELP: readonly (readonly [string, string])[] = [
  ["completions bash", "mneme completions bash > ~/.local/share/bash-completion/completions/mneme"],
  ["completions zsh", "mneme completions zsh > ~/.zfunc/_mneme, with fpath+=~/.zfunc before compinit"],
  ["completions fish", "mneme completions fish > ~/.config/fish/completions/mneme.fish"],
];

/** The script for a shell. @throws UsageError for an unknown shell */
export function completions(shell: string | undefined, commands: readonly CompletedCommand[]): string {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined) throw new UsageError(`Name a shell: mneme completions ${SHELLS.join("|")}.`);
  const made: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
    ...{ bash: bashScript, zsh: zshScript, fish: fishScript },
  };
  return made[known](commands);
}

/** Matches placeholders of values that are paths. */
const PATHS = /\b(FILE|FOLDER|DIRECTORY|PATH)\b/;

/** The flags in the rows of a command's help tables. A row may name several, such as `--a VALUE, --b`. */
function flagsOf({ flags }: CompletedCommand): readonly Flag[] {
  const found = new Map<string, Flag>();
  for (const [text, description] of flags) {
    for (const [, name = "", placeholder] of text.matchAll(/(--[a-z][a-z-]*)(?:[ =]\[?([A-Z][A-Z|_a-z]*))?/g)) {
      const value = placeholder === undefined ? "none" : PATHS.test(placeholder) ? "path" : "text";
      if (!found.has(name)) found.set(name, { name, value, description });
    }
  }
  found.set("--help", { name: "--help", value: "none", description: "Show the flags" });
  return [...found.values()];
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => {
    const words = [...command.actions, ...flagsOf(command).map(({ name }) => name)];
    return `    ${command.name}) words="${words.join(" ")}" ;;`;
  });
  const all = commands.flatMap(flagsOf);
  const withPath = namesOf(all, "path");
  const withText = namesOf(all, "text").filter((name) => !withPath.includes(name));
  return `# bash completion of mneme; made by mneme completions bash
_mneme() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$current"))
    return
  fi
  case "$previous" in
${[caseOf(withPath, 'COMPREPLY=($(compgen -f -- "$current"))'), caseOf(withText, "COMPREPLY=()")].join("")}  esac
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case "$current" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$current")) ;; esac
}
complete -o filenames -F _mneme mneme
`;
}

function caseOf(names: readonly string[], reply: string): string {
  return names.length === 0 ? "" : `    ${names.join("|")}) ${reply}; return ;;\n`;
}

function namesOf(flags: readonly Flag[], value: Flag["value"]): readonly string[] {
  return [...new Set(flags.filter((flag) => flag.value === value).map(({ name }) => name))];
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => {
    const flags = flagsOf(command).map(({ name, value, description }) => {
      const end = { none: "", text: ":value:", path: ":path:_files" }[value];
      return `'${name}[${quotedZsh(description)}]${end}'`;
    });
    const rest =
      command.actions.length > 0 ? `'1:action:(${command.actions.join(" ")})' '*:file:_files'` : "'*:file:_files'";
    return `    ${command.name}) _arguments ${[...flags, rest].join(" ")} ;;`;
  });
  return `#compdef mneme
# zsh completion of mneme; made by mneme completions zsh
_mneme() {
  local -a commands=(
${commands.map(({ name, summary }) => `    '${name}:${quotedZsh(summary)}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local name="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$name" in
${cases.join("\n")}
  esac
}
compdef _mneme mneme
`;
}

function quotedZsh(text: string): string {
  return text.replace(/'/g, "'\\''").replace(/([[\]:])/g, "\\$1");
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const quoted = (text: string) => `'${text.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
  const lines = commands.flatMap((command) => {
    const { name, summary, actions } = command;
    const isNamed = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c mneme -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...actions.map((action) => `complete -c mneme ${isNamed} -a ${action}`),
      ...flagsOf(command).map(({ name: flag, value, description }) => {
        const needs = { none: "", text: " -x", path: " -r -F" }[value];
        return `complete -c mneme ${isNamed} -l ${flag.slice(2)}${needs} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# fish completion of mneme; made by mneme completions fish\n${lines.join("\n")}\n`;
}
