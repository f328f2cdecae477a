// The download: the folder of the program as one archive, and what installs it.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Made, type Platform, RELEASE, type ReleaseRun } from "./description.ts";
import { pack } from "./tar.ts";

const TEMPLATES = join(import.meta.dir, "../../deploy/release");
/** Blocks of a Homebrew formula that hold for one processor, by Node's names of processors. */
const BREW_BLOCKS: Readonly<Record<string, string>> = { x64: "on_intel", arm64: "on_arm" };

/** The archive of a program, with what a Homebrew formula says of it. */
export interface PackedProgram {
  readonly platform: Platform;
  readonly file: string;
  readonly sha256: string;
}

/** Packs the folder of the program. Returns the archive's path. */
export function makeArchive(run: ReleaseRun): string {
  const name = `${RELEASE.program}-${RELEASE.version}-${run.platform.id}`;
  cpSync(run.program, join(run.scratch, name), { recursive: true });
  const file = join(run.output, `${name}.tar.xz`);
  pack(run, { parent: run.scratch, folder: name, file, compression: "xz" });
  return file;
}

/** Writes the installer for a shell. It asks for the address if the release has none. */
export function makeInstaller({ output, address }: Pick<ReleaseRun, "output" | "address">): Made {
  const file = join(output, "install.sh");
  const text = filled(readFileSync(join(TEMPLATES, "install.sh"), "utf8"), {
    VERSION: RELEASE.version,
    ADDRESS: address ?? "",
  });
  writeFileSync(file, text, { mode: 0o755 });
  return { file };
}

/** Writes the formula for Homebrew, which needs the address and the checksums of the archives. */
export function makeFormula(
  { output, address }: Pick<ReleaseRun, "output" | "address">,
  archives: readonly PackedProgram[],
): Made {
  if (address === null) return { notBuilt: "the Homebrew formula needs --address" };
  const file = join(output, "mneme.rb");
  const downloads = archives.map(({ platform, file: archive, sha256 }) => {
    const lines = [`url "${address}${basename(archive)}"`, `sha256 "${sha256}"`];
    return [`  ${BREW_BLOCKS[platform.npm.cpu]} do`, ...lines.map((line) => `    ${line}`), "  end"].join("\n");
  });
  const text = filled(readFileSync(join(TEMPLATES, "mneme.rb"), "utf8"), {
    VERSION: RELEASE.version,
    SUMMARY: RELEASE.summary,
    LICENCE: RELEASE.licence,
    DOWNLOADS: downloads.join("\n"),
  });
  writeFileSync(file, text);
  return { file };
}

/** A template whose names in `@…@` are replaced. @throws Error if one is left */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/@([A-Z0-9]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the template has no value for @${name}@`);
    return value;
  });
}
