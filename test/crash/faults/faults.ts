// Faults of file operations for a server under test: kills it at a chosen operation, lets operations fail as on a full
// or broken disk, or delays them. faults.c is compiled once, kept in the cache folder, and loaded into the server with
// LD_PRELOAD.

import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nativeCacheDirectory } from "../../../src/adapters/native/library.ts";

/** Operations on files, as bits. `truncate` includes allocating space. */
export const OPERATIONS = { write: 1, sync: 2, truncate: 4, rename: 8, create: 16, unlink: 32 } as const;

/** Name of an operation. A rename or creation is one of the new path. */
export type Operation = keyof typeof OPERATIONS;

/** Which operations are meant. */
export interface Matching {
  readonly operations: readonly Operation[];
  /** Patterns (fnmatch) of paths in the data directory; `*` matches slashes, too. Default: all. */
  readonly paths?: readonly string[];
}

/** What happens, and when. */
export interface Fault extends Matching {
  readonly action:
    | { readonly kind: "kill"; readonly when: "before" | "after" }
    | { readonly kind: "fail"; readonly error: keyof typeof ERRORS; readonly lasts: boolean }
    | { readonly kind: "delay"; readonly ms: number };
  /** Number of matching operations that are left alone before; default 0. */
  readonly skip?: number;
  /** The fault is armed by the first operation that matches this, which is not counted itself. */
  readonly after?: Matching;
}

const ERRORS = { ENOSPC: 28, EIO: 5, EROFS: 30 } as const;
const ACTIONS = { kill: 1, fail: 2, delay: 3 } as const;
/** Layout of the shared file, in bytes; `struct control` in faults.c has the same. */
const AT = {
  ...{ armed: 0, action: 4, value: 8, operations: 12, countdown: 16, lasts: 24, isAfter: 28 },
  ...{ matched: 32, acted: 40, gate: 48, patterns: 56, gatePatterns: 248, size: 440 },
} as const;
const PATTERN_BYTES_MAX = 191;

/** Path of the compiled library; null if this machine cannot compile or load it. */
let library: string | null | undefined;

/** Why faults cannot be injected here, with what to do about it; null if they can. */
export function whyNoFaults(): string | null {
  if (process.platform !== "linux") return "faults of file operations need Linux (LD_PRELOAD)";
  library ??= compile();
  return library === null ? "faults of file operations need a C compiler named cc: install gcc or clang" : null;
}

function compile(): string | null {
  if (Bun.which("cc") === null) return null;
  const source = join(import.meta.dir, "faults.c");
  const cache = nativeCacheDirectory();
  mkdirSync(cache, { recursive: true });
  const target = join(cache, `faults-${Bun.hash(readFileSync(source)).toString(36)}.so`);
  if (existsSync(target)) return target;
  const unfinished = `${target}.${process.pid}`;
  const command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", unfinished];
  const { exitCode, stderr } = Bun.spawnSync([...command, source, "-ldl"]);
  if (exitCode !== 0) throw new Error(`faults.c does not compile:\n${stderr}`);
  renameSync(unfinished, target);
  return target;
}

/** Controls the faults of the servers of one data directory, which must exist. */
export class Faults {
  readonly #folder: string;
  readonly #path: string;
  readonly #shared: Uint8Array;
  readonly #view: DataView;
  /** Environment variables for the server. */
  readonly environment: Readonly<Record<string, string>>;

  constructor(dataDir: string) {
    const reason = whyNoFaults();
    if (reason !== null) throw new Error(reason);
    this.#folder = mkdtempSync(join(tmpdir(), "mneme-faults-"));
    this.#path = join(this.#folder, "control");
    const file = openSync(this.#path, "w");
    ftruncateSync(file, AT.size);
    closeSync(file);
    this.#shared = Bun.mmap(this.#path, { shared: true });
    this.#view = new DataView(this.#shared.buffer, this.#shared.byteOffset, this.#shared.byteLength);
    this.environment = {
      LD_PRELOAD: library ?? "",
      FAULTS_CONTROL: this.#path,
      FAULTS_FOLDER: dataDir,
    };
  }

  /** Arms a fault, in place of any other. */
  arm(fault: Fault): void {
    this.disarm();
    const { action, after } = fault;
    const set = (at: number, value: number) => this.#view.setUint32(at, value, true);
    set(AT.action, ACTIONS[action.kind]);
    set(AT.value, action.kind === "fail" ? ERRORS[action.error] : action.kind === "delay" ? action.ms : 0);
    set(AT.lasts, (action.kind === "fail" && action.lasts) || action.kind === "delay" ? 1 : 0);
    set(AT.isAfter, action.kind === "kill" && action.when === "after" ? 1 : 0);
    set(AT.operations, bitsOf(fault));
    set(AT.gate, after === undefined ? 0 : bitsOf(after));
    this.#setPatterns(AT.patterns, fault.paths);
    this.#setPatterns(AT.gatePatterns, after?.paths);
    this.#view.setBigInt64(AT.countdown, BigInt(fault.skip ?? 0), true);
    this.#view.setBigUint64(AT.matched, 0n, true);
    this.#view.setBigUint64(AT.acted, 0n, true);
    set(AT.armed, 1);
  }

  /** Ends all faults. The counts stay. */
  disarm(): void {
    this.#view.setUint32(AT.armed, 0, true);
  }

  /** Number of operations that the fault acted on. */
  get acted(): number {
    return Number(this.#view.getBigUint64(AT.acted, true));
  }

  /** Number of operations that matched the fault. */
  get matched(): number {
    return Number(this.#view.getBigUint64(AT.matched, true));
  }

  /** Removes the shared file. No server may use it any more. */
  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #setPatterns(at: number, paths: readonly string[] = ["*"]): void {
    const bytes = new TextEncoder().encode(paths.join("|"));
    if (bytes.length > PATTERN_BYTES_MAX) throw new Error(`patterns of ${bytes.length} bytes are too long`);
    this.#shared.fill(0, at, at + PATTERN_BYTES_MAX + 1);
    this.#shared.set(bytes, at);
  }
}

function bitsOf({ operations }: Matching): number {
  return operations.reduce((bits, operation) => bits | OPERATIONS[operation], 0);
}
