// `bun run test`: runs the tests of the project, and the native core's beside them. Its last line is `N passed, N
// failed`; the lines before say how many were skipped, and why each one that failed did. `--all` runs all cases of the
// long ones (support/extent.ts). With other arguments, such as a folder, only the tests in these files run, with all
// cases, and not those of the native core.
//
// A file in which a test failed runs once more, alone. What passes then counts as passed, and is named with the reason
// of its first failure: it depends on time or on what ran beside it, which somebody has to look at.

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
/** With more files than these that have failures, none runs again: a change broke them. */
const FILES_AGAIN_MAX = 3;

/** What a run of `bun test` reports. */
interface Results {
  readonly tally: Tally;
  readonly failures: readonly Failure[];
  /** The files of which a test ran or was skipped. */
  readonly ran: ReadonlySet<string>;
}

/** A test that failed, with the file that it is in and what it says. */
interface Failure {
  readonly test: string;
  readonly file: string;
  readonly reason: string;
}

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

async function testTypeScript(patterns: readonly string[]): Promise<Tally> {
  // also the tests' folder for temporary files, because processes that are killed leave some
  const folder = mkdtempSync(join(tmpdir(), "mneme-tests-"));
  // one server for all test files; it ends with this process
  const postgres = POSTGRES_MISSING === null ? { MNEME_TEST_POSTGRES_URL: await postgresServer() } : {};
  const extent = patterns.length > 0 || process.argv.includes("--all") ? { MNEME_TEST_ALL: "1" } : {};
  try {
    // it takes as long as a few starts save
    const program = patterns.length > 0 ? {} : { MNEME_TEST_PROGRAM: await bundleProgram(join(folder, "program")) };
    // One lane per server: each takes half a second of processor time to load its models.
    const env = { MNEME_TEST_LANES: "1", ...process.env, ...extent, ...postgres, ...program, TMPDIR: folder };
    const update = process.env.MNEME_TEST_DURATIONS === "1" ? ["--update-timings"] : [];
    const first = await bunTest([`--parallel=${workers()}`, `--timings=${DURATIONS}`, ...update, ...patterns], env);
    const files = [...new Set(first.failures.map((failure) => failure.file))];
    // a file that could not be loaded is not in the report
    const complete = first.failures.length === first.tally.failed && expected(patterns).every((x) => first.ran.has(x));
    const again = complete && files.length <= FILES_AGAIN_MAX ? files : [];
    const failures: Failure[] = again.length === files.length ? [] : [...first.failures];
    for (const file of again) failures.push(...(await failuresAgain(file, first.failures, env)));
    const unsteady = first.failures.length - failures.length;
    show(
      "failed, but passed when their files ran once more",
      first.failures.filter((one) => !has(failures, one)),
    );
    show("failed", failures);
    return {
      ...first.tally,
      passed: first.tally.passed + unsteady,
      failed: first.tally.failed - unsteady,
    };
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

// Runs `bun test` and reads the results from its report, because the output of tests can contain anything.
async function bunTest(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<Results> {
  const report = join(env.TMPDIR ?? tmpdir(), "junit.xml");
  rmSync(report, { force: true });
  const command = [process.execPath, "test", `--timeout=${TEST_TIMEOUT_MS}`];
  const child = Bun.spawn([...command, "--reporter=junit", `--reporter-outfile=${report}`, ...argv], {
    cwd: ROOT,
    env,
    ...({ stdin: "ignore", stdout: "inherit", stderr: "inherit" } as const),
  });
  const exitCode = await child.exited;
  const xml = existsSync(report) ? readFileSync(report, "utf8") : "";
  return { tally: sound("the tests", junitTally(xml), exitCode), failures: junitFailures(xml), ran: junitFiles(xml) };
}

// The files that must be in a report: all, or the given ones.
function expected(patterns: readonly string[]): readonly string[] {
  if (patterns.length === 0)
    return [...new Bun.Glob("**/*.test.ts").scanSync(join(ROOT, "test"))].map((x) => `test/${x}`);
  return patterns.map((pattern) => pattern.replace(/^\.\//, ""));
}

// Which of the tests of a file that failed fail again; all of them if the file fails in another way.
async function failuresAgain(
  file: string,
  failures: readonly Failure[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Failure[]> {
  process.stdout.write(`\n${file} once more, alone:\n`);
  const again = await bunTest([`./${file}`], env);
  if (again.tally.failed === 0) return [];
  const same = again.failures.filter((failure) => has(failures, failure));
  return same.length === again.tally.failed ? same : failures.filter((failure) => failure.file === file);
}

function has(failures: readonly Failure[], one: Failure): boolean {
  return failures.some((other) => other.file === one.file && other.test === one.test);
}

function show(what: string, failures: readonly Failure[]): void {
  if (failures.length === 0) return;
  process.stdout.write(`\n${failures.length} ${what}:\n`);
  for (const { file, test, reason } of failures) process.stdout.write(`- ${test} (${file})\n${reason.trim()}\n`);
}

// The totals are attributes of the outermost element of a JUnit report.
function junitTally(xml: string): Tally {
  const head = /<testsuites\b[^>]*>/.exec(xml)?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  return { passed: count("tests") - failed - skipped, failed, skipped };
}

function junitFailures(xml: string): readonly Failure[] {
  const cases =
    /<testcase name="([^"]*)" classname="([^"]*)"[^>]*? file="([^"]*)"[^>]*[^/]>\s*<(?:failure|error)[^>]*>([^<]*)/g;
  return [...xml.matchAll(cases)].map(([, name = "", group = "", file = "", reason = ""]) => ({
    test: [group, name].filter(Boolean).map(plain).join(" > "),
    file: plain(file),
    reason: plain(reason),
  }));
}

function junitFiles(xml: string): ReadonlySet<string> {
  return new Set([...xml.matchAll(/<testsuite\b[^>]*? file="([^"]*)"/g)].map(([, file = ""]) => plain(file)));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function plain(xml: string): string {
  return xml.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name = "") =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  );
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
