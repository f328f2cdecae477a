// `bun run test`: runs the tests of the project, and the native core's beside them. Its last line is `N passed, N
// failed`; the line before says how many were skipped, if any. `--all` runs all cases of the long ones
// (support/extent.ts). With other arguments, such as a folder, only `bun test` runs: with these, and with all cases.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { nativeCacheDirectory } from "../src/adapters/native/library.ts";
import { POSTGRES_MISSING, postgresServer } from "./support/postgres.ts";
import { bundleProgram } from "./support/program.ts";
import { TEST_TIMEOUT_MS } from "./support/until.ts";

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const ROOT = join(import.meta.dir, "..");
/** Durations of test files in milliseconds: the slowest start first. MNEME_TEST_DURATIONS=1 makes a run update them. */
const DURATIONS = join(import.meta.dir, "durations.json");
/**
 * Test processes per core. Crash tests, which take most of the time, wait for servers and disks: with one process per
 * core, the cores were busy half of the time (2026-11-23, 2 cores). With three, a browser took 30 s to open a page.
 */
const WORKERS_PER_CORE = 2;
/** Memory of a test process with the servers that it starts, in bytes. */
const WORKER_BYTES = 3 * 1024 ** 3;

async function main(): Promise<number> {
  const patterns = process.argv.slice(2).filter((argument) => argument !== "--all");
  const tallies = await Promise.all([...(patterns.length === 0 ? [testNative()] : []), testTypeScript(patterns)]);
  const sum = (field: keyof Tally) => tallies.reduce((total, tally) => total + tally[field], 0);
  const skipped = sum("skipped") === 0 ? "" : `${sum("skipped")} skipped\n`;
  process.stdout.write(`\n${skipped}${sum("passed")} passed, ${sum("failed")} failed\n`);
  return sum("failed") === 0 ? 0 : 1;
}

// Uses the profile and target folder of native/build.ts, so that dependencies are compiled only once. The core itself
// is compiled again with its tests: in parts, which takes 70 s of processor time instead of 105 s, on both cores.
async function testNative(): Promise<Tally> {
  const child = Bun.spawn(
    [
      ...["cargo", "test", "--workspace", "--release", "--locked", "--manifest-path", join(ROOT, "native/Cargo.toml")],
      ...["--config", "profile.release.package.mneme-native.codegen-units=16"],
    ],
    {
      env: { ...process.env, CARGO_TARGET_DIR: join(nativeCacheDirectory(), "target") },
      ...({ stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const),
    },
  );
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const exitCode = await child.exited;
  // in one piece, because the other tests print meanwhile
  process.stdout.write(`\n${errors}${output}\n`);
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed, ignored] of output.matchAll(
    /^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored/gm,
  )) {
    tally.passed += Number(passed);
    tally.failed += Number(failed);
    tally.skipped += Number(ignored);
  }
  return sound("the native core's tests", tally, exitCode);
}

// The results are read from a report file, because the output of tests can contain anything.
async function testTypeScript(patterns: readonly string[]): Promise<Tally> {
  // also the tests' folder for temporary files, because processes that are killed leave some
  const folder = mkdtempSync(join(tmpdir(), "mneme-tests-"));
  // one server for all test files; it ends with this process
  const postgres = POSTGRES_MISSING === null ? { MNEME_TEST_POSTGRES_URL: await postgresServer() } : {};
  const extent = patterns.length > 0 || process.argv.includes("--all") ? { MNEME_TEST_ALL: "1" } : {};
  const report = join(folder, "junit.xml");
  try {
    // it takes as long as a few starts save
    const program = patterns.length === 1 ? {} : { MNEME_TEST_PROGRAM: await bundleProgram(join(folder, "program")) };
    const child = Bun.spawn(
      [
        ...[process.execPath, "test", `--parallel=${workers()}`, `--timings=${DURATIONS}`],
        ...[`--timeout=${TEST_TIMEOUT_MS}`, ...(process.env.MNEME_TEST_DURATIONS === "1" ? ["--update-timings"] : [])],
        ...["--reporter=junit", `--reporter-outfile=${report}`, ...patterns],
      ],
      {
        cwd: ROOT,
        // One lane per server: each takes half a second of processor time to load its models.
        env: { MNEME_TEST_LANES: "1", ...process.env, ...extent, ...postgres, ...program, TMPDIR: folder },
        ...({ stdin: "ignore", stdout: "inherit", stderr: "inherit" } as const),
      },
    );
    const exitCode = await child.exited;
    return sound("the tests", existsSync(report) ? junitTally(readFileSync(report, "utf8")) : NOTHING, exitCode);
  } finally {
    remove(folder);
  }
}

// A test that was killed can leave a file system mounted in the folder. That must not hide the results.
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    process.stderr.write(`${folder} could not be removed: ${error}\n`);
  }
}

function workers(): number {
  const byMemory = Math.floor(totalmem() / WORKER_BYTES);
  return Math.max(1, Math.min(WORKERS_PER_CORE * availableParallelism(), byMemory));
}

const NOTHING: Tally = { passed: 0, failed: 0, skipped: 0 };

// The totals are attributes of the outermost element of a JUnit report.
function junitTally(xml: string): Tally {
  const head = /<testsuites\b[^>]*>/.exec(xml)?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  return { passed: count("tests") - failed - skipped, failed, skipped };
}

// A run that ends with an error but no failed test (a crash, a compiler error), or that runs no tests, counts as
// failed.
function sound(what: string, tally: Tally, exitCode: number): Tally {
  const ranAny = tally.passed + tally.failed > 0;
  if ((exitCode === 0 && ranAny) || tally.failed > 0) return tally;
  process.stderr.write(`${what} ended with exit code ${exitCode}${ranAny ? "" : " and ran nothing"}\n`);
  return { ...tally, failed: 1 };
}

process.exit(await main());
