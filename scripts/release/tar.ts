// Tar archives whose bytes depend on names, contents, permissions and the given time only. Also runs other programs.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { ReleaseRun } from "./description.ts";

/** Compresses with the filter for x86 machine code first, which makes libraries about a tenth smaller. */
const XZ = "xz --threads=1 --x86 --lzma2=preset=9e,dict=128MiB";

const FAST_XZ = "xz --threads=1 --lzma2=preset=0,mf=hc3,nice=2,depth=1";

/** Runs a program and returns its output. @throws Error with its messages if it fails or does not exist */
export function output(command: readonly string[], options: { readonly cwd?: string } = {}): string {
  const [program = "", ...argv] = command;
  const { status, stdout, stderr, error } = spawnSync(program, argv, { ...options, encoding: "utf8" });
  if (error !== undefined) throw new Error(`${program} cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.trim()}`);
  return stdout;
}

/** Whether a program is on the search path. */
export function hasProgram(name: string): boolean {
  return (process.env.PATH ?? "").split(":").some((folder) => existsSync(`${folder}/${name}`));
}

/**
 * Packs a folder below `parent` into `file`.
 * @param compression `xz` for downloads, `gzip` where a registry asks for it
 */
export function pack(
  run: Pick<ReleaseRun, "time" | "isFast">,
  {
    parent,
    folder,
    file,
    compression,
  }: Readonly<Record<"parent" | "folder" | "file", string>> & {
    readonly compression: "xz" | "gzip";
  },
): void {
  const gzip = `gzip --no-name -${run.isFast ? 1 : 9}`;
  const xz = run.isFast ? FAST_XZ : XZ;
  output([
    ...["tar", "--create", "--file", file, "--directory", parent, "--format=gnu", "--sort=name"],
    ...[`--mtime=@${run.time}`, "--owner=0", "--group=0", "--numeric-owner"],
    ...["--use-compress-program", compression === "xz" ? xz : gzip, folder],
  ]);
}
