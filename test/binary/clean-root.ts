// Root file systems of a minimal Debian, in which a test installs packages as on a machine that has nothing: no
// compiler, no Node, no Python. debootstrap makes one, which is kept; each test works on a layer of its own above it.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheDirectory } from "../../src/kit/cache-directory.ts";
import { until } from "../support/until.ts";

/** Programs that clean roots need. */
const PROGRAMS = ["debootstrap", "unshare", "chroot", "setpriv"];
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Why clean roots cannot be made on this machine; null if they can. */
export function cleanRootsMissing(): string | null {
  if (process.platform !== "linux") return "it needs Linux";
  if (process.getuid?.() !== 0) return "it needs root";
  const missing = PROGRAMS.find((name) => Bun.which(name) === null);
  return missing === undefined ? null : `${missing} is missing: apt-get install ${missing}`;
}

/** A user of a root: a name, or numbers as an image has them. */
export type RootUser = string | { readonly uid: number; readonly gid: number };

/** How a command runs in a root. */
export interface RunOptions {
  /** Default: root. */
  readonly user?: RootUser;
  /** Variables; PATH and HOME are set. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether nothing but `/tmp` and the volumes can be written, and the user has no capabilities. */
  readonly isReadOnly?: boolean;
}

/** A command in a root that does not end by itself. */
export interface Running {
  readonly output: () => string;
  /** Process id outside of the root. */
  readonly pid: () => Promise<number>;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
  /** Kills the command with all that it started. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** A root file system that is thrown away. */
export class CleanRoot implements Disposable {
  readonly #base: string;
  readonly #folder: string;
  readonly #shared: Readonly<Record<string, string>>;

  private constructor(base: string, shared: Readonly<Record<string, string>>) {
    this.#base = base;
    this.#folder = mkdtempSync(join(dirname(base), "layer-"));
    this.#shared = shared;
    for (const name of ["upper", "work", "root"]) mkdirSync(join(this.#folder, name));
  }

  /**
   * A fresh root of a release of Debian, such as bookworm.
   * @param shared folders of this machine by their paths in the root; they must not be below `/tmp`
   * @throws Error if debootstrap fails
   */
  static async make(suite: string, shared: Readonly<Record<string, string>> = {}): Promise<CleanRoot> {
    const base = join(cacheDirectory(), "roots", suite);
    if (!existsSync(base)) {
      const fresh = `${base}.${process.pid}`;
      mkdirSync(dirname(base), { recursive: true });
      rmSync(fresh, { recursive: true, force: true });
      const made = Bun.spawn(["debootstrap", "--variant=minbase", suite, fresh], { stdout: "ignore", stderr: "pipe" });
      const [messages, code] = await Promise.all([new Response(made.stderr).text(), made.exited]);
      if (code !== 0) throw new Error(`debootstrap ended with ${code}: ${messages}`);
      renameSync(fresh, base);
    }
    copyFileSync("/etc/resolv.conf", join(base, "etc/resolv.conf"));
    return new CleanRoot(base, shared);
  }

  /** Path outside of the root of a file that was written in it. */
  path(inside: string): string {
    return join(this.#folder, "upper", inside);
  }

  /** Runs a command. Returns its output. @throws Error with its output if it fails */
  async run(command: readonly string[], options: RunOptions = {}): Promise<string> {
    const running = this.start(command, options);
    const code = await running.exited;
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${running.output()}`);
    return running.output();
  }

  /** Starts a command. Only one may run in a root at a time. */
  start(command: readonly string[], options: RunOptions = {}): Running {
    const child = Bun.spawn(this.#argv(command, options), { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    let text = "";
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
    };
    const read = Promise.all([collect(child.stdout), collect(child.stderr)]);
    return {
      output: () => text,
      pid: () => until("the command has started", () => onlyChild(child.pid)),
      exited: child.exited.then(async (code) => {
        await read;
        return code;
      }),
      [Symbol.asyncDispose]: async () => {
        // the first process of the root: with it, all others end. unshare itself cannot end it once its user changed.
        const first = child.exitCode === null ? onlyChild(child.pid) : null;
        if (first !== null) process.kill(first, "SIGKILL");
        else child.kill("SIGKILL");
        await child.exited;
        await read;
      },
    };
  }

  /** The program that enters the root: its mounts exist for the command only. */
  #argv(command: readonly string[], { user = "root", environment = {}, isReadOnly = false }: RunOptions): string[] {
    const shared = Object.entries(this.#shared).map(
      ([inside, outside]) => `mkdir -p "root${inside}"; mount --bind "${outside}" "root${inside}"`,
    );
    const script = [
      `cd "${this.#folder}"`,
      `mount -t overlay overlay -o "lowerdir=${this.#base},upperdir=upper,workdir=work" root`,
      "mount -t proc proc root/proc",
      "mount --rbind /dev root/dev",
      ...shared,
      ...(isReadOnly ? ["mount -t tmpfs tmpfs root/tmp", "mount -o remount,ro root"] : []),
      'exec "$@"',
    ];
    const home = typeof user === "string" && user !== "root" ? `/home/${user}` : "/root";
    const variables = Object.entries({ PATH, HOME: home, ...environment }).map(([name, value]) => `${name}=${value}`);
    const enter =
      typeof user === "string"
        ? ["chroot", `--userspec=${user}:${user}`, `${this.#folder}/root`]
        : ["chroot", `${this.#folder}/root`, "setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, ...POWERLESS];
    const inside = [...enter, "env", "-i", "-C", typeof user === "string" ? home : "/", ...variables, ...command];
    const namespaces = ["--mount", "--pid", "--ipc", "--fork"];
    return ["unshare", ...namespaces, "sh", "-euc", script.join("\n"), "sh", ...inside];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Flags of setpriv that leave a process nothing but its user. */
const POWERLESS = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];

/** The only child of a process; null if it has none. */
function onlyChild(pid: number): number | null {
  const task = `/proc/${pid}/task`;
  if (!existsSync(task)) return null;
  const children = readdirSync(task).map((thread) => readFileSync(join(task, thread, "children"), "utf8").trim());
  const [child] = children.filter((text) => text !== "");
  return child === undefined ? null : Number(child.split(" ")[0]);
}
