// The machine and the versions of a run.

import { availableParallelism, cpus, release, totalmem } from "node:os";
import { VERSION } from "../../src/kit/version.ts";

/** The machine of a run. */
export interface Machine {
  readonly cpu: string;
  /** Number of cores that this process may use. */
  readonly cores: number;
  readonly memory_gib: number;
  /** Such as `linux 6.8.0 x64`. */
  readonly os: string;
}

/** The versions of a run. */
export interface Versions {
  readonly mneme: string;
  /** Commit of the source, with `+` if files were changed; null if it is unknown. */
  readonly commit: string | null;
  readonly bun: string;
}

/** Describes this machine. */
export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    os: `${process.platform} ${release()} ${process.arch}`,
  };
}

/** Describes this program. */
export function theseVersions(): Versions {
  return { mneme: VERSION, commit: commit(), bun: Bun.version };
}

/** The properties in which two machines differ, as sentences. */
export function machineDifferences(before: Machine, now: Machine): readonly string[] {
  const names = { cpu: "CPU", cores: "cores", memory_gib: "memory in GiB", os: "operating system" } as const;
  return Object.entries(names).flatMap(([key, name]) => {
    const [old, current] = [before[key as keyof Machine], now[key as keyof Machine]];
    return old === current ? [] : [`${name}: ${old} then, ${current} now`];
  });
}

// The build of the single binary puts its commit into the program (src/binary/build.ts). A source checkout asks git.
function commit(): string | null {
  const built = process.env.MNEME_BENCH_COMMIT;
  if (built !== undefined && built !== "") return built;
  const git = (...args: string[]) => {
    try {
      const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: import.meta.dir, stderr: "ignore" });
      return success ? stdout.toString().trim() : null;
    } catch {
      return null; // no git, or no source folder
    }
  };
  const head = git("rev-parse", "--short=12", "HEAD");
  if (head === null) return null;
  return git("status", "--porcelain", "--untracked-files=no") === "" ? head : `${head}+`;
}
