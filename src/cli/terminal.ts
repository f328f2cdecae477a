// Terminal output of commands: aligned tables, and progress that is redrawn on a terminal and printed in lines
// elsewhere. Logs are written by kit/log.ts.

/**
 * Milliseconds between two updates of a progress display: on a terminal, where it is redrawn, and elsewhere, where each
 * update is a line. Work that takes less time only prints its result.
 */
const REDRAW_MS = 200;
const LINE_MS = 10_000;
const BAR_CELLS = 24;
/** Maximum number of languages of a model that a table lists. If a model has more, the table shows how many. */
const LANGUAGES_SHOWN = 3;

/**
 * Formats rows as lines with aligned columns, two spaces apart.
 * @param numeric whether all columns except the first are right-aligned
 */
export function alignRows(rows: readonly (readonly string[])[], numeric = false): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        return numeric && at > 0 ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

/** The languages of a model as the cell of a table; `none` if it has none. */
export function languagesCell(languages: readonly string[], none = ""): string {
  if (languages.length === 0) return none;
  return languages.length > LANGUAGES_SHOWN ? String(languages.length) : languages.join(" ");
}

/** Indents lines by two spaces. */
export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** Formats milliseconds for people: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function readableDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const BYTE_UNITS = ["B", "KB", "MB", "GB", "TB"];

/** Formats a size for people, in units of 1,000: `0 B`, `1.5 MB`, `23 GB`. */
export function readableBytes(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < BYTE_UNITS.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 || size >= 10 ? Math.round(size) : size.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** Progress display of a long task, on standard error. */
export class Progress {
  readonly #startedAt = performance.now();
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = this.#startedAt;

  constructor(readonly label: string) {}

  /**
   * Updates the display; cheap enough to be called for every item.
   * @param share 0..1, or null if the total is unknown
   * @param note text after the bar, such as a rate
   */
  show(share: number | null, note: string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#isTerminal ? REDRAW_MS : LINE_MS)) return;
    this.#shownAt = now;
    const line = `${this.label} ${share === null ? "" : this.#bar(share, now)}${note}`;
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${line.slice(0, process.stderr.columns - 1)}` : `${line}\n`);
  }

  /** Removes the display. */
  clear(): void {
    if (this.#isTerminal) process.stderr.write("\r\x1b[K");
  }

  /** Replaces the display by a line that stays: a message, or the result at the end of the task. */
  finish(line: string): void {
    process.stderr.write(`${this.#isTerminal ? "\r\x1b[K" : ""}${line}\n`);
  }

  #bar(share: number, now: number): string {
    const filled = Math.round(Math.min(1, share) * BAR_CELLS);
    const elapsedMs = now - this.#startedAt;
    const remaining = share > 0.01 ? `, ${readableDuration((elapsedMs / share) * (1 - share))} left` : "";
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    const bar = this.#isTerminal ? `[${"=".repeat(filled)}${" ".repeat(BAR_CELLS - filled)}]` : "";
    return `${bar}${percent}${remaining}  `;
  }
}

/** Milliseconds that work must take before `whileShown` shows anything. */
const QUIET_MS = 2_000;

/** Waits for work of unknown length; on a terminal, shows after two seconds that it goes on. */
export async function whileShown<T>(label: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work;
  const startedAt = performance.now();
  const progress = new Progress(label);
  const timer = setInterval(() => {
    const ms = performance.now() - startedAt;
    if (ms >= QUIET_MS) progress.show(null, readableDuration(ms));
  }, REDRAW_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    progress.clear();
  }
}
