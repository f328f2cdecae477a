// Builds a release: `bun scripts/release.ts`. One folder gets the program for this platform as archive, npm packages,
// wheels, .deb and .rpm, with what installs them, checksums, the list of parts, and a signature.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { targetMissing, ZIG_MISSING, zigCommand } from "../native/zig.ts";
import { portableLibraryPath } from "../src/adapters/native/library.ts";
import { buildProgram, folderBytes } from "../src/binary/build.ts";
import { partsOfProgram } from "../src/binary/parts.ts";
import { errorMessage } from "../src/kit/error-message.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { makeArchive, makeFormula, makeInstaller } from "./release/archive.ts";
import { type Made, PLATFORMS, type Platform, RELEASE, type ReleaseRun } from "./release/description.ts";
import { foreignModules } from "./release/foreign-modules.ts";
import { GLIBC_WANTED, glibcNeed, glibcOf, isNewer } from "./release/glibc.ts";
import { makeNpmPackages } from "./release/npm.ts";
import { makeModelArchives } from "./release/optional-models.ts";
import { cycloneDx } from "./release/sbom.ts";
import { makeDeb, makeRpm } from "./release/system-packages.ts";
import { hasProgram, output } from "./release/tar.ts";
import { makeWheels } from "./release/wheel.ts";

const ROOT = join(import.meta.dir, "..");
const MB = 1_000_000;
const HELP = `bun scripts/release.ts [flags]

Builds version ${RELEASE.version}. What cannot be made on this machine is named "not built here".

  --out FOLDER      folder of the artefacts (default: dist/release)
  --platform NAME   ${PLATFORMS.filter(isBuilt)
    .map(({ id }) => id)
    .join(" or ")} (default: ${PLATFORMS[0].id})
  --program FOLDER  folder of a program that is built already (default: build one)
  --core FILE       native core that was compiled elsewhere (default: compile one)
  --address URL     address that the artefacts will be downloaded from: for install.sh and Homebrew
  --sign KEY        minisign's secret key file: signs the checksums
  --only NAMES      archive, npm, wheel, deb, rpm, separated by commas (default: all)
  --fast            compress little, for tests`;
const KINDS = ["archive", "npm", "wheel", "deb", "rpm"] as const;

/** What to release, and how. */
export interface ReleaseOptions {
  readonly out: string;
  /** Default: Linux x64. */
  readonly platform?: Platform;
  readonly program: string | null;
  /** Native core for the platform; default: one that is compiled here. */
  readonly core?: string | undefined;
  readonly address: string | null;
  readonly signingKey: string | null;
  readonly only: readonly string[];
  readonly isFast: boolean;
}

/** Builds a release. Returns the artefacts that it wrote, and the reasons of those that it did not. */
export async function release(options: ReleaseOptions): Promise<readonly Made[]> {
  const { out, address, only, isFast, platform = PLATFORMS[0] } = options;
  const isNative = platform === PLATFORMS[0];
  const scratch = mkdtempSync(join(tmpdir(), "mneme-release-"));
  try {
    const program = options.program ?? join(scratch, "program");
    if (options.program === null) {
      const nativeCore = options.core ?? portableCore(platform);
      const modules = isNative ? undefined : foreignModules(join(scratch, "modules"), platform);
      await buildProgram(program, {
        arch: platform.npm.cpu,
        ...(nativeCore && { nativeCore }),
        ...(modules && { modules }),
      });
    }
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out, { recursive: true });
    const need = glibcNeed(program);
    const common = { platform, program, output: out, scratch, time: releaseTime(), isFast, address };
    const run: ReleaseRun = { ...common, glibc: need.version };
    const made: Made[] = [];
    if (isNewer(need.version, GLIBC_WANTED)) {
      const reason = options.program === null ? ZIG_MISSING : `--program ${program} was linked for this machine`;
      const why = `${need.file} needs ${need.version}, and so do all packages (${reason})`;
      made.push({ notBuilt: `a program for glibc ${GLIBC_WANTED}: ${why}` });
    }
    if (only.includes("archive")) {
      made.push(...makeModelArchives(run));
      const archive = makeArchive(run);
      made.push(archive, makeInstaller(run));
      if ("file" in archive) made.push(makeFormula(run, sha256Of(archive.file)));
    }
    if (only.includes("npm")) made.push(...makeNpmPackages(run));
    if (only.includes("wheel")) made.push(...makeWheels(run));
    if (only.includes("deb")) made.push(makeDeb(run));
    if (only.includes("rpm")) made.push(makeRpm(run));
    for (const other of PLATFORMS.filter((each) => each !== platform)) made.push({ notBuilt: whyNotBuilt(other) });
    const sbom = join(out, `${RELEASE.program}-${RELEASE.version}.cdx.json`);
    writeFileSync(sbom, `${JSON.stringify(cycloneDx(await partsOfProgram()), null, 1)}\n`);
    made.push({ file: sbom }, { file: writeSums(out) });
    if (options.signingKey !== null) made.push(sign(join(out, "SHA256SUMS"), options.signingKey));
    return made;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Time of the commit, or `SOURCE_DATE_EPOCH`, in seconds since 1970. */
function releaseTime(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  return Number(given ?? output(["git", "log", "-1", "--format=%ct"], { cwd: ROOT }).trim());
}

/** Whether a program can be built for a platform. The others lack a linker for their systems. */
function isBuilt({ npm }: Platform): boolean {
  return npm.os === "linux";
}

function whyNotBuilt(platform: Platform): string {
  if (!isBuilt(platform)) return `${platform.id}: its native core is not cross-compiled`;
  return `${platform.id}: --platform ${platform.id} builds it`;
}

/**
 * The native core for systems with `GLIBC_WANTED`, or undefined for this platform without Zig.
 * @throws Error if it cannot be compiled or linked, or needs a newer glibc all the same
 */
function portableCore(platform: Platform): string | undefined {
  const arch = platform.npm.cpu;
  const isForeign = platform !== PLATFORMS[0];
  if (zigCommand() === null) {
    if (isForeign) throw new Error(`not built here: ${platform.id}: ${ZIG_MISSING}`);
    return undefined;
  }
  const lacking = isForeign ? targetMissing(arch) : null;
  if (lacking !== null) throw new Error(`not built here: ${platform.id}: ${lacking}`);
  const core = portableLibraryPath(GLIBC_WANTED, arch);
  const build = [process.execPath, join(ROOT, "native/build.ts"), "--glibc", GLIBC_WANTED, "--arch", arch];
  const { success } = Bun.spawnSync(build, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  if (!success) throw new Error("the native core cannot be linked; the lines above say why");
  const version = glibcOf(readFileSync(core));
  if (version === null || isNewer(version, GLIBC_WANTED))
    throw new Error(`${core} needs glibc ${version}, not ${GLIBC_WANTED}: objdump -T lists its symbols`);
  return core;
}

function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** Writes the checksums of all artefacts as `sha256sum --check` reads them. */
function writeSums(out: string): string {
  const names = readdirSync(out).sort();
  const file = join(out, "SHA256SUMS");
  writeFileSync(file, names.map((name) => `${sha256Of(join(out, name))}  ${name}\n`).join(""));
  return file;
}

function sign(file: string, key: string): Made {
  if (!hasProgram("minisign")) return { notBuilt: "the signature needs minisign" };
  output(["minisign", "-S", "-s", key, "-m", file, "-t", `${RELEASE.program} ${RELEASE.version}`]);
  return { file: `${file}.minisig` };
}

function optionsOf(argv: readonly string[]): ReleaseOptions {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--out": "value", "--program": "value", "--address": "value", "--sign": "value", "--only": "value" },
    ...{ "--platform": "value", "--core": "value", "--fast": "switch" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const only = flags.get("--only")?.split(",") ?? KINDS;
  const unknown = only.find((name) => !KINDS.some((kind) => kind === name));
  if (unknown !== undefined) throw new UsageError(`--only knows ${KINDS.join(", ")}, not ${JSON.stringify(unknown)}.`);
  const address = flags.get("--address");
  if (address !== undefined && !/^https:\/\/.+/.test(address))
    throw new UsageError("--address must be an https address.");
  const program = flags.get("--program");
  const core = flags.get("--core");
  const named = flags.get("--platform") ?? PLATFORMS[0].id;
  const platform = PLATFORMS.filter(isBuilt).find(({ id }) => id === named);
  if (platform === undefined) throw new UsageError(`--platform has no ${JSON.stringify(named)} that is built here.`);
  return {
    platform,
    core: core === undefined ? undefined : resolve(core),
    out: resolve(flags.get("--out") ?? join(ROOT, "dist/release")),
    program: program === undefined ? null : resolve(program),
    address: address === undefined ? null : `${address.replace(/\/+$/, "")}/`,
    signingKey: flags.get("--sign") ?? null,
    only,
    isFast: flags.has("--fast"),
  };
}

if (import.meta.main) {
  const argv = process.argv.slice(2);
  if (argv.includes("--help")) {
    process.stdout.write(`${HELP}\n`);
    process.exit(0);
  }
  try {
    const options = optionsOf(argv);
    for (const made of await release(options)) {
      if ("notBuilt" in made) process.stdout.write(`not built here: ${made.notBuilt}\n`);
      else process.stdout.write(`${basename(made.file)}: ${(statSync(made.file).size / MB).toFixed(1)} MB\n`);
    }
    const { program } = options;
    if (program !== null) process.stdout.write(`on disk: ${Math.round(folderBytes(program) / MB)} MB\n`);
  } catch (error) {
    process.stderr.write(`release: ${errorMessage(error)}\n`);
    process.exit(1);
  }
}
