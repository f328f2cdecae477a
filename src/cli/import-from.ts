// `mneme import --from PRODUCT SOURCE`: stores what another product exported, or what its server has, in a running
// server, through the public API only. It ends with a report of the fields that were imported and those that were not.

import type { Found, ImportedMemory } from "../importers/imported.ts";
import { foundIn, isAddress, readsServers, SOURCE_NAMES } from "../importers/importers.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { BatchSender, Tally } from "./batch-sender.ts";
import { Client } from "./client.ts";
import { type ImportTarget, newestFailed, parseTarget, TARGET_FLAGS, waitUntilSearchable } from "./import.ts";
import { Replacements } from "./replacements.ts";
import { alignRows, indent, Progress, readableDuration } from "./terminal.ts";

/**
 * Maximum number of different fields, or reasons for skipping, that each section of the report names; further ones are
 * counted together, as `OTHERS`.
 */
const FIELDS_SHOWN_MAX = 100;
const OTHERS = "other fields";

/** Help for the flags, as `[flag, description]`. */
export const IMPORT_FROM_HELP: readonly (readonly [string, string])[] = [
  ["--from PRODUCT", SOURCE_NAMES.join(", ")],
  ["--dry-run", "Read the source and print the report; store nothing"],
  ["MEM0_API_KEY, ZEP_API_KEY, …", "Key for the product's own server, if SOURCE is its address"],
];

/** Options of an import from another product. */
export interface ImportFromOptions extends ImportTarget {
  readonly from: string;
  /** Path or http(s) address. */
  readonly source: string;
  readonly isDryRun: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Whether a command line of `mneme import` is for this file: it has `--from`. */
export function isImportFrom(argv: readonly string[]): boolean {
  return argv.some((word) => word === "--from" || word.startsWith("--from="));
}

/**
 * Parses the command line.
 * @throws UsageError with one line that names what is missing or wrong
 */
export function parseImportFromOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ImportFromOptions {
  const { flags, positionals } = parseCommandLine(argv, {
    ...TARGET_FLAGS,
    "--from": "value",
    "--dry-run": "switch",
  });
  const from = flags.get("--from") ?? "";
  if (!SOURCE_NAMES.includes(from)) {
    const known = SOURCE_NAMES.join(", ");
    throw new UsageError(
      `--from ${JSON.stringify(from)} is not known.${didYouMean(from, SOURCE_NAMES)} Known: ${known}.`,
    );
  }
  const [source, surplus] = positionals;
  if (source === undefined) throw new UsageError(`Missing source. Usage: mneme import --from ${from} FILE|FOLDER|URL`);
  if (surplus !== undefined) {
    throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}: import takes one source.`);
  }
  if (isAddress(source) && !(URL.canParse(source) && readsServers(from))) {
    throw new UsageError(`${from} has no server that can be read: export to a file, and import that.`);
  }
  const target = parseTarget(flags, environment);
  const isDryRun = flags.has("--dry-run");
  if (target.key === null && !isDryRun) throw new UsageError("Missing API key: set MNEME_API_KEY or use --key.");
  return { ...target, from, source, isDryRun, environment };
}

/** What an import did. */
export interface ImportReport {
  /** Text for the person at the terminal. */
  readonly text: string;
  /** Whether nothing was refused or damaged. */
  readonly isComplete: boolean;
}

/**
 * Runs an import. Something that cannot be read or is refused is printed and counted, and the rest continues.
 * @throws Error if the source cannot be read at all, or the server cannot be reached
 */
export async function importFrom(options: ImportFromOptions, clock: Clock = systemClock): Promise<ImportReport> {
  const { from, source, environment } = options;
  const client = options.isDryRun ? null : new Client(options.url, options.key ?? "", clock);
  const failedBefore = client !== null && options.waits ? await newestFailed(client) : null;
  const progress = new Progress(options.isDryRun ? "reading" : "importing");
  const startedAt = performance.now();
  const tally = new Tally(progress);
  const sender = client === null ? null : new BatchSender(client, options.batch, tally);
  const counts = new FieldCounts();
  const replacements = new Replacements();
  const send = async (found: ImportedMemory) => {
    const [draft, characters] = drafted(found, options.userId);
    const onStored = (id: string) => replacements.stored(found, id);
    await sender?.add(replacements.concerns(found) ? { ...draft, onStored } : draft, characters);
  };
  let share: number | null = null;
  const report = (read: number) => {
    share = read;
  };
  for await (const found of foundIn({ from, source, environment, clock, report })) {
    if (found.kind === "damaged") tally.refuse(found.place, found.why);
    else if (found.kind === "memory") {
      if (replacements.note(found)) continue;
      await send(found);
    }
    counts.count(found);
    const seconds = (performance.now() - startedAt) / 1000;
    progress.show(share, `${counts.memories} read, ${Math.round(counts.memories / seconds)} per second`);
  }
  const { replaced, unknown } = replacements.decide();
  for (const memory of replaced) {
    await send(memory);
    counts.count(memory);
  }
  for (const { place, replacedWhy = "" } of unknown) counts.count({ kind: "skipped", place, why: replacedWhy });
  await sender?.finish();
  progress.clear();
  if (client !== null && options.waits) await waitUntilSearchable(client, failedBefore);
  const marked = client === null ? replaced.length : await replacements.mark(client, tally);
  const duration = readableDuration(performance.now() - startedAt);
  const stored = options.isDryRun ? `nothing stored, ${tally.refused} refused` : tally.summary();
  const head = `${from}: ${counted(counts.memories, "memory", "memories")} read, ${stored}, ${counts.skippedTotal} skipped${marked === 0 ? "" : `, ${marked} superseded by others`} in ${duration}`;
  return { text: [head, ...counts.lines()].join("\n"), isComplete: tally.refused === 0 };
}

function drafted(
  { place, memory }: ImportedMemory,
  userId: string | null,
): [{ place: string; memory: typeof memory }, number] {
  const owned = userId === null || memory.userId !== undefined ? memory : { ...memory, userId };
  return [{ place, memory: owned }, String(memory.content).length];
}

/** Counts the memories and fields for the report. */
class FieldCounts {
  memories = 0;
  skippedTotal = 0;
  readonly #mapped = new Map<string, number>();
  readonly #unplaced = new Map<string, number>();
  readonly #skipped = new Map<string, number>();

  count(found: Found): void {
    if (found.kind === "skipped") {
      this.skippedTotal++;
      increment(this.#skipped, found.why);
    } else if (found.kind === "memory") {
      this.memories++;
      for (const field of found.mapped) increment(this.#mapped, field);
      for (const field of new Set(found.unplaced)) increment(this.#unplaced, field);
    }
  }

  lines(): readonly string[] {
    return [
      ...section("Came along (source → memory, number of memories):", this.#mapped),
      ...section("Has no place in a memory, and was left out:", this.#unplaced),
      ...section("Skipped:", this.#skipped),
    ];
  }
}

/** Counts one more of a name; of `OTHERS` if too many names are counted already. */
function increment(counts: Map<string, number>, name: string): void {
  const counted = counts.has(name) || counts.size < FIELDS_SHOWN_MAX ? name : OTHERS;
  counts.set(counted, (counts.get(counted) ?? 0) + 1);
}

function section(title: string, counts: ReadonlyMap<string, number>): readonly string[] {
  if (counts.size === 0) return [];
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => [name, String(count)]);
  return ["", title, ...indent(alignRows(rows, true))];
}
