// Builds a release: `bun scripts/release.ts`. One folder gets the program for each wanted platform as archive, npm
// packages, wheels, .deb and .rpm, and archives of optional models, an installer, a Homebrew formula, checksums, the
// list of parts, and a signature.

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
import { makeArchive, makeFormula, makeInstaller, type PackedProgram } from "./release/archive.ts";
import { type Made, PLATFORMS, type Platform, RELEASE, type ReleaseRun } from "./release/description.ts";
import { foreignModules } from "./release/foreign-modules.ts";
import { GLIBC_WANTED, type GlibcNeed, glibcNeed, glibcOf, isNewer } from "./release/glibc.ts";
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
  --platform NAMES  ${PLATFORMS.filter(isBuilt)
    .map(({ id }) => id)
    .join(", ")}: one, or several separated by commas (default: ${PLATFORMS[0].id})
  --program FOLDER  folder of a program that is built already (default: build one); for one platform
  --core FILE       native core that was compiled elsewhere (default: compile one); for one platform
  --address URL     address that the artefacts will be downloaded from: for install.sh and Homebrew
  --sign KEY        minisign's secret key file: signs the checksums
  --only NAMES      archive, npm, wheel, deb, rpm, separated by commas (default: all)
  --fast            compress little, for tests`;
const KINDS = ["archive", "npm", "wheel", "deb", "rpm"] as const;

/** What to release, and how. */
export interface ReleaseOptions {
  readonly out: string;
  /** Default: Linux x64. */
  readonly platforms?: readonly Platform[];
  /** Folder of a program for the one platform; null: one is built for each. */
  readonly program: string | null;
  /** Native core for the one platform; default: one is compiled here for each. */
  readonly core?: string | undefined;
  readonly address: string | null;
  readonly signingKey: string | null;
  readonly only: readonly string[];
  readonly isFast: boolean;
}

/**
 * Builds a release in the folder `out`, which it empties first. Returns the artefacts that it wrote, and the reasons of
 * those that it did not.
 */
export async function release(options: ReleaseOptions): Promise<readonly Made[]> {
  const { out, address, only, platforms = [PLATFORMS[0]] } = options;
  const scratch = mkdtempSync(join(tmpdir(), "mneme-release-"));
  try {
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out, { recursive: true });
    const made: Made[] = [];
    const archives: PackedProgram[] = [];
    for (const platform of platforms) {
      const isFirst = platform === platforms[0];
      const { run, need } = await startRun(options, platform, join(scratch, platform.id));
      made.push(...newerGlibc(platform, need, options.program));
      if (only.includes("archive")) {
        const file = makeArchive(run);
        archives.push({ platform, file, sha256: sha256Of(file) });
        made.push({ file });
      }
      if (only.includes("npm")) made.push(...makeNpmPackages(run, isFirst));
      if (only.includes("wheel")) made.push(...makeWheels(run, isFirst));
      if (only.includes("deb")) made.push(makeDeb(run));
      if (only.includes("rpm")) made.push(makeRpm(run));
    }
    if (only.includes("archive")) {
      const common = { output: out, address };
      made.push(...makeModelArchives(common), makeInstaller(common), makeFormula(common, archives));
    }
    const others = PLATFORMS.filter((each) => !platforms.includes(each));
    made.push(...others.map((other) => ({ notBuilt: whyNotBuilt(other) })));
    const sbom = join(out, `${RELEASE.program}-${RELEASE.version}.cdx.json`);
    writeFileSync(sbom, `${JSON.stringify(cycloneDx(await partsOfProgram()), null, 1)}\n`);
    made.push({ file: sbom }, { file: writeSums(out) });
    if (options.signingKey !== null) made.push(sign(join(out, "SHA256SUMS"), options.signingKey));
    return made;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Builds the program for a platform unless the options name one, and finds out what the steps need to know of it. */
async function startRun(
  options: ReleaseOptions,
  platform: Platform,
  scratch: string,
): Promise<{ readonly run: ReleaseRun; readonly need: GlibcNeed }> {
  mkdirSync(scratch, { recursive: true });
  const program = options.program ?? join(scratch, "program");
  if (options.program === null) {
    const nativeCore = options.core ?? portableCore(platform);
    const modules = platform === PLATFORMS[0] ? undefined : foreignModules(join(scratch, "modules"), platform);
    await buildProgram(program, {
      arch: platform.npm.cpu,
      ...(nativeCore && { nativeCore }),
      ...(modules && { modules }),
    });
  }
  const { out: output, isFast, address } = options;
  const need = glibcNeed(program);
  const common = { platform, program, output, scratch, time: releaseTime(), isFast, address };
  return { run: { ...common, glibc: need.version }, need };
}

/** Says which file needs a newer glibc than `GLIBC_WANTED`, if any does. @param given `program` of the options */
function newerGlibc(platform: Platform, need: GlibcNeed, given: string | null): readonly Made[] {
  if (!isNewer(need.version, GLIBC_WANTED)) return [];
  const reason = given === null ? ZIG_MISSING : `--program ${given} was linked for this machine`;
  const why = `${need.file} needs ${need.version}, and so do all packages (${reason})`;
  return [{ notBuilt: `a program of ${platform.id} for glibc ${GLIBC_WANTED}: ${why}` }];
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
 * The native core for systems with `GLIBC_WANTED`. Without Zig, undefined for the first of `PLATFORMS`.
 * @throws Error if it cannot be compiled or linked, or needs a newer glibc
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
  const platforms = (flags.get("--platform") ?? PLATFORMS[0].id).split(",").map((name) => {
    const platform = PLATFORMS.filter(isBuilt).find(({ id }) => id === name);
    if (platform === undefined) throw new UsageError(`--platform has no ${JSON.stringify(name)} that is built here.`);
    return platform;
  });
  if (new Set(platforms).size < platforms.length) throw new UsageError("--platform names one platform twice.");
  if (platforms.length > 1 && (program ?? core) !== undefined)
    throw new UsageError("--program and --core are for one platform: name it with --platform.");
  return {
    platforms,
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
