// The download: the folder of the program as one archive, and what installs it.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Made, RELEASE, type ReleaseRun } from "./description.ts";
import { pack } from "./tar.ts";

const TEMPLATES = join(import.meta.dir, "../../deploy/release");

/** Name of the program's folder in the archive, and of the archive without its ending. */
export function archiveName({ platform }: Pick<ReleaseRun, "platform">): string {
  return `${RELEASE.program}-${RELEASE.version}-${platform.id}`;
}

/** Packs the folder of the program. */
export function makeArchive(run: ReleaseRun): Made {
  const name = archiveName(run);
  cpSync(run.program, join(run.scratch, name), { recursive: true });
  const file = join(run.output, `${name}.tar.xz`);
  pack(run, { parent: run.scratch, folder: name, file, compression: "xz" });
  return { file };
}

/** Writes the installer for a shell. It asks for the address if the release has none. */
export function makeInstaller(run: ReleaseRun): Made {
  const file = join(run.output, "install.sh");
  const text = filled(readFileSync(join(TEMPLATES, "install.sh"), "utf8"), {
    VERSION: RELEASE.version,
    ADDRESS: run.address ?? "",
  });
  writeFileSync(file, text, { mode: 0o755 });
  return { file };
}

/** Writes the formula for Homebrew, which needs the address and the checksum of the archive. */
export function makeFormula(run: ReleaseRun, archiveSha256: string): Made {
  if (run.address === null) return { notBuilt: "the Homebrew formula needs --address" };
  const file = join(run.output, "mneme.rb");
  const text = filled(readFileSync(join(TEMPLATES, "mneme.rb"), "utf8"), {
    VERSION: RELEASE.version,
    SUMMARY: RELEASE.summary,
    LICENCE: RELEASE.licence,
    URL: `${run.address}${archiveName(run)}.tar.xz`,
    SHA256: archiveSha256,
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
