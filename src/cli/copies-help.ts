// Help for the flags of the commands that copy, check and erase data. It is not in the files of these commands, because
// they load the libraries of the stores.

import { DIRECTORY_HELP } from "./command-start.ts";

const KEY_HELP = [
  ["--key-file FILE", "Encrypt with this key of at least 32 random bytes"],
  ["MNEME_BACKUP_PASSPHRASE", "Encrypt with this passphrase (environment variable)"],
] as const;

/** Help for backup, as `[flag, description]`. */
export const BACKUP_HELP: readonly (readonly [string, string])[] = [
  ...DIRECTORY_HELP,
  ["--rate NUMBER[K|M|G]", "Read at most this many bytes per second (default: unlimited)"],
  ["--with-index", "Also keep the index, so that a restored server need not compute vectors again (larger)"],
  ["--keep NUMBER", "Afterwards remove all backups but this many, the newest (default: remove none)"],
  ...KEY_HELP,
];

/** Help for restore, as `[flag, description]`. */
export const RESTORE_HELP: readonly (readonly [string, string])[] = [
  ["--data-dir DIRECTORY", "Empty folder to restore into"],
  ["--backup ID", "The backup to restore (default: the newest)"],
  ["--list", "List the backups and what they contain, and restore nothing"],
  ["--check", "Read the whole backup and check it, and restore nothing"],
  ...KEY_HELP.map(([flag, text]) => [flag, text.replace("Encrypt", "Decrypt")] as const),
];

/** Help for the flags of export, as `[flag, description]`. */
export const EXPORT_HELP: readonly (readonly [string, string])[] = [
  ["--project PROJECT", "Id or name of the project (default: the default project)"],
  ...DIRECTORY_HELP,
  ["--vectors", "Export the vectors, too, so that an import need not compute them"],
  ["--force", "Replace FILE if it exists"],
];

/** Help for forget, as `[flag, description]`. */
export const FORGET_HELP: readonly (readonly [string, string])[] = [
  ["--project PROJECT", "Id or name of the project of the memory or user (default: the default project)"],
  ["--data-dir DIRECTORY", "Data directory of the running server (default: as for serve)"],
  ["--config FILE", "Settings file that names the data directory (default: as for serve)"],
];

/** Help for the flags of verify, as `[flag, description]`. */
export const VERIFY_HELP: readonly (readonly [string, string])[] = [
  ["--repair", "Repair what can be repaired without loss; the rest is moved to quarantine/ or named"],
  ...DIRECTORY_HELP,
  ["--json", "Print the report as JSON"],
];
