// How far the compilation of the native core is, on standard error.

import { spawnSync } from "node:child_process";

/** Intervals, in milliseconds, at which a terminal shows the seconds, and at which other outputs get a line. */
const REDRAW_EVERY_MS = 1_000;
const LINE_EVERY_MS = 15_000;
const BAR_CELLS = 30;

/** Where progress is shown. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Shows how many crates are compiled: as a bar on a terminal, otherwise as a line at intervals. It also moves while one
 * crate compiles for minutes.
 */
export class Progress {
  readonly #startedMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #done = 0;

  constructor(
    readonly total: number,
    readonly output: ProgressOutput,
    readonly now: () => number,
  ) {
    this.#startedMs = now();
    this.#timer = setInterval(() => this.tick(), output.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS);
  }

  /** Notes the number of compiled crates; a terminal shows it at once. */
  show(done: number): void {
    this.#done = done;
    if (this.output.isTTY) this.tick();
  }

  /** Shows how far the compilation is. */
  tick(): void {
    const crates = `${this.#done}/${this.total} crates`;
    const seconds = `${Math.round((this.now() - this.#startedMs) / 1000)} s`;
    const filled = Math.round((Math.min(this.#done, this.total) / Math.max(this.total, 1)) * BAR_CELLS);
    const bar = `[${"#".repeat(filled)}${".".repeat(BAR_CELLS - filled)}]`;
    this.output.write(
      this.output.isTTY ? `\rnative core ${bar} ${crates}, ${seconds} ` : `native core: ${crates}, ${seconds}\n`,
    );
  }

  /** Ends the display. */
  end(): void {
    clearInterval(this.#timer);
    if (this.output.isTTY) this.output.write("\n");
  }
}

/**
 * Number of crates that a build of the addon compiles on this machine. Downloads them if necessary.
 * @param crate folder of the workspace
 * @param target Rust's target, or null for this machine
 */
export function crateCount(crate: string, target: string | null): number {
  const format = ["--prefix", "none", "--format", "{p}", "--edges", "normal,build", "--no-dedupe"];
  const platform = target === null ? [] : ["--target", target];
  const { stdout } = spawnSync("cargo", ["tree", "--package", "mneme-addon", "--locked", ...format, ...platform], {
    cwd: crate,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return new Set((stdout ?? "").split("\n").filter((line) => line !== "")).size;
}
