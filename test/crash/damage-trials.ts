// Damages files of a data directory, one at a time, and judges what the next start makes of it with the oracle:
// repaired without loss, refused with one line, or a loss that nobody is told of.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { WAIT_MS } from "../support/until.ts";
import { callerOf, isWithin } from "./oracle/calls.ts";
import { describe, type Finding, Oracle } from "./oracle/oracle.ts";
import { newWriters, WRITER_ENVIRONMENT, type Writer, writeAll } from "./oracle/writers.ts";

/** A data directory that nobody uses, and what it must hold. */
export interface Fixture {
  /** How its last server ended. */
  readonly ended: "stopped" | "killed";
  readonly folder: string;
  /** The same directory at an earlier time, for damages that put an older copy back. */
  readonly olderFolder: string;
  readonly oracle: Oracle;
}

/** What is done to a file. */
export type Damage = "one bit flipped" | "3 bytes cut off" | "cut in half" | "emptied" | "removed" | "older copy";

/** All damages. */
export const DAMAGES: readonly Damage[] = [
  "one bit flipped",
  "3 bytes cut off",
  "cut in half",
  "emptied",
  "removed",
  "older copy",
];

/**
 * repaired: the oracle finds nothing. refused: the start ended with one line. reported: the memory of a damaged upload
 * has failed, which its caller sees. untidy: the start ended with something other than one line. silent loss: the
 * server is ready, and the oracle finds something else.
 */
export type Verdict = "repaired" | "refused" | "reported" | "untidy" | "silent loss";

const VERDICTS: readonly Verdict[] = ["repaired", "refused", "reported", "untidy", "silent loss"];

/** One trial: a damage of one file. */
export interface Trial {
  readonly fixture: Fixture;
  /** Path in the data directory. */
  readonly path: string;
  readonly damage: Damage;
}

/** What came of a trial. */
export interface Outcome {
  readonly trial: Trial;
  readonly verdict: Verdict;
  /** The line of a refusal, or the findings of the oracle. */
  readonly note: string;
}

const WRITERS = 4;
/** Acknowledged changes per part of a fixture's history. There are three parts. */
const CHANGES = 60;
/** Searches, histories and deleted memories per trial. Each search takes some tens of milliseconds. */
const SAMPLES_MAX = 20;
const ENVIRONMENT = { ...WRITER_ENVIRONMENT, MNEME_EMBEDDER: ENGLISH } as const;
const FLAGS = ["--lanes", "1", "--log-level", "silent"] as const;

/** Starts a server on a data directory of a trial or a fixture. */
function start(dataDir: string): Promise<RunningServer> {
  return startServer({ dataDir, environment: ENVIRONMENT, flags: FLAGS });
}

/**
 * Makes two data directories below `home` with the same history, one after a clean stop and one after kill -9. The
 * second has files in all states: written-ahead logs, uploads, and work that is not done.
 */
export async function makeFixtures(home: string, seed: number): Promise<readonly Fixture[]> {
  const live = join(home, "live");
  const copyTo = (name: string) => {
    copyFiles(live, join(home, name));
    return join(home, name);
  };
  const oracle = new Oracle();
  const writers = newWriters(oracle, WRITERS, seed);
  const first = await start(live);
  await work(writers, oracle, first);
  if ((await first.stop()) !== 0) throw new Error("the first server did not stop");
  const beforeStop = copyTo("before-stop");

  const second = await start(live);
  await work(writers, oracle, second);
  if ((await second.stop()) !== 0) throw new Error("the second server did not stop");
  const stopped: Fixture = {
    ...{ ended: "stopped", folder: copyTo("stopped"), olderFolder: beforeStop, oracle: oracle.copy() },
  };

  const third = await start(live);
  await work(writers, oracle, third);
  process.kill(third.pid, "SIGSTOP"); // so that the copy is what a kill would leave
  const beforeKill = copyTo("before-kill");
  process.kill(third.pid, "SIGCONT");
  await work(writers, oracle, third);
  await Promise.all(writers.map((writer) => writer.upload(callerOf(third))));
  await third.kill();
  const killed: Fixture = {
    ...{ ended: "killed", folder: copyTo("killed"), olderFolder: beforeKill, oracle },
  };
  return [stopped, killed];
}

/** Copies a data directory without the sockets of its server. */
function copyFiles(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !statSync(path).isSocket() });
}

/** Changes a server, and waits until everything is searchable. */
async function work(writers: readonly Writer[], oracle: Oracle, server: RunningServer): Promise<void> {
  await writeAll(writers, oracle, callerOf(server), CHANGES);
  const isDone = async () => {
    const { body } = await server.call("GET", "/v1/memories?status=processing&limit=1");
    return (body as { readonly data: readonly unknown[] }).data.length === 0;
  };
  if (!(await isWithin(isDone, WAIT_MS))) throw new Error("memories are still processing");
}

/** All files below a folder, as paths in it. */
export function filesOf(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));
  return paths
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(folder, path))
    .sort();
}

/** The kind of a file: its name without ids. */
export function kindOf(path: string): string {
  return path
    .replace(/^projects\/[^/]+\//, "projects/*/")
    .replace(/^uploads\/.*$/, "uploads/*")
    .replace(/\/[0-9a-f]{32}\./, "/*.")
    .replace(/\.\d+\.del$/, ".*.del")
    .replace(/-\d+\//, "-*/");
}

/** The trials that make sense: an older copy must exist and differ, and there must be bytes to damage. */
export function trialsOf(fixture: Fixture): readonly Trial[] {
  return filesOf(fixture.folder).flatMap((path) => {
    const { size } = statSync(join(fixture.folder, path));
    const possible = DAMAGES.filter((damage) => {
      if (damage === "removed") return true;
      if (damage !== "older copy") return size > 0 && (damage !== "3 bytes cut off" || size > 3);
      const older = join(fixture.olderFolder, path);
      return existsSync(older) && !readFileSync(older).equals(readFileSync(join(fixture.folder, path)));
    });
    return possible.map((damage) => ({ fixture, path, damage }));
  });
}

/** Trials in a random order. Kinds of files and damages take turns. */
export function chooseTrials(fixtures: readonly Fixture[], count: number, random: () => number): readonly Trial[] {
  const shuffled = fixtures
    .flatMap(trialsOf)
    .map((trial) => ({ trial, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ trial }) => trial);
  const groups = [
    ...Map.groupBy(shuffled, ({ fixture, path, damage }) => `${fixture.ended} ${kindOf(path)} ${damage}`).values(),
  ];
  const chosen: Trial[] = [];
  for (let round = 0; chosen.length < count; round++) {
    const next = groups.flatMap((group) => group[round] ?? []);
    // a file that is alone of its kind is damaged again: bits are flipped at other places
    const again =
      round === 0 ? [] : groups.flatMap((group) => (group[0]?.damage === "one bit flipped" ? group[0] : []));
    if (next.length + again.length === 0) break;
    chosen.push(...(next.length > 0 ? next : again));
  }
  return chosen.slice(0, count);
}

/** Damages a copy of the fixture, starts a server on it, and judges what it shows. */
export async function runTrial(home: string, trial: Trial, random: () => number): Promise<Outcome> {
  const { fixture, path, damage } = trial;
  const dataDir = join(home, "trial");
  rmSync(dataDir, { recursive: true, force: true });
  copyFiles(fixture.folder, dataDir);
  inflict(damage, join(dataDir, path), join(fixture.olderFolder, path), random);
  const failure = { server: null as RunningServer | null, message: "" };
  try {
    failure.server = await start(dataDir);
  } catch (error) {
    failure.message = String(error);
  }
  if (failure.server === null) return { trial, ...judgeRefusal(failure.message) };
  try {
    const options = { samplesMax: SAMPLES_MAX, endsWithinMs: WAIT_MS };
    const findings = await fixture.oracle.copy().check(callerOf(failure.server), options);
    return { trial, verdict: verdictOf(path, findings), note: describe(findings) };
  } catch (error) {
    return { trial, verdict: "silent loss", note: `the check failed: ${String(error)}\n${failure.server.stderr()}` };
  } finally {
    await failure.server.kill();
  }
}

function verdictOf(path: string, findings: readonly Finding[]): Verdict {
  if (findings.length === 0) return "repaired";
  const isReported = path.startsWith("uploads/") && findings.every(({ kind }) => kind === "failed");
  return isReported ? "reported" : "silent loss";
}

function inflict(damage: Damage, path: string, olderPath: string, random: () => number): void {
  if (damage === "removed") rmSync(path);
  else if (damage === "older copy") cpSync(olderPath, path);
  else writeFileSync(path, damaged(damage, readFileSync(path), random));
}

function damaged(damage: Damage, bytes: Buffer, random: () => number): Uint8Array {
  if (damage === "emptied") return new Uint8Array();
  if (damage === "3 bytes cut off") return bytes.subarray(0, -3);
  if (damage === "cut in half") return bytes.subarray(0, Math.floor(bytes.length / 2));
  const at = Math.floor(random() * bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return bytes;
}

/** A refusal is tidy if the server ended by itself with exit code 1 and one line that names a store of record. */
function judgeRefusal(message: string): Pick<Outcome, "verdict" | "note"> {
  const [, output = ""] = message.split("--- stderr\n");
  const line = output.trim();
  const isTidy =
    message.includes("the server exited with 1\n") &&
    /^mneme: [^\n]*\/trial\/(mneme\.sqlite|memories\.duckdb)\b[^\n]+$/.test(line);
  return { verdict: isTidy ? "refused" : "untidy", note: isTidy ? line : message.slice(0, 2_000) };
}

/** What was done to which file. */
export function nameOf({ fixture, path, damage }: Trial): string {
  return `${path}: ${damage}, after the server was ${fixture.ended}`;
}

/** A table of the verdicts: one line per kind of file and end of the server. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const groups = Map.groupBy(outcomes, ({ trial }) => `${kindOf(trial.path)} | ${trial.fixture.ended}`);
  const count = (of: readonly Outcome[], verdict: Verdict) => of.filter((each) => each.verdict === verdict).length;
  const cells = (of: readonly Outcome[]) => VERDICTS.map((verdict) => count(of, verdict)).join(" | ");
  const lines = [...groups].sort().map(([name, of]) => `| ${name} | ${of.length} | ${cells(of)} |`);
  const head =
    "| File | Server ended | Trials | Repaired | Refused | Reported | Untidy | Silent loss |\n|---|---|---|---|---|---|---|---|";
  return [head, ...lines, `| all | | ${outcomes.length} | ${cells(outcomes)} |`].join("\n");
}
