// `mneme backup` and `mneme restore`: copies of all stores at one moment, in a folder or an S3 bucket.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { FolderTarget } from "../backup/folder.ts";
import { TargetLock } from "../backup/lock.ts";
import { type Manifest, Repository, takenAt } from "../backup/repository.ts";
import { S3Target } from "../backup/s3.ts";
import type { KeySource } from "../backup/seal.ts";
import type { Target } from "../backup/target.ts";
import { lowerPriority } from "../children/priority.ts";
import { readCopy } from "../compose/control.ts";
import { openDataDirectory } from "../compose/data-directory.ts";
import { noteBackup } from "../compose/last-backup.ts";
import { restoreInto } from "../compose/restore.ts";
import type { FilledPart } from "../domain/store-copy.ts";
import { ByteRateLimit } from "../kit/byte-rate-limit.ts";
import { systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { rateOf } from "./byte-rate.ts";
import { type CommandStart, directoryConfig } from "./command-start.ts";
import { alignRows, Progress, readableBytes, readableDuration } from "./terminal.ts";

/**
 * Niceness of the process that makes a backup. On a processor that searches keep busy, it gets about a tenth of the
 * time. At the lowest priority, 19, a backup of a busy server would hardly make progress.
 */
const NICENESS = 10;

/**
 * Runs `mneme backup TARGET`.
 * @returns the text to print
 * @throws Error with one sentence, also if another backup into the target is running. What was written of an unfinished
 *   backup is not listed or restored
 */
export async function backup(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--data-dir": "value", "--config": "value", "--rate": "value", "--keep": "value", "--key-file": "value" },
    "--with-index": "switch",
  });
  const target = targetOf(positionals, start, "mneme backup TARGET");
  const limit = new ByteRateLimit(rateOf(flags.get("--rate")), systemClock);
  const keep = countOf(flags.get("--keep"));
  const key = keyOf(flags, start);
  const config = directoryConfig(flags, start);
  const log = createLog("warn");
  lowerPriority(process.pid, NICENESS, log); // hashing and compressing must not delay the server's searches
  await using directory = await openDataDirectory(config, systemClock, log);
  let lock: TargetLock | null = null;
  try {
    lock = await TargetLock.take(target, systemClock);
    const repository = await Repository.openOrCreate(target, key);
    const response = await directory.ask("GET", `/backup${flags.has("--with-index") ? "?index=1" : ""}`);
    const startedAt = performance.now();
    const copy = await readCopy(response);
    const progress = new Progress("backing up");
    const total = Math.max(1, copy.summary.bytes_estimated);
    let done = 0;
    const result = await repository.store(lock, copy.summary, copy.parts, async (bytes) => {
      done += bytes;
      progress.show(Math.min(0.99, done / total), `${readableBytes(done)} read`);
      await limit.take(bytes);
    });
    noteBackup(config.dataDir, systemClock.now());
    const removed = keep === null ? [] : await repository.keepNewest(lock, keep);
    const elapsedMs = performance.now() - startedAt;
    const { memories, uploads } = copy.summary.counts;
    const rate = readableBytes(result.bytes / Math.max(0.001, elapsedMs / 1000));
    return [
      `Backup ${result.id} is complete: ${counted(memories, "memory", "memories")} and ${counted(uploads, "unread upload")}, ${readableBytes(result.bytes)} in ${readableDuration(elapsedMs)} (${rate}/s).`,
      `${readableBytes(result.newBytes)} were new; ${readableBytes(result.storedBytes)} were written to ${target.description}${repository.isEncrypted ? ", encrypted" : ""}.`,
      ...(removed.length === 0 ? [] : [`Removed earlier backups: ${removed.join(", ")}.`]),
    ].join("\n");
  } finally {
    await lock
      ?.release()
      .catch((err: unknown) => log.warn({ err }, "the lock could not be removed: it ends by itself"));
  }
}

/**
 * Runs `mneme restore TARGET`.
 * @returns the text to print
 * @throws Error with one sentence; the data directory then has at most the folder `restoring`
 */
export async function restore(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--data-dir": "value", "--backup": "value", "--list": "switch", "--check": "switch", "--key-file": "value" },
  });
  const target = targetOf(positionals, start, "mneme restore TARGET --data-dir DIRECTORY");
  const repository = await Repository.open(target, keyOf(flags, start));
  const ids = await repository.ids();
  if (flags.has("--list")) return listOf(await Promise.all(ids.map((id) => repository.manifest(id))));
  const id = flags.get("--backup") ?? ids.at(-1);
  if (id === undefined) throw new UsageError(`There are no complete backups in ${target.description}.`);
  const manifest = await repository.manifest(id);
  const isCheck = flags.has("--check");
  const folder = flags.get("--data-dir");
  if (folder === undefined && !isCheck) throw new UsageError("Missing --data-dir: the empty folder to restore into.");

  const startedAt = performance.now();
  const total = manifest.parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const parts = withProgress(repository.parts(manifest), new Progress(isCheck ? "checking" : "restoring"), total);
  const took = () => {
    const elapsedMs = performance.now() - startedAt;
    const rate = readableBytes(total / Math.max(0.001, elapsedMs / 1000));
    return `${readableBytes(total)} in ${readableDuration(elapsedMs)} (${rate}/s)`;
  };
  if (isCheck) {
    for await (const _ of parts);
    return `Backup ${id} is complete and undamaged: ${took()}.\n${listOf([manifest])}`;
  }
  const dataDir = resolve(start.place.workingDirectory, folder ?? "");
  await restoreInto(dataDir, manifest.summary, parts, createLog("warn"));
  return [
    `Backup ${id} of ${takenAt(manifest)} is restored to ${dataDir}: ${took()}.`,
    manifest.summary.has_index
      ? "The index is part of it; memories that it lacks are indexed again when the server starts."
      : "The server indexes the memories again when it starts; searches find each one when its status is completed.",
  ].join("\n");
}

function listOf(manifests: readonly Manifest[]): string {
  if (manifests.length === 0) return "There are no complete backups.";
  const rows = manifests.map((manifest) => {
    const { counts, mneme, has_index } = manifest.summary;
    const bytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0);
    const numbers = [counts.projects, counts.memories, counts.users, counts.chats, counts.uploads].map(String);
    return [manifest.id, takenAt(manifest), ...numbers, readableBytes(bytes), has_index ? "yes" : "no", mneme];
  });
  const titles = ["BACKUP", "TIME", "PROJECTS", "MEMORIES", "USERS", "CHATS", "UPLOADS", "SIZE", "INDEX", "VERSION"];
  return alignRows([titles, ...rows]).join("\n");
}

async function* withProgress(
  parts: AsyncIterable<FilledPart>,
  progress: Progress,
  total: number,
): AsyncGenerator<FilledPart> {
  let done = 0;
  for await (const part of parts) {
    yield part;
    done += part.bytes.length;
    progress.show(done / Math.max(1, total), `${readableBytes(done)} of ${readableBytes(total)}`);
  }
}

function targetOf(positionals: readonly string[], { environment, place }: CommandStart, usage: string): Target {
  const [address, surplus] = positionals;
  if (address === undefined) throw new UsageError(`Missing target: a folder or s3://BUCKET/PREFIX. Usage: ${usage}`);
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}. Usage: ${usage}`);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return new S3Target(address, environment);
  return new FolderTarget(resolve(place.workingDirectory, address));
}

function keyOf(flags: ReadonlyMap<string, string>, { environment, place }: CommandStart): KeySource | null {
  const [file, passphrase] = [flags.get("--key-file"), environment.MNEME_BACKUP_PASSPHRASE];
  if (file !== undefined && passphrase !== undefined) {
    throw new UsageError("--key-file and MNEME_BACKUP_PASSPHRASE cannot be used together.");
  }
  if (passphrase === "") throw new UsageError("MNEME_BACKUP_PASSPHRASE is empty.");
  if (passphrase !== undefined) return { kind: "passphrase", passphrase };
  if (file === undefined) return null;
  try {
    return { kind: "file", bytes: readFileSync(resolve(place.workingDirectory, file)) };
  } catch (cause) {
    throw new UsageError(`The key file ${file} cannot be read.`, { cause });
  }
}

function countOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--keep must be an integer of at least 1, not ${JSON.stringify(text)}.`);
}
